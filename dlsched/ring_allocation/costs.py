"""The cost table of an instance: which counts each job may be given, and what each costs.

A table of speeds is taken as it is. A law is never tabulated up to a large ``max_gpus``: ``allocation.hyperbolic`` says how
far it is of use, and that all laws together need about C pairs.

*Doubling* visits only powers of two of a law.
"""

from collections.abc import Sequence

import numpy as np

from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.counts import is_allowed
from dlsched.allocation.dominance import undominated
from dlsched.allocation.hyperbolic import useful_most
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.budget import Tick, no_tick
from dlsched.core.errors import UsageError
from dlsched.ring_allocation.instance import Instance, Job

LARGEST_TABLE = 2**27
"""Pairs of tables in the instance, which takes more memory for each of them than the algorithms do."""

LARGEST_LAWS = 2**21
"""Pairs that laws are tabulated to: a few bytes in a file, and half a GiB where the algorithms work on them."""


def cost_table(instance: Instance, *, fitting: bool = True, tick: Tick = no_tick) -> CostTable:
    """Tabulate every count that some optimal allocation may need; see ``tabulate``.

    ``fitting`` leaves out counts that do not fit beside the smallest counts of the other jobs. Without it the table is for
    finding a price that proves much over all allowed counts, and has these as far as memory allows; what such a price
    proves, ``certificate.price_bound`` says.
    """
    return tabulate(instance, useful_counts(instance, fitting=fitting, tick=tick), tick=tick)


def undominated_table(instance: Instance, *, tick: Tick = no_tick) -> CostTable:
    """Tabulate the counts that some optimal allocation may need and that no smaller count of their job matches."""
    table = cost_table(instance, tick=tick)
    return table.subset(undominated(table, tick=tick))


def tabulate(instance: Instance, counts: Sequence[Sequence[int] | IntArray], *, tick: Tick = no_tick) -> CostTable:
    """Tabulate cost_j(w) = weight (epochs tau(w) + restart) at the given counts, ascending, of every job.

    ``tick`` is called for every job.

    Raises
    ------
    UsageError
        More pairs than ``LARGEST_TABLE``, or counts whose sum exceeds 64-bit integers.
    """
    _require_size(sum(map(len, counts)), LARGEST_TABLE)
    largest = sum(int(useful[-1]) for useful in counts)
    if 2 * largest > np.iinfo(np.int64).max:
        raise UsageError(f"the largest counts add up to {largest} GPUs, allowed: up to 2**62")

    def cost(index: int, gpus: IntArray) -> FloatArray:
        job = instance.jobs[index]
        restart_s = 0.0 if job.current_gpus is None else job.restart_s * (gpus != job.current_gpus)
        return (_times(job, gpus) * job.epochs + restart_s) * job.weight

    return CostTable.from_counts(counts, cost, tick=tick)


def _require_size(pairs: int, allowed: int) -> None:
    if pairs > allowed:
        raise UsageError(f"found {pairs} pairs of job and count, allowed: up to {allowed} (limit max_gpus)")


def useful_counts(
    instance: Instance, *, fitting: bool = True, current: bool = True, tick: Tick = no_tick
) -> list[Sequence[int] | IntArray]:
    """Counts that an optimal allocation may need; every job keeps its smallest.

    Parameters
    ----------
    instance
        Any valid instance, feasible or not.
    fitting
        Leave out counts that do not fit beside the smallest counts of the other jobs.
    current
        Keep a law's current count even where all others of its size are left out.
    tick
        Called for every job.

    Raises
    ------
    UsageError
        More pairs of laws than ``LARGEST_LAWS``.
    """
    most = _most(instance, fitting)
    reach = _reach(instance, most)
    _require_size(sum(reach), LARGEST_LAWS)
    counts: list[Sequence[int] | IntArray] = []
    for index, job in enumerate(instance.jobs):
        tick()
        if job.speed_law is None:
            counts.append(job.fitting_counts(most[index]))
        elif current and job.current_gpus is not None and reach[index] < job.current_gpus <= most[index]:
            counts.append(np.append(np.arange(1, reach[index] + 1), job.current_gpus))
        else:
            counts.append(range(1, reach[index] + 1))
    return counts


def doubling_counts(instance: Instance) -> list[Sequence[int] | IntArray]:
    """Counts that doubling may visit, of those that fit: the smallest, its double and so on while they are allowed."""
    chains: list[Sequence[int] | IntArray] = []
    for index, most in enumerate(_most(instance, True)):
        allowed = instance.counts(index)
        chain = [allowed[0]]
        while 2 * chain[-1] <= most and is_allowed(2 * chain[-1], allowed):
            chain.append(2 * chain[-1])
        chains.append(chain)
    return chains


def _most(instance: Instance, fitting: bool) -> list[int]:
    """Largest count of every job worth a look: what the others' smallest counts leave, or as many as memory allows."""
    spare = max(0, instance.gpus - instance.minimum_gpus)
    jobs = len(instance.jobs)
    most = []
    for index, job in enumerate(instance.jobs):
        allowed = instance.counts(index)
        held = 2**61 // jobs if job.speed_law is None else max(2 * instance.gpus, 2**20 // jobs)
        most.append(min(allowed[-1], allowed[0] + spare if fitting else max(allowed[0], held)))
    return most


def _reach(instance: Instance, most: list[int]) -> list[int]:
    """Largest useful count of every law, 0 for tables."""
    reach = [0] * len(instance.jobs)
    laws = [(index, job, job.speed_law) for index, job in enumerate(instance.jobs) if job.speed_law is not None]
    scale = np.array([job.weight * job.epochs for _, job, _ in laws])
    useful = useful_most(
        scale * np.array([law.theta[0] * law.samples - law.theta[2] * law.model_bytes for _, _, law in laws]),
        scale * np.array([law.theta[1] for _, _, law in laws]),
        np.array([most[index] for index, _, _ in laws], dtype=np.float64),
        np.array([job.current_gpus is None or not job.restart_s for _, job, _ in laws], dtype=bool),
        instance.gpus - instance.minimum_gpus,
    )
    for (index, _, _), count in zip(laws, useful, strict=True):
        reach[index] = min(most[index], count)
    return reach


def _times(job: Job, counts: IntArray) -> FloatArray:
    if job.speed_law is not None:
        w = counts.astype(np.float64)
        law = job.speed_law
        theta0, theta1, theta2, theta3 = law.theta
        return theta0 * law.samples / w + theta1 * (w - 1) + theta2 * ((w - 1) / w * law.model_bytes) + theta3
    assert job.epoch_time_s is not None
    if job.epoch_time_s.counts[len(counts) - 1] == counts[-1]:  # cut at its end only
        return np.array(job.epoch_time_s.times_s[: len(counts)])
    return np.array([job.epoch_time_s[count] for count in counts.tolist()])
