"""The linear program over the mappings of one slot, by column generation.

maximise sum_ikm gain_i(k) f_ikm - sum_s e_s on_s over mappings m of job i with k workers (``rings.network``), f, on >= 0

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

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dlsched.algorithms.utility_tables import Floats, Integers, power_of_two
from dlsched.columns.generation import Master, Smoothing
from dlsched.core.arrays import dot
from dlsched.core.status import Sense
from dlsched.ring_embedding.rings.network import ForestPrices, Gains, Network, Placed, Routes, WalkPrices
from dlsched.solvers.linear import LinearModel, maximisation
from dlsched.solvers.lp import linear_program

_TIGHT = 1e-10
"""Tolerances of HiGHS, so tight that prices are exact to the last digit."""


class Column:
    """A mapping of a job."""

    __slots__ = ("job", "key", "links", "placed", "size")

    def __init__(self, job: int, placed: Placed) -> None:
        workers, order, links = placed
        self.job, self.placed, self.size = job, placed, sum(workers.values())
        self.links = Counter(links)
        self.key = job, order, tuple(workers[server] for server in order)


class Rows:
    """The program's rows, each divided by its capacity, and its columns, of which ``on`` of dear servers come first.

    ``on_cost``, shape (S,): price of a server that is on, cut to twice its largest possible worth, so that solvers see no
    1e100; 0 of the others. ``paid``: that of the last solution.
    """

    def __init__(self, network: Network, jobs: Sequence[int], gains: Gains) -> None:
        self.network, self.jobs = network, list(jobs)
        self.index = {job: row for row, job in enumerate(jobs)}
        self.most = [len(gains[job]) - 1 for job in jobs]
        self.gain: Floats = np.full((len(jobs), max(self.most) + 1), -np.inf)
        for row, job in enumerate(jobs):
            self.gain[row, 1 : self.most[row] + 1] = gains[job][1:]
        self.unit = power_of_two(float(self.gain.max()))
        together = np.minimum(_together(network, self.jobs), np.array(self.most)[:, None])
        self._tight = dot(together.T, network.demand[self.jobs]) > network.capacity  # the others hold all jobs at once
        self.on_cost = self._on_costs()
        self._tight |= self.on_cost[:, None] > 0
        self._links = {link: row for row, link in enumerate(_scarce(network, jobs, self.most))}
        self.count = network.capacity.size + len(self._links)
        self.columns: list[Column] = []
        self._dear, self.paid = np.flatnonzero(self.on_cost).tolist(), 0.0
        self._most = np.ones(len(jobs) + self.count + len(self._dear))
        resources = network.capacity.shape[1]
        held_by = {s: list(range(len(jobs) + s * resources, len(jobs) + (s + 1) * resources)) for s in self._dear}
        for server in self._dear:
            self._most[held_by[server]] = 0.0
        self._master = Master(self._most, unit=self.unit, tolerance=_TIGHT)
        for last, server in enumerate(self._dear, start=len(jobs) + self.count):
            entries, values = [*held_by[server], last], [*[-1.0] * resources, 1.0]
            self._master.add(("on", server), float(self.on_cost[server]), entries, values)

    def _on_costs(self) -> Floats:
        """Prices of ``on``, cut (see the class)."""
        network = self.network
        # A part f of a mapping gains f times its gain, and uses at least the least worker's part of a server.
        part = network.demand[self.jobs][:, None, :] / np.where(network.capacity > 0, network.capacity, np.inf)
        least = np.where(part > 0, part, np.inf).min(axis=(0, 2))
        costs: Floats = np.minimum(network.on_price, 2 * float(self.gain.max()) / least)
        return costs

    def add(self, column: Column) -> bool:
        """Add a column; False if it is known already."""
        rows, values = self._entries(column)
        row = self.index[column.job]
        entries = [row, *(len(self.jobs) + each for each in rows)]
        if not self._master.add(column.key, -float(self.gain[row, column.size]), entries, [1.0, *values]):
            return False
        self.columns.append(column)
        return True

    def _entries(self, column: Column) -> tuple[list[int], list[float]]:
        """Rows of servers and links, and the part that the column uses of each."""
        network, job = self.network, column.job
        resources = network.capacity.shape[1]
        rows, values = [], []
        for server, count in column.placed[0].items():
            for resource in np.flatnonzero(self._tight[server] & (network.demand[job] > 0)).tolist():
                rows.append(server * resources + resource)
                values.append(float(count * network.demand[job, resource] / network.capacity[server, resource]))
        for link, times in column.links.items():
            if link in self._links and network.load[job] > 0:
                rows.append(network.capacity.size + self._links[link])
                values.append(float(times * network.load[job] / network.bandwidth[link]))
        return rows, values

    def surplus(self, column: Column, choice: Floats, prices: Floats) -> float:
        """Gain of a column above its prices."""
        rows, values = self._entries(column)
        row = self.index[column.job]
        return float(self.gain[row, column.size] - choice[row] - dot(prices[rows], np.array(values)))

    def value(self, prices: Floats) -> float:
        """Worth of servers and links at prices; of servers only the part above their power's price."""
        of_servers = prices[: self.network.capacity.size].reshape(self.network.capacity.shape)
        if not self._dear:
            return float(prices.sum())
        over = np.maximum(0.0, of_servers.sum(axis=1) - self.network.on_price)
        return float(over.sum() + prices[of_servers.size :].sum())

    def prices(self, server: Floats, link: Floats) -> Floats:
        """Prices of rows from those of units; inverse of ``units``."""
        network, links = self.network, list(self._links)
        return np.concatenate([(server * network.capacity).ravel(), link[links] * network.bandwidth[links]])

    def units(self, prices: Floats) -> tuple[Floats, Floats]:
        """Price of one unit of a resource on a server, shape (S, R), and of 1 B/s on a directed link, shape (D,)."""
        network, links = self.network, list(self._links)
        held_by_servers = prices[: network.capacity.size].reshape(network.capacity.shape)
        server = np.zeros(network.capacity.shape)
        np.divide(held_by_servers, network.capacity, out=server, where=network.capacity > 0)
        link = np.zeros(len(network.bandwidth))
        link[links] = prices[network.capacity.size :] / network.bandwidth[links]
        return server, link

    def solve(self) -> tuple[float, Floats, Floats, Floats]:
        """Solve the program of the known columns: its value, weights, prices of jobs, and of servers and links."""
        jobs = len(self.jobs)
        if not self.columns:
            return 0.0, np.zeros(0), np.zeros(jobs), np.zeros(self.count)
        optimum = self._master.solve(self.network.budget.left.time_s)
        weights, prices = optimum.weights[len(self._dear) :], optimum.prices[jobs : jobs + self.count]
        self.paid = float(dot(self.on_cost[self._dear], optimum.weights[: len(self._dear)]))
        return -optimum.value, weights, optimum.prices[:jobs], prices

    def whole(self) -> LinearModel:
        """The program of the known columns in whole numbers; its value is in ``unit``."""
        matrix, ones = self._master.matrix().tocsr(), np.ones(len(self._master))
        scarce = np.flatnonzero(np.asarray(matrix.maximum(0).sum(axis=1)).ravel() > self._most)
        return maximisation(-self._master.costs, matrix[scarce], self._most[scarce], upper=ones, integer=ones)

    def chosen(self, values: Mapping[str, float]) -> list[Column]:
        """The columns that a solution of ``whole`` chooses."""
        columns = enumerate(self.columns, start=len(self._dear))
        return [column for index, column in columns if values.get(f"x{index}", 0.0) > 0.5]


