"""First answers of a search: that of ``quick``, then that of the greedy by density."""

from collections.abc import Callable

import numpy as np

from dlsched.core.family import Run
from dlsched.core.limits import Stopped
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.heuristics.baselines import density
from dlsched.ring_embedding.heuristics.slot_greedy import Keep, net_tables
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.network import Network, Placed
from dlsched.ring_embedding.rings.placing import Slot, embedding, holding, tightest
from dlsched.ring_embedding.slot.filling import shares
from dlsched.ring_embedding.solution import Embedding

_RINGS = 10_000
"""Largest number of rings that ``quick`` places; making and checking them takes a tenth of a second."""


def quick(instance: Instance) -> Embedding:
    """Place every job on one server, with the same ring in each of its slots, by utility per share; those that do not pay not.

    Guarantee: none; never worse than running nothing. Cost: one look at all servers per job, and ``_RINGS`` rings.
    """
    network = Network(instance)
    tables, price = net_tables(network), network.on_price
    slot, share, last = Slot(network), shares(network), network.slots[-1]
    # By job: minus its average gain per share, its workers on one server, and the worker-slots of most utility.
    chosen: list[tuple[float, int, int, int]] = []
    for job, table in enumerate(tables):
        count = min(int(network.most[job]), int(network.fits[job].max()))
        total = min(int(np.argmax(table.values)), count * (last - instance.jobs[job].arrival_slot + 1))
        if total:
            gain = float(table.values[total] - table.values[0])
            chosen.append((-gain / total / float(share[job]), job, min(count, total), total))
    slots: dict[int, Slot] = {}
    left = _RINGS
    for _, job, most, total in sorted(chosen):
        room = network.free(job, slot.free)
        count = min(most, int(room.max()))
        server = tightest(room, count, price / holding(network)) if count and left else None
        if server is None:
            continue
        placed: Placed = {server: count}, (server,), []
        first = instance.jobs[job].arrival_slot
        numbers = range(first, first + min(total // count, last - first + 1, left))
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
            left -= 1
    return embedding(network, slots)


def warm(instance: Instance, search: Search[Embedding]) -> None:
    """Offer the answer of ``quick`` and, if there is time, that of the greedy by density."""
    search.offer(quick(instance), source="quick")
    search.tick()
    by_density(instance, search)


def by_density(instance: Instance, search: Search[Embedding]) -> None:
    """Offer the answer of the greedy by density or, if it is stopped, the slots that it has filled."""
    keep = keeping(search, "density")
    keep(density(instance, budget=search.budget, keep=keep))


def in_time(name: str, function: Callable[[Instance, Search[Embedding], Keep], Embedding]) -> Run[Instance, Embedding]:
    """Make a method of a heuristic that, if stopped, gives its partial answer to its last argument.

    If the answer of ``quick`` is better, that is the incumbent.
    """

    def run(instance: Instance, search: Search[Embedding]) -> TerminationStatus:
        keep = keeping(search, name)
        try:
            keep(function(instance, search, keep))
        except (Stopped, KeyboardInterrupt):
            if search.offer(quick(instance), source="quick"):
                search.say(f"{name} was stopped; what is held is the answer of a faster rule")
            raise
        return TerminationStatus.FEASIBLE

    return run


def keeping(search: Search[Embedding], source: str) -> Keep:
    """Return a ``Keep`` that offers embeddings to the search."""

    def keep(found: Embedding) -> None:
        search.offer(found, source=source)

    return keep
