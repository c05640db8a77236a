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
``g``               steps of the utility that are reached, each after the one before; see ``gains``
objective           maximise sum_ik gain_ik g_ik, in whole multiples of a power of two
==================  =================================================================================================

Gains are rounded to these multiples; what all roundings together can hide is added to the bound.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np

from dlsched.core.errors import UsageError
from dlsched.ring_embedding.formulations.arc import Arc, arcs_of_all, crossings, cycle
from dlsched.ring_embedding.formulations.gains import hidden, steps
from dlsched.ring_embedding.formulations.sums import same, whole
from dlsched.ring_embedding.formulations.workers import LARGEST, Found, embedded
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.network import Network
from dlsched.ring_embedding.solution import Embedding

_LARGEST_AMOUNT = 2**30  # CP-SAT adds in 64 bits
_LARGEST_OBJECTIVE = 2.0**40


@dataclass(frozen=True)
class Circuit:
    """The model; what reads an embedding from values of its variables; and utility of a value of the objective.

    The objective counts in ``2**-power``. ``nothing`` is the utility of running nothing, ``error`` what rounding can hide.
    """

    model: Any
    decode: Callable[[Callable[[Any], int]], Embedding]
    power: int
    nothing: float
    error: float

    def bound(self, value: float) -> float:
        """Utility that is certainly not exceeded when the model's objective is not above ``value``."""
        return math.ldexp(value, -self.power) + self.error + self.nothing


def build_circuit(instance: Instance, *, tick: Callable[[], None] | None = None) -> Circuit:
    """Build the model; ``tick`` is called in every loop, and may raise to stop.

    Raises
    ------
    UsageError
        Demands or bandwidths have no common unit of which they are whole multiples up to 2**30, or there are too many
        variables.
    """
    return _Builder(Network(instance, tick)).built()


