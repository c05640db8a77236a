"""The heuristics of ring_allocation, plain functions from an instance to an allocation, and their guarantees as data.

All start from the smallest allowed counts; None means that these do not fit together, which proves infeasibility, or
for ``fixed`` and ``equal`` that their prescribed counts do not fit. Ties go to the job that stands first.
``tick`` is called now and then where it can take long; it may raise to stop.
"""

import math
from collections.abc import Callable
from functools import partial

from dlsched.allocation import guarantees
from dlsched.allocation.cost_table import CostTable, largest_hull_step
from dlsched.allocation.counts import ids
from dlsched.allocation.heuristics import climb_hulls, double_greedily, equal_share, increase_greedily, same_counts
from dlsched.core.arrays import IntArray
from dlsched.core.family import Guarantee
from dlsched.core.limits import Tick, no_tick
from dlsched.ring_allocation.costs import cost_table, doubling_counts, tabulate
from dlsched.ring_allocation.instance import Instance
from dlsched.ring_allocation.solution import Allocation


def doubling(instance: Instance, *, tick: Tick = no_tick) -> Allocation | None:
    """Double the job that saves most per added GPU, again and again: the doubling heuristic of Capes et al.

    1. Every job gets its smallest count.
    2. Among the jobs whose doubled count 2w is allowed and fits, take the one with the largest
       (cost_j(w) - cost_j(2w)) / w, the saving per added GPU; stop when none is positive.
    3. Double it; go to 2.

    Guarantee: none in general. If every W_j is {1, 2, 4, ...} and no job's saving per added GPU rises along the
    doublings, it loses at most the saving of the first doubling that did not fit (``guarantees.doubling_loss``). Without
    super-linear speed it is less than twice the optimum there, and other factors hold elsewhere (``guarantees.DOUBLING``);
    docs/worst_theory.md has the proofs, and shows that they are tight. Cost: O(P log P + S log J) for S doublings.

    Source: Capes et al. 2018, arXiv 1908.08082. Only the abstract was available; the steps are our reconstruction.
    """
    table = tabulate(instance, doubling_counts(instance), tick=tick)
    return _allocation(instance, table, double_greedily(table, instance.gpus, tick=tick))


def marginal(instance: Instance, *, tick: Tick = no_tick) -> Allocation | None:
    """Give the next larger count to the job that gains most per GPU: the marginal-gain heuristic of Optimus.

    As ``doubling``, with the next allowed count w' instead of 2w and the gain (cost_j(w) - cost_j(w')) / (w' - w).

    Guarantee: optimal if every cost_j is convex on consecutive counts (Fox 1966); else none, and it stalls where the
    next count is no faster than the present one. Without super-linear speed this costs at most a factor of L/2, L the most
    GPUs that a job can get, and on powers of two with falling savings less than 2 (docs/worst_theory.md).
    Cost: O(P + S log J) for S steps.

    Source: Peng et al., Optimus, EuroSys 2018, section 4.1.
    """
    table = cost_table(instance, current=False, tick=tick)
    return _allocation(instance, table, increase_greedily(table, instance.gpus, tick=tick))


def hull(instance: Instance, *, tick: Tick = no_tick) -> Allocation | None:
    """Take the steps of the jobs' lower convex hulls in order of saving per added GPU; a job whose step does not fit is closed.

    Counts on a straight line are steps of their own.

    Guarantee: at most the linear programming bound over the counts that can fit plus the largest single hull step: up to the
    first step that does not fit it is the LP optimum, and later steps only save. Optimal if every cost is convex on consecutive
    counts (Fox 1966); on powers of two with savings that never rise it takes the steps of ``doubling``. Else, without
    super-linear speed, less than twice the optimum on counts 1, 2, 3, ..., and less than three times on powers of two; always at
    most the optimum times the widest hull step, in GPUs (docs/worst_theory.md). Cost: O(P log P).

    Source: the greedy half of Sinha and Zoltners 1979 (Operations Research 27).
    """
    table = cost_table(instance, tick=tick)
    return _allocation(instance, table, climb_hulls(table, instance.gpus, tick=tick))


def fixed(instance: Instance, *, gpus_per_job: int = 8) -> Allocation | None:
    """Give every job its largest allowed count <= ``gpus_per_job``, else its smallest; None if they do not fit together.

    Guarantee: without super-linear speed at most the optimum times the largest ratio of a job's possible to
    its actual count; else none. Cost: O(J log W).

    Raises
    ------
    UsageError
        ``gpus_per_job`` < 1.
    """
    counts = same_counts(instance, gpus_per_job, "gpus_per_job")
    return None if counts is None else Allocation(counts)


def equal(instance: Instance) -> Allocation | None:
    """Give every job its largest allowed count <= floor(C / J), else its smallest; the rest as ``fixed``."""
    return fixed(instance, gpus_per_job=equal_share(instance))


