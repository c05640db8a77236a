"""Guarantees of the greedy methods on a cost table: conditions, and how much the methods can lose."""

from math import inf

import pytest

from dlsched.allocation import guarantees
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.guarantees import convex, doubling_loss, falling_doublings


def table(*rows):
    """A table of one dictionary a job."""
    return CostTable.from_rows(rows)


def test_convex():
    """Savings that do not grow, on consecutive counts."""
    assert convex(table({1: 9.0, 2: 5.0, 3: 1.0}, {4: 1.0}))
    assert not convex(table({1: 9.0, 2: 6.0, 3: 1.0}))
    assert not convex(table({1: 9.0, 3: 1.0}))


def test_falling_doublings():
    """1, 2, 4, ... with savings per unit that do not grow."""
    assert falling_doublings(table({1: 9.0, 2: 5.0, 4: 2.0}, {1: 1.0}))
    assert falling_doublings(table({1: 9.0, 2: 5.0, 4: -3.0}))
    assert not falling_doublings(table({1: 9.0, 2: 5.0, 4: -4.0}))
    assert not falling_doublings(table({1: 9.0, 2: 5.0, 3: 2.0}))


def test_the_first_doubling_that_does_not_fit():
    """4 saved by the first, 3 by the second, for which two more units are needed."""
    rows = table({1: 9.0, 2: 5.0, 4: 2.0}, {1: 1.0})
    assert [doubling_loss(rows, capacity) for capacity in (2, 3, 4, 5)] == [4.0, 3.0, 3.0, 0.0]


LINE = {count: 12.0 / count for count in (1, 2, 3, 4)}
POWERS = {count: 12.0 / count for count in (1, 2, 4)}
PLATEAU = {1: 8.0, 2: 8.0, 3: 6.0, 4: 5.0}
ONE = {1: 1.0}


def test_no_super_linear_speed():
    """Costs that do not rise, and fall by half at most where the count doubles; the first of a job is its own."""
    assert guarantees.no_super_linear_speed(table(LINE, {1: 90.0}, {2: 4.0, 3: 4.0, 6: 2.0}, {1: 0.0, 2: 0.0}))
    assert guarantees.no_super_linear_speed(table({count: 0.1 / count for count in range(1, 100)}))
    assert not guarantees.no_super_linear_speed(table(LINE, {1: 4.0, 2: 1.9}))
    assert not guarantees.no_super_linear_speed(table(LINE, {1: 4.0, 2: 4.1}))


def test_counts_that_fit():
    """Five units, of which the second job takes one: four are the most that the first can have."""
    fit = guarantees.fitting(table({1: 9.0, 4: 5.0, 5: 1.0}, {1: 9.0, 4: 5.0}), 5)
    assert fit.counts.tolist() == [1, 4, 1, 4]
    assert guarantees.fitting(table({2: 9.0, 4: 5.0}), 1).counts.tolist() == [2]


@pytest.mark.parametrize(
    ("rows", "capacity", "doubling", "marginal"),
    [
        ((POWERS, ONE), 5, 10 / 8, 10 / 8),  # 4 is the most that fits: (2 x 4 + 2) / (4 + 4)
        ((POWERS, ONE), 4, 1.0, 1.0),
        ((LINE, ONE), 5, 2.0, 1.0),  # L / 2 and 2 are the same here
        ((LINE,), 3, 1.5, 1.0),
        (({count: 60.0 / count for count in range(1, 7)},), 6, 2.0, 1.0),
        ((PLATEAU, ONE), 5, 2.0, 2.0),
        ((PLATEAU, ONE), 3, 1.0, 1.0),
        (({2: 4.0, 3: 4.0, 6: 2.0},), 6, inf, inf),  # nothing is claimed of counts that begin with 2
        (({1: 9.0, 2: 5.0, 4: 1.0, 8: 1.0},), 8, 4.0, 4.0),  # super-linear, with falling savings
        (({1: 9.0, 2: 4.0, 3: 1.0},), 3, inf, 1.0),  # super-linear, and convex: Fox holds, nothing else
        (({1: 9.0, 2: 9.0, 4: 1.0},), 4, inf, inf),
    ],
)
def test_doubling_and_marginal(rows, capacity, doubling, marginal):
    """Powers of two, consecutive counts, plateaus, counts that do not begin with 1 and 2, super-linear speed."""
    assert guarantees.doubling(table(*rows), capacity) == doubling
    assert guarantees.marginal(table(*rows), capacity) == marginal


@pytest.mark.parametrize(
    ("rows", "capacity", "factor"),
    [
        ((LINE, ONE), 5, 1.0),  # every step is one unit wide
        (({count: 11.0 - count for count in range(1, 7)}, ONE), 7, 1.0),  # on a straight line too: Fox holds
        ((POWERS, ONE), 5, 10 / 8),  # savings fall: as doubling
        (({1: 22.0, 2: 21.0, 4: 19.0, 8: 15.0, 16: 7.0}, ONE), 17, 8.0),  # super-linear on a line: half of 16
        ((PLATEAU, ONE), 5, 7 / 5),  # the hull goes from 1 to 4
        (({1: 8.0, 2: 8.0, 4: 4.0, 8: 2.0}, ONE), 9, 2.0),  # 24 / 12, though a step of 4 is there
        (({1: 8.0, 2: 8.0, 4: 4.0}, ONE), 5, 12 / 8),
        (({1: 8.0, 4: 4.0}, ONE), 5, 3.0),  # 4 is more than twice 1: the widest step
        (({1: 9.0, 2: 9.0, 4: 1.0}, ONE), 5, 3.0),  # super-linear
        (({1: 9.0, 2: 9.0, 4: 1.0}, ONE), 3, 1.0),  # no step that fits
    ],
)
def test_hulls(rows, capacity, factor):
    """The widest step, and less where speed is not super-linear and counts are dense."""
    assert guarantees.hulls(table(*rows), capacity) == factor


def test_same_counts():
    """What a job can get by what it is given, of the worst job."""
    assert guarantees.same_counts(table(LINE, POWERS), 6, 3) == 2.0  # 4 in place of 2, by the second
    assert guarantees.same_counts(table(LINE, ONE), 4, 1) == 3.0
    assert guarantees.same_counts(table({2: 3.0, 5: 2.0}), 5, 1) == 2.5
    assert guarantees.same_counts(table({1: 4.0, 2: 1.0}), 2, 1) == inf
