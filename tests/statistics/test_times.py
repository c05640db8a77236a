"""Figures of times by hand and against Python's geometric mean."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.statistics.times import par10, shifted_geometric_mean

times = st.lists(st.floats(0, 1e5), min_size=1, max_size=30)


@given(times, st.floats(0.01, 100))
def test_shifted_geometric_mean_is_pythons_of_shifted_times(seconds: list[float], shift: float) -> None:
    """And it lies between the least and the arithmetic mean."""
    found = shifted_geometric_mean(seconds, shift)
    assert found == pytest.approx(
        statistics.geometric_mean(time + shift for time in seconds) - shift, rel=1e-9, abs=1e-6
    )
    assert found is not None
    assert min(seconds) - 1e-6 <= found <= statistics.fmean(seconds) + 1e-6


def test_shifts_by_hand() -> None:
    """Of 1 and 100 it is 10 without a shift, and sqrt(2 x 101) - 1 with one of a second."""
    assert shifted_geometric_mean([1.0, 100.0], 0.0) == pytest.approx(10.0)
    assert shifted_geometric_mean([1.0, 100.0], 1.0) == pytest.approx(202**0.5 - 1)
    assert shifted_geometric_mean([], 1.0) is None


@pytest.mark.parametrize(("seconds", "shift"), [([0.0, 1.0], 0.0), ([-1.0], 5.0), ([1.0], -0.5)])
def test_times_without_a_logarithm_are_refused(seconds: list[float], shift: float) -> None:
    """0 without a shift, negative times, a negative shift."""
    with pytest.raises(ValueError, match="allowed: numbers >= 0"):
        shifted_geometric_mean(seconds, shift)


def test_par10_by_hand() -> None:
    """A run that was cut off counts ten limits; without one that was, the limit is of no matter."""
    assert par10([1.0, 3.0, None, None], 60.0) == 301.0
    assert par10([1.0, 3.0], None) == par10([1.0, 3.0], 60.0) == 2.0
    assert par10([1.0, None], None) is None
    assert par10([], 60.0) is None
