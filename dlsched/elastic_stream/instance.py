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
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, Field, model_validator

from dlsched.cluster.training_job import TrainingJob
from dlsched.core.instance import STRICT, Count, InstanceFile, NonNegative, Positive, require_unique_ids
from dlsched.core.messages import Refused

_ROUNDING = 1e-9  # by which probabilities may add up to more than 1
_SHORTEST_TICK = 1e-9  # of the last arrival


def rounding_s(time_s: float) -> float:
    """Seconds by which two ways to compute a time may differ: a few units in its last place."""
    return 1e-12 + 16 * 2.0**-52 * abs(time_s)


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
        if self.tick_s is not None and self.tick_s < _SHORTEST_TICK * last_s:
            raise Refused(repr(self.tick_s), f"at least 1e-9 of the last arrival, {last_s!r}", "tick_s")
        total = 2 * len(self.jobs) * (self.tick_s or 0.0)
        if not math.isfinite(total):
            raise Refused(repr(self.tick_s), "a tick with which times are finite", "tick_s")
        for place, job in enumerate(self.jobs):
            total += job.arrival_s + sum(job.epochs * time + job.restart_s for time in job.slowest_s(self.units))
            if not math.isfinite(total):
                raise Refused(
                    "times that overflow", "arrivals and durations that add up to a finite number", "jobs", place
                )
        return self

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
        return nearest if arrival_s <= nearest * self.tick_s + rounding_s(arrival_s) else nearest + 1

    def ready_s(self, job: int) -> float:
        """When a job can first hold units: its arrival, with ticks the first one after it unless it has no work."""
        record = self.jobs[job]
        if self.tick_s is None or record.work == 0:
            return record.arrival_s
        return max(record.arrival_s, self.first_slot(job) * self.tick_s)

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
