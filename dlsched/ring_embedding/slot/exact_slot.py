"""The best rings of one slot, proven: the program over mappings, spans, polishing, and closing; by listed paths the arc model.

*Spans*: a CP-SAT model of one slot of a forest. If the prices of a relaxation say little (all rings of the best sizes are
within the gap), the rest is a packing problem, for which CP-SAT is made. The model needs no order of servers: a ring in
depth-first order crosses a link once in each direction if it has workers on both sides of it.

================  ====================================================================================================
name              mathematics
================  ====================================================================================================
``z``             1 if job i has k >= 1 workers, at most one k; n_i = sum_k k z_ik
``y``             y_is, workers, 0 to what fits on the server
``below``         workers at and below a node: t_iv = y_is of its server + sum of those below it
``here``          1 if the job is in this tree of the forest, at most one of them; t_iv <= N_i here at its top, the sum of
                  the tops is n_i
``low, high``     1 if the job has a worker below a scarce link (t_iv), beyond it (n_i - t_iv)
``cross``         low and high; never, where the link is too narrow for the job alone
``capacity``      sum_i l_i^r y_is <= C_s^r, in whole numbers; times ``on`` where the server's power has a price
``bandwidth``     sum_i b_i cross_i <= B_e, in whole numbers
objective         maximise sum_ik gain_i(k) z_ik - sum_s e_s on_s, in multiples of a power of two
================  ====================================================================================================

The bound includes the largest total rounding error. The objective lies between the slot held and the known bound. Gains may
be any that do not fall, less the price of the workers' energy: ``heuristics.slot_greedy`` asks for slots on its way.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dlsched.algorithms.utility_tables import Floats, UtilityTable
from dlsched.algorithms.whole_rows import units
from dlsched.core.gap import MEETING
from dlsched.core.limits import Budget, Limits
from dlsched.ring_embedding.formulations.linear import build_arc
from dlsched.ring_embedding.rings.network import Gains, Network, Placed
from dlsched.ring_embedding.rings.placing import Slot
from dlsched.ring_embedding.slot.mapping_program import MappingProgram
from dlsched.ring_embedding.slot.slot_program import (
    Better,
    Filled,
    better_of,
    close_slot,
    ending,
    fill_slot,
    filled,
    polish,
)
from dlsched.ring_embedding.solution import Ring
from dlsched.solvers.milp import solve_milp

if TYPE_CHECKING:
    from ortools.sat.python import cp_model


LARGEST = 40_000
"""Largest number of jobs times nodes for which the model is built."""
_LARGEST_OBJECTIVE = 2.0**40


def close_by_spans(network: Network, gains: Gains, found: Filled, limits: Limits, better: Better) -> Filled:
    """Close the gap of a slot in a forest within limits; unchanged if amounts share no unit, or the model would be too large."""
    jobs = [job for job, gain in gains.items() if len(gain) > 1]
    if len(jobs) * len(network.tree.above) > LARGEST:
        return found
    from ortools.sat.python import cp_model

    from dlsched.solvers.cpsat import run, version

    spans = _Spans(network, gains, jobs)
    if not spans.build(found):
        return found
    best = found

    def hear(value: "Callable[[cp_model.IntVar], int]") -> None:
        nonlocal best
        slot = better_of(best.slot, filled(network, spans.rings(value), gains), gains)
        best = best.improved(gains, slot)
        better(slot)

    code, solver, bound = run(spans.model, limits, hear, symmetry=False, cuts=False)
    network.budget.nodes += int(solver.num_conflicts)
    if code == cp_model.INFEASIBLE:
        bound = float(spans.least)
    elif code in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        hear(solver.value)
    if bound is None:
        return best
    return best.improved(gains, best.slot, math.ldexp(bound, -spans.power) + spans.error, version())


class _Spans:
    """The model; its objective is in units of 2**-``power``, and off by ``error`` at most."""

    def __init__(self, network: Network, gains: Gains, jobs: list[int]) -> None:
        from ortools.sat.python import cp_model

        self.network, self.jobs, self.model = network, jobs, cp_model.CpModel()
        self.gain = {job: np.asarray(gains[job]) for job in jobs}
        self.y: dict[tuple[int, int], cp_model.IntVar] = {}
        self.z: dict[int, list[cp_model.IntVar]] = {}
        self.on: dict[int, cp_model.IntVar] = {}
        self.power, self.error, self.least = 0, 0.0, 0

    def build(self, found: Filled) -> bool:
        """Write the model; False: amounts are no whole multiples of a unit."""
        sizes = {job: self._add_job(job) for job in self.jobs}
        if not (self._add_capacities() and self._add_links(sizes)):
            return False
        self._add_objective(found)
        return True

    def rings(self, value: "Callable[[cp_model.IntVar], int]") -> dict[int, Placed]:
        """Rings of a solution."""
        workers: dict[int, dict[int, int]] = {}
        for (job, server), y in self.y.items():
            if value(y):
                workers.setdefault(job, {})[server] = value(y)
        return {job: self.network.placed(counts) for job, counts in workers.items()}

    def _add_job(self, job: int) -> "dict[int, cp_model.LinearExprT]":
        """Add the job's workers on servers and below nodes; return the latter by node, and its size under -1."""
        model, network, tree = self.model, self.network, self.network.tree
        most = len(self.gain[job]) - 1
        self.z[job] = [model.new_bool_var("") for _ in range(most)]
        model.add_at_most_one(self.z[job])
        below: dict[int, cp_model.LinearExprT] = {}
        parts: list[list[cp_model.LinearExprT]] = [[] for _ in tree.above]
        room = [0] * len(tree.above)
        tops: list[tuple[cp_model.LinearExprT, int]] = []
        # From the leaves up: a node has the workers of its server and of the nodes below; chains need no new variable.
        for node in range(len(tree.above) - 1, -1, -1):
            server = network.hosted.get(node)
            fits = 0 if server is None else min(most, int(network.fits[job, server]))
            if server is not None and fits:
                self.y[job, server] = model.new_int_var(0, fits, "")
                parts[node].append(self.y[job, server])
            room[node] = min(most, room[node] + fits)
            if not parts[node]:
                continue
            below[node] = parts[node][0]
            if len(parts[node]) > 1:
                below[node] = model.new_int_var(0, room[node], "")
                model.add(sum(parts[node]) == below[node])
            if tree.above[node] < 0:
                tops.append((below[node], room[node]))
            else:
                parts[tree.above[node]].append(below[node])
                room[tree.above[node]] += room[node]
        below[-1] = model.new_int_var(0, most, "")
        model.add(below[-1] == sum(size * z for size, z in enumerate(self.z[job], start=1)))
        model.add(below[-1] == sum(top for top, _ in tops))
        if len(tops) > 1:
            here = [model.new_bool_var("") for _ in tops]
            model.add_at_most_one(here)
            for (top, limit), chosen in zip(tops, here, strict=True):
                model.add(top <= limit * chosen)
        return below

    def _add_capacities(self) -> bool:
        network, instance = self.network, self.network.instance
        for s, server in enumerate(instance.servers):
            if network.on_price[s]:
                self.on[s] = self.model.new_bool_var("")
            users = [job for job in self.jobs if (job, s) in self.y]
            for r, name in enumerate(instance.resources):
                there = [job for job in users if network.demand[job, r] > 0]
                if not there:
                    continue
                most = [min(len(self.gain[job]) - 1, int(network.fits[job, s])) for job in there]
                scaled = units([float(network.demand[job, r]) for job in there], server.holds(name), most)
                if scaled is None:
                    return False
                amounts, right = scaled
                self.model.add(
                    sum(a * self.y[job, s] for job, a in zip(there, amounts, strict=True)) <= right * self.on.get(s, 1)
                )
        return True

    def _add_links(self, below: "dict[int, dict[int, cp_model.LinearExprT]]") -> bool:
        """Add rows of the links that their jobs could overload; False: amounts share no unit."""
        network, tree = self.network, self.network.tree
        for node, upward in enumerate(tree.upward):
            if upward < 0:
                continue
            there = [job for job in self.jobs if node in below[job] and network.load[job] > 0]
            right = network.instance.links[upward // 2].bandwidth_bytes_per_s
            loads = [network.load[job] for job in there]
            if sum(loads) <= right:
                continue
            scaled = units(loads, right, [1] * len(there))
            if scaled is None:
                return False
            crossed = [self._crossed(below[job][node], below[job][-1], len(self.gain[job]) - 1) for job in there]
            self.model.add(sum(a * cross for a, cross in zip(scaled[0], crossed, strict=True)) <= scaled[1])
        return True

    def _crossed(self, below: "cp_model.LinearExprT", size: "cp_model.LinearExprT", most: int) -> "cp_model.IntVar":
        """Whether a job has workers on both sides of a link."""
        low, high, cross = (self.model.new_bool_var("") for _ in range(3))
        self.model.add(below >= low)
        self.model.add(below <= most * low)
        self.model.add(size - below >= high)
        self.model.add(size - below <= most * high)
        self.model.add_bool_or(low.negated(), high.negated(), cross)
        self.model.add_implication(cross, low)
        self.model.add_implication(cross, high)
        return cross

    def _add_objective(self, found: Filled) -> None:
        prices = {server: float(self.network.on_price[server]) for server in self.on}
        most = math.fsum([*(float(np.abs(gain).max()) for gain in self.gain.values()), *prices.values()])
        # The largest power of two for which the objective stays within ``_LARGEST_OBJECTIVE``.
        self.power = math.frexp(_LARGEST_OBJECTIVE / most)[1] - 1

        def rounded(value: float) -> int:
            return round(math.ldexp(value, self.power))

        def off(value: float) -> float:
            return abs(math.ldexp(rounded(value), -self.power) - value)

        total = [rounded(float(self.gain[job][k])) * z for job in self.jobs for k, z in enumerate(self.z[job], start=1)]
        total += [-rounded(price) * self.on[server] for server, price in prices.items()]
        sizes = [max(off(float(gain)) for gain in self.gain[job]) for job in self.jobs]  # a job has at most one
        self.error = math.fsum([*sizes, *map(off, prices.values())])
        self.least = math.floor(math.ldexp(found.gain - self.error, self.power)) - 1
        self.model.add(sum(total) >= self.least)
        self.model.add(sum(total) <= math.ceil(math.ldexp(found.bound + self.error, self.power)) + 1)
        self.model.maximize(sum(total))


SLOT_NODES = 100
"""Nodes of a program over the rings of one slot, thousands of columns."""


def best_slot(
    network: Network,
    gains: Gains,
    rng: "np.random.Generator",
    *,
    nodes: int | None = None,
    conflicts: int | None = None,
    better: Better = lambda slot: None,
    within: float = MEETING,
) -> Filled:
    """Find the slot of largest total gain; ``proven`` says whether that is proven.

    In a forest, with ``conflicts``, CP-SAT on spans comes first . Where time is limited it has half of what is
    left, and what the other steps leave.

    Parameters
    ----------
    gains
        By job and number of workers from 0 on.
    rng
        Draws which rings are taken out and placed anew .
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
    remaining = budget.left
    if not budget.limited:
        return replace(remaining, nodes=conflicts)
    return remaining if remaining.time_s is None else replace(remaining, time_s=remaining.time_s / 2)


def _by_arcs(network: Network, gains: Gains, found: Filled, nodes: int | None, better: Better) -> Filled:
    instance = network.instance
    # One slot of the same network, with gains as utilities, as an instance of its own.
    jobs = [job.model_copy(update={"arrival_slot": 1}) for job in instance.jobs]
    utilities = [_utility(network, job, gains.get(job, np.zeros(1))) for job in range(len(jobs))]
    one = instance.model_copy(update={"slots": 1, "jobs": jobs, "known": None})
    model = build_arc(one, [UtilityTable(utility, 0.0, False) for utility in utilities], network.budget)
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
