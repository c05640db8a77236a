"""The instance of matching_placement: heterogeneous workers, and training jobs that each take a set of them.

=============================  ==================================================================================
code                           mathematics
=============================  ==================================================================================
``workers``                    1 .. K; those of one ``type`` are identical
``bandwidth_bytes_per_s``      r_k, what a ring through the worker can carry, B/s
``jobs``                       1 .. S
``iterations``                 T_i
``batch_samples``              Pi_i, samples of one iteration, split over the job's workers
``gradient_bytes``             D_i, bytes that its ring all-reduces in every iteration
``samples_per_s``              rho_ik by type of k; a type that is not named cannot serve the job
``min_workers, max_workers``   bounds on n_i, the number of its workers
=============================  ==================================================================================
"""

from functools import cached_property
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, BaseModel, Field, PlainSerializer, model_validator

from dlsched.core.frozen import FrozenMapping
from dlsched.core.instance import STRICT, Count, InstanceFile, Name, NonNegative, Positive, require_unique_ids
from dlsched.core.messages import Refused

Rates = Annotated[
    dict[Name, Positive],
    Field(min_length=1),
    AfterValidator(FrozenMapping),
    PlainSerializer(dict, return_type=dict[str, float]),
]

_MODERATE = 1e-100, 1e100


def _require_moderate(value: float, *where: str | int) -> None:
    if not _MODERATE[0] <= value <= _MODERATE[1]:
        raise Refused(f"{value}", "a number from 1e-100 to 1e100", *where)


class Worker(BaseModel):
    """A worker: one GPU, or a machine that trains as one.

    Parameters
    ----------
    id
        Its name, unique in the instance.
    type
        Its type; all workers of a type have the same bandwidth.
    bandwidth_bytes_per_s
        What a ring through it can carry, B/s.
    """

    model_config = STRICT

    id: Name
    type: Name
    bandwidth_bytes_per_s: Positive


class Job(BaseModel):
    """A data-parallel training job with a ring all-reduce after every iteration.

    Parameters
    ----------
    id
        Its name, unique in the instance.
    iterations
        Iterations left, > 0.
    batch_samples
        Samples of one iteration, > 0; they may be split in any proportion.
    gradient_bytes
        Bytes that are all-reduced in one iteration, >= 0.
    samples_per_s
        Samples a second that one worker trains, by type; the other types cannot serve the job.
    min_workers, max_workers
        Smallest and largest number of workers; None: no limit.
    """

    model_config = STRICT

    id: Name
    iterations: Positive
    batch_samples: Positive
    gradient_bytes: NonNegative
    samples_per_s: Rates
    min_workers: Count = 1
    max_workers: Count | None = None

    @model_validator(mode="after")
    def _some_size(self) -> Self:
        if self.max_workers is not None and self.max_workers < self.min_workers:
            allowed = f"an integer >= min_workers = {self.min_workers}"
            raise Refused(str(self.max_workers), allowed, "max_workers")
        return self


class Instance(InstanceFile):
    """Workers and the jobs that share them.

    Raises
    ------
    InstanceError
        Names the field, what was found and what is allowed.

    >>> worker = Worker(id="v0", type="V100", bandwidth_bytes_per_s=1.25e9)
    >>> job = Job(id="a", iterations=10, batch_samples=256, gradient_bytes=0, samples_per_s={"V100": 400.0})
    >>> Instance(name="one", workers=[worker], jobs=[job]).types
    {'V100': (0,)}
    """

    family: ClassVar[str] = "matching_placement"

    workers: Annotated[tuple[Worker, ...], Field(strict=False, min_length=1)]
    jobs: Annotated[tuple[Job, ...], Field(strict=False, min_length=1)]

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        require_unique_ids([worker.id for worker in self.workers], "workers")
        require_unique_ids([job.id for job in self.jobs], "jobs")
        for index, worker in enumerate(self.workers):
            first = self.types[worker.type][0]
            expected = self.workers[first].bandwidth_bytes_per_s
            if worker.bandwidth_bytes_per_s != expected:
                allowed = f"{expected} as workers[{first}], of the same type"
                raise Refused(f"{worker.bandwidth_bytes_per_s}", allowed, "workers", index, "bandwidth_bytes_per_s")
        self._refuse_overflow()
        return self

    def _refuse_overflow(self) -> None:
        """Times, rates and bandwidths must leave room for squares and quotients in double precision."""
        for index, worker in enumerate(self.workers):
            _require_moderate(worker.bandwidth_bytes_per_s, "workers", index, "bandwidth_bytes_per_s")
        slowest = min(worker.bandwidth_bytes_per_s for worker in self.workers)
        for index, job in enumerate(self.jobs):
            for kind, rate in job.samples_per_s.items():
                _require_moderate(rate, "jobs", index, "samples_per_s", kind)
            rates = job.samples_per_s.values()
            samples, sent = job.iterations * job.batch_samples, 2 * job.iterations * job.gradient_bytes
            longest = samples / min(rates) + sent / slowest
            shortest = min(samples, samples / (len(self.workers) * max(rates)))
            if not (longest <= _MODERATE[1] and shortest >= _MODERATE[0]):
                allowed = "samples and seconds of a job from 1e-100 to 1e100"
                raise Refused("times that are vast or vanish", allowed, "jobs", index)

    @cached_property
    def types(self) -> dict[str, tuple[int, ...]]:
        """Positions of the workers of every type, types in order of their first worker."""
        held: dict[str, list[int]] = {}
        for index, worker in enumerate(self.workers):
            held.setdefault(worker.type, []).append(index)
        return {name: tuple(workers) for name, workers in held.items()}

    @cached_property
    def worker_index(self) -> dict[str, int]:
        """Position of every worker by its id."""
        return {worker.id: index for index, worker in enumerate(self.workers)}

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of every job by its id."""
        return {job.id: index for index, job in enumerate(self.jobs)}
