"""The rules by which jobs are kept, for all readers alike."""

import math
from pathlib import Path
from typing import Any

import pytest

from dlsched.core.errors import InputError
from dlsched.traces.job_rules import QueueCollector
from dlsched.traces.queue import Audit, Queue, QueuedJob
from dlsched.traces.readers.slurm import read_slurm

JOB = QueuedJob("a", "u", "g", 10.0, 20.0, 50.0, 30.0, 2, state="DONE", line=1)


def keep(*jobs: QueuedJob, ended: bool = True, **options: Any) -> Queue:
    kept = QueueCollector("csv", Path("jobs.csv"), Audit(), **options)
    for job in jobs:
        kept.add(job, ended=ended)
    return kept.queue((), dated=False)


@pytest.mark.parametrize(
    ("job", "expected", "said"),
    [
        (JOB, JOB, ""),
        (JOB._replace(duration_s=None), JOB, ""),
        (JOB._replace(end_s=None), JOB, "without an end, computed from start and duration: 1"),
        (JOB._replace(start_s=None), JOB, "without a start, computed from end and duration: 1"),
        (JOB._replace(start_s=None, end_s=None), JOB._replace(start_s=None, end_s=None), ""),
        (JOB._replace(duration_s=29.5), JOB._replace(duration_s=29.5, end_s=49.5), ""),  # rounded seconds
        (
            JOB._replace(duration_s=25.0),
            JOB._replace(duration_s=25.0, end_s=45.0),
            "differs from end - start, and is used: 1",
        ),
        (JOB._replace(submit_s=21.0), JOB._replace(submit_s=20.0), "assumed to be submitted at their start: 1"),
        (JOB._replace(gpus=0), None, "Jobs without a GPU, left out: 1"),
        (JOB._replace(end_s=19.0, duration_s=None), None, "before they start, left out: 1 (first in line 2, -1.0)"),
        (
            JOB._replace(end_s=19.0),
            JOB,
            "when clocks go back), whose stated duration is used: 1 (first in line 2, 30.0).",
        ),
        (JOB._replace(duration_s=-1.0), None, "Jobs with a duration below 0, left out: 1"),
        (JOB._replace(end_s=20.0, duration_s=None), None, "Jobs that ended without running, left out: 1"),
        (
            JOB._replace(start_s=None, end_s=None, duration_s=0.0),
            None,
            "Jobs that ended without running, left out: 1",
        ),
        (JOB._replace(start_s=None, duration_s=None), None, "Jobs that ended without running, left out: 1"),
        (JOB._replace(end_s=None, duration_s=None), None, "with a start but neither end nor duration, left out: 1"),
        (JOB._replace(submit_s=math.nan), None, "Jobs without a submission time, left out: 1"),
    ],
)
def test_ended_jobs(job: QueuedJob, expected: QueuedJob | None, said: str) -> None:
    """One is settled, or left out with its reason; a good one stays beside it."""
    queue = keep(JOB, job._replace(id="b", line=2))
    assert queue.jobs == ((JOB,) if expected is None else (JOB, expected._replace(id="b", line=2)))
    assert said in " ".join(queue.audit)
    assert bool(said) == (len(queue.audit) > 1)


def test_open_jobs() -> None:
    """They have neither end nor duration, whatever the source says; they must have come."""
    (job,) = keep(JOB, ended=False, ended_only=False).jobs
    assert job == JOB._replace(end_s=None, duration_s=None)
    with pytest.raises(
        InputError, match=r"jobs.csv: found no job that holds, held or wants GPUs.*without a submission time"
    ):
        keep(JOB._replace(submit_s=math.nan), ended=False, ended_only=False)
    with pytest.raises(
        InputError,
        match=r"found no job that held GPUs and has ended, .*Jobs that are still running or waiting, left out: 1",
    ):
        keep(JOB, ended=False)


def test_ids_that_repeat() -> None:
    """Jobs that share a name are numbered; rows that say the same are left out."""
    queue = keep(
        JOB,
        JOB._replace(line=2),
        JOB._replace(line=3, gpus=1),
        JOB._replace(line=4, gpus=4),
        JOB._replace(id="a (2)", gpus=8),
    )
    assert [(job.id, job.gpus) for job in queue.jobs] == [("a", 2), ("a (2)", 1), ("a (3)", 4), ("a (2) (2)", 8)]
    assert "Duplicate rows of a job, left out: 1 (first in line 2)." in queue.audit
    assert 'Jobs with the id of another job, renamed by a number: 3 (first in line 3, "a").' in queue.audit


def test_attempts() -> None:
    """The one that began last, or came last; of equal ones the later row."""
    attempts = [
        JOB,
        JOB._replace(start_s=40.0, gpus=3),
        JOB._replace(start_s=40.0, gpus=4),
        JOB._replace(start_s=30.0, gpus=5),
    ]
    assert [job.gpus for job in keep(*attempts, attempts=True).jobs] == [4]
    assert keep(JOB._replace(submit_s=math.nan, start_s=None), JOB, attempts=True).jobs == (JOB,)


