"""Greedy filling of one slot by gain per unit of the scarcest resource."""

import heapq
import math

import numpy as np

from dlsched.algorithms.utility_tables import Floats
from dlsched.ring_embedding.rings.network import Gains, Network
from dlsched.ring_embedding.rings.placing import Slot

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
    held, *more = gain[count:].tolist() if count < len(gain) else [0.0]
    most, step = 0.0, 0
    for workers, value in enumerate(more, start=1):
        if (value - held) / workers > most:
            most, step = (value - held) / workers, workers
    return most, step
