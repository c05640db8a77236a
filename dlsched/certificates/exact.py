"""Exact sums of rational numbers, sums of floats without error, and bounds that prices or multipliers of rows prove.

A product of two floats is the sum of the float nearest to it and the rounding error, which is a float too as
long as nothing overflows or underflows (Dekker 1971). So a few products give an exact number as an *expansion*, a sum
of a few floats. ``math.fsum`` rounds the exact sum of all of them once.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray

Number = int | Fraction


def exact_sum(numbers: Iterable[Number | float]) -> Fraction:
    """Sum of rationals: those of one denominator first (of floats there are few), then pairwise so that numerators stay short."""
    sums: dict[int, int] = {}
    for number in numbers:
        numerator, denominator = number.as_integer_ratio()
        sums[denominator] = sums.get(denominator, 0) + numerator
    terms = [Fraction(numerator, denominator) for denominator, numerator in sums.items()]
    while len(terms) > 1:
        odd = terms[-1:] if len(terms) % 2 else []
        terms = [first + second for first, second in zip(terms[0::2], terms[1::2], strict=False)] + odd
    return terms[0] if terms else Fraction(0)


def rounded_down(number: Fraction) -> float:
    """Return the largest float that is not above ``number``.

    >>> rounded_down(Fraction(1, 10)) < Fraction(1, 10)
    True
    """
    nearest = float(number)
    return nearest if at_most(nearest, number) else math.nextafter(nearest, -math.inf)


def at_most(number: float, most: Fraction) -> bool:
    """Whether a finite float is at most a rational number, exactly; in half the time of ``<=``, which makes a fraction of it."""
    numerator, denominator = number.as_integer_ratio()
    return numerator * most.denominator <= most.numerator * denominator


def rounded_up(number: Fraction) -> float:
    """Return the least float that is not below ``number``.

    >>> rounded_up(Fraction(1, 10)) >= Fraction(1, 10)
    True
    """
    return 0.0 - rounded_down(-number)


def root_below(square: Fraction) -> Fraction:
    """Return a rational number whose square is at most ``square``, and close to it."""
    shift = max(0, 64 - square.numerator.bit_length() + square.denominator.bit_length()) // 2 * 2
    return Fraction(math.isqrt((square.numerator << shift) // square.denominator), 1 << (shift // 2))


_SPLIT = 2.0**27 + 1.0  # splits a float into two of 26 bits each
_LEAST, _LARGEST = 2.0**-300, 2.0**300
_PARTS = 4  # floats that a rational number is cut into, more than 200 bits


def moderate(numbers: FloatArray) -> BoolArray:
    """Mark numbers of 0 or of size 2**-300 to 2**300: a product of three of these has an exact expansion."""
    size = np.abs(numbers)
    return np.asarray((size == 0.0) | ((size >= _LEAST) & (size <= _LARGEST)))


def exact_product(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rounded product and its rounding error: their sum is exact for ``moderate`` numbers.

    >>> high, low = exact_product(np.array([0.1]), np.array([3.0]))
    >>> Fraction(high[0]) + Fraction(low[0]) == 3 * Fraction(0.1)
    True
    """
    product = first * second
    high, low = _halves(first)
    other_high, other_low = _halves(second)
    # Dekker 1971: the four partial products are exact, so their differences are the rounding error.
    missing = low * other_low - (((product - high * other_high) - low * other_high) - high * other_low)
    return product, missing


def _halves(numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    shifted = _SPLIT * numbers
    high = shifted - (shifted - numbers)
    return high, numbers - high


def sum_below(terms: Sequence[float], rest: Fraction) -> float:
    """Return the largest float that is not above the exact sum of ``terms`` and ``rest``.

    A ``rest`` of more than 200 bits is rounded down to 200 bits first; the result can then be the next lower float.
    OverflowError: the sum, or ``rest``, is beyond all floats.

    >>> sum_below([0.1, 0.2], Fraction(0)) < Fraction(0.1) + Fraction(0.2)
    True
    """
    parts = [*terms]
    # Cut the rational number into floats; dropping what remains after the last rounds down.
    for _ in range(_PARTS):
        part = rounded_down(rest)
        parts.append(part)
        rest -= Fraction(part)
        if not rest:
            break
    nearest = math.fsum(parts)
    return math.nextafter(nearest, -math.inf) if math.fsum([*parts, -nearest]) < 0 else nearest


def condensed(terms: Sequence[float]) -> list[float]:
    """Return a few floats whose exact sum is that of ``terms``; OverflowError: it is beyond all floats.

    >>> condensed([1.0, 2.0**-80, -1.0])
    [8.271806125530277e-25]
    """
    parts: list[float] = []
    # each further float is the rounded rest, at most 2**-53 times the one before
    while rest := math.fsum([*terms, *(-part for part in parts)]):
        parts.append(rest)
    return parts


@dataclass(frozen=True, slots=True)
class ExactRow:
    """A constraint: its sense and right-hand side, exactly."""

    sense: Literal["<=", "=", ">="]
    right: Number


def price_value(price: float, capacity: int, minima: Iterable[Number]) -> Fraction:
    """Return the exact bound that a price proves; ``minima`` are min_w (cost_j(w) + price w) of every job.

    ValueError: the price is negative or not finite.
    """
    if not (math.isfinite(price) and price >= 0):
        raise ValueError(f"price {price} must be a number >= 0")
    return exact_sum(minima) - Fraction(price) * capacity


def exact_multipliers(multipliers: Mapping[str, float], rows: Mapping[str, ExactRow]) -> dict[str, Fraction]:
    """Return multipliers as rational numbers; rows that are not named have multiplier 0.

    ValueError: a row that does not exist, or a multiplier that is not finite or has the wrong sign.
    """
    exact: dict[str, Fraction] = {}
    for name, multiplier in multipliers.items():
        if name not in rows:
            raise ValueError(f"there is no row {name!r}")
        sense = rows[name].sense
        wrong = (sense == "<=" and multiplier > 0) or (sense == ">=" and multiplier < 0)
        if wrong or not math.isfinite(multiplier):
            raise ValueError(f"multiplier {multiplier} of row {name!r} ({sense}) has the wrong sign or is not finite")
        exact[name] = Fraction(multiplier)
    return exact
