"""Logarithms, exponentials and powers that are the same on every machine, since they are correctly rounded.

What NumPy and the C library return for them depends on the processor: their kernels for AVX2, FMA and AVX-512
differ in the last bit. A coefficient of a model would then depend on where it was computed, and a proof of the
model would hold on some machines only. Here each result is the float nearest to the exact value. It is computed
by additions, products and divisions alone, which IEEE 754 rounds alike everywhere, as a pair of floats ``high + low``
(Dekker 1971) with a proven relative error. Where both ends of that error round to one float, it is the result; in
the few other cases, fewer than one in 1,000, ``decimal`` decides (Ziv 1991), with 40 digits or more.

====================  ==================================================================================
``log(x)``            x = 2^k m, m from 1/sqrt(2) to sqrt(2); r of 11 bits with |m r - 1| < 2^-7;
                      ln x = k ln 2 - ln r + ln(1 + z), z = m r - 1 exactly
``exp(x)``            x = (64 e + j) ln 2 / 64 + r, |r| < 2^-7;  2^e 2^(j/64) e^r
series                ln(1 + z) and e^r - 1: the first three terms as pairs, the others, below 2^-28 of the
                      first, as floats: a relative error below 2^-74
``float_power``       exp(y ln x), whose error is that of y ln x
====================  ==================================================================================

``log1p`` takes the logarithm of the exact pair 1 + x, ``expm1`` subtracts 1 from a pair. Arrays give arrays of the
same shape, floats a float. Beyond the range of floats a result is infinite or 0, as NumPy has it, without a warning.
"""

import decimal
import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, overload

from dlsched.core.pairs import (
    ERROR,
    ERROR_OF_POWER,
    PLAIN,
    Floats,
    exp_pair,
    log_pair,
    precise,
    rounded,
    two_product,
    two_sum,
)

if TYPE_CHECKING:
    from dlsched.core.arrays import FloatArray

_DIGITS = 40  # the hardest float for exp or log needs 36 (Lefevre and Muller 2001)
_MOST_DIGITS = 640
_SHORT = 16  # entries up to which floats are faster than arrays
_BLOCK = 2**13  # entries that are computed at a time, so that intermediate arrays stay in the cache


# The slow way, which decides where a pair cannot.


