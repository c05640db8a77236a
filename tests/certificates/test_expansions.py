"""Products and sums of floats without error, against rational arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.certificates.expansions import exact_product, moderate, sum_below

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
