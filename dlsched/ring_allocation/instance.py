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
from typing import TYPE_CHECKING, Annotated, ClassVar, Self, Unpack

from pydantic import Field, model_validator

from dlsched.cluster.training_job import Training, TrainingJob
from dlsched.core.instance import Count, Head, InstanceFile, NonNegative, Positive, require_unique_ids
from dlsched.core.messages import Refused
from dlsched.core.part import Data
from dlsched.core.ranges import LARGEST_COUNT, Range, Ranges

if TYPE_CHECKING:
    from dlsched.ring_allocation.arrays import JobArrays

RANGES: Ranges = {
    "jobs[].epochs": Range(usual=(5.0, 300.0), ties=(0.0, 1.0), tested=(1, 200)),
    "jobs[].epoch_time_s{}": Range(searched=(1.0, 1000.0), tested=(1, 400)),
    "jobs[].speed_law.theta[]": Range(usual=(1e-4, 1e-2), ties=(0.0,), tested=(1, 9)),
    "jobs[].speed_law.samples": Range(usual=(10_000, 1_299_999), tested=(1, 300)),
    "jobs[].speed_law.model_bytes": Range(usual=(1e7, 1e9), tested=(0, 40)),
    "jobs[].max_gpus": Range(nasty=(1, 3, 10**6, LARGEST_COUNT)),
    "jobs[].weight": Range(ties=(2.0, 3.0), edges=(0.25, 0.5, 2.0, 3.0, 8.0)),
    "jobs[].restart_s": Range(usual=(10.0, 10.0), tested=(0, 100)),
}


class Job(TrainingJob):
    """A ring all-reduce training job; its speeds are given by ``epoch_time_s`` or by ``speed_law``, not both.

    Parameters
    ----------
    id, epochs, epoch_time_s, speed_law, max_gpus
        As in ``cluster.training_job.TrainingJob``: name, epochs left, and speeds on the allowed counts.
    weight
        Weight of the time it has left, > 0.
    current_gpus
        The count it runs on now, or None.
    restart_s
        Seconds a change of its count costs, >= 0; charged only when ``current_gpus`` is given.
    """

    weight: Positive = 1.0
    current_gpus: Count | None = None
    restart_s: NonNegative = 0.0

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            weight: float = 1.0,
            current_gpus: int | None = None,
            restart_s: float = 0.0,
            **training: Unpack[Training],
        ) -> None: ...


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
    default_count: ClassVar[tuple[str, str]] = ("max_gpus", "gpus")

    gpus: Count
    jobs: Annotated[tuple[Job, ...], Field(strict=False, min_length=1)]

    if TYPE_CHECKING:

        def __init__(self, *, gpus: int, jobs: Sequence[Job | Data], **head: Unpack[Head]) -> None: ...

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        require_unique_ids([job.id for job in self.jobs], "jobs")
        # only where the sum of all times overflows does each job need a look
        if math.isfinite(self.at_most_s()):
            return self
        total = 0.0
        for index, job in enumerate(self.jobs):
            slowest = job.slowest_s(self.gpus)
            total += sum(job.weight * (job.epochs * time + job.restart_s) for time in slowest)
            if not math.isfinite(total):
                allowed = "weight (epochs time + restart) that adds up to a finite number"
                raise Refused("times that overflow", allowed, "jobs", index)
        return self

    def at_most_s(self) -> float:
        """Return an upper bound on the objective on any counts, without a look at every time of a table."""
        total = 0.0
        for job in self.jobs:
            table = job.epoch_time_s
            if table is not None:
                total += job.weight * (job.epochs * table.sum_s + job.restart_s)
            else:
                total += sum(job.weight * (job.epochs * time + job.restart_s) for time in job.slowest_s(self.gpus))
        return total

    def counts(self, job: int) -> Sequence[int]:
        """Allowed counts of GPUs of the job at that position, ascending."""
        return self.jobs[job].counts(self.gpus)

    @cached_property
    def arrays(self) -> "JobArrays":
        """The jobs as flat arrays, made when first asked for."""
        return self.arrays_of(self.jobs)

    def arrays_of(self, jobs: Sequence[Job]) -> "JobArrays":
        """Return some of the jobs as flat arrays."""
        from dlsched.ring_allocation.arrays import JobArrays  # reading goes without NumPy

        runs = ((index, job.current_gpus, job.restart_s) for index, job in enumerate(jobs))
        running = {index: (count, restart_s) for index, count, restart_s in runs if count is not None}
        return JobArrays.of(jobs, [job.weight for job in jobs], running, self.gpus)

    @property
    def capacity(self) -> int:
        """GPUs that the jobs share, C."""
        return self.gpus

    @cached_property
    def minimum_gpus(self) -> int:
        """Sum of the smallest allowed counts; when it exceeds ``gpus``, no allocation exists."""
        return sum([1 if job.epoch_time_s is None else job.epoch_time_s.counts[0] for job in self.jobs])
