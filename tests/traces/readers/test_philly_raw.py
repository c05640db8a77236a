"""Philly's job log: attempts, GPUs by server, machines."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dlsched.core.errors import InputError
from dlsched.traces.queue.queue import QueuedJob, QueueNode
from dlsched.traces.readers.philly_raw import read_philly_raw

DAY = "2017-10-07"
DAY_S = datetime(2017, 10, 7, tzinfo=UTC).timestamp()


def attempt(start: str | None, end: str | None, **gpus: int) -> dict[str, Any]:
    """An attempt between two times of the day."""
    detail = [{"ip": name, "gpus": [f"gpu{index}" for index in range(count)]} for name, count in gpus.items()]
    return {"start_time": start and f"{DAY} {start}", "end_time": end and f"{DAY} {end}", "detail": detail}


def job(name: str, *attempts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": name,
        "attempts": list(attempts),
        "submitted_time": f"{DAY} 01:00:00",
        "user": "ce2f4c",
        **more,
    }


def log(tmp_path: Path, *jobs: Any) -> Path:
    path = tmp_path / "cluster_job_log"
    path.write_text(json.dumps(jobs))
    return path


def test_a_job(tmp_path: Path) -> None:
    """Its last attempt counts, with the servers of that."""
    path = log(
        tmp_path, job("app_1", attempt("01:10:00", "01:20:00", m47=8), attempt("02:00:00", "03:00:00", m412=8, m9=4))
    )
    queue = read_philly_raw(path)
    assert queue.jobs == (
        QueuedJob(
            "app_1",
            "ce2f4c",
            "ee9e8c",
            DAY_S + 3600,
            DAY_S + 7200,
            DAY_S + 10800,
            3600.0,
            12,
            nodes=("m412", "m9"),
            state="Pass",
            line=1,
        ),
    )
    assert "Jobs with several attempts, of which the last counts: 1 (first in object 1)." in queue.audit
    assert any("no time zone" in each for each in queue.audit) and queue.dated


def test_jobs_without_whole_attempts(tmp_path: Path) -> None:
    """None at all; no end: it still runs; no start: it cannot be told."""
    path = log(
        tmp_path,
        job("none"),
        job("runs", attempt("02:00:00", None, m1=1)),
        job("startless", attempt(None, "03:00:00", m1=1)),
        job("words", attempt("02:00:00", "03:00:00", m1=1), submitted_time="None"),
        job("good", attempt("02:00:00", "03:00:00", m1=1)),
        {"jobid": 5},
    )
    queue = read_philly_raw(path)
    assert [each.id for each in queue.jobs] == ["good"]
    for said in (
        "Jobs that were never given a GPU, left out: 1 (first in object 1).",
        "Jobs whose last attempt does not say when it started, left out: 1 (first in object 3).",
        "Jobs that run or wait, left out: 1 (first in object 2).",
        "Jobs that do not say when they came, left out: 1 (first in object 4).",
        "Objects whose jobid is no text, left out: 1 (first in object 6, 5).",
    ):
        assert said in queue.audit, queue.audit
    assert [each.id for each in read_philly_raw(path, ended_only=False).jobs] == ["runs", "good"]


def test_words_of_zones(tmp_path: Path) -> None:
    """PDT is seven hours behind UTC, PST eight."""
    times = {
        "start_time": f"{DAY} 02:00:00 PDT",
        "end_time": f"{DAY} 02:00:00 PST",
        "detail": attempt("1", "1", m1=1)["detail"],
    }
    (found,) = read_philly_raw(log(tmp_path, job("x", times, submitted_time=f"{DAY} 01:00:00 PDT"))).jobs
    assert (found.submit_s, found.start_s, found.duration_s) == (DAY_S + 8 * 3600, DAY_S + 9 * 3600, 3600.0)


def test_machines(tmp_path: Path) -> None:
    """Those beside the log; memory stands for the type."""
    path = log(tmp_path, job("x", attempt("02:00:00", "03:00:00", m1=1)))
    listed = tmp_path / "cluster_machine_list"
    listed.write_text("machineId,number of GPUs,single GPU mem\nm1,8, 24GB\nm2,2, 12GB\n")
    assert read_philly_raw(path).nodes == (QueueNode("m1", 8, "24GB"), QueueNode("m2", 2, "12GB"))
    listed.write_text("machineId,number of GPUs,single GPU mem\nm1,eight,24GB\n")
    with pytest.raises(InputError, match=r'cluster_machine_list, line 2: found "eight"'):
        read_philly_raw(path)


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("{}")
    with pytest.raises(InputError, match="found an object, allowed: a list of jobs"):
        read_philly_raw(path)
