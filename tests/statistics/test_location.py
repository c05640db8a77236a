"""Means, medians, percentiles and worst values against Python's own and against sorting."""

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.statistics.location import mean, median, percentile, worst

values = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=30)


def test_nothing_has_no_figure() -> None:
    """None, and no error, of an empty list."""
    assert (mean([]), median([]), percentile([], 95), worst([])) == (None, None, None, None)


@given(values)
def test_mean_and_median_are_those_of_python(numbers: list[float]) -> None:
    """The standard library's, to rounding."""
    assert mean(numbers) == pytest.approx(statistics.fmean(numbers), rel=1e-9, abs=1e-6)
    assert median(numbers) == pytest.approx(statistics.median(numbers), rel=1e-9, abs=1e-6)


def test_percentile_by_hand() -> None:
    """Of 1 to 21 the 95th percentile is at index 19, of 1 to 20 it is 5 hundredths beyond index 18."""
    assert percentile([float(number) for number in range(21, 0, -1)], 95) == 20.0
    assert percentile([float(number) for number in range(1, 21)], 95) == pytest.approx(19.05)


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=30))
def test_percentile_is_pythons_inclusive_one(numbers: list[float]) -> None:
    """The standard library's quantiles of the inclusive method are of the same type."""
    assert percentile(numbers, 95) == pytest.approx(
        statistics.quantiles(numbers, n=20, method="inclusive")[-1], abs=1e-5
    )


@given(values)
def test_worst_is_the_first_largest(numbers: list[float]) -> None:
    """Nothing is larger, and nothing before it as large."""
    found = worst(numbers)
    assert found is not None
    index, value = found
    assert value == numbers[index] == sorted(numbers)[-1]
    assert all(other < value for other in numbers[:index])
