"""What a policy is, what it sees of a stream, and what it may not see.

Jobs are named by their position in the instance. A policy knows the present: the jobs that have arrived and not ended,
what they hold, their epochs to the nominal end, their speeds. Where jobs really end (``stops_at``) and which are still to
come it may ask only when its ``clairvoyant`` is true; a policy without one is not.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Generic, Protocol, TypeAlias, TypeVar

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick
from dlsched.core.ticks import LEAST, first_tick
from dlsched.elastic_stream.instance import EarlyStop, Instance
from dlsched.elastic_stream.simulation.present_jobs import PresentJob


class Policy(Protocol):
    """Decides, whenever it is asked, how many units each job holds from now on.

    It is asked at every arrival and end of a job, at ticks, and when it asked to be (``View.wake_at``). A new stream
    needs a new policy: it may remember what it has seen. One with an attribute ``timeless`` that is true answers the same
    until the next job comes or goes, and is not asked at the ticks in between.
    """

    clairvoyant: bool
    """Whether it uses what no scheduler can know: ``View.true_left`` and ``View.to_come``."""

    def decide(self, view: "View") -> Mapping[int, int]:
        """Return units by job; a job that is not named keeps what it holds, 0 lets it wait."""


PolicyLike: TypeAlias = Policy | type[Policy]
"""A policy, or its class, which is called with nothing."""


class View:
    """What a policy sees when it is asked.

    Attributes
    ----------
    now_s, passed_s, units
        The time; seconds since the first arrival, with more digits where only differences of times matter; the units of
        the cluster.
    arrived, ended
        Positions of the jobs that came and went since the policy was last asked.
    weighted
        Whether weights are given.
    wake_s
        When the policy asked to be asked again, None when it did not; set by ``wake_at``.
    tick
        To be called in loops that may take long; it raises when a limit is reached.
    """

    def __init__(self, instance: Instance, present: dict[int, PresentJob], clairvoyant: bool, tick: Tick) -> None:
        self._instance, self._present, self._clairvoyant = instance, present, clairvoyant
        first_s = min(job.arrival_s for job in instance.jobs)
        self._scale_s = instance.tick_s or 1.0
        self._zero = self._clock = first_s if instance.tick_s is None else float(first_tick(first_s, instance.tick_s))
        self.units, self.tick, self.weighted = instance.units, tick, instance.weighted
        self.now_s = self.passed_s = 0.0
        self.arrived: list[int] = []
        self.ended: list[int] = []
        self.wake_s: float | None = None
        self.cached: Arrays | None = None  # since it was first asked for; the simulator writes there

    @property
    def arrays(self) -> "Arrays":
        """The jobs present as NumPy arrays, in order of arrival: for policies that look at all of them at once."""
        if self.cached is None:
            self.cached = Arrays(self)
            for run in self._present.values():
                self.cached.add(run)
        return self.cached

    def set_clock(self, clock: float) -> None:
        """Set the time: seconds, or with ticks their number; the simulator's."""
        self._clock = clock
        self.now_s, self.passed_s = clock * self._scale_s, (clock - self._zero) * self._scale_s

    def _elapsed_s(self, run: PresentJob) -> float:
        return (self._clock - run.since) * self._scale_s

    def since_s(self, clock: FloatArray) -> FloatArray:
        """Seconds since times by the simulator's clock."""
        return (self._clock - clock) * self._scale_s

    def __iter__(self) -> Iterator[int]:
        """Positions of the jobs that are present, in order of arrival."""
        return iter(self._present)

    def __len__(self) -> int:
        return len(self._present)

    def held(self, job: int) -> int:
        """Units that the job holds."""
        return self._present[job].units

    def left(self, job: int) -> float:
        """Epochs that the job has left to its nominal end."""
        run = self._present[job]
        return run.left_after(self._elapsed_s(run)) + run.hidden

    def allowed(self, job: int) -> Sequence[int]:
        """Counts of units that the job may hold, ascending."""
        return self._instance.counts(job)

    def useful(self, job: int) -> Sequence[int]:
        """Allowed counts, ascending, without those of a law beyond its fastest."""
        return self._instance.jobs[job].useful_counts(self.units)

    def fastest(self, job: int) -> int:
        """Return the smallest count at which the job is fastest."""
        return self._instance.jobs[job].fastest_count(self.units)

    def arrival_s(self, job: int) -> float:
        """When the job arrived."""
        return self._instance.jobs[job].arrival_s

    def epochs(self, job: int) -> float:
        """Epochs of the whole job, to its nominal end."""
        return self._instance.jobs[job].epochs

    def weight(self, job: int) -> float:
        """Weight of the job's flow time, 1 where none is given."""
        return self._instance.jobs[job].weight

    def restart_s(self, job: int) -> float:
        """Seconds of the pause that the job's next change of units costs."""
        run = self._present[job]
        return run.restart_s if run.started else 0.0

    def epoch_time_s(self, job: int, units: int) -> float:
        """Seconds per epoch on an allowed count of units."""
        times = self._present[job].times
        time_s = times.get(units)
        if time_s is None:
            time_s = times[units] = self._instance.jobs[job].speed.epoch_time_s(units)
        return time_s

    def pause_s(self, job: int, units: int) -> float:
        """Seconds without progress if it holds ``units`` from now on: what is left of its pause, or a new one."""
        run = self._present[job]
        if units != run.units:
            return self.restart_s(job)
        return max(0.0, run.pause_s - self._elapsed_s(run)) if units else 0.0

    def time_left_s(self, job: int, units: int) -> float:
        """Seconds to its nominal end if it holds ``units`` from now on, its pause included."""
        return self.pause_s(job, units) + self.left(job) * self.epoch_time_s(job, units)

    def time_left_stopped_s(self, job: int, units: int) -> float:
        """Seconds to its nominal end on ``units`` once it is stopped and goes on: ``time_left_s`` with a new pause."""
        return self.restart_s(job) + self.left(job) * self.epoch_time_s(job, units)

    def attained(self, job: int) -> float:
        """Unit-seconds that the job has held so far."""
        run = self._present[job]
        return run.attained + run.units * self._elapsed_s(run) if run.units else run.attained

    def early_stop(self, job: int) -> tuple[EarlyStop, ...]:
        """What is known of where the job may end early."""
        return self._instance.jobs[job].early_stop

    def wake_at(self, time_s: float) -> None:
        """Ask to be asked again at a time, at the latest (with ticks: at the next tick after it)."""
        if time_s > self.now_s and (self.wake_s is None or time_s < self.wake_s):
            self.wake_s = time_s

    def true_left(self, job: int) -> float:
        """Epochs to its real end; UsageError unless the policy is clairvoyant."""
        self._require_clairvoyance("true_left")
        run = self._present[job]
        return run.left_after(self._elapsed_s(run))

    def to_come(self) -> list[int]:
        """Jobs that have not arrived yet, in order of arrival; UsageError unless the policy is clairvoyant."""
        self._require_clairvoyance("to_come")
        here, now_s = self._present, self.now_s
        arrivals = enumerate(job.arrival_s for job in self._instance.jobs)
        return [job for arrival_s, job in sorted((a, j) for j, a in arrivals if a > now_s and j not in here)]

    def _require_clairvoyance(self, name: str) -> None:
        if not self._clairvoyant:
            raise UsageError(where=name, found="a policy that is not clairvoyant", allowed="one that says so")


