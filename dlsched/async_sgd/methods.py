"""The methods of async_sgd by name, as ``solve`` and the command line run them."""

from dlsched.algorithms.cost_table import CostTable, IntArray
from dlsched.algorithms.greedy import increase_greedily
from dlsched.algorithms.knapsack import solve_knapsack
from dlsched.algorithms.lagrange import best_price
from dlsched.async_sgd import bounds, heuristics
from dlsched.async_sgd.checker import infeasible
from dlsched.async_sgd.costs import allocation, cost_table
from dlsched.async_sgd.instance import Instance
from dlsched.async_sgd.solution import Allocation
from dlsched.core.certificate import PriceCertificate
from dlsched.core.family import Guarantee, Method, bound_by, heuristic
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.solvers.conclude import bound_by_duals, solve_and_conclude
from dlsched.version import VERSION

KNAPSACK = f"dlsched knapsack {VERSION}"


def run_exact(instance: Instance, search: Search) -> TerminationStatus:
    """Marginal gain, and the price at which no job wants another node: the two meet, and the price is the certificate."""
    if not _begin(instance, search):
        return TerminationStatus.INFEASIBLE
    _warm(instance, search)
    table = cost_table(instance, tick=search.tick)
    chosen = increase_greedily(table, instance.nodes)
    assert chosen is not None
    _offer(instance, search, allocation(instance, table, chosen), "marginal")
    _certify(instance, search, table)
    return TerminationStatus.OPTIMAL if search.proven else TerminationStatus.FEASIBLE


def run_knapsack(instance: Instance, search: Search) -> TerminationStatus:
    """Our multiple-choice knapsack algorithm, which knows nothing of convexity; a node is a job of the core that is combined."""
    if not _begin(instance, search):
        return TerminationStatus.INFEASIBLE
    _warm(instance, search)
    table = cost_table(instance, tick=search.tick)

    def found(chosen: IntArray, price: float) -> None:
        del price
        _offer(instance, search, allocation(instance, table, chosen), KNAPSACK)
        if search.certificate is None:
            _certify(instance, search, table)

    choice = solve_knapsack(table, instance.nodes, found=found, step=lambda: search.tick(1))
    assert choice is not None and search.objective is not None
    search.prove(search.objective, source=KNAPSACK)
    return TerminationStatus.OPTIMAL


def run_milp(instance: Instance, search: Search) -> TerminationStatus:
    """The linear formulation by HiGHS, CBC, SCIP or CP-SAT."""
    if not _begin(instance, search):
        return TerminationStatus.INFEASIBLE
    from dlsched.async_sgd.formulations.milp import build_milp, start_values

    _warm(instance, search)
    problem, decode = build_milp(instance, tick=search.tick)
    return solve_and_conclude(search, problem, decode, start=start_values(instance, search.solution))


def _begin(instance: Instance, search: Search) -> bool:
    return search.begin(infeasible(instance), lambda: _warm(instance, search))


def _warm(instance: Instance, search: Search) -> None:
    """Hold equal shares, as far as these are soon timed; what marginal gain finds would leave solvers nothing to do."""
    search.offer(heuristics.soon(instance), source="fixed")


def _offer(instance: Instance, search: Search, found: Allocation, source: str) -> None:
    search.offer(heuristics.timed(instance, found, search.tick), source=source)


def _certify(instance: Instance, search: Search, table: CostTable) -> None:
    """Record what the best price proves."""
    frontier = best_price(table, instance.nodes)
    assert frontier is not None
    certificate = bounds.lagrange(instance, price=frontier.price, tick=search.tick)
    search.prove(certificate.value, source="certificate", certificate=certificate)


def _lagrange(instance: Instance, search: Search) -> PriceCertificate:
    return bounds.lagrange(instance, tick=search.tick)


MARGINAL = Guarantee("optimal (Fox 1966)", lambda instance: True, lambda instance, optimum: optimum)

METHODS = {
    method.name: method
    for method in (
        Method("exact", "exact", run_exact),
        Method("knapsack", "exact", run_knapsack),
        Method("milp", "exact", run_milp, solvers=("highs", "cbc", "scip", "cpsat")),
        Method(
            "marginal", "heuristic", heuristic("marginal", heuristics.marginal, infeasible, heuristics.soon), MARGINAL
        ),
        Method("knee", "heuristic", heuristic("knee", heuristics.knee, infeasible, heuristics.soon)),
        Method(
            "proportional", "heuristic", heuristic("proportional", heuristics.proportional, infeasible, heuristics.soon)
        ),
        Method("equal", "heuristic", heuristic("equal", heuristics.equal, infeasible, heuristics.soon)),
        Method("fixed", "heuristic", heuristic("fixed", heuristics.fixed, infeasible, heuristics.soon)),
        Method("lagrange", "bound", bound_by(_lagrange, infeasible)),
        Method("lp", "bound", bound_by_duals(bounds.relaxation, infeasible), solvers=("highs",)),
    )
}
