"""The instance of ring_allocation: jobs that share the GPUs of a cluster, and how fast each runs on how many.

====================  =====================================================================================
code                  mathematics
====================  =====================================================================================
``gpus``              C, GPUs of the cluster
``jobs``              1 .. J
``epochs``            Q_j, epochs left, >= 0
``counts``            W_j, the allowed counts of GPUs
``speed``             tau_j(w), seconds per epoch on w GPUs: a table, or a law on 1 .. ``max_gpus``
``weight``            omega_j > 0
``current_gpus``      w^0_j, the count it runs on now; None: it does not run, and no restart is charged
``restart_s``         rho_j, seconds that a change of its count costs
====================  =====================================================================================
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, Field, model_validator

from dlsched.cluster.speed_law import SpeedLaw
from dlsched.cluster.speed_table import SpeedTable
from dlsched.core.instance import STRICT, Count, InstanceFile, Name, NonNegative, Positive
from dlsched.core.messages import Refused


class Job(BaseModel):
    """A ring all-reduce training job; its speeds are given by ``epoch_time_s`` or by ``speed_law``, not both.

    Parameters
    ----------
    id
        Its name, unique in the instance.
    epochs
        Epochs left, >= 0.
    epoch_time_s
        Seconds per epoch by number of GPUs; its keys are exactly the allowed counts.
    speed_law
        Seconds per epoch as a law; the allowed counts are 1 .. ``max_gpus``.
    max_gpus
        Largest count that a law allows; None: all GPUs of the cluster.
    weight
        Weight of the time it has left, > 0.
    current_gpus
        The count it runs on now, or None.
    restart_s
        Seconds a change of its count costs, >= 0; charged only when ``current_gpus`` is given.
    """

    model_config = STRICT

    id: Name
    epochs: NonNegative
    epoch_time_s: SpeedTable | None = None
    speed_law: SpeedLaw | None = None
    max_gpus: Count | None = None
    weight: Positive = 1.0
    current_gpus: Count | None = None
    restart_s: NonNegative = 0.0

    @model_validator(mode="after")
    def _one_way_to_give_speeds(self) -> Self:
        if self.epoch_time_s is not None and self.speed_law is not None:
            raise Refused("epoch_time_s and speed_law", "one of the two")
        if self.epoch_time_s is None and self.speed_law is None:
            raise Refused("neither epoch_time_s nor speed_law", "one of the two")
        if self.epoch_time_s is not None and self.max_gpus is not None:
            raise Refused("a number beside epoch_time_s", "max_gpus only with speed_law", "max_gpus")
        return self

    @property
    def speed(self) -> SpeedTable | SpeedLaw:
        """The speeds, however they were given; both kinds have ``epoch_time_s(w)`` and ``exact_epoch_time_s(w)``."""
        speed = self.epoch_time_s if self.speed_law is None else self.speed_law
        assert speed is not None
        return speed


class Instance(InstanceFile):
    """Jobs and the GPUs they share.

    Raises
    ------
    InstanceError
        Names the field, what was found and what is allowed.

    >>> Instance(name="one", gpus=4, jobs=[Job(id="a", epochs=10, epoch_time_s={1: 9.0, 2: 5.0})]).counts(0)
    (1, 2)
    """

    family: ClassVar[str] = "ring_allocation"

    gpus: Count
    jobs: Annotated[tuple[Job, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if len({job.id for job in self.jobs}) < len(self.jobs):
            first: dict[str, int] = {}
            for place, job in enumerate(self.jobs):
                if first.setdefault(job.id, place) != place:
                    raise Refused(
                        f"{job.id[:60]!r}, the id of jobs[{first[job.id]}] too", "unique ids", "jobs", place, "id"
                    )
        total = 0.0
        for place, job in enumerate(self.jobs):
            total += sum(job.weight * (job.epochs * time + job.restart_s) for time in self._slowest_s(place, job))
            if not math.isfinite(total):
                allowed = "weight (epochs time + restart) that adds up to a finite number"
                raise Refused("times that overflow", allowed, "jobs", place)
        return self

    def _slowest_s(self, place: int, job: Job) -> tuple[float, ...]:
        """Slowest time of a table; of a law its ends, between which it is convex or monotone."""
        if job.epoch_time_s is not None:
            return (max(job.epoch_time_s.times_s),)
        return job.speed.epoch_time_s(1), job.speed.epoch_time_s(self.counts(place)[-1])

    def counts(self, job: int) -> Sequence[int]:
        """Allowed counts of GPUs of the job at that position, ascending."""
        record = self.jobs[job]
        if record.epoch_time_s is not None:
            return record.epoch_time_s.counts
        return range(1, (record.max_gpus or self.gpus) + 1)

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of every job by its id."""
        return {job.id: place for place, job in enumerate(self.jobs)}

    @property
    def minimum_gpus(self) -> int:
        """Sum of the smallest allowed counts; when it exceeds ``gpus``, no allocation exists."""
        return sum(self.counts(job)[0] for job in range(len(self.jobs)))

    def canonical_data(self) -> dict[str, Any]:
        """Return what the hash covers; a ``max_gpus`` equal to ``gpus`` is the default and left out."""
        data = super().canonical_data()
        for job in data["jobs"]:
            if job.get("max_gpus") == self.gpus:
                del job["max_gpus"]
        return data
