"""The network of an instance as arrays, and the cheapest rings in it at given prices.

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

*Cheapest rings* at given prices of a worker on a server and of a byte per second on a directed link.

A ring here is a *mapping* of a job and a size k: a closed walk over servers, on which k workers are left. It leaves at
most as many workers at a stop as the empty server holds, and crosses no link that is too narrow for the job alone.

*Forest.* A walk in depth-first order crosses each link that separates its servers once in each direction, and no walk over
the same servers does with less. So the cheapest mapping is found over subtrees (``algorithms.ring_sets``). Every server
is one stop.

*Listed paths.* ``algorithms.ring_sets`` from each server back to itself. A walk may come back to a server, which a ring
may not: finding the cheapest ring that does not is a travelling salesman's problem. So these mappings relax rings, and one
that comes back is straightened where an order can be found.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt

from dlsched.algorithms.ring_sets import ClosedWalks, ForestParts
from dlsched.algorithms.utility_tables import Floats, Integers, UtilityTable
from dlsched.cluster.network import Forest, Path, forest
from dlsched.core.errors import UsageError
from dlsched.core.gap import FEASIBLE
from dlsched.core.limits import Budget, Stopped, TooMany
from dlsched.core.status import TerminationStatus
from dlsched.ring_embedding.instance import Instance, Job

LARGEST_TABLES = 2**23
"""Largest number of worker-slots of all jobs in tables: 64 MB, and as much for each of a few copies."""


def utility_tables(jobs: Sequence[Job], totals: Sequence[int]) -> list[UtilityTable]:
    """Utilities of 0 .. the most worker-slots of every job; UsageError: more than ``LARGEST_TABLES`` in all."""
    count = sum(totals)
    if count > LARGEST_TABLES:
        raise UsageError(
            found=f"jobs that can have {count} worker-slots or more in all", allowed=f"up to {LARGEST_TABLES}"
        )
    found = []
    for job, total in zip(jobs, totals, strict=True):
        values = job.utility.values(job.rate * np.arange(total + 1, dtype=np.float64))
        found.append(UtilityTable(values, job.utility.error(float(values[-1])), job.utility.concave))
    return found


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
_LEAST = 1e-100  # every capacity > 0 is at least this
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

    @cached_property
    def share(self) -> Floats:
        """Dominant share of a worker of every job, shape (I,): its largest part of all servers' capacity of a resource."""
        instance = self.instance
        total = [math.fsum(server.holds(name) for server in instance.servers) for name in instance.resources]
        share: Floats = (self.demand / np.maximum(total, _LEAST)).max(axis=1)
        return share

    def gains(self, job: int, spent: int, most: int) -> Floats:
        """Gains of 0 .. ``most`` workers after ``spent`` worker-slots, without the servers' power."""
        utility = self.tables[job].gains(spent, most)
        return utility - self.worker_price[job] * np.arange(len(utility)) if self.worker_price[job] else utility

    def tick(self, rings: int = 0) -> None:
        """Stop at a limit, or earlier by the time needed to make and check an answer of ``rings`` rings."""
        self.budget.tick()
        remaining_s = self.budget.left.time_s if rings else None
        if remaining_s is not None and remaining_s <= rings * _RING_S:
            raise Stopped(TerminationStatus.TIME_LIMIT)

    def free(self, job: int, capacity: Floats) -> Integers:
        """Workers of a job that each server holds with this capacity left, shape (S,), at most N_i."""
        return np.minimum(self.room(self.kinds[job], capacity), self.limit[job])

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
        hosts = sorted(servers, key=lambda server: int(self.position[server]))
        if self.forest or len(hosts) <= 2:
            return [tuple(hosts)]
        if len(hosts) <= _TRIED:
            return ((hosts[0], *rest) for rest in permutations(hosts[1:]))
        near = [self._nearest(hosts, first) for first in hosts]
        return near + [order[::-1] for order in near]

    def _nearest(self, servers: Sequence[int], first: int) -> tuple[int, ...]:
        remaining, order = set(servers) - {first}, [first]
        while remaining:
            hops = {there: self.path(order[-1], there) for there in sorted(remaining)}
            order.append(min(hops, key=lambda there: len(hops[there] or ()) or math.inf))
            remaining.remove(order[-1])
        return tuple(order)

    def _total(self, job: int) -> int:
        record = self.instance.jobs[job]
        most = int(self.most[job]) * (self.instance.slots - record.arrival_slot + 1)
        for name, amount in record.demand.items():
            if amount > 0 and name in record.budget:
                most = min(most, math.floor(min(relaxed(record.budget[name]) / amount, _LARGEST)))
        return min(most, _LARGEST)


LARGEST_PRICES = 2**26
"""Largest number of prices held at a time: 512 MB."""
_STEPS = 2**27  # additions between two ticks, a quarter of a second


