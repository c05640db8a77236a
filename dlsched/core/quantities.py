"""Figures in words for people: numbers, ratios, means with intervals, shares and durations, a dash where one is unknown.

Objectives and bounds keep six digits, since readers compare them with others; what is measured or a mean has three, or as
many as its interval needs.
"""

import math
from typing import TYPE_CHECKING

from dlsched.core.elementary import decade
from dlsched.core.gap import MEETING

if TYPE_CHECKING:
    from dlsched.statistics.inference import Estimate

DIGITS = 3
MOST = 6
"""Largest number of decimals."""
AT_MOST = "<= "
UNKNOWN = "-"
TIME_UNITS = (("days", 86_400.0, 172_800.0), ("h", 3_600.0, 7_200.0), ("min", 60.0, 300.0), ("s", 1.0, 0.0))
"""Units of time, their seconds, and the seconds from which a time is written in them."""
LEAST_S = 0.0001
"""Shorter times are not told apart."""


def number(value: float | None) -> str:
    """Write a figure for people: six significant digits, a dash where it is unknown."""
    return "-" if value is None else f"{value:,.2f}" if 1e2 <= abs(value) < 1e15 else f"{value:.6g}"


def percent(share: float | None, *, signed: bool = False) -> str:
    """Write a share in per cent, as ``per_cent`` does; a dash where it is unknown.

    >>> percent(0.01934), percent(1e-7), percent(0.0), percent(None), percent(0.25, signed=True)
    ('1.9 %', '1e-05 %', '0 %', '-', '+25 %')
    """
    return UNKNOWN if share is None else f"{'+' if signed and share > 0 else ''}{per_cent(share)} %"


def per_cent(share: float, within: float | None = None) -> str:
    """Write a share in per cent with two significant digits, or to the first of ``within``; 0 and 100 only for these.

    >>> per_cent(0.01934), per_cent(0.14), per_cent(1e-7), per_cent(0.0), per_cent(0.01934, within=1e-6)
    ('1.9', '14', '1e-05', '0', '1.9340')
    >>> per_cent(1.0), per_cent(0.9997), per_cent(0.9997, within=1e-4), per_cent(12.345)
    ('100', '> 99', '99.97', '1,234')
    """
    value = 100 * share
    if value == 0:
        return "0"
    if abs(value) < 1e-4:
        return f"{value:.0e}"
    first = -decade(value)  # decimals up to the first nonzero digit
    digits = max(first, -decade(within) - 2) if within else first + 1
    text = f"{value:,.{min(max(digits, 0), 6)}f}"
    return "> 99" if value < 100 and float(text.replace(",", "")) >= 100 else text


def rounded(value: float, decimals: int = 0) -> str:
    """Write a number with three digits, or so many decimals if these are more.

    >>> rounded(0.0012345), rounded(61.23), rounded(12345.0), rounded(0.0), rounded(3.14159e9)
    ('0.00123', '61.2', '12,300', '0', '3.14e+09')
    """
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or abs(value) < 1e-4:
        return f"{value:.{DIGITS - 1}e}"
    places = DIGITS - 1 - decade(value)
    if places < 0:
        return f"{round(value, places):,.0f}"
    return f"{value:,.{max(places, decimals)}f}"


def short(value: float) -> str:
    """Write a number as ``rounded`` does, without the zeros at its end: 7.5, 3, 120, 0.123."""
    text = rounded(value)
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def time_unit(longest_s: float) -> tuple[str, float]:
    """Return the unit that such a time is written in, and its seconds."""
    return next((unit, unit_s) for unit, unit_s, from_s in TIME_UNITS if longest_s >= from_s)


def duration(value: float | None) -> str:
    """Write seconds with three digits, in a unit that fits them.

    >>> duration(6.0), duration(0.0123), duration(90.0), duration(5400.0), duration(1e4), duration(2e6), duration(-90.0)
    ('6 s', '0.0123 s', '90 s', '90 min', '2.78 h', '23.1 days', '-90 s')
    >>> duration(9e-5), duration(0.0)
    ('< 0.0001 s', '0 s')
    """
    if value is None:
        return UNKNOWN
    if 0 < abs(value) < LEAST_S:
        return f"< {LEAST_S} s"
    unit, size = time_unit(abs(value))
    return f"{short(value / size)} {unit}"


def ratio(value: float | None, at_most: bool = False) -> str:
    """Write a ratio with three digits, and with two of its distance from 1; 1 only if it meets the reference.

    >>> ratio(1.2345), ratio(1.084), ratio(1.0004), ratio(1.00003), ratio(31.416, at_most=True), ratio(12345.6)
    ('1.23', '1.084', '1.00040', '1.000030', '<= 31.4', '12,300')
    >>> ratio(1 + 1e-9, at_most=True), ratio(math.inf), ratio(None)
    ('1', 'unbounded', '-')
    """
    if value is None:
        return UNKNOWN
    if math.isinf(value):
        return "unbounded"
    if abs(value - 1) <= MEETING:
        return "1"  # a ratio so close to 1 meets its bound
    return AT_MOST * at_most + rounded(value, min(_decimals(abs(value - 1)) + 1, MOST) if abs(value - 1) < 0.1 else 0)


def mean(estimate: "Estimate | None", at_most: bool = False) -> str:
    """Write a mean ratio with its interval, all to the first digit in which the interval's ends differ from the middle.

    >>> from dlsched.statistics.inference import Estimate
    >>> mean(Estimate(1.0004, 1.00004, 1.0015)), mean(Estimate(1.0193, 1.0171, 1.0215), at_most=True)
    ('1.0004 [1.0000, 1.0015]', '<= 1.019 [1.017, 1.022]')
    >>> mean(Estimate(1.0, 1.0, 1.0)), mean(Estimate(1.25)), mean(Estimate(12.34, 10.1, 15.7)), mean(None)
    ('1', '1.25', '12.3 [10.1, 15.7]', '-')
    """
    if estimate is None:
        return UNKNOWN
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return ratio(estimate.value, at_most)
    places = _decimals((estimate.high - estimate.low) / 2)
    least = DIGITS - 1 - decade(estimate.value) if estimate.value else 0
    places = min(max(places, least, 0), MOST)
    value, low, high = (f"{each:z,.{places}f}" for each in (estimate.value, estimate.low, estimate.high))
    return f"{AT_MOST * at_most}{value} [{low}, {high}]"


def _decimals(size: float) -> int:
    """Decimals up to the first digit of a small number."""
    return min(-decade(size), MOST) if size > 0 else 0
