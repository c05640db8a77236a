"""The instance of elastic_stream: malleable training jobs that arrive over time and share the units of a cluster.

====================  =====================================================================================
code                  mathematics
====================  =====================================================================================
``units``             C, units (GPUs, nodes) of the cluster
``tick_s``            D: decisions only at multiples of it, units held to the next one; None: at any time
``jobs``              1 .. J
``arrival_s``         r_j >= 0
``epochs``            Q_j, epochs of the whole job, >= 0
``counts``            W_j, the allowed counts of units
``speed``             tau_j(w), seconds per epoch on w units; f_j(w) = 1 / tau_j(w)
``restart_s``         seconds without progress at the start of every period of the job but its first
``stops_at``          the fraction of its work at which the job really ends; no policy sees it
``early_stop``        what policies may know of it: fractions and their probabilities
``work``              stops_at x Q_j, epochs that the job really runs
====================  =====================================================================================
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, Field, model_validator

from dlsched.cluster.training_job import TrainingJob
from dlsched.core.instance import STRICT, Count, InstanceFile, NonNegative, Positive, require_unique_ids
from dlsched.core.messages import Refused
from dlsched.core.tolerance import rounding

_ROUNDING = 1e-9  # by which probabilities may add up to more than 1
_SHORTEST_TICK = 1e-9  # of the last arrival, and of a job on its fastest count
_LEAST, _MOST = 1e-100, 1e100
_MODERATE = "from 1e-100 to 1e100"


class EarlyStop(BaseModel):
    """One way in which a job may end early: at this fraction of its work, with this probability."""

    model_config = STRICT

    fraction: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
    probability: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


class Job(TrainingJob):
    """A malleable training job that arrives some time; its speeds are given by ``epoch_time_s`` or ``speed_law``.

    Parameters
    ----------
    id, epochs, epoch_time_s, speed_law, max_gpus
        As in ``cluster.training_job.TrainingJob``: name, epochs, and speeds on the allowed counts of units.
    arrival_s
        Seconds after the start of the stream at which it arrives, >= 0.
    restart_s
        Seconds without progress, units held, at the start of every period but the first, >= 0.
    stops_at
        Fraction of its epochs at which it really ends, in (0, 1]; hidden from policies.
    early_stop
        Distribution of that fraction as far as policies may know it; the rest of the probability runs to the end.
    """

    arrival_s: NonNegative
    restart_s: NonNegative = 0.0
    stops_at: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 1.0
    early_stop: Annotated[tuple[EarlyStop, ...], Field(strict=False)] = ()

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
    nullable: ClassVar[frozenset[str]] = frozenset({"tick_s"})

    units: Count
    tick_s: Positive | None = None
    jobs: Annotated[tuple[Job, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        require_unique_ids([job.id for job in self.jobs], "jobs")
        last_s = max(job.arrival_s for job in self.jobs)
        if self.tick_s is not None:
            if self.tick_s < _SHORTEST_TICK * last_s:
                raise Refused(repr(self.tick_s), f"at least 1e-9 of the last arrival, {last_s!r}", "tick_s")
            if not _LEAST <= self.tick_s <= _MOST:
                raise Refused(repr(self.tick_s), f"seconds {_MODERATE}", "tick_s")
        for place, job in enumerate(self.jobs):
            for name, seconds in (("arrival_s", job.arrival_s), ("restart_s", job.restart_s)):
                if seconds > _MOST:
                    raise Refused(repr(seconds), "at most 1e100 s", "jobs", place, name)
            if job.epochs > 0:
                self._require_moderate(place, job)
        return self

    def _require_moderate(self, place: int, job: Job) -> None:
        """Refuse numbers of which floats lose products or differences, and a tick that dwindles beside the job."""
        slowest, fastest = max(job.slowest_s(self.units)), self._fastest_epoch_s(job)
        for found, value in (
            (f"{job.work!r} epochs", job.work),
            (f"{fastest!r} s per epoch", fastest),
            (f"{slowest!r} s per epoch", slowest),
            (f"{job.work * fastest!r} s of work", job.work * fastest),
            (f"{job.epochs * slowest!r} s of work", job.epochs * slowest),
        ):
            if not _LEAST <= value <= _MOST:
                raise Refused(found, f"epochs, seconds per epoch and seconds of work {_MODERATE}", "jobs", place)
        if self.tick_s is not None and self.tick_s < _SHORTEST_TICK * job.work * fastest:
            allowed = f"at least 1e-9 of the work of jobs[{place}] on its fastest count, {job.work * fastest!r} s"
            raise Refused(repr(self.tick_s), allowed, "tick_s")

    def _fastest_epoch_s(self, job: Job) -> float:
        if job.epoch_time_s is not None:
            return min(job.epoch_time_s.times_s)
        assert job.speed_law is not None
        return job.speed_law.epoch_time_s(job.speed_law.largest_useful_count(job.counts(self.units)[-1]))

    def counts(self, job: int) -> Sequence[int]:
        """Allowed counts of the job at that position that the cluster has, ascending; empty when it has too few units."""
        record = self.jobs[job]
        if record.epoch_time_s is None:
            return range(1, min(record.max_gpus or self.units, self.units) + 1)
        counts = record.epoch_time_s.counts
        return counts if counts[-1] <= self.units else tuple(count for count in counts if count <= self.units)

    def useful_counts(self, job: int) -> Sequence[int]:
        """Allowed counts of the job that the cluster has, ascending, without those of a law beyond its fastest."""
        counts, law = self.counts(job), self.jobs[job].speed_law
        return counts if law is None else range(1, law.largest_useful_count(counts[-1]) + 1)

    def first_slot(self, job: int) -> int:
        """First slot (t for the one from t tick_s on) that begins at or after the arrival of a job, rounding left out."""
        assert self.tick_s is not None
        arrival_s = self.jobs[job].arrival_s
        nearest = round(arrival_s / self.tick_s)
        return nearest if arrival_s <= nearest * self.tick_s + rounding(arrival_s) else nearest + 1

    def wait_s(self, job: int) -> float:
        """Seconds from the arrival of a job to its first slot: what ticks make it wait; 0 without, or without work."""
        record = self.jobs[job]
        if self.tick_s is None or record.work == 0:
            return 0.0
        return max(0.0, float(self.first_slot(job) * Fraction(self.tick_s) - Fraction(record.arrival_s)))

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of every job by its id."""
        return {job.id: place for place, job in enumerate(self.jobs)}

    def canonical_data(self) -> dict[str, Any]:
        """Return what the hash covers; a ``max_gpus`` equal to ``units`` is the default and left out."""
        data = super().canonical_data()
        for job in data["jobs"]:
            if job.get("max_gpus") == self.units:
                del job["max_gpus"]
        return data
