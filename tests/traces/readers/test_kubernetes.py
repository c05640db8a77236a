"""Jobs of Kubernetes, of lists of objects that kubectl get -o json prints: workloads of Kueue and jobs of Volcano."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dlsched.core.errors import InputError
from dlsched.traces.cells import Damaged, go_duration
from dlsched.traces.queue import QueuedJob
from dlsched.traces.readers.kubernetes import fits, quantity, read_volcano, text_at
from dlsched.traces.readers.quotas import read_kueue


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *(("500m", 0.5), ("2", 2.0), (3, 3.0), ("+1", 1.0), (".5", 0.5)),
        *(("1k", 1000.0), ("1Ki", 1024.0), ("1.5Gi", 1.5 * 2**30), ("2e3", 2000.0)),
    ],
)
def test_quantities(value: str | int, expected: float) -> None:
    assert quantity(value) == expected


@pytest.mark.parametrize("value", ["", "four", "1,000", "1 k", "1kk", "e3", True, None, [], "1e999", "0x4", 1e300])
def test_what_is_no_quantity(value: object) -> None:
    with pytest.raises(Damaged, match="quantity"):
        quantity(value)  # type: ignore[arg-type]


def test_half_characters() -> None:
    """JSON may hold halves of characters, which no file can."""
    assert text_at({"a": {"b": "x\ud83dy"}}, "a", "b") == "x?y" and text_at({"a": "ü"}, "a") == "ü"


def test_names_of_resources() -> None:
    """A name, or a pattern."""
    for name, resource in (("nvidia.com/gpu", "nvidia.com/gpu"), ("amd.com/gpu", "*/gpu"), ("x/mig-1g.5gb", "x/mig-*")):
        assert fits(name, resource)
    assert not fits("nvidia.com/gpu.shared", "nvidia.com/gpu") and not fits("cpu", "*/gpu")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "found an empty file"),
        (b" \n", "found an empty file"),
        (b'{"items": [', "line 1, column 12: found JSON that breaks off"),
        (b'{"items": [{}\n,', "line 2, column"),
        (b"JobID|User\n1|2\n", "line 1, column 1: found JSON that breaks off or is wrong"),
        (b"[1, 2]", "items: found null, allowed: a list"),
        (b'{"items": 5}', "items: found 5, allowed: a list"),
        (b'{"items": []}', "found no job"),
        (b'"\xff\xfe"', "found bytes that are no text"),
        (b"[" * 100_000, "found JSON"),
        (b'{"items": ' + b"9" * 5000 + b"}", "found JSON that cannot be read"),
    ],
)
def test_files_that_hold_no_objects(content: bytes, said: str, tmp_path: Path) -> None:
    """Refused, with the place where they break off."""
    path = tmp_path / "workloads.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"workloads.json.*{said}"):
        read_kueue(path)


def test_what_powershell_writes(tmp_path: Path) -> None:
    """UTF-16 with its mark, and UTF-8 with one."""
    for encoding in ("utf-16", "utf-8-sig"):
        path = tmp_path / "workloads.json"
        path.write_text('{"items": []}', encoding=encoding)
        with pytest.raises(InputError, match="found no job that held GPUs"):
            read_kueue(path)


NOON_S = datetime(2025, 3, 1, 12, tzinfo=UTC).timestamp()


def condition(kind: str, minute: int, status: str = "True", reason: str = "") -> dict[str, str]:
    when = f"2025-03-01T12:{minute:02}:00Z"
    return {"type": kind, "status": status, "reason": reason or kind, "message": "", "lastTransitionTime": when}


def pods(count: int, gpus: str | None, *, name: str = "main", cpu: str = "4", **more: Any) -> dict[str, Any]:
    """A set of pods with one container that asks for so many GPUs."""
    asks = {"cpu": cpu, **({"nvidia.com/gpu": gpus} if gpus else {})}
    template = {"spec": {"containers": [{"name": "c", "resources": {"requests": asks, "limits": asks}}]}}
    return {"name": name, "count": count, "template": template, **more}


def workload(name: str = "train", *, version: str = "v1beta1", **parts: Any) -> dict[str, Any]:
    """A workload that came at noon, was admitted at 12:10 and finished at 12:40, save for what is given."""
    spec = {"queueName": "research", "priority": 100, "podSets": [pods(2, "4")], **parts.pop("spec", {})}
    conditions = [
        condition("QuotaReserved", 10),
        condition("Admitted", 10),
        condition("Finished", 40, reason="Succeeded"),
    ]
    return {
        "apiVersion": f"kueue.x-k8s.io/{version}",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "team-a", "creationTimestamp": "2025-03-01T12:00:00Z", "uid": name},
        "spec": spec,
        "status": {"conditions": conditions, **parts.pop("status", {})},
        **parts,
    }


def listing(tmp_path: Path, *items: Any) -> Path:
    path = tmp_path / "workloads.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(items)}))
    return path


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_workload(version: str, tmp_path: Path) -> None:
    """Two pods of four GPUs, of a flavor."""
    assignment = {"name": "main", "count": 2, "flavors": {"cpu": "plain", "nvidia.com/gpu": "a100"}}
    item = workload(
        version=version,
        spec={"maximumExecutionTimeSeconds": 7200},
        status={"admission": {"clusterQueue": "cq", "podSetAssignments": [assignment]}},
    )
    queue = read_kueue(listing(tmp_path, item))
    assert queue.jobs == (
        QueuedJob(
            *("team-a/train", "team-a", "research", NOON_S, NOON_S + 600, NOON_S + 2400, 1800.0, 8),
            **{"cpus": 8.0, "gpu_type": "a100", "state": "Succeeded", "limit_s": 7200.0, "line": 1},
            **{"priority": 100.0, "partition": "cq", "qos": "100"},
        ),
    )
    assert queue.dated and "Namespaces" in queue.audit[1]


def test_a_list_of_one_kind_and_a_single_object(tmp_path: Path) -> None:
    """``kubectl get workload NAME -o json`` prints the object itself."""
    path = tmp_path / "one.json"
    path.write_text(json.dumps(workload()))
    assert read_kueue(path).jobs[0].id == "team-a/train"
    assert read_kueue(listing(tmp_path, workload(spec={"priority": None}))).jobs[0].priority is None
    items = [workload(), {"kind": "Pod", "apiVersion": "v1"}, 5, workload()]
    path.write_text(json.dumps({"kind": "WorkloadList", "items": items}))
    audit = read_kueue(path).audit
    assert 'Objects that are no Workload of kueue.x-k8s.io, left out: 2 (first in object 2, "Pod").' in audit
    assert any(each.startswith("Duplicate rows of a job, left out: 1") for each in audit)


def test_partial_admission(tmp_path: Path) -> None:
    """Asked for 8 pods of 1, runs with 3 at least, was given 5; a driver without GPUs does not count."""
    sets = [pods(1, None, name="driver"), pods(8, "1", name="workers", minCount=3)]
    given = [
        {"name": "driver", "count": 1},
        {"name": "workers", "count": 5, "resourceUsage": {"nvidia.com/gpu": "5", "cpu": "20"}},
    ]
    item = workload(spec={"podSets": sets}, status={"admission": {"podSetAssignments": given}})
    (job,) = read_kueue(listing(tmp_path, item)).jobs
    assert (job.gpus, job.least_gpus, job.cpus) == (5, 3, 24.0)
    (job,) = read_kueue(listing(tmp_path, workload(spec={"podSets": sets}))).jobs
    assert (job.gpus, job.least_gpus) == (8, 3)


def test_what_pods_ask_for(tmp_path: Path) -> None:
    """Limits where there are no requests; the larger of what runs first and what stays; other names by a pattern."""
    gpu = "amd.com/gpu"
    spec = {
        "initContainers": [
            {"resources": {"limits": {gpu: 3}}},
            {"restartPolicy": "Always", "resources": {"requests": {gpu: "1"}}},
        ],
        "containers": [
            {"resources": {"limits": {gpu: "1"}}},
            {"resources": {"requests": {gpu: "1"}, "limits": {gpu: "9"}}},
            {},
        ],
    }
    item = workload(spec={"podSets": [{"name": "main", "count": 2, "template": {"spec": spec}}]})
    path = listing(tmp_path, item, workload("other"))
    assert [job.gpus for job in read_kueue(path, gpu_resource="*/gpu").jobs] == [8, 8]
    assert [job.gpus for job in read_kueue(path, gpu_resource=gpu).jobs] == [8]
    queue = read_kueue(path)
    assert [job.id for job in queue.jobs] == ["team-a/other"]
    said = 'Objects that ask for GPUs of another name than nvidia.com/gpu, not counted: 1 (first in object 1, "amd.com/gpu").'
    assert said in queue.audit


def test_parts_of_gpus(tmp_path: Path) -> None:
    """500m of one GPU is a share, and a MIG resource a profile, as that of several pods is."""
    (job,) = read_kueue(listing(tmp_path, workload(spec={"podSets": [pods(1, "500m")]}))).jobs
    assert (job.gpus, job.share, job.profile) == (1, 0.5, "")
    mig = {"requests": {"nvidia.com/mig-1g.10gb.me": 1, "nvidia.com/mig-3g.40gb": 0}}
    for count in (1, 2):
        sliced = {"name": "main", "count": count, "template": {"spec": {"containers": [{"resources": mig}]}}}
        (job,) = read_kueue(listing(tmp_path, workload(spec={"podSets": [sliced]}))).jobs
        assert (job.gpus, job.share, job.profile) == (count, pytest.approx(1 / 7), "1g.10gb+me")


def test_slices_of_gpus(tmp_path: Path) -> None:
    """MIG profiles beside the GPUs of their vendor; every pod has slices of its own; usage that was assigned comes first."""
    mig = {"requests": {"nvidia.com/mig-1g.5gb": 2, "nvidia.com/mig-3g.20gb": "1", "amd.com/mig-1g.5gb": 9}}
    sliced = {"name": "main", "count": 2, "template": {"spec": {"containers": [{"resources": mig}]}}, "minCount": 1}
    (job,) = read_kueue(listing(tmp_path, workload(spec={"podSets": [sliced]}))).jobs
    assert (job.gpus, job.least_gpus) == (6, 3) and job.share == pytest.approx(2 * (2 / 7 + 3 / 7) / 6)
    assert not job.profile
    both = read_kueue(listing(tmp_path, workload(spec={"podSets": [sliced, pods(1, "2", name="whole")]}))).jobs[0]
    assert both.gpus == 8 and both.parts == pytest.approx(2 + 10 / 7)
    given = {"name": "main", "count": 1, "resourceUsage": {"nvidia.com/mig-7g.40gb": "1", "cpu": "4"}}
    status = {"admission": {"podSetAssignments": [given]}}
    (job,) = read_kueue(listing(tmp_path, workload(spec={"podSets": [sliced]}, status=status))).jobs
    assert (job.gpus, job.share) == (1, 1.0)
    four = read_kueue(listing(tmp_path, workload(spec={"podSets": [pods(4, "500m")]}))).jobs[0]
    assert (four.gpus, four.share) == (4, 0.5)
    path = listing(tmp_path, workload(spec={"podSets": [sliced]}))
    (job,) = read_kueue(path, gpu_resource="nvidia.com/mig-3g.20gb").jobs
    assert job.gpus == 6
    (job,) = read_kueue(path, gpu_resource="amd.com/gpu").jobs
    assert (job.gpus, job.share) == (18, pytest.approx(1 / 7))


def test_workloads_that_run_and_wait(tmp_path: Path) -> None:
    """Their state is the furthest condition that holds."""
    running = workload("runs", status={"conditions": [condition("QuotaReserved", 5), condition("Admitted", 10)]})
    reserved = workload("reserved", status={"conditions": [condition("QuotaReserved", 5)]})
    evicted = [
        condition("Evicted", 30, reason="Preempted"),
        condition("Admitted", 30, "False"),
        condition("QuotaReserved", 30, "False"),
    ]
    waiting = workload("out", status={"conditions": evicted}), workload("new", status={"conditions": []})
    path = listing(tmp_path, running, reserved, *waiting)
    jobs = read_kueue(path, ended_only=False).jobs
    assert [(job.state, job.start_s, job.duration_s) for job in jobs] == [
        ("Admitted", NOON_S + 600, None),
        ("QuotaReserved", None, None),
        ("Evicted", None, None),
        ("Pending", None, None),
    ]
    with pytest.raises(InputError, match=r"found no job that held GPUs and has ended.*running or waiting, left out: 4"):
        read_kueue(path)


def test_finished_workloads_whose_admission_was_cleared(tmp_path: Path) -> None:
    """Newer versions do so; when the pods were ready is left, or nothing, or it was never admitted."""
    ready = [condition("Admitted", 40, "False"), condition("PodsReady", 12), condition("Finished", 40)]
    gone = [condition("Admitted", 40, "False"), condition("Finished", 40)]
    never = [condition("QuotaReserved", 0, "False"), condition("Finished", 40)]
    items = [workload(str(count), status={"conditions": each}) for count, each in enumerate((ready, gone, never))]
    queue = read_kueue(listing(tmp_path, *items))
    assert [(job.id, job.start_s, job.duration_s) for job in queue.jobs] == [("team-a/0", NOON_S + 720, 1680.0)]
    assert "Finished workloads without an admission time, left out: 1 (first in object 2)." in queue.audit
    assert "Jobs that ended without running, left out: 1 (first in object 3)." in queue.audit


def test_workloads_that_were_evicted_before(tmp_path: Path) -> None:
    """The last admission counts, and this is said, in both spellings."""
    for name in ("accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds"):
        queue = read_kueue(listing(tmp_path, workload(status={name: 300})))
        assert queue.jobs[0].start_s == NOON_S + 600
        assert any("evicted and admitted again" in each for each in queue.audit)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ({"metadata": {"namespace": "a"}}, "Objects without a name"),
        ({"metadata": {"name": "x", "creationTimestamp": 5}}, "Objects whose metadata.creationTimestamp is not text"),
        ({"metadata": {"name": "x", "creationTimestamp": "soon"}}, "Entries whose creationTimestamp is not a time"),
        ({"metadata": {"name": "x"}}, "Jobs without a submission time"),
        ({"spec": {"podSets": "two"}}, "Objects whose spec.podSets is not a list"),
        ({"spec": {"podSets": [pods(-1, "1")]}}, "Objects whose count is not a count"),
        ({"spec": {"podSets": [pods(1, "four")]}}, "Objects with a quantity that cannot be read"),
        ({"spec": {"podSets": [pods(1, "-1")]}}, "Objects with a quantity below 0"),
        ({"spec": {"podSets": [pods(10**9, "9")]}}, "Entries with an impossible number of GPUs"),
        ({"spec": {"podSets": []}}, "Jobs without a GPU"),
        ({"spec": {"priority": "high"}}, "Objects whose spec.priority is not an integer"),
        (
            {"status": {"conditions": [condition("Admitted", 50), condition("Finished", 40)]}},
            "Jobs that end before they start",
        ),
        ({"status": {"conditions": {}}}, "Objects whose status.conditions is not a list"),
    ],
)
def test_damaged_workloads(damage: dict[str, Any], reason: str, tmp_path: Path) -> None:
    """Left out by their reason; the others stay."""
    queue = read_kueue(listing(tmp_path, workload(), workload("bad", **damage)))
    assert [job.id for job in queue.jobs] == ["team-a/train"]
    assert any(each.startswith(f"{reason}, left out: 1 (first in object 2") for each in queue.audit), queue.audit


def at(minute: int) -> str:
    return f"2025-03-01T12:{minute:02}:00Z"


def task(name: str, replicas: int, gpus: int, **more: Any) -> dict[str, Any]:
    """A task of Volcano, with such pods."""
    return {**pods(0, str(gpus) if gpus else None, name=name, cpu="500m"), "replicas": replicas, **more}


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


def test_a_job(tmp_path: Path) -> None:
    """Its duration is from its running to its end, not ``runningDuration``, which counts from its creation."""
    (found,) = read_volcano(listing(tmp_path, job(runningEstimate="1h30m0s"))).jobs
    assert found == QueuedJob(
        *("ml/train", "ml", "gold", NOON_S, NOON_S + 600, NOON_S + 3000, 2400.0, 8),
        **{"cpus": 2.5, "state": "Completed", "limit_s": 5400.0, "line": 1, "partition": "gold"},
        least_gpus=4,  # the master and two workers
    )


@pytest.mark.parametrize(
    ("available", "tasks", "gpus", "least"),
    [
        (5, [task("w", 5, 2)], 10, None),
        (None, [task("w", 5, 2)], 10, None),  # all pods
        (3, [task("w", 5, 2)], 10, 6),
        (4, [task("small", 3, 1), task("big", 3, 8)], 27, 11),  # three small ones and a big one
        (4, [task("small", 3, 1, minAvailable=1), task("big", 3, 8, minAvailable=2)], 27, 18),  # 1 + 2 and a small one
        # less than the tasks' own
        (2, [task("small", 3, 1, minAvailable=1), task("big", 3, 8, minAvailable=2)], 27, 2),
        (1, [task("master", 1, 0), task("w", 4, 2)], 8, 1),  # none, and at least one
        (9, [task("w", 2, 1)], 2, None),
    ],
)
def test_gangs(available: int | None, tasks: list[Any], gpus: int, least: int | None, tmp_path: Path) -> None:
    """The fewest GPUs with which the gang starts, counted by hand."""
    (found,) = read_volcano(listing(tmp_path, job(minAvailable=available, tasks=tasks))).jobs
    assert (found.gpus, found.least_gpus) == (gpus, least)


def test_slices_of_volcano(tmp_path: Path) -> None:
    """A gang of pods with a whole GPU and pods with two slices each; at least the master and one of them."""
    sliced = task("sliced", 3, 0)
    sliced["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/mig-2g.10gb"] = 2
    (found,) = read_volcano(listing(tmp_path, job(minAvailable=2, tasks=[task("master", 1, 1), sliced]))).jobs
    assert (found.gpus, found.least_gpus) == (7, 3) and found.parts == pytest.approx(1 + 6 * 2 / 7)
    (found,) = read_volcano(listing(tmp_path, job(tasks=[task("master", 0, 1), sliced]))).jobs
    assert (found.gpus, found.profile) == (6, "2g.10gb")


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
    assert "Jobs that ended without running, left out: 1 (first in object 4)." in queue.audit
    assert "Jobs that are still running or waiting, left out: 3 (first in object 5)." in queue.audit
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
    assert "Jobs that were restarted, counted from the last start: 1 (first in object 1)." in queue.audit


def test_old_versions_without_conditions(tmp_path: Path) -> None:
    """They say when a job ended, or how long after its creation; it is taken to start when it came."""
    old = {"state": {"phase": "Completed", "lastTransitionTime": at(50)}}
    older = {"state": {"phase": "Completed"}, "runningDuration": "20m0s"}
    queue = read_volcano(listing(tmp_path, job("a", stands=old), job("b", stands=older)))
    assert [(each.start_s, each.duration_s) for each in queue.jobs] == [(NOON_S, 3000.0), (NOON_S, 1200.0)]
    said = "Jobs without a start, assumed to start at their submission: 2 (first in object 1)."
    assert said in queue.audit


def test_the_jobs_of_others_are_no_jobs(tmp_path: Path) -> None:
    """Kubernetes has a kind Job of its own."""
    own = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}}
    with pytest.raises(InputError, match=r"Objects that are no Job of batch.volcano.sh, left out: 1"):
        read_volcano(listing(tmp_path, own))


def test_durations_of_go() -> None:
    """Hours to milliseconds; what Go does not write is damage."""
    texts = {"50m0.5s": 3000.5, "1h": 3600.0, "250ms": 0.25, "1h2m3s": 3723.0, "0s": 0.0}
    assert {text: go_duration(text) for text in texts} == texts
    for text in ("", "5", "1d", "s", "-1h", "1h x"):
        with pytest.raises(Damaged, match="duration cannot be read"):
            go_duration(text)
