"""Gaps, ratios and when a bound meets an objective, by hand."""

import pytest

from dlsched.core.gap import gap, meets, ratio
from dlsched.core.status import Sense


@pytest.mark.parametrize(
    ("objective", "bound", "expected"),
    [
        (110.0, 100.0, 10 / 110),
        (100.0, 110.0, 10 / 110),
        (-100.0, -110.0, 10 / 110),
        (5.0, -5.0, 2.0),
        (0.0, 0.0, 0.0),
        (3.0, 0.0, 1.0),
        (None, 1.0, None),
        (1.0, None, None),
    ],
)
def test_gap(objective, bound, expected):
    """|objective - bound| / max(|objective|, |bound|); 0 when equal, None when unknown."""
    assert gap(objective, bound) == (expected if expected is None else pytest.approx(expected, rel=1e-15))


@pytest.mark.parametrize(
    ("objective", "bound", "expected"),
    [
        (1.0, 1.0 - 0.9e-6, True),
        (1.0, 1.0 - 1.1e-6, False),
        (0.0, 1e-300, False),
        (0.0, 0.0, True),
        (1e-9, 1e-9 - 0.9e-15, True),
        (1e-9, 1e-9 - 1.1e-15, False),
        (2e6, 2e6 - 1.9, True),
        (2e6, 2e6 - 2.1, False),
        (-2e6, -2e6 + 1.9, True),
    ],
)
def test_meets(objective, bound, expected):
    """Within 1e-6 of the larger one in size, whatever that is."""
    assert meets(objective, bound) is expected


@pytest.mark.parametrize(
    ("objective", "reference", "sense", "expected"),
    [
        (3.0, 2.0, Sense.MINIMIZE, 1.5),
        (2.0, 3.0, Sense.MAXIMIZE, 1.5),
        (0.0, 0.0, Sense.MINIMIZE, 1.0),
        (0.0, 0.0, Sense.MAXIMIZE, 1.0),
        (3.0, 0.0, Sense.MINIMIZE, None),
        (0.0, 3.0, Sense.MAXIMIZE, None),
        (None, 3.0, Sense.MINIMIZE, None),
        (3.0, None, Sense.MINIMIZE, None),
        (-3.0, -2.0, Sense.MAXIMIZE, 1.5),
        (-2.0, -3.0, Sense.MINIMIZE, 1.5),
        (-3.0, 2.0, Sense.MAXIMIZE, None),
        (2.0, -3.0, Sense.MINIMIZE, None),
        (-3.0, 0.0, Sense.MAXIMIZE, None),
    ],
)
def test_ratio(objective, reference, sense, expected):
    """At least 1 when the reference is an optimum; 1 when both are 0; None when only the denominator is."""
    assert ratio(objective, reference, sense) == expected


def test_sense():
    """Less is better when minimising, more when maximising; equal is not better."""
    assert Sense.MINIMIZE.better(1, 2) and not Sense.MINIMIZE.better(2, 1) and not Sense.MINIMIZE.better(1, 1)
    assert Sense.MAXIMIZE.better(2, 1) and not Sense.MAXIMIZE.better(1, 2) and not Sense.MAXIMIZE.better(1, 1)


@pytest.mark.parametrize(
    ("objective", "bound", "expected"),
    [
        (6.8e9 + 1.0, 6.8e9 + 0.9999, False),  # 1 s of flow and .9999 s: a gap of 1e-4 of what is decided
        (6.8e9 + 1000.0, 6.8e9 + 999.9995, True),
        (6.8e9 + 1e-6, 6.8e9, True),  # doubles near 6.8e9 lie 9.5e-7 apart
    ],
)
def test_meets_without_the_constant(objective, bound, expected):
    """The sum of the releases says nothing of a schedule; what doubles cannot tell apart meets all the same."""
    assert meets(objective, bound, 6.8e9) is expected
    assert gap(objective, bound, 6.8e9) == pytest.approx((objective - bound) / (objective - 6.8e9), rel=1e-9)


def test_ratio_without_the_constant():
    """Flow times of 30 and 20 s since noon of some day."""
    assert ratio(1.7e9 + 30, 1.7e9 + 20, Sense.MINIMIZE, 1.7e9) == 1.5
    assert ratio(1.7e9 + 30, 1.7e9, Sense.MINIMIZE, 1.7e9) is None
