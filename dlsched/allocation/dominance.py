"""Undominated pairs of a cost table, and the lower convex hull of every job's pairs.

A pair is dominated when the same job has a smaller count that costs no more. The hull keeps, of the undominated pairs,
those that minimise cost + price x count for some price >= 0 (Sinha and Zoltners 1979); along it the saving per added
unit never rises. Pairs on a straight line are all kept: one long step in their place may not fit where a short one does.
"""

import numpy as np

from dlsched.allocation.cost_table import CostTable
from dlsched.core.arrays import BoolArray, IntArray
from dlsched.core.budget import Tick, no_tick

_ROUNDS = 8
_BLOCK = 2**14  # pairs between two ticks
_ROUNDING = 2.0**-49  # relative, of costs: keeps pairs on a straight line in spite of the last bits of floats


def undominated(table: CostTable, *, tick: Tick = no_tick) -> BoolArray:
    """Mark the pairs that no smaller count of their job matches in cost; shape (P,), cost O(P log(longest job)).

    ``tick`` is called now and then.
    """
    position = np.arange(table.pairs) - np.repeat(table.first, table.lengths)
    best_before = np.full(table.pairs, np.inf)
    best_before[1:] = np.where(position[1:] > 0, table.costs[:-1], np.inf)
    # Doubling windows: after each round ``best_before`` covers twice as many earlier pairs of the job.
    reach = 1
    while reach < int(position.max(initial=0)) + 1:
        tick()
        further = np.where(position[reach:] >= reach, best_before[:-reach], np.inf)
        best_before[reach:] = np.minimum(best_before[reach:], further)
        reach *= 2
    return table.costs < best_before


def hull(table: CostTable, *, tick: Tick = no_tick) -> BoolArray:
    """Mark the pairs on the lower convex hull of their job, from its smallest count down to its least cost; shape (P,).

    First the corners: starting from the undominated pairs, each round drops in all jobs the pairs that lie
    on or above the line through their two neighbours, until none does. Such a pair is no corner, whichever
    neighbours are dropped too. A round costs O(P) for the pairs still there; tables need a few rounds,
    convex costs one. If dropping uncovers one neighbour after the other, there would be many rounds: after
    ``_ROUNDS`` of them the pairs left are scanned one by one. Then the pairs on the lines between the
    corners are added, up to rounding. ``tick`` is called now and then.
    """
    pairs = candidates = np.flatnonzero(undominated(table, tick=tick))
    for _ in range(_ROUNDS):
        tick()
        rows = np.searchsorted(table.starts, pairs, side="right") - 1
        same = rows[:-1] == rows[1:]
        saved = table.costs[pairs[:-1]] - table.costs[pairs[1:]]
        added = np.where(same, table.counts[pairs[1:]] - table.counts[pairs[:-1]], 1)
        # Slopes of consecutive pairs of one job; at a corner the saving per unit must fall strictly.
        slope = saved / added
        keep = np.ones(len(pairs), dtype=bool)
        keep[1:-1] = ~(same[:-1] & same[1:] & (slope[:-1] <= slope[1:]))
        if keep.all():
            break
        pairs = pairs[keep]
    else:
        pairs = _scanned(table, pairs, tick)
    marked = np.zeros(table.pairs, dtype=bool)
    marked[pairs] = True
    marked[_on_lines(table, pairs, candidates[~marked[candidates]])] = True
    return marked


def largest_hull_step(table: CostTable) -> float:
    """Largest saving of one step along a hull: what ``greedy.climb_hulls`` can lose (0 without steps)."""
    vertices = np.flatnonzero(hull(table))
    job = np.searchsorted(table.starts, vertices, side="right")
    saved = (table.costs[vertices[:-1]] - table.costs[vertices[1:]])[job[:-1] == job[1:]]
    return float(saved.max(initial=0.0))


def _on_lines(table: CostTable, corners: IntArray, others: IntArray) -> IntArray:
    """Return those of the other pairs, all between two corners of their job, that lie on the line through these."""
    after = np.searchsorted(corners, others)
    low, high = corners[after - 1], corners[after]
    saved, added = table.costs[low] - table.costs[high], table.counts[high] - table.counts[low]
    line = table.costs[low] - saved * ((table.counts[others] - table.counts[low]) / added)
    return others[table.costs[others] - line <= _ROUNDING * table.costs[low]]


def _scanned(table: CostTable, pairs: IntArray, tick: Tick) -> IntArray:
    """Return the corners of the hulls, from undominated ones, by going back from every new pair (Andrew 1979)."""
    rows = (np.searchsorted(table.starts, pairs, side="right") - 1).tolist()
    counts, costs = table.counts[pairs].tolist(), table.costs[pairs].tolist()
    kept: list[int] = []
    slopes: list[float] = []  # slope of the line to each kept pair from the one before; infinite for the first of a job
    for index, (row, count, cost) in enumerate(zip(rows, counts, costs, strict=True)):
        if index % _BLOCK == 0:
            tick()
        slope = np.inf
        while kept and rows[kept[-1]] == row:
            slope = (costs[kept[-1]] - cost) / (count - counts[kept[-1]])
            if slopes[-1] > slope:
                break
            kept.pop()
            slopes.pop()
        kept.append(index)
        slopes.append(slope)
    return pairs[kept]
