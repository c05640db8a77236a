"""Size of a queue's cluster: given, listed, or else the largest number of GPUs that jobs held at once."""

from collections.abc import Sequence
from itertools import accumulate

from dlsched.core.errors import UsageError
from dlsched.traces.queue.queue import Queue, QueuedJob
from dlsched.traces.queue.slices import whole_of


def gpus_of_cluster(queue: Queue, now: int, gpus: int | None) -> tuple[int, list[str]]:
    """Return the GPUs of the cluster (given, of the nodes, or the most held at once) and audit sentences.

    ``now``: number of GPUs held at the moment.

    Raises
    ------
    UsageError
        Fewer than one are given.
    """
    if gpus is not None:
        if gpus < 1:
            raise UsageError(where="gpus", found=gpus, allowed="an integer >= 1")
        return gpus, []
    listed = sum(node.gpus for node in queue.nodes)
    if listed:
        return listed, [f"The cluster is given the {listed:,} GPUs of its nodes."]
    most = max(most_held(queue.jobs, queue.slices), now, 1)
    return most, [f"The cluster is given {most:,} GPUs, the most that were in use at once."]


def most_held(jobs: Sequence[QueuedJob], slices: Sequence[QueuedJob] = ()) -> int:
    """Return the most GPUs that jobs held at once; slices count by their share.

    Jobs without an end hold their GPUs forever; at equal times ends come before starts.
    """
    changes: list[tuple[float, float]] = []
    for job, gpus in (*((job, job.gpus) for job in jobs), *((job, job.parts) for job in slices)):
        if job.start_s is not None:
            changes.append((job.start_s, gpus))
            if job.end_s is not None:
                changes.append((job.end_s, -gpus))
    return whole_of(max(accumulate(count for _, count in sorted(changes)), default=0))
