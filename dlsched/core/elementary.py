"""Logarithms and exponentials as pairs of floats ``high + low``, an unrounded sum, by steps that every machine rounds alike.

Only sums, products and divisions are used, with their rounding errors (Dekker 1971); ``elementary`` says how. Each function takes
floats or arrays of floats, and does the same with both.
"""

import decimal
import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from dlsched.core.arrays import BoolArray, FloatArray, IntArray

FloatsT = TypeVar("FloatsT", float, "FloatArray")
Floats: TypeAlias = Any
"""A float, or an array of floats: whoever calls knows which."""
Pair = tuple[Floats, Floats]

ERROR = 2.0**-70  # relative, of pairs that are rounded: sixteen times the error of a series
ERROR_OF_POWER = 2.0**-72  # the same, of a power, for each unit of |y ln x|
_SPLIT = 2.0**27 + 1.0
_STEPS = 64  # of the exponent between two powers of 2
_CELLS = 128  # of the mantissa, between two reciprocals
PLAIN = (2.0**-900, 2.0**900)  # sizes for which no step of a pair overflows or loses bits


def precise(digits: int) -> decimal.Context:
    """Return a context of so many digits and of all exponents."""
    return decimal.Context(prec=digits, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[])


def _pair_of(exact: decimal.Decimal) -> tuple[float, float]:
    high = float(exact)
    return high, float(precise(60).subtract(exact, decimal.Decimal(high)))


def _short(exact: decimal.Decimal, bits: int) -> float:
    """Round to a multiple of 2**-bits."""
    return math.ldexp(round(precise(60).multiply(exact, decimal.Decimal(2**bits))), -bits)


_LN2 = precise(60).ln(decimal.Decimal(2))
_LN2_HIGH = _short(_LN2, 40)  # times any k of a float it is exact
_LN2_LOW = float(precise(60).subtract(_LN2, decimal.Decimal(_LN2_HIGH)))
_STEP = precise(60).divide(_LN2, decimal.Decimal(_STEPS))
_STEP_HIGH = _short(_STEP, 40)  # 34 bits: times k < 2**18 it is exact
_STEP_REST = precise(60).subtract(_STEP, decimal.Decimal(_STEP_HIGH))
_STEP_MIDDLE = _short(_STEP_REST, 74)
_STEP_LOW = float(precise(60).subtract(_STEP_REST, decimal.Decimal(_STEP_MIDDLE)))
_THIRD = _pair_of(precise(60).divide(decimal.Decimal(1), decimal.Decimal(3)))
_SIXTH = _pair_of(precise(60).divide(decimal.Decimal(1), decimal.Decimal(6)))
_OF_LOG = tuple((-1.0) ** (n + 1) / n for n in range(4, 14))  # z^4 to z^13
_OF_EXP = tuple(1.0 / math.factorial(n) for n in range(4, 11))  # r^4 to r^10


