"""Prices as steps over time: checks of their form, and the bound that the jobs' least costs add up to."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from dlsched.certificates import exact_sum


def require_steps(breakpoints: Sequence[float], prices: Sequence[float]) -> None:
    """Refuse anything but a list of prices, each from one breakpoint to the next.

    Raises
    ------
    ValueError
        Breakpoints that are not finite or do not ascend, another number of prices, or one that is negative or not finite.
    """
    if not all(map(math.isfinite, breakpoints)):
        raise ValueError("breakpoints must be finite numbers")
    for first, second in pairwise(breakpoints):
        if not first < second:
            raise ValueError(f"breakpoints must ascend: {second!r} follows {first!r}")
    if len(prices) != max(0, len(breakpoints) - 1):
        needed = max(0, len(breakpoints) - 1)
        raise ValueError(f"{len(breakpoints)} breakpoints have {needed} prices between them, found {len(prices)}")
    for price in prices:
        if not (math.isfinite(price) and price >= 0):
            raise ValueError(f"price {price!r} must be a finite number >= 0")


def mean_bound(
    units: int,
    least: Sequence[Fraction],
    breakpoints: Sequence[float],
    prices: Sequence[float],
    unit_s: Fraction,
    weight: Fraction,
) -> Fraction:
    """Return the jobs' ``least`` costs minus the cost of all units, over the jobs' ``weight``; exactly.

    Breakpoints count units of ``unit_s`` seconds.

    Every schedule holds at most C units at any time, so it pays at most C times the integral of the prices.
    """
    spans = [Fraction(second) - Fraction(first) for first, second in pairwise(breakpoints)]
    paid = exact_sum(Fraction(price) * span for price, span in zip(prices, spans, strict=True)) * unit_s
    return (exact_sum(least) - units * paid) / weight
