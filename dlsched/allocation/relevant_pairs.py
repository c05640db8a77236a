"""Relevant pairs of a job at a price: pairs up to some count, since each unit beyond costs the price.

A job's cost is nowhere below its least, ``table.least``, so with d units more than some pair its cost + price x count is above
that pair's by at least price d - (the pair's cost - least). Counts rise by at least 1 from pair to pair, so
pairs far enough along need no look; in long tables these are most pairs. *Rounding:* counts are at most
2**53, so each product price x count is off by at most price / 2, and the other terms by far less than
``_MARGIN`` times themselves. So no skipped comparison could have come out otherwise in floats, and the
result is that of a look at all pairs.
"""

from dataclasses import dataclass

import numpy as np

from dlsched.allocation import passes
from dlsched.allocation.cost_table import CostTable
from dlsched.core.arrays import FloatArray, IntArray

_ENOUGH = 2**16  # pairs from which skipping pays
_MARGIN = 1e-9
_STEP = 4  # factor from one of the counts tried first to the next
_WIDER = 4  # parts have 2 pairs more than needed and one for every 4, so that they serve other prices too


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Every job's pairs before the number ``ends``, shape (J,); ``pairs``: numbers of these, None: all."""

    starts: IntArray
    counts: IntArray
    costs: FloatArray
    pairs: IntArray | None
    ends: IntArray

    def numbered(self, positions: IntArray) -> IntArray:
        """Return the pairs at positions of the part."""
        return positions if self.pairs is None else self.pairs[positions]

    def at(self, table: CostTable, pairs: IntArray) -> IntArray:
        """Return the positions of pairs, one a job."""
        return pairs if self.pairs is None else pairs + (self.starts[:-1] - table.first)


class RelevantPairs:
    """Relevant pairs of a table at one price after another; the pairs of the last price are reused."""

    def __init__(self, table: CostTable) -> None:
        self._table = table
        self._whole = _Part(table.starts, table.counts, table.costs, None, table.starts[1:])
        self._part: _Part | None = None

    def cheapest(self, price: float, near: IntArray | None = None) -> IntArray:
        """Pair of every job that has the least cost + price x count, the first one of equals; shape (J,).

        ``near``: a pair of every job whose cost + price x count is likely to be low, such as the cheapest at another price.
        """
        part, table = self._whole, self._table
        if self._pays(price):
            near = _tried(table, price) if near is None else near
            part = self._up_to(price, near, table.costs[near] - table.least)
        return part.numbered(passes.minima(part.starts, part.counts, part.costs, price))

    def near(self, price: float, base: IntArray, most: float) -> tuple[IntArray, IntArray]:
        """Pairs whose cost + price x count is less than ``most`` above that of the ``base`` pair of their job, and their jobs.

        The difference is that of costs + price x that of counts.
        """
        part, table = self._whole, self._table
        if self._pays(price):
            part = self._up_to(price, base, np.maximum(table.costs[base] - table.least + most, 0.0))
        pairs, jobs = passes.within_reach(part.starts, part.counts, part.costs, price, part.at(table, base), most)
        return part.numbered(pairs), jobs

    def up_to(self, price: float, cheapest: IntArray, limits: FloatArray) -> tuple[IntArray, IntArray]:
        """Pairs whose cost + price x count is at most the limit of their job, shape (J,), and their jobs.

        ``cheapest``: a pair of every job whose cost + price x count is at most the limit.
        """
        part, table = self._whole, self._table
        if self._pays(price):
            costs = table.costs[cheapest]
            part = self._up_to(
                price, cheapest, costs - table.least + (limits - (costs + price * table.counts[cheapest]))
            )
        pairs, jobs = passes.up_to(part.starts, part.counts, part.costs, price, limits)
        return part.numbered(pairs), jobs

    def _pays(self, price: float) -> bool:
        pairs = self._table.pairs
        return (
            price > 0 and pairs >= _ENOUGH and not passes.in_loops(pairs)
        )  # a look at all takes no longer than finding the pairs to skip

    def _up_to(self, price: float, pairs: IntArray, over: FloatArray) -> _Part:
        """Return a part with all pairs for which price x (count - that of ``pairs``) is at most ``over``."""
        table = self._table
        # An infinite quotient is welcome here: then all pairs of the job are relevant.
        with np.errstate(over="ignore"):
            further = np.floor(over / price * (1 + _MARGIN)) + 2
        ends = pairs + 1 + np.minimum(further, table.last - pairs).astype(np.int64)
        if self._part is not None and (ends <= self._part.ends).all():
            return self._part
        ends = np.minimum(ends + 2 + (ends - table.first) // _WIDER, table.starts[1:])
        self._part = self._whole
        if 2 * int((ends - table.first).sum()) <= table.pairs:
            self._part = _Part(*passes.leading(table.starts, ends, table.counts, table.costs), ends)
        return self._part


def _tried(table: CostTable, price: float) -> IntArray:
    """Cheapest pair of every job among its first, fourth, sixteenth and so on."""
    best = table.first
    values = table.costs[best] + price * table.counts[best]
    number, longest = _STEP, int(table.lengths.max())
    while number <= longest:
        pairs = np.minimum(table.first + (number - 1), table.last)
        tried = table.costs[pairs] + price * table.counts[pairs]
        best, values = np.where(tried < values, pairs, best), np.minimum(tried, values)
        number *= _STEP
    return best
