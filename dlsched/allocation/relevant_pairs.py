"""Relevant pairs of all jobs at a price, in passes over some jobs at a time, so that intermediate arrays stay in the cache.

With Numba (``core.imports``) a pass is one loop instead, with the same operations on the same floats in the same order. It
saves some 7 ns a pair in all passes of a knapsack; below 2**27 pairs this does not pay for importing Numba, which takes a
second. If something else has imported it, it pays from 2**16 pairs on (``benchmarks/knapsack.py``).

Pairs of a job are relevant up to some count, since each unit beyond costs the price. A job's cost is nowhere below its least,
``table.least``, so with d units more than some pair its cost + price x count is above that pair's by at least price d - (the
pair's cost - least). Counts rise by at least 1 from pair to pair, so pairs far enough along need no look; in long tables
these are most pairs. *Rounding:* counts are at most 2**53, so each product price x count is off by at most price / 2, and the
other terms by far less than ``_MARGIN`` times themselves: no skipped comparison could have come out otherwise in floats.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from dlsched.allocation.cost_table import CostTable
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.imports import compiled

_ENOUGH = 2**16  # pairs from which skipping pays
_MARGIN = 1e-9  # relative room for rounding: see the module
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
        """First pair of every job that has the least cost + price x count, shape (J,); that of pairs ``near`` is likely low."""
        part, table = self._whole, self._table
        if self._pays(price):
            near = _tried(table, price) if near is None else near
            part = self._up_to(price, near, table.costs[near] - table.least)
        return part.numbered(minima(part.starts, part.counts, part.costs, price))

    def near(self, price: float, base: IntArray, most: float) -> tuple[IntArray, IntArray]:
        """As ``within_reach``: pairs less than ``most`` above the ``base`` pair of their job, and their jobs."""
        part, table = self._whole, self._table
        if self._pays(price):
            part = self._up_to(price, base, np.maximum(table.costs[base] - table.least + most, 0.0))
        pairs, jobs = within_reach(part.starts, part.counts, part.costs, price, part.at(table, base), most)
        return part.numbered(pairs), jobs

    def up_to(self, price: float, cheapest: IntArray, limits: FloatArray) -> tuple[IntArray, IntArray]:
        """As the function ``up_to``: pairs up to the limit of their job, as the ``cheapest`` ones are, and their jobs."""
        part, table = self._whole, self._table
        if self._pays(price):
            costs = table.costs[cheapest]
            over = costs - table.least + (limits - (costs + price * table.counts[cheapest]))
            part = self._up_to(price, cheapest, over)
        pairs, jobs = up_to(part.starts, part.counts, part.costs, price, limits)
        return part.numbered(pairs), jobs

    def _pays(self, price: float) -> bool:
        # Few pairs, and pairs in compiled loops, are looked at no slower than those to skip are found.
        pairs = self._table.pairs
        return price > 0 and pairs >= _ENOUGH and _fast(_fill_minima, pairs) is None

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
            self._part = _Part(*leading(table.starts, ends, table.counts, table.costs), ends)
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


T = TypeVar("T")

_BLOCK = 2**16  # pairs of a block, more if one job has more
_COMPILED_FROM = 2**27  # pairs from which loops are compiled if Numba is not yet imported
_AT_HAND_FROM = 2**16  # the same if it is


def minima(starts: IntArray, counts: IntArray, costs: FloatArray, price: float) -> IntArray:
    """Index of the first pair of every segment that has the least cost + price x count; shape (segments,)."""
    found = np.empty(len(starts) - 1, dtype=np.int64)
    fill = _fast(_fill_minima, len(counts))
    if fill is not None:
        fill(starts, counts, costs, price, found)
        return found
    for first, last, begin, end in blocks(starts):
        values = costs[begin:end] if price == 0.0 else costs[begin:end] + price * counts[begin:end]
        found[first:last] = begin + first_minima(values, starts[first : last + 1] - begin)
    return found


def first_minima(values: FloatArray, starts: IntArray) -> IntArray:
    """Index of the first smallest value of every segment; shape (segments,)."""
    lowest = np.minimum.reduceat(values, starts[:-1])
    hits = np.flatnonzero(values == np.repeat(lowest, np.diff(starts)))
    if len(hits) == len(lowest):
        return hits
    # Several pairs of a segment attain the minimum: the first hit of each segment counts.
    return hits[np.searchsorted(hits, starts[:-1])]


def within_reach(
    starts: IntArray, counts: IntArray, costs: FloatArray, price: float, base: IntArray, most: float
) -> tuple[IntArray, IntArray]:
    """Pairs whose cost + price x count is less than ``most`` above that of the ``base`` pair of their segment, and segments."""
    gather = _fast(_gather_near, len(counts))
    if gather is not None:
        near_pairs, near_rows = np.empty(len(counts), dtype=np.int64), np.empty(len(counts), dtype=np.int64)
        number_near = gather(starts, counts, costs, price, base, most, near_pairs, near_rows)
        return near_pairs[:number_near].copy(), near_rows[:number_near].copy()
    pairs, rows = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for first, last, begin, end in blocks(starts):
        lengths = np.diff(starts[first : last + 1])
        chosen = base[first:last]
        dearer = costs[begin:end] - np.repeat(costs[chosen], lengths)
        larger = price * (counts[begin:end] - np.repeat(counts[chosen], lengths))
        near = dearer + larger < most
        pairs.append(begin + np.flatnonzero(near))
        number = np.add.reduceat(near, starts[first:last] - begin, dtype=np.int64)
        rows.append(np.repeat(np.arange(first, last), number))
    return np.concatenate(pairs), np.concatenate(rows)


def up_to(
    starts: IntArray, counts: IntArray, costs: FloatArray, price: float, limits: FloatArray
) -> tuple[IntArray, IntArray]:
    """Pairs whose cost + price x count is at most the limit of their segment, shape (segments,), and segments."""
    pairs, rows = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for first, last, begin, end in blocks(starts):
        values = costs[begin:end] + price * counts[begin:end]
        near = values <= np.repeat(limits[first:last], np.diff(starts[first : last + 1]))
        pairs.append(begin + np.flatnonzero(near))
        rows.append(first + np.searchsorted(starts[first : last + 1], pairs[-1], side="right") - 1)
    return np.concatenate(pairs), np.concatenate(rows)


def leading(
    starts: IntArray, ends: IntArray, counts: IntArray, costs: FloatArray
) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """Pairs of every segment before ``ends``: their segments' starts, counts, costs and pair numbers."""
    begins = np.concatenate(([0], np.cumsum(ends - starts[:-1])))
    pairs = np.arange(begins[-1]) + np.repeat(starts[:-1] - begins[:-1], np.diff(begins))
    return begins, counts[pairs], costs[pairs], pairs


