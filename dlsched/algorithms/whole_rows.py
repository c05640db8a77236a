"""Rows ``sum_k a_k n_k <= C`` over whole numbers n_k >= 0, in whole numbers where that is possible.

Solvers let a row be exceeded by 1e-6, the checker by 1e-9 C. In whole numbers no row can be exceeded by less than
1, so the two mean the same. The numbers of an instance are read as the decimals in its file; sums of the
nearest floats differ from sums of these decimals by far less than the thousandth by which C is relaxed
further.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from dlsched.core.arrays import dot
from dlsched.core.gap import FEASIBLE

_LARGEST_AMOUNT = 2**30
_POINTS, _SCALES = 2**12, 200  # a hundredth of a second a row
_LARGEST = 2**13  # n_k within 1e-6 of whole numbers, dozens of them, then change the sum by less than 1

# a little more than the checker tolerates: whether what lies between passes, rounding decides
_BEYOND = 1.001 * FEASIBLE


def _beyond(value: float) -> float:
    """Return a right side that is certainly at least what the checker tolerates."""
    return value * (1 + _BEYOND)


def whole(amounts: Sequence[float], right: float, largest: int) -> tuple[list[int], int] | None:
    """Amounts and the right side, with its tolerance, in the largest unit that divides all amounts; None: beyond ``largest``.

    An amount above the right side becomes the right side plus 1, as n_k is 0 anyway.
    """
    limit = Fraction(_beyond(right))
    parts = [Fraction(repr(amount)) for amount in amounts]
    fitting = [part for part in parts if 0 < part <= limit]
    if not fitting:
        return [int(part > 0) for part in parts], 0
    divisor = math.lcm(*(part.denominator for part in fitting))
    unit = Fraction(math.gcd(*(int(part * divisor) for part in fitting)), divisor)
    most = int(limit / unit)
    units = [int(part / unit) if part <= limit else most + 1 for part in parts]
    return (units, most) if max(units) <= largest else None


def same(amounts: Sequence[float], right: float, most: Sequence[int]) -> tuple[list[int], int] | None:
    """Find small whole amounts and a right side that allow the same n <= ``most``, or None; all n are tried if there are few."""
    if math.prod(count + 1 for count in most) > _POINTS:
        return None
    points = np.array(list(product(*(range(count + 1) for count in most))))
    limit = _beyond(right)
    parts = np.minimum(np.array(amounts), 2 * limit)
    through = dot(points, parts) <= limit
    # Rounded amounts are equivalent if they separate exactly the same points.
    for scale in range(1, _SCALES):
        rounded = np.round(parts * (scale / limit)).astype(np.int64)
        for units in (rounded, np.maximum(rounded, parts > 0)):
            used = dot(points, units)
            largest = int(used[through].max())
            if (used[~through] > largest).all():
                return units.tolist(), largest
    return None


def units(amounts: Sequence[float], right: float, most: Sequence[int]) -> tuple[list[int], int] | None:
    """The row in whole numbers small enough for solvers that add in 64 bits, or None."""
    return whole(amounts, right, _LARGEST_AMOUNT) or same(amounts, right, most)


def row(amounts: Sequence[float], right: float, most: Sequence[int] | None = None) -> tuple[list[float], float]:
    """Coefficients and right side for a solver with tolerances: in whole numbers, else scaled so that C is about 1.

    Scales are powers of two, so that scaling changes no number. ``most``: largest n_k of every k, if known.
    """
    integers = whole(amounts, right, _LARGEST)
    if integers is None and most is not None and right > 0:
        integers = same(amounts, right, most)
    if integers is not None:
        return list(map(float, integers[0])), float(integers[1])
    limit = _beyond(right)
    scale = -math.frexp(limit)[1]
    return [math.ldexp(min(amount, 2 * limit), scale) for amount in amounts], math.ldexp(limit, scale)
