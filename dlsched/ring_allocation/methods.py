"""The methods of ring_allocation by name, as ``solve`` and the command line run them."""

from collections.abc import Callable

from dlsched.allocation.methods import Counting, holding, proven
from dlsched.catalogue.solvers import able
from dlsched.core.budget import no_tick
from dlsched.core.family import Guarantee, Method, Run
from dlsched.core.methods import heuristic
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_allocation import bounds, guarantees, heuristics
from dlsched.ring_allocation.costs import cost_table, whole_table
from dlsched.ring_allocation.formulations.milp import build_arrays
from dlsched.ring_allocation.instance import Instance
from dlsched.ring_allocation.solution import Allocation
from dlsched.solvers.conclude import bound_by_duals, conclude
from dlsched.version import VERSION

REDUCTION = f"dlsched reduction {VERSION}"


def run_minlp(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
    """The non-linear integer program by SCIP; costs are >= 0, so 0 is proven in any case."""
    from dlsched.ring_allocation.formulations.minlp import build_minlp, laws
    from dlsched.solvers import availability
    from dlsched.solvers.minlp import solve_minlp

    availability.require("scip", "minlp")
    _warm(instance, search)
    formulation = build_minlp(instance, tick=search.tick)
    if formulation.model is None:
        search.offer(formulation.decode({}), source=REDUCTION)
        return proven(search, REDUCTION)
    outcome = solve_minlp(formulation.model, limits=search.left, terms=laws(formulation.model))
    return conclude(search, outcome, formulation)


def _warm(instance: Instance, search: Search[Allocation]) -> None:
    """Hold the hull heuristic's answer before a solver starts, or where there is no time at all."""
    start = heuristics.hull(instance, tick=no_tick if search.budget.none_at_all else search.tick)
    search.offer(start, source="hull")


COUNTING = Counting[Instance, Allocation](
    table=lambda instance, tick: cost_table(instance, tick=tick),
    solution=lambda instance, counts, tick: Allocation(counts),
    warm=_warm,
    lagrange=bounds.lagrange,
    whole_table=lambda instance, table, tick: whole_table(instance, table, tick=tick),
)


def _exact(name: str, run: Run[Instance, Allocation], *solvers: str) -> Method[Instance, Allocation]:
    return Method(name, "exact", holding(run, heuristics.smallest, "smallest counts"), solvers=solvers, warm=_warm)


def _heuristic(
    name: str, function: Callable[..., Allocation | None], guarantee: Guarantee[Instance] | None = None
) -> Method[Instance, Allocation]:
    return Method(name, "heuristic", heuristic(name, function, heuristics.smallest), guarantee)


METHODS = {
    method.name: method
    for method in (
        _exact("exact", COUNTING.run_knapsack),
        _exact("dp", COUNTING.run_dp),
        _exact("milp", COUNTING.run_milp(build_arrays), *able("integer milp")),
        _exact("minlp", run_minlp, *able("minlp")),
        _heuristic("doubling", heuristics.doubling, guarantees.DOUBLING),
        _heuristic("marginal", heuristics.marginal, guarantees.MARGINAL),
        _heuristic("fixed", heuristics.fixed, guarantees.FIXED),
        _heuristic("equal", heuristics.equal, guarantees.EQUAL),
        _heuristic("hull", heuristics.hull, guarantees.HULL),
        Method("lagrange", "bound", COUNTING.run_lagrange),
        Method("lp", "bound", bound_by_duals(bounds.relaxation), solvers=able("multipliers")),
    )
}
