"""The methods of ring_allocation by name, as ``solve`` and the command line run them."""

from collections.abc import Callable
from functools import wraps

from dlsched.algorithms.cost_table import CostTable, IntArray
from dlsched.algorithms.dynamic_program import solve_by_states
from dlsched.algorithms.knapsack import solve_knapsack
from dlsched.algorithms.lagrange import best_price
from dlsched.certificates import PriceCertificate
from dlsched.core.budget import Stopped
from dlsched.core.family import Guarantee, Method, Run
from dlsched.core.methods import bound_by, heuristic
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_allocation import bounds, guarantees, heuristics
from dlsched.ring_allocation.costs import allocation, cost_table
from dlsched.ring_allocation.instance import Instance
from dlsched.ring_allocation.solution import Allocation
from dlsched.solvers.conclude import bound_by_duals, conclude, solve_and_conclude
from dlsched.solvers.formulation import Formulation
from dlsched.version import VERSION

KNAPSACK = f"dlsched knapsack {VERSION}"
DP = f"dlsched dp {VERSION}"
REDUCTION = f"dlsched reduction {VERSION}"


def holding(run: Run[Instance, Allocation]) -> Run[Instance, Allocation]:
    """Make an exact method hold an answer whatever stops it."""

    @wraps(run)
    def held(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
        try:
            return run(instance, search)
        except (Stopped, MemoryError, KeyboardInterrupt):
            if search.solution is None:
                search.offer(heuristics.smallest(instance), source="smallest counts")
            raise

    return held


@holding
def run_knapsack(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
    """Our multiple-choice knapsack algorithm; a node is a job of the core that is combined."""
    table = cost_table(instance, tick=search.tick)

    def found(chosen: IntArray, price: float) -> None:
        search.offer(allocation(instance, table, chosen), source=KNAPSACK)
        if search.certificate is None:
            _certify(instance, search, table, price)

    choice = solve_knapsack(table, instance.gpus, found=found, step=lambda: search.tick(1), tick=search.tick)
    assert choice is not None and search.objective is not None
    search.prove(search.objective, source=KNAPSACK)
    return TerminationStatus.OPTIMAL


@holding
def run_dp(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
    """Dynamic programming over the capacity; a node is a job."""
    table = cost_table(instance, tick=search.tick)
    _warm(instance, search)
    chosen = solve_by_states(table, instance.gpus, step=lambda: search.tick(1), tick=search.tick)
    assert chosen is not None
    search.offer(allocation(instance, table, chosen), source=DP)
    assert search.objective is not None
    search.prove(search.objective, source=DP)
    return TerminationStatus.OPTIMAL


@holding
def run_milp(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
    """The linear formulation by HiGHS, CBC, SCIP or CP-SAT."""
    from dlsched.ring_allocation.formulations.milp import build_arrays, start_values

    _warm(instance, search)
    model, decode = build_arrays(instance, tick=search.tick)
    return solve_and_conclude(search, Formulation(model, decode, start=start_values(instance, search.incumbent)))


@holding
def run_minlp(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
    """The non-linear integer program by SCIP; costs are >= 0, so 0 is proven in any case."""
    from dlsched.ring_allocation.formulations.minlp import build_minlp
    from dlsched.solvers import availability
    from dlsched.solvers.minlp import solve_minlp

    availability.require("scip", "minlp")
    _warm(instance, search)
    model = build_minlp(instance, tick=search.tick)
    if model.program is None:
        search.offer(model.decode({}), source=REDUCTION)
        assert search.objective is not None
        search.prove(search.objective, source=REDUCTION)
        return TerminationStatus.OPTIMAL
    outcome = solve_minlp(model.program, limits=search.left, terms=model.laws)
    return conclude(search, outcome, Formulation(model.program, model.decode, model.unit_s, model.constant_s))


def _warm(instance: Instance, search: Search[Allocation]) -> None:
    """Hold the hull heuristic's answer before a solver starts, or where there is no time at all."""
    start = heuristics.hull(instance, tick=None if search.budget.none_at_all else search.tick)
    search.offer(start, source="hull")


def _certify(instance: Instance, search: Search[Allocation], table: CostTable, price: float) -> None:
    """Record what the price proves; where counts that cannot fit were left out, a price that accounts for them."""
    everything = cost_table(instance, fitting=False, tick=search.tick)
    if everything.pairs != table.pairs:
        frontier = best_price(everything, instance.gpus, tick=search.tick)
        assert frontier is not None
        price = frontier.price
    certificate = bounds.lagrange(instance, price=price, tick=search.tick)
    search.prove(certificate.value, source="certificate", certificate=certificate)


def _lagrange(instance: Instance, search: Search[Allocation]) -> PriceCertificate:
    return bounds.lagrange(instance, tick=search.tick)


def _exact(name: str, run: Run[Instance, Allocation], *solvers: str) -> Method[Instance, Allocation]:
    return Method(name, "exact", run, solvers=solvers, warm=_warm)


def _heuristic(
    name: str, function: Callable[..., Allocation | None], guarantee: Guarantee[Instance] | None = None
) -> Method[Instance, Allocation]:
    return Method(name, "heuristic", heuristic(name, function, heuristics.smallest), guarantee)


METHODS = {
    method.name: method
    for method in (
        _exact("exact", run_knapsack),
        _exact("dp", run_dp),
        _exact("milp", run_milp, "highs", "cbc", "scip", "cpsat"),
        _exact("minlp", run_minlp, "scip"),
        _heuristic("doubling", heuristics.doubling, guarantees.DOUBLING),
        _heuristic("marginal", heuristics.marginal, guarantees.MARGINAL),
        _heuristic("fixed", heuristics.fixed),
        _heuristic("equal", heuristics.equal),
        _heuristic("hull", heuristics.hull, guarantees.HULL),
        Method("lagrange", "bound", bound_by(_lagrange)),
        Method("lp", "bound", bound_by_duals(bounds.relaxation), solvers=("highs",)),
    )
}
