"""Baselines: FIFO, least attained service, dominant resource fairness, and the greedy by density.

All go slot by slot, place rings by ``placing`` wherever one can be closed, and are deterministic; ties go to the job that
stands first in the instance. A job that has spent its budget, or gains nothing by any more worker-slots, is finished.
None has a guarantee. In the paper's comparison FIFO and LAS run with a fixed number of workers (Yu et al., INFOCOM 2022).

*The fixed number* of a job is our reading: the most workers with which its ring can be closed in the empty network, and
no more than ``workers`` where that is given; in its last slot fewer, when only they are of use.
"""

import heapq
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits
from dlsched.ring_embedding.heuristics.slot_greedy import Progress
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import Slot, embedding
from dlsched.ring_embedding.slot.filling import fill, shares
from dlsched.ring_embedding.solution import Embedding
from dlsched.ring_embedding.utilities import Worth

Floats = npt.NDArray[np.float64]
Tick = Callable[[], None] | None
Heard = Callable[[Embedding], None] | None
_ROUNDING = 1e-12  # of worker-slots times a share


def fifo(
    instance: Instance,
    *,
    workers: int | None = None,
    backfill: bool = False,
    tick: Tick = None,
    stopped: Heard = None,
    limits: Callable[[], Limits] = Limits,
) -> Embedding:
    """First in, first out: a job that started keeps its workers, where they are, in every slot until it is finished.

    Jobs start in the order of their arrival.

    Parameters
    ----------
    workers
        The most workers of any job; by default its own.
    backfill
        Whether jobs may pass one that cannot start; by default they wait behind it.
    tick
        Called before every slot and ring; it may raise to stop.
    stopped
        Hears of the slots filled so far, a feasible embedding, when anything raises.
    limits
        Asked for the time that is left, of which the check of the answer takes a part.

    Raises
    ------
    UsageError
        ``workers`` < 1.

    Guarantee: none. Cost: one search for a place for each job waiting at the head, in every slot.
    """

    def fill_slot(network: Network, progress: Progress, fixed: list[int], number: int, before: Slot) -> Slot:
        slot = Slot(network)
        waiting = progress.available(number)
        for job in waiting:
            if 0 < before.count(job) <= progress.most(job):
                slot.put(job, before.rings[job])
        arrival = {job: (job not in before.rings, instance.jobs[job].arrival_slot, job) for job in waiting}
        for job in sorted(set(waiting) - slot.rings.keys(), key=lambda job: arrival[job]):
            if not slot.resize(job, _of_use(progress, job, fixed[job])) and not backfill:
                break
        return slot

    return _slot_by_slot(fill_slot, workers, Network(instance, tick, limits), stopped)


def las(
    instance: Instance,
    *,
    workers: int | None = None,
    threshold: float | None = None,
    tick: Tick = None,
    stopped: Heard = None,
    limits: Callable[[], Limits] = Limits,
) -> Embedding:
    """Least attained service: jobs that have used the least so far run first, with a fixed number of workers or not at all.

    Service is the worker-slots of a job times the dominant share of one of its workers; with one GPU a worker that orders
    as GPU-time does. Nothing is lost by preemption.

    Parameters
    ----------
    workers
        The most workers of any job; by default its own.
    threshold
        Service, in slots of the whole cluster, that divides two queues; within a queue jobs go in the order of arrival. By
        default there are no queues, and service alone orders.
    tick
        Called before every slot and ring; it may raise to stop.
    stopped
        Hears of the slots filled so far, a feasible embedding, when anything raises.
    limits
        Asked for the time that is left, of which the check of the answer takes a part.

    Raises
    ------
    UsageError
        ``workers`` < 1, or ``threshold`` < 0.

    Guarantee: none. Cost: one search for a place for each job, in every slot. Source: Tiresias (Gu et al., NSDI 2019),
    discretised 2D-LAS.
    """
    if threshold is not None and not threshold >= 0:
        raise UsageError(f"threshold: found {threshold}, allowed: a number >= 0")

    def fill_slot(network: Network, progress: Progress, fixed: list[int], number: int, before: Slot) -> Slot:
        del before
        slot = Slot(network)
        service = progress.count * shares(network)
        key = service if threshold is None else service >= threshold * (1 - _ROUNDING)
        waiting = progress.available(number)
        for job in sorted(waiting, key=lambda job: (key[job], instance.jobs[job].arrival_slot, job)):
            slot.resize(job, _of_use(progress, job, fixed[job]))
        return slot

    return _slot_by_slot(fill_slot, workers, Network(instance, tick, limits), stopped)


