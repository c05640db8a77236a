"""Greedy filling of one slot, and switching of its servers.

Switching servers of a slot on and off, which ``filling`` cannot judge, as it adds rings singly.

*On.* A server that no single ring pays for may be worth it when several share it: it is filled as if it cost nothing.
*Off.* The rings of a server are taken out and placed anew, the densest first, on servers that are on or cost less than it
does; of a ring that does not fit there as many workers as do.
"""

import heapq
import math

import numpy as np

from dlsched.algorithms.utility_tables import Floats, Integers
from dlsched.core.arrays import dot
from dlsched.ring_embedding.rings.network import Gains, Network
from dlsched.ring_embedding.rings.placing import Slot, holding

_FEW = 16  # workers up to which a loop is faster than arrays
_LEAST = 1e-100  # every capacity > 0 is at least this


def shares(network: Network) -> Floats:
    """Dominant share of a worker of every job, shape (I,): its largest part of all servers' capacity of a resource."""
    instance = network.instance
    total = [math.fsum(server.holds(name) for server in instance.servers) for name in instance.resources]
    share: Floats = (network.demand / np.maximum(total, _LEAST)).max(axis=1)
    return share


def fill(slot: Slot, gains: Gains, share: Floats) -> None:
    """Let rings grow and start while one of them gains and fits.

    The next ring has the largest average gain of its next workers over their dominant share (``share``); of S-shaped gains
    as many workers as make that average largest. Where these do not fit, fewer do, or none. A ring that grows may move.
    It has to gain more than the power of the servers costs that it switches on.

    Guarantee: none. Cost: one search for servers per worker placed, and for each job at most N_i in vain.
    """
    waiting: list[tuple[float, int, int]] = []

    def wait(job: int, count: int) -> None:
        average, step = steepest(gains[job], count)
        if step:
            heapq.heappush(waiting, (-average / share[job], job, count + step))

    for job in gains:
        wait(job, slot.count(job))
    while waiting:
        slot.network.tick()
        _, job, count = heapq.heappop(waiting)
        now = slot.count(job)
        while count > now and not slot.grow(job, count, float(gains[job][count] - gains[job][now])):
            count -= 1
        if count > now:
            wait(job, count)


def steepest(gain: Floats, count: int) -> tuple[float, int]:
    """Largest average gain of next workers after ``count``, and their number, the least of equals; (0, 0): none gains."""
    if len(gain) - count > _FEW:
        average = (gain[count + 1 :] - gain[count]) / np.arange(1, len(gain) - count)
        best = int(np.argmax(average))
        return (float(average[best]), best + 1) if average[best] > 0 else (0.0, 0)
    base, *more = gain[count:].tolist() if count < len(gain) else [0.0]
    most, step = 0.0, 0
    for workers, value in enumerate(more, start=1):
        if (value - base) / workers > most:
            most, step = (value - base) / workers, workers
    return most, step


_GAIN = 1e-12  # relative gain; less is rounding


def switched(slot: Slot, gains: Gains, share: Floats) -> Slot:
    """A slot worth no less, for gains by job and number of workers: servers switched on, then off, while that pays.

    Guarantee: none. Cost: ``fill`` for each server that is off, and one search for servers per worker on each that is on;
    again after every success.
    """
    if not slot.network.on_price.any():
        return slot
    before = None
    while before is not slot:
        before = slot
        slot = emptied(opened(slot, gains, share), gains, share)
    return slot


def emptied(slot: Slot, gains: Gains, share: Floats) -> Slot:
    """A slot worth no less: servers switched off, the most expensive per worker first; ``gains`` may omit jobs without a ring."""
    price, tried = slot.network.on_price, set[int]()
    while True:
        on = [s for s in np.flatnonzero((slot.used > 0) & (price > 0)).tolist() if s not in tried]
        if not on:
            return slot
        server = max(on, key=lambda s: (price[s] / slot.used[s], -s))
        tried.add(server)
        slot = _better(slot, without(slot, server, gains, share, float(price[server])), gains)


def opened(slot: Slot, gains: Gains, share: Floats) -> Slot:
    """A slot worth no less: servers switched on while that pays, the cheapest for their capacity first."""
    network, vain = slot.network, set[tuple[float, ...]]()
    average, most = _ahead(slot, gains)
    for server in np.argsort(network.on_price / holding(network), kind="stable").tolist():
        price = float(network.on_price[server])
        kind = price, *network.capacity[server].tolist()
        if not price or slot.used[server] or kind in vain:
            continue
        # A server is filled as if it cost nothing: several rings may pay for it together, though none does alone.
        other = slot
        if _could(network, server, average, most) > price:
            other = slot.copy()
            other.price = np.where(np.arange(len(network.on_price)) == server, 0.0, network.on_price)
            fill(other, gains, share)
            other.price = network.on_price
        before, slot = slot, _better(slot, other, gains)
        if slot is before:
            vain.add(kind)
        else:
            average, most = _ahead(slot, gains)
    return slot


def _ahead(slot: Slot, gains: Gains) -> tuple[Floats, Integers]:
    """Best average gain of further workers of every job, and their largest number, shape (I,) each."""
    average, most = np.zeros(len(slot.network.demand)), np.zeros(len(slot.network.demand), dtype=np.int64)
    for job, gain in gains.items():
        count = slot.count(job)
        more = gain[count + 1 :] - gain[count]
        if len(more):
            average[job], most[job] = (more / np.arange(1, len(more) + 1)).max(), len(more)
    return average, most


def _could(network: Network, server: int, average: Floats, most: Integers) -> float:
    """Estimated gain of a server that is off: workers of the best average gains, until it is full."""
    capacity = network.capacity[server]
    jobs = np.flatnonzero((average > 0) & (network.demand <= capacity).all(axis=1))
    takes = (network.demand[jobs] / np.maximum(capacity, _LEAST)).max(axis=1)
    # The jobs with the most gain per part of the server first, until it is full.
    order = np.argsort(-average[jobs] / takes, kind="stable")
    jobs, takes = jobs[order], takes[order]
    filled = np.cumsum(most[jobs] * takes)
    workers = np.clip(most[jobs] - (filled - len(capacity)) / takes, 0, most[jobs])
    return float(dot(workers, average[jobs]))


def without(slot: Slot, server: int, gains: Gains, share: Floats, below: float = 0.0) -> Slot:
    """The slot after the rings of a server move to others that are on or cost less than ``below``, as far as they fit."""
    other, price = slot.copy(), slot.network.on_price
    rings = {job: other.count(job) for job, (workers, _, _) in other.rings.items() if server in workers}
    for job in rings:
        other.clear(job)
    # Servers that must stay off have no room meanwhile.
    closed = np.flatnonzero((other.used == 0) & (price >= below))
    free = other.free[closed]
    other.free[closed] = 0.0
    for job in sorted(rings, key=lambda job: (-gains[job][rings[job]] / (rings[job] * share[job]), job)):
        any(other.resize(job, count) for count in range(rings[job], 0, -1) if gains[job][count] > 0)
    other.free[closed] = free
    return other


def _better(slot: Slot, other: Slot, gains: Gains) -> Slot:
    """The other slot if it is worth more, else the first."""
    worth = slot.worth(gains)
    return other if other.worth(gains) > worth + _GAIN * abs(worth) else slot
