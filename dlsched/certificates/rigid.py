"""Bounds from prices over time for jobs that hold fixed units for a fixed time, in whole numbers.

Minimise the sum of the ends C_i = s_i + L_i, s_i >= r_i, where the jobs that run at any time take at most G units, job i g_i.

*Prices.* For lambda(t) >= 0 a schedule takes at most G int lambda of priced units. So its sum of ends is at least

    sum_i phi_i - G int lambda,   phi_i = min over s >= r_i of c_i(s) = s + L_i + g_i (P(s + L_i) - P(s)),  P = int lambda

*Where the minimum lies.* P is linear between breakpoints. So c_i is linear between the points at which s or
s + L_i is a breakpoint, and it grows beyond the last of them. So phi_i is the least of c_i at r_i and at
those of these points that are later. Points with s + L_i at or above the least found cannot be lower, as
lambda >= 0. And phi_i does not fall when L_i grows: lengths that no job undercuts prove the bound.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise


def rigid_value(
    releases: Sequence[float],
    lengths: Sequence[float],
    units: Sequence[int],
    total: int,
    breakpoints: Sequence[float],
    prices: Sequence[float],
) -> Fraction:
    """Return the bound on the sum of ends, exactly.

    Parameters
    ----------
    releases, lengths, units
        r_i, L_i (or anything below), g_i of every job.
    total
        G.
    breakpoints, prices
        Ascending, shape (K + 1,), and the price from each to the next, >= 0, shape (K,).

    Raises
    ------
    ValueError
        Breakpoints that do not ascend, prices that are negative or not finite, or not one fewer of them.
    """
    if len(breakpoints) != len(prices) + 1:
        raise ValueError(f"{len(prices)} prices: found {len(breakpoints)} breakpoints, allowed: one more than prices")
    if not all(map(math.isfinite, breakpoints)) or any(first >= second for first, second in pairwise(breakpoints)):
        raise ValueError("breakpoints must ascend")
    if not all(math.isfinite(price) and price >= 0 for price in prices):
        raise ValueError("prices must be numbers >= 0")
    second = _unit((*releases, *lengths, *breakpoints))
    dear = _unit(prices)
    times, rates = _scaled(breakpoints, second), _scaled(prices, dear)
    paid = list(accumulate((rate * (b - a) for rate, (a, b) in zip(rates, pairwise(times), strict=True)), initial=0))
    last = len(times) - 1

    def paid_until(time: int) -> int:
        """Return P, in seconds of the objective over ``second`` times ``dear``."""
        index = bisect_right(times, time) - 1
        if index < 0:
            return 0
        return paid[last] if index >= last else paid[index] + rates[index] * (time - times[index])

    value = -total * paid[last]
    for release, length, held in zip(_scaled(releases, second), _scaled(lengths, second), units, strict=True):
        least = (release + length) * dear + held * (paid_until(release + length) - paid_until(release))
        for index in range(bisect_right(times, release), last + 1):
            start = times[index]
            if (start + length) * dear >= least:
                break
            least = min(least, (start + length) * dear + held * (paid_until(start + length) - paid[index]))
        for index in range(bisect_right(times, release + length), last + 1):
            end = times[index]
            if end * dear >= least:
                break
            least = min(least, end * dear + held * (paid[index] - paid_until(end - length)))
        value += least
    return Fraction(value, second * dear)


def _unit(numbers: Sequence[float]) -> int:
    """Return the largest denominator of the numbers, a power of two."""
    return max((number.as_integer_ratio()[1] for number in numbers), default=1)


def _scaled(numbers: Sequence[float], unit: int) -> list[int]:
    ratios = (number.as_integer_ratio() for number in numbers)
    return [numerator * (unit // denominator) for numerator, denominator in ratios]