class _Builder:
    def __init__(self, network: Network) -> None:
        from ortools.sat.python import cp_model

        self.instance, self.network = network.instance, network
        self.cp = cp_model.CpModel()
        self.hosts: list[list[int]] = [np.flatnonzero(fits).tolist() for fits in network.fits]
        held = int(network.total.sum()) + network.instance.slots * int(np.count_nonzero(network.fits))
        self._keep(held)
        self.pairs = arcs_of_all(network, lambda count: self._keep(held + count))
        self.y: dict[tuple[int, int, int], Any] = {}
        self.of: list[list[Any]] = [[] for _ in self.hosts]
        self.a: dict[tuple[int, int], dict[Arc, Any]] = {}

    def _keep(self, variables: int) -> None:
        if variables > LARGEST:
            raise UsageError(f"the model has {variables} variables or more, allowed: up to {LARGEST}")

    def built(self) -> Circuit:
        for i, job in enumerate(self.instance.jobs):
            for t in range(job.arrival_slot, self.instance.slots + 1):
                self.network.tick()
                self._add_ring(i, t)
            if self.hosts[i]:
                self.cp.add(sum(self.of[i]) <= int(self.network.total[i]))
        self._add_capacities()
        self._add_bandwidths()
        power, nothing, error = self._add_utilities()
        return Circuit(self.cp, self._decode, power, nothing, error)

    def _add_ring(self, job: int, slot: int) -> None:
        hosts = self.hosts[job]
        if not hosts:
            return
        y = {s: self.cp.new_int_var(0, int(self.network.fits[job, s]), "") for s in hosts}
        alone = {s: self.cp.new_bool_var("") for s in hosts}
        skipped = {s: self.cp.new_bool_var("") for s in hosts}
        passed = {pair: self.cp.new_bool_var("") for pair in self.pairs[job]}
        place = {s: n for n, s in enumerate(hosts)}
        if passed:
            loops = [(place[s], place[s], skip) for s, skip in skipped.items()]
            self.cp.add_circuit([(place[here], place[there], a) for (here, there), a in passed.items()] + loops)
        else:
            self.cp.add_bool_and(list(skipped.values()))
        self.cp.add_at_most_one(alone.values())
        for s in hosts:
            h = self.cp.new_bool_var("")
            self.cp.add(h == alone[s] + 1 - skipped[s])
            self.cp.add(y[s] >= h)
            self.cp.add(y[s] <= int(self.network.fits[job, s]) * h)
            for skip in skipped.values():
                self.cp.add_implication(alone[s], skip)
        self.cp.add(sum(y.values()) <= min(self.instance.jobs[job].max_workers, int(self.network.fits[job].sum())))
        self.y |= {(job, s, slot): held for s, held in y.items()}
        self.of[job] += y.values()
        self.a[job, slot] = passed

    def _add_capacities(self) -> None:
        for (s, server), (r, name) in product(enumerate(self.instance.servers), enumerate(self.instance.resources)):
            users = [i for i in range(len(self.hosts)) if s in self.hosts[i] and self.network.demand[i, r]]
            demand = self.network.demand[users, r].tolist()
            amounts, right = _whole(
                demand,
                (server.capacity or {}).get(name, 0.0),
                f"demands of {name!r}",
                self.network.fits[users, s].tolist(),
            )
            coefficient = dict(zip(users, amounts, strict=True))
            for t in range(1, self.instance.slots + 1):
                self.network.tick()
                terms = [(self.y[i, s, t], coefficient[i]) for i in users if (i, s, t) in self.y]
                if sum(a * int(self.network.fits[i, s]) for i, a in coefficient.items()) > right:
                    self.cp.add(sum(a * y for y, a in terms) <= right)

    def _add_bandwidths(self) -> None:
        crossing = [crossings(self.network, i, held) for i, held in enumerate(self.pairs)]
        for place, record in enumerate(self.instance.links):
            for link in (2 * place, 2 * place + 1):
                users = [i for i, held in enumerate(crossing) if link in held]
                loads = [self.network.load[i] for i in users]
                amounts, right = _whole(
                    loads,
                    record.bandwidth_bytes_per_s,
                    f"bandwidths of rings on {record.ends}",
                    [min(len(crossing[i][link]), self.instance.jobs[i].max_workers) for i in users],
                )
                if sum(amount * len(crossing[i][link]) for i, amount in zip(users, amounts, strict=True)) <= right:
                    continue
                for t in range(1, self.instance.slots + 1):
                    self.network.tick()
                    there = [(i, amount) for i, amount in zip(users, amounts, strict=True) if (i, t) in self.a]
                    load = sum(amount * self.a[i, t][arc] for i, amount in there for arc in crossing[i][link])
                    if there:
                        self.cp.add(load <= right)

    def _add_utilities(self) -> tuple[int, float, float]:
        """Steps and the objective; return its power, the utility of nothing, and the error of its rounding."""
        tables = self.network.worths
        held = [steps(table) for table in tables]
        most = math.fsum(step.gain for found in held for step in found)
        power = math.floor(math.log2(_LARGEST_OBJECTIVE) - math.log2(most)) if most > 0 else 0
        total: list[Any] = []
        off = [hidden(table, found) for table, found in zip(tables, held, strict=True)]
        for i, found in enumerate(held):
            reached = [self.cp.new_bool_var("") for _ in found]
            for before, after in pairwise(reached):
                self.cp.add_implication(after, before)
            if found:
                used = sum(step.width * g for step, g in zip(found, reached, strict=True))
                self.cp.add(used <= sum(self.of[i]))
            for step, g in zip(found, reached, strict=True):
                gain = round(math.ldexp(step.gain, power))
                off.append(abs(math.ldexp(gain, -power) - step.gain))
                total.append(gain * g)
        self.cp.maximize(sum(total))
        return power, math.fsum(float(table.values[0]) for table in tables), math.fsum(off)

    def _decode(self, value: Callable[[Any], int]) -> Embedding:
        found: Found = {}
        for (i, s, t), y in self.y.items():
            count = int(value(y))
            if count:
                found.setdefault(t, {}).setdefault(i, ({}, ()))[0][s] = count
        for t, rings in found.items():
            for i, (workers, _) in rings.items():
                held = [arc for arc, a in self.a[i, t].items() if value(a)]
                rings[i] = workers, cycle(held) if held else tuple(workers)
        return embedded(self.network, found)


def _whole(amounts: list[float], right: float, what: str, most: list[int]) -> tuple[list[int], int]:
    held = whole(amounts, right, _LARGEST_AMOUNT) or same(amounts, right, most)
    if held is None:
        raise UsageError(
            f"the circuit model counts in whole numbers; found {what} that are no whole multiples, up to 2**30, of a unit"
        )
    return held
