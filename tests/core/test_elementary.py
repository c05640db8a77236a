"""Elementary functions are correctly rounded: held to decimals of 70 digits, which share no code with pairs of floats."""

import decimal
import math
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest

from dlsched.core import elementary
from dlsched.core.elementary import (
    decade,
    drawing_below,
    exp,
    expm1,
    float_power,
    four_digits,
    geometric,
    log,
    log1p,
    surely_four_digits,
    uniforms,
)

EXACT = decimal.Context(prec=70, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
LONG = decimal.Context(prec=1200, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
EXPONENTS = (-3.0, -1.7, -0.5, 0.25, 0.5, 1.5, 2.0, 3.0, 17.25)
DRAWS = 120

Exact = Callable[[Decimal], Decimal]
TRUE: dict[str, Exact] = {
    "log": EXACT.ln,
    "log1p": lambda x: EXACT.ln(LONG.add(x, Decimal(1))),
    "exp": EXACT.exp,
    "expm1": lambda x: EXACT.subtract(decimal.Context(prec=420).exp(x), Decimal(1)),
}
FUNCTIONS = {"log": log, "log1p": log1p, "exp": exp, "expm1": expm1}


def arguments(name: str) -> list[float]:
    """Ordinary, tiny, large and awkward arguments of a function."""
    generator = np.random.default_rng(7)
    near = (1 + generator.uniform(-1, 1, DRAWS) * 10 ** generator.uniform(-15, -1, DRAWS)).tolist()
    wide = (10 ** generator.uniform(-290, 290, DRAWS)).tolist()
    signed = (generator.uniform(-1, 1, DRAWS) * 10 ** generator.uniform(-18, 2.6, DRAWS)).tolist()
    if name == "log":
        return [*near, *wide, 5e-324, 1e-310, 1.7e308, 2.0, 0.5]
    if name == "log1p":
        return [*(each for each in signed if each > -1), *wide, -1 + 2.0**-53, 5e-324, -1e-300, 1.7e308]
    return [*signed, 1e-300, -1e-300, 709.7, -740.0, -708.3, 1.0, -1.0]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_floats_and_arrays_are_the_nearest_floats(name: str) -> None:
    """Each is the exact value, rounded once; the array has the same bits."""
    given = arguments(name)
    expected = [float(TRUE[name](Decimal(x))) for x in given]
    assert [FUNCTIONS[name](x) for x in given] == expected
    assert FUNCTIONS[name](np.array(given)).tolist() == expected


def test_powers_are_the_nearest_floats() -> None:
    """Each is the exact value, rounded once, for powers that are whole and for others."""
    for y in EXPONENTS:
        given = [x for x in arguments("log") if -300 < y * math.log10(x) < 300]
        expected = [float(EXACT.power(Decimal(x), Decimal(y))) for x in given]
        assert [float_power(x, y) for x in given] == expected
        assert float_power(np.array(given), y).tolist() == expected


def test_a_power_half_way_between_two_floats_goes_to_the_even_one() -> None:
    """(2^27 + 1)^2 = 2^54 + 2^28 + 1 and (1 + 2^-20)^3, of 61 bits, computed by hand in integers."""
    assert float_power(2.0**27 + 1, 2) == 2.0**54 + 2.0**28
    cube = (2**20 + 1) ** 3
    assert float_power(1 + 2.0**-20, 3) == float(cube) / 2.0**60  # an integer's float is the nearest, ties to even
    assert float_power(float(2**18 + 1) ** 2, 1.5) == float((2**18 + 1) ** 3)  # of 55 bits, an exact tie or not


def test_pairs_are_sixteen_times_nearer_than_is_claimed() -> None:
    """The error that decides whether a pair is rounded has room."""
    for name, less in (("exp", False), ("expm1", True)):
        for x in arguments(name):
            if 2.0**-200 <= abs(x) < 600:
                high, low = elementary.exp_pair(x, 0.0, less)
                true = TRUE[name](Decimal(x))
                off = EXACT.subtract(EXACT.add(Decimal(high), Decimal(low)), true)
                assert abs(EXACT.divide(off, true)) < elementary.ERROR / 16
    for x in arguments("log"):
        if 2.0**-900 < x < 2.0**900 and x != 1:
            high, low = elementary.log_pair(x, 0.0)
            true = TRUE["log"](Decimal(x))
            off = EXACT.subtract(EXACT.add(Decimal(high), Decimal(low)), true)
            assert abs(EXACT.divide(off, true)) < elementary.ERROR / 16


def test_edges() -> None:
    """Beyond the floats, at zero and outside the domain, without a warning."""
    assert exp(1000.0) == math.inf and exp(-1000.0) == 0.0 and expm1(-1000.0) == -1.0
    assert log(0.0) == -math.inf and math.isnan(log(-1.0)) and log(1.0) == 0.0 and log(math.inf) == math.inf
    assert log1p(-1.0) == -math.inf and math.isnan(log1p(-2.0)) and log1p(0.0) == 0.0
    assert float_power(0.0, 0.5) == 0.0 and float_power(0.0, -1) == math.inf and float_power(-2.0, 3) == -8.0
    assert float_power(3.0, 0) == 1.0 and float_power(1e200, 2) == math.inf and math.isnan(float_power(-2.0, 0.5))
    with np.errstate(all="raise"):
        assert exp(np.array([[1000.0, -1000.0], [0.0, 1.0]])).tolist() == [[math.inf, 0.0], [1.0, math.e]]
        assert np.isnan(log(np.array([math.nan, -1.0]))).all()


@pytest.mark.parametrize("power", range(-300, 301, 25))
def test_decades_are_exact(power: int) -> None:
    """At a power of ten, just below it, and for a negative number."""
    x = float(f"1e{power}")
    assert decade(x) == power
    assert decade(math.nextafter(x, 0)) == power - 1 and decade(-5 * x) == power


def test_geometric_has_its_ends() -> None:
    """Both ends exactly, equal ratios between."""
    found = geometric(0.1, 10, 13)
    assert found[0] == 0.1 and found[-1] == 10
    assert found[1:] / found[:-1] == pytest.approx(np.full(12, 100 ** (1 / 12)), rel=1e-15)


def test_four_digits_of_arrays_are_those_of_text() -> None:
    """Also next to half of the last digit, next to powers of ten, and of sizes for which powers of ten are not exact."""
    generator = np.random.default_rng(7)
    digits = generator.integers(1000, 10001, 3000) + generator.choice([0.0, 0.25, 0.5, 0.5 + 1e-12, 0.5 - 1e-13], 3000)
    values = digits * 10.0 ** generator.integers(-21, 21, 3000)
    every = np.concatenate([values, np.nextafter(values, 0), np.nextafter(values, np.inf), -values[:9], [0.0, np.inf]])
    expected = [float(f"{each:.4g}") for each in every.tolist()]
    assert four_digits(every).tolist() == expected
    assert four_digits(np.stack([every, every])).tolist() == [expected] * 2


def test_digits_that_are_sure_are_those_of_all_numbers_near() -> None:
    """Values at and about a half of the fourth digit, powers of ten, 0: where near numbers have other digits, none is sure."""
    generator = np.random.default_rng(5)
    halves = [(m + 0.5) * 10.0**k for m in (1000, 4321, 9998, 9999) for k in range(-8, 9)]
    every = np.array([*halves, *(10.0**k for k in range(-14, 15)), *np.exp(generator.uniform(-30, 30, 500)), 0.0])
    every = np.concatenate([every * (1 + share) for share in (-1e-9, -1e-12, -1e-14, 0.0, 1e-14, 1e-12, 1e-9)])
    found, sure = surely_four_digits(every)
    assert 0 < sure.mean() < 1
    for share in (-1e-13, 0.0, 1e-13):
        text = np.array([float(f"{value * (1 + share):.4g}") for value in every.tolist()])
        np.testing.assert_array_equal(found[sure], text[sure])


@pytest.mark.parametrize("number", [2, 4, 5, 1000, 3 * 2**30, 2**32 - 2])
def test_draws_are_those_of_the_generator(number):
    """Bit by bit, also where many words are refused, and beside draws of floats."""
    ours, numpys = np.random.default_rng(number), np.random.default_rng(number)
    draw = drawing_below(ours, number)
    for _ in range(500):
        assert draw() == numpys.integers(number)
        assert uniforms(np.array([ours.random()]), (0.3, 7.7)) == numpys.uniform(0.3, 7.7)
        assert draw() == numpys.integers(number)
        assert ours.standard_normal() == numpys.standard_normal()
    assert ours.bit_generator.state == numpys.bit_generator.state
