"""A queue as recorded by a workload manager: users' jobs, their times, and their GPUs.

Every reader makes a ``Queue``; every family is made from one. Times are seconds since 1970, UTC, or on the trace's own clock.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dlsched.core.messages import shown
from dlsched.traces.arrivals import date_text, seconds_text


class QueuedJob(NamedTuple):
    """A job as it was recorded.

    Parameters
    ----------
    id, user, group
        Its name, unique in the queue; its user; its recurring name, queue or partition. Empty if not stated.
    submit_s
        Time of submission.
    start_s, end_s
        Start and end of its last attempt; None: it did not start or end, or the file does not say.
    duration_s
        Running time as stated by the source, > 0; None for a job that has not ended, or never ran.
    gpus
        Number of devices that it held or asks for; a slice of a GPU counts as one.
    share
        Average share that it takes of each of them, in (0, 1]; 1: all are whole.
    least_gpus
        The fewest GPUs on which it could run, if the source says so; None: ``gpus``.
    nodes
        Names of the nodes on which it ran, or wants to run; empty: unknown.
    cpus
        CPU cores of the whole job; 0: unknown.
    gpu_type
        The GPU model that it held or needs, alternatives separated by ``|``; empty: any.
    state
        The source's own word, such as COMPLETED, FAILED, Running.
    limit_s
        The time limit that its user gave; None: none.
    line
        Its line in the file, or the position of its object, from 1 on.
    priority
        Priority as stated by the source, larger is more urgent; None: not stated.
    partition
        The queue or partition that it was sent to; empty: not stated.
    array, at_once
        Its array, empty if it is no task of one; the limit on concurrent tasks of the array, None if not
        stated.
    """

    id: str
    user: str
    group: str
    submit_s: float
    start_s: float | None
    end_s: float | None
    duration_s: float | None
    gpus: int
    share: float = 1.0
    least_gpus: int | None = None
    nodes: tuple[str, ...] = ()
    cpus: float = 0.0
    gpu_type: str = ""
    state: str = ""
    limit_s: float | None = None
    line: int = 0
    priority: float | None = None
    partition: str = ""
    array: str = ""
    at_once: int | None = None

    @property
    def parts(self) -> float:
        """GPUs that it takes, as the sum of its shares."""
        return self.gpus * self.share


class QueueNode(NamedTuple):
    """A node of the cluster, where the source lists them: its name, GPUs, their model, CPU cores."""

    id: str
    gpus: int
    gpu_type: str = ""
    cpus: float = 0.0


@dataclass(frozen=True, slots=True)
class Queue:
    """The jobs that a reader has read, with facts about their file.

    Parameters
    ----------
    source, path
        The kind of file, a key of ``dlsched.traces.SOURCES``, and its name.
    jobs
        Kept jobs in the order of the file.
    audit
        Sentences on what was dropped (with counts by reason), repaired and assumed.
    dated
        Whether times are calendar times.
    nodes
        Nodes of the cluster, if the source lists them.
    latest_s
        The latest time in the file, of any job, kept or not: the file was written then or later.
    others
        Left-out jobs and earlier attempts that held GPUs, until their end or ``latest_s``.
    still
        Those of ``others`` that still run according to the file, as recorded, without an end.
    slices
        Left-out jobs on parts of GPUs, as recorded.
    arrays
        Limit on concurrent tasks by array, if the file states it for waiting tasks.
    """

    source: str
    path: str
    jobs: tuple[QueuedJob, ...]
    audit: tuple[str, ...]
    dated: bool = True
    nodes: tuple[QueueNode, ...] = ()
    latest_s: float | None = None
    others: tuple[QueuedJob, ...] = ()
    still: tuple[QueuedJob, ...] = ()
    slices: tuple[QueuedJob, ...] = ()
    arrays: Mapping[str, int] = field(default_factory=dict)

    def moment(self, time_s: float) -> str:
        """Write a time as options read it: a date of UTC without a zone, or seconds of the trace's clock.

        >>> Queue("csv", "a.csv", (), ()).moment(90.0), Queue("csv", "a.csv", (), (), dated=False).moment(90.0)
        ('1970-01-01T00:01:30', '90')
        """
        return date_text(time_s) if self.dated else seconds_text(time_s)


@dataclass
class Audit:
    """Counts drops and repairs by reason, with the first place of each; its sentences are in that order.

    ``place``: the word for places, ``line`` or an object of JSON.
    """

    place: str = "line"
    _count: Counter[str] = field(default_factory=Counter)
    _first: dict[str, str] = field(default_factory=dict)

    def note(self, reason: str, line: int, found: object = None) -> None:
        """Count a line; ``reason`` is a clause such as "jobs without a GPU, left out"; ``found`` is shown of the first."""
        self._count[reason] += 1
        if reason not in self._first:
            self._first[reason] = f"{self.place} {line:,}" + ("" if found is None else f", {shown(found)}")

    def count(self, reason: str) -> int:
        """How often this reason was noted."""
        return self._count[reason]

    def sentences(self) -> list[str]:
        """One sentence a reason: ``Jobs without a GPU, left out: 12 (first in line 3)``."""
        return [
            f"{reason[0].upper()}{reason[1:]}: {count:,} (first in {self._first[reason]})."
            for reason, count in self._count.items()
        ]
