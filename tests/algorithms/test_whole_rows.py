"""Rows over whole numbers: in units by hand, as small numbers that let the same through, and scaled where neither is possible."""

import operator
from itertools import product

import pytest

from dlsched.algorithms.whole_rows import row, same, whole


def test_whole_numbers_by_hand():
    """Units of a half and of a tenth; what does not fit is the right side and one; a third has no unit with a half."""
    assert whole([1.0, 0.5], 2.2, 100) == ([2, 1], 4)
    assert whole([0.3, 0.5], 0.9, 100) == ([3, 5], 9)
    assert whole([0.3, 0.5], 0.8, 100) == ([3, 5], 8)
    assert whole([0.1, 0.1], 0.3, 100) == ([1, 1], 3)
    assert whole([1.25e8, 2.5e8], 1.25e9, 100) == ([1, 2], 10)
    assert whole([1.25e8, 1e100], 1.25e9, 100) == ([1, 11], 10)
    assert whole([2.0, 3.0], 1.0, 100) == ([1, 1], 0)
    assert whole([], 1.0, 100) == ([], 0)
    assert whole([1 / 3, 0.5], 1.0, 2**30) is None
    assert whole([1.0, 1.0], 2 - 0.9e-9, 100) == ([1, 1], 2)  # the checker's tolerance
    assert whole([1.0, 1.0], 2 - 1e-8, 100) == ([1, 1], 1)


def test_rows_without_a_unit_are_scaled():
    """By the power of two that brings the right side to between a half and one."""
    assert row([1.0, 2.0], 4.0) == ([1.0, 2.0], 4.0)
    coefficients, right = row([1e9 / 3, 1e9], 2e9)
    assert coefficients == [1e9 / 3 / 2**31, 1e9 / 2**31]
    assert right == pytest.approx(2e9 / 2**31, rel=1e-8)
    assert row([1e9 / 3, 1e9, 1e90], 2e9)[0][2] == pytest.approx(4e9 / 2**31, rel=1e-8)


@pytest.mark.parametrize(
    ("amounts", "right", "most", "expected"),
    [
        ([1 / 3, 0.5], 1.0, [3, 2], ([2, 3], 6)),
        ([1.0, 1e-9 * 2 / 3], 1.0, [1, 3], ([2, 1], 3)),
        ([0.7, 1 / 7], 0.1, [1, 1], ([1, 1], 0)),
        ([1 / 3, 0.5], 1.0, [99, 99], None),
    ],
)
def test_whole_numbers_that_let_the_same_through(amounts, right, most, expected):
    """By hand: a third and a half are 2 and 3 of 6; beside 1 there is room for one part of 2/3 billionths, not for two."""
    found = same(amounts, right, most)
    assert (found is None) == (expected is None)
    for n in product(*(range(count + 1) for count in most)) if expected else ():
        passes = [sum(map(operator.mul, n, units)) <= limit for units, limit in (found, expected)]
        assert passes[0] == passes[1] == (sum(map(operator.mul, n, amounts)) <= right * (1 + 1e-9))
