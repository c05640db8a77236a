"""Baselines of ring_embedding, and the first embeddings of a search.

Baselines: FIFO, least attained service, dominant resource fairness, and the greedy by density. All go slot by slot, place
every ring that ``rings.placing`` can close, and are deterministic; ties go to the job that stands first in the instance. A
job is finished once it has spent its budget or gains nothing by more worker-slots. None has a guarantee. In the paper's
comparison FIFO and LAS run with a fixed number of workers (Yu et al., INFOCOM 2022).

*The fixed number* of a job is our reading: the most workers with which its ring can be closed in the empty network, and
no more than ``workers`` where that is given; in its last slot fewer, when only they are of use.

*Energy.* FIFO, LAS and DRF do not ask what the power of servers costs: their objective may be below that of running nothing.

The heuristics ask the ``budget`` before every slot and ring, and for the time left, part of which they reserve for checking
the answer. If anything raises, they hand the slots filled so far, a feasible embedding, to ``keep``.
"""

import heapq
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from dlsched.algorithms.utility_tables import Floats
from dlsched.core.errors import UsageError
from dlsched.core.family import Run
from dlsched.core.limits import Budget, Stopped
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.checker import objective
from dlsched.ring_embedding.heuristics.slot_greedy import Keep, Progress, forget, net_tables, slot_by_slot
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.objectives import require_served
from dlsched.ring_embedding.rings.network import Network, Placed
from dlsched.ring_embedding.rings.placing import Slot, embedding, holding, tightest
from dlsched.ring_embedding.slot.slot_program import fill, switched
from dlsched.ring_embedding.solution import Embedding

_ROUNDING = 1e-12  # absolute, of worker-slots times a share


def fifo(
    instance: Instance,
    *,
    workers: int | None = None,
    backfill: bool = False,
    budget: Budget | None = None,
    keep: Keep = forget,
) -> Embedding:
    """First in, first out: a started job keeps its workers on their servers until it is finished.

    Jobs start in the order of their arrival.

    Parameters
    ----------
    workers
        The most workers of any job, >= 1 (else ``UsageError``); by default its own.
    backfill
        Whether jobs may pass one that cannot start; by default they wait behind it.
    budget, keep
        See the module.

    Guarantee: none. Cost: one search for servers for each job waiting at the head, in every slot.
    """
    of_use = _Fixed(workers)

    def fill_slot(progress: Progress, number: int, before: Slot) -> Slot:
        slot, waiting = Slot(progress.network), progress.available(number)
        for job in waiting:
            if 0 < before.count(job) <= progress.most(job):
                slot.put(job, before.rings[job])
        arrival = {job: (job not in before.rings, instance.jobs[job].arrival_slot, job) for job in waiting}
        for job in sorted(set(waiting) - slot.rings.keys(), key=lambda job: arrival[job]):
            if not slot.resize(job, of_use(progress, job)) and not backfill:
                break
        return slot

    return slot_by_slot(Network(instance, budget), fill_slot, keep)


def las(
    instance: Instance,
    *,
    workers: int | None = None,
    threshold: float | None = None,
    budget: Budget | None = None,
    keep: Keep = forget,
) -> Embedding:
    """Least attained service: jobs that have used the least so far run first, with a fixed number of workers or not at all.

    Service is the worker-slots of a job times the dominant share of one of its workers; with one GPU a worker that orders
    as GPU-time does. Nothing is lost by preemption.

    Parameters
    ----------
    workers
        The most workers of any job, >= 1 (else ``UsageError``); by default its own.
    threshold
        Service, in slots of the whole cluster, >= 0 (else ``UsageError``), that divides two queues; within a queue jobs go in
        the order of arrival. By default there are no queues, and service alone orders.
    budget, keep
        See the module.

    Guarantee: none. Cost: one search for servers for each job, in every slot. Source: Tiresias (Gu et al., NSDI 2019),
    discretised 2D-LAS.
    """
    if threshold is not None and not threshold >= 0:
        raise UsageError(where="threshold", found=threshold, allowed="a number >= 0")
    of_use = _Fixed(workers)

    def fill_slot(progress: Progress, number: int, before: Slot) -> Slot:
        slot, service = Slot(progress.network), progress.count * progress.network.share
        key = service if threshold is None else service >= threshold * (1 - _ROUNDING)
        waiting = progress.available(number)
        for job in sorted(waiting, key=lambda job: (key[job], instance.jobs[job].arrival_slot, job)):
            slot.resize(job, of_use(progress, job))
        return slot

    return slot_by_slot(Network(instance, budget), fill_slot, keep)


def drf(instance: Instance, *, budget: Budget | None = None, keep: Keep = forget) -> Embedding:
    """Dominant resource fairness: one worker at a time to the job with the least dominant share in this slot.

    A job to which no further worker can be given is left as it is for the rest of the slot. ``budget``, ``keep``: see the
    module.

    Guarantee: none. Cost: one search for servers per worker. Source: Ghodsi et al., NSDI 2011, progressive filling.
    """

    def fill_slot(progress: Progress, number: int, before: Slot) -> Slot:
        slot = Slot(progress.network)
        waiting = [(0.0, job, 1) for job in progress.available(number)]
        while waiting:
            _, job, count = heapq.heappop(waiting)
            if slot.resize(job, count) and count < progress.most(job):
                heapq.heappush(waiting, (count * float(progress.network.share[job]), job, count + 1))
        return slot

    return slot_by_slot(Network(instance, budget), fill_slot, keep)


