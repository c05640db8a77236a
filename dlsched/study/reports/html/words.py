"""Formats of names and numbers on the page.

Names may be hostile: hold markup, control characters or letters that change the direction of a line, or be
very long. Characters that are not printable are escaped; Jinja2, and Matplotlib in figures, escape the rest.
"""

import json
import math
from collections.abc import Iterable

from dlsched.core.messages import cut, printable, told_apart

CELL, KEY = 60, 36
"""Largest number of characters of a name in a table, and in a plot."""


def block(text: str) -> str:
    r"""Write text of several lines; invisible characters become JSON escapes, so that JSON stays the same.

    >>> print(block("a\x1b[31m\nb"))
    a\u001b[31m
    b
    """
    return "".join(letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in text)


def short(text: str, longest: int = CELL) -> str:
    """Cut text in the middle where it is longer than that.

    >>> short("application-1506638472019-10025", 15)
    'applica…9-10025'
    """
    return cut(printable(text), longest)


def labels(names: Iterable[str], longest: int = CELL) -> dict[str, str]:
    """Return a short label for every name; equal labels are numbered.

    >>> labels(["a" * 9 + "1", "a" * 9 + "2"], 5)
    {'aaaaaaaaa1': 'aa…a1', 'aaaaaaaaa2': 'aa…a2'}
    >>> labels(["abcde", "abXde"], 4)
    {'abcde': 'ab…e', 'abXde': 'ab…e (2)'}
    """
    return told_apart({name: short(name, longest) for name in names})


def digits(value: float) -> str:
    """Write a number of a plot with six digits: tables show this text, plots draw the rounded number.

    >>> digits(1 / 3), digits(2.0), digits(1234567.0)
    ('0.333333', '2', '1.23457e+06')
    """
    return f"{value:.6g}"


def drawn(value: float) -> float:
    """Return the number rounded as by `digits`."""
    return float(digits(value))


def span(values: Iterable[int | None]) -> str:
    """Write the least and the largest of numbers; empty without any.

    >>> span([20, 10, None]), span([5, 5]), span([])
    ('10–20', '5', '')
    """
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def finite(value: float | None) -> float | None:
    """Return a finite number, None for others."""
    return value if value is not None and math.isfinite(value) else None
