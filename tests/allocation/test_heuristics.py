"""The same count for all jobs."""

import pytest

from dlsched.allocation.heuristics import equal_share, same_counts
from dlsched.core.errors import UsageError

from .toy import TOY, Toy


def test_the_largest_allowed_count():
    """Up to the given one, else the smallest; nothing where they do not fit together."""
    assert same_counts(TOY, 1) == {"a": 1, "b": 1}
    assert same_counts(TOY, 3) == {"a": 2, "b": 3}
    assert same_counts(TOY, 4) is None
    assert same_counts(Toy(TOY.jobs, 1), 1) is None


def test_shares():
    """Rounded down, at least 1."""
    assert [equal_share(Toy(TOY.jobs, capacity)) for capacity in (1, 4, 5)] == [1, 2, 2]


def test_a_count_below_one_is_misuse():
    """Under the name that the caller gives it."""
    with pytest.raises(UsageError, match="gpus_per_job: found 0, allowed: an integer >= 1"):
        same_counts(TOY, 0, "gpus_per_job")