def smallest(instance: Instance) -> Allocation | None:
    """Give every job its smallest allowed count: the answer of a method that stops before it has one."""
    return fixed(instance, gpus_per_job=1)


def _allocation(instance: Instance, table: CostTable, chosen: IntArray | None) -> Allocation | None:
    """The allocation of some pairs of a table."""
    return None if chosen is None else Allocation(table.counts_by_id(ids(instance), chosen))


_LONGEST = 10**6  # counts of a job that guarantees examine
_ROUNDING = 1e-9  # of sums of costs, with room


def convex(instance: Instance) -> bool:
    """Whether costs are convex on consecutive counts (Fox 1966); False for laws on more than a million counts, not examined."""
    return not _too_long(instance) and guarantees.convex(_whole_table(instance))


def falling_doublings(instance: Instance) -> bool:
    """Whether every W_j is {1, 2, 4, ...} and each job's saving per added GPU never rises along the doublings."""
    return not _too_long(instance) and guarantees.falling_doublings(_whole_table(instance))


def doubling_loss(instance: Instance) -> float:
    """Saving of the first doubling that did not fit, 0 when all fitted."""
    return guarantees.doubling_loss(_whole_table(instance), instance.gpus)


def _too_long(instance: Instance) -> bool:
    """Whether some job has more counts than guarantees examine."""
    return any(len(instance.counts(job)) > _LONGEST for job in range(len(instance.jobs)))


def _whole_table(instance: Instance) -> CostTable:
    """Costs of all allowed counts."""
    return tabulate(instance, [instance.counts(job) for job in range(len(instance.jobs))])


_FACTORS: dict[str, Callable[[CostTable, int], float]] = {
    "doubling": guarantees.doubling,
    "marginal": guarantees.marginal,
    "equal": lambda table, gpus: guarantees.same_counts(table, gpus, max(1, gpus // table.jobs)),
    "fixed": lambda table, gpus: guarantees.same_counts(table, gpus, 8),
}


def factor(heuristic: str, instance: Instance) -> float:
    """Largest ratio of a heuristic with its defaults to the optimum; infinite if nothing is proven (of ``hull`` there is one)."""
    if heuristic == "hull":
        return guarantees.hulls(cost_table(instance), instance.gpus)
    return math.inf if _too_long(instance) else _FACTORS[heuristic](_whole_table(instance), instance.gpus)


def _times_factor(heuristic: str, instance: Instance, optimum: float) -> float:
    """Factor times optimum, plus the rounding error of sums."""
    return factor(heuristic, instance) * (1 + _ROUNDING) * optimum


def _worst_doubling(instance: Instance, optimum: float) -> float:
    """Return the better of the two guarantees, one of which holds."""
    loss = doubling_loss(instance) if falling_doublings(instance) else math.inf
    return min(optimum + loss, _times_factor("doubling", instance, optimum))


def _has_factor(heuristic: str, instance: Instance) -> bool:
    return math.isfinite(factor(heuristic, instance))


DOUBLING = Guarantee[Instance](
    "powers of two with savings per added GPU that never rise: optimum plus the saving of the first doubling that did not fit; "
    "with no super-linear speed: less than twice the optimum there, at most twice on convex costs of 1, 2, 3, ...; "
    "else L/2 times, L the most GPUs a job can get; all tight",
    partial(_has_factor, "doubling"),
    _worst_doubling,
)
MARGINAL = Guarantee[Instance](
    "convex costs on consecutive counts: optimal (Fox 1966); with no super-linear speed: as doubling on powers of two, "
    "else L/2 times the optimum, L the most GPUs a job can get; all tight",
    partial(_has_factor, "marginal"),
    lambda instance, optimum: optimum if convex(instance) else _times_factor("marginal", instance, optimum),
)
HULL = Guarantee[Instance](
    "at most the linear programming bound (over counts that can fit) plus the largest single hull step; "
    "convex costs on consecutive counts: optimal (Fox 1966); powers of two with savings that never rise: as doubling; "
    "with no super-linear speed: less than twice the optimum on counts 1, 2, 3, ..., three times on powers of two; "
    "else the widest hull step, in GPUs, times it; all tight",
    lambda instance: True,
    lambda instance, optimum: min(
        optimum + largest_hull_step(cost_table(instance)), _times_factor("hull", instance, optimum)
    ),
)
EQUAL = Guarantee[Instance](
    "with no super-linear speed: the most GPUs that a job can get, divided by what it is given, times the optimum, tight",
    partial(_has_factor, "equal"),
    partial(_times_factor, "equal"),
)
FIXED = Guarantee[Instance](EQUAL.words, partial(_has_factor, "fixed"), partial(_times_factor, "fixed"))
