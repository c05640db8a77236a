"""What the heuristics promise, as data: for which instances, and how bad an objective keeps the promise."""

from dlsched.allocation import guarantees
from dlsched.allocation.cost_table import CostTable
from dlsched.core.family import Guarantee
from dlsched.ring_allocation.bounds import largest_hull_step
from dlsched.ring_allocation.costs import tabulate
from dlsched.ring_allocation.instance import Instance

_LONGEST = 10**6


def convex(instance: Instance) -> bool:
    """Whether every job's allowed counts are consecutive and its cost is convex on them (Fox 1966).

    Laws on more than a million counts are not examined, and answered with False.
    """
    return not _too_long(instance) and guarantees.convex(_whole_table(instance))


def falling_doublings(instance: Instance) -> bool:
    """Whether every W_j is {1, 2, 4, ...} and each job's saving per added GPU falls along the doublings."""
    return not _too_long(instance) and guarantees.falling_doublings(_whole_table(instance))


def doubling_loss(instance: Instance) -> float:
    """Saving of the first doubling that did not fit, 0 when all fitted."""
    return guarantees.doubling_loss(_whole_table(instance), instance.gpus)


def _too_long(instance: Instance) -> bool:
    return any(len(instance.counts(job)) > _LONGEST for job in range(len(instance.jobs)))


def _whole_table(instance: Instance) -> CostTable:
    return tabulate(instance, [instance.counts(job) for job in range(len(instance.jobs))])


DOUBLING = Guarantee[Instance](
    "powers of two with falling savings per added GPU: optimum plus the saving of the first doubling that did not fit",
    falling_doublings,
    lambda instance, optimum: optimum + doubling_loss(instance),
)
MARGINAL = Guarantee[Instance](
    "convex costs on consecutive counts: optimal (Fox 1966)", convex, lambda instance, optimum: optimum
)
HULL = Guarantee[Instance](
    "at most the linear programming bound (over counts that can fit) plus the largest single hull step",
    lambda instance: True,
    lambda instance, optimum: optimum + largest_hull_step(instance),
)
