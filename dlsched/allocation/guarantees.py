"""Guarantees of the greedy methods on a cost table: conditions, and how much the methods can lose."""

from collections.abc import Iterator
from itertools import pairwise

from dlsched.allocation.cost_table import CostTable


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
    given = [min(row) for row in tables]
    while True:
        steps = [
            ((row[count] - row[2 * count]) / count, -job, row[count] - row[2 * count])
            for job, (row, count) in enumerate(zip(tables, given, strict=True))
            if 2 * count in row
        ]
        rate, negative, saved = max(steps, default=(0.0, 0, 0.0))
        if rate <= 0:
            return 0.0
        if sum(given) + given[-negative] > capacity:
            return saved
        given[-negative] *= 2


def rows(table: CostTable) -> Iterator[tuple[list[int], list[float]]]:
    """Counts and costs of one job after the other."""
    counts, costs = table.counts.tolist(), table.costs.tolist()
    for begin, end in pairwise(table.starts.tolist()):
        yield counts[begin:end], costs[begin:end]
