"""An instance of matching_placement as arrays over types, which is all that algorithms need of it.

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
``times``           J_i(c) = w_i / sum_g c_g rho_ig + 2 T_i D_i (n - 1) / (n min_{c_g > 0} r_g), n = sum_g c_g
==================  ===============================================================================
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.solution import Placement

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Arrays:
    """S jobs and G types; see the module for the meaning of the fields and their order.

    ``stock`` and ``bandwidth`` have shape (G,), ``rates`` (S, G), the others (S,).
    """

    stock: Counts
    bandwidth: Floats
    rates: Floats
    work: Floats
    traffic: Floats
    least: Counts
    most: Counts

    @property
    def jobs(self) -> int:
        """S, the number of jobs."""
        return len(self.work)

    @property
    def types(self) -> int:
        """G, the number of types."""
        return len(self.stock)

    def able(self, job: int) -> Counts:
        """Types that can serve the job, ascending."""
        return np.flatnonzero(self.rates[job] > 0)

    def times(self, job: int, counts: Counts) -> Floats:
        """Seconds that the job takes on count vectors of shape (..., G), each with a worker; shape (...)."""
        size = counts.sum(axis=-1)
        slowness = np.max(np.where(counts > 0, 1.0 / self.bandwidth, 0.0), axis=-1)
        time: Floats = self.work[job] / (counts @ self.rates[job]) + self.traffic[job] * ((size - 1) / size) * slowness
        return time

    def times_with_more(self, job: int, counts: Counts) -> Floats:
        """Seconds with one more worker of each type than count vectors of shape (..., G), which may be 0; shape (..., G).

        Only for types that can serve the job, and infinite where neither they nor the others train anything.
        """
        size = counts.sum(axis=-1)[..., None] + 1
        slow = np.max(np.where(counts > 0, 1.0 / self.bandwidth, 0.0), axis=-1)[..., None]
        slowness = np.maximum(slow, 1.0 / self.bandwidth)
        rate = (counts @ self.rates[job])[..., None] + self.rates[job]
        time: Floats = np.divide(self.work[job], rate, out=np.full(rate.shape, np.inf), where=rate > 0)
        time += self.traffic[job] * ((size - 1) / size) * slowness
        return time

    def total(self, counts: Counts) -> float:
        """Sum of the times of a placement, shape (S, G)."""
        size = counts.sum(axis=1)
        slowness = np.max(np.where(counts > 0, 1.0 / self.bandwidth, 0.0), axis=1)
        rate = np.einsum("ig,ig->i", counts, self.rates)
        return float((self.work / rate + self.traffic * ((size - 1) / size) * slowness).sum())


def arrays(instance: Instance) -> Arrays:
    """Return the instance as arrays; cost O(K + S G)."""
    stock = np.array([len(held) for held in instance.types.values()], dtype=np.int64)
    bandwidth = [instance.workers[held[0]].bandwidth_bytes_per_s for held in instance.types.values()]
    rates = np.array([[job.samples_per_s.get(kind, 0.0) for kind in instance.types] for job in instance.jobs])
    jobs = instance.jobs
    usable = ((rates > 0) @ stock).astype(np.int64)
    largest = [len(instance.workers) if job.max_workers is None else job.max_workers for job in jobs]
    return Arrays(
        stock=stock,
        bandwidth=np.array(bandwidth),
        rates=rates,
        work=np.array([job.iterations * job.batch_samples for job in jobs]),
        traffic=np.array([2 * job.iterations * job.gradient_bytes for job in jobs]),
        least=np.array([job.min_workers for job in jobs], dtype=np.int64),
        most=np.minimum(np.array(largest, dtype=np.int64), usable),
    )


def kind_of_workers(instance: Instance) -> list[int]:
    """Return the type of every worker, as its position among the types."""
    index = {kind: at for at, kind in enumerate(instance.types)}
    return [index[worker.type] for worker in instance.workers]


def placement(instance: Instance, counts: Counts | Sequence[Sequence[int]]) -> Placement:
    """Give out the workers of every type in order of the file; ``counts`` has shape (S, G)."""
    left = {kind: iter(held) for kind, held in instance.types.items()}
    given: dict[str, list[str]] = {}
    for job, row in zip(instance.jobs, np.asarray(counts).tolist(), strict=True):
        given[job.id] = [
            instance.workers[next(left[kind])].id
            for kind, count in zip(instance.types, row, strict=True)
            for _ in range(count)
        ]
    return Placement(given)


def counts_of(instance: Instance, held: Placement) -> Counts:
    """Return how many workers of each type each job has in a feasible placement, shape (S, G)."""
    kinds = kind_of_workers(instance)
    counts = np.zeros((len(instance.jobs), len(instance.types)), dtype=np.int64)
    for name, workers in held.workers.items():
        for worker in workers:
            counts[instance.index[name], kinds[instance.worker_index[worker]]] += 1
    return counts
