"""A queue of three jobs that each take the whole cluster of 8 GPUs, and clusters of figures by hand."""

from collections.abc import Mapping, Sequence

import numpy as np

from dlsched.evaluation.clusters import Cluster, Fate
from dlsched.evaluation.measures import Jobs, Part
from dlsched.traces.queue import Queue, QueuedJob

SUBMITS_S, RUNS_S = (0.0, 1.0, 2.0), (100.0, 50.0, 10.0)
FIFO_S = (0.0, 100.0, 150.0)
"""Starts first come, first served; flow times 100, 149, 158."""
SHORTEST_S = (0.0, 110.0, 100.0)
"""Starts with the shortest first; flow times 100, 159, 108."""


def three(starts_s: Sequence[float] | None = FIFO_S, users: Sequence[str] = ("ann", "bob", "ann")) -> Queue:
    """Return the queue; ``starts_s``: what is recorded."""
    jobs = []
    for index, (submit_s, run_s) in enumerate(zip(SUBMITS_S, RUNS_S, strict=True)):
        start_s = None if starts_s is None else starts_s[index]
        end_s = None if start_s is None else start_s + run_s
        jobs.append(QueuedJob(f"j{index}", users[index], "gpu", submit_s, start_s, end_s, run_s, 8, line=index + 2))
    return Queue("slurm", "three.txt", tuple(jobs), ("Jobs read: 3.",), dated=False)


def cluster(
    flows_s: Mapping[str, Sequence[float]],
    *,
    gpus: int = 8,
    run_s: float = 10.0,
    least_flow_s: float | None = None,
    users: Sequence[str] = (),
    unanswered: Mapping[str, str] | None = None,
    outside: float = 0.0,
    left_out: int = 0,
    whole: int = 0,
) -> Cluster:
    """Return a cluster from flow times by policy; every job is a unit, and runs equally long on one GPU."""
    count = len(next(iter(flows_s.values())))
    ids, ones = tuple(f"j{index}" for index in range(count)), np.ones(count, dtype=np.int64)
    submits_s = np.arange(count, dtype=np.float64)
    none, names = np.zeros(count, dtype=np.bool_), (tuple(users) or ("",) * count, ("",) * count)
    jobs = Jobs(ids, *names, submits_s, np.full(count, run_s), ones, submits_s, none)
    fates = {
        name: Fate(
            np.array(flow_s) - run_s, np.array(flow_s), np.array(flow_s) / run_s, Part(1.0, 2.0), None, np.zeros(count)
        )
        for name, flow_s in flows_s.items()
    }
    return Cluster(
        *(gpus, jobs, tuple(("", name) for name in jobs.ids), np.arange(count), f"{count} windows", fates),
        *(dict(unanswered or {}), least_flow_s, outside, left_out, whole),
    )
