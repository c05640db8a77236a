"""A queue as its workload manager has recorded it: jobs of users, when they came and ran, and on how many GPUs.

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
        Its name, unique in the queue; who sent it; the name under which it recurs, the queue or partition it was sent to. Empty
        where nothing is said.
    submit_s
        When it came.
    start_s, end_s
        When its last attempt began and ended; None where it did not, or nothing is said.
    duration_s
        What it ran, by the source's own figure, > 0; None of a job that has not ended, or that never ran.
    gpus
        GPUs that it held, or asks for, each a device of its own; a slice of a GPU is one.
    share
        Part of each of them that it takes, in (0, 1], on average; 1: all are whole.
    least_gpus
        The fewest on which it could run, where the source says so; None: ``gpus``.
    nodes
        Nodes on which it ran, or wants to run, by name where they are known; empty: not said.
    cpus
        CPU cores of the whole job, 0 where nothing is said.
    gpu_type
        The GPU model that it held or needs, several that would do parted by ``|``; empty: any.
    state
        The source's own word, such as COMPLETED, FAILED, Running.
    limit_s
        What its user said it would take at most; None: nothing.
    line
        Where it stands in the file: a line, or the position of an object from 1 on.
    priority
        The source's own figure, more is more urgent; None: nothing is said.
    partition
        The queue or partition it was sent to; empty: not said.
    array, at_once
        The array of which it is a task, empty: none; the most tasks of that which may run at once, None: nothing is said.
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
        """GPUs that it takes, parts of them added up."""
        return self.gpus * self.share


class QueueNode(NamedTuple):
    """A node of the cluster, where the source lists them: its name, GPUs, their model, CPU cores."""

    id: str
    gpus: int
    gpu_type: str = ""
    cpus: float = 0.0


@dataclass(frozen=True, slots=True)
class Queue:
    """What a reader has read.

    Parameters
    ----------
    source, path
        The kind of file, a key of ``dlsched.traces.SOURCES``, and its name.
    jobs
        In the order of the file; those that the options leave out are not among them.
    audit
        Sentences on what was dropped, for every reason how often, repaired and assumed.
    dated
        Whether times are those of the calendar.
    nodes
        Of the cluster, where the source lists them.
    latest_s
        The latest time that the file states of any job, kept or not: a snapshot was taken then or later.
    others
        Jobs that are left out but held GPUs, earlier attempts of jobs too: up to their end, or the latest time.
    still
        Those of the others of which the file says that they still run, as they were recorded, without an end.
    slices
        Jobs on parts of GPUs that are left out, as they were recorded.
    arrays
        By array the most of its tasks that may run at once, where the file says it of tasks that wait.
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
    """Counts of what was dropped or repaired, by reason, with the first place of each; sentences in the order of the first.

    ``place``: what places are called, a line, or an object of JSON.
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
        """How often it was noted."""
        return self._count[reason]

    def sentences(self) -> list[str]:
        """One sentence a reason: ``Jobs without a GPU, left out: 12 (first in line 3)``."""
        return [
            f"{reason[0].upper()}{reason[1:]}: {count:,} (first in {self._first[reason]})."
            for reason, count in self._count.items()
        ]
