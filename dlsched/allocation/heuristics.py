"""Heuristics on a cost table: equal counts, doubling, marginal gain, and the steps of the lower convex hull.

The greedy ones start from every job's smallest count and return one pair index per job, shape (J,), or None when these exceed
the capacity. Equal gains go to the job that stands first in the table. ``tick`` is called now and then.
"""

import heapq
from bisect import bisect_right

import numpy as np

from dlsched.allocation.cost_table import CostTable, hull
from dlsched.allocation.counts import Counted
from dlsched.allocation.relevant_pairs import blocks
from dlsched.core.arrays import IntArray, distinct
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick


def same_counts(instance: Counted, most: int, name: str = "count") -> dict[str, int] | None:
    """Every job's largest allowed count <= ``most``, else its smallest; None: they do not fit. UsageError: ``most`` < 1."""
    require_count(most, name)
    counts_by_job = {}
    for index, job in enumerate(instance.jobs):
        counts = instance.counts(index)
        # how many counts are at most ``most``; ranges start at 1
        at_most = min(most, len(counts)) if isinstance(counts, range) else bisect_right(counts, most)
        counts_by_job[job.id] = counts[max(0, at_most - 1)]
    return counts_by_job if sum(counts_by_job.values()) <= instance.capacity else None


def require_count(most: int, name: str) -> None:
    """Refuse a count below 1 (UsageError)."""
    if most < 1:
        raise UsageError(where=name, found=most, allowed="an integer >= 1")


def equal_share(instance: Counted) -> int:
    """floor(C / J), at least 1."""
    return max(1, instance.capacity // len(instance.index))


_BLOCK = 256  # steps between two ticks
_MANY = 2048  # pairs that are sorted faster than climbed


def double_greedily(table: CostTable, capacity: int, *, tick: Tick = no_tick) -> IntArray | None:
    """Double the job with the largest saving per added unit, while that is allowed, fits and saves; O(P log P + S log J)."""
    return climb(table, capacity, doubles(table), tick)


def doubles(table: CostTable) -> IntArray:
    """The pair of twice the count of each pair, -1 where there is none."""
    counts = table.counts
    # Ranks of counts and of doubles, each job's beyond those of the jobs before it, so that one search serves all.
    ranks = distinct(np.concatenate((counts, 2 * counts)))
    offset = np.repeat(np.arange(table.jobs) * len(ranks), table.lengths)
    double = np.searchsorted(np.searchsorted(ranks, counts) + offset, np.searchsorted(ranks, 2 * counts) + offset)
    row = np.repeat(np.arange(table.jobs), table.lengths)
    inside = np.minimum(double, table.pairs - 1)
    possible = (double < table.starts[row + 1]) & (counts[inside] == 2 * counts)
    return np.where(possible, double, -1)


def increase_greedily(table: CostTable, capacity: int, *, tick: Tick = no_tick) -> IntArray | None:
    """Give the next larger count to the job with the largest saving per added unit; one that fails is closed. O(P + S log J)."""
    free, many = capacity - table.minimum_units, table.pairs >= _MANY and table.costs.dtype == np.float64
    if many and free >= 0 and (table.counts[table.last] - table.counts[table.first] == table.lengths - 1).all():
        return _take_units(table, free)
    return climb(table, capacity, increases(table), tick)


def increases(table: CostTable) -> IntArray:
    """The pair of the next larger count of each pair, -1 where there is none."""
    following = np.arange(1, table.pairs + 1)
    following[table.last] = -1
    return following


def climb_hulls(table: CostTable, capacity: int, *, tick: Tick = no_tick) -> IntArray | None:
    """Take the steps of the jobs' lower convex hulls in order of saving per added unit; a job whose step fails is closed.

    Until then it is the linear programming optimum: the total is at most that plus the largest single step. O(P log P).
    """
    vertices = np.flatnonzero(hull(table, tick=tick))
    following = np.full(table.pairs, -1)
    same_job = np.searchsorted(table.starts, vertices[1:], side="right") == np.searchsorted(
        table.starts, vertices[:-1], side="right"
    )
    following[vertices[:-1][same_job]] = vertices[1:][same_job]
    return climb(table, capacity, following, tick)


def _take_units(table: CostTable, free: int) -> IntArray:
    """What ``climb`` chooses where each step leads to the next pair and takes a unit: the steps of largest gain.

    A step that gains more than one before it follows that at once, so it counts as gaining as little.
    """
    all_gains = np.empty_like(table.costs)
    for first, last, begin, end in blocks(table.starts):  # which stay in the cache
        costs, gains, starts = table.costs[begin:end], all_gains[begin:end], table.starts[first : last + 1] - begin
        lengths = np.diff(starts)
        owner = np.repeat(np.arange(first, last), lengths)
        gains[:-1] = costs[:-1] - costs[1:]
        gains[starts[1:] - 1] = 0.0
        reach, longest = 1, int(lengths.max())
        while reach < longest:
            gains[reach:] = np.minimum(gains[reach:], np.where(owner[reach:] == owner[:-reach], gains[:-reach], np.inf))
            reach *= 2
    taken = all_gains > 0
    if np.count_nonzero(taken) > free:
        price = np.partition(all_gains, -free)[-free] if free else np.inf
        taken = all_gains > price
        tied = np.flatnonzero(all_gains == price)  # of equal gains the first in the table
        taken[tied[: free - np.count_nonzero(taken)]] = True
    return table.first + np.add.reduceat(taken, table.first, dtype=np.int64)


def climb(table: CostTable, capacity: int, following: IntArray, tick: Tick = no_tick) -> IntArray | None:
    """Move jobs from pair p to following[p] (-1: none), the largest saving per added unit first, while it is positive."""
    free = capacity - table.minimum_units
    if free < 0:
        return None
    target = np.maximum(following, 0)
    units = np.where(following >= 0, table.counts[target] - table.counts, 1)
    gains = np.where(following >= 0, (table.costs - table.costs[target]) / units, 0.0)
    chosen = table.first.copy()
    while len(going := np.flatnonzero(gains[chosen] > 0)):
        chosen[going] = following[chosen[going]]
    if table.counts[chosen].sum() - table.minimum_units <= free:
        return chosen  # no step has to give way to another
    chosen = table.first.copy()
    next_pair, next_units, next_gain = following.tolist(), units.tolist(), gains.tolist()
    heap = [(-next_gain[pair], job, pair) for job, pair in enumerate(chosen.tolist()) if next_gain[pair] > 0]
    heapq.heapify(heap)
    steps = 0
    while heap and free:
        steps += 1
        if steps % _BLOCK == 0:
            tick()
        _, job, pair = heap[0]
        # A step that does not fit now never will: the free units only shrink.
        if next_units[pair] > free:
            heapq.heappop(heap)
            continue
        free -= next_units[pair]
        pair = next_pair[pair]
        chosen[job] = pair
        if next_gain[pair] > 0:
            heapq.heapreplace(heap, (-next_gain[pair], job, pair))
        else:
            heapq.heappop(heap)
    return chosen
