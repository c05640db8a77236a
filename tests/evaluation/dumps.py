"""Dumps of workload managers, made up: jobs of users arrive, and run in the order in which they came."""

import heapq
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

BEGIN_S = datetime(2025, 3, 3, tzinfo=UTC).timestamp()


def drawn(count: int, gpus: int, load: float, seed: int = 0) -> list[tuple[float, float, float, int, str]]:
    """Submission, start and end, seconds, GPUs and user of jobs that run first come, first served on a cluster."""
    random = np.random.default_rng(seed)
    wanted = random.choice([1, 1, 1, 2, 4, 8, 16], count)
    runs_s = np.round(random.lognormal(7.5, 1.4, count)) + 1
    rate = load * gpus / float(np.mean(wanted * runs_s))
    submits_s = BEGIN_S + np.round(np.cumsum(random.exponential(1 / rate, count)))
    users = random.choice([f"user{index}" for index in range(12)], count, p=np.arange(12, 0, -1) / 78)
    free, now_s, running, jobs = gpus, 0.0, list[tuple[float, int]](), []
    for submit_s, run_s, held, user in zip(submits_s.tolist(), runs_s.tolist(), wanted.tolist(), users, strict=True):
        now_s = max(now_s, submit_s)
        while running and running[0][0] <= now_s:
            free += heapq.heappop(running)[1]
        while free < held:
            now_s, given = heapq.heappop(running)
            free += given
        free -= held
        heapq.heappush(running, (now_s + run_s, held))
        jobs.append((submit_s, now_s, now_s + run_s, held, str(user)))
    return jobs


def write_sacct(path: Path, count: int, gpus: int, load: float = 0.95) -> Path:
    """Write what ``sacct -aXP`` prints."""
    lines = ["JobIDRaw|User|Partition|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|AllocTRES"]
    for index, (submit_s, start_s, end_s, held, user) in enumerate(drawn(count, gpus, load)):
        times = "|".join(_iso(each) for each in (submit_s, start_s, end_s))
        limit = int(2 * (end_s - start_s) / 60) + 1
        tres = f"cpu={4 * held},gres/gpu={held},mem={32 * held}G,node=1"
        lines.append(f"{1000 + index}|{user}|gpu|COMPLETED|{times}|{end_s - start_s:.0f}|{limit}|{tres}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_workloads(path: Path, count: int, gpus: int, load: float = 0.95) -> Path:
    """Write what ``kubectl get workloads -A -o json`` prints."""
    items = []
    for index, (submit_s, start_s, end_s, held, user) in enumerate(drawn(count, gpus, load)):
        conditions = [("QuotaReserved", start_s), ("Admitted", start_s), ("Finished", end_s)]
        container = {"name": "main", "resources": {"requests": {"nvidia.com/gpu": str(held)}}}
        items.append({
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": "Workload",
            "metadata": {"name": f"job-{index}", "namespace": user, "creationTimestamp": f"{_iso(submit_s)}Z"},
            "spec": {
                "queueName": "default",
                "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}],
            },
            "status": {
                "conditions": [
                    {"type": kind, "status": "True", "lastTransitionTime": f"{_iso(at_s)}Z"} for kind, at_s in conditions
                ]
            },
        })  # fmt: skip
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    return path


def _iso(time_s: float) -> str:
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%dT%H:%M:%S")
