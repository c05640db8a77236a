"""What the heuristics promise, as data: for which instances, and how bad an objective keeps the promise."""

from itertools import pairwise

from dlsched.core.family import Guarantee
from dlsched.ring_allocation.bounds import largest_hull_step
from dlsched.ring_allocation.checker import job_cost
from dlsched.ring_allocation.instance import Instance

_LONGEST = 10**6


def convex(instance: Instance) -> bool:
    """Whether every job's allowed counts are consecutive and its cost is convex on them (Fox 1966).

    Laws on more than a million counts are not examined, and answered with False.
    """
    for index, job in enumerate(instance.jobs):
        counts = instance.counts(index)
        if counts[-1] - counts[0] + 1 != len(counts) or len(counts) > _LONGEST:
            return False
        costs = [job_cost(job, count) for count in counts]
        savings = [first - second for first, second in pairwise(costs)]
        if any(later > earlier for earlier, later in pairwise(savings)):
            return False
    return True


def falling_doublings(instance: Instance) -> bool:
    """Whether every W_j is {1, 2, 4, ...} and each job's saving per added GPU falls along the doublings."""
    for index, job in enumerate(instance.jobs):
        counts = instance.counts(index)
        if any(count != 2**power for power, count in enumerate(counts)):
            return False
        rates = [(job_cost(job, w) - job_cost(job, 2 * w)) / w for w in counts[:-1]]
        if any(later >= earlier for earlier, later in pairwise(rates)):
            return False
    return True


def doubling_loss(instance: Instance) -> float:
    """Saving of the first doubling that did not fit, 0 when all fitted; the heuristic retraced step by step."""
    given = [instance.counts(index)[0] for index in range(len(instance.jobs))]
    while True:
        steps = []
        for index, job in enumerate(instance.jobs):
            if 2 * given[index] in instance.counts(index):
                saved = job_cost(job, given[index]) - job_cost(job, 2 * given[index])
                steps.append((saved / given[index], -index, saved))
        rate, negative, saved = max(steps, default=(0.0, 0, 0.0))
        if rate <= 0:
            return 0.0
        if sum(given) + given[-negative] > instance.gpus:
            return saved
        given[-negative] *= 2


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
