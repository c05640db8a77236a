"""Dynamic programming over the capacity: the slow but obviously correct optimum of a cost table.

best_j(c) = min over counts w <= c of job j of cost_j(w) + best_{j-1}(c - w), best_0(c) = 0 for every c >= 0.
"""

import numpy as np

from dlsched.algorithms import sums
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.reduction import on_grid
from dlsched.core.arrays import IntArray
from dlsched.core.budget import Tick, no_tick

_WORK = 5  # rows of floats in the work on one job
_BLOCK = 2**20  # sums made between two ticks


def state_bytes(table: CostTable, capacity: int) -> int:
    """Bytes that ``solve_by_states`` needs for its decisions, J (C + 1) entries with its C, and its work."""
    _, useful = _on_useful_grid(table, capacity)
    return (useful + 1) * (table.jobs * _decision_type(table).itemsize + _WORK * 8)


def solve_by_states(
    table: CostTable,
    capacity: int,
    *,
    step: Tick = no_tick,
    tick: Tick = no_tick,
) -> IntArray | None:
    """Return the pairs of least total cost whose counts add up to at most ``capacity``, or None if there are none.

    O(P C) time and O(J C) sums. C is the smaller of the capacity and the sum of the largest counts, both divided by
    the common divisor of all counts (``reduction.on_grid``). Among equals the smaller count wins. ``step`` is called
    before every job and ``tick`` now and then. ``MemoryError``: more than ``ALLOWED_BYTES`` of ``algorithms.memory``
    are needed.
    """
    if table.minimum_units > capacity:
        return None
    sums.require_memory(state_bytes(table, capacity), "dynamic programming")
    table, capacity = _on_useful_grid(table, capacity)
    best = np.zeros(capacity + 1)
    decisions = np.zeros((table.jobs, capacity + 1), dtype=_decision_type(table))
    bounds = table.starts.tolist()
    counts, costs = table.counts.tolist(), table.costs.tolist()
    since = 0
    for job in range(table.jobs):
        step()
        reached = np.full(capacity + 1, np.inf)
        for option, pair in enumerate(range(bounds[job], bounds[job + 1])):
            if counts[pair] > capacity:
                break
            since += capacity
            if since >= _BLOCK:
                tick()
                since = 0
            total = best[: capacity + 1 - counts[pair]] + costs[pair]
            tail = reached[counts[pair] :]
            better = total < tail
            np.copyto(tail, total, where=better)
            decisions[job, counts[pair] :][better] = option
        best = reached
    # Read the decisions backwards from the full capacity.
    chosen = np.zeros(table.jobs, dtype=np.int64)
    left = capacity
    for job in range(table.jobs - 1, -1, -1):
        chosen[job] = bounds[job] + int(decisions[job, left])
        left -= counts[chosen[job]]
    return chosen


def _on_useful_grid(table: CostTable, capacity: int) -> tuple[CostTable, int]:
    """The table on its grid, and the smaller of its capacity and the sum of the largest counts."""
    small, room, _ = on_grid(table, max(capacity, table.minimum_units))
    return small, min(room, int(small.counts[small.last].sum()))


def _decision_type(table: CostTable) -> np.dtype[np.unsignedinteger]:
    return np.min_scalar_type(int(table.lengths.max()) - 1)
