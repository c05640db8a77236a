"""Policies in the middle of a queue: jobs that have begun go on, and the others start as if the policy had never been away."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlsched.core.errors import UsageError
from dlsched.srpt_mapping import Waiting
from dlsched.srpt_mapping.checker import check, completion_times
from dlsched.srpt_mapping.dispatching import Begun
from dlsched.srpt_mapping.heuristics import POLICIES, fifo
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.solution import Share, Start
from dlsched.testing.srpt_mapping import srpt_mapping_instances

AT_ONCE = [name for name in POLICIES if name not in ("a-srpt", "work-patient")]
"""Policies under which no job steps aside, of which a record would not tell since when it has."""


@settings(max_examples=20, derandomize=True, deadline=None, database=None)
@given(srpt_mapping_instances(max_jobs=6, feasible=True), st.sampled_from(AT_ONCE), st.data())
def test_a_policy_goes_on_as_it_would_have(instance: Instance, name: str, data: st.DataObject) -> None:
    """Stopped between two events and asked again, it ends with the same schedule, to the bit."""
    own = instance.on_own_clock()
    whole = POLICIES[name](own)
    assert whole is not None
    ends_s = completion_times(own, whole).values()
    events = sorted(
        {job.release_s for job in own.jobs} | {start.start_s for start in whole.jobs.values()} | set(ends_s)
    )
    at_s = data.draw(st.sampled_from([(a + b) / 2 for a, b in pairwise(events)]))
    starts = {job: start for job, start in whole.jobs.items() if start.start_s < at_s}
    again = POLICIES[name](own, begun=Begun(at_s, starts))
    assert again == whole


def made(ring: float = 0.0) -> Instance:
    """Two servers of two GPUs; a and b from the start, c with a ring that is three times as slow across."""

    def job(name: str, release_s: float, iterations: float, gpus: int, ring: float = 0.0) -> dict[str, object]:
        stage = {"replicas": gpus, "compute_s": 1.0, "output_bytes": 0.0, "parameter_bytes": ring}
        return {"id": name, "release_s": release_s, "iterations": iterations, "stages": [stage]}

    return Instance(
        name="made",
        intra_bandwidth_bytes_per_s=8.0,
        nic_bandwidth_bytes_per_s=4.0,
        servers=[{"id": "s0", "gpus": 2}, {"id": "s1", "gpus": 2}],
        jobs=[job("a", 100, 30, 1), job("b", 100, 14, 1), job("c", 103, 10, 2, ring), job("d", 104, 1, 2)],
    )


BOTH = {"a": Start(102.0, (Share(0, "s1", 1),)), "b": Start(100.0, (Share(0, "s0", 1),))}


def test_they_go_on_where_they_are() -> None:
    """By hand, from 105 s on: c across at once, d when c ends at 115 s; the answer holds what was given."""
    instance = made()
    schedule = fifo(instance, begun=Begun(105.0, BOTH))
    assert schedule is not None and check(instance, schedule) == []
    assert {job: start.start_s for job, start in schedule.jobs.items()} == {
        "a": 102.0,
        "b": 100.0,
        "c": 105.0,
        "d": 115.0,
    }
    assert (schedule.jobs["a"], schedule.jobs["b"]) == (BOTH["a"], BOTH["b"])


@pytest.mark.parametrize(("patience", "start_s"), [(0.0, 105.0), (1 / 30, 105.0), (0.2, 109.0), (0.5, 114.0)])
def test_who_waits_has_waited_since_it_joined(patience: float, start_s: float) -> None:
    """C came at 103 s and takes 30 s: nothing is left of 1 s of patience, of 6 s it waits to 109 s; b ends at 114 s."""
    instance = made(ring=16.0)
    waiting = Waiting(patience=patience)
    schedule = fifo(instance, waiting=waiting, begun=Begun(105.0, BOTH))
    assert schedule is not None and check(instance, schedule) == []
    assert schedule.jobs["c"].start_s == pytest.approx(start_s)


def test_too_much_on_a_server() -> None:
    """Three jobs on the two GPUs of s0 are one too many; those that have ended are none."""
    here = (Share(0, "s0", 1),)
    starts = {"a": Start(100.0, here), "b": Start(100.0, here), "d": Start(104.0, (Share(0, "s0", 2),))}
    with pytest.raises(UsageError, match="begun: found 2 GPUs too many on server 's0'"):
        fifo(made(), begun=Begun(104.5, starts))
    assert fifo(made(), begun=Begun(105.0, starts)) is not None
