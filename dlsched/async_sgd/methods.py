"""Methods of async_sgd by name, as the catalogue lists them, and how the less simple ones run."""

from dlsched.allocation.heuristics import increase_greedily
from dlsched.allocation.methods import Counting, price_of
from dlsched.async_sgd import bounds, heuristics
from dlsched.async_sgd.costs import cost_table
from dlsched.async_sgd.formulations import build_milp
from dlsched.async_sgd.heuristics import soon
from dlsched.async_sgd.instance import Instance
from dlsched.async_sgd.solution import Allocation
from dlsched.catalogue.async_sgd import LISTED
from dlsched.core.family import Run, heuristic, methods_of
from dlsched.core.garbage import uncollected
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.solvers.conclude import bound_by_duals


@uncollected()
def run_exact(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
    """Marginal gain, certified as optimal by the price at which no job wants another node."""
    warm(instance, search)
    table = cost_table(instance, tick=search.tick)
    chosen = increase_greedily(table, instance.nodes, tick=search.tick)
    assert chosen is not None
    COUNTING.offer(instance, search, table, chosen, "marginal")
    price = price_of(instance, table, search.tick)
    certificate = bounds.lagrange(instance, price=price, table=table, tick=search.tick)
    search.prove(certificate.value, source="certificate", certificate=certificate)
    return TerminationStatus.OPTIMAL if search.proven else TerminationStatus.FEASIBLE


def run_knapsack(instance: Instance, search: Search[Allocation]) -> TerminationStatus:
    """Our multiple-choice knapsack algorithm, without use of convexity; a node is a job of the core."""
    warm(instance, search)
    return COUNTING.run_knapsack(instance, search)


def warm(instance: Instance, search: Search[Allocation]) -> None:
    """Offer equal shares if they are soon timed; marginal gain, which is optimal, would leave solvers nothing to do."""
    search.offer(heuristics.soon(instance), source="fixed")


COUNTING = Counting[Instance, Allocation](
    table=lambda instance, tick: cost_table(instance, tick=tick),
    solution=heuristics.timed,
    warm=warm,
    lagrange=bounds.lagrange,
)

run_milp = COUNTING.run_milp(build_milp)
run_lagrange = COUNTING.run_lagrange
run_lp: Run[Instance, Allocation] = bound_by_duals(bounds.relaxation)

METHODS = methods_of(LISTED, heuristic=lambda name, function: heuristic(name, function, soon))
