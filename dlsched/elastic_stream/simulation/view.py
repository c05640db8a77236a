"""What a policy is, what it sees of a stream, and what it may not see.

Jobs are named by their position in the instance. A policy knows the present: the jobs that have arrived and not ended,
what they hold, their epochs to the nominal end, their speeds. Where jobs really end (``stops_at``) and which are still to
come it may ask only when its ``clairvoyant`` is true; a policy without one is not.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

from dlsched.core.arrays import FloatArray
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick
from dlsched.core.ticks import first_tick
from dlsched.elastic_stream.instance import EarlyStop, Instance
from dlsched.elastic_stream.simulation.present_jobs import Arrays, PresentJob


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
        ...


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
        self.cached: Arrays[View] | None = None  # since it was first asked for; the simulator writes there

    @property
    def arrays(self) -> "Arrays[View]":
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
