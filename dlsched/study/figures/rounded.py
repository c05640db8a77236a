"""Tables of figures as a person writes them: three significant digits, more where an interval or a ratio needs them."""

import math
from collections.abc import Sequence

from dlsched.core.tolerance import MEETING
from dlsched.statistics.estimate import Estimate
from dlsched.study.figures.groups import Group, Line
from dlsched.study.figures.tables import AT_MOST, KEYS, UNKNOWN, table, unbounded_text

DIGITS = 3
MOST = 5
"""Largest number of decimals."""


def rounded_table(group: Group, keys: Sequence[str] = KEYS) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the chosen columns of a group's table, and a row of text for each method; names are not escaped."""
    heads, rows = table(group)
    found = []
    for line, row in zip(group.lines, rows, strict=True):
        cells = dict(zip(KEYS, row, strict=True))
        cells |= {
            "mean": ", ".join(filter(None, (estimate(line.mean, _sign(line.at_most)), unbounded_text(line.unbounded))))
            or UNKNOWN,
            "median": ratio(line.median, _sign(line.at_most)),
            "p95": ratio(line.p95, _sign(line.at_most)),
            "worst": ratio(line.worst, _sign(line.worst_at_most)),
            "time": _seconds(line),
        }
        found.append(tuple(cells[key] for key in keys))
    return tuple(dict(zip(KEYS, heads, strict=True))[key] for key in keys), found


def _sign(at_most: bool) -> str:
    return AT_MOST if at_most else ""


def _seconds(line: Line) -> str:
    return UNKNOWN if line.time_s is None else f"{number(line.time_s)} s"


def ratio(value: float | None, at_most: str = "") -> str:
    """Write a ratio with three digits, or as many as tell it from 1.

    >>> ratio(1.2345), ratio(1.0004), ratio(1.0), ratio(31.416, "<= "), ratio(12345.6), ratio(None)
    ('1.23', '1.0004', '1', '<= 31.4', '12,300', '-')
    """
    if value is None:
        return UNKNOWN
    if math.isinf(value):
        return "unbounded"
    if abs(value - 1) <= MEETING:
        return "1"
    return at_most + number(value, _decimals(abs(value - 1)) if abs(value - 1) < 0.005 else 0)


def estimate(mean: Estimate | None, at_most: str = "") -> str:
    """Write a mean with its interval, all to the first digit in which the interval's ends differ from the middle.

    >>> estimate(Estimate(1.0004, 1.00004, 1.0015)), estimate(Estimate(1.0193, 1.0171, 1.0215), "<= ")
    ('1.0004 [1.0000, 1.0015]', '<= 1.019 [1.017, 1.022]')
    >>> estimate(Estimate(1.0, 1.0, 1.0)), estimate(Estimate(1.25)), estimate(Estimate(12.34, 10.1, 15.7))
    ('1', '1.25', '12.3 [10.1, 15.7]')
    """
    if mean is None:
        return ""
    if mean.low is None or mean.high is None or mean.low == mean.high:
        return ratio(mean.value, at_most)
    places = _decimals((mean.high - mean.low) / 2)
    least = DIGITS - 1 - math.floor(math.log10(abs(mean.value))) if mean.value else 0
    places = min(max(places, least, 0), MOST)
    value, low, high = (f"{each:,.{places}f}" for each in (mean.value, mean.low, mean.high))
    return f"{at_most}{value} [{low}, {high}]"


def number(value: float, decimals: int = 0) -> str:
    """Write a number with three digits, or so many decimals if these are more.

    >>> number(0.0012345), number(61.23), number(12345.0), number(0.0), number(3.14159e9)
    ('0.00123', '61.2', '12,300', '0', '3.14e+09')
    """
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or abs(value) < 1e-4:
        return f"{value:.{DIGITS - 1}e}"
    places = DIGITS - 1 - math.floor(math.log10(abs(value)))
    if places < 0:
        return f"{round(value, places):,.0f}"
    return f"{value:,.{max(places, decimals)}f}"


def _decimals(size: float) -> int:
    """Decimals up to the first digit of a small number."""
    return min(-math.floor(math.log10(size)), MOST) if size > 0 else 0
