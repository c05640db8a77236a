"""The best rings of one slot, proven: the program over mappings, polishing, and closing; by listed paths the arc model.

Gains may be any that do not fall, less the price of the workers' energy: ``heuristics.slot_greedy`` asks with those of a slot
on its way.
"""

from collections.abc import Mapping

import numpy as np

from dlsched.algorithms.utility_table import Floats, UtilityTable
from dlsched.ring_embedding.formulations.arc import build_arc
from dlsched.ring_embedding.rings.network import Gains, Network
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.slot.mapping_program import MappingProgram
from dlsched.ring_embedding.slot.polishing import polish
from dlsched.ring_embedding.slot.slot_program import Better, Filled, better_of, close_slot, ending, fill_slot
from dlsched.ring_embedding.solution import Ring
from dlsched.solvers.milp import solve_milp


def best_slot(
    network: Network,
    gains: Gains,
    rng: np.random.Generator,
    *,
    nodes: int | None = None,
    better: Better = lambda slot: None,
) -> Filled:
    """Find the slot of largest total gain; ``proven`` says whether that is proven.

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
    better(found.slot)
    if found.proven:
        return found
    found = found.improved(gains, polish(network, gains, found.slot, found.bound, rng))
    better(found.slot)
    if found.proven:
        return found
    if network.forest:
        return close_slot(network, gains, found, nodes=nodes, better=better)
    return _by_arcs(network, gains, found, nodes, better)


def _by_arcs(network: Network, gains: Gains, found: Filled, nodes: int | None, better: Better) -> Filled:
    instance = network.instance
    jobs = [job.model_copy(update={"arrival_slot": 1}) for job in instance.jobs]
    held = [_utility(network, job, gains.get(job, np.zeros(1))) for job in range(len(jobs))]
    one = instance.model_copy(update={"slots": 1, "jobs": jobs, "known": None})
    model = build_arc(one, [UtilityTable(utility, 0.0, False) for utility in held], network.budget)
    outcome = solve_milp(model.model, limits=ending(network.budget.left, nodes))
    slot = found.slot
    if outcome.values is not None:
        slot = better_of(slot, _slot(network, model.decode(outcome.values).slots.get(1) or {}), gains)
        better(slot)
    bound = None if outcome.bound is None else outcome.bound * model.unit
    return found.improved(gains, slot, bound, outcome.solver)


def _utility(network: Network, job: int, gain: Floats) -> Floats:
    """What the workers of a job gain without the price of their energy, which the arc model takes from the instance."""
    utility: Floats = gain - gain[0]
    if network.worker_price[job]:  # rounding may let it fall
        utility = np.maximum.accumulate(utility + network.worker_price[job] * np.arange(len(gain)))
    return utility


def _slot(network: Network, rings: Mapping[str, Ring]) -> Slot:
    """The slot with these rings."""
    slot, servers = Slot(network), network.instance.server_index
    for name, ring in rings.items():
        workers = {servers[server]: count for server, count in ring.workers.items()}
        slot.put(network.instance.index[name], network.placed(workers, tuple(servers[name] for name in ring.order)))
    return slot
