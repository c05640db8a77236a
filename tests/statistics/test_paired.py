"""Paired figures: counts by hand, the signed-rank test by enumeration of all signs, Holm's correction by its definition."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.statistics.paired import Tally, differences, holm, signed_differences, signed_rank, tally

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
    from scipy import stats

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
