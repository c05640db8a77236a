"""Queues as streams: which numbers of GPUs a job may run on, and what policies are told."""

import math

import pytest

from dlsched.core.errors import InputError, UsageError
from dlsched.elastic_stream.checker import check, flow_times
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream
from dlsched.traces.makers.elastic_stream import stream_of
from dlsched.traces.queue import Queue, Window
from dlsched.traces.selection import ImportedInstance
from tests.traces.drawn import job, queue

VIDEO = {1: 561.744, 2: 312.553, 4: 189.987, 8: 147.388}  # seconds per epoch as PCS has them
TWO = queue(job("late", 50.0, 60.0, 30.0, 4, least_gpus=2), job("first", 40.0, 40.0, 10.5, 2))


def made(source: Queue, **options: object) -> tuple[Instance, ImportedInstance]:
    found = stream_of(source, **options)  # type: ignore[arg-type]
    assert isinstance(found.instance, Instance)
    return found.instance, found


def seconds(instance: Instance) -> list[dict[int, float]]:
    """Of the whole job by count."""
    tables = [each.epoch_time_s or {} for each in instance.jobs]
    return [
        {count: each.work * time for count, time in table.items()}
        for each, table in zip(instance.jobs, tables, strict=True)
    ]


def test_jobs_run_on_what_they_held_or_said() -> None:
    """By hand: 30 s on 4 GPUs are 40 s on 3 and 60 s on 2; nothing is said of 1, nor of other counts of ``first``."""
    instance, found = made(TWO)
    assert [(each.id, each.arrival_s, each.restart_s) for each in instance.jobs] == [
        ("first", 0.0, 0.0),
        ("late", 10.0, 0.0),
    ]
    first, late = seconds(instance)
    assert first == {2: 10.5}
    assert late == pytest.approx({2: 60.0, 3: 40.0, 4: 30.0})
    assert instance.units == 8
    assert "Jobs that say that they run on fewer GPUs, taken to be as much slower in proportion: 1." in found.audit
    assert "A restart is taken to cost 0 s: the trace does not say." in found.audit
    assert [each.id for each in found.jobs] == ["first", "late"]
    assert instance.source == f"imported from jobs.csv, a file of csv. Audit: {' '.join(found.audit)}"
    assert [each.restart_s for each in made(TWO, restart_s=7.0)[0].jobs] == [7.0, 7.0]


def test_fewer_gpus_than_a_job_held() -> None:
    """A job stays as long as its fewest fit; what happened does not."""
    instance, found = made(TWO, gpus=2)
    assert [each.id for each in instance.jobs] == ["first", "late"]
    assert found.happened is None
    assert "choice[late]" in found.audit[-1]
    instance, found = made(TWO, gpus=1_000_000_000)
    assert (instance.units, found.happened is None) == (1_000_000_000, False)
    with pytest.raises(InputError, match="found no job that fits 1 GPUs"):
        made(TWO, gpus=1)


def test_published_scaling() -> None:
    """As the table of PCS has it for short jobs, from the fewest on, and above to ``max_gpus``; to six digits."""
    instance, found = made(TWO, scaling="published")
    first, late = seconds(instance)
    assert first == pytest.approx({1: 10.5 * VIDEO[1] / VIDEO[2], 2: 10.5})
    assert late == pytest.approx({2: 30 * VIDEO[2] / VIDEO[4], 4: 30.0})
    first, late = seconds(made(TWO, scaling="published", max_gpus=8)[0])
    assert (list(first), list(late)) == ([1, 2, 4, 8], [2, 4, 8])
    assert late[8] == pytest.approx(30 * VIDEO[8] / VIDEO[4])
    assert any(
        "follow tables of PCS by GPU-hours, an assumption of ours: Video prediction (2 jobs)" in each
        for each in found.audit
    )
    wide, found = made(queue(job("wide", 0.0, 0.0, 5.0, 100)), scaling="published")
    assert seconds(wide) == [{100: 5.0}]
    assert any("no other count (1 jobs)" in each for each in found.audit)


def test_estimates_are_jobs_that_stop_early() -> None:
    """Policies see what users said, for b the median; a job ends as it did, and one that ran longer is told by what it ran."""
    source = queue(
        job("a", 0.0, 0.0, 30.0, 1, limit_s=120.0),
        job("b", 0.0, 0.0, 30.0, 1),
        job("c", 0.0, 0.0, 90.0, 1, limit_s=60.0),
    )
    instance, found = made(source, estimates=True)
    assert [(each.epochs, each.stops_at) for each in instance.jobs] == [(120.0, 0.25), (90.0, 1 / 3), (90.0, 1.0)]
    assert "Jobs that ran longer than was said, which are told by what they ran: 1." in found.audit
    assert isinstance(found.happened, Stream)
    assert math.fsum(flow_times(instance, found.happened)) == pytest.approx(150.0, rel=1e-12)


def test_windows_and_jobs_carried_over() -> None:
    """By hand, at 45: ``first`` has 5.5 s left."""
    instance, _ = made(TWO, window=Window(45.0, 100.0))
    assert [(each.id, each.arrival_s) for each in instance.jobs] == [("late", 5.0)]
    instance, found = made(TWO, window=Window(45.0, 100.0), carried=True)
    assert [(each.id, each.arrival_s, each.epochs) for each in instance.jobs] == [
        ("first", 0.0, 5.5),
        ("late", 5.0, 30.0),
    ]
    assert isinstance(found.happened, Stream)
    assert check(instance, found.happened) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpus": 0}, "gpus: found 0, allowed: an integer >= 1"),
        ({"scaling": "linear"}, "scaling: found 'linear', allowed: own, published"),
        ({"max_gpus": 8}, "max_gpus: found 8, allowed: with scaling published only"),
    ],
)
def test_options_out_of_range(options: dict[str, object], message: str) -> None:
    """Each is misuse."""
    with pytest.raises(UsageError, match=message):
        made(TWO, **options)
