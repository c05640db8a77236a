"""ring_embedding in any network with fixed routes as a model of CP-SAT: one circuit for every job and slot.

==================  =================================================================================================
name                mathematics
==================  =================================================================================================
``y``               y_is[t], 0 to what fits on the server, from the job's arrival on
``h``               1 if the server has a worker: y >= 1 if h, y = 0 if not
``alone``           1 if all workers are on this server, at most one of a ring
``a``               1 if the ring passes from a server to another one with a route from here
circuit             the arcs are one cycle of some servers, or there are none (``ring``); h = alone, or on the cycle
``workers``         sum_s y_is[t] <= N_i
``budget``          sum_ts y_is[t] <= F_i^r / l_i^r, rounded down
``capacity``        sum_i l_i^r y_is[t] <= C_s^r, in whole numbers
``bandwidth``       sum_i b_i (arcs whose route crosses the directed link) <= B_e, in whole numbers
``on``              1 if the server is on in a slot, servers whose power has a price only: h <= on, and C_s^r on in ``capacity``
``g``               steps of the utility that are reached, each after the one before
objective           maximise sum_ik gain_ik g_ik - sum_st e_s on_s[t] - sum_ist e_i y_is[t], in multiples of a power of two
==================  =================================================================================================

Gains and prices are rounded to these multiples; the bound includes the largest total rounding error. Goals
other than the objective (quotas, at least one worker) add rows as in ``workers``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dlsched.algorithms.utility_tables import hidden, steps
from dlsched.algorithms.whole_rows import units
from dlsched.core.errors import UsageError
from dlsched.core.limits import Budget
from dlsched.ring_embedding.formulations.linear import Arc, arcs_of_all, crossings_of_all, cycle, shared_links
from dlsched.ring_embedding.formulations.workers import (
    Found,
    Goal,
    Stairs,
    embedded,
    paying,
    require_few,
    shared_servers,
)
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.objectives import objective_of
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.solution import Embedding
from dlsched.solvers.formulation import Formulation
from dlsched.solvers.outcome import Incumbent

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

_LARGEST_OBJECTIVE = 2.0**40


@dataclass(eq=False)
class Circuit(Formulation["cp_model.CpModel", Embedding]):
    """The model: ``decided``, the variables that ``decode`` reads, by name; ``error``, largest rounding error of the utility."""

    decided: "dict[str, cp_model.IntVar]" = field(default_factory=dict)
    error: float = 0.0

    def bound(self, value: float) -> float:
        """Utility that no embedding exceeds if the model's objective is at most ``value``."""
        return value * self.unit + self.error + self.constant


def build_circuit(instance: Instance, budget: Budget | None = None, goal: Goal | None = None) -> Circuit:
    """Build the model; ``budget`` is asked in every loop, and may stop. ``goal``: as that of ``build_span``.

    Raises
    ------
    UsageError
        Demands or bandwidths have no common unit of which they are whole multiples up to 2**30, or there are too many
        variables; the objective is ``max_min``, and the goal no quotas.
    """
    if not (objective_of(instance).additive or isinstance(goal, Stairs)):
        raise UsageError(
            f"the circuit model of {instance.objective} is one of quotas; found none, allowed: quotas, or the objective sum"
        )
    return _Builder(Network(instance, budget)).built(goal)


