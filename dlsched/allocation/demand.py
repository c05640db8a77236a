"""Demand of jobs for units at a price: a falling curve, computed at as few points as possible.

Each job takes the first count that minimises cost + price x count. The search treats the curve between two
known points as a power of the price, and beyond the dearest point as the inverse of the price's square root,
which is how jobs with times near 1 / count behave.
"""

from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.passes import minima
from dlsched.core.budget import Tick
from dlsched.core.elementary import float_power, log

_ASKED = 8  # largest number of points computed for one answer
_LEAST, _MOST = 0.1, 0.9  # range of a new point between its neighbours, in powers: not too near either


class Demand:
    """The curve of a table, and its known points: prices, ascending, and units."""

    def __init__(self, table: CostTable) -> None:
        self._table = table
        free = minima(table.starts, table.counts, table.costs, 0.0)
        taken = int(table.counts[free].sum())
        self._points = [(0.0, taken)]
        saved = float((table.costs[table.first] - table.costs[free]).sum())
        self._typical = saved / max(1, taken - table.minimum_units)  # what a unit saves on average

    def price_for(self, units: float, within: float, tick: Tick) -> tuple[float, int]:
        """Return a price at which jobs take about ``units``, and these units; else the nearest of some tries."""
        for _ in range(_ASKED):
            price, taken = min(self._points, key=lambda point: abs(point[1] - units))
            if abs(taken - units) <= within or (price == 0.0 and taken <= units):
                break
            tick()
            self._ask(self._next(units))
        return min(self._points, key=lambda point: abs(point[1] - units))

    def _next(self, units: float) -> float:
        """Estimate the price for so many units."""
        index = sum(taken > units for _, taken in self._points)
        (low, more), dearer = self._points[index - 1], self._points[index : index + 1]
        if not dearer:
            return low * float_power(more / max(units, 1.0), 2) if low else self._typical
        high, fewer = dearer[0]
        if not low:
            return high / 4
        # Between two known points the demand is a power of the price: interpolate in logarithms.
        share = log(more / max(units, 1.0)) / log(more / fewer)
        return low * float_power(high / low, min(_MOST, max(_LEAST, share)))

    def _ask(self, price: float) -> None:
        table = self._table
        chosen = minima(table.starts, table.counts, table.costs, price)
        self._points = sorted([*self._points, (price, int(table.counts[chosen].sum()))])
