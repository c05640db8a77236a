"""The methods of async_sgd by name, as ``solve`` and the command line run them."""

from collections.abc import Callable

from dlsched.algorithms.cost_table import CostTable, IntArray
from dlsched.algorithms.greedy import increase_greedily
from dlsched.algorithms.knapsack import solve_knapsack
from dlsched.algorithms.lagrange import best_price
from dlsched.async_sgd import bounds, heuristics
from dlsched.async_sgd.costs import allocation, cost_table
from dlsched.async_sgd.instance import Instance
from dlsched.async_sgd.solution import Allocation
from dlsched.certificates import PriceCertificate
from dlsched.core.family import Guarantee, Method, Run
from dlsched.core.methods import bound_by, heuristic
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.solvers.conclude import bound_by_duals, solve_and_conclude
from dlsched.solvers.formulation import Formulation
from dlsched.version import VERSION

KNAPSACK = f"dlsched knapsack {VERSION}"


def run_exact(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
    """Marginal gain, and the price at which no job wants another node: the two meet, and the price is the certificate."""
    _warm(instance, search)
    table = cost_table(instance, tick=search.tick)
    chosen = increase_greedily(table, instance.nodes)
    assert chosen is not None
    _offer(instance, search, allocation(instance, table, chosen), "marginal")
    _certify(instance, search, table)
    return TerminationStatus.OPTIMAL if search.proven else TerminationStatus.FEASIBLE


def run_knapsack(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
    """Our multiple-choice knapsack algorithm, which knows nothing of convexity; a node is a job of the core that is combined."""
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


def run_milp(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
    """The linear formulation by HiGHS, CBC, SCIP or CP-SAT."""
    from dlsched.async_sgd.formulations.milp import build_milp, start_values

    _warm(instance, search)
    problem, decode = build_milp(instance, tick=search.tick)
    return solve_and_conclude(search, Formulation(problem, decode, start=start_values(instance, search.incumbent)))


def _warm(instance: Instance, search: Search[Allocation]) -> None:
    """Hold equal shares, as far as these are soon timed; what marginal gain finds would leave solvers nothing to do."""
    search.offer(heuristics.soon(instance), source="fixed")


def _offer(instance: Instance, search: Search[Allocation], found: Allocation, source: str) -> None:
    search.offer(heuristics.timed(instance, found, search.tick), source=source)


def _certify(instance: Instance, search: Search[Allocation], table: CostTable) -> None:
    """Record what the best price proves."""
    frontier = best_price(table, instance.nodes)
    assert frontier is not None
    certificate = bounds.lagrange(instance, price=frontier.price, tick=search.tick)
    search.prove(certificate.value, source="certificate", certificate=certificate)


def _lagrange(instance: Instance, search: Search[Allocation]) -> PriceCertificate:
    return bounds.lagrange(instance, tick=search.tick)


def _exact(name: str, run: Run[Instance, Allocation], *solvers: str) -> Method[Instance, Allocation]:
    return Method(name, "exact", run, solvers=solvers, warm=_warm)


def _heuristic(
    name: str, function: Callable[..., Allocation | None], guarantee: Guarantee[Instance] | None = None
) -> Method[Instance, Allocation]:
    return Method(name, "heuristic", heuristic(name, function, heuristics.soon), guarantee)


MARGINAL = Guarantee[Instance]("optimal (Fox 1966)", lambda instance: True, lambda instance, optimum: optimum)

METHODS = {
    method.name: method
    for method in (
        _exact("exact", run_exact),
        _exact("knapsack", run_knapsack),
        _exact("milp", run_milp, "highs", "cbc", "scip", "cpsat"),
        _heuristic("marginal", heuristics.marginal, MARGINAL),
        _heuristic("knee", heuristics.knee),
        _heuristic("proportional", heuristics.proportional),
        _heuristic("equal", heuristics.equal),
        _heuristic("fixed", heuristics.fixed),
        Method("lagrange", "bound", bound_by(_lagrange)),
        Method("lp", "bound", bound_by_duals(bounds.relaxation), solvers=("highs",)),
    )
}
