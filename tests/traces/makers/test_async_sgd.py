"""Queues as jobs of asynchronous SGD: each lasts as long on its own GPUs as it did; streams arrive when they did."""

import pytest

from dlsched import async_sgd, elastic_stream
from dlsched.core.errors import UsageError
from dlsched.traces.instances import instance_from
from dlsched.traces.makers.async_sgd import async_of, async_stream_of
from dlsched.traces.queue import QueuedJob
from tests.traces.drawn import queue

JOBS = (
    QueuedJob("a", "", "", 0.0, 0.0, 5000.0, 5000.0, 4),
    QueuedJob("b", "", "", 10.0, 20.0, 620.0, 600.0, 1, gpu_type="Tesla-V100"),
    QueuedJob("c", "", "", 50.0, 900.0, 1000.0, 100.0, 16),
)
QUEUE = queue(*JOBS)


def test_jobs_of_a_moment_last_as_long_as_they_do() -> None:
    """At 100 s a has 4900 s left and b 520 s, on their own GPUs; c, which waits, 100 s."""
    made = async_of(QUEUE, gpus=21, at="100")
    instance = made.instance
    assert isinstance(instance, async_sgd.Instance)
    assert [(job.id, job.max_nodes) for job in instance.jobs] == [("a", 4), ("b", 1), ("c", 16)]
    own = async_sgd.Allocation({"a": 4, "b": 1, "c": 16})
    assert async_sgd.check(instance, own) == []
    assert async_sgd.objective(instance, own) == pytest.approx(4900 + 520 + 100)


def test_models_and_steps() -> None:
    """ResNet-50 on the V100 that b names takes .220957 s a step of 64 images; Inception v3 of a job of 4 on P100 .450704 s."""
    instance = async_of(QUEUE, gpus=21, at="100").instance
    assert isinstance(instance, async_sgd.Instance)
    steps = [(job.compute_s, job.batch_examples, job.parameter_bytes) for job in instance.jobs]
    assert steps == [
        (0.450704, 64.0, 4.0 * 23834568),
        (0.220957, 64.0, 4.0 * 25557032),
        (0.415584, 64.0, 4.0 * 138357544),
    ]


def test_a_node_for_every_job() -> None:
    """First come first; the others are left out."""
    made = async_of(QUEUE, gpus=2, at="100")
    assert [job.id for job in made.jobs] == ["a", "b"]
    with pytest.raises(UsageError, match="gpus: found 1, allowed: at least 2"):
        async_of(QUEUE, gpus=1, at="100")


def test_a_stream_of_them() -> None:
    """They arrive when they did, an epoch's seconds on their own GPUs times epochs are what they lasted; fewer are slower."""
    made = async_stream_of(QUEUE, gpus=16)
    instance = made.instance
    assert isinstance(instance, elastic_stream.Instance)
    assert [job.arrival_s for job in instance.jobs] == [0.0, 10.0, 50.0]
    for job, record in zip(instance.jobs, JOBS, strict=True):
        table = dict(zip(job.epoch_time_s.counts, job.epoch_time_s.times_s, strict=True))
        assert list(table) == list(range(1, record.gpus + 1))
        assert job.epochs * table[record.gpus] == pytest.approx(record.duration_s)
        assert list(table.values()) == sorted(table.values(), reverse=True)
    by_name = instance_from(QUEUE, "elastic_stream", gpus=16, scaling="asynchronous").instance
    assert by_name.sha256 == instance.sha256


def test_options() -> None:
    """Links of one of three speeds, of streams with that scaling only, and not with estimates."""
    with pytest.raises(UsageError, match="network_gbit: found 40, allowed: 1, 10, 25"):
        async_of(QUEUE, gpus=21, at="100", network_gbit=40)
    for options in ({"network_gbit": 10}, {"scaling": "asynchronous", "estimates": True}):
        with pytest.raises(UsageError, match="allowed: with"):
            instance_from(QUEUE, "elastic_stream", **options)
    slow = async_of(QUEUE, gpus=21, at="100", network_gbit=1).instance
    assert isinstance(slow, async_sgd.Instance)
    assert slow.jobs[0].bandwidth_bytes_per_s == 1.25e8