def _together(network: Network, jobs: Sequence[int]) -> Integers:
    """Most workers of every job on a server in a mapping, shape (J, S): a closed walk may pass it often."""
    fits = network.fits[list(jobs)]
    return fits if network.forest else np.where(fits > 0, np.iinfo(fits.dtype).max, 0)


def pooled(rows: Rows) -> Floats:
    """Prices of servers as if their resources were one pool and links free: the first prices of a search."""
    from scipy.sparse import csc_array, hstack, vstack

    network = rows.network
    # Columns are sizes of jobs, then ``on``; rows are one size per job, then the pool of every resource.
    job, size = np.nonzero(np.isfinite(rows.gain))
    pool = network.capacity.sum(axis=0)
    pool[pool == 0] = 1.0
    used = (network.demand[rows.jobs] / pool)[job] * size[:, None]
    one = csc_array((np.ones(len(job)), (job, np.arange(len(job)))), shape=(len(rows.jobs), len(job)))
    dear = rows.on_cost > 0
    on = csc_array((len(rows.jobs), int(dear.sum())))
    matrix = vstack([hstack([one, on]), csc_array(np.hstack([used.T, -(network.capacity[dear] / pool).T]))])
    answer = linear_program(
        np.concatenate((-rows.gain[job, size], rows.on_cost[dear])) / rows.unit,
        a_ub=matrix,
        b_ub=np.concatenate((np.ones(len(rows.jobs)), 1 - network.capacity[dear].sum(axis=0) / pool)),
        bounds=[(0.0, np.inf)] * len(job) + [(0.0, 1.0)] * int(dear.sum()),
        tolerance=_TIGHT,
        time_s=network.budget.left.time_s,
    )
    prices = np.maximum(0.0, -answer.upper[len(rows.jobs) :])
    server = prices * rows.unit * network.capacity / pool
    return np.concatenate([server.ravel(), np.zeros(rows.count - server.size)])


def _scarce(network: Network, jobs: Sequence[int], most: Sequence[int]) -> list[int]:
    """Directed links that the jobs could overload; in a forest one direction, as both are alike."""
    # A mapping of k workers has at most k routes; a depth-first ring crosses a link once in each direction.
    times = [1 if network.forest else size for size in most]
    loads = [network.load[job] * many for job, size, many in zip(jobs, most, times, strict=True) if size > 1]
    step = 2 if network.forest else 1
    links = range(0, len(network.bandwidth), step)
    return [link for link in links if sum(load / network.bandwidth[link] for load in loads) > 1]


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
    """The mappings known for a network; one object serves all slots and keeps at most ``most_columns`` good ones."""

    def __init__(self, network: Network, *, most_columns: int = 4000) -> None:
        self._network, self._most_columns = network, most_columns
        self._routes = None if network.forest else Routes(network)
        self._columns: dict[tuple[object, ...], Column] = {}

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
        for column in list(self._columns.values()):
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
    def known(self) -> list[tuple[int, Placed]]:
        """Jobs and rings of the known mappings."""
        return [(column.job, column.placed) for column in self._columns.values()]

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
        return self._columns.setdefault(column.key, column)

    def _forget(self, rows: Rows, choice: Floats, prices: Floats) -> None:
        """If more than ``most_columns`` mappings are known, drop those worth the least at the last prices."""
        if len(self._columns) > self._most_columns:
            worth = [-rows.surplus(column, choice, prices) for column in rows.columns]
            good = np.argsort(worth, kind="stable")[: self._most_columns // 2]
            self._columns = {rows.columns[c].key: rows.columns[c] for c in sorted(good)}

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
