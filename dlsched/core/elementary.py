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
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from dlsched.core.arrays import FloatArray

Pair = tuple[Any, Any]  # two floats, or two arrays of floats: an unrounded sum

_ERROR = 2.0**-70  # relative, of pairs that are rounded: sixteen times the error of a series
_ERROR_OF_POWER = 2.0**-72  # the same, of a power, for each unit of |y ln x|
_SPLIT = 2.0**27 + 1.0
_STEPS = 64  # of the exponent between two powers of 2
_CELLS = 128  # of the mantissa, between two reciprocals
_DIGITS = 40  # the hardest float for exp or log needs 36 (Lefevre and Muller 2001)
_MOST_DIGITS = 640
_PLAIN = (2.0**-900, 2.0**900)  # sizes for which no step of a pair overflows or loses bits
_SHORT = 16  # entries up to which floats are faster than arrays
_BLOCK = 2**13  # entries that are computed at a time, so that intermediate arrays stay in the cache


def _context(digits: int) -> decimal.Context:
    return decimal.Context(prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


def _pair_of(exact: decimal.Decimal) -> tuple[float, float]:
    high = float(exact)
    return high, float(_context(60).subtract(exact, decimal.Decimal(high)))


def _short(exact: decimal.Decimal, bits: int) -> float:
    """Round to a multiple of 2**-bits."""
    return math.ldexp(round(_context(60).multiply(exact, decimal.Decimal(2**bits))), -bits)


_LN2 = _context(60).ln(decimal.Decimal(2))
_LN2_HIGH = _short(_LN2, 40)  # times any k of a float it is exact
_LN2_LOW = float(_context(60).subtract(_LN2, decimal.Decimal(_LN2_HIGH)))
_STEP = _context(60).divide(_LN2, decimal.Decimal(_STEPS))
_STEP_HIGH = _short(_STEP, 40)  # 34 bits: times k < 2**18 it is exact
_STEP_REST = _context(60).subtract(_STEP, decimal.Decimal(_STEP_HIGH))
_STEP_MIDDLE = _short(_STEP_REST, 74)
_STEP_LOW = float(_context(60).subtract(_STEP_REST, decimal.Decimal(_STEP_MIDDLE)))
_THIRD = _pair_of(_context(60).divide(decimal.Decimal(1), decimal.Decimal(3)))
_SIXTH = _pair_of(_context(60).divide(decimal.Decimal(1), decimal.Decimal(6)))
_OF_LOG = tuple((-1.0) ** (n + 1) / n for n in range(4, 14))  # z^4 to z^13
_OF_EXP = tuple(1.0 / math.factorial(n) for n in range(4, 11))  # r^4 to r^10


@lru_cache(maxsize=1)
def _logarithms() -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """r_j, and the pairs of -ln r_j, by j = m * _CELLS rounded; r is 1, and its logarithm 0, beside m = 1."""
    places = range(_CELLS * 3 // 2)
    reciprocals = [round(1024 * _CELLS / j) / 1024 if j >= _CELLS // 2 else 1.0 for j in places]
    pairs = [_pair_of(_context(60).ln(decimal.Decimal(each)).copy_negate()) for each in reciprocals]
    return tuple(reciprocals), tuple(high for high, _ in pairs), tuple(low for _, low in pairs)


@lru_cache(maxsize=1)
def _exponentials() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The pairs of 2^(j / 64)."""
    context = _context(60)
    pairs = [_pair_of(context.exp(context.multiply(_STEP, decimal.Decimal(j)))) for j in range(_STEPS)]
    return tuple(high for high, _ in pairs), tuple(low for _, low in pairs)


@lru_cache(maxsize=1)
def _arrays() -> "tuple[list[FloatArray], list[FloatArray]]":
    """Both tables as arrays."""
    import numpy as np  # imported here: reading files does not need it

    return [np.array(each) for each in _logarithms()], [np.array(each) for each in _exponentials()]


def _sum(first: Any, second: Any) -> Pair:
    """The rounded sum and its rounding error."""
    total = first + second
    part = total - first
    return total, (first - (total - part)) + (second - part)


def _product(first: Any, second: Any) -> Pair:
    """The rounded product and its rounding error."""
    product = first * second
    shifted, other = _SPLIT * first, _SPLIT * second
    high, other_high = shifted - (shifted - first), other - (other - second)
    low, other_low = first - high, second - other_high
    return product, low * other_low - (((product - high * other_high) - low * other_high) - high * other_low)


def _series(x: Pair, second: float, third: tuple[float, float], others: tuple[float, ...]) -> Pair:
    """X + second x^2 + third x^3 + others x^4 ..., for |x| < 2^-7; ``second`` is a power of 2."""
    high, low = x
    square, square_low = _product(high, high)
    square_low = square_low + 2 * high * low
    cube, cube_low = _product(square, high)
    cube_low = cube_low + (square_low * high + square * low)
    cubic, cubic_low = _product(cube, third[0])
    cubic_low = cubic_low + (cube * third[1] + cube_low * third[0])
    tail = others[-1]
    for coefficient in others[-2::-1]:
        tail = coefficient + tail * high
    total, missing = _sum(high, second * square)
    total, more = _sum(total, cubic)
    return total, missing + more + (low + second * square_low + cubic_low + square * square * tail)


def _log_of(k: Any, m: Any, low: Any, cell: tuple[Any, Any, Any]) -> Pair:
    """ln(2^k (m + low)), where ``cell`` holds the reciprocal beside m and the pair of its logarithm."""
    reciprocal, high_of_cell, low_of_cell = cell
    product, missing = _product(m, reciprocal)
    z = _sum(product - 1.0, missing + low * reciprocal)
    high, rest = _series(z, -0.5, _THIRD, _OF_LOG)
    total, first = _sum(k * _LN2_HIGH, high_of_cell)
    total, second = _sum(total, high)
    return _sum(total, first + second + (rest + low_of_cell + k * _LN2_LOW))


def _exp_of(k: Any, x: Pair, cell: tuple[Any, Any]) -> tuple[Pair, Pair]:
    """e^r - 1 and 2^(j/64) e^r, r = x - k ln 2 / 64, where ``cell`` holds the pair of 2^(j/64)."""
    high, low = x
    r, missing = _sum(high - k * _STEP_HIGH, -(k * _STEP_MIDDLE))
    less_one = _series(_sum(r, missing + (low - k * _STEP_LOW)), 0.5, _SIXTH, _OF_EXP)
    product, lost = _product(cell[0], less_one[0])
    total, more = _sum(cell[0], product)
    return less_one, _sum(total, more + lost + (cell[1] + cell[1] * less_one[0] + cell[0] * less_one[1]))


# The two front ends: a float goes through math, an array through NumPy; both by the same steps.


def _log_pair(x: Any, low: Any) -> Pair:
    """ln(x + low) as a pair, |low| <= ulp(x) / 2."""
    if isinstance(x, float):
        m, k = math.frexp(x)
        if m < math.sqrt(0.5):
            m, k = 2 * m, k - 1
        j = round(m * _CELLS)
        tables = _logarithms()
        return _log_of(float(k), m, math.ldexp(low, -k), (tables[0][j], tables[1][j], tables[2][j]))
    import numpy as np

    m, k = np.frexp(x)
    small = m < math.sqrt(0.5)
    m, k = np.where(small, 2 * m, m), k - small
    j = np.rint(m * _CELLS).astype(np.int64)
    first, second, third = _arrays()[0]
    return _log_of(k.astype(np.float64), m, np.ldexp(low, -k), (first[j], second[j], third[j]))


def _exp_pair(x: Any, low: Any, less: bool) -> Pair:
    """exp(x + low), or exp(x + low) - 1 if ``less``, as a pair, |x| < 600."""
    if isinstance(x, float):
        k = round(x * (_STEPS / math.log(2)))
        e, j = divmod(k, _STEPS)
        tables = _exponentials()
        less_one, (high, rest) = _exp_of(float(k), (x, low), (tables[0][j], tables[1][j]))
        if less and k == 0:
            return less_one
        high, rest = math.ldexp(high, e), math.ldexp(rest, e)
        if not less:
            return high, rest
        high, missing = _sum(high, -1.0)
        return _sum(high, missing + rest)
    import numpy as np

    k = np.rint(x * (_STEPS / math.log(2)))
    e, j = np.divmod(k.astype(np.int64), _STEPS)
    first, second = _arrays()[1]
    less_one, (high, rest) = _exp_of(k, (x, low), (first[j], second[j]))
    high, rest = np.ldexp(high, e), np.ldexp(rest, e)
    if not less:
        return high, rest
    high, missing = _sum(high, -1.0)
    high, rest = _sum(high, missing + rest)
    return np.where(k == 0, less_one[0], high), np.where(k == 0, less_one[1], rest)


def _rounded(pair: Pair, error: Any = _ERROR) -> tuple[Any, Any]:
    """The float nearest to a pair, and whether no number within its relative error rounds to another."""
    high, low = _sum(*pair)
    slack = abs(high) * error
    least, most = high + (low - slack), high + (low + slack)
    return most, least == most


# The slow way, which decides where a pair cannot.


def _decided(value: "Callable[[decimal.Context], decimal.Decimal]") -> float:
    """The float nearest to what ``value`` computes with any number of digits."""
    digits = _DIGITS
    while True:
        found = value(_context(digits + 5))
        slack = abs(found).scaleb(1 - digits, _context(digits + 5))
        context = _context(digits + 5)
        least, most = float(context.subtract(found, slack)), float(context.add(found, slack))
        if least == most:
            return most
        if digits >= _MOST_DIGITS:  # then it lies half-way between two floats: some powers do
            return float(_context(digits // 2).plus(found))
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
            exact = _context(1100).add(exact, decimal.Decimal(1))  # exact: a float has at most 1,075 decimals
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
        return _decided(lambda context: context.subtract(_context(context.prec + 20).exp(exact), decimal.Decimal(1)))
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


def _fast(function: str, x: Any, y: float) -> tuple[Any, Any]:
    """Results by pairs, and where they are sure."""
    if function == "log":
        return _rounded(_log_pair(x, 0.0 * x))
    if function == "log1p":
        return _rounded(_log_pair(*_sum(1.0, x) if isinstance(x, float) else _sum(1.0 + 0.0 * x, x)))
    if function in ("exp", "expm1"):
        return _rounded(_exp_pair(x, 0.0 * x, function == "expm1"))
    high, low = _log_pair(x, 0.0 * x)
    product, missing = _product(high, y)
    return _rounded(_exp_pair(product, missing + low * y, False), _ERROR + _ERROR_OF_POWER * abs(product))


def _usable(function: str, x: Any, y: float) -> Any:
    """Whether pairs may be used: neither the argument nor the result is extreme."""
    least, most = _PLAIN
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
    """The power of ten at or below the size of x, which is not 0: floor(log10 |x|), exactly.

    >>> decade(1000.0), decade(999.9), decade(0.001)
    (3, 2, -3)
    """
    return decimal.Decimal(x).adjusted()


def geometric(first: float, last: float, number: int) -> "FloatArray":
    """Return ``number`` >= 2 numbers from ``first`` to ``last``, both > 0, each the same multiple of the one before.

    >>> geometric(1, 100, 3).tolist()
    [1.0, 10.0, 100.0]
    """
    import numpy as np

    found = first * exp(np.arange(number, dtype=np.float64) * (log(last / first) / (number - 1)))
    found[-1] = last
    return found
