"""Ticks that the clock no longer tells apart: jobs that begin that late still end later than they begin."""

import math

import pytest

from dlsched import elastic_stream
from dlsched.core.ticks import end_slot
from dlsched.elastic_stream import Instance, Job
from dlsched.families import FAMILIES


@pytest.mark.parametrize(("slot", "tick_s"), [(0, 10.0), (7, 0.1), (2**53, 10.0), (2**60 + 1, 1e-9), (10**30, 7.3)])
def test_an_end_is_later_than_its_beginning(slot: int, tick_s: float) -> None:
    """One slot later where the clock can tell, else at the next beginning that it can."""
    end = end_slot(slot, 0.5 * tick_s, 0.0, tick_s)
    assert end * tick_s > slot * tick_s
    assert end == slot + 1 or math.nextafter(slot * tick_s, math.inf) >= (slot + 1) * tick_s


@pytest.mark.parametrize("method", ["exact", "fixed", "fifo-knee", "doubling", "plan"])
def test_a_short_job_after_one_of_10_to_the_31_seconds(method: str) -> None:
    """Both want the two units: by hand, the second waits 2.4e31 s in order of arrival, and 24 s in all is the mean at best."""
    jobs = (
        Job(id="a", epochs=2.0, epoch_time_s={1: 20.0, 2: 1.2000000000000001e31}, arrival_s=0.0, restart_s=2.0),
        Job(id="b", epochs=1.0, epoch_time_s={1: 8.0}, arrival_s=10.0),
    )
    instance = Instance(name="late", units=2, tick_s=10.0, jobs=jobs)
    result = FAMILIES["elastic_stream"].solve(instance, method=method)
    assert result.solution is not None, result.message
    assert elastic_stream.check(instance, result.solution) == []
    assert result.objective == pytest.approx(24.0) or result.objective == pytest.approx(2.4e31)
    if method in ("exact", "plan"):
        assert result.objective == pytest.approx(24.0)
