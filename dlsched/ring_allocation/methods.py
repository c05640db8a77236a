"""Methods of ring_allocation by name, for the catalogue, and the runs of those that are no plain function."""

from functools import wraps

from dlsched.allocation.methods import Counting
from dlsched.catalogue.ring_allocation import LISTED
from dlsched.core.family import Run, heuristic, methods_of
from dlsched.core.limits import Stopped, no_tick
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_allocation import bounds, heuristics
from dlsched.ring_allocation.costs import cost_table, whole_table
from dlsched.ring_allocation.formulations import build_arrays
from dlsched.ring_allocation.heuristics import smallest
from dlsched.ring_allocation.instance import Instance
from dlsched.ring_allocation.solution import Allocation
from dlsched.solvers.conclude import bound_by_duals, conclude
from dlsched.version import VERSION

REDUCTION = f"dlsched reduction {VERSION}"


def _minlp(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
    """The non-linear integer program by SCIP; costs are >= 0, so 0 is proven in any case."""
    from dlsched.ring_allocation.formulations import build_minlp, laws
    from dlsched.solvers.minlp import solve_minlp
    from dlsched.solvers.outcome import require

    require("scip", "minlp")
    warm(instance, search)
    formulation = build_minlp(instance, tick=search.tick)
    if formulation.model is None:
        search.offer(formulation.decode({}), source=REDUCTION)
        return search.optimal(REDUCTION)
    outcome = solve_minlp(formulation.model, limits=search.left, terms=laws(formulation.model))
    return conclude(search, outcome, formulation)


def warm(instance: Instance, search: Search[Allocation]) -> None:
    """Offer the hull heuristic's answer before a solver starts, or if there is no time at all."""
    start = heuristics.hull(instance, tick=no_tick if search.budget.none_at_all else search.tick)
    search.offer(start, source="hull")


COUNTING = Counting[Instance, Allocation](
    table=lambda instance, tick: cost_table(instance, tick=tick),
    solution=lambda instance, counts, tick: Allocation(counts),
    warm=warm,
    lagrange=bounds.lagrange,
    whole_table=lambda instance, table, tick: whole_table(instance, table, tick=tick),
)


def _answering(run: Run[Instance, Allocation]) -> Run[Instance, Allocation]:
    """The run, with the smallest counts as its answer if it stops before it has one."""

    @wraps(run)
    def guarded(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
        try:
            return run(instance, search)
        except (Stopped, MemoryError, KeyboardInterrupt):
            if search.solution is None:
                search.offer(smallest(instance), source="smallest counts")
            raise

    return guarded


run_knapsack = _answering(COUNTING.run_knapsack)
run_dp = _answering(COUNTING.run_dp)
run_milp = _answering(COUNTING.run_milp(build_arrays))
run_minlp = _answering(_minlp)
run_lagrange = COUNTING.run_lagrange
run_lp: Run[Instance, Allocation] = bound_by_duals(bounds.relaxation)

METHODS = methods_of(LISTED, heuristic=lambda name, function: heuristic(name, function, smallest))