def density(instance: Instance, *, budget: Budget | None = None, keep: Keep = forget) -> Embedding:
    """Greedy by density: the most gain for the least of the scarcest resource first, consolidated.

    What a job gains by a worker is read off the concave envelope of its utility from where it stands to where it can get
    in the slots left. So an S-shaped job counts with its best average gain, not with the little of its first steps.
    Servers are switched on and off where that pays (``slot.slot_program``); nothing runs where that would be worth more.
    The objective ``max_min`` is refused (``UsageError``). ``budget``, ``keep``: see the module.

    Guarantee: none. Cost: that of ``slot.slot_program.fill`` in every slot.
    """

    def fill_slot(progress: Progress, number: int, before: Slot) -> Slot:
        slot, slots_ahead = Slot(progress.network), instance.slots - number + 1
        gains = {job: _ahead(progress, job, slots_ahead) for job in progress.available(number)}
        fill(slot, gains)
        return switched(slot, gains)

    require_served(instance, "density")
    found, nothing = slot_by_slot(Network(instance, budget), fill_slot, keep), Embedding({})
    worse = instance.charges and objective(instance, found) < objective(instance, nothing)
    return nothing if worse else found


class _Fixed:
    """The fixed number of workers of a job, or fewer if only they are of use; UsageError if ``workers`` < 1."""

    def __init__(self, workers: int | None) -> None:
        if workers is not None and workers < 1:
            raise UsageError(where="workers", found=workers, allowed="a number >= 1")
        self._workers, self._known = workers, dict[int, int]()

    def __call__(self, progress: Progress, job: int) -> int:
        network, most = progress.network, progress.most(job)
        if job not in self._known:
            allowed = int(network.most[job])
            self._known[job] = _closed(network, job, min(allowed, self._workers or allowed))
        return self._known[job] if self._known[job] <= most else _closed(network, job, most)


def _closed(network: Network, job: int, most: int) -> int:
    """The most workers, up to ``most``, of a ring in the empty network, by bisection."""
    empty = Slot(network)
    if most < 1 or empty.find(job, most) is not None:
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if empty.find(job, middle) is not None else (low, middle)
    return low


def _ahead(progress: Progress, job: int, slots_ahead: int) -> Floats:
    """Gains of 0 .. the most useful workers in this slot, on the job's envelope over ``slots_ahead`` slots."""
    most, count, table = progress.most(job), int(progress.count[job]), progress.tables[job]
    # Along the envelope of what the job can still reach, slope after slope.
    reach = min(int(progress.enough[job]), count + slots_ahead * int(progress.network.most[job]))
    reached = replace(table, values=table.values[: reach + 1])
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


_RINGS = 10_000
"""Largest number of rings that ``quick`` places; making and checking them takes a tenth of a second."""


def quick(instance: Instance) -> Embedding:
    """Place every job on one server, with the same ring in each of its slots, by utility per share; those that do not pay not.

    Guarantee: none; never worse than running nothing. Cost: one look at all servers per job, and ``_RINGS`` rings.
    """
    network = Network(instance)
    tables, price = net_tables(network), network.on_price
    slot, last = Slot(network), network.slots[-1]
    # By job: minus its average gain per share, its workers on one server, and the worker-slots of most utility.
    chosen: list[tuple[float, int, int, int]] = []
    for job, table in enumerate(tables):
        count = min(int(network.most[job]), int(network.fits[job].max()))
        total = min(int(np.argmax(table.values)), count * (last - instance.jobs[job].arrival_slot + 1))
        if total:
            gain = float(table.values[total] - table.values[0])
            chosen.append((-gain / total / float(network.share[job]), job, min(count, total), total))
    slots: dict[int, Slot] = {}
    remaining = _RINGS
    for _, job, most, total in sorted(chosen):
        room = network.free(job, slot.free)
        count = min(most, int(room.max()))
        server = tightest(room, count, price / holding(network)) if count and remaining else None
        if server is None:
            continue
        placed: Placed = {server: count}, (server,), []
        first = instance.jobs[job].arrival_slot
        numbers = range(first, first + min(total // count, last - first + 1, remaining))
        # Only slots in which the server is still off have to pay for its power.
        off = sum(number not in slots or not slots[number].used[server] for number in numbers)
        gained = tables[job].values[count * len(numbers)] - tables[job].values[0]
        if instance.charges and gained <= off * price[server]:
            continue
        slot.put(job, placed)
        for number in numbers:
            if number not in slots:
                slots[number] = Slot(network)
            slots[number].put(job, placed)
            remaining -= 1
    return embedding(network, slots)


def warm(instance: Instance, search: Search[Embedding]) -> None:
    """Offer the answer of ``quick`` and, if there is time, that of the greedy by density."""
    search.offer(quick(instance), source="quick")
    search.tick()
    by_density(instance, search)


def by_density(instance: Instance, search: Search[Embedding]) -> None:
    """Offer the answer of the greedy by density or, if it is stopped, the slots that it has filled."""
    keep = partial(search.offer, source="density")
    keep(density(instance, budget=search.budget, keep=keep))


def in_time(name: str, function: Callable[[Instance, Search[Embedding], Keep], Embedding]) -> Run[Instance, Embedding]:
    """Make a method of a heuristic that, if stopped, gives its partial answer to its last argument.

    The incumbent is then that, or the answer of ``quick`` if it is better.
    """

    def run(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
        keep = partial(search.offer, source=name)
        try:
            keep(function(instance, search, keep))
        except (Stopped, KeyboardInterrupt):
            if search.offer(quick(instance), source="quick"):
                search.say(f"{name} was stopped; the answer is that of a faster rule")
            raise
        return TerminationStatus.FEASIBLE

    return run
