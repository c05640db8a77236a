"""Performance and data profiles by hand and by counting."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched.statistics.profiles import data_profile, performance_profile


def test_profile_by_hand() -> None:
    """Of 1, 2, none, 1.5 and 2 a fifth is within 1, two fifths within 1.5, four fifths within 2, and no more ever."""
    assert performance_profile([1.0, 2.0, None, 1.5, 2.0]) == ((1.0, 1.5, 2.0), (0.2, 0.4, 0.8))


def test_profile_begins_at_one() -> None:
    """A method that is never best begins with fraction 0 at 1, one without answers stays there."""
    assert performance_profile([3.0]) == ((1.0, 3.0), (0.0, 1.0))
    assert performance_profile([None, None]) == ((1.0,), (0.0,))


def test_profile_takes_rounding_under_one_as_one() -> None:
    """A ratio that rounding put just under 1 counts at 1."""
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
