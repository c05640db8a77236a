"""Limits that users did not say: the median of their partition, else of the file."""

from dataclasses import replace

import pytest

from dlsched.core.errors import InputError
from dlsched.traces.makers.srpt_mapping import gangs_of
from dlsched.traces.queue import QueuedJob
from dlsched.traces.selection import limits_of
from tests.traces.drawn import job, queue


def in_partition(name: str, partition: str, limit_s: float | None) -> QueuedJob:
    return job(name, 0.0, 0.0, 10.0, 1, partition=partition, limit_s=limit_s)


JOBS = (
    *(in_partition("a", "long", 100.0), in_partition("b", "long", 300.0), in_partition("c", "long", None)),
    *(in_partition("d", "short", 20.0), in_partition("e", "mute", None)),
    *(in_partition("f", "", None), in_partition("g", "", 60.0)),
)


def test_medians() -> None:
    """By hand: of long 200; of the file 20, 60, 100, 300 is 80, also where no partition is named."""
    limits = limits_of(queue(*JOBS))
    assert [each.limit_s for each in limits.queue.jobs] == [100.0, 300.0, 200.0, 20.0, 80.0, 80.0, 60.0]
    assert limits.silent == {"c": True, "e": False, "f": False}
    assert limits.sentences(limits.queue.jobs) == [
        "Jobs without a requested run time, given the median of their partition: 1.",
        "Jobs without a requested run time, nor has their partition any: given the median of the file: 2.",
    ]
    assert limits.sentences(limits.queue.jobs[:2]) == []


def test_jobs_that_are_left_out_are_of_the_file() -> None:
    """What is said of a slice and of a failed job counts too, once: 100, 300, 20, 60, 600, 900."""
    source = queue(*JOBS)
    out = in_partition("s", "mute", 600.0), in_partition("t", "other", 900.0), in_partition("a", "long", 1.0)
    limits = limits_of(replace(source, slices=out[:1], others=out[1:]))
    assert [each.limit_s for each in limits.queue.jobs][4:6] == [600.0, 200.0]


def test_nobody_says_anything() -> None:
    """The queue stays as it is, or is refused."""
    source = queue(JOBS[2], JOBS[4])
    assert limits_of(source).queue is source
    with pytest.raises(InputError, match="estimates: found no job that says how long it takes"):
        gangs_of(source, estimates=True)
