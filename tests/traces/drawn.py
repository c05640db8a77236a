"""Queues for the tests of what is made of them."""

from typing import Any

from dlsched.traces.queue import Queue, QueuedJob, QueueNode


def job(
    name: str, submit_s: float, start_s: float | None, duration_s: float | None, gpus: int, **more: Any
) -> QueuedJob:
    """A job that ended as it should have; ``start_s`` None: nothing is said of when it ran."""
    end_s = None if start_s is None or duration_s is None else start_s + duration_s
    return QueuedJob(name, "", "", submit_s, start_s, end_s, duration_s, gpus)._replace(**more)


def queue(*jobs: QueuedJob, dated: bool = False, nodes: tuple[QueueNode, ...] = ()) -> Queue:
    """A queue as ``csv`` reads it."""
    return Queue("csv", "folder/jobs.csv", jobs, ("Read.",), dated, nodes)
