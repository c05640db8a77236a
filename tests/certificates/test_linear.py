"""What prices and multipliers prove, against hand calculation and a linear program solved on paper."""

from fractions import Fraction

import pytest

from dlsched.certificates import ExactColumn, ExactRow, duals_value, price_value

# min 3x + 2y, x + y >= 4 (cover), x - y = 1 (apart), x <= 5 (most), 0 <= x, y <= 10: optimum at x = 5/2, y = 3/2
ROWS = {"cover": ExactRow(">=", 4), "apart": ExactRow("=", 1), "most": ExactRow("<=", 5)}
COLUMNS = [
    ExactColumn(3, 0, 10, {"cover": 1, "apart": 1, "most": 1}),
    ExactColumn(2, 0, 10, {"cover": 1, "apart": -1}),
]


def test_duals_by_hand():
    """y_cover = 5/2, y_apart = 1/2 make both reduced costs 0: 4 x 5/2 + 1/2 = 21/2, the optimum."""
    assert duals_value({"cover": 2.5, "apart": 0.5}, ROWS, COLUMNS) == Fraction(21, 2)


def test_duals_that_are_not_optimal_prove_less():
    """y_cover = 2 alone: 8 + min over x of (3 - 2) x + min over y of 0 y = 8."""
    assert duals_value({"cover": 2.0}, ROWS, COLUMNS) == 8


def test_negative_reduced_costs_take_the_upper_bound():
    """y_cover = 4: 16 + 10 (3 - 4) + 10 (2 - 4) = -14."""
    assert duals_value({"cover": 4.0}, ROWS, COLUMNS) == -14


def test_multiplier_of_an_upper_row():
    """y_most = -1: -5 + 0 (3 + 1) + 0 x 2 = -5."""
    assert duals_value({"most": -1.0}, ROWS, COLUMNS) == -5


def test_no_multipliers_give_the_bounds_of_the_columns():
    """All costs are positive: 0."""
    assert duals_value({}, ROWS, COLUMNS) == 0


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
        duals_value(multipliers, ROWS, COLUMNS)


def test_price_by_hand():
    """Minima 7 and 5 at price 2, capacity 3: 12 - 6, exactly."""
    assert price_value(2.0, 3, [Fraction(7), 5]) == 6
    assert price_value(0.1, 10, [1]) == 1 - 10 * Fraction(0.1)


@pytest.mark.parametrize("price", [-1e-300, float("nan"), float("inf")])
def test_false_prices_are_refused(price):
    """A price below 0 or not finite proves nothing."""
    with pytest.raises(ValueError, match="price"):
        price_value(price, 3, [1])
