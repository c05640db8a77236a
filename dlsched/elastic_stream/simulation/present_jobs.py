"""Jobs present in a simulation: records and arrays.

The jobs present as NumPy arrays, for policies that look at all of them at once: ``View.arrays``.

The simulator writes a job's row when the job comes, changes its units, or goes. Values that change with time
(``left``, ``attained``, ``pause_s``) are computed for all rows on request, with the same bits as the view's
value of each job.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.core.ticks import LEAST, left_after

BARREN = 10_000
"""Number of periods in a row without progress after which the simulator concludes that the policy never
finishes."""
IDLE = 1e-6
"""Share of a period: it ended in its pause if no more than this share came after the pause."""
FEW = 64
"""Outdated entries that the heap of ends may hold, besides as many as there are valid ones."""


STATIC, FALLING, FALLING_APART, ATTAINED = range(4)
"""Kinds of keys: given; seconds left; seconds left over unequal weights; unit-seconds held over the
weight."""


@dataclass(slots=True)
class Queued:
    """A job in the loop, or a record of an array of such: its data, its present period, its place in the line."""

    arrival: float
    work: float  # epochs to its real end
    hidden: float  # epochs from there to its nominal end
    size: int
    kind: int  # number of its size among all sizes
    time: float  # seconds per epoch
    restart: float
    weight: float
    key: float
    left: float  # epochs to its real end at its last start or stop
    units: int = 0  # units that it holds
    since: float = 0.0
    pause: float = 0.0
    started: int = 0
    attained: float = 0.0
    stamp: int = 0
    place: float = 0.0  # its key in the line, while it runs
    runs: int = 0  # 1 if it shall run from this event on
    changed: int = 0  # the last event that set ``runs``


@dataclass(slots=True, eq=False)
class PresentJob:
    """A present job, as the simulator keeps it: its units and its progress."""

    job: int
    remaining: float  # epochs to its real end at its last change of units
    hidden: float  # epochs from there to its nominal end
    times: dict[int, float]  # seconds per epoch by units, for units asked about so far
    restart_s: float
    units: int = 0
    time_s: float = 0.0  # per epoch now
    since: float = 0.0  # start of its period, by the simulator's clock: seconds, or with ticks their number
    pause_s: float = 0.0  # seconds without progress at its start
    needed_s: float = 0.0  # seconds that it would last to the job's end
    attained: float = 0.0  # unit-seconds of earlier periods
    stamp: int = 0  # identifies its valid entry in the heap of ends
    started: bool = False

    def left_after(self, elapsed_s: float) -> float:
        """Epochs to its real end after ``elapsed_s`` seconds of its period."""
        if not self.units or elapsed_s <= self.pause_s:
            return self.remaining
        return left_after(self.remaining, elapsed_s - self.pause_s, self.time_s)

    def start(self) -> None:
        """Begin a period with the job's units."""
        self.time_s = self.times[self.units]
        self.pause_s = self.restart_s if self.started else 0.0
        self.needed_s = self.pause_s + self.remaining * self.time_s
        self.started = True

    def stop(self, elapsed_s: float) -> None:
        """End the period after ``elapsed_s`` seconds, before the work is done."""
        self.remaining = self.left_after(elapsed_s)
        self.attained += self.units * elapsed_s


class Seen(Protocol):
    """What the arrays need of a view."""

    @property
    def now_s(self) -> float:
        """The time."""

    def since_s(self, clock: FloatArray) -> FloatArray:
        """Seconds since times by the simulator's clock."""

    def allowed(self, job: int) -> Sequence[int]:
        """Counts that the job may hold."""

    def useful(self, job: int) -> Sequence[int]:
        """Allowed counts that are faster than every smaller one."""

    def epoch_time_s(self, job: int, units: int) -> float:
        """Seconds that an epoch takes on so many units."""

    def arrival_s(self, job: int) -> float:
        """When the job came."""

    def weight(self, job: int) -> float:
        """How much its flow time counts."""


SeenT = TypeVar("SeenT", bound=Seen)

