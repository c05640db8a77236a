"""What prices and multipliers prove, against hand calculation."""

from fractions import Fraction

import pytest

from dlsched.certificates import ExactRow, exact_multipliers, price_value

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
