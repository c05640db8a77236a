"""The instance of elastic_stream: malleable training jobs that arrive over time and share the units of a cluster.

====================  =====================================================================================
code                  mathematics
====================  =====================================================================================
``units``             C, units (GPUs, nodes) of the cluster
``tick_s``            D: decisions only at multiples of it, units held to the next one; None: at any time
``jobs``              1 .. J
``arrival_s``         r_j >= 0
``weight``            omega_j > 0, of the job's flow time
``epochs``            Q_j, epochs of the whole job, >= 0
``counts``            W_j, the allowed counts of units
``speed``             a table or a law: its ``epoch_time_s(w)`` is tau_j(w), seconds per epoch; f_j(w) = 1 / tau_j(w)
``restart_s``         seconds without progress at the start of every period of the job but its first
``stops_at``          the fraction of its work at which the job really ends; no policy sees it
``early_stop``        what policies may know of it: fractions and their probabilities
``work``              stops_at x Q_j, epochs that the job really runs
====================  =====================================================================================
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar, Self, Unpack

from pydantic import Field, model_validator

from dlsched.cluster.training_job import Training, TrainingJob
from dlsched.core.instance import Count, Head, InstanceFile, NonNegative, Positive, require_unique_ids
from dlsched.core.messages import Refused
from dlsched.core.part import Data, Part
from dlsched.core.ranges import MODERATE, Range, Ranges
from dlsched.core.ticks import first_tick

RANGES: Ranges = {
    "tick_s": Range(allowed=MODERATE, usual=(60.0, 60.0), searched=(100.0, 100.0), ties=(8, 10, 16)),
    "jobs[].epochs": Range(ties=(0, 0.5, 1, 1, 2), nasty=(1, 1, 3, 0.1, 1e-9, 1e9, 0)),
    "jobs[].epoch_time_s{}": Range(searched=(100.0, 600.0), ties=(2, 5, 8, 10, 12, 16, 24, 30, 45)),
    "jobs[].speed_law.theta[]": Range(ties=(0, 8, 20), edges=(0, 1, 4)),
    "jobs[].speed_law.samples": Range(ties=(1,)),
    "jobs[].speed_law.model_bytes": Range(ties=(0,)),
    "jobs[].arrival_s": Range(allowed=(0, 1e100), searched=(0.0, 300.0)),
    "jobs[].restart_s": Range(allowed=(0, 1e100), usual=(10, 60), ties=(0, 1, 3), edges=(20,)),
    "jobs[].weight": Range(allowed=MODERATE, ties=(0.5, 1, 1, 2, 3, 16), nasty=(1, 1, 2, 3, 1 + 1e-9, 1e-9, 1e9)),
    "jobs[].stops_at": Range(choices=(0.05, 0.25, 1), ties=(0.25, 0.5), nasty=(0.25, 0.3, 1e-3)),
    "jobs[].early_stop[].fraction": Range(choices=(0.05, 0.25), ties=(0.5,)),
    "jobs[].early_stop[].probability": Range(choices=(0.5, 0.3), ties=(0.5,)),
}

_ROUNDING = 1e-9  # by which probabilities may add up to more than 1
_SHORTEST_TICK = 1e-9  # of the last arrival, and of a job on its fastest count
_LEAST, _MOST = MODERATE
_MODERATE = "from 1e-100 to 1e100"
_ALLOWED = {"arrival_s": "at most 1e100 s", "restart_s": "at most 1e100 s", "weight": f"a number {_MODERATE}"}


class EarlyStop(Part):
    """One way in which a job may end early: at this fraction of its work, with this probability."""

    fraction: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
    probability: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class Job(TrainingJob):
    """A malleable training job that arrives some time; its speeds are given by ``epoch_time_s`` or ``speed_law``.

    To the fields of a ``TrainingJob`` it adds ``arrival_s`` and ``restart_s``, seconds >= 0; ``weight``, > 0, of its flow
    time; ``stops_at``, in (0, 1] and hidden from policies; and ``early_stop``, the distribution of it as far as policies may
    know it, of which the rest of the probability runs to the end.
    """

    arrival_s: NonNegative
    restart_s: NonNegative = 0.0
    weight: Positive = 1.0
    stops_at: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 1.0
    early_stop: Annotated[tuple[EarlyStop, ...], Field(strict=False)] = ()

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            arrival_s: float,
            restart_s: float = 0.0,
            weight: float = 1.0,
            stops_at: float = 1.0,
            early_stop: Sequence[EarlyStop | Data] = (),
            **training: Unpack[Training],
        ) -> None: ...

    @model_validator(mode="after")
    def _probabilities(self) -> Self:
        if math.fsum(stop.probability for stop in self.early_stop) > 1 + _ROUNDING:
            raise Refused("probabilities that add up to more than 1", "at most 1", "early_stop")
        return self

    @property
    def work(self) -> float:
        """Epochs that the job really runs: ``stops_at`` x ``epochs``."""
        return self.stops_at * self.epochs


class Instance(InstanceFile):
    """Jobs that arrive over time, and the units they share.

    Raises
    ------
    InstanceError
        Names the field, what was found and what is allowed.

    >>> Instance(name="one", units=4, jobs=[Job(id="a", arrival_s=5, epochs=10, epoch_time_s={1: 9.0, 8: 5.0})]).counts(0)
    (1,)
    """

    family: ClassVar[str] = "elastic_stream"
    default_count: ClassVar[tuple[str, str]] = ("max_gpus", "units")
    nullable: ClassVar[frozenset[str]] = frozenset({"tick_s"})

    units: Count
    tick_s: Positive | None = None
    jobs: Annotated[tuple[Job, ...], Field(strict=False, min_length=1)]

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            units: int,
            tick_s: float | None = None,
            jobs: Sequence[Job | Data],
            **head: Unpack[Head],
        ) -> None: ...

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        require_unique_ids([job.id for job in self.jobs], "jobs")
        last_s = max(job.arrival_s for job in self.jobs)
        if self.tick_s is not None:
            if self.tick_s < _SHORTEST_TICK * last_s:
                raise Refused(repr(self.tick_s), f"at least 1e-9 of the last arrival, {last_s!r}", "tick_s")
            if not RANGES["tick_s"].allows(self.tick_s):
                raise Refused(repr(self.tick_s), f"seconds {_MODERATE}", "tick_s")
        for index, job in enumerate(self.jobs):
            for name, allowed in _ALLOWED.items():
                if not RANGES[f"jobs[].{name}"].allows(getattr(job, name)):
                    raise Refused(repr(getattr(job, name)), allowed, "jobs", index, name)
            if job.epochs > 0:
                self._require_moderate(index, job)
        return self

    def _require_moderate(self, index: int, job: Job) -> None:
        """Refuse numbers of which floats lose products or differences, and a tick that dwindles beside the job."""
        slowest = max(job.slowest_s(self.units))
        table = job.epoch_time_s
        fastest = job.speed.epoch_time_s(job.fastest_count(self.units)) if table is None else min(table.times_s)
        for found, value in (
            (f"{job.work!r} epochs", job.work),
            (f"{fastest!r} s per epoch", fastest),
            (f"{slowest!r} s per epoch", slowest),
            (f"{job.work * fastest!r} s of work", job.work * fastest),
            (f"{job.epochs * slowest!r} s of work", job.epochs * slowest),
        ):
            if not _LEAST <= value <= _MOST:
                raise Refused(found, f"epochs, seconds per epoch and seconds of work {_MODERATE}", "jobs", index)
        if self.tick_s is not None and self.tick_s < _SHORTEST_TICK * job.work * fastest:
            allowed = f"at least 1e-9 of the work of jobs[{index}] on its fastest count, {job.work * fastest!r} s"
            raise Refused(repr(self.tick_s), allowed, "tick_s")

    def counts(self, job: int) -> Sequence[int]:
        """Allowed counts of the job at that position that the cluster has, ascending; empty when it has too few units."""
        return self.jobs[job].fitting_counts(self.units)

    def fastest_s(self, job: int) -> float:
        """Seconds of the job's work on its fastest count, without pauses."""
        record = self.jobs[job]
        return record.work and record.work * record.speed.epoch_time_s(record.fastest_count(self.units))

    def first_slot(self, job: int) -> int:
        """First slot (t for the one from t tick_s on) that begins at or after the arrival of a job, rounding left out."""
        assert self.tick_s is not None
        return first_tick(self.jobs[job].arrival_s, self.tick_s)

    def release_s(self, job: int) -> Fraction:
        """When the job can first hold units, exactly: its arrival, or with ticks, if it has work, its first slot."""
        record = self.jobs[job]
        if self.tick_s is None or record.work == 0:
            return Fraction(record.arrival_s)
        return self.first_slot(job) * Fraction(self.tick_s)

    def wait_s(self, job: int) -> Fraction:
        """Seconds from the job's arrival to its release, exactly; an arrival that is a tick but for rounding is one."""
        return max(Fraction(0), self.release_s(job) - Fraction(self.jobs[job].arrival_s))

    @property
    def weighted(self) -> bool:
        """Whether some job has another weight than 1."""
        return any(job.weight != 1 for job in self.jobs)

    @property
    def even(self) -> Self:
        """The instance, with weights of 1 where all jobs weigh the same: the mean stays, and nothing is rounded by weights."""
        alike = len({job.weight for job in self.jobs}) == 1
        if not alike or not self.weighted:
            return self
        jobs = tuple(job.model_copy(update={"weight": 1.0}) for job in self.jobs)
        return self.model_copy(update={"jobs": jobs})

    @property
    def total_weight(self) -> float:
        """Sum of all weights: the number of jobs where none has one."""
        return math.fsum(job.weight for job in self.jobs)