def _decided(value: "Callable[[decimal.Context], decimal.Decimal]") -> float:
    """The float nearest to what ``value`` computes with any number of digits."""
    digits = _DIGITS
    while True:
        found = value(precise(digits + 5))
        slack = abs(found).scaleb(1 - digits, precise(digits + 5))
        context = precise(digits + 5)
        least, most = float(context.subtract(found, slack)), float(context.add(found, slack))
        if least == most:
            return most
        if digits >= _MOST_DIGITS:  # then it lies half-way between two floats: some powers do
            return float(precise(digits // 2).plus(found))
        digits *= 4


@lru_cache(maxsize=2**14)
def _slow(function: str, x: float, y: float = 0.0) -> float:
    """A function of floats for which pairs do not decide, or may not be used."""
    exact = decimal.Decimal(x)
    if function in ("log", "log1p"):
        moved = exact if function == "log" else Fraction(x) + 1
        if math.isnan(x) or moved < 0:
            return math.nan
        if not moved or math.isinf(x):
            return math.inf if moved else -math.inf
        if function == "log1p":
            if abs(x) < 2.0**-54:  # x - x^2 / 2 is nearer to x than to any other float
                return x
            exact = precise(1100).add(exact, decimal.Decimal(1))  # exact: a float has at most 1,075 decimals
        return _decided(lambda context: context.ln(exact))
    if function in ("exp", "expm1"):
        less = function == "expm1"
        if math.isnan(x) or x > 710:
            return x if math.isnan(x) else math.inf
        if x < -746 or (less and x < -50):
            return -1.0 if less else 0.0
        if less and abs(x) < 2.0**-54:
            return x
        if not less:
            return _decided(lambda context: context.exp(exact))
        return _decided(lambda context: context.subtract(precise(context.prec + 20).exp(exact), decimal.Decimal(1)))
    if x <= 0 or not math.isfinite(x) or not math.isfinite(y):
        return _edge_of_power(x, y)
    if not y or x == 1:
        return 1.0
    if abs(size := y * math.log(x)) > 750:
        return math.inf if size > 0 else 0.0
    return _decided(lambda context: context.power(exact, decimal.Decimal(y)))


def _edge_of_power(x: float, y: float) -> float:
    """Powers of 0, of infinity and of negative numbers, which are exact but for the last."""
    if not x and y < 0:
        return math.inf
    if x >= 0 or math.isnan(x) or not math.isfinite(y):
        return math.pow(x, y)
    if y != math.floor(y):
        return math.nan
    size = _of_float("power", -x, y)
    return -size if y % 2 else size


def _fast(function: str, x: Floats, y: float) -> tuple[Floats, Floats]:
    """Results by pairs, and where they are sure."""
    if function == "log":
        return rounded(log_pair(x, 0.0 * x))
    if function == "log1p":
        return rounded(log_pair(*two_sum(1.0, x) if isinstance(x, float) else two_sum(1.0 + 0.0 * x, x)))
    if function in ("exp", "expm1"):
        return rounded(exp_pair(x, 0.0 * x, function == "expm1"))
    high, low = log_pair(x, 0.0 * x)
    product, missing = two_product(high, y)
    return rounded(exp_pair(product, missing + low * y, False), ERROR + ERROR_OF_POWER * abs(product))


def _usable(function: str, x: Floats, y: float) -> Floats:
    """Whether pairs may be used: neither the argument nor the result is extreme."""
    least, most = PLAIN
    size = abs(x)
    if function == "log":
        return (x >= least) & (x <= most)
    if function == "log1p":
        return (x > -0.999) & (size >= 2.0**-200) & (x <= most)
    if function in ("exp", "expm1"):
        return (size >= 2.0**-200) & (size < 600)
    # |ln x| < 2^-1 + |log2 x|; a float's exponent bounds it without a logarithm.
    if isinstance(x, float):
        reach = abs(math.frexp(x)[1]) + 1
    else:
        import numpy as np

        reach = np.abs(np.frexp(x)[1]) + 1
    return (x >= least) & (x <= most) & (abs(y) >= 2.0**-200) & (reach * abs(y) < 800)


@lru_cache(maxsize=2**14)
def _of_float(function: str, x: float, y: float = 0.0) -> float:
    if _usable(function, x, y):
        found, sure = _fast(function, x, y)
        if sure:
            return float(found)
    return _slow(function, x, y)


def _of_array(function: str, x: "FloatArray", y: float = 0.0) -> "FloatArray":
    import numpy as np

    flat = np.ascontiguousarray(x, dtype=np.float64).reshape(-1)
    if len(flat) <= _SHORT:
        return np.array([_of_float(function, each, y) for each in flat.tolist()]).reshape(np.shape(x))
    found = np.empty(len(flat))
    for start in range(0, len(flat), _BLOCK):
        part = flat[start : start + _BLOCK]
        usable = _usable(function, part, y)
        values, sure = _fast(function, np.where(usable, part, 0.5), y)
        for place in np.flatnonzero(~(usable & sure)).tolist():
            values[place] = _slow(function, float(part[place]), y)
        found[start : start + _BLOCK] = values
    return found.reshape(np.shape(x))


def _of(function: str, x: "float | FloatArray", y: float = 0.0) -> "float | FloatArray":
    return _of_float(function, float(x), y) if isinstance(x, float | int) else _of_array(function, x, y)


@overload
def log(x: float) -> float: ...
@overload
def log(x: "FloatArray") -> "FloatArray": ...
def log(x: "float | FloatArray") -> "float | FloatArray":
    """Natural logarithm, correctly rounded; of 0 it is -inf, of a negative number nan.

    >>> log(2.0)
    0.6931471805599453
    """
    return _of("log", x)


@overload
def log1p(x: float) -> float: ...
@overload
def log1p(x: "FloatArray") -> "FloatArray": ...
def log1p(x: "float | FloatArray") -> "float | FloatArray":
    """ln(1 + x), correctly rounded.

    >>> log1p(1e-20)
    1e-20
    """
    return _of("log1p", x)


@overload
def exp(x: float) -> float: ...
@overload
def exp(x: "FloatArray") -> "FloatArray": ...
def exp(x: "float | FloatArray") -> "float | FloatArray":
    """e^x, correctly rounded; infinite where it is beyond all floats.

    >>> exp(1.0)
    2.718281828459045
    """
    return _of("exp", x)


@overload
def expm1(x: float) -> float: ...
@overload
def expm1(x: "FloatArray") -> "FloatArray": ...
def expm1(x: "float | FloatArray") -> "float | FloatArray":
    """e^x - 1, correctly rounded.

    >>> expm1(1e-20)
    1e-20
    """
    return _of("expm1", x)


@overload
def float_power(x: float, y: float) -> float: ...
@overload
def float_power(x: "FloatArray", y: float) -> "FloatArray": ...
def float_power(x: "float | FloatArray", y: float) -> "float | FloatArray":
    """x^y for one exponent y, correctly rounded.

    >>> float_power(2.0, 0.5), float_power(10.0, -3)
    (1.4142135623730951, 0.001)
    """
    if y == 2:
        return x * x
    return _of("power", x, float(y))


def decade(x: float) -> int:
    """The power of ten of x, which is not 0, written in as few digits as it needs.

    >>> decade(1000.0), decade(999.9), decade(1e-6)
    (3, 2, -6)
    """
    return decimal.Decimal(repr(float(x))).adjusted()


def geometric(first: float, last: float, number: int) -> "FloatArray":
    """Return ``number`` >= 2 numbers from ``first`` to ``last``, both > 0, each the same multiple of the one before.

    >>> geometric(1, 100, 3).round(9).tolist()
    [1.0, 10.0, 100.0]
    """
    import numpy as np

    found = first * exp(np.arange(number, dtype=np.float64) * (log(last / first) / (number - 1)))
    found[-1] = last
    return found