@lru_cache(maxsize=1)
def _logarithms() -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """r_j, and the pairs of -ln r_j, by j = m * _CELLS rounded; r is 1, and its logarithm 0, beside m = 1."""
    places = range(_CELLS * 3 // 2)
    reciprocals = [round(1024 * _CELLS / j) / 1024 if j >= _CELLS // 2 else 1.0 for j in places]
    pairs = [_pair_of(precise(60).ln(decimal.Decimal(each)).copy_negate()) for each in reciprocals]
    return tuple(reciprocals), tuple(high for high, _ in pairs), tuple(low for _, low in pairs)


@lru_cache(maxsize=1)
def _exponentials() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The pairs of 2^(j / 64)."""
    context = precise(60)
    pairs = [_pair_of(context.exp(context.multiply(_STEP, decimal.Decimal(j)))) for j in range(_STEPS)]
    return tuple(high for high, _ in pairs), tuple(low for _, low in pairs)


@lru_cache(maxsize=1)
def _arrays() -> "tuple[list[FloatArray], list[FloatArray]]":
    """Both tables as arrays."""
    import numpy as np  # imported here: reading files does not need it

    return [np.array(each) for each in _logarithms()], [np.array(each) for each in _exponentials()]


def two_sum(first: Floats, second: Floats) -> Pair:
    """The rounded sum and its rounding error."""
    total = first + second
    part = total - first
    return total, (first - (total - part)) + (second - part)


def two_product(first: Floats, second: Floats) -> Pair:
    """The rounded product and its rounding error."""
    product = first * second
    shifted, other = _SPLIT * first, _SPLIT * second
    high, other_high = shifted - (shifted - first), other - (other - second)
    low, other_low = first - high, second - other_high
    return product, low * other_low - (((product - high * other_high) - low * other_high) - high * other_low)


def _series(x: Pair, second: float, third: tuple[float, float], others: tuple[float, ...]) -> Pair:
    """X + second x^2 + third x^3 + others x^4 ..., for |x| < 2^-7; ``second`` is a power of 2."""
    high, low = x
    square, square_low = two_product(high, high)
    square_low = square_low + 2 * high * low
    cube, cube_low = two_product(square, high)
    cube_low = cube_low + (square_low * high + square * low)
    cubic, cubic_low = two_product(cube, third[0])
    cubic_low = cubic_low + (cube * third[1] + cube_low * third[0])
    tail = others[-1]
    for coefficient in others[-2::-1]:
        tail = coefficient + tail * high
    total, missing = two_sum(high, second * square)
    total, more = two_sum(total, cubic)
    return total, missing + more + (low + second * square_low + cubic_low + square * square * tail)


def _log_of(k: Floats, m: Floats, low: Floats, cell: tuple[Floats, Floats, Floats]) -> Pair:
    """ln(2^k (m + low)), where ``cell`` holds the reciprocal beside m and the pair of its logarithm."""
    reciprocal, high_of_cell, low_of_cell = cell
    product, missing = two_product(m, reciprocal)
    z = two_sum(product - 1.0, missing + low * reciprocal)
    high, rest = _series(z, -0.5, _THIRD, _OF_LOG)
    total, first = two_sum(k * _LN2_HIGH, high_of_cell)
    total, second = two_sum(total, high)
    return two_sum(total, first + second + (rest + low_of_cell + k * _LN2_LOW))


def _exp_of(k: Floats, x: Pair, cell: tuple[Floats, Floats]) -> tuple[Pair, Pair]:
    """e^r - 1 and 2^(j/64) e^r, r = x - k ln 2 / 64, where ``cell`` holds the pair of 2^(j/64)."""
    high, low = x
    r, missing = two_sum(high - k * _STEP_HIGH, -(k * _STEP_MIDDLE))
    less_one = _series(two_sum(r, missing + (low - k * _STEP_LOW)), 0.5, _SIXTH, _OF_EXP)
    product, lost = two_product(cell[0], less_one[0])
    total, more = two_sum(cell[0], product)
    return less_one, two_sum(total, more + lost + (cell[1] + cell[1] * less_one[0] + cell[0] * less_one[1]))


# The two front ends: a float goes through math, an array through NumPy; both by the same steps.


def log_pair(x: Floats, low: Floats) -> Pair:
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


def exp_pair(x: Floats, low: Floats, less: bool) -> Pair:
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
        high, missing = two_sum(high, -1.0)
        return two_sum(high, missing + rest)
    import numpy as np

    k = np.rint(x * (_STEPS / math.log(2)))
    e, j = np.divmod(k.astype(np.int64), _STEPS)
    first, second = _arrays()[1]
    less_one, (high, rest) = _exp_of(k, (x, low), (first[j], second[j]))
    high, rest = np.ldexp(high, e), np.ldexp(rest, e)
    if not less:
        return high, rest
    high, missing = two_sum(high, -1.0)
    high, rest = two_sum(high, missing + rest)
    return np.where(k == 0, less_one[0], high), np.where(k == 0, less_one[1], rest)


def rounded(pair: Pair, error: Floats = ERROR) -> tuple[Floats, Floats]:
    """The float nearest to a pair, and whether no number within its relative error rounds to another."""
    high, low = two_sum(*pair)
    slack = abs(high) * error
    least, most = high + (low - slack), high + (low + slack)
    return most, least == most


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


def _of(function: str, x: FloatsT, y: float = 0.0) -> FloatsT:
    return _of_float(function, float(x), y) if isinstance(x, float | int) else _of_array(function, x, y)


def log(x: FloatsT) -> FloatsT:
    """Natural logarithm, correctly rounded; of 0 it is -inf, of a negative number nan.

    >>> log(2.0)
    0.6931471805599453
    """
    return _of("log", x)


def log1p(x: FloatsT) -> FloatsT:
    """ln(1 + x), correctly rounded."""
    return _of("log1p", x)


def exp(x: FloatsT) -> FloatsT:
    """e^x, correctly rounded; infinite where it is beyond all floats.

    >>> exp(1.0)
    2.718281828459045
    """
    return _of("exp", x)


def expm1(x: FloatsT) -> FloatsT:
    """e^x - 1, correctly rounded."""
    return _of("expm1", x)


def float_power(x: FloatsT, y: float) -> FloatsT:
    """x^y for one exponent y, correctly rounded.

    >>> float_power(2.0, 0.5), float_power(10.0, -3)
    (1.4142135623730951, 0.001)
    """
    if y == 2:
        return x * x
    return _of("power", x, float(y))


def decade(x: float) -> int:
    """The power of ten of x, which is not 0, written in as few digits as it needs."""
    return decimal.Decimal(repr(float(x))).adjusted()


def geometric(first: float, last: float, number: int) -> "FloatArray":
    """Return ``number`` >= 2 numbers from ``first`` to ``last``, both > 0, each the same multiple of the one before."""
    import numpy as np

    found = first * exp(np.arange(number, dtype=np.float64) * (log(last / first) / (number - 1)))
    found[-1] = last
    return found


def log_uniform(generator: "np.random.Generator", low: float, high: float) -> float:
    """Draw a number between ``low`` and ``high``, both > 0, whose logarithm is uniform."""
    return exp(float(generator.uniform(log(low), log(high))))


def lognormal(generator: "np.random.Generator", sigma: float, mean: float = 0.0) -> float:
    """Draw a number whose natural logarithm is normal."""
    return exp(mean + sigma * float(generator.standard_normal()))


def whole(generator: "np.random.Generator", low: float, high: float) -> int:
    """Draw a whole number from ``low`` to ``high``, both whole and both included."""
    return int(generator.integers(int(low), int(high) + 1))


def drawing_below(generator: "np.random.Generator", number: int) -> "Callable[[], int]":
    """Return what draws as ``generator.integers(number)``, 1 < number < 2^32, in a fifth of its time. Source: Lemire 2019."""
    words = generator.bit_generator.ctypes
    next_word, state, least = words.next_uint32, words.state, 2**32 % number

    def draw() -> int:
        while True:
            product: int = next_word(state) * number
            if product % 2**32 >= least:
                return product >> 32

    return draw


def of_words(words: "npt.NDArray[np.uint64]") -> "FloatArray":
    """What ``generator.random()`` makes of each word of ``random_raw``."""
    import numpy as np

    return (words >> 11).astype(np.float64) * 2.0**-53


def below(words: "npt.NDArray[np.uint64]", number: int) -> "IntArray | None":
    """What ``drawing_below`` makes of the lower half of each word; None: it would refuse one, and draw another."""
    products = (words & (2**32 - 1)) * number
    refused = ((products & (2**32 - 1)) < 2**32 % number).any()
    return None if refused else (products >> 32).astype("int64")


def uniforms(drawn: "FloatArray", span: tuple[float, float]) -> "FloatArray":
    """What ``generator.uniform(*span)`` draws, from what ``generator.random()`` draws in a third of the time."""
    low, high = span
    return low + (high - low) * drawn


def four_digits(value: FloatsT) -> FloatsT:
    """Round to four significant digits.

    >>> four_digits(138.06), four_digits(0.000123456)
    (138.1, 0.0001235)
    """
    if isinstance(value, float | int):
        return float(f"{value:.4g}")
    import numpy as np

    found, sure = surely_four_digits(value)
    for place in zip(*np.nonzero(~sure), strict=True):
        found[place] = float(f"{value[place]:.4g}")
    return found


def near_exp(x: "FloatArray") -> "FloatArray":
    """NumPy's e^x, some units in the last place off, on each machine in its way: for ``surely_four_digits``."""
    import numpy as np

    near: FloatArray = np.exp(x)
    return near


def surely_four_digits(value: "FloatArray") -> "tuple[FloatArray, BoolArray]":
    """Round to four significant digits, and say for which values these are the digits of all numbers within 1e-13 of them."""
    import numpy as np

    if value.size > _BLOCK:
        flat = value.reshape(-1)
        blocks = [surely_four_digits(flat[start : start + _BLOCK]) for start in range(0, len(flat), _BLOCK)]
        found, sure = (np.concatenate(each).reshape(value.shape) for each in zip(*blocks, strict=True))
        return found, sure
    # m 10^-k with m of four digits; powers of ten up to 10^22 are exact, so that one operation rounds correctly
    plain = np.where((value > 1e-15) & (value < 1e15), value, 1.0)
    k = 3 - np.floor(np.log10(plain)).astype(np.int64)
    powers = np.array([float(10**power) for power in range(19)])
    up, down = powers[np.maximum(k, 0)], powers[np.maximum(-k, 0)]
    scaled = plain * up / down
    m = np.rint(scaled)
    # too near to half, or k is off by one
    unsure = (plain != value) | (np.abs(np.abs(scaled - m) - 0.5) < 2e-9) | (scaled < 1000) | (scaled >= 10000)
    return np.where(value == 0, value, m * down / up), ~unsure | (value == 0)
