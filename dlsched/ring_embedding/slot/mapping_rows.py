"""Rows and columns of the linear program over the mappings of one slot; its mathematics stand in ``mapping_program``."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dlsched.algorithms.utility_table import Floats, power_of_two
from dlsched.ring_embedding.rings.network import Gains, Network, Placed
from dlsched.solvers.linear import LinearModel
from dlsched.solvers.lp import linear_program
from dlsched.solvers.rows import maximisation

if TYPE_CHECKING:
    from scipy.sparse import csc_array

_TIGHT = 1e-10
"""HiGHS' tolerances: prices are asked for to the last digit."""


class Column:
    """A mapping of a job."""

    __slots__ = ("job", "key", "links", "placed", "size")

    def __init__(self, job: int, placed: Placed) -> None:
        workers, order, links = placed
        self.job, self.placed, self.size = job, placed, sum(workers.values())
        self.links = Counter(links)
        self.key = job, order, tuple(workers[server] for server in order)


class Rows:
    """The program's rows, each divided by its right-hand side, and the columns held of it."""

    def __init__(self, network: Network, jobs: Sequence[int], gains: Gains) -> None:
        self.network, self.jobs = network, list(jobs)
        self.index = {job: row for row, job in enumerate(jobs)}
        self.most = [len(gains[job]) - 1 for job in jobs]
        self.gain: Floats = np.full((len(jobs), max(self.most) + 1), -np.inf)
        for row, job in enumerate(jobs):
            self.gain[row, 1 : self.most[row] + 1] = gains[job][1:]
        self.unit = power_of_two(float(self.gain.max()))
        held = np.minimum(network.fits[self.jobs], np.array(self.most)[:, None])
        self._tight = held.T @ network.demand[self.jobs] > network.capacity  # the others hold all jobs at once
        self._links = {link: row for row, link in enumerate(_scarce(network, jobs, self.most))}
        self.count = network.capacity.size + len(self._links)
        self.columns: list[Column] = []
        self._known: set[tuple[object, ...]] = set()
        self._rows: list[int] = []
        self._values: list[float] = []
        self._ends = [0]

    def add(self, column: Column) -> bool:
        """Hold a column; False when it is held already."""
        if column.key in self._known:
            return False
        self._known.add(column.key)
        self.columns.append(column)
        rows, values = self._entries(column)
        self._rows += [self.index[column.job], *(len(self.jobs) + row for row in rows)]
        self._values += [1.0, *values]
        self._ends.append(len(self._rows))
        return True

    def _entries(self, column: Column) -> tuple[list[int], list[float]]:
        """Rows of servers and links, and what the column uses of each."""
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
        """What a column gains over its prices."""
        rows, values = self._entries(column)
        row = self.index[column.job]
        return float(self.gain[row, column.size] - choice[row] - prices[rows] @ np.array(values))

    def prices(self, server: Floats, link: Floats) -> Floats:
        """Prices of rows from those of units: the inverse of ``units``."""
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
        """Solve the program of the columns held: its value, weights, prices of jobs, and of servers and links."""
        jobs = len(self.jobs)
        if not self.columns:
            return 0.0, np.zeros(0), np.zeros(jobs), np.zeros(self.count)
        value, weights, prices = _most(self._costs(), self._matrix(), self.network.budget.left.time_s)
        return value * self.unit, weights, prices[:jobs] * self.unit, prices[jobs:] * self.unit

    def whole(self) -> LinearModel:
        """The program of the columns held, in whole numbers: ``x<index>`` chooses a column; its value is in ``unit``."""
        matrix, ones = self._matrix().tocsr(), np.ones(len(self.columns))
        matrix = matrix[np.flatnonzero(np.asarray(matrix.sum(axis=1)).ravel() > 1)]
        return maximisation(self._costs(), matrix, np.ones(matrix.shape[0]), upper=ones, integer=ones)

    def _costs(self) -> Floats:
        """What the columns held gain, in ``unit``."""
        return np.array([self.gain[self.index[column.job], column.size] for column in self.columns]) / self.unit

    def _matrix(self) -> "csc_array":
        """Rows of jobs, then those of servers and links, by columns held."""
        from scipy.sparse import csc_array

        shape = len(self.jobs) + self.count, len(self.columns)
        return csc_array((self._values, self._rows, self._ends), shape=shape)


def _most(gains: Floats, matrix: "csc_array", time_s: float | None) -> tuple[float, Floats, Floats]:
    """Maximise gains under rows of at most 1: value, weights and prices."""
    answer = linear_program(-gains, a_ub=matrix, b_ub=np.ones(matrix.shape[0]), tolerance=_TIGHT, time_s=time_s)
    return -answer.objective, answer.x, np.maximum(0.0, -answer.upper)


def pooled(rows: Rows) -> Floats:
    """Prices of servers as if they were one and links free: where the search for prices begins."""
    from scipy.sparse import csc_array, vstack

    network = rows.network
    job, size = np.nonzero(np.isfinite(rows.gain))
    pool = network.capacity.sum(axis=0)
    pool[pool == 0] = 1.0
    used = (network.demand[rows.jobs] / pool)[job] * size[:, None]
    one = csc_array((np.ones(len(job)), (job, np.arange(len(job)))), shape=(len(rows.jobs), len(job)))
    _, _, prices = _most(rows.gain[job, size] / rows.unit, vstack([one, csc_array(used.T)]), network.budget.left.time_s)
    server = prices[len(rows.jobs) :] * rows.unit * network.capacity / pool
    return np.concatenate([server.ravel(), np.zeros(rows.count - server.size)])


def _scarce(network: Network, jobs: Sequence[int], most: Sequence[int]) -> list[int]:
    """Directed links that the jobs could overload; in a forest of each link only one direction, the other is alike.

    A mapping of k workers has at most k routes, and a depth-first ring crosses a link once in each direction.
    """
    times = [1 if network.forest else held for held in most]
    loads = [network.load[job] * many for job, held, many in zip(jobs, most, times, strict=True) if held > 1]
    step = 2 if network.forest else 1
    links = range(0, len(network.bandwidth), step)
    return [link for link in links if sum(load / network.bandwidth[link] for load in loads) > 1]
