"""Sums of floats without error: exact products as pairs of floats (Dekker 1971), and a sum rounded down once.

A product of two floats is the sum of the float nearest to it and the rounding error, which is a float too as
long as nothing overflows or underflows. So a few products give an exact number as an *expansion*, a sum of a
few floats. ``math.fsum`` rounds the exact sum of all of them once.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dlsched.certificates.exact import rounded_down
from dlsched.core.arrays import BoolArray, FloatArray

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
    missing = low * other_low - (((product - high * other_high) - low * other_high) - high * other_low)
    return product, missing


def _halves(numbers: FloatArray) -> tuple[FloatArray, FloatArray]:
    shifted = _SPLIT * numbers
    high = shifted - (shifted - numbers)
    return high, numbers - high


def sum_below(terms: Sequence[float], rest: Fraction) -> float:
    """Return the largest float that is not above the exact sum of ``terms`` and ``rest``.

    A ``rest`` of more than 200 bits is rounded down to 200 bits first; the result can then be the next lower
    float.

    Raises
    ------
    OverflowError
        The sum, or ``rest``, is beyond all floats.

    >>> sum_below([0.1, 0.2], Fraction(0)) < Fraction(0.1) + Fraction(0.2)
    True
    """
    parts = [*terms]
    for _ in range(_PARTS):
        part = rounded_down(rest)
        parts.append(part)
        rest -= Fraction(part)
        if not rest:
            break
    nearest = math.fsum(parts)
    return math.nextafter(nearest, -math.inf) if math.fsum([*parts, -nearest]) < 0 else nearest
