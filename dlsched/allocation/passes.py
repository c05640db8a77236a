"""Passes over the pairs of all jobs, some jobs at a time, so that intermediate arrays stay in the cache.

With Numba (``core.compiled``) a pass is one loop instead, with the same operations on the same floats in the
same order. It saves some 7 ns a pair in all passes of a knapsack; below 2**27 pairs this does not pay for
importing Numba, which takes a second. If something else has imported it, it pays from 2**16 pairs on
(``benchmarks/knapsack.py``).
"""

import sys
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.compiled import compiled

T = TypeVar("T")

_BLOCK = 2**16  # pairs of a block, more if one job has more
_COMPILED_FROM = 2**27  # pairs from which loops are compiled if Numba is not yet imported
_AT_HAND_FROM = 2**16


def minima(starts: IntArray, counts: IntArray, costs: FloatArray, price: float) -> IntArray:
    """Index of the first pair of every segment that has the least cost + price x count; shape (segments,)."""
    found = np.empty(len(starts) - 1, dtype=np.int64)
    fill = _fast(_fill_minima, len(counts))
    if fill is not None:
        fill(starts, counts, costs, price, found)
        return found
    for first, last, begin, end in _blocks(starts):
        values = costs[begin:end] if price == 0.0 else costs[begin:end] + price * counts[begin:end]
        found[first:last] = begin + first_minima(values, starts[first : last + 1] - begin)
    return found


def first_minima(values: FloatArray, starts: IntArray) -> IntArray:
    """Index of the first smallest value of every segment; shape (segments,)."""
    lowest = np.minimum.reduceat(values, starts[:-1])
    hits = np.flatnonzero(values == np.repeat(lowest, np.diff(starts)))
    if len(hits) == len(lowest):
        # Several pairs of a segment attain the minimum: the first hit of each segment counts.
        return hits
    return hits[np.searchsorted(hits, starts[:-1])]


def within_reach(
    starts: IntArray, counts: IntArray, costs: FloatArray, price: float, base: IntArray, most: float
) -> tuple[IntArray, IntArray]:
    """Pairs whose cost + price x count is less than ``most`` above that of the ``base`` pair of their segment, and segments.

    The difference is that of costs + price x that of counts.
    """
    gather = _fast(_gather_near, len(counts))
    if gather is not None:
        near_pairs, near_rows = np.empty(len(counts), dtype=np.int64), np.empty(len(counts), dtype=np.int64)
        number_near = gather(starts, counts, costs, price, base, most, near_pairs, near_rows)
        return near_pairs[:number_near].copy(), near_rows[:number_near].copy()
    pairs, rows = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for first, last, begin, end in _blocks(starts):
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
    for first, last, begin, end in _blocks(starts):
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


def in_loops(pairs: int) -> bool:
    """Whether passes over so many pairs are compiled loops."""
    return _fast(_fill_minima, pairs) is not None


def _blocks(starts: IntArray) -> Iterator[tuple[int, int, int, int]]:
    """First segment of a block, the one after its last, and the same of pairs."""
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
