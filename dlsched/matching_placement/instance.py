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
``objective, alpha``           what is made of the completion times J_i: see ``checker``
=============================  ==================================================================================
"""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self, Unpack

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, model_validator

from dlsched.core.elementary import log
from dlsched.core.instance import Count, Head, InstanceFile, Name, NonNegative, Positive, require_unique_ids
from dlsched.core.messages import Refused
from dlsched.core.part import Data, Part
from dlsched.core.ranges import MODERATE, Range, Ranges
from dlsched.core.result import FrozenMapping

Rates = Annotated[
    dict[Name, Positive],
    Field(min_length=1),
    BeforeValidator(lambda rates: dict(rates) if isinstance(rates, FrozenMapping) else rates),  # of another job
    AfterValidator(FrozenMapping),
    PlainSerializer(dict, return_type=dict[str, float]),
]

_ODD = 0.5, 60  # a plain range, for tests that need no extreme values
RANGES: Ranges = {
    "alpha": Range(allowed=(0, 1000), ties=(0.0, 0.5, 1.0, 2.0, 5.0), nasty=(0, 0.5, 1, 1, 1 + 1e-9, 2, 3, 8)),
    "workers[].bandwidth_bytes_per_s": Range(
        allowed=MODERATE,
        choices=(1.25e9, 3.125e9, 5e9, 1.25e10),  # 10, 25, 40 and 100 Gbit/s
        searched=(1e9, 1e10),
        of_presets=(1e9, 1e10),
        ties=(4, 4, 8),
        edges=(0.125, 1, 64),
        tested=_ODD,
    ),
    "jobs[].iterations": Range(searched=(1.0, 1000.0), of_presets=(1, 1e7), ties=(1, 2, 10), tested=_ODD),
    "jobs[].batch_samples": Range(usual=(16, 2048), searched=(10.0, 10.0), ties=(8, 12, 64), tested=_ODD),
    "jobs[].gradient_bytes": Range(
        usual=(1e7, 1e9), searched=(0.0, 1e10), of_presets=(0, 1e10), ties=(1, 8, 32), tested=_ODD
    ),
    "jobs[].samples_per_s{}": Range(
        allowed=MODERATE,
        searched=(1.0, 10.0),
        of_presets=(1, 1e5),
        ties=(1, 2, 3, 4),
        edges=(0.5, 1, 8, 100),
        tested=_ODD,
    ),
    "jobs[].min_workers": Range(tested=(1, 3)),
    "jobs[].max_workers": Range(usual=(4, 16)),
}


def _require_moderate(value: float, path: str, *where: str | int) -> None:
    if not RANGES[path].allows(value):
        raise Refused(f"{value}", "a number from 1e-100 to 1e100", *where)


class Worker(Part):
    """A worker: one GPU, or a machine that trains as one; its id is unique, and all workers of a type have the same bandwidth.

    ``bandwidth_bytes_per_s``: what a ring through it can carry, B/s.
    """

    id: Name
    type: Name
    bandwidth_bytes_per_s: Positive


class Job(Part):
    """A data-parallel training job with a ring all-reduce after every iteration.

    ``iterations``: those left, > 0. ``batch_samples``: of one iteration, > 0; they may be split in any proportion.
    ``gradient_bytes``: all-reduced in one iteration. ``samples_per_s``: samples a second that one worker trains, by type; the
    other types cannot serve the job. ``min_workers, max_workers``: smallest and largest number of workers; None: no limit.
    """

    id: Name
    iterations: Positive
    batch_samples: Positive
    gradient_bytes: NonNegative
    samples_per_s: Rates
    min_workers: Count = 1
    max_workers: Count | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            id: str,
            iterations: float,
            batch_samples: float,
            gradient_bytes: float,
            samples_per_s: Mapping[str, float],
            min_workers: int = 1,
            max_workers: int | None = None,
        ) -> None: ...

    @model_validator(mode="after")
    def _some_size(self) -> Self:
        if self.max_workers is not None and self.max_workers < self.min_workers:
            allowed = f"an integer >= min_workers = {self.min_workers}"
            raise Refused(str(self.max_workers), allowed, "max_workers")
        return self


class Instance(InstanceFile):
    """Workers and the jobs that share them.

    Parameters
    ----------
    workers, jobs
        At least one of each.
    objective
        ``mean``: the mean completion time, minimised. ``max_rho``: the largest completion time relative to that of an equal
        share of the cluster, minimised. ``alpha_fair``: the sum of alpha-fair utilities of the jobs' speed relative to that of
        an equal share, maximised.
    alpha
        From 0 to 1000, with ``alpha_fair`` only: the larger, the more the slowest jobs count.

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
    objective: Literal["mean", "max_rho", "alpha_fair"] = "mean"
    alpha: NonNegative | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            workers: Sequence[Worker | Data],
            jobs: Sequence[Job | Data],
            objective: Literal["mean", "max_rho", "alpha_fair"] = "mean",
            alpha: float | None = None,
            **head: Unpack[Head],
        ) -> None: ...

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
        self._refuse_alpha()
        return self

    def _refuse_alpha(self) -> None:
        """Refuse an alpha without alpha_fair, and one whose utilities do not leave room as times must."""
        if self.objective != "alpha_fair":
            if self.alpha is not None:
                raise Refused(f"{self.alpha}", f"none with objective {self.objective!r}", "alpha")
            return
        if self.alpha is None:
            raise Refused("none", "a number >= 0 with objective 'alpha_fair'", "alpha")
        if not RANGES["alpha"].allows(self.alpha):
            raise Refused(f"{self.alpha}", f"a number <= {RANGES['alpha'].allowed[1]:g}", "alpha")
        # x^(1 - alpha) of the best and the worst possible speed must stay within the moderate range
        for index, job in enumerate(self.jobs):
            furthest = max((abs(log(ratio)) for ratio in self._ratios(job)), default=0.0)
            if abs(self.alpha - 1) * furthest > -log(MODERATE[0]):
                allowed = f"a number near enough to 1 that utilities of jobs[{index}] are from 1e-100 to 1e100"
                raise Refused(f"{self.alpha}", allowed, "alpha")

    def _ratios(self, job: Job) -> list[float]:
        """Bounds of the completion time relative to that of an equal share; none where no worker can serve the job."""
        able = [kind for kind in self.types if kind in job.samples_per_s]
        if not able:
            return []
        workers, share_s = len(self.workers), equal_share_time(self, job)
        rates = [job.samples_per_s[kind] for kind in able]
        slowest = min(self.workers[self.types[kind][0]].bandwidth_bytes_per_s for kind in able)
        samples = job.iterations * job.batch_samples
        longest_s = samples / min(rates) + 2 * job.iterations * job.gradient_bytes / slowest
        return [samples / max(rates) / workers / share_s, longest_s / share_s]

    def _refuse_overflow(self) -> None:
        """Times, rates and bandwidths must leave room for squares and quotients in double precision."""
        for index, worker in enumerate(self.workers):
            path, bandwidth = "workers[].bandwidth_bytes_per_s", worker.bandwidth_bytes_per_s
            _require_moderate(bandwidth, path, "workers", index, "bandwidth_bytes_per_s")
        slowest = min(worker.bandwidth_bytes_per_s for worker in self.workers)
        for index, job in enumerate(self.jobs):
            for kind, rate in job.samples_per_s.items():
                _require_moderate(rate, "jobs[].samples_per_s{}", "jobs", index, "samples_per_s", kind)
            rates = job.samples_per_s.values()
            samples, sent = job.iterations * job.batch_samples, 2 * job.iterations * job.gradient_bytes
            # one worker of the slowest type, and all workers at the rate of the fastest
            longest = samples / min(rates) + sent / slowest
            shortest = min(samples, samples / (len(self.workers) * max(rates)))
            if not (longest <= MODERATE[1] and shortest >= MODERATE[0]):
                allowed = "samples and seconds of a job from 1e-100 to 1e100"
                raise Refused("times that are vast or vanish", allowed, "jobs", index)

    @cached_property
    def types(self) -> dict[str, tuple[int, ...]]:
        """Positions of the workers of every type, types in order of their first worker."""
        positions: dict[str, list[int]] = {}
        for index, worker in enumerate(self.workers):
            positions.setdefault(worker.type, []).append(index)
        return {name: tuple(workers) for name, workers in positions.items()}

    @cached_property
    def worker_index(self) -> dict[str, int]:
        """Position of every worker by its id."""
        return {worker.id: index for index, worker in enumerate(self.workers)}


def equal_share_time(instance: Instance, job: Job) -> float:
    """J_i(equal share): seconds that a job takes on a fluid 1/S of every worker, some of which can serve it.

    R_i = sum_k rho_ik / S, on n = max(1, K/S) workers; the ring carries what the slowest that can serve i carries.
    """
    # types that can serve the job, with the positions of their workers
    able = [(kind, members) for kind, members in instance.types.items() if kind in job.samples_per_s]
    share = len(instance.jobs)
    rate = math.fsum(job.samples_per_s[kind] * len(members) for kind, members in able) / share
    count = max(1.0, len(instance.workers) / share)
    bandwidth = min(instance.workers[members[0]].bandwidth_bytes_per_s for _, members in able)
    exchange_s = 2 * (count - 1) / count * job.gradient_bytes / bandwidth
    return job.iterations * (job.batch_samples / rate + exchange_s)