def test_states_and_order() -> None:
    """Words in any case; hostile ones show as text; the order is that of the file, and said where it is not by time."""
    jobs = [JOB, JOB._replace(id="b", submit_s=5.0, state="\x1b[31mdone"), JOB._replace(id="c", submit_s=7.0, state="")]
    assert keep(*jobs, states=["done"]).jobs == (JOB,)
    audit = keep(*jobs, states=["Done"]).audit
    assert "Jobs in state \\x1b[31mdone, left out as requested: 1 (first in line 1)." in audit
    assert "Jobs in state (none), left out as requested: 1 (first in line 1)." in audit
    queue = keep(*jobs)
    assert [job.id for job in queue.jobs] == ["a", "b", "c"]
    assert queue.audit[1] == "Jobs submitted before the one above them: 1; the order is that of the file."


def test_jobs_left_out_that_held_gpus() -> None:
    """Of one that runs the end is the latest time of the file, 90; of one in a state that is not asked for its own."""
    runs = JOB._replace(id="r", state="RUNNING", end_s=None, duration_s=None, start_s=15.0)
    late = JOB._replace(id="l", submit_s=80.0, start_s=85.0, end_s=90.0, duration_s=5.0, state="FAILED")
    kept = QueueCollector("csv", Path("jobs.csv"), Audit(), states=["DONE"])
    for job, ended in ((JOB, True), (runs, False), (late, True)):
        kept.add(job, ended=ended)
    found = kept.queue((), dated=False)
    assert {job.id: (job.start_s, job.end_s, job.duration_s) for job in found.others} == {
        "r": (15.0, 90.0, 75.0),
        "l": (85.0, 90.0, 5.0),
    }
    assert found.latest_s == 90.0


@pytest.mark.parametrize(
    ("job", "held"),
    [
        (JOB._replace(end_s=None), (20.0, 50.0)),
        (JOB._replace(start_s=None), (20.0, 50.0)),
        (JOB._replace(duration_s=None), (20.0, 50.0)),
        (JOB._replace(duration_s=25.0), (20.0, 45.0)),
        (JOB._replace(end_s=19.0), (20.0, 50.0)),
        (JOB._replace(duration_s=-1.0), (20.0, 50.0)),
        (JOB._replace(end_s=None, duration_s=None), (20.0, 90.0)),
        (JOB._replace(end_s=19.0, duration_s=None), None),
        (JOB._replace(start_s=None, end_s=None), None),
        (JOB._replace(start_s=None, duration_s=None), None),
        (JOB._replace(duration_s=0.0), None),
    ],
)
def test_jobs_left_out_end_by_the_rule_for_those_kept(job: QueuedJob, held: tuple[float, float] | None) -> None:
    """Only one that says neither end nor duration holds its GPUs to the latest time of the file, 90; the audit says so."""
    late = JOB._replace(id="late", start_s=80.0, end_s=90.0, duration_s=10.0)
    queue = keep(late, job._replace(id="b", state="FAILED", line=2), states=["DONE"])
    assert [(other.start_s, other.end_s) for other in queue.others] == ([] if held is None else [held])
    said = " ".join(queue.audit)
    assert ("assumed to hold their GPUs until the latest time in the file: 1" in said) == (held == (20.0, 90.0))
    untold = held is None and (job.end_s == 19.0 or job.duration_s == 30.0)
    assert ("assumed to have used no GPUs: 1" in said) == untold
    kept = keep(late, job._replace(id="b", line=2)).jobs[1:]
    if kept:
        assert [(each.start_s, each.end_s) for each in kept] == [held or (None, None)]


def test_earlier_attempts_held_gpus() -> None:
    """Once each, and up to the next one where they say no end; rows of one attempt are one."""
    attempts = [
        JOB._replace(start_s=60.0, end_s=90.0),
        JOB,
        JOB._replace(end_s=None, duration_s=None, state="RUNNING"),
        JOB._replace(start_s=55.0, end_s=None, duration_s=None),
    ]
    queue = keep(*attempts, attempts=True)
    assert [(job.start_s, job.end_s) for job in queue.jobs] == [(60.0, 90.0)]
    assert sorted((job.start_s, job.end_s) for job in queue.others) == [(20.0, 50.0), (55.0, 60.0)]


def test_jobs_that_run_tell_the_time(tmp_path: Path) -> None:
    """It runs since 100 s for 500 s, so that the dump is of 600 s; its row is repeated and is no attempt."""
    head = "JobIDRaw|State|Submit|Start|End|ElapsedRaw|AllocTRES|ReqTRES\n"
    row = "1|RUNNING|90|100|Unknown|500|gres/gpu=1|gres/gpu=1\n"
    file = tmp_path / "sacct.txt"
    file.write_text(head + row + "2|COMPLETED|0|0|300|300|gres/gpu=1|gres/gpu=1\n" + row, encoding="utf-8")
    queue = read_slurm(file, ended_only=False)
    assert queue.latest_s == 600.0
    assert [job.duration_s for job in queue.jobs] == [None, 300.0]
    assert "Duplicate rows of a job, left out: 1 (first in line 4)." in queue.audit
    assert not any("attempts" in sentence for sentence in queue.audit)


def test_jobs_that_wait_are_counted() -> None:
    """Of two open jobs one has started, so that one waits."""
    kept = QueueCollector("csv", Path("jobs.csv"), Audit())
    kept.add(JOB, ended=True)
    kept.add(JOB._replace(id="b", end_s=None, duration_s=None), ended=False)
    kept.add(JOB._replace(id="c", start_s=None, end_s=None, duration_s=None), ended=False)
    assert kept.queue((), dated=False).waiting == 1
