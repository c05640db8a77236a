"""Quotas of Kueue's queues, by hand."""

import json
from pathlib import Path
from typing import Any

import dlsched
from dlsched.traces import read_queue
from dlsched.traces.walls import pools_of


def cluster_queue(name: str, gpus: int, cohort: str = "") -> dict[str, Any]:
    quota = {"name": "nvidia.com/gpu", "nominalQuota": str(gpus)}
    groups = [{"flavors": [{"name": "a100", "resources": [quota]}]}]
    spec = {"cohort": cohort, "resourceGroups": groups}
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}


def workload(name: str, queue: str, came: int, start: int, end: int, gpus: int) -> dict[str, Any]:
    """Minutes of one hour."""
    times = {"Admitted": start, "Finished": end}
    ask = {"resources": {"requests": {"nvidia.com/gpu": gpus}}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": name, "creationTimestamp": f"2025-03-01T10:{came:02}:00Z"},
        "spec": {"queueName": "q", "podSets": [{"count": 1, "template": {"spec": {"containers": [ask]}}}]},
        "status": {
            "admission": {"clusterQueue": queue},
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": f"2025-03-01T10:{minute:02}:00Z"}
                for kind, minute in times.items()
            ],
        },
    }


def test_two_cluster_queues(tmp_path: Path) -> None:
    """B2 waits 10 min for b1 though a's 8 GPUs are free, and on 4 GPUs of its own it must; in a cohort both are one pool."""
    jobs = [workload("a1", "a", 0, 0, 5, 8), workload("b1", "b", 0, 0, 20, 4), workload("b2", "b", 10, 20, 30, 4)]
    path = tmp_path / "workloads.json"
    path.write_text(json.dumps({"items": [cluster_queue("a", 8), cluster_queue("b", 4), *jobs]}))
    pools = pools_of(read_queue("kueue", str(path)))
    assert {name: pool.pools for name, pool in pools.items()} == {"a": {"a": 8}, "b": {"b": 4}}
    answer = dlsched.whatif(str(path), "kueue", policies=["fifo"], time_limit=5)
    row = answer.frame().set_index("policy").loc["fifo"]
    assert row["mean_waiting_s"] == 200.0
    path.write_text(json.dumps({"items": [cluster_queue("a", 8, "c"), cluster_queue("b", 4, "c"), *jobs]}))
    assert list(pools_of(read_queue("kueue", str(path)))) == [""]
    path.write_text(json.dumps({"items": jobs}))
    assert list(pools_of(read_queue("kueue", str(path)))) == [""]


def test_flavors_are_pools(tmp_path: Path) -> None:
    """A queue of 4 a100 and 8 h100: the second job of a100 waits for the first though h100 are free, as it must on 4 GPUs."""
    queue = cluster_queue("a", 4)
    (group,) = queue["spec"]["resourceGroups"]
    group["flavors"].append({"name": "h100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 8}]})
    jobs = [workload("1", "a", 0, 0, 10, 4), workload("2", "a", 0, 10, 20, 4), workload("3", "a", 0, 0, 5, 8)]
    for each, flavor in zip(jobs, ("a100", "a100", "h100"), strict=True):
        assigned = {"name": "main", "count": 1, "flavors": {"nvidia.com/gpu": flavor}}
        each["status"]["admission"]["podSetAssignments"] = [assigned]
    path = tmp_path / "workloads.json"
    path.write_text(json.dumps({"items": [queue, *jobs]}))
    pools = pools_of(read_queue("kueue", str(path)))
    assert {name: pool.pools for name, pool in pools.items()} == {"a/a100": {"a/a100": 4}, "a/h100": {"a/h100": 8}}
    answer = dlsched.whatif(str(path), "kueue", policies=["fifo"], time_limit=5)
    assert answer.frame().set_index("policy").loc["fifo"]["mean_waiting_s"] == 200.0
    # a job that does not say its flavor may have had any
    jobs[2]["status"]["admission"]["podSetAssignments"] = []
    path.write_text(json.dumps({"items": [queue, *jobs]}))
    assert list(pools_of(read_queue("kueue", str(path)))) == [""]