class _Builder:
    def __init__(self, network: Network) -> None:
        from ortools.sat.python import cp_model

        self.instance, self.network = network.instance, network
        self.model = cp_model.CpModel()
        others = int(network.total.sum()) + network.instance.slots * int(np.count_nonzero(network.fits))
        require_few(others)
        self.tables = paying(network, network.tables)
        self.hosts: list[list[int]] = [np.flatnonzero(fits).tolist() for fits in network.fits]
        self.pairs = arcs_of_all(network, others)
        self.y: dict[tuple[int, int, int], cp_model.IntVar] = {}
        self.of: list[list[cp_model.IntVar]] = [[] for _ in self.hosts]
        self.a: dict[tuple[int, int], dict[Arc, cp_model.IntVar]] = {}
        self.on: dict[tuple[int, int], cp_model.IntVar] = {}

    def built(self, goal: Goal | None) -> Circuit:
        for i, job in enumerate(self.instance.jobs):
            for t in range(job.arrival_slot, self.instance.slots + 1):
                self.network.tick()
                self._add_ring(i, t)
            if self.hosts[i]:
                self.model.add(sum(self.of[i]) <= self.tables[i].units)
        self._add_capacities()
        self._add_bandwidths()
        unit, error, nothing = 1.0, 0.0, 0.0
        if isinstance(goal, Stairs):
            self._add_stairs(goal)
        else:
            unit, error = self._add_utilities()
            nothing = math.fsum(table.nothing for table in self.tables)
        if goal == "something":
            self.model.add(sum(self.y.values()) >= 1)
        passed = [a for arcs in self.a.values() for a in arcs.values()]
        names = {variable.name: variable for variable in (*self.y.values(), *passed)}
        return Circuit(self.model, self._decode, unit, nothing, decided=names, error=error)

    def _add_ring(self, job: int, slot: int) -> None:
        hosts, model = self.hosts[job], self.model
        if not hosts:
            return
        fits = {s: int(self.network.fits[job, s]) for s in hosts}
        y = {s: model.new_int_var(0, fits[s], f"y_{job}_{s}_{slot}") for s in hosts}
        alone = {s: model.new_bool_var("") for s in hosts}
        skipped = {s: model.new_bool_var("") for s in hosts}
        passed = {pair: model.new_bool_var(f"a_{job}_{pair[0]}_{pair[1]}_{slot}") for pair in self.pairs[job]}
        # The circuit numbers its stops from 0: a server that the ring does not pass is a loop.
        stop = {s: n for n, s in enumerate(hosts)}
        if passed:
            loops = [(stop[s], stop[s], skip) for s, skip in skipped.items()]
            model.add_circuit([(stop[here], stop[there], a) for (here, there), a in passed.items()] + loops)
        else:
            model.add_bool_and(list(skipped.values()))
        model.add_at_most_one(alone.values())
        for s in hosts:
            h = model.new_bool_var("")
            model.add(h == alone[s] + 1 - skipped[s])
            model.add(y[s] >= h)
            model.add(y[s] <= fits[s] * h)
            if self.network.on_price[s]:
                model.add_implication(h, self._on(s, slot))
            for skip in skipped.values():
                model.add_implication(alone[s], skip)
        model.add(sum(y.values()) <= min(self.instance.jobs[job].max_workers, sum(fits.values())))
        self.y |= {(job, s, slot): variable for s, variable in y.items()}
        self.of[job] += y.values()
        self.a[job, slot] = passed

    def _on(self, server: int, slot: int) -> "cp_model.IntVar":
        """Whether the server is on in the slot."""
        if (server, slot) not in self.on:
            self.on[server, slot] = self.model.new_bool_var("")
        return self.on[server, slot]

    def _add_capacities(self) -> None:
        for s, r, users, capacity in shared_servers(self.network):
            demand, fits = self.network.demand[users, r].tolist(), self.network.fits[users, s].tolist()
            amounts, right = _whole(demand, capacity, f"demands of {self.instance.resources[r]!r}", fits)
            binds = sum(a * most for a, most in zip(amounts, fits, strict=True)) > right
            for t in range(1, self.instance.slots + 1):
                self.network.tick()
                if binds:
                    pairs = zip(users, amounts, strict=True)
                    used = sum(a * self.y[i, s, t] for i, a in pairs if (i, s, t) in self.y)
                    self.model.add(used <= right * self.on.get((s, t), 1))

    def _add_bandwidths(self) -> None:
        crossing = crossings_of_all(self.network, self.pairs)
        for link, _, users, bandwidth in shared_links(self.instance, crossing):
            count = [len(crossing[i][link]) for i in users]
            most = [min(each, self.instance.jobs[i].max_workers) for i, each in zip(users, count, strict=True)]
            what = f"bandwidths of rings on {self.instance.links[link // 2].ends}"
            amounts, right = _whole([self.network.load[i] for i in users], bandwidth, what, most)
            # A row that all rings at once keep is not needed.
            if sum(amount * each for amount, each in zip(amounts, count, strict=True)) <= right:
                continue
            for t in range(1, self.instance.slots + 1):
                self.network.tick()
                there = [(i, amount) for i, amount in zip(users, amounts, strict=True) if (i, t) in self.a]
                load = sum(amount * self.a[i, t][arc] for i, amount in there for arc in crossing[i][link])
                if there:
                    self.model.add(load <= right)

    def _add_utilities(self) -> tuple[float, float]:
        """Add steps and the objective; return its unit and the largest error of its rounding."""
        ladders = [steps(table) for table in self.tables]
        prices = [price * table.units for price, table in zip(self.instance.worker_prices, self.tables, strict=True)]
        prices += [self.instance.on_prices[s] for s, _ in self.on]
        # Largest power of two for which the objective stays below ``_LARGEST_OBJECTIVE``.
        most = math.fsum([*(step.gain for found in ladders for step in found), *map(float, prices)])
        power = math.frexp(_LARGEST_OBJECTIVE / most)[1] - 1 if most > 0 else 0
        total: list[cp_model.LinearExpr] = []
        off = [hidden(table, found) for table, found in zip(self.tables, ladders, strict=True)]
        # Steps come in order, and those reached need worker-slots; errors of rounding add up in ``off``.
        for i, found in enumerate(ladders):
            reached = [self.model.new_bool_var("") for _ in found]
            for before, after in pairwise(reached):
                self.model.add_implication(after, before)
            if found:
                used = sum(step.width * g for step, g in zip(found, reached, strict=True))
                self.model.add(used <= sum(self.of[i]))
            for step, g in zip(found, reached, strict=True):
                gain = round(math.ldexp(step.gain, power))
                off.append(abs(math.ldexp(gain, -power) - step.gain))
                total.append(gain * g)
            price, error = _rounded(self.instance.worker_prices[i], power)
            off.append(error * self.tables[i].units)
            total += [-price * y for y in self.of[i] if price]
        for (s, _), on in self.on.items():
            price, error = _rounded(self.instance.on_prices[s], power)
            off.append(error)
            total.append(-price * on)
        self.model.maximize(sum(total))
        return math.ldexp(1.0, -power), math.fsum(off)

    def _add_stairs(self, stairs: Stairs) -> None:
        count: list[list[cp_model.IntVar]] = [[] for _ in stairs.counts]
        for i, quota, rises in stairs.rises():
            meets = [self.model.new_bool_var("") for _ in rises]
            self.model.add(quota + sum(rise * m for m, rise in zip(meets, rises, strict=True)) <= sum(self.of[i]))
            for before, after in pairwise(meets):
                self.model.add_implication(after, before)
            for k, m in enumerate(meets, start=1):
                count[k].append(m)
        for least, met in zip(stairs.counts[1:], count[1:], strict=True):
            self.model.add(sum(met) >= least)
        if stairs.maximise:
            self.model.maximize(sum(count[-1]))

    def _decode(self, values: Incumbent) -> Embedding:
        found: Found = {}
        for (i, s, t), y in self.y.items():
            count = round(values[y.name])
            if count:
                found.setdefault(t, {}).setdefault(i, ({}, ()))[0][s] = count
        for t, rings in found.items():
            for i, (workers, _) in rings.items():
                arcs = [arc for arc, a in self.a[i, t].items() if values[a.name] > 0.5]
                rings[i] = workers, cycle(arcs) if arcs else tuple(workers)
        return embedded(self.network, found)


def _rounded(price: Fraction, power: int) -> tuple[int, float]:
    """Round a price to a multiple of 2**-power: the multiple and the error."""
    scaled = price * Fraction(2) ** power
    return round(scaled), float(abs(round(scaled) - scaled) / Fraction(2) ** power)


def _whole(amounts: Sequence[float], right: float, what: str, most: Sequence[int]) -> tuple[list[int], int]:
    scaled = units(amounts, right, most)
    if scaled is None:
        raise UsageError(
            f"the circuit model counts in whole numbers; found {what} that are no whole multiples, up to 2**30, of a unit"
        )
    return scaled
