"""Sums and floats on their safe side, against fractions."""

import math
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.certificates import exact_sum, rounded_down, rounded_up


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