LARGEST_PAIRS = 2**18
"""Most pairs of a job and a count that are considered at once."""

_FEW = 4096  # pairs of gone jobs that may be kept, besides as many as there are of present jobs
_WHOLE = ("job", "held", "least", "most", "choices", "base", "many")
_REAL = ("rest", "hidden", "since", "pause", "time", "attained", "restart", "arrival", "weight")
_ROW = np.dtype([(name, np.int64) for name in _WHOLE] + [(name, np.float64) for name in _REAL])


ArrayT = TypeVar("ArrayT", IntArray, FloatArray)


class _Column(Generic[ArrayT]):
    """A field of the table of ``Arrays`` as one of its attributes."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, arrays: "Arrays", owner: object) -> ArrayT:
        return arrays._now[self._name]


class Arrays:
    """Present jobs in order of arrival; read-only arrays of shape (n,) unless said otherwise, valid until the next event.

    The simulator writes a job's row when the job comes, changes its units, or goes. Values that change with time (``left``,
    ``attained``, ``pause_s``) are computed for all rows on request, with the same bits as the view's value of each job.
    """

    jobs = _Column[IntArray]("job")  # positions in the instance
    held = _Column[IntArray]("held")  # units
    least = _Column[IntArray]("least")  # smallest allowed count
    most = _Column[IntArray]("most")  # largest allowed count
    choices = _Column[IntArray]("choices")  # number of allowed counts
    arrival_s = _Column[FloatArray]("arrival")
    weight = _Column[FloatArray]("weight")
    restart_s = _Column[FloatArray]("restart")  # pause that the next change of units costs

    def __init__(self, view: View) -> None:
        self._view = view
        self._table = np.zeros(64, dtype=_ROW)
        self._order: list[tuple[float, int]] = []  # arrival and position of each row
        self._gone: list[int] = []  # rows of jobs that went since the table was last looked at
        # jobs whose pairs are kept: counts and times, each job's from ``base`` on
        self._counts_of: Callable[[View, int], Sequence[int]] | None = None
        self._counts, self._times, self._end, self._dead = np.zeros(64, dtype=np.int64), np.zeros(64), 0, 0

    def __len__(self) -> int:
        return len(self._order) - len(self._gone)

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
        counts: Callable[[View, int], Sequence[int]] | None = None,
        *,
        limit: int | None = LARGEST_PAIRS,
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Counts of some jobs (``rows``, ascending; None: all) and their seconds per epoch, shape (P,) each, after ``starts``.

        ``starts``, shape (r + 1,): pairs of the i-th job are ``starts[i]`` to ``starts[i + 1] - 1``. ``counts``: from view and
        job to counts that never change; None: ``View.useful``. UsageError: more pairs than ``limit`` (None: any number).
        """
        counts = counts or View.useful
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

    def take(self, rows: IntArray) -> "Arrays":
        """A copy of some rows, for their values only."""
        some = copy(self)
        some._table, some._order = self._now[rows], self._order[:1] * len(rows)
        return some

    def changes(self, units: IntArray) -> dict[int, int]:
        """The answer that gives each row's job these units: it names the jobs that hold others."""
        rows = np.flatnonzero(units != self.held)
        return dict(zip(self.jobs[rows].tolist(), units[rows].tolist(), strict=True))

    @property
    def _now(self) -> "np.ndarray[tuple[int], np.dtype[np.void]]":
        if self._gone:
            first, last = min(self._gone), len(self._order)
            stay = np.delete(np.arange(first, last), np.array(self._gone) - first)
            self._table[first : first + len(stay)] = self._table[stay]
            for row in sorted(self._gone, reverse=True):
                del self._order[row]
            self._gone.clear()
        return self._table[: len(self._order)]

    @property
    def _elapsed_s(self) -> FloatArray:
        return self._view.since_s(self._now["since"])

    def _keep_pairs(self, rows: IntArray, counts: Callable[[View, int], Sequence[int]], limit: int | None) -> None:
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
        view, job = self._view, run.job
        allowed = view.allowed(job)
        if len(self._order) == len(self._table) and 2 * len(self._now) > len(self._table):
            self._table = np.concatenate((self._table, np.zeros_like(self._table)))
        row = len(self._order)
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
        row = self._row(job)
        if self._table["base"][row] >= 0:
            self._dead += int(self._table["many"][row])
        self._gone.append(row)

    def _row(self, job: int) -> int:
        return bisect_left(self._order, (self._view.arrival_s(job), job))

    def _refuse_many(self, pairs: int, limit: int | None) -> None:
        if limit is not None and pairs > limit:
            raise too_many_pairs(pairs, self._view.now_s)


def too_many_pairs(pairs: int, now_s: float) -> UsageError:
    """The error of a policy that would have to weigh too many pairs of job and count."""
    return UsageError(found=f"{pairs} pairs of job and count at {now_s!r} s", allowed=LARGEST_PAIRS, limit="max_gpus")
