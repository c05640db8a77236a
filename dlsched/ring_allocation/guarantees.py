"""Guarantees of the heuristics as data: the instances they hold for, and the worst objective they allow."""

import math
from collections.abc import Callable

from dlsched.allocation import guarantees
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.heuristics import equal_share
from dlsched.core.family import Guarantee
from dlsched.ring_allocation.bounds import largest_hull_step
from dlsched.ring_allocation.costs import cost_table, tabulate
from dlsched.ring_allocation.instance import Instance

_LONGEST = 10**6
_ROUNDING = 1e-9


def convex(instance: Instance) -> bool:
    """Whether every job's allowed counts are consecutive and its cost is convex on them (Fox 1966).

    Laws on more than a million counts are not examined, and answered with False.
    """
    return not _too_long(instance) and guarantees.convex(_whole_table(instance))


def falling_doublings(instance: Instance) -> bool:
    """Whether every W_j is {1, 2, 4, ...} and each job's saving per added GPU never rises along the doublings."""
    return not _too_long(instance) and guarantees.falling_doublings(_whole_table(instance))


def doubling_loss(instance: Instance) -> float:
    """Saving of the first doubling that did not fit, 0 when all fitted."""
    return guarantees.doubling_loss(_whole_table(instance), instance.gpus)


def _too_long(instance: Instance) -> bool:
    return any(len(instance.counts(job)) > _LONGEST for job in range(len(instance.jobs)))


def _whole_table(instance: Instance) -> CostTable:
    return tabulate(instance, [instance.counts(job) for job in range(len(instance.jobs))])


def doubling_factor(instance: Instance) -> float:
    """Largest ratio of ``doubling`` to the optimum; infinite if nothing is proven."""
    return _factor(instance, guarantees.doubling)


def marginal_factor(instance: Instance) -> float:
    """As ``doubling_factor``, for ``marginal``."""
    return _factor(instance, guarantees.marginal)


def hull_factor(instance: Instance) -> float:
    """As ``doubling_factor``, of ``hull``: always finite."""
    return guarantees.hulls(cost_table(instance), instance.gpus)


def equal_factor(instance: Instance) -> float:
    """As ``doubling_factor``, of ``equal``."""
    return _factor(instance, lambda table, gpus: guarantees.same_counts(table, gpus, equal_share(instance)))


def fixed_factor(instance: Instance) -> float:
    """As ``doubling_factor``, of ``fixed`` with the 8 GPUs of its default."""
    return _factor(instance, lambda table, gpus: guarantees.same_counts(table, gpus, 8))


def _factor(instance: Instance, of_table: Callable[[CostTable, int], float]) -> float:
    return math.inf if _too_long(instance) else of_table(_whole_table(instance), instance.gpus)


def _worst_doubling(instance: Instance, optimum: float) -> float:
    """Return the better of the two guarantees, one of which holds."""
    loss = doubling_loss(instance) if falling_doublings(instance) else math.inf
    return min(optimum + loss, _rounded(doubling_factor(instance), optimum))


def _rounded(factor: float, optimum: float) -> float:
    """Factor times optimum, plus the rounding error of sums."""
    return factor * (1 + _ROUNDING) * optimum


DOUBLING = Guarantee[Instance](
    "powers of two with savings per added GPU that never rise: optimum plus the saving of the first doubling that did not fit; "
    "with no super-linear speed: less than twice the optimum there, at most twice on convex costs of 1, 2, 3, ...; "
    "else L/2 times, L the most GPUs a job can get; all tight",
    lambda instance: falling_doublings(instance) or math.isfinite(doubling_factor(instance)),
    _worst_doubling,
)
MARGINAL = Guarantee[Instance](
    "convex costs on consecutive counts: optimal (Fox 1966); with no super-linear speed: as doubling on powers of two, "
    "else L/2 times the optimum, L the most GPUs a job can get; all tight",
    lambda instance: math.isfinite(marginal_factor(instance)),
    lambda instance, optimum: optimum if convex(instance) else _rounded(marginal_factor(instance), optimum),
)
HULL = Guarantee[Instance](
    "at most the linear programming bound (over counts that can fit) plus the largest single hull step; "
    "convex costs on consecutive counts: optimal (Fox 1966); powers of two with savings that never rise: as doubling; "
    "with no super-linear speed: less than twice the optimum on counts 1, 2, 3, ..., three times on powers of two; "
    "else the widest hull step, in GPUs, times it; all tight",
    lambda instance: True,
    lambda instance, optimum: min(optimum + largest_hull_step(instance), _rounded(hull_factor(instance), optimum)),
)
EQUAL = Guarantee[Instance](
    "with no super-linear speed: the most GPUs that a job can get, divided by what it is given, times the optimum, tight",
    lambda instance: math.isfinite(equal_factor(instance)),
    lambda instance, optimum: _rounded(equal_factor(instance), optimum),
)
FIXED = Guarantee[Instance](
    EQUAL.words,
    lambda instance: math.isfinite(fixed_factor(instance)),
    lambda instance, optimum: _rounded(fixed_factor(instance), optimum),
)
