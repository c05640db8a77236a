"""Rows and columns of the linear program over one slot's mappings, which ``mapping_program`` states."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from dlsched.algorithms.utility_tables import Floats, Integers, power_of_two
from dlsched.columns.generation import Master
from dlsched.core.arrays import dot
from dlsched.ring_embedding.rings.network import Gains, Network, Placed
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
        held = np.minimum(_together(network, self.jobs), np.array(self.most)[:, None])
        self._tight = dot(held.T, network.demand[self.jobs]) > network.capacity  # the others hold all jobs at once
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
        network, held = self.network, list(self._links)
        return np.concatenate([(server * network.capacity).ravel(), link[held] * network.bandwidth[held]])

    def units(self, prices: Floats) -> tuple[Floats, Floats]:
        """Price of one unit of a resource on a server, shape (S, R), and of 1 B/s on a directed link, shape (D,)."""
        network, held = self.network, list(self._links)
        held_by_servers = prices[: network.capacity.size].reshape(network.capacity.shape)
        server = np.zeros(network.capacity.shape)
        np.divide(held_by_servers, network.capacity, out=server, where=network.capacity > 0)
        link = np.zeros(len(network.bandwidth))
        link[held] = prices[network.capacity.size :] / network.bandwidth[held]
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
    times = [1 if network.forest else held for held in most]
    loads = [network.load[job] * many for job, held, many in zip(jobs, most, times, strict=True) if held > 1]
    step = 2 if network.forest else 1
    links = range(0, len(network.bandwidth), step)
    return [link for link in links if sum(load / network.bandwidth[link] for load in loads) > 1]
