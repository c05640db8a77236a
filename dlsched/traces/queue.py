"""A queue as recorded by a workload manager: users' jobs, their times, and their GPUs.

Every reader makes a ``Queue``; every family is made from one. Times are seconds since 1970, UTC, or on the trace's own
clock; in instances they are relative to the start of the window, or to the first arrival if no start is given.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple, Self

from dlsched.core.errors import UsageError
from dlsched.core.messages import shown


class Figure(NamedTuple):
    """A number in a sentence, and its format there."""

    value: float
    text: str


class Example(NamedTuple):
    """One of several things that could be said there: of several windows the first is."""

    text: str


Piece = str | Figure | Example


def figure(value: float, form: str = ",") -> Figure:
    """A number as it is written in sentences."""
    return Figure(value, format(value, form))


class Sentence(str):
    """A text with its pieces, of which several windows are summarised; ``warns``: it is shown for every cluster.

    >>> Sentence("Jobs read: ", figure(1200), ".")
    'Jobs read: 1,200.'
    """

    __slots__ = ("pieces", "warns")

    pieces: tuple[Piece, ...]
    warns: bool

    def __new__(cls, *pieces: Piece, warns: bool = False) -> Self:
        """Write the pieces out."""
        made = super().__new__(cls, "".join(piece if isinstance(piece, str) else piece.text for piece in pieces))
        made.pieces, made.warns = tuple(piece for piece in pieces if piece), warns
        return made


def listed(counts: Iterable[tuple[str, int, str]]) -> list[Piece]:
    """Return the pieces of a list of what was counted: what, how often, and a word after the number.

    >>> Sentence(*listed([("OK", 1200, ""), ("resnet", 3, " jobs")]))
    'OK (1,200), resnet (3 jobs)'
    """
    pieces: list[Piece] = []
    for what, count, after in counts:
        pieces += [f"{', ' if pieces else ''}{what} (", figure(count), f"{after})"]
    return pieces


def counted(words: str, count: int, ending: str = ".") -> list[str]:
    """The sentence ``words: count`` of an audit; none where nothing was counted."""
    return [Sentence(f"{words}: ", figure(count), ending)] if count else []


def sentence_of(text: str) -> Sentence:
    """Return a text as a sentence, one without figures where it does not know any."""
    return text if isinstance(text, Sentence) else Sentence(text)


@dataclass(frozen=True, slots=True)
class Window:
    """The arrivals that are kept: from ``start_s`` on and before ``end_s``; None: no limit."""

    start_s: float | None
    end_s: float | None

    @classmethod
    def read(cls, from_: str | None, to: str | None, clock: Callable[[str], float], allowed: str) -> "Window":
        """Read both ends by ``clock``, which raises ValueError; ``allowed`` says of what form they are."""
        ends: list[float | None] = []
        for name, text in (("from", from_), ("to", to)):
            try:
                ends.append(None if text is None else clock(text))
            except ValueError:
                raise UsageError(where=name, found=repr(text), allowed=allowed) from None
        start_s, end_s = ends
        if start_s is not None and end_s is not None and start_s >= end_s:
            raise UsageError(where="to", found=repr(to), allowed=f"a time after from, {from_!r}")
        return cls(start_s, end_s)

    def holds(self, time_s: float) -> bool:
        """Whether a job that arrives at that time is kept."""
        return (self.start_s is None or self.start_s <= time_s) and (self.end_s is None or time_s < self.end_s)

    def span(self, kept: "Sequence[QueuedJob]") -> tuple[float, float]:
        """Start and end of the window; missing ends are the first and last of the sorted arrivals."""
        start_s = kept[0].submit_s if self.start_s is None else self.start_s
        return start_s, kept[-1].submit_s if self.end_s is None else self.end_s


def date_text(time_s: float) -> str:
    """Write seconds since 1970 as a date of UTC without a zone."""
    return datetime.fromtimestamp(time_s, UTC).replace(tzinfo=None).isoformat()


def seconds_text(time_s: float) -> str:
    """Write seconds, whole ones as integers."""
    return repr(int(time_s)) if time_s == int(time_s) else repr(time_s)


def seconds_window(from_: str | None, to: str | None) -> Window:
    """Read a window of a trace whose times are numbers; errors as ``Window.read``."""

    def clock(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise ValueError("no finite number")
        return value

    return Window.read(from_, to, clock, "a number of seconds")


class Wall(NamedTuple):
    """What else than GPUs a job waits for (``traces.walls``)."""

    ready_s: float  # from then on its user's own conditions let it start
    at_once: int | None  # limit on concurrent tasks of its array
    rank: int  # of its class; larger ones are served first
    dependent: bool = False  # it was ready when an earlier job of its user ended


class QueuedJob(NamedTuple):
    """A job as it was recorded; words are empty and other values None where the source does not say."""

    id: str  # unique in the queue
    user: str
    group: str  # its recurring name, queue or partition
    submit_s: float
    start_s: float | None  # of its last attempt, as its end
    end_s: float | None
    duration_s: float | None  # as stated, > 0; None: it has not ended, or never ran
    gpus: int  # devices that it held or asks for; a slice of a GPU counts as one
    share: float = 1.0  # that it takes of each of them on average, in (0, 1]
    least_gpus: int | None = None  # the fewest on which it could run; None: ``gpus``
    nodes: tuple[str, ...] = ()  # on which it ran, or wants to run; empty: unknown
    cpus: float = 0.0  # cores of the whole job; 0: unknown
    gpu_type: str = ""  # that it held or needs, alternatives separated by ``|``; empty: any
    state: str = ""  # the source's own word, such as COMPLETED, FAILED, Running
    limit_s: float | None = None  # that its user gave
    line: int = 0  # in the file, or the position of its object, from 1 on
    priority: float | None = None  # larger is more urgent
    partition: str = ""
    array: str = ""  # of which it is a task
    at_once: int | None = None  # limit on concurrent tasks of the array
    steps: int | None = None  # or iterations of the whole job
    eligible_s: float | None = None  # from then on it could start, for its user
    qos: str = ""  # its class of service
    wall: Wall | None = None  # None: not looked for
    profile: str = ""  # MIG profile of its slices where ``gpu_type`` does not name it

    @property
    def parts(self) -> float:
        """GPUs that it takes, as the sum of its shares."""
        return self.gpus * self.share

    @property
    def length_s(self) -> float:
        """Running time of a job that has one, as stated."""
        assert self.duration_s is not None
        return self.duration_s


class QueueNode(NamedTuple):
    """A node of the cluster, where the source lists them: its name, GPUs, their model, CPU cores.

    ``pools``: partitions that it is of; ``closed``: no job may start on it now. ``shards``: parts of all its GPUs, if told.
    """

    id: str
    gpus: int
    gpu_type: str = ""
    cpus: float = 0.0
    pools: tuple[str, ...] = ()
    closed: bool = False
    shards: int = 0


@dataclass(frozen=True, slots=True)
class Queue:
    """The jobs that a reader has read, with facts about their file."""

    source: str  # a key of ``dlsched.traces.SOURCES``
    path: str
    jobs: tuple[QueuedJob, ...]  # kept ones, in the order of the file
    audit: tuple[str, ...]  # what was dropped (with counts by reason), repaired and assumed
    dated: bool = True  # whether times are calendar times
    nodes: tuple[QueueNode, ...] = ()  # of the cluster, if the source lists them
    latest_s: float | None = None  # of any job, kept or not: the file was written then or later
    others: tuple[QueuedJob, ...] = ()  # left-out jobs and earlier attempts that held GPUs, none beyond ``latest_s``
    still: tuple[QueuedJob, ...] = ()  # those of ``others`` that still run, as recorded, without an end
    slices: tuple[QueuedJob, ...] = ()  # left-out jobs on parts of GPUs, as recorded
    arrays: Mapping[str, int] = field(default_factory=dict)  # limits on concurrent tasks, where the file states them
    waiting: int = 0  # left-out jobs that have not started
    # GPUs of partitions that the source says share none; 0: unstated
    pools: Mapping[str, int] = field(default_factory=dict)
    sliced: bool = False  # jobs on parts of GPUs take these, not whole ones
    typed: bool = False  # jobs run only on GPUs of the types that they name

    def takes(self, job: QueuedJob) -> float:
        """GPUs that a job takes in an instance."""
        return job.parts if self.sliced else job.gpus

    def with_jobs(self, change: Callable[[Iterable[QueuedJob]], Iterable[QueuedJob]]) -> "Queue":
        """Return it with every kind of its jobs, kept and left out, changed."""
        kinds = self.jobs, self.others, self.still, self.slices
        jobs, others, still, slices = (tuple(change(kind)) for kind in kinds)
        return replace(self, jobs=jobs, others=others, still=still, slices=slices)

    def moment(self, time_s: float) -> str:
        """Write a time as options read it: a date of UTC without a zone, or seconds of the trace's clock.

        >>> Queue("csv", "a.csv", (), ()).moment(90.0), Queue("csv", "a.csv", (), (), dated=False).moment(90.0)
        ('1970-01-01T00:01:30', '90')
        """
        return date_text(time_s) if self.dated else seconds_text(time_s)


@dataclass
class Audit:
    """Counts drops and repairs by reason, with the first place of each, a ``place`` (line, object) of the file."""

    place: str = "line"
    _count: Counter[str] = field(default_factory=Counter)
    _first: dict[str, str] = field(default_factory=dict)

    def note(self, reason: str, line: int, found: object = None) -> None:
        """Count a line; ``reason`` is a clause such as "jobs without a GPU, left out"; ``found`` is shown of the first."""
        self._count[reason] += 1
        if reason not in self._first:
            self._first[reason] = f"{self.place} {line:,}" + ("" if found is None else f", {shown(found)}")

    def sentences(self) -> list[str]:
        """One sentence a reason: ``Jobs without a GPU, left out: 12 (first in line 3)``."""
        return [
            f"{reason[0].upper()}{reason[1:]}: {count:,} (first in {self._first[reason]})."
            for reason, count in self._count.items()
        ]


def anonymous(queue: Queue) -> Queue:
    """Number users, those of the most GPU time first, jobs, their names and arrays; examples in the audit are cut."""
    every = (*queue.jobs, *queue.others, *queue.still, *queue.slices)
    held_s = dict.fromkeys((job.user for job in every), 0.0)
    for job in queue.jobs:
        held_s[job.user] += job.gpus * (job.duration_s or 0.0)

    def numbered(word: str, names: Iterable[str]) -> dict[str, str]:
        return {"": ""} | {name: f"{word}{place}" for place, name in enumerate(dict.fromkeys(filter(None, names)), 1)}

    users = numbered("user ", sorted(held_s, key=lambda user: -held_s[user]))
    ids, groups = numbered("job ", (job.id for job in every)), numbered("group ", (job.group for job in every))
    arrays = numbered("", (*queue.arrays, *(job.array for job in every)))
    renamed = queue.with_jobs(
        lambda jobs: (
            each._replace(id=ids[each.id], user=users[each.user], group=groups[each.group], array=arrays[each.array])
            for each in jobs
        )
    )
    limits = {arrays[name]: most for name, most in queue.arrays.items()}
    audit = tuple(re.sub(r"(\(first in \w+ [\d,]*\d), .*\)\.$", r"\1).", each) for each in queue.audit)
    return replace(renamed, arrays=limits, audit=audit)


def queue_window(queue: Queue, from_: str | None, to: str | None) -> Window:
    """Read a window of a queue, in dates or times if the queue has such, else in seconds; errors as ``Window.read``."""
    if not queue.dated:
        return seconds_window(from_, to)
    return Window.read(
        from_, to, _utc, "a date or time such as 2025-03-01 or 2025-03-01T07:00:00, of UTC without a zone"
    )


def _utc(text: str) -> float:
    moment = datetime.fromisoformat(text.strip())
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
