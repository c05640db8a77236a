"""Guarantees of the greedy methods on a cost table: conditions, and approximation factors.

Without super-linear speed means: no cost rises with the count, and count x cost never falls. Costs are >= 0. L is the largest
count that fits beside the smallest counts of the other jobs. Factors are at least 1, and infinite if nothing is proven.
docs/worst_theory.md has the proofs, and instances that reach the factors.
"""

import math
from bisect import bisect_right
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from dlsched.allocation.cost_table import CostTable, hull


def convex(table: CostTable) -> bool:
    """Whether every job's counts are consecutive and its cost is convex on them: then marginal gain is optimal (Fox 1966)."""
    for counts, costs in rows(table):
        savings = [first - second for first, second in pairwise(costs)]
        if counts[-1] - counts[0] + 1 != len(counts) or any(later > earlier for earlier, later in pairwise(savings)):
            return False
    return True


def falling_doublings(table: CostTable) -> bool:
    """Whether every job's counts are 1, 2, 4, ... and its saving per added unit never rises along them."""
    for counts, costs in rows(table):
        if counts != [2**power for power in range(len(counts))]:
            return False
        rates = [(first - second) / count for count, (first, second) in zip(counts, pairwise(costs), strict=False)]
        if any(later > earlier for earlier, later in pairwise(rates)):
            return False
    return True


def doubling_loss(table: CostTable, capacity: int) -> float:
    """Saving of the first doubling that did not fit, 0 when all did; retraces ``greedy.double_greedily`` step by step."""
    tables = [dict(zip(counts, costs, strict=True)) for counts, costs in rows(table)]
    counts = [min(row) for row in tables]
    while True:
        steps = [
            ((row[count] - row[2 * count]) / count, -job, row[count] - row[2 * count])
            for job, (row, count) in enumerate(zip(tables, counts, strict=True))
            if 2 * count in row
        ]
        rate, negative, saved = max(steps, default=(0.0, 0, 0.0))
        if rate <= 0:
            return 0.0
        if sum(counts) + counts[-negative] > capacity:
            return saved
        counts[-negative] *= 2


def rows(table: CostTable) -> Iterator[tuple[list[int], list[float]]]:
    """Counts and costs of one job after the other."""
    counts, costs = table.counts.tolist(), table.costs.tolist()
    for begin, end in pairwise(table.starts.tolist()):
        yield counts[begin:end], costs[begin:end]


_ROUNDING = 1e-12  # relative, of count x cost: so that a linear speed, A / w, does not count as super-linear


def no_super_linear_speed(table: CostTable) -> bool:
    """Whether no job's cost rises with its count, nor falls faster than 1 / count."""
    same_job = np.ones(table.pairs, dtype=bool)
    same_job[table.last] = False
    work = table.counts * table.costs
    falls = table.costs[1:] <= table.costs[:-1]
    slowly = work[1:] >= work[:-1] * (1 - _ROUNDING)
    return bool((falls & slowly)[same_job[:-1]].all())


def doubling(table: CostTable, capacity: int) -> float:
    """Factor of ``greedy.double_greedily``.

    On powers of two with savings per added unit that never rise (2L + 2) / (L + 4), and L / 2 whatever the speed. Else 2 on
    convex costs of consecutive counts, and L / 2 if all counts begin with 1 and 2.
    """
    table = fitting(table, capacity)
    most, slow = _largest(table), no_super_linear_speed(table)
    if falling_doublings(table):
        return max(1.0, (2 * most + 2) / (most + 4) if slow else most / 2)
    return min(2.0 if convex(table) else math.inf, _stalled(table)) if slow else math.inf


def marginal(table: CostTable, capacity: int) -> float:
    """Factor of ``greedy.increase_greedily``: 1 on convex costs of consecutive counts, else as ``doubling``."""
    table = fitting(table, capacity)
    if convex(table):
        return 1.0
    if falling_doublings(table):
        return doubling(table, capacity)
    return _stalled(table) if no_super_linear_speed(table) else math.inf


def hulls(table: CostTable, capacity: int) -> float:
    """Factor of ``greedy.climb_hulls``: the widest step along a hull, in units, whatever the costs.

    1 on convex costs of consecutive counts; as ``doubling``, whose steps it takes, on powers of two with savings per unit that
    never rise. Else, without super-linear speed, at most (2L - 1) / (L + 1) on counts 1, 2, 3, ..., and 3L / (L + 4) on counts
    from 1 of which none is more than twice the one before.
    """
    table = fitting(table, capacity)
    if convex(table):
        return 1.0
    if falling_doublings(table):
        return doubling(table, capacity)
    counts = [of_job for of_job, _ in rows(table)]
    widest = max(float(np.diff(of_job).max(initial=1)) for of_job, _ in rows(table.subset(hull(table))))
    if any(of_job[0] > 1 for of_job in counts) or not no_super_linear_speed(table):
        return widest
    most = _largest(table)
    if all(of_job[-1] == len(of_job) for of_job in counts):
        return min(widest, max(1.0, (2 * most - 1) / (most + 1)))
    if all(np.all(np.diff(of_job) <= of_job[:-1]) for of_job in counts):
        return min(widest, max(1.0, 3 * most / (most + 4)))
    return widest


def same_counts(table: CostTable, capacity: int, most: int) -> float:
    """Factor of ``heuristics.same_counts``: over all jobs, the largest ratio of possible to chosen count."""
    table = fitting(table, capacity)
    if not no_super_linear_speed(table):
        return math.inf
    return max(counts[-1] / counts[max(0, bisect_right(counts, most) - 1)] for counts, _ in rows(table))


def fitting(table: CostTable, capacity: int) -> CostTable:
    """Return the table of the counts that fit beside the smallest counts of the other jobs; smallest counts stay."""
    spare = max(0, capacity - table.minimum_units)
    return table.subset(table.counts <= np.repeat(table.counts[table.first], table.lengths) + spare)


def _stalled(table: CostTable) -> float:
    """Factor of a greedy that stops where the next count saves nothing."""
    starts_dense = all(counts[:2] in ([1], [1, 2]) for counts, _ in rows(table))
    return max(1.0, _largest(table) / 2) if starts_dense else math.inf


def _largest(table: CostTable) -> int:
    return int(table.counts.max())
