"""The methods of async_sgd by name, as ``solve`` and the command line run them."""

from collections.abc import Callable

from dlsched.allocation.greedy import increase_greedily
from dlsched.allocation.methods import Counting, price_of
from dlsched.async_sgd import bounds, guarantees, heuristics
from dlsched.async_sgd.costs import cost_table
from dlsched.async_sgd.formulations.milp import build_milp
from dlsched.async_sgd.instance import Instance
from dlsched.async_sgd.solution import Allocation
from dlsched.catalogue.solvers import able
from dlsched.core.family import Guarantee, Method, Run
from dlsched.core.methods import heuristic
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.solvers.conclude import bound_by_duals


def run_exact(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
    """Marginal gain, and the price at which no job wants another node: the two meet, and the price is the certificate."""
    _warm(instance, search)
    table = cost_table(instance, tick=search.tick)
    chosen = increase_greedily(table, instance.nodes, tick=search.tick)
    assert chosen is not None
    COUNTING.offer(instance, search, table, chosen, "marginal")
    price = price_of(instance, table, search.tick)
    certificate = bounds.lagrange(instance, price=price, table=table, tick=search.tick)
    search.prove(certificate.value, source="certificate", certificate=certificate)
    return TerminationStatus.OPTIMAL if search.proven else TerminationStatus.FEASIBLE


def run_knapsack(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
    """Our multiple-choice knapsack algorithm, which knows nothing of convexity; a node is a job of the core that is combined."""
    _warm(instance, search)
    return COUNTING.run_knapsack(instance, search)


def _warm(instance: Instance, search: Search[Allocation]) -> None:
    """Hold equal shares, as far as these are soon timed; what marginal gain finds would leave solvers nothing to do."""
    search.offer(heuristics.soon(instance), source="fixed")


COUNTING = Counting[Instance, Allocation](
    table=lambda instance, tick: cost_table(instance, tick=tick),
    solution=heuristics.timed,
    warm=_warm,
    lagrange=bounds.lagrange,
)


def _exact(name: str, run: Run[Instance, Allocation], *solvers: str) -> Method[Instance, Allocation]:
    return Method(name, "exact", run, solvers=solvers, warm=_warm)


def _heuristic(
    name: str, function: Callable[..., Allocation | None], guarantee: Guarantee[Instance] | None = None
) -> Method[Instance, Allocation]:
    return Method(name, "heuristic", heuristic(name, function, heuristics.soon), guarantee)


METHODS = {
    method.name: method
    for method in (
        _exact("exact", run_exact),
        _exact("knapsack", run_knapsack),
        _exact("milp", COUNTING.run_milp(build_milp), *able("integer milp")),
        _heuristic("marginal", heuristics.marginal, guarantees.MARGINAL),
        _heuristic("knee", heuristics.knee),
        _heuristic("proportional", heuristics.proportional),
        _heuristic("equal", heuristics.equal),
        _heuristic("fixed", heuristics.fixed),
        Method("lagrange", "bound", COUNTING.run_lagrange),
        Method("lp", "bound", bound_by_duals(bounds.relaxation), solvers=able("multipliers")),
    )
}
