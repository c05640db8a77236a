"""When promises hold, and what doubling loses, by hand."""

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
