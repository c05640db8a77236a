"""Intervals hold the truth as often as they say; paired comparisons and tests by hand and against SciPy."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dlsched.statistics.inference import (
    CORRECTED_TO,
    Estimate,
    Tally,
    bootstrap_mean,
    differences,
    growth,
    holm,
    signed_differences,
    signed_rank,
    student_mean,
    tally,
    wilson_share,
)

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
def test_wilson_ends_where_the_share_is_just_possible(count: int, of: int) -> None:
    """At the shares from which the one that was seen is 1.96 of their own standard errors away."""
    if count > of:
        with pytest.raises(ValueError, match=f"count: found {count}, allowed: 0 to {of}"):
            wilson_share(count, of)
        return
    found = wilson_share(count, of)
    assert found is not None and found.low is not None and found.high is not None
    assert 0 <= found.low <= found.value == count / of <= found.high <= 1
    for end in (found.low, found.high):
        assert (found.value - end) ** 2 * of == pytest.approx(1.959963984540054**2 * end * (1 - end), abs=1e-12)
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


figure = st.floats(1, 10)
few = st.lists(st.tuples(st.none() | figure, st.none() | figure), max_size=9)
many = st.lists(st.tuples(figure, st.none() | figure), min_size=14, max_size=20)
figures = few | many
"""By all permutations, of which there are few, or by none."""


def test_counts_by_hand() -> None:
    """A win, a tie to rounding, a loss, a failure of each, and one of both, which is nothing."""
    first = [1.0, 1.5, 2.0, None, 3.0, None]
    second = [1.1, 1.5 * (1 + 5e-7), 1.9, 4.0, None, None]
    assert tally(first, second) == Tally(wins=2, ties=1, losses=2)
    assert tally(first, second).instances == 5
    assert differences(first, second) == pytest.approx([-0.1, -7.5e-7, 0.1])


@settings(max_examples=40, deadline=None)
@given(figures)
def test_what_one_wins_the_other_loses(pairs: list[tuple[float | None, float | None]]) -> None:
    """Counts and test are the same from the other side; the counts are those of a loop over instances."""
    first, second = [mine for mine, _ in pairs], [other for _, other in pairs]
    found, turned = tally(first, second), tally(second, first)
    assert (found.wins, found.ties, found.losses) == (turned.losses, turned.ties, turned.wins)
    assert found.instances == sum(mine is not None or other is not None for mine, other in pairs)
    assert differences(second, first) == [-each for each in differences(first, second)]
    p_value, other_p = signed_rank(first, second), signed_rank(second, first)
    assert p_value == (None if other_p is None else pytest.approx(other_p))
    assert p_value is None or 0 <= p_value <= 1


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 60), min_size=6, max_size=10, unique=True), st.integers(0, 1023))
def test_signed_rank_is_that_of_all_signs(sizes: list[int], signs: int) -> None:
    """Of all 2^n signs, how many have a rank sum as far from the middle; differences are whole, ranks without ties."""
    given_signs = [1 if signs >> index & 1 else -1 for index in range(len(sizes))]
    ranks = [sorted(sizes).index(size) + 1 for size in sizes]
    middle = sum(ranks) / 2

    def distance(each: tuple[int, ...] | list[int]) -> float:
        return abs(sum(rank for rank, sign in zip(ranks, each, strict=True) if sign > 0) - middle)

    every = [distance(each) for each in itertools.product((-1, 1), repeat=len(sizes))]
    expected = sum(each >= distance(given_signs) for each in every) / len(every)
    first = [100.0 + sign * size for size, sign in zip(sizes, given_signs, strict=True)]
    assert signed_rank(first, [100.0] * len(sizes)) == pytest.approx(expected)


def test_a_failure_is_the_largest_difference() -> None:
    """As if its figure were far beyond all others; left out it would change the answer."""
    second = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    failed = [1.1, 0.8, 0.7, 0.6, 0.5, 0.4, None]
    far = [1.1, 0.8, 0.7, 0.6, 0.5, 0.4, 99.0]
    assert signed_rank(failed, second) == signed_rank(far, second)
    assert signed_rank(failed, second) != signed_rank(failed[:-1], second[:-1])
    assert signed_differences([None, 1.0], [1.0, None]) == [float("inf"), float("-inf")]


def test_nothing_to_test() -> None:
    """Ties only, or fewer than six instances: no p-value. Ties among others make it larger."""
    assert signed_rank([1.0] * 10, [1.0] * 10) is None
    assert signed_rank([1.0] * 5, [2.0] * 5) is None
    clear = signed_rank([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [2.0] * 6)
    tied = signed_rank([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 2.0, 2.0], [2.0] * 8)
    assert clear == pytest.approx(2 / 64)
    assert tied is not None and clear is not None and tied >= clear


def test_equal_differences_share_a_rank() -> None:
    """1.9 - 1.3 is not 1.6 - 1.0 as floats are; the test does not see that."""
    assert 1.9 - 1.3 != 1.6 - 1.0
    rounded = signed_rank([1.9, 1.0, 1.7, 1.2, 1.1, 1.3, 1.8], [1.3, 1.6, 1.0, 1.0, 1.0, 1.0, 1.0])
    whole = signed_rank([6.0, 1.0, 7.0, 2.0, 1.0, 3.0, 8.0], [0.0, 7.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert rounded == whole


def test_holm_by_hand() -> None:
    """Of 0.01, 0.02, 0.04: three times the first, twice the second, once the last; never below one before."""
    assert holm([0.04, 0.01, 0.02]) == [pytest.approx(0.04), pytest.approx(0.03), pytest.approx(0.04)]
    assert holm([0.6, None, 0.7]) == [1.0, None, 1.0]
    assert holm([]) == []


@given(st.lists(st.none() | st.floats(0, 1), max_size=12), st.floats(0.001, 0.5))
def test_holm_rejects_as_its_steps_do(p_values: list[float | None], level: float) -> None:
    """Step by step from the smallest: reject while p <= level / (number left)."""
    tests = sorted(p for p in p_values if p is not None)
    rejected = list(itertools.takewhile(lambda each: each[1] * (len(tests) - each[0]) <= level, enumerate(tests)))
    corrected = holm(p_values)
    assert sum(p is not None and p <= level for p in corrected) == len(rejected)
    assert [p is None for p in corrected] == [p is None for p in p_values]


def test_the_distribution_is_chosen_here() -> None:
    """Exact without ties up to 50, all permutations with ties up to 13, else normal."""

    def of(values: list[float], method: object) -> float:
        return float(stats.wilcoxon(values, zero_method="pratt", method=method).pvalue)

    plain = [float(size if size % 3 else -size) for size in range(1, 51)]
    tied = [float(size // 2 if size % 3 else -size) for size in range(2, 15)]
    for values, method in (
        (plain, "exact"),
        ([*plain, 51.0], "asymptotic"),
        (tied, stats.PermutationMethod()),
        ([*tied, 3.0], "asymptotic"),
    ):
        first = [100.0 + value for value in values]
        assert signed_rank(first, [100.0] * len(first)) == pytest.approx(of(values, method))
