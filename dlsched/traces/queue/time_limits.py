"""Time limits of jobs as users gave them, and substitutes for missing ones.

A missing limit is the median of the limits in the job's partition, or of the file if the partition has none.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import NamedTuple

from dlsched.core.errors import InputError
from dlsched.traces.queue.queue import Queue, QueuedJob
from dlsched.traces.sentences import Sentence, figure


class Limits(NamedTuple):
    """A queue whose jobs all have a limit; for ids of jobs without one, whether it is a partition's."""

    queue: Queue
    silent: Mapping[str, bool]

    def of(self, jobs: Iterable[QueuedJob]) -> frozenset[str]:
        """Ids of those of the jobs that had no limit."""
        return frozenset(job.id for job in jobs if job.id in self.silent)

    def sentences(self, jobs: Iterable[QueuedJob]) -> list[str]:
        """Audit sentences on those of the jobs that had no limit."""
        own = [self.silent[name] for name in self.of(jobs)]
        counts = (
            ("for which the median of their partition stands", sum(own)),
            ("nor does any of their partition, for which the median of the file stands", len(own) - sum(own)),
        )
        silent = "Jobs that do not say how long they take"
        return [Sentence(f"{silent}, {words}: ", figure(count), ".") for words, count in counts if count]


def limits_of(queue: Queue) -> Limits:
    """Fill in missing limits; if no job of the file has one, the queue stays as it is."""
    stated: dict[str, tuple[str, float]] = {}
    for job in (*queue.jobs, *queue.slices, *queue.others):
        if job.limit_s is not None:
            stated.setdefault(job.id, (job.partition, job.limit_s))
    if not stated:
        return Limits(queue, {})
    by_partition: dict[str, list[float]] = {}
    for partition, limit_s in stated.values():
        if partition:
            by_partition.setdefault(partition, []).append(limit_s)
    of_file = median(limit_s for _, limit_s in stated.values())
    medians = {partition: median(limits_s) for partition, limits_s in by_partition.items()}
    silent = {job.id: job.partition in medians for job in queue.jobs if job.limit_s is None}
    jobs = tuple(
        job._replace(limit_s=medians.get(job.partition, of_file)) if job.limit_s is None else job for job in queue.jobs
    )
    return Limits(replace(queue, jobs=jobs), silent)


def require_limits(queue: Queue) -> Limits:
    """Fill in missing limits, as ``limits_of``; at least one job must have a limit.

    Raises
    ------
    InputError
        No job has a limit.
    """
    limits = limits_of(queue)
    if all(job.limit_s is None for job in limits.queue.jobs):
        raise InputError(
            where=f"{queue.path}: estimates", found="no job that says how long it takes at most", allowed="some"
        )
    return limits


def told(limits: Limits, jobs: Sequence[QueuedJob], ran_s: Iterable[float]) -> list[str]:
    """What the audit says where policies know limits only: of the jobs, which ran that long."""
    silent = limits.of(jobs)
    parts = [
        seconds / job.limit_s
        for job, seconds in zip(jobs, ran_s, strict=True)
        if job.limit_s is not None and job.id not in silent
    ]
    head = "Policies are told what users said that their jobs take"
    if not parts:
        return [f"{head}.", *limits.sentences(jobs)]
    half = " jobs that say it ran for ", figure(100 * median(parts), ",.0f"), " % of that or less."
    return [Sentence(f"{head}; half of the ", figure(len(parts)), *half), *limits.sentences(jobs)]
