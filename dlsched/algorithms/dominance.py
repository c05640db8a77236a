"""Which pairs of a cost table can matter: undominated pairs, and the lower convex hull of every job.

A pair is dominated when the same job has a smaller count that costs no more. The hull keeps, of the undominated pairs,
those that minimise cost + price x count for some price >= 0 (Sinha and Zoltners 1979); along it the saving per added
unit strictly falls.
"""

import numpy as np
import numpy.typing as npt

from dlsched.algorithms.cost_table import CostTable

BoolArray = npt.NDArray[np.bool_]


def undominated(table: CostTable) -> BoolArray:
    """Mark the pairs that no smaller count of their job matches in cost; shape (P,), cost O(P log(longest job))."""
    place = np.arange(table.pairs) - np.repeat(table.first, table.lengths)
    best_before = np.full(table.pairs, np.inf)
    best_before[1:] = np.where(place[1:] > 0, table.costs[:-1], np.inf)
    reach = 1
    while reach < int(place.max(initial=0)) + 1:
        further = np.where(place[reach:] >= reach, best_before[:-reach], np.inf)
        best_before[reach:] = np.minimum(best_before[reach:], further)
        reach *= 2
    return table.costs < best_before


def hull(table: CostTable) -> BoolArray:
    """Mark the pairs on the lower convex hull of their job, from its smallest count down to its least cost; shape (P,).

    Starting from the undominated pairs, all that lie on or above the line through their two neighbours are dropped, in
    all jobs at a time, until none does: such a pair is no vertex whatever becomes of its neighbours. Cost O(P) a round,
    over the pairs still there; tables need a few rounds, convex costs one.
    """
    pairs = np.flatnonzero(undominated(table))
    while True:
        rows = np.searchsorted(table.starts, pairs, side="right") - 1
        same = rows[:-1] == rows[1:]
        saved = table.costs[pairs[:-1]] - table.costs[pairs[1:]]
        added = np.where(same, table.counts[pairs[1:]] - table.counts[pairs[:-1]], 1)
        slope = saved / added
        keep = np.ones(len(pairs), dtype=bool)
        keep[1:-1] = ~(same[:-1] & same[1:] & (slope[:-1] <= slope[1:]))
        if keep.all():
            break
        pairs = pairs[keep]
    marked = np.zeros(table.pairs, dtype=bool)
    marked[pairs] = True
    return marked
