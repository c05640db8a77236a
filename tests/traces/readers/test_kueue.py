"""Kueue's workloads, of both API versions: what they hold, when they ran, the fewest pods."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dlsched.core.errors import InputError
from dlsched.traces.queue.queue import QueuedJob
from dlsched.traces.readers.kueue import read_kueue

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
            id="team-a/train",
            user="team-a",
            group="research",
            submit_s=NOON_S,
            start_s=NOON_S + 600,
            end_s=NOON_S + 2400,
            duration_s=1800.0,
            gpus=8,
            cpus=8.0,
            gpu_type="a100",
            state="Succeeded",
            limit_s=7200.0,
            line=1,
            priority=100.0,
            partition="research",
        ),
    )
    assert queue.dated and "namespaces" in queue.audit[1]


def test_a_list_of_one_kind_and_a_single_object(tmp_path: Path) -> None:
    """``kubectl get workload NAME -o json`` prints the object itself."""
    path = tmp_path / "one.json"
    path.write_text(json.dumps(workload()))
    assert read_kueue(path).jobs[0].id == "team-a/train"
    path.write_text(json.dumps({"kind": "WorkloadList", "items": [workload(), {"kind": "Pod", "apiVersion": "v1"}]}))
    assert (
        'Objects that are no Workload of kueue.x-k8s.io, left out: 1 (first in object 2, "Pod").'
        in read_kueue(path).audit
    )


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
    """500m of one GPU is a share."""
    (job,) = read_kueue(listing(tmp_path, workload(spec={"podSets": [pods(1, "500m")]}))).jobs
    assert (job.gpus, job.share) == (1, 0.5)


def test_slices_of_gpus(tmp_path: Path) -> None:
    """MIG profiles beside the GPUs of their vendor; every pod has slices of its own; usage that was assigned comes first."""
    mig = {"requests": {"nvidia.com/mig-1g.5gb": 2, "nvidia.com/mig-3g.20gb": "1", "amd.com/mig-1g.5gb": 9}}
    sliced = {"name": "main", "count": 2, "template": {"spec": {"containers": [{"resources": mig}]}}, "minCount": 1}
    (job,) = read_kueue(listing(tmp_path, workload(spec={"podSets": [sliced]}))).jobs
    assert (job.gpus, job.least_gpus) == (6, 3) and job.share == pytest.approx(2 * (2 / 7 + 3 / 7) / 6)
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
    path = listing(
        tmp_path,
        running,
        reserved,
        workload("out", status={"conditions": evicted}),
        workload("new", status={"conditions": []}),
    )
    jobs = read_kueue(path, ended_only=False).jobs
    assert [(job.state, job.start_s, job.duration_s) for job in jobs] == [
        ("Admitted", NOON_S + 600, None),
        ("QuotaReserved", None, None),
        ("Evicted", None, None),
        ("Pending", None, None),
    ]
    with pytest.raises(InputError, match=r"found no job that held GPUs and has ended.*run or wait, left out: 4"):
        read_kueue(path)


def test_finished_workloads_whose_admission_was_cleared(tmp_path: Path) -> None:
    """Newer versions do so; when the pods were ready is left, or nothing, or it was never admitted."""
    ready = [condition("Admitted", 40, "False"), condition("PodsReady", 12), condition("Finished", 40)]
    gone = [condition("Admitted", 40, "False"), condition("Finished", 40)]
    never = [condition("QuotaReserved", 0, "False"), condition("Finished", 40)]
    items = [workload(str(count), status={"conditions": each}) for count, each in enumerate((ready, gone, never))]
    queue = read_kueue(listing(tmp_path, *items))
    assert [(job.id, job.start_s, job.duration_s) for job in queue.jobs] == [("team-a/0", NOON_S + 720, 1680.0)]
    assert (
        "Finished workloads that no longer say when they were admitted, left out: 1 (first in object 2)." in queue.audit
    )
    assert "Jobs that ended without having run, left out: 1 (first in object 3)." in queue.audit


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
        ({"metadata": {"name": "x", "creationTimestamp": 5}}, "Objects whose metadata.creationTimestamp is no text"),
        ({"metadata": {"name": "x", "creationTimestamp": "soon"}}, "Entries whose creationTimestamp is no time"),
        ({"metadata": {"name": "x"}}, "Jobs that do not say when they came"),
        ({"spec": {"podSets": "two"}}, "Objects whose spec.podSets is no list"),
        ({"spec": {"podSets": [pods(-1, "1")]}}, "Objects whose count is no count"),
        ({"spec": {"podSets": [pods(1, "four")]}}, "Objects with a quantity that cannot be read"),
        ({"spec": {"podSets": [pods(1, "-1")]}}, "Objects with a quantity below 0"),
        ({"spec": {"podSets": [pods(10**9, "9")]}}, "Entries with an impossible number of GPUs"),
        ({"spec": {"podSets": []}}, "Jobs without a GPU"),
        ({"spec": {"priority": "high"}}, "Objects whose spec.priority is no integer"),
        (
            {"status": {"conditions": [condition("Admitted", 50), condition("Finished", 40)]}},
            "Jobs that end before they start",
        ),
        ({"status": {"conditions": {}}}, "Objects whose status.conditions is no list"),
    ],
)
def test_damaged_workloads(damage: dict[str, Any], reason: str, tmp_path: Path) -> None:
    """Left out by their reason; the others stay."""
    queue = read_kueue(listing(tmp_path, workload(), workload("bad", **damage)))
    assert [job.id for job in queue.jobs] == ["team-a/train"]
    assert any(each.startswith(f"{reason}, left out: 1 (first in object 2") for each in queue.audit), queue.audit
