"""The methods of ring_allocation by name, as ``solve`` and the command line run them."""

from collections.abc import Callable
from dataclasses import replace
from functools import wraps

from dlsched.algorithms.cost_table import CostTable, IntArray
from dlsched.algorithms.dynamic_program import solve_by_states
from dlsched.algorithms.knapsack import solve_knapsack
from dlsched.algorithms.lagrange import best_price
from dlsched.core.certificate import PriceCertificate
from dlsched.core.family import Guarantee, Method, bound_by, heuristic
from dlsched.core.search import Search, Stopped
from dlsched.core.status import TerminationStatus
from dlsched.ring_allocation import bounds, guarantees, heuristics
from dlsched.ring_allocation.checker import infeasible
from dlsched.ring_allocation.costs import allocation, cost_table
from dlsched.ring_allocation.instance import Instance
from dlsched.ring_allocation.solution import Allocation
from dlsched.solvers.conclude import bound_by_duals, conclude, solve_and_conclude
from dlsched.version import VERSION

KNAPSACK = f"dlsched knapsack {VERSION}"
DP = f"dlsched dp {VERSION}"
REDUCTION = f"dlsched reduction {VERSION}"

Run = Callable[[Instance, Search], TerminationStatus]


def holding(run: Run) -> Run:
    """Make an exact method begin with infeasibility and the user's start, and hold an answer whatever stops it."""

    @wraps(run)
    def held(instance: Instance, search: Search) -> TerminationStatus:
        if not search.begin(infeasible(instance), lambda: _warm(instance, search)):
            return TerminationStatus.INFEASIBLE
        try:
            return run(instance, search)
        except (Stopped, MemoryError, KeyboardInterrupt):
            if search.solution is None:
                search.offer(heuristics.smallest(instance), source="smallest counts")
            raise

    return held


@holding
def run_knapsack(instance: Instance, search: Search) -> TerminationStatus:
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
def run_dp(instance: Instance, search: Search) -> TerminationStatus:
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
def run_milp(instance: Instance, search: Search) -> TerminationStatus:
    """The linear formulation by HiGHS, CBC, SCIP or CP-SAT."""
    from dlsched.ring_allocation.formulations.milp import build_arrays, start_values

    _warm(instance, search)
    model, decode = build_arrays(instance, tick=search.tick)
    return solve_and_conclude(search, model, decode, start=start_values(instance, search.solution))


@holding
def run_minlp(instance: Instance, search: Search) -> TerminationStatus:
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
    if outcome.bound is not None:
        bound = outcome.bound * model.unit_s + model.constant_s
        outcome = replace(outcome, bound=bound, slack=outcome.slack * model.unit_s)
    return conclude(search, outcome, None if outcome.values is None else model.decode(outcome.values))


def _warm(instance: Instance, search: Search) -> None:
    """Hold the hull heuristic's answer before a solver starts, or where there is no time at all."""
    stopped = search.limits.time_s == 0 or search.limits.nodes == 0
    start = heuristics.hull(instance, tick=None if stopped else search.tick)
    assert start is not None
    search.offer(start, source="hull")


def _certify(instance: Instance, search: Search, table: CostTable, price: float) -> None:
    """Record what the price proves; where counts that cannot fit were left out, a price that accounts for them."""
    everything = cost_table(instance, fitting=False, tick=search.tick)
    if everything.pairs != table.pairs:
        frontier = best_price(everything, instance.gpus, tick=search.tick)
        assert frontier is not None
        price = frontier.price
    certificate = bounds.lagrange(instance, price=price, tick=search.tick)
    search.prove(certificate.value, source="certificate", certificate=certificate)


def _lagrange(instance: Instance, search: Search) -> PriceCertificate:
    return bounds.lagrange(instance, tick=search.tick)


def _heuristic(name: str, function: Callable[..., Allocation | None], guarantee: Guarantee | None = None) -> Method:
    return Method(name, "heuristic", heuristic(name, function, infeasible, heuristics.smallest), guarantee)


METHODS = {
    method.name: method
    for method in (
        Method("exact", "exact", run_knapsack),
        Method("dp", "exact", run_dp),
        Method("milp", "exact", run_milp, solvers=("highs", "cbc", "scip", "cpsat")),
        Method("minlp", "exact", run_minlp, solvers=("scip",)),
        _heuristic("doubling", heuristics.doubling, guarantees.DOUBLING),
        _heuristic("marginal", heuristics.marginal, guarantees.MARGINAL),
        _heuristic("fixed", heuristics.fixed),
        _heuristic("equal", heuristics.equal),
        _heuristic("hull", heuristics.hull, guarantees.HULL),
        Method("lagrange", "bound", bound_by(_lagrange, infeasible)),
        Method("lp", "bound", bound_by_duals(bounds.relaxation, infeasible), solvers=("highs",)),
    )
}
