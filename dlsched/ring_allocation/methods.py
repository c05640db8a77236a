"""The methods of ring_allocation by name, as ``solve`` and the command line run them."""

from dlsched.algorithms.cost_table import CostTable, IntArray
from dlsched.algorithms.dynamic_program import solve_by_states, state_bytes
from dlsched.algorithms.knapsack import solve_knapsack
from dlsched.algorithms.lagrange import best_price
from dlsched.core.errors import UsageError
from dlsched.core.family import Method, bound_by, heuristic
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_allocation import bounds, guarantees, heuristics
from dlsched.ring_allocation.checker import infeasible
from dlsched.ring_allocation.costs import allocation, cost_table
from dlsched.ring_allocation.instance import Instance
from dlsched.solvers.conclude import bound_by_duals, conclude, solve_and_conclude
from dlsched.version import VERSION

KNAPSACK = f"dlsched knapsack {VERSION}"
DP = f"dlsched dp {VERSION}"
LARGEST_DP_BYTES = 2**31


def run_knapsack(instance: Instance, search: Search) -> TerminationStatus:
    """Our multiple-choice knapsack algorithm; a node is a job of the core that is combined.

    The price search is not interrupted by limits: it takes a fraction of the time of reading the file.
    """
    if not _begin(instance, search):
        return TerminationStatus.INFEASIBLE
    table = cost_table(instance)

    def found(chosen: IntArray, price: float) -> None:
        search.offer(allocation(instance, table, chosen), source=KNAPSACK)
        if search.certificate is None:
            _certify(instance, search, table, price)

    choice = solve_knapsack(table, instance.gpus, found=found, step=lambda: search.tick(1))
    assert choice is not None and search.objective is not None
    search.prove(search.objective, source=KNAPSACK)
    return TerminationStatus.OPTIMAL


def run_dp(instance: Instance, search: Search) -> TerminationStatus:
    """Dynamic programming over the capacity; a node is a job."""
    if not _begin(instance, search):
        return TerminationStatus.INFEASIBLE
    table = cost_table(instance)
    needed = state_bytes(table, instance.gpus)
    if needed > LARGEST_DP_BYTES:
        raise UsageError(f"method dp would need {needed / 2**30:.1f} GiB for its decisions, allowed: 2 GiB; use exact")
    _warm(instance, search)
    chosen = solve_by_states(table, instance.gpus, step=lambda: search.tick(1))
    assert chosen is not None
    search.offer(allocation(instance, table, chosen), source=DP)
    assert search.objective is not None
    search.prove(search.objective, source=DP)
    return TerminationStatus.OPTIMAL


def run_milp(instance: Instance, search: Search) -> TerminationStatus:
    """The linear formulation by HiGHS, CBC, SCIP or CP-SAT."""
    if not _begin(instance, search):
        return TerminationStatus.INFEASIBLE
    from dlsched.ring_allocation.formulations.milp import build_milp, start_values

    _warm(instance, search)
    problem, decode = build_milp(instance, drop_dominated=True, tick=search.tick)
    return solve_and_conclude(search, problem, decode, start=start_values(instance, search.solution))


def run_minlp(instance: Instance, search: Search) -> TerminationStatus:
    """The non-linear integer program by SCIP."""
    if not _begin(instance, search):
        return TerminationStatus.INFEASIBLE
    from dlsched.ring_allocation.formulations.minlp import build_minlp
    from dlsched.solvers.minlp import solve_minlp

    _warm(instance, search)
    model, decode, unit_s = build_minlp(instance, tick=search.tick)
    outcome = solve_minlp(model, limits=search.left)
    return conclude(search, outcome, None if outcome.values is None else decode(outcome.values), unit_s)


def _begin(instance: Instance, search: Search) -> bool:
    return search.begin(infeasible(instance), lambda: _warm(instance, search))


def _warm(instance: Instance, search: Search) -> None:
    """Hold the hull heuristic's answer before a solver starts."""
    start = heuristics.hull(instance)
    assert start is not None
    search.offer(start, source="hull")


def _certify(instance: Instance, search: Search, table: CostTable, price: float) -> None:
    """Record what the price proves; where counts that cannot fit were left out, a price that reckons with them."""
    everything = cost_table(instance, fitting=False)
    if everything.pairs != table.pairs:
        frontier = best_price(everything, instance.gpus)
        assert frontier is not None
        price = frontier.price
    certificate = bounds.lagrange(instance, price=price)
    search.prove(certificate.value, source="certificate", certificate=certificate)


METHODS = {
    method.name: method
    for method in (
        Method("exact", "exact", run_knapsack),
        Method("dp", "exact", run_dp),
        Method("milp", "exact", run_milp, solvers=("highs", "cbc", "scip", "cpsat")),
        Method("minlp", "exact", run_minlp, solvers=("scip",)),
        Method("doubling", "heuristic", heuristic("doubling", heuristics.doubling, infeasible), guarantees.DOUBLING),
        Method("marginal", "heuristic", heuristic("marginal", heuristics.marginal, infeasible), guarantees.MARGINAL),
        Method("fixed", "heuristic", heuristic("fixed", heuristics.fixed, infeasible)),
        Method("equal", "heuristic", heuristic("equal", heuristics.equal, infeasible)),
        Method("hull", "heuristic", heuristic("hull", heuristics.hull, infeasible), guarantees.HULL),
        Method("lagrange", "bound", bound_by(lambda instance, search: bounds.lagrange(instance), infeasible)),
        Method("lp", "bound", bound_by_duals(bounds.relaxation, infeasible), solvers=("highs",)),
    )
}
