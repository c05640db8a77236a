"""The network of an instance as arrays: capacities of servers, and the directed links that a ring crosses.

================  ==================================================================================================
``capacity``      shape (S, R): C_s^r of the resources that some job demands
``bandwidth``     shape (D,): B of directed links; link e is 2e from its first end to its second, 2e + 1 back
``demand``        shape (I, R): l_i^r
``kinds``         of every job the number of its kind: jobs of one kind have equal demands
``limit``         of every job N_i, within what is counted
``fits``          shape (I, S): the most workers of a job that an empty server holds, at most N_i
``most``          shape (I,): the most workers of a job in one slot: N_i, or what one connected part holds
``total``         shape (I,): Z_i, the most worker-slots: ``most`` (T - a_i + 1), or what the budget allows
``position``      shape (S,): of the servers among the nodes in depth-first order (of a forest)
``tree``          the forest in that order: what is ``above`` every position, and the directed link ``upward``
``hosted``        the server at a position of that order, where one is
``part``          shape (S,): number of the connected part; with listed paths all servers are in part 0
``on_price``      shape (S,): e_s, what a server costs in a slot in which it is on
``worker_price``  shape (I,): e_i, what the energy of one worker costs in a slot
================  ==================================================================================================

Capacities, budgets and bandwidths are as large as the checker tolerates, less a thousandth of its tolerance.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, permutations

import numpy as np

from dlsched.algorithms.utility_tables import Floats, Integers, UtilityTable
from dlsched.cluster.network import Forest, Path, forest
from dlsched.core.errors import UsageError
from dlsched.core.gap import FEASIBLE
from dlsched.core.limits import Budget, Stopped
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.tables import utility_tables

Gains = Mapping[int, Floats]
"""By job, gains of 0, 1, 2 ... workers in a slot: utility less the price of their energy; gains may fall."""
Workers = dict[int, int]
Placed = tuple[Workers, tuple[int, ...], list[int]]
"""Workers by server, the order of the ring, and the directed links that it crosses."""

_WITHIN = 0.999 * FEASIBLE  # a little less than the checker tolerates, to allow for rounding
_TRIED = 6  # largest number of servers for which all orders are tried
_NUMBERS = 2**25  # 256 MB of capacities and bandwidths left in all slots
_OBJECT = 64  # memory of a slot's other data, counted in numbers
_RING_S = 2e-5  # measured, to name and check a ring
_LARGEST = 2**40  # workers beyond which nothing is counted: tables end far below


def relaxed(value: float) -> float:
    """A capacity with its tolerance."""
    return value * (1 + _WITHIN)


class Network:
    """Arrays of an instance, and routes; see the module. All that can take long on it heeds its ``budget``."""

    def __init__(self, instance: Instance, budget: Budget | None = None) -> None:
        self.instance, self.budget = instance, budget or Budget()
        self.forest = instance.paths is None
        jobs, servers, resources = instance.jobs, instance.servers, instance.resources
        self.capacity: Floats = np.array([[relaxed(server.holds(name)) for name in resources] for server in servers])
        self.demand: Floats = np.array([[job.demand.get(name, 0.0) for name in resources] for job in jobs])
        kinds: dict[tuple[float, ...], int] = {}
        self.kinds = [kinds.setdefault(tuple(demand), len(kinds)) for demand in self.demand.tolist()]
        self._demands = [np.array(demand) for demand in kinds]
        self.limit = [min(job.max_workers, _LARGEST) for job in jobs]
        self.load: list[float] = [job.bandwidth_bytes_per_s for job in jobs]
        self.on_price: Floats = np.array([float(price) for price in instance.on_prices])
        self.worker_price: Floats = np.array([float(price) for price in instance.worker_prices])
        self.bandwidth: Floats = np.repeat([relaxed(link.bandwidth_bytes_per_s) for link in instance.links], 2)
        self._known: dict[tuple[int, int], tuple[int, ...] | None] = {}
        self.position: Integers = np.arange(len(servers))
        self.part: Integers = np.zeros(len(servers), dtype=np.int64)
        self.hosted: dict[int, int] = {}
        self.tree = Forest((), (), (), ())
        if instance.paths is None:
            self.tree = forest([node.id for node in instance.nodes], (link.ends for link in instance.links))
            index = {instance.nodes[node].id: position for position, node in enumerate(self.tree.nodes)}
            self.position = np.array([index[server.id] for server in servers])
            self.part = np.array(self.tree.part)[self.position]
            self.hosted = {int(position): server for server, position in enumerate(self.position)}
        self._read_paths(instance.paths or ())
        self.fits: Integers = np.array([self.free(job, self.capacity) for job in range(len(jobs))])
        # One part of the forest has to hold the whole ring.
        together = np.zeros((int(self.part.max()) + 1, len(jobs)), dtype=np.int64)
        np.add.at(together, self.part, self.fits.T)
        self.most: Integers = np.minimum([min(job.max_workers, _LARGEST) for job in jobs], together.max(axis=0))
        self.total: Integers = np.array([self._total(job) for job in range(len(jobs))])
        self.most = np.minimum(self.most, self.total)

    def _read_paths(self, paths: Iterable[Path]) -> None:
        index, links = self.instance.server_index, self.instance.links
        direct = {link.ends: 2 * e for e, link in enumerate(links)}
        direct |= {link.ends[::-1]: 2 * e + 1 for e, link in enumerate(links)}
        for path in paths:
            first, second = (index[end] for end in path.ends)
            self._known[first, second] = tuple(direct[hop] for hop in pairwise(path.nodes))
            self._known[second, first] = tuple(direct[hop] for hop in pairwise(path.nodes[::-1]))

    @cached_property
    def slots(self) -> range:
        """Slots from the first arrival on; UsageError if these are too many for memory."""
        first = min(job.arrival_slot for job in self.instance.jobs)
        count, most = self.instance.slots - first + 1, _NUMBERS // (_OBJECT + self.capacity.size + len(self.bandwidth))
        if count > most:
            raise UsageError(where="slots", found=f"{count} from the first arrival on", allowed=f"up to {most}")
        return range(first, self.instance.slots + 1)

    @cached_property
    def tables(self) -> list[UtilityTable]:
        """Utilities of up to the most worker-slots of every job; UsageError if these are too many."""
        return utility_tables(self.instance.jobs, self.total.tolist())

    def gains(self, job: int, held: int, most: int) -> Floats:
        """Gains of 0 .. ``most`` workers after ``held`` worker-slots, without the servers' power."""
        utility = self.tables[job].gains(held, most)
        return utility - self.worker_price[job] * np.arange(len(utility)) if self.worker_price[job] else utility

    def tick(self, rings: int = 0) -> None:
        """Stop at a limit, or earlier by the time needed to make and check an answer of ``rings`` rings."""
        self.budget.tick()
        left = self.budget.left.time_s if rings else None
        if left is not None and left <= rings * _RING_S:
            raise Stopped(TerminationStatus.TIME_LIMIT)

    def free(self, job: int, capacity: Floats) -> Integers:
        """Workers of a job that each server holds with this capacity left, shape (S,), at most N_i."""
        fitting: Integers = np.minimum(self.room(self.kinds[job], capacity), self.limit[job])
        return fitting

    def room(self, kind: int, capacity: Floats) -> Integers:
        """As ``free`` for a kind of jobs, which have equal demands, whatever their N_i."""
        demand = self._demands[kind]
        used = demand > 0
        most = np.min(capacity[:, used] / demand[used], axis=1)
        whole: Integers = np.floor(np.clip(most, 0, _LARGEST)).astype(np.int64)
        return whole

    def path(self, here: int, there: int) -> tuple[int, ...] | None:
        """Directed links from a server to another, None without a route."""
        if not self.forest or (here, there) in self._known:
            return self._known.get((here, there))
        found = self.tree.path(int(self.position[here]), int(self.position[there]))
        self._known[here, there] = found
        return found

    def crossed(self, order: Sequence[int]) -> list[int] | None:
        """Directed links of a ring in this order, each as often as crossed; None without a route."""
        if len(order) == 1:
            return []
        links: list[int] = []
        for here, there in zip(order, (*order[1:], order[0]), strict=True):
            path = self.path(here, there)
            if path is None:
                return None
            links += path
        return links

    def placed(self, workers: Workers, order: tuple[int, ...] | None = None) -> Placed:
        """A ring with the links that it crosses, by default in the first of its ``orders``; its servers have routes."""
        order = next(iter(self.orders(workers))) if order is None else order
        links = self.crossed(order)
        assert links is not None
        return workers, order, links

    def orders(self, servers: Iterable[int]) -> Iterable[tuple[int, ...]]:
        """Orders of a ring worth trying: in a forest depth-first, which is best; else all, or from each server to the nearest."""
        held = sorted(servers, key=lambda server: int(self.position[server]))
        if self.forest or len(held) <= 2:
            return [tuple(held)]
        if len(held) <= _TRIED:
            return ((held[0], *rest) for rest in permutations(held[1:]))
        near = [self._nearest(held, first) for first in held]
        return near + [order[::-1] for order in near]

    def _nearest(self, servers: Sequence[int], first: int) -> tuple[int, ...]:
        left, order = set(servers) - {first}, [first]
        while left:
            hops = {there: self.path(order[-1], there) for there in sorted(left)}
            order.append(min(hops, key=lambda there: len(hops[there] or ()) or math.inf))
            left.remove(order[-1])
        return tuple(order)

    def _total(self, job: int) -> int:
        record = self.instance.jobs[job]
        most = int(self.most[job]) * (self.instance.slots - record.arrival_slot + 1)
        for name, amount in record.demand.items():
            if amount > 0 and name in record.budget:
                most = min(most, math.floor(min(relaxed(record.budget[name]) / amount, _LARGEST)))
        return min(most, _LARGEST)
