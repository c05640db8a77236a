"""Times in ticks: rounding gives nothing for free, and costs nothing."""

import pytest

from dlsched.core.ticks import end_after, end_in_slots, first_tick, left_after, slots_for, tick_at, ticks_between


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
