"""The best rings of one slot, proven: the program over mappings, polishing, and closing; by listed paths the arc model.

Gains may be any that do not fall: ``slot_greedy`` asks with those of a slot on its way.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dlsched.ring_embedding.formulations.arc import build_arc
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.rings.placing import Placed, Slot
from dlsched.ring_embedding.slot.mapping_program import MappingProgram
from dlsched.ring_embedding.slot.polishing import polish
from dlsched.ring_embedding.slot.slot_program import Filled, close_slot, ending, fill_slot, gained
from dlsched.ring_embedding.solution import Embedding
from dlsched.ring_embedding.utilities import Worth
from dlsched.solvers.milp import solve_milp

Floats = npt.NDArray[np.float64]
Gains = Mapping[int, Floats]


def best_slot(
    network: Network,
    gains: Gains,
    rng: np.random.Generator,
    *,
    nodes: int | None = None,
    better: Callable[[Slot], None] | None = None,
) -> Filled:
    """Find the slot of largest total gain; ``proven`` says whether it is one.

    Parameters
    ----------
    gains
        By job and number of workers from 0 on.
    rng
        Draws which rings are taken out and placed anew (``polishing``).
    nodes
        Of the programs that prove a slot best, where the network's limits set none.
    better
        Hears of better slots.
    """
    found = fill_slot(network, gains, MappingProgram(network))
    if better is not None:
        better(found.slot)
    if found.proven:
        return found
    slot = polish(network, gains, found.slot, found.bound, rng)
    found = replace(found, slot=slot, gain=gained(slot, gains), bound=max(found.bound, gained(slot, gains)))
    if better is not None:
        better(found.slot)
    if found.proven:
        return found
    if network.forest:
        return close_slot(network, gains, found, nodes=nodes, better=better)
    return _by_arcs(network, gains, found, nodes, better)


def _by_arcs(
    network: Network, gains: Gains, found: Filled, nodes: int | None, better: Callable[[Slot], None] | None
) -> Filled:
    instance = network.instance
    jobs = [job.model_copy(update={"arrival_slot": 1}) for job in instance.jobs]
    nothing = np.zeros(1)
    worths = [Worth(gains.get(job, nothing) - gains.get(job, nothing)[0], 0.0, False) for job in range(len(jobs))]
    problem, decode, unit = build_arc(
        instance.model_copy(update={"slots": 1, "jobs": jobs, "known": None}), worths, network.tick
    )
    outcome = solve_milp(problem, limits=ending(network.limits(), nodes))
    slot, bound = found.slot, found.bound
    if outcome.values is not None:
        slot = max(slot, _placed(network, decode(outcome.values)), key=lambda slot: gained(slot, gains))
        if better is not None:
            better(slot)
    if outcome.bound is not None:
        bound = min(bound, outcome.bound * unit)
    gain = gained(slot, gains)
    return replace(found, slot=slot, gain=gain, bound=max(bound, gain), solver=outcome.solver)


def _placed(network: Network, found: Embedding) -> Slot:
    slot = Slot(network)
    instance = network.instance
    for name, ring in (found.slots.get(1) or {}).items():
        workers = {instance.server_index[server]: count for server, count in ring.workers.items()}
        order = tuple(instance.server_index[server] for server in ring.order)
        links = network.crossed(order)
        assert links is not None
        placed: Placed = workers, order, links
        slot.put(instance.index[name], placed)
    return slot
