"""The linear program over the mappings of one slot, by column generation.

maximise sum_ikm gain_i(k) f_ikm - sum_s e_s on_s over mappings m of job i with k workers (``rings.ring_prices``), f, on >= 0

``choice_<job>``                 sum_km f_ikm <= 1
``capacity_<server>_<resource>``  sum_ikm l_i^r (workers of m on s) f_ikm <= C_s^r on_s
``on_<server>``                   on_s <= 1; on_s = 1 where e_s = 0
``bandwidth_<link>``              sum_ikm b_i (times that m crosses the directed link) f_ikm <= B_e

A few mappings are held; the prices of their program find for each job and size the mapping that gains most over its
price. When none gains more than its job's price, the program is solved. At any prices >= 0, what servers and links get,

    sum_s max(0, sum_r price_sr C_s^r - e_s) + sum_e price_e B_e,

plus what the best mapping of each job still gains bounds it from above (Lagrange), and so does every ``bound`` here.
Gains may fall with the number of workers. A ring of the slot is a mapping, so the bound is never below the slot's optimum.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dlsched.algorithms.utility_tables import Floats
from dlsched.columns.generation import Smoothing
from dlsched.core.arrays import dot
from dlsched.core.status import Sense
from dlsched.ring_embedding.rings.network import Gains, Network, Placed
from dlsched.ring_embedding.rings.ring_prices import ForestPrices, Routes, WalkPrices
from dlsched.ring_embedding.slot.mapping_rows import Column, Rows, pooled

CLOSE = 1e-9
"""Relative difference of the program's value and its bound at which it counts as solved."""

_Rings = ForestPrices | WalkPrices
_GOLDEN = (5**0.5 - 1) / 2  # whose multiples, modulo 1, spread evenly


@dataclass(frozen=True, slots=True)
class Weighted:
    """A mapping and its weight in the program's solution."""

    job: int
    size: int
    placed: Placed
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """The program's solution: value, upper bound, and mappings with a weight.

    ``server``, shape (S, R), and ``link``, shape (D,): the prices that prove the bound, of a unit of a resource and of 1 B/s.
    ``on_price``: power of the servers that the solution switches on, weighted.
    """

    value: float
    bound: float
    mappings: tuple[Weighted, ...]
    server: Floats
    link: Floats
    on_price: float = 0.0


class MappingProgram:
    """The mappings known for a network; one object serves all slots and keeps at most ``kept`` good ones."""

    def __init__(self, network: Network, *, kept: int = 4000) -> None:
        self._network, self._kept = network, kept
        self._routes = None if network.forest else Routes(network)
        self._held: dict[tuple[object, ...], Column] = {}

    def solve(self, gains: Gains, start: Mapping[int, Placed], *, close: float = CLOSE) -> Relaxation:
        """Solve the program of one slot, with the rings ``start`` among its first columns.

        ``gains``, shape (n + 1,) per job for at most n workers, begin with 0. SolverError: HiGHS has no optimum, though
        running nothing is feasible.
        """
        jobs = [job for job, gain in gains.items() if len(gain) > 1 and gain.max() > 0]
        if not jobs:
            network = self._network
            return Relaxation(0.0, 0.0, (), np.zeros(network.capacity.shape), np.zeros(len(network.bandwidth)))
        rows = Rows(self._network, jobs, gains)
        for job, placed in start.items():
            self._hold(job, placed)
        for column in list(self._held.values()):
            if column.job in rows.index and column.size < len(gains[column.job]):
                rows.add(column)
        best = Smoothing(Sense.MAXIMIZE, pooled(rows))
        while True:
            self._network.tick()
            value, weights, choice, prices = rows.solve()
            joined = False
            # Trial prices lie between the program's and the best ones; a trial that adds no mapping still improves the bound.
            for trial in best.trials(prices):
                if best.bound - value <= close * value:
                    break
                rings, bound = self._priced(rows, trial, choice, 0.1 * close * value)
                best.keep(trial, bound)
                joined = self._join(rows, rings, choice, prices, close * value / len(jobs))
                if joined:
                    break
            if not joined:
                break
        self._forget(rows, choice, prices)
        used = [(rows.columns[c], weights[c]) for c in np.flatnonzero(weights > 0)]
        mappings = tuple(Weighted(column.job, column.size, column.placed, weight) for column, weight in used)
        assert best.center is not None
        return Relaxation(value, best.bound, mappings, *rows.units(best.center), rows.paid)

    @property
    def held(self) -> list[tuple[int, Placed]]:
        """Jobs and rings of the known mappings."""
        return [(column.job, column.placed) for column in self._held.values()]

    def _join(self, rows: Rows, found: _Rings, choice: Floats, prices: Floats, least: float) -> bool:
        """Add the mappings that the program would use; return whether there were any."""
        # Per job the best size, and every size that gains more than the job's price.
        surplus = rows.gain - found.least
        surplus[~found.exact] = -np.inf
        wanted = surplus > np.minimum(choice, surplus.max(axis=1))[:, None] + least
        wanted[np.arange(len(surplus)), surplus.argmax(axis=1)] |= found.exact
        joined = False
        for row, size in zip(*np.nonzero(wanted & np.isfinite(surplus)), strict=True):
            column = self._hold(rows.jobs[row], found.ring(int(row), int(size)))
            if rows.surplus(column, choice, prices) > least:
                joined |= rows.add(column)
        return joined

    def _hold(self, job: int, placed: Placed) -> Column:
        column = Column(job, placed)
        return self._held.setdefault(column.key, column)

    def _forget(self, rows: Rows, choice: Floats, prices: Floats) -> None:
        """If more than ``kept`` mappings are known, drop those worth the least at the last prices."""
        if len(self._held) > self._kept:
            worth = [-rows.surplus(column, choice, prices) for column in rows.columns]
            good = np.argsort(worth, kind="stable")[: self._kept // 2]
            self._held = {rows.columns[c].key: rows.columns[c] for c in sorted(good)}

    def _priced(self, rows: Rows, prices: Floats, choice: Floats, loose: float) -> tuple[_Rings, float]:
        """The cheapest mappings at prices, and the bound that they prove.

        Mappings of jobs that surely stay below their price ``choice`` need not be exact.
        """
        network = self._network
        server, link = rows.units(prices)
        # Equal prices would give every job the same ring: each job has its own, lower by at most ``loose`` in the bound.
        scattered = np.arange(len(rows.jobs) * len(server)) * _GOLDEN % 1.0
        worker = dot(network.demand[rows.jobs], server.T)
        worker -= scattered.reshape(worker.shape) * loose / (len(rows.jobs) * max(rows.most))
        rings: _Rings
        if self._routes is None:
            rings = ForestPrices(network, rows.jobs, rows.most, worker, link)
        else:
            worthless = rows.gain - choice[:, None]
            rings = WalkPrices(network, self._routes, rows.jobs, rows.most, worker, link, worthless)
        surplus = (rows.gain - rings.least).max(axis=1)
        return rings, rows.value(prices) + float(np.maximum(0.0, surplus).sum())
