"""The heuristic ``steady``: equal stretches of slots, with the same rings in all slots of a stretch.

The first slot of a stretch is filled greedily (``slot.filling``) with what n workers gain in all of it, for each slot, on the
concave envelope if a utility is S-shaped. So the work does not grow with the number of slots, and in large
instances a search holds this answer before it solves the relaxation. Jobs that arrive within a stretch wait
for the next one.
"""

import numpy as np

from dlsched.algorithms.utility_tables import Floats
from dlsched.ring_embedding.heuristics.slot_greedy import Keep, Progress, forget
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import Slot, embedding
from dlsched.ring_embedding.slot.filling import fill
from dlsched.ring_embedding.solution import Embedding

STRETCHES = 40


def steady(network: Network, keep: Keep = forget) -> Embedding:
    """Fill stretch after stretch (see the module); if anything raises, ``keep`` receives the stretches so far.

    Guarantee: none. Cost: ``STRETCHES`` times that of ``slot.filling.fill``, and the rings of all slots. Source: ours.
    """
    progress, last = Progress(network), network.slots[-1]
    length = -(-len(network.slots) // STRETCHES)
    slots: dict[int, Slot] = {}
    rings = 0
    try:
        for first in network.slots[::length]:
            network.tick(rings)
            numbers = range(first, min(first + length, last + 1))
            slot = Slot(network)
            fill(slot, {job: _gains(progress, job, len(numbers)) for job in progress.available(first)}, progress.share)
            slots |= dict.fromkeys(numbers, slot)
            for job in slot.rings:
                progress.count[job] += slot.count(job) * len(numbers)
            rings += len(slot.rings) * len(numbers)
    except BaseException:
        keep(embedding(network, slots))
        raise
    return embedding(network, slots)


def rings_wanted(network: Network) -> int:
    """Rough upper bound on useful rings: each job has all its workers until more are useless."""
    progress, last = Progress(network), network.slots[-1]
    slots = (last + 1 - job.arrival_slot for job in network.instance.jobs)
    of_use = -(-progress.enough // np.maximum(network.most, 1))
    return sum(min(each, int(most)) for each, most in zip(slots, of_use, strict=True))


def _gains(progress: Progress, job: int, slots: int) -> Floats:
    """Gains of 0, 1, 2 ... workers in each of ``slots`` slots, less the price of their energy."""
    table, count = progress.tables[job], int(progress.count[job])
    most = min(int(progress.network.most[job]), int(progress.enough[job] - count) // slots)
    at = count + slots * np.arange(most + 1)
    values = table.values if table.concave else table.envelope
    gains: Floats = (values[at] - values[count]) / slots
    return gains
