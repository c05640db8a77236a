"""Reductions of a cost table that keep its optimum: coarser grids of counts, and pairs that cannot matter.

*Grid.* The units that a job takes beyond its smallest count are a multiple of g, the greatest common divisor of all such
differences. So jobs can use only a multiple of g of the capacity beyond the smallest counts.

*Limit.* Given an answer of total U, no better answer contains a pair that costs over U - sum_i min cost_i more than its job's
least cost. Dropping such pairs makes rounding relative to the optimum.
"""

import numpy as np

from dlsched.allocation.cost_table import CostTable, undominated
from dlsched.allocation.heuristics import climb_hulls
from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick

_FEW = 100  # jobs that suffice as a rule to see that counts have no common divisor
_SLACK = 1e-12  # of the largest cost: rounding of the sums


def on_grid(table: CostTable, capacity: int) -> tuple[CostTable, int, int]:
    """Return the table with counts 1 + (w - smallest) / g, the capacity to match, and g (0: no job has two counts)."""
    smallest = table.counts[table.first]
    few = table.counts[: int(table.starts[: _FEW + 1][-1])]
    if smallest.max() == 1 and np.gcd.reduce(few - 1) == 1:  # the counts are on the grid already
        return table, capacity, 1
    beyond = table.counts - np.repeat(smallest, table.lengths)
    unit = int(np.gcd.reduce(beyond))
    spare = (capacity - table.minimum_units) // max(1, unit)
    return CostTable(table.starts, 1 + beyond // max(1, unit), table.costs), table.jobs + spare, unit


def least_and_room(table: CostTable, chosen: IntArray) -> tuple[FloatArray, float]:
    """Return every job's least cost, shape (J,), and how much more a pair of an answer like ``chosen`` may cost."""
    costs, least = table.costs[chosen], table.least
    return least, float((costs - least).sum()) + _SLACK * float(np.abs(costs).max())


def within(table: CostTable, chosen: IntArray) -> BoolArray:
    """Mark the pairs, shape (P,), that an answer no worse than the ``chosen`` pairs can contain, these included."""
    least, room = least_and_room(table, chosen)
    keep = np.asarray(table.costs - np.repeat(least, table.lengths) <= room)
    keep[chosen] = True
    return keep


def open_pairs(table: CostTable, capacity: int, *, tick: Tick = no_tick) -> CostTable:
    """Return the undominated pairs that an answer no worse than that of ``climb_hulls`` can contain; UsageError: infeasible."""
    table = table.subset(undominated(table, tick=tick))
    chosen = climb_hulls(table, capacity, tick=tick)
    if chosen is None:
        raise UsageError("the instance is infeasible: no pair is open")
    return table.subset(within(table, chosen))
