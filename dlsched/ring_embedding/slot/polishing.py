"""Improvement of one slot, part by part: the program over mappings places some of its rings anew.

Large neighbourhood search (Shaw 1998). Every part is a slot program of few jobs in a network of what the other rings leave,
whose relaxation and rings held (``slot_program.fill_slot``) are found in a fraction of a second. Which jobs are taken out is
drawn: some that run on servers near each other, and with them all that have no ring.
"""

import copy

import numpy as np

from dlsched.core.gap import MEETING, meets
from dlsched.ring_embedding.rings.network import Gains, Network
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.slot.mapping_program import MappingProgram
from dlsched.ring_embedding.slot.slot_program import fill_slot, gained

TRIES = 40
"""Number of parts that are tried."""
PART = 9
"""Number of rings that are taken out at a time."""


def polish(
    network: Network,
    gains: Gains,
    slot: Slot,
    bound: float,
    rng: np.random.Generator,
    *,
    tries: int = TRIES,
    within: float = MEETING,
) -> Slot:
    """A slot that gains no less; ends at a relative gap to the bound of ``within``. ``rng`` draws the parts."""
    best, gain = slot, gained(slot, gains)
    for _ in range(tries):
        if meets(gain, bound, within=within):
            break
        network.tick()
        found = _anew(network, gains, best, _drawn(network, best, rng))
        value = gained(found, gains)
        if value >= gain:
            best, gain = found, value
    return best


def _drawn(network: Network, slot: Slot, rng: np.random.Generator) -> set[int]:
    """Jobs with rings near a random server, and some from anywhere."""
    jobs = sorted(slot.rings)
    if len(jobs) <= PART:
        return set(jobs)
    center = int(network.position[rng.integers(len(network.position))])
    far = {job: min(abs(int(network.position[server]) - center) for server in slot.rings[job][0]) for job in jobs}
    near = sorted(jobs, key=lambda job: (far[job], job))[: PART // 2]
    others = [job for job in jobs if job not in near]
    return {*near, *(int(job) for job in rng.choice(others, PART - len(near), replace=False))}


def _anew(network: Network, gains: Gains, slot: Slot, out: set[int]) -> Slot:
    """The slot with new rings for the jobs ``out`` and for jobs without rings, chosen together."""
    left = Slot(network)
    for job, placed in slot.rings.items():
        if job not in out:
            left.put(job, placed)
    # A network of what the other rings leave, in which servers that are on anyway cost nothing.
    part = copy.copy(network)
    part.capacity, part.bandwidth = np.maximum(left.free, 0.0), np.maximum(left.spare, 0.0)
    part.on_price = np.where([server in left.on for server in range(len(left.free))], 0.0, network.on_price)
    chosen = {job: gain for job, gain in gains.items() if job not in left.rings}
    part.fits = np.array([part.free(job, part.capacity) for job in range(len(network.fits))])
    start = {job: slot.rings[job] for job in sorted(out)}
    found = fill_slot(part, chosen, MappingProgram(part), start=start)
    for job, placed in found.slot.rings.items():
        left.put(job, placed)
    return left
