"""The best rings of one slot, proven: the program over mappings, spans, polishing, and closing; by listed paths the arc model.

Gains may be any that do not fall, less the price of the workers' energy: ``heuristics.slot_greedy`` asks with those of a slot
on its way.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dlsched.algorithms.utility_tables import Floats, UtilityTable
from dlsched.core.gap import MEETING
from dlsched.core.limits import Budget, Limits
from dlsched.ring_embedding.formulations.arc import build_arc
from dlsched.ring_embedding.rings.network import Gains, Network
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.slot.mapping_program import MappingProgram
from dlsched.ring_embedding.slot.polishing import polish
from dlsched.ring_embedding.slot.slot_program import Better, Filled, better_of, close_slot, ending, fill_slot
from dlsched.ring_embedding.slot.slot_spans import close_by_spans
from dlsched.ring_embedding.solution import Ring
from dlsched.solvers.milp import solve_milp

SLOT_NODES = 100
"""Nodes of a program over the rings of one slot, thousands of columns."""


def best_slot(
    network: Network,
    gains: Gains,
    rng: np.random.Generator,
    *,
    nodes: int | None = None,
    conflicts: int | None = None,
    better: Better = lambda slot: None,
    within: float = MEETING,
) -> Filled:
    """Find the slot of largest total gain; ``proven`` says whether that is proven.

    In a forest, with ``conflicts``, CP-SAT on spans comes first (``slot_spans``). Where time is limited it has half of what is
    left, and what the other steps leave.

    Parameters
    ----------
    gains
        By job and number of workers from 0 on.
    rng
        Draws which rings are taken out and placed anew (``polishing``).
    nodes
        Of the programs that prove a slot best, where the network's limits set none.
    conflicts
        Of CP-SAT on spans, where there are no limits; None: it is not asked. With it ``network`` is that of its instance.
    better
        Hears of better slots.
    within
        The relative gap at which it ends.
    """
    found = fill_slot(network, gains, MappingProgram(network), within=within)
    better(found.slot)
    if conflicts is not None and network.forest and not found.closed(within):
        found = close_by_spans(network, gains, found, _first(network.budget, conflicts), better)
    if found.closed(within):
        return found
    found = found.improved(gains, polish(network, gains, found.slot, found.bound, rng, within=within))
    better(found.slot)
    if found.closed(within):
        return found
    if not network.forest:
        return _by_arcs(network, gains, found, nodes, better)
    nodes = SLOT_NODES if conflicts is not None else nodes
    found = close_slot(network, gains, found, nodes=nodes, better=better, within=within)
    if conflicts is not None and network.budget.limited and not found.closed(within):
        network.tick()
        found = close_by_spans(network, gains, found, network.budget.left, better)
    return found


def _first(budget: Budget, conflicts: int) -> Limits:
    """Limits of the first run: half of the remaining time, or so many conflicts if there are no limits."""
    left = budget.left
    if not budget.limited:
        return replace(left, nodes=conflicts)
    return left if left.time_s is None else replace(left, time_s=left.time_s / 2)


def _by_arcs(network: Network, gains: Gains, found: Filled, nodes: int | None, better: Better) -> Filled:
    instance = network.instance
    # One slot of the same network, with gains as utilities, as an instance of its own.
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
    """Gains of a job's workers before the price of their energy, which the arc model subtracts itself."""
    utility: Floats = gain - gain[0]
    if network.worker_price[job]:  # rounding may let it fall
        utility = np.maximum.accumulate(utility + network.worker_price[job] * np.arange(len(gain)))
    return utility


def _slot(network: Network, rings: Mapping[str, Ring]) -> Slot:
    """The slot of an embedding's rings."""
    slot, servers = Slot(network), network.instance.server_index
    for name, ring in rings.items():
        workers = {servers[server]: count for server, count in ring.workers.items()}
        slot.put(network.instance.index[name], network.placed(workers, tuple(servers[name] for name in ring.order)))
    return slot