LARGEST_PAIRS = 2**18
"""Most pairs of a job and a count that are considered at once."""


_FEW = 4096  # pairs of gone jobs that may be kept, besides as many as there are of present jobs
_WHOLE = ("job", "held", "least", "most", "choices", "base", "many")
_REAL = ("rest", "hidden", "since", "pause", "time", "attained", "restart", "arrival", "weight")
_ROW = np.dtype([(name, np.int64) for name in _WHOLE] + [(name, np.float64) for name in _REAL])


class Arrays(Generic[SeenT]):
    """Present jobs in order of arrival; read-only arrays of shape (n,) unless said otherwise, valid until the next event."""

    def __init__(self, view: SeenT) -> None:
        self._view = view
        self._table = np.zeros(64, dtype=_ROW)
        self._order: list[tuple[float, int]] = []  # arrival and position of each row
        # jobs whose pairs are kept: counts and times, each job's from ``base`` on
        self._counts_of: Callable[[SeenT, int], Sequence[int]] | None = None
        self._counts, self._times, self._end, self._dead = np.zeros(64, dtype=np.int64), np.zeros(64), 0, 0

    def __len__(self) -> int:
        return len(self._order)

    @property
    def jobs(self) -> IntArray:
        """Positions of the jobs in the instance."""
        return self._now["job"]

    @property
    def held(self) -> IntArray:
        """Units that each job holds."""
        return self._now["held"]

    @property
    def least(self) -> IntArray:
        """Smallest allowed count of each job."""
        return self._now["least"]

    @property
    def most(self) -> IntArray:
        """Largest allowed count of each job."""
        return self._now["most"]

    @property
    def choices(self) -> IntArray:
        """Number of allowed counts of each job."""
        return self._now["choices"]

    @property
    def arrival_s(self) -> FloatArray:
        """When each job arrived."""
        return self._now["arrival"]

    @property
    def weight(self) -> FloatArray:
        """Weight of each job's flow time."""
        return self._now["weight"]

    @property
    def restart_s(self) -> FloatArray:
        """Seconds of the pause that each job's next change of units costs."""
        return self._now["restart"]

    @property
    def left(self) -> FloatArray:
        """Epochs that each job has left to its nominal end."""
        rows, elapsed_s = self._now, self._elapsed_s
        rest, pause_s = rows["rest"], rows["pause"]
        ran = np.maximum(rest - (elapsed_s - pause_s) / rows["time"], rest * LEAST)
        remaining: FloatArray = np.where((rows["held"] > 0) & (elapsed_s > pause_s), ran, rest) + rows["hidden"]
        return remaining

    @property
    def attained(self) -> FloatArray:
        """Unit-seconds that each job has held so far."""
        rows = self._now
        return np.where(rows["held"] > 0, rows["attained"] + rows["held"] * self._elapsed_s, rows["attained"])

    @property
    def pause_s(self) -> FloatArray:
        """Seconds without progress that are left of each job's pause, if it keeps its units."""
        rows = self._now
        return np.where(rows["held"] > 0, np.maximum(0.0, rows["pause"] - self._elapsed_s), 0.0)

    def pairs(
        self,
        rows: IntArray | None = None,
        counts: Callable[[SeenT, int], Sequence[int]] | None = None,
        *,
        limit: int | None = LARGEST_PAIRS,
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Counts of some jobs (``rows``, ascending; None: all) and their seconds per epoch, shape (P,) each, after ``starts``.

        ``starts``, shape (r + 1,): pairs of the i-th job are ``starts[i]`` to ``starts[i + 1] - 1``. ``counts``: from view and
        job to counts that never change; None: ``View.useful``. UsageError: more pairs than ``limit`` (None: any number).
        """
        counts = counts or type(self._view).useful
        # Pairs of other counts, or with too many gone jobs among them, are looked up anew.
        if counts != self._counts_of or self._dead > max(_FEW, self._end // 2):
            self._counts_of, self._end, self._dead = counts, 0, 0
            self._now["base"] = -1
        chosen = self._now if rows is None else self._now[rows]
        fresh = np.flatnonzero(chosen["base"] < 0)
        if len(fresh):
            self._keep_pairs(np.arange(len(self))[fresh] if rows is None else rows[fresh], counts, limit)
            chosen = self._now if rows is None else self._now[rows]
        starts = np.zeros(len(chosen) + 1, dtype=np.int64)
        np.cumsum(chosen["many"], out=starts[1:])
        self._refuse_many(int(starts[-1]), limit)
        # Positions of all pairs: a range, shifted for each job to where its pairs begin.
        where = np.arange(starts[-1]) + np.repeat(chosen["base"] - starts[:-1], chosen["many"])
        return starts, self._counts[where], self._times[where]

    def changes(self, units: IntArray) -> dict[int, int]:
        """The answer that gives each row's job these units: it names the jobs that hold others."""
        rows = np.flatnonzero(units != self.held)
        return dict(zip(self.jobs[rows].tolist(), units[rows].tolist(), strict=True))

    @property
    def _now(self) -> "np.ndarray[tuple[int], np.dtype[np.void]]":
        return self._table[: len(self._order)]

    @property
    def _elapsed_s(self) -> FloatArray:
        return self._view.since_s(self._now["since"])

    def _keep_pairs(self, rows: IntArray, counts: Callable[[SeenT, int], Sequence[int]], limit: int | None) -> None:
        """Look up counts and times of jobs; UsageError if there are too many."""
        view = self._view
        found = [(job, counts(view, job)) for job in self._now["job"][rows].tolist()]
        pairs = sum(len(each) for _, each in found)
        self._refuse_many(pairs, limit)
        if self._end + pairs > len(self._counts):
            more = np.zeros(self._end + pairs, dtype=np.int64)
            self._counts = np.concatenate((self._counts[: self._end], more))
            self._times = np.concatenate((self._times[: self._end], more.astype(np.float64)))
        for row, (job, each) in zip(rows.tolist(), found, strict=True):
            begin, self._end = self._end, self._end + len(each)
            self._counts[begin : self._end] = each
            self._times[begin : self._end] = [view.epoch_time_s(job, count) for count in each]
            self._table["base"][row], self._table["many"][row] = begin, len(each)

    def add(self, run: PresentJob) -> None:
        """Append the row of a new job; called by the simulator, as are the methods below."""
        view, job, row = self._view, run.job, len(self._order)
        allowed = view.allowed(job)
        if row == len(self._table):
            self._table = np.concatenate((self._table, np.zeros_like(self._table)))
        self._order.append((view.arrival_s(job), job))
        first = job, 0, allowed[0], allowed[-1], len(allowed), -1, 0, run.remaining, run.hidden
        self._table[row] = *first, 0.0, 0.0, 1.0, 0.0, 0.0, view.arrival_s(job), view.weight(job)
        if run.started:
            self.change(run)

    def change(self, run: PresentJob) -> None:
        """Update the row of a job that has changed its units."""
        row = self._table[self._row(run.job)]
        row["held"], row["rest"], row["since"], row["pause"] = run.units, run.remaining, run.since, run.pause_s
        row["time"], row["attained"], row["restart"] = run.time_s, run.attained, run.restart_s

    def remove(self, job: int) -> None:
        """Remove the row of a job that has gone."""
        row, rows = self._row(job), self._now
        if rows["base"][row] >= 0:
            self._dead += int(rows["many"][row])
        rows[row:-1] = rows[row + 1 :]
        del self._order[row]

    def _row(self, job: int) -> int:
        return bisect_left(self._order, (self._view.arrival_s(job), job))

    def _refuse_many(self, pairs: int, limit: int | None) -> None:
        if limit is not None and pairs > limit:
            raise too_many_pairs(pairs, self._view.now_s)


def too_many_pairs(pairs: int, now_s: float) -> UsageError:
    """The error of a policy that would have to weigh too many pairs of job and count."""
    return UsageError(found=f"{pairs} pairs of job and count at {now_s!r} s", allowed=LARGEST_PAIRS, limit="max_gpus")
