"""The cost table of an instance: which counts each job may be given, and what each costs.

A law is tabulated only as far as a count can matter: up to twice its fastest count (beyond that, no method doubles or
adds), and the current count. Beyond the fastest count each further GPU costs time, so nothing of use is left out.
"""

from collections.abc import Sequence

import numpy as np

from dlsched.algorithms.cost_table import CostTable, FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.ring_allocation.instance import Instance, Job
from dlsched.ring_allocation.solution import Allocation

LARGEST_TABLE = 2**27
"""Pairs; a table of so many takes 2 GiB, and the algorithms some times that."""


def cost_table(instance: Instance, *, fitting: bool = True) -> CostTable:
    """Tabulate cost_j(w) = weight (epochs tau(w) + restart) for every job and useful count.

    Parameters
    ----------
    instance
        Any valid instance, feasible or not.
    fitting
        Leave out counts that do not fit beside the smallest counts of the other jobs; every job keeps its smallest.

    Raises
    ------
    UsageError
        More than ``LARGEST_TABLE`` pairs, or counts whose sum exceeds 64-bit integers.
    """
    spare = instance.gpus - instance.minimum_gpus
    counts, lengths, total, largest = [], [], 0, 0
    for place, job in enumerate(instance.jobs):
        allowed = instance.counts(place)
        most = max(allowed[0], allowed[0] + spare) if fitting else allowed[-1]
        useful = _useful(job, allowed, most)
        total += len(useful)
        largest += useful[-1]
        if total > LARGEST_TABLE:
            raise UsageError(f"found more than {LARGEST_TABLE} pairs of job and count, allowed: fewer (limit max_gpus)")
        counts.append(useful)
        lengths.append(len(useful))
    if 2 * largest > np.iinfo(np.int64).max:
        raise UsageError(f"the largest counts add up to {largest} GPUs, allowed: up to 2**62")
    starts = np.concatenate(([0], np.cumsum(lengths)))
    flat = np.empty(total, dtype=np.int64)
    costs = np.empty(total)
    for job, useful, begin, end in zip(instance.jobs, counts, starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        flat[begin:end] = useful
        costs[begin:end] = _times(job, flat[begin:end])
        costs[begin:end] *= job.epochs
        if job.current_gpus is not None:
            costs[begin:end] += job.restart_s * (flat[begin:end] != job.current_gpus)
        costs[begin:end] *= job.weight
    return CostTable(starts, flat, costs)


def allocation(instance: Instance, table: CostTable, chosen: IntArray) -> Allocation:
    """Read chosen pairs, one a job, as an allocation."""
    counts = table.counts[chosen].tolist()
    return Allocation({job.id: count for job, count in zip(instance.jobs, counts, strict=True)})


def _useful(job: Job, allowed: Sequence[int], most: int) -> Sequence[int]:
    if job.speed_law is None:
        return allowed if allowed[-1] <= most else [count for count in allowed if count <= most]
    most = min(most, allowed[-1])
    reach = min(most, 2 * job.speed_law.largest_useful_count(most))
    current = job.current_gpus
    beyond = [current] if current is not None and reach < current <= most else []
    return [*range(1, reach + 1), *beyond] if beyond else range(1, reach + 1)


def _times(job: Job, counts: IntArray) -> FloatArray:
    if job.speed_law is not None:
        w = counts.astype(np.float64)
        law = job.speed_law
        theta0, theta1, theta2, theta3 = law.theta
        return theta0 * law.samples / w + theta1 * (w - 1) + theta2 * ((w - 1) * law.model_bytes / w) + theta3
    assert job.epoch_time_s is not None
    return np.array(job.epoch_time_s.times_s[: len(counts)])