def drf(
    instance: Instance, *, tick: Tick = None, stopped: Heard = None, limits: Callable[[], Limits] = Limits
) -> Embedding:
    """Dominant resource fairness: one worker at a time to the job with the least dominant share in this slot.

    A job to which no further worker can be given is left as it is for the rest of the slot.

    Parameters
    ----------
    tick
        Called before every slot and ring; it may raise to stop.
    stopped
        Hears of the slots filled so far, a feasible embedding, when anything raises.
    limits
        Asked for the time that is left, of which the check of the answer takes a part.

    Guarantee: none. Cost: one search for a place a worker. Source: Ghodsi et al., NSDI 2011, progressive filling.
    """

    def fill_slot(network: Network, progress: Progress, fixed: list[int], number: int, before: Slot) -> Slot:
        del fixed, before
        slot, share = Slot(network), shares(network)
        waiting = [(0.0, job, 1) for job in progress.available(number)]
        while waiting:
            _, job, count = heapq.heappop(waiting)
            if slot.resize(job, count) and count < progress.most(job):
                heapq.heappush(waiting, (count * float(share[job]), job, count + 1))
        return slot

    return _slot_by_slot(fill_slot, None, Network(instance, tick, limits), stopped)


def density(
    instance: Instance, *, tick: Tick = None, stopped: Heard = None, limits: Callable[[], Limits] = Limits
) -> Embedding:
    """Greedy by density: the most gain for the least of the scarcest resource first, consolidated.

    What a job gains by a worker is read off the concave envelope of its utility from where it stands to where it can get
    in the slots left. So an S-shaped job counts with its best average gain, not with the little of its first steps.

    Parameters
    ----------
    tick
        Called before every slot and ring; it may raise to stop.
    stopped
        Hears of the slots filled so far, a feasible embedding, when anything raises.
    limits
        Asked for the time that is left, of which the check of the answer takes a part.

    Guarantee: none. Cost: that of ``filling.fill`` in every slot.
    """

    def fill_slot(network: Network, progress: Progress, fixed: list[int], number: int, before: Slot) -> Slot:
        del fixed, before
        slot = Slot(network)
        left = instance.slots - number + 1
        fill(slot, {job: _ahead(progress, job, left) for job in progress.available(number)}, shares(network))
        return slot

    return _slot_by_slot(fill_slot, None, Network(instance, tick, limits), stopped)


FillSlot = Callable[[Network, Progress, list[int], int, Slot], Slot]


def _slot_by_slot(fill_slot: FillSlot, workers: int | None, network: Network, stopped: Heard) -> Embedding:
    if workers is not None and workers < 1:
        raise UsageError(f"workers: found {workers}, allowed: a number >= 1")
    instance, slots, rings = network.instance, dict[int, Slot](), 0
    try:
        progress = Progress(network)
        fixed = [_closed(network, job, min(int(most), workers or int(most))) for job, most in enumerate(network.most)]
        before = Slot(network)
        last = max(job.arrival_slot for job in instance.jobs)
        for number in network.slots:
            network.tick(rings)
            if number > last and not progress.available(number):
                break
            slots[number] = before = fill_slot(network, progress, fixed, number, before)
            progress.add(before)
            rings += len(before.rings)
    except BaseException:
        if stopped is not None:
            stopped(embedding(network, slots))
        raise
    return embedding(network, slots)


def _of_use(progress: Progress, job: int, fixed: int) -> int:
    most = progress.most(job)
    return fixed if fixed <= most else _closed(progress.network, job, most)


def _closed(network: Network, job: int, most: int) -> int:
    """The most workers, up to ``most``, with which the job's ring is found in the empty network, by bisection."""
    empty = Slot(network)
    if most < 1 or empty.find(job, most) is not None:
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if empty.find(job, middle) is not None else (low, middle)
    return low


def _ahead(progress: Progress, job: int, left: int) -> Floats:
    """Gain by 0 .. the most workers of use in this slot, on the envelope of what the job can reach in ``left`` slots."""
    most, count, worth = progress.most(job), int(progress.count[job]), progress.worths[job]
    reach = min(int(progress.enough[job]), count + left * int(progress.network.most[job]))
    reached = Worth(worth.values[: reach + 1], worth.error, worth.concave)
    slopes = np.zeros(most)
    at = 0
    while at < most:
        progress.network.tick()
        slope, step = reached.slope(count + at)
        if slope <= 0:
            break
        slopes[at : at + step] = slope
        at += step
    return np.concatenate([[0.0], slopes.cumsum()])
