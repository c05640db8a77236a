"""Exact sums of rational numbers, sums of floats without error, and bounds that prices or multipliers of rows prove."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.certificates import ExactRow, exact_multipliers, exact_sum, price_value, rounded_down, rounded_up
from dlsched.certificates.exact import exact_product, moderate, sum_below


@given(st.lists(st.fractions(), max_size=30))
@settings(max_examples=40, derandomize=True, deadline=None, database=None)
def test_exact_sum(numbers):
    """The pairwise sum is the sum."""
    assert exact_sum(numbers) == sum(numbers, Fraction(0))


@given(st.fractions(-(10**20), 10**20))
@settings(derandomize=True, deadline=None, database=None)
def test_rounded_down(number):
    """The largest float not above the number."""
    down = rounded_down(number)
    assert down <= number < math.nextafter(down, math.inf)
    assert rounded_up(-number) == -down


SETTINGS = settings(max_examples=200, derandomize=True, deadline=None, database=None)
FLOATS = st.one_of(
    st.sampled_from([0.0, 1.0, 0.1, 2.0**-300, 2.0**300, 1 + 2.0**-52]),
    st.floats(2.0**-300, 2.0**300),
    st.floats(1e-3, 1e6),
)


@SETTINGS
@given(FLOATS, FLOATS, FLOATS)
def test_products_of_three_are_exact(first, second, third):
    """The parts of the parts add up to the product, of the largest and the smallest that are moderate too."""
    assert moderate(np.array([first, second, third])).all()
    parts = exact_product(np.array([first]), np.array([second]))
    terms = [each for part in parts for each in exact_product(np.array([third]), part)]
    exact = Fraction(first) * Fraction(second) * Fraction(third)
    assert sum(Fraction(float(term[0])) for term in terms) == exact


@SETTINGS
@given(st.lists(st.floats(-1e200, 1e200), max_size=6), st.fractions())
def test_a_sum_is_rounded_down_once(terms, rest):
    """Not above the exact sum, and the next float is, unless the rational number was cut: then the one after it is."""
    exact = sum(map(Fraction, terms), start=rest)
    below = sum_below(terms, rest)
    assert Fraction(below) <= exact
    above = math.nextafter(below, math.inf)
    assert Fraction(above) > exact or Fraction(math.nextafter(above, math.inf)) > exact


def test_sums_of_floats_alone_are_the_nearest_below():
    """0.1 + 0.2 lies between two floats, 0.5 + 0.25 is one."""
    exact = Fraction(0.1) + Fraction(0.2)
    below = sum_below([0.1, 0.2], Fraction(0))
    assert Fraction(below) < exact < Fraction(math.nextafter(below, math.inf))
    assert sum_below([0.5, 0.25], Fraction(0)) == 0.75
    assert sum_below([], Fraction(1, 3)) == 1 / 3  # which is below it
    assert sum_below([], Fraction(-1, 3)) < Fraction(-1, 3)


def test_what_is_too_large_or_too_small_is_not_moderate():
    """2**-301, 2**301 and what is no number are not; 0 is."""
    numbers = np.array([0.0, 1.0, 2.0**-301, 2.0**301, np.inf, np.nan])
    assert moderate(numbers).tolist() == [True, True, False, False, False, False]


def test_beyond_all_floats():
    """An error, not infinity."""
    with pytest.raises(OverflowError):
        sum_below([1e308, 1e308], Fraction(0))
    with pytest.raises(OverflowError):
        sum_below([], Fraction(10) ** 400)


ROWS = {"cover": ExactRow(">=", 4), "apart": ExactRow("=", 1), "most": ExactRow("<=", 5)}


def test_multipliers_are_exact():
    """Halves stay halves; rows that are not named are left out."""
    assert exact_multipliers({"cover": 2.5, "most": -0.5}, ROWS) == {"cover": Fraction(5, 2), "most": Fraction(-1, 2)}


@pytest.mark.parametrize(
    ("multipliers", "message"),
    [
        ({"cover": -1.0}, "wrong sign"),
        ({"most": 1.0}, "wrong sign"),
        ({"apart": float("nan")}, "not finite"),
        ({"apart": float("inf")}, "not finite"),
        ({"nothing": 1.0}, "no row 'nothing'"),
    ],
)
def test_false_multipliers_are_refused(multipliers, message):
    """Wrong sign, not finite, unknown row: ValueError says which."""
    with pytest.raises(ValueError, match=message):
        exact_multipliers(multipliers, ROWS)


def test_price_by_hand():
    """Minima 7 and 5 at price 2, capacity 3: 12 - 6, exactly."""
    assert price_value(2.0, 3, [Fraction(7), 5]) == 6
    assert price_value(0.1, 10, [1]) == 1 - 10 * Fraction(0.1)


@pytest.mark.parametrize("price", [-1e-300, float("nan"), float("inf")])
def test_false_prices_are_refused(price):
    """A price below 0 or not finite proves nothing."""
    with pytest.raises(ValueError, match="price"):
        price_value(price, 3, [1])
