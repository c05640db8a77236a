"""Job arrays with a limit on concurrent tasks: which of their tasks may start at a moment."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from dlsched.traces.queue.queue import Queue, QueuedJob


def running_tasks(queue: Queue, at_s: float) -> Counter[str]:
    """Number of running tasks of each array at a moment, including tasks on slices."""
    return Counter(
        job.array
        for job in (*queue.jobs, *queue.slices)
        if job.array and job.start_s is not None and job.start_s <= at_s and (job.end_s is None or job.end_s > at_s)
    )


def held_back(waiting: Sequence[QueuedJob], most: Mapping[str, int], running: Mapping[str, int]) -> set[str]:
    """Ids of tasks that must wait for other tasks of their array; ``waiting`` is in the order of starts."""
    room = {array: max(0, count - running.get(array, 0)) for array, count in most.items()}
    held = set()
    for job in waiting:
        if job.array in room:
            if room[job.array]:
                room[job.array] -= 1
            else:
                held.add(job.id)
    return held


def in_words(most: Mapping[str, int], arrays: Iterable[str]) -> str:
    """Arrays and their limits on concurrent tasks.

    >>> in_words({"7": 2, "9": 1}, ["9", "7", "7"])
    '2 of 7, 1 of 9'
    """
    named = sorted(set(arrays))
    more = f" and of {len(named) - 3:,} more" if len(named) > 3 else ""
    return ", ".join(f"{most[array]:,} of {array}" for array in named[:3]) + more
