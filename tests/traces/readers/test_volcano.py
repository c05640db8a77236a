"""Volcano's jobs: gangs, phases, when they ran."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dlsched.core.errors import InputError
from dlsched.traces.queue.cells import Damaged
from dlsched.traces.queue.queue import QueuedJob
from dlsched.traces.readers.volcano import go_duration, read_volcano

NOON_S = datetime(2025, 3, 1, 12, tzinfo=UTC).timestamp()


def at(minute: int) -> str:
    return f"2025-03-01T12:{minute:02}:00Z"


def task(name: str, replicas: int, gpus: int, **more: Any) -> dict[str, Any]:
    asks = {"cpu": "500m", **({"nvidia.com/gpu": gpus} if gpus else {})}
    return {
        "name": name,
        "replicas": replicas,
        "template": {"spec": {"containers": [{"resources": {"limits": asks}}]}},
        **more,
    }


def status(phase: str, minute: int, *conditions: tuple[str, int], **more: Any) -> dict[str, Any]:
    return {
        "state": {"phase": phase, "lastTransitionTime": at(minute)},
        "conditions": [{"status": word, "lastTransitionTime": at(when)} for word, when in conditions],
        **more,
    }


DONE = status("Completed", 50, ("Pending", 0), ("Running", 10), ("Completed", 50), runningDuration="50m0.1s")


def job(name: str = "train", *, stands: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    """A job that came at noon, ran from 12:10 to 12:50, of a master without a GPU and four workers with two each."""
    plain = {"queue": "gold", "minAvailable": 3, "tasks": [task("master", 1, 0), task("worker", 4, 2)]}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": at(0)},
        "spec": {**plain, **spec},
        "status": DONE if stands is None else stands,
    }


def listing(tmp_path: Path, *items: Any) -> Path:
    path = tmp_path / "vcjobs.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}))
    return path


def test_a_job(tmp_path: Path) -> None:
    """Its duration is from its running to its end, not ``runningDuration``, which counts from its creation."""
    (found,) = read_volcano(listing(tmp_path, job(runningEstimate="1h30m0s"))).jobs
    assert found == QueuedJob(
        id="ml/train",
        user="ml",
        group="gold",
        submit_s=NOON_S,
        start_s=NOON_S + 600,
        end_s=NOON_S + 3000,
        duration_s=2400.0,
        gpus=8,
        least_gpus=4,  # the master and two workers
        cpus=2.5,
        state="Completed",
        limit_s=5400.0,
        line=1,
        partition="gold",
    )


@pytest.mark.parametrize(
    ("available", "tasks", "gpus", "least"),
    [
        (5, [task("w", 5, 2)], 10, None),
        (None, [task("w", 5, 2)], 10, None),  # all pods
        (3, [task("w", 5, 2)], 10, 6),
        (4, [task("small", 3, 1), task("big", 3, 8)], 27, 11),  # three small ones and a big one
        (4, [task("small", 3, 1, minAvailable=1), task("big", 3, 8, minAvailable=2)], 27, 18),  # 1 + 2 and a small one
        (
            2,
            [task("small", 3, 1, minAvailable=1), task("big", 3, 8, minAvailable=2)],
            27,
            2,
        ),  # less than the tasks' own
        (1, [task("master", 1, 0), task("w", 4, 2)], 8, 1),  # none, and at least one
        (9, [task("w", 2, 1)], 2, None),
    ],
)
def test_gangs(available: int | None, tasks: list[Any], gpus: int, least: int | None, tmp_path: Path) -> None:
    """The fewest GPUs with which the gang starts, counted by hand."""
    (found,) = read_volcano(listing(tmp_path, job(minAvailable=available, tasks=tasks))).jobs
    assert (found.gpus, found.least_gpus) == (gpus, least)


def test_slices_of_gpus(tmp_path: Path) -> None:
    """A gang of pods with a whole GPU and pods with two slices each; at least the master and one of them."""
    sliced = task("sliced", 3, 0)
    sliced["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/mig-2g.10gb"] = 2
    (found,) = read_volcano(listing(tmp_path, job(minAvailable=2, tasks=[task("master", 1, 1), sliced]))).jobs
    assert (found.gpus, found.least_gpus) == (7, 3) and found.parts == pytest.approx(1 + 6 * 2 / 7)


def test_phases(tmp_path: Path) -> None:
    """What ended by any word is kept; what runs or waits only when asked for; what never ran is left out."""
    ran = (("Pending", 0), ("Running", 10))
    items = [
        *(job(phase, stands=status(phase, 30, *ran, (phase, 30))) for phase in ("Failed", "Aborted", "Terminated")),
        job("never", stands=status("Aborted", 30, ("Pending", 0), ("Aborted", 30))),
        job("runs", stands=status("Running", 10, *ran)),
        job("waits", stands=status("Pending", 0, ("Pending", 0))),
        job("new", stands={}),
    ]
    queue = read_volcano(listing(tmp_path, *items))
    assert [each.id for each in queue.jobs] == ["ml/Failed", "ml/Aborted", "ml/Terminated"]
    assert "Jobs that ended without having run, left out: 1 (first in object 4)." in queue.audit
    assert "Jobs that run or wait, left out: 3 (first in object 5)." in queue.audit
    jobs = read_volcano(listing(tmp_path, *items), ended_only=False, states={"Running", "Pending"}).jobs
    assert [(each.id, each.state, each.start_s) for each in jobs] == [
        ("ml/runs", "Running", NOON_S + 600),
        ("ml/waits", "Pending", None),
        ("ml/new", "Pending", None),
    ]


def test_restarted_jobs(tmp_path: Path) -> None:
    """The last time that it ran counts."""
    stands = status("Completed", 50, ("Running", 10), ("Restarting", 20), ("Running", 30), ("Completed", 50))
    queue = read_volcano(listing(tmp_path, job(stands=stands)))
    assert queue.jobs[0].duration_s == 1200.0
    assert "Jobs that were restarted, of which the last time counts: 1 (first in object 1)." in queue.audit


def test_old_versions_without_conditions(tmp_path: Path) -> None:
    """They say when a job ended, or how long after its creation; it is taken to start when it came."""
    old = {"state": {"phase": "Completed", "lastTransitionTime": at(50)}}
    older = {"state": {"phase": "Completed"}, "runningDuration": "20m0s"}
    queue = read_volcano(listing(tmp_path, job("a", stands=old), job("b", stands=older)))
    assert [(each.start_s, each.duration_s) for each in queue.jobs] == [(NOON_S, 3000.0), (NOON_S, 1200.0)]
    assert (
        "Jobs that do not say when they started, taken to start when they came: 2 (first in object 1)." in queue.audit
    )


def test_the_jobs_of_others_are_no_jobs(tmp_path: Path) -> None:
    """Kubernetes has a kind Job of its own."""
    own = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}}
    with pytest.raises(InputError, match=r"Objects that are no Job of batch.volcano.sh, left out: 1"):
        read_volcano(listing(tmp_path, own))


def test_durations_of_go() -> None:
    assert [go_duration(text) for text in ("50m0.5s", "1h", "250ms", "1h2m3s", "0s")] == [
        3000.5,
        3600.0,
        0.25,
        3723.0,
        0.0,
    ]
    for text in ("", "5", "1d", "s", "-1h", "1h x"):
        with pytest.raises(Damaged, match="duration cannot be read"):
            go_duration(text)
