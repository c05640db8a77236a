"""Clocks: what is counted from the first release, and put back on the clock of the file."""

import pytest

from dlsched.core.ticks import (
    end_after,
    end_in_slots,
    first_tick,
    from_the_first,
    left_after,
    put_back,
    slots_for,
    tick_at,
    ticks_between,
)

UNIX = 1.7e9 + 0.1


def test_the_first_release_is_zero():
    """In any order, and exactly what floats subtract."""
    assert from_the_first([5.0, 3.0, 3.5]) == [2.0, 0.0, 0.5]
    assert from_the_first([UNIX]) == [0.0]


@pytest.mark.parametrize("release_s", [0.0, 3.0, UNIX])
def test_starts_at_the_release_come_back_in_the_same_bits(release_s):
    """A start at the release stays there, whatever rounding did on the way; none comes before its release."""
    releases = [release_s, release_s + 0.3]
    own = from_the_first(releases)
    assert put_back(releases, own, own) == releases
    later = put_back(releases, own, [0.0, own[1] + 1e-12])
    assert later[1] >= releases[1]


def test_an_end_is_never_early():
    """The least float whose distance from the start is what is needed, however late the start."""
    for start_s in (0.0, 1.0, 1.7e9 + 0.3):
        end_s = end_after(start_s, 0.1)
        assert end_s - start_s >= 0.1
    assert end_after(1.7e9, 1e-9) > 1.7e9


@pytest.mark.parametrize(("needed_s", "slots"), [(1e-9, 1), (10.0, 1), (10.0 + 1e-12, 1), (10.1, 2), (20.0, 2)])
def test_slots_that_work_takes(needed_s, slots):
    """At least one; what exceeds them by a hair is done in them."""
    assert slots_for(needed_s, 1e-11, 10.0) == slots
    assert end_in_slots(3, slots, needed_s, 10.0) <= (3 + slots) * 10.0


def test_ticks_of_times():
    """Times that are ticks but for rounding, and the first tick at or after a time."""
    assert tick_at(3 * 0.1, 0.1) == first_tick(3 * 0.1, 0.1) == 3
    assert tick_at(0.25, 0.1) is None and first_tick(0.25, 0.1) == 3
    assert ticks_between(0.1, 3 * 0.1, 0.1) == 2 and ticks_between(0.1, 0.25, 0.1) is None


def test_work_that_is_not_done_leaves_some():
    """Rounding never ends a job early."""
    assert left_after(1.0, 5.0, 10.0) == 0.5
    assert left_after(1.0, 10.0, 10.0) > 0
