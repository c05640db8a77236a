"""Intervals against enumeration, tables, SciPy's own, and against how often they hold the truth."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dlsched.statistics.estimate import Estimate
from dlsched.statistics.intervals import CORRECTED_TO, bootstrap_mean, growth, student_mean, wilson_share

SKEWED = [1.0, 1.1, 1.15, 1.3, 1.7, 3.0]


def test_bootstrap_is_that_of_all_resamples() -> None:
    """All 6^6 resamples enumerated, corrected by the formulas of Efron and Tibshirani, chapter 14: to a draw's precision."""
    means = np.sort(np.array(list(itertools.product(SKEWED, repeat=6))).mean(axis=1))
    data = np.array(SKEWED)
    bias = stats.norm.ppf(np.mean(means < data.mean()) + np.mean(means == data.mean()) / 2)
    left_out = np.array([np.delete(data, index).mean() for index in range(6)])
    away = left_out.mean() - left_out
    acceleration = np.sum(away**3) / (6 * np.sum(away**2) ** 1.5)
    ends = []
    for share in (0.025, 0.975):
        moved = bias + stats.norm.ppf(share)
        ends.append(np.quantile(means, stats.norm.cdf(bias + moved / (1 - acceleration * moved))))
    found = bootstrap_mean(SKEWED)
    assert found is not None and found.low is not None and found.high is not None
    assert found.value == pytest.approx(9.25 / 6)
    assert (found.low, found.high) == (pytest.approx(ends[0], abs=0.03), pytest.approx(ends[1], abs=0.1))


@pytest.mark.parametrize(("size", "samples", "least"), [(12, 150, 0.85), (60, 150, 0.89), (CORRECTED_TO + 1, 40, 0.85)])
def test_bootstrap_holds_the_truth(size: int, samples: int, least: float) -> None:
    """Of samples of an exponential distribution, whose mean is 1, nearly 95 % of the intervals hold it."""
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(samples):
        found = bootstrap_mean(rng.exponential(size=size).tolist())
        assert found is not None and found.low is not None and found.high is not None
        held += found.low <= 1.0 <= found.high
    assert least <= held / samples


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(1, 100), max_size=40))
def test_bootstrap_stays_among_the_values(values: list[float]) -> None:
    """Least <= low <= mean <= high <= largest; no interval below 6 values, no estimate of none; again the same."""
    found = bootstrap_mean(values)
    assert found == bootstrap_mean(values)
    if not values:
        assert found is None
        return
    assert found is not None
    assert found.value == pytest.approx(math.fsum(values) / len(values))
    assert (found.low is None) == (found.high is None) == (len(values) < 6)
    if found.low is not None and found.high is not None:
        assert min(values) - 1e-9 <= found.low <= found.value <= found.high <= max(values) + 1e-9


def test_bootstrap_of_values_nearly_all_equal() -> None:
    """One of 50 is off: an interval all the same, that begins at the others."""
    found = bootstrap_mean([1.0] * 49 + [2.0])
    assert found is not None and found.high is not None
    assert found.low == pytest.approx(1.0, abs=0.021)
    assert 1.02 < found.high < 1.15


def test_bootstrap_of_very_many_takes_little_memory() -> None:
    """Of 200,000 values below 50 MB; the width is the normal distribution's, 2 x 1.96 / sqrt(n)."""
    values = np.random.default_rng(1).normal(size=200_000).tolist()
    tracemalloc.start()
    found = bootstrap_mean(values)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 50e6
    assert found is not None and found.low is not None and found.high is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 / math.sqrt(200_000), rel=0.2)


def test_student_by_the_table() -> None:
    """Student's t is 12.706 with 1 degree of freedom, 2.776 with 4."""
    assert student_mean([]) is None
    assert student_mean([2.0]) == Estimate(2.0)
    two, five = student_mean([1.0, 3.0]), student_mean([1.0, 2.0, 3.0, 4.0, 5.0])
    assert two is not None and five is not None
    assert two.high == pytest.approx(2 + 12.706, abs=1e-3)
    assert five.low == pytest.approx(3 - 2.776 * math.sqrt(2.5 / 5), abs=1e-3)


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=20, unique=True))
def test_student_is_scipys(values: list[float]) -> None:
    """The interval that belongs to SciPy's t-test."""
    found = student_mean(values)
    theirs = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert found is not None
    assert (found.low, found.high) == (pytest.approx(theirs.low, abs=1e-6), pytest.approx(theirs.high, abs=1e-6))


@given(st.integers(0, 60), st.integers(1, 60))
def test_wilson_is_scipys(count: int, of: int) -> None:
    """SciPy's interval of a binomial proportion, and within 0 and 1."""
    if count > of:
        with pytest.raises(ValueError, match=f"count: found {count}, allowed: 0 to {of}"):
            wilson_share(count, of)
        return
    found = wilson_share(count, of)
    theirs = stats.binomtest(count, of).proportion_ci(0.95, method="wilson")
    assert found is not None
    assert (found.value, found.low, found.high) == (
        count / of,
        pytest.approx(theirs.low, abs=1e-12),
        pytest.approx(theirs.high, abs=1e-12),
    )
    assert wilson_share(0, 0) is None


def test_growth_of_a_power() -> None:
    """5 n^1.5 has the exponent 1.5 without any doubt; two points give no interval, one size no exponent."""
    found = growth([1, 10, 100, 1000], [5 * size**1.5 for size in (1, 10, 100, 1000)])
    assert found is not None
    assert (found.value, found.low, found.high) == tuple(pytest.approx(1.5) for _ in range(3))
    two = growth([1, 10], [1, 100])
    assert two is not None
    assert (two.value, two.low) == (pytest.approx(2.0), None)
    assert growth([3, 3, 3], [1, 2, 3]) is None


def test_growth_of_points_off_the_line() -> None:
    """By hand: logs (0, 0), (1, 1), (2, 1) have the slope 1/2, the error sqrt(1/6 / 2), and t is 12.706."""
    found = growth([1, math.e, math.e**2], [1, math.e, math.e])
    assert found is not None and found.high is not None
    assert found.value == pytest.approx(0.5)
    assert found.high - found.value == pytest.approx(12.706 * math.sqrt(1 / 12), abs=1e-3)


@pytest.mark.parametrize(
    ("sizes", "values"), [([1, 2], [1]), ([0, 1], [1, 1]), ([1, 2], [-1, 1]), ([1, math.inf], [1, 1])]
)
def test_growth_of_what_has_no_logarithm(sizes: list[float], values: list[float]) -> None:
    """Refused, with what is allowed."""
    with pytest.raises(ValueError, match="allowed"):
        growth(sizes, values)