class ForestPrices:
    """Least prices by size, for several jobs in a forest; ``least``, shape (J, K + 1): inf where there is no mapping.

    ``most``: largest size of each job; ``server``, shape (J, S): price of a worker; ``link``, shape (D,): of 1 B/s.
    Cost: O(J V K^2) for V nodes.
    """

    def __init__(
        self, network: Network, jobs: Sequence[int], most: Sequence[int], server: Floats, link: Floats
    ) -> None:
        self._network = network
        sizes = max(most) + 1
        require_memory(3 * len(jobs) * sizes * len(network.tree.above), len(jobs) * sizes**2)
        load = np.array([network.load[job] for job in jobs])

        def crossing(upward: int) -> Floats:
            wide = load <= min(network.bandwidth[upward], network.bandwidth[upward ^ 1])
            return np.where(wide, load * (link[upward] + link[upward ^ 1]), np.inf)

        prices = [crossing(upward) if upward >= 0 else load for upward in network.tree.upward]
        fits = np.minimum(network.fits[list(jobs)], np.array(most)[:, None])
        self._parts = ForestParts(network.tree.above, network.hosted, fits, server, prices, sizes - 1, network.tick)
        self.least = self._parts.least
        self.exact = np.ones(len(jobs), dtype=np.bool_)

    def ring(self, row: int, size: int) -> Placed:
        """The mapping of ``least[row, size]``, in depth-first order."""
        return self._network.placed(self._parts.part(row, size))

    def near(self, row: int, most: Sequence[float], limit: int) -> list[tuple[float, Workers]]:
        """Prices and workers of all rings of n >= 1 workers that cost at most ``most[n]``; -inf: none of that size.

        ``TooMany``: some node has more parts than ``limit``, or there are more rings.
        """
        found: list[tuple[float, Workers]] = []
        for size in range(1, len(most)):
            slack = most[size] - float(self.least[row, size])
            if np.isfinite(most[size]) and slack >= 0:
                parts = self._parts.near(row, size, slack, limit)
                found += [(price, dict(part)) for price, part in parts if price <= most[size]]
                if len(found) > limit:
                    raise TooMany
        return found


def require_memory(numbers: int, steps: int) -> None:
    """Stop if too many prices would be in memory, or be added up between two ticks."""
    if numbers > LARGEST_PRICES or steps > _STEPS:
        raise Stopped(TerminationStatus.MEMORY_LIMIT)


class Routes:
    """Listed routes between servers: whether one exists, its narrowest link, its price at prices of links."""

    def __init__(self, network: Network) -> None:
        count = len(network.capacity)
        self.narrowest: Floats = np.zeros((count, count))
        pairs: list[tuple[int, int]] = []
        hops: list[tuple[int, int]] = []
        for here in range(count):
            network.tick()
            for there in range(count):
                path = network.path(here, there) if here != there else None
                if path is not None:
                    self.narrowest[here, there] = network.bandwidth[list(path)].min()
                    hops += [(len(pairs), link) for link in path]
                    pairs.append((here, there))
        self.exists: npt.NDArray[np.bool_] = self.narrowest > 0
        self._pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self._hops = np.array(hops, dtype=np.int64).reshape(-1, 2)

    def prices(self, link: Floats) -> Floats:
        """Price of 1 B/s on the route of every pair of servers, shape (S, S); 0 without a route."""
        price = np.zeros(self.narrowest.shape)
        sums = np.bincount(self._hops[:, 0], weights=link[self._hops[:, 1]], minlength=len(self._pairs))
        price[self._pairs[:, 0], self._pairs[:, 1]] = sums
        return price


class WalkPrices:
    """Least prices by size, for several jobs on listed paths; as ``ForestPrices``. Cost: O(J K S^3).

    A job whose cheapest workers, all routes free, reach ``worthless``, shape (J, K + 1), in all sizes is not ``exact``: these
    lower bounds are its ``least``, and it has no rings.
    """

    def __init__(
        self,
        network: Network,
        routes: Routes,
        jobs: Sequence[int],
        most: Sequence[int],
        server: Floats,
        link: Floats,
        worthless: Floats,
    ) -> None:
        self._network, self._jobs, price = network, list(jobs), routes.prices(link)
        require_memory(2 * len(jobs) * (max(most) + 1) * len(server.T) ** 2, max(most) * len(server.T) ** 2)
        self.least: Floats = np.full((len(jobs), max(most) + 1), np.inf)
        self.exact = np.zeros(len(jobs), dtype=np.bool_)
        self._walks: dict[int, ClosedWalks] = {}
        for row, job in enumerate(jobs):
            network.tick()
            fits = np.minimum(network.fits[job], most[row])
            # The cheapest workers, all routes free: if even they cost too much in every size, no walk has to be computed.
            nearest = np.argsort(server[row], kind="stable")
            free = np.repeat(server[row][nearest], fits[nearest])[: most[row]].cumsum()
            self.least[row, 1 : len(free) + 1] = free
            self.exact[row] = (free < worthless[row, 1 : len(free) + 1]).any()
            if self.exact[row]:
                wide = routes.exists & (routes.narrowest >= network.load[job])
                hop = np.where(wide, network.load[job] * price, np.inf)
                self._walks[row] = ClosedWalks(fits, most[row], server[row], hop, network.tick)
                self.least[row, : most[row] + 1] = self._walks[row].least

    def ring(self, row: int, size: int) -> Placed:
        """The mapping of ``least[row, size]``; its order may name a server twice if no other order is as cheap."""
        stops = self._walks[row].stops(size)
        workers: Workers = {}
        for server, count in stops:
            workers[server] = workers.get(server, 0) + count
        placed = self._network.placed(workers, tuple(server for server, _ in stops))
        fits = self._network.fits[self._jobs[row]]
        # The walk comes back to a server: look for an order that does not, and crosses no link more often.
        if len(workers) < len(stops) and all(count <= fits[server] for server, count in workers.items()):
            crossed = Counter(placed[2])
            for other in self._network.orders(workers):
                found = self._network.crossed(other)
                if found is not None and Counter(found) <= crossed:
                    return workers, other, found
        return placed
