"""An instance of matching_placement as arrays over worker types, for algorithms.

Workers of one type are identical, so a placement is the matrix of how many workers of each type each job gets.

==================  ===============================================================================
code                mathematics
==================  ===============================================================================
``stock``           s_g, workers of type g
``bandwidth``       r_g, B/s
``rates``           rho_ig, 0 where type g cannot serve job i
``work``            w_i = T_i Pi_i, samples
``traffic``         2 T_i D_i, bytes
``least, most``     min_i, and max_i or the number of workers that can serve i where that is less
``costs``           what is minimised in place of the objective, as a function of J_i(c) (``algorithms.time_costs``)
``times``           J_i(c) = w_i / sum_g c_g rho_ig + 2 T_i D_i (n - 1) / (n min_{c_g > 0} r_g), n = sum_g c_g
==================  ===============================================================================
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from dlsched.algorithms.resource_market import starved
from dlsched.algorithms.time_costs import Costs, Fair, Power, Ratio
from dlsched.core.arrays import dot, row_dots
from dlsched.core.errors import UsageError
from dlsched.matching_placement.instance import Instance, equal_share_time
from dlsched.matching_placement.objectives import objective_of
from dlsched.matching_placement.solution import Placement

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
EVERY = slice(None)


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """S jobs and G types: fields as in the module, ``stock`` and ``bandwidth`` (G,), ``rates`` (S, G), the others (S,)."""

    stock: Counts
    bandwidth: Floats
    rates: Floats
    work: Floats
    traffic: Floats
    least: Counts
    most: Counts
    costs: Costs

    @property
    def jobs(self) -> int:
        """S, the number of jobs."""
        return len(self.work)

    @property
    def types(self) -> int:
        """G, the number of types."""
        return len(self.stock)

    @property
    def bottleneck(self) -> bool:
        """Whether the largest of the costs is minimised, not their sum."""
        return self.costs.bottleneck

    def able(self, job: int) -> Counts:
        """Types that can serve the job, ascending."""
        return np.flatnonzero(self.rates[job] > 0)

    def times(self, job: int, counts: Counts) -> Floats:
        """Seconds that the job takes on count vectors of shape (..., G), each with a worker; shape (...)."""
        size = counts.sum(axis=-1)
        # the ring is as slow as its slowest worker
        slowness = np.max(np.where(counts > 0, 1.0 / self.bandwidth, 0.0), axis=-1)
        time: Floats = (
            self.work[job] / (dot(counts, self.rates[job])) + self.traffic[job] * ((size - 1) / size) * slowness
        )
        return time

    def times_with_more(self, job: int, counts: Counts) -> Floats:
        """Seconds with one more worker of each type that can serve the job; ``counts`` (..., G) may be 0; inf: nothing trains."""
        size = counts.sum(axis=-1)[..., None] + 1
        slow = np.max(np.where(counts > 0, 1.0 / self.bandwidth, 0.0), axis=-1)[..., None]
        slowness = np.maximum(slow, 1.0 / self.bandwidth)
        rate = (dot(counts, self.rates[job]))[..., None] + self.rates[job]
        time: Floats = np.divide(self.work[job], rate, out=np.full(rate.shape, np.inf), where=rate > 0)
        time += self.traffic[job] * ((size - 1) / size) * slowness
        return time

    def cost(self, job: int, counts: Counts) -> Floats:
        """Cost of the job on count vectors of shape (..., G), each with a worker; shape (...)."""
        return self.costs.of(job, self.times(job, counts))

    def costs_of(self, jobs: Counts | slice, counts: Counts) -> Floats:
        """Costs of jobs, shape (N,), on one count vector each, shape (N, G)."""
        size = counts.sum(axis=1)
        slowness = np.max(np.where(counts > 0, 1.0 / self.bandwidth, 0.0), axis=1)
        rate = row_dots(counts, self.rates[jobs])
        times: Floats = self.work[jobs] / rate + self.traffic[jobs] * ((size - 1) / size) * slowness
        return self.costs.of(jobs, times)

    def cost_with_more(self, job: int, counts: Counts) -> Floats:
        """Cost of the job with one more worker of each type; arguments as for ``times_with_more``."""
        return self.costs.of(job, self.times_with_more(job, counts))

    def total(self, counts: Counts) -> float:
        """Minimised value of a placement, shape (S, G): the sum of the costs, or the largest cost."""
        costs = self.costs_of(EVERY, counts)
        return float(costs.max() if self.bottleneck else costs.sum())

    def softened(self, power: float, unit: float) -> Self:
        """The instance with the sum of a power of all ratios over ``unit``, not the largest ratio."""
        return replace(self, costs=Power(self.costs.equal * unit, power))


def arrays(instance: Instance) -> Arrays:
    """Return the instance as arrays; cost O(K + S G)."""
    stock = np.array([len(members) for members in instance.types.values()], dtype=np.int64)
    bandwidth = [instance.workers[members[0]].bandwidth_bytes_per_s for members in instance.types.values()]
    rates = np.array([[job.samples_per_s.get(kind, 0.0) for kind in instance.types] for job in instance.jobs])
    jobs = instance.jobs
    # workers that can serve each job: no job gets more
    usable = (dot(rates > 0, stock)).astype(np.int64)
    largest = [len(instance.workers) if job.max_workers is None else job.max_workers for job in jobs]
    data = Arrays(
        stock=stock,
        bandwidth=np.array(bandwidth),
        rates=rates,
        work=np.array([job.iterations * job.batch_samples for job in jobs]),
        traffic=np.array([2 * job.iterations * job.gradient_bytes for job in jobs]),
        least=np.array([job.min_workers for job in jobs], dtype=np.int64),
        most=np.minimum(np.array(largest, dtype=np.int64), usable),
        costs=Costs(np.ones(len(jobs))),
    )
    return replace(data, costs=objective_of(instance).costs(instance, data))


def plain_costs(instance: Instance, data: Arrays) -> Costs:
    """Costs of the mean."""
    del instance
    return Costs(np.ones(data.jobs))


def ratio_costs(instance: Instance, data: Arrays) -> Costs:
    """Costs of the largest ratio."""
    return Ratio(_equal_times(instance, data))


def fair_costs(instance: Instance, data: Arrays) -> Costs:
    """Costs of alpha-fair utilities."""
    assert instance.alpha is not None
    return Fair(_equal_times(instance, data), instance.alpha - 1, least_times(data))


def _equal_times(instance: Instance, data: Arrays) -> Floats:
    """J(equal share) in seconds, shape (S,); 1 where no worker can serve the job."""
    usable = (dot(data.rates > 0, data.stock)).tolist()
    return np.array(
        [equal_share_time(instance, job) if able else 1.0 for job, able in zip(instance.jobs, usable, strict=True)]
    )


def constant(instance: Instance) -> float:
    """Offset of costs for alpha = 1, as logarithms have no natural zero: each job costs at least 1."""
    return float(arrays(instance).costs.offset.sum()) if instance.alpha == 1 else 0.0


def least_times(data: Arrays) -> Floats:
    """Least possible seconds of every job, shape (S,): fastest workers, smallest ring, fastest network."""
    least = np.ones(data.jobs)
    for job in np.flatnonzero(dot(data.rates > 0, data.stock)).tolist():
        # the most workers that the job may take, fastest types first
        fast = np.argsort(-data.rates[job])
        counts = np.diff(np.minimum(np.cumsum(data.stock[fast]), data.most[job]), prepend=0)
        network = data.bandwidth[data.able(job)].max()
        size = data.least[job]
        least[job] = (
            data.work[job] / (dot(counts, data.rates[job, fast])) + data.traffic[job] * ((size - 1) / size) / network
        )
    return least


def kind_of_workers(instance: Instance) -> list[int]:
    """Return the type of every worker, as its position among the types."""
    index = {kind: at for at, kind in enumerate(instance.types)}
    return [index[worker.type] for worker in instance.workers]


def placement(instance: Instance, counts: Counts | Sequence[Sequence[int]]) -> Placement:
    """Give out the workers of every type in order of the file; ``counts`` has shape (S, G)."""
    remaining = {kind: iter(members) for kind, members in instance.types.items()}
    workers: dict[str, list[str]] = {}
    for job, row in zip(instance.jobs, np.asarray(counts).tolist(), strict=True):
        workers[job.id] = [
            instance.workers[next(remaining[kind])].id
            for kind, count in zip(instance.types, row, strict=True)
            for _ in range(count)
        ]
    return Placement(workers)


def counts_of(instance: Instance, solution: Placement) -> Counts:
    """Return how many workers of each type each job has in a feasible placement, shape (S, G)."""
    kinds = kind_of_workers(instance)
    counts = np.zeros((len(instance.jobs), len(instance.types)), dtype=np.int64)
    for name, workers in solution.workers.items():
        for worker in workers:
            counts[instance.index[name], kinds[instance.worker_index[worker]]] += 1
    return counts


_NAMED = 5  # ids that a sentence lists


def infeasible(instance: Instance) -> str | None:
    """Return a sentence that proves by counting that no placement exists, or None; then one exists."""
    # a set of jobs and all types that can serve any of them: too few workers for their least sizes (Hall)
    data = arrays(instance)
    jobs = [instance.jobs[index] for index in starved(data.rates > 0, data.least, data.stock)]
    if not jobs:
        return None
    needed = sum(job.min_workers for job in jobs)
    able = [kind for kind in instance.types if any(kind in job.samples_per_s for job in jobs)]
    available = sum(len(instance.types[kind]) for kind in able)
    if len(jobs) == len(instance.jobs):
        who = "all jobs together need" if len(jobs) > 1 else f"job {jobs[0].id} needs"
    else:
        names = ", ".join(job.id for job in jobs[:_NAMED]) + (", ..." if len(jobs) > _NAMED else "")
        who = f"jobs {names} together need" if len(jobs) > 1 else f"job {names} needs"
    return f"{who} at least {needed} workers, there are {available} that can serve {'them' if len(jobs) > 1 else 'it'}"


def require_feasible(instance: Instance) -> None:
    """Refuse an infeasible instance, which has no bound (UsageError)."""
    reason = infeasible(instance)
    if reason is not None:
        raise UsageError(f"the instance is infeasible: {reason}; every bound holds")