def blocks(starts: IntArray) -> Iterator[tuple[int, int, int, int]]:
    """Yield of each block of whole segments the first, the one after the last, and the same of their pairs."""
    first, segments = 0, len(starts) - 1
    while first < segments:
        begin = int(starts[first])
        last = max(first + 1, int(np.searchsorted(starts, begin + _BLOCK, side="right")) - 1)
        last = min(last, segments)
        yield first, last, begin, int(starts[last])
        first = last


def _fast(loop: Callable[..., T], pairs: int) -> Callable[..., T] | None:
    """Return the compiled loop if so many pairs are worth it, else None."""
    enough = _AT_HAND_FROM if "numba" in sys.modules else _COMPILED_FROM
    return compiled(loop) if pairs >= enough else None


def _fill_minima(starts: IntArray, counts: IntArray, costs: FloatArray, price: float, found: IntArray) -> None:
    for row in range(len(found)):
        best = starts[row]
        least = costs[best] + price * counts[best]
        for pair in range(best + 1, starts[row + 1]):
            value = costs[pair] + price * counts[pair]
            if value < least:
                best, least = pair, value
        found[row] = best


def _gather_near(
    starts: IntArray,
    counts: IntArray,
    costs: FloatArray,
    price: float,
    base: IntArray,
    most: float,
    pairs: IntArray,
    rows: IntArray,
) -> int:
    """Fill in pairs and rows from the front, and return how many."""
    number = 0
    for row in range(len(base)):
        cost, count = costs[base[row]], counts[base[row]]
        for pair in range(starts[row], starts[row + 1]):
            if (costs[pair] - cost) + price * (counts[pair] - count) < most:
                pairs[number] = pair
                rows[number] = row
                number += 1
    return number
