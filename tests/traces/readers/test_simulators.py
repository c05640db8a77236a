"""The traces of simulators as queues."""

from pathlib import Path

import pytest

from dlsched.core.errors import UsageError
from dlsched.traces.readers.simulators import gavel_queue, tiresias_queue


def test_gavel(tmp_path: Path) -> None:
    """By hand: 1000 steps of A3C at 7.17577 a second are 139.358 s on a V100, 290.802 s at 3.43877 on a K80."""
    path = tmp_path / "some.trace"
    path.write_text("A3C\trun\t-n\t0\t1000\t30.5\t1\nLM (batch size 5)\trun\t-n\t0\t11935\t3\t3\n")
    queue = gavel_queue(path)
    first, second = queue.jobs
    assert (first.id, first.group, first.submit_s, first.gpus, first.duration_s) == (
        "job-1",
        "A3C on 1",
        30.5,
        1,
        139.358,
    )
    assert (second.start_s, second.gpus, second.duration_s) == (None, 3, pytest.approx(64.2621))  # as on 2 GPUs
    assert not queue.dated
    assert gavel_queue(path, gpu_type="K80").jobs[0].duration_s == 290.802
    with pytest.raises(UsageError, match="gpu_type: found 'A100', allowed: V100, P100, K80"):
        gavel_queue(path, gpu_type="A100")
    with pytest.raises(UsageError, match="states: found 'done', allowed: none"):
        gavel_queue(path, states=("done",))


def test_tiresias(tmp_path: Path) -> None:
    """Its own durations; jobs without length are left out."""
    path = tmp_path / "tiresias_60_jobs.csv"
    path.write_text("num_gpu,submit_time,iterations,model_name,duration\n2,5,606,vgg19,164\n1,6,5,vgg16,0\n")
    queue = tiresias_queue(path)
    (job,) = queue.jobs
    assert (job.id, job.group, job.submit_s, job.gpus, job.duration_s) == ("job-1", "vgg19 on 2", 5.0, 2, 164.0)
    assert "Rows with a duration of 0 s or less, left out: 1." in queue.audit
    with pytest.raises(UsageError, match="states: found 'done', allowed: none"):
        tiresias_queue(path, states=("done",))
