"""Quotas by hand, and the largest utility that prices allow against trying all."""

import random
from fractions import Fraction

import numpy as np
import pytest

from dlsched.algorithms.quotas import Quotas
from dlsched.algorithms.utility_table import UtilityTable


def quotas(*values, error=0.0):
    """Quotas of tables with these values."""
    return Quotas([UtilityTable(np.array(each, dtype=np.float64), error, False) for each in values])


def test_quotas_by_hand():
    """The least units that are worth 2; all units where that is out of reach, or all that are worth as much as these."""
    found = quotas([0, 1, 2, 2], [2, 3], [0, 1, 1])
    assert found.at(2.0) == [2, 0, 1]
    assert found.at(0.0) == [0, 0, 0]
    assert found.tops.tolist() == pytest.approx([2, 3, 1], rel=1e-15)


def test_rounding_is_given_to_utilities():
    """A utility that floats may have rounded by 0.25 can be 2 at one unit; one that falls by rounding is made to rise."""
    assert quotas([0, 1.75, 4], error=0.25).at(2.0) == [1]
    assert quotas([0, 2 + 1e-16, 2, 3]).at(2.0) == [1]


def test_largest_by_hand():
    """Two jobs worth 1 and 3 a unit, four units: 3 of one and 1 of the other; with all free, what the first can reach."""
    found = quotas([0, 1, 2, 3, 4], [0, 3, 6, 9, 12])
    one = Fraction(1)
    assert found.largest([one, one], Fraction(4)) == pytest.approx(3, rel=1e-15)
    assert found.largest([one, one], Fraction(0)) == 0
    assert found.largest([one, one], Fraction(100)) == pytest.approx(4, rel=1e-15)
    assert found.largest([0 * one, one], Fraction(1)) == pytest.approx(3, rel=1e-15)
    assert found.largest([one, one], Fraction(8), 13.0) == pytest.approx(
        12, rel=1e-15
    )  # the first has all it can: 4 + 4


@pytest.mark.parametrize("seed", range(40))
def test_largest_against_trying_all(seed):
    """Of all values in the tables, the largest that all can reach and whose quotas, counted one by one, cost no more."""
    rng = random.Random(seed)
    values = [sorted(rng.randrange(20) for _ in range(rng.randint(1, 6))) for _ in range(rng.randint(1, 4))]
    prices = [Fraction(rng.randrange(4), 3) for _ in values]
    supply = Fraction(rng.randrange(30), 2)

    def cost(level):
        return sum(price * sum(value < level for value in each) for price, each in zip(prices, values, strict=True))

    reached = [level for each in values for level in each if all(level <= other[-1] for other in values)]
    best = max(level for level in [*reached, min(each[0] for each in values)] if cost(level) <= supply)
    assert quotas(*values).largest(prices, supply) == pytest.approx(best, rel=1e-15)
