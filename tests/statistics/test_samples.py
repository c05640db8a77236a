"""Location, mean times, fairness and profiles by hand, and what they promise of any sample."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.statistics.samples import (
    data_profile,
    fairness,
    mean,
    median,
    par10,
    percentile,
    performance_profile,
    shifted_geometric_mean,
    worst,
)

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


@pytest.mark.parametrize(
    ("ratios", "largest", "mean", "jain"),
    [
        ([], 1.0, 1.0, 1.0),
        ([0.3], 0.3, 0.3, 1.0),
        ([1.0, 3.0], 3.0, 2.0, 16 / (2 * 10)),
        ([1e-200, 1.0, 1e-200, 1e-200], 1.0, 0.25, 0.25),
        ([1e250, 3e250], 3e250, 2e250, 0.8),
    ],
)
def test_fairness_by_hand(ratios: list[float], largest: float, mean: float, jain: float) -> None:
    """Jain's index is (sum rho)^2 / (J sum rho^2), at most 1 whatever rounding does; a ratio that overflows has no figures."""
    assert fairness(ratios) == pytest.approx({"max_rho": largest, "mean_rho": mean, "jain_index": jain})
    assert all(fairness([0.1] * number)["jain_index"] <= 1.0 for number in range(1, 200))
    assert fairness([1.0, 10.0 / 5e-324]) == {}


def test_profile_by_hand() -> None:
    """Of 1, 2, none, 1.5 and 2 a fifth is within 1, two fifths within 1.5, four fifths within 2, and no more ever."""
    assert performance_profile([1.0, 2.0, None, 1.5, 2.0]) == ((1.0, 1.5, 2.0), (0.2, 0.4, 0.8))


def test_profile_begins_at_one() -> None:
    """Never best: 0 at 1, where one without answers stays; a ratio that rounding put just under 1 counts at 1."""
    assert performance_profile([3.0]) == ((1.0, 3.0), (0.0, 1.0))
    assert performance_profile([None, None]) == ((1.0,), (0.0,))
    assert performance_profile([1 - 1e-9, 1.0]) == ((1.0,), (1.0,))


def test_profiles_of_nothing_are_refused() -> None:
    """A fraction of no instances has no value."""
    with pytest.raises(ValueError, match="at least one"):
        performance_profile([])
    with pytest.raises(ValueError, match="at least one"):
        data_profile([], [])


@given(st.lists(st.none() | st.floats(1, 50), min_size=1, max_size=30), st.floats(1, 60))
def test_profile_counts(ratios: list[float | None], tau: float) -> None:
    """At any factor the step before it is the fraction of ratios within it, a failure being infinite."""
    taus, fractions = performance_profile(ratios)
    step = max(index for index, each in enumerate(taus) if each <= tau)
    assert fractions[step] == sum((math.inf if ratio is None else ratio) <= tau for ratio in ratios) / len(ratios)


def test_data_profile_by_hand() -> None:
    """Four instances of 1, 1, 4 and 9 variables took 2, 6, 5 and 40 evaluations: 1, 3, 1 and 4 times n + 1."""
    assert data_profile([2.0, 6.0, 5.0, 40.0], [1, 1, 4, 9]) == ((0.0, 1.0, 3.0, 4.0), (0.0, 0.5, 0.75, 1.0))
    assert data_profile([2.0, None], [1, 1]) == ((0.0, 1.0), (0.0, 0.5))


@pytest.mark.parametrize(("costs", "sizes"), [([1.0], [1, 2]), ([-1.0], [1]), ([1.0], [-1])])
def test_data_profile_of_what_cannot_be(costs: list[float | None], sizes: list[int]) -> None:
    """Not as many, or below 0."""
    with pytest.raises(ValueError, match="allowed"):
        data_profile(costs, sizes)
