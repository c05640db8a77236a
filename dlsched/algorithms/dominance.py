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

    Gift wrapping, all jobs at a time: from each job's last vertex go to the pair with the largest saving per added
    unit, the farthest among equals. Cost O(P) a vertex of the longest hull, over pairs still ahead.
    """
    marked = np.zeros(table.pairs, dtype=bool)
    marked[table.first] = True
    pairs = np.flatnonzero(undominated(table))
    rows = np.searchsorted(table.starts, pairs, side="right") - 1
    vertex = table.first.copy()
    while True:
        ahead = pairs > vertex[rows]
        pairs, rows = pairs[ahead], rows[ahead]
        if not len(pairs):
            return marked
        here = vertex[rows]
        slope = (table.costs[here] - table.costs[pairs]) / (table.counts[pairs] - table.counts[here])
        starts = np.flatnonzero(np.diff(rows, prepend=-1))
        best = np.repeat(np.maximum.reduceat(slope, starts), np.diff(np.append(starts, len(rows))))
        hits = np.flatnonzero(slope == best)
        vertex[rows[hits]] = pairs[hits]  # ascending, so the farthest of equals stays
        marked[vertex[rows[starts]]] = True
