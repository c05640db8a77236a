"""Preemptive SRPT: by hand, its sum against exact arithmetic and against every order of preemption."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.algorithms.srpt import srpt_completions
from dlsched.core.certificate import srpt_value

JOBS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), min_size=1, max_size=4)


def least_sum(jobs):
    """Least sum of completion times by memoised search: at every second, any released job may be served."""

    @cache
    def after(now, left):
        if not any(left):
            return 0
        released = [n for n, (release, _) in enumerate(jobs) if release <= now and left[n] > 0]
        if not released:
            return after(now + 1, left)
        best = []
        for n in released:
            rest = (*left[:n], left[n] - 1, *left[n + 1 :])
            best.append(after(now + 1, rest) + (now + 1 if rest[n] == 0 else 0))
        return min(best)

    return after(0, tuple(size for _, size in jobs)) + sum(release for release, size in jobs if size == 0)


@settings(max_examples=150, derandomize=True, deadline=None, database=None)
@given(JOBS)
def test_the_sum_is_the_least_possible(jobs):
    """Completions add up to the optimum of the search; the exact value is the same number."""
    releases, sizes = (np.array(column, dtype=float) for column in zip(*jobs, strict=True))
    completions = srpt_completions(releases, sizes)
    assert completions.sum() == least_sum(jobs) == srpt_value(releases.tolist(), sizes.tolist())
    assert np.all(completions >= releases + sizes)


def test_by_hand_with_fractions():
    """A 5 s job is interrupted at 1.5 s by one of 1 s; then it goes on to 6 s; 7.25 s is idle time's end."""
    completions = srpt_completions(np.array([0.0, 1.5, 7.0]), np.array([5.0, 1.0, 0.25]))
    assert completions.tolist() == [6.0, 2.5, 7.25]
    assert srpt_value([0.0, 1.5, 7.0], [5.0, 1.0, 0.25]) == 15.75


def test_exact_values_are_exact():
    """Sizes so different that a float sum would lose the small one: it ends first, and delays the large one."""
    assert srpt_value([0.0, 0.0], [2.0**-60, 2.0**60]) == 2 * Fraction(1, 2**60) + 2**60


@pytest.mark.parametrize("size", [-1.0, float("nan"), float("inf")])
def test_sizes_that_are_none_are_refused(size):
    """ValueError for what is no number >= 0."""
    with pytest.raises(ValueError, match="a size is no number >= 0"):
        srpt_value([0.0], [size])
