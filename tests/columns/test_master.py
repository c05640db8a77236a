"""The restricted master: its optimum, its prices, and what it does with a column that it holds."""

import numpy as np
import pytest

from dlsched.columns.master import Master

# a cutting-stock program: rolls of 10, pieces of 3, 4 and 5; columns are patterns
DEMAND = [7.0, 5.0, 3.0]
PATTERNS = [(3, 0, 0), (0, 2, 0), (0, 0, 2), (2, 1, 0), (1, 0, 1)]


def cutting(unit=1.0):
    """The master of the patterns; a row ``-cut <= -demand`` for every piece."""
    master = Master([-need for need in DEMAND], unit=unit)
    for pattern in PATTERNS:
        rows = [row for row, count in enumerate(pattern) if count]
        assert master.add(pattern, 1.0, rows, [-float(pattern[row]) for row in rows])
    return master


@pytest.mark.parametrize("unit", [1.0, 8.0, 1e-6])
def test_strong_duality(unit):
    """The prices pay for the demand exactly the value; every column costs at least what its pieces earn."""
    master = cutting(unit)
    optimum = master.solve()
    assert optimum.value == pytest.approx(optimum.weights.sum())
    assert optimum.prices @ DEMAND == pytest.approx(optimum.value)
    assert (np.array(PATTERNS) @ optimum.prices <= 1 + 1e-9).all()
    assert (np.array(PATTERNS).T @ optimum.weights >= np.array(DEMAND) - 1e-9).all()


def test_a_column_is_held_once():
    """By its key; the program stays as it is."""
    master = cutting()
    value = master.solve().value
    assert not master.add(PATTERNS[0], 0.0, [0], [-3.0])
    assert PATTERNS[0] in master
    assert len(master) == len(PATTERNS)
    assert master.solve().value == value


def test_rows_at_most_and_exactly():
    """One of two choices for each of two groups, one resource: duals of groups, and a price of what is scarce."""
    master = Master([1.0], [1.0, 1.0])
    for group, cost, taken in ((0, 3.0, 0), (0, 1.0, 1), (1, 2.0, 0), (1, 1.0, 1)):
        master.add((group, taken), cost, [0, 1 + group] if taken else [1 + group], [1.0, 1.0] if taken else [1.0])
    optimum = master.solve()
    assert optimum.value == pytest.approx(3.0)
    assert optimum.duals.sum() - optimum.prices.sum() == pytest.approx(3.0)
    assert 1.0 <= optimum.prices[0] <= 2.0
    assert optimum.weights == pytest.approx([0, 1, 1, 0])


def test_matrix_and_costs():
    """As they were added."""
    master = cutting(2.0)
    assert (-master.matrix().toarray().T == PATTERNS).all()
    assert (master.costs == 0.5).all()
