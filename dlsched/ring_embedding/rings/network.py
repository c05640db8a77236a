"""The network of an instance as arrays: what servers hold, which directed links a ring crosses.

================  ==================================================================================================
``capacity``      shape (S, R): C_s^r of the resources that some job demands
``bandwidth``     shape (D,): B of directed links; link e is 2e from its first end to its second, 2e + 1 back
``demand``        shape (I, R): l_i^r
``fits``          shape (I, S): the most workers of a job that an empty server holds, at most N_i
``most``          shape (I,): the most workers of a job in one slot: N_i, or what one connected part holds
``total``         shape (I,): Z_i, the most worker-slots: ``most`` (T - a_i + 1), or what the budget allows
``position``      shape (S,): place of the servers among the nodes in depth-first order (of a forest)
``above``         of the node at every place of that order the place of the one above it, -1 of a tree's top
``upward``        and the directed link to it
``hosted``        the server at a place of that order, where one is
``part``          shape (S,): number of the connected part; with listed paths all servers are in part 0
================  ==================================================================================================

``tick`` is called in all that can take long on the network, and may raise to stop it; ``limits`` is asked for what is left.

Capacities, budgets and bandwidths are as large as the checker tolerates, less a thousandth of its tolerance.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, permutations

import numpy as np
import numpy.typing as npt

from dlsched.core.budget import Stopped
from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.core.tolerance import FEASIBLE
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.utilities import Worth, worth_tables

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

WITHIN = 0.999 * FEASIBLE
"""The part of a capacity by which it is exceeded here: a little less than the checker tolerates, for what floats round."""
BEYOND = 1.001 * FEASIBLE
"""A little more: whether what lies between passes, rounding decides; what proves a bound lets it pass."""
_TRIED = 6  # servers of which all orders are tried
_NUMBERS = 2**25  # 256 MB of capacities and bandwidths left in all slots
_OBJECT = 64  # numbers in the room that a slot takes besides
_RING_S = 2e-5  # measured, to name and check a ring
_LARGEST = 2**40
"""Workers beyond which nothing is counted: tables end far below (``worths``)."""


def relaxed(value: float) -> float:
    """A capacity with its tolerance."""
    return value * (1 + WITHIN)


def beyond(value: float) -> float:
    """A capacity with certainly all that the checker tolerates."""
    return value * (1 + BEYOND)


class Network:
    """Arrays of an instance, and routes; see the module."""

    def __init__(
        self, instance: Instance, tick: Callable[[], None] | None = None, limits: Callable[[], Limits] = Limits
    ) -> None:
        self.instance, self._tick, self.limits = instance, tick, limits
        self.forest = instance.paths is None
        jobs, servers, resources = instance.jobs, instance.servers, instance.resources
        self.capacity: Floats = np.array(
            [[relaxed((server.capacity or {}).get(name, 0.0)) for name in resources] for server in servers]
        )
        self.demand: Floats = np.array([[job.demand.get(name, 0.0) for name in resources] for job in jobs])
        self.load: list[float] = [job.bandwidth_bytes_per_s for job in jobs]
        self.bandwidth: Floats = np.repeat([relaxed(link.bandwidth_bytes_per_s) for link in instance.links], 2)
        self._direct = {link.ends: 2 * place for place, link in enumerate(instance.links)}
        self._direct |= {link.ends[::-1]: 2 * place + 1 for place, link in enumerate(instance.links)}
        self._known: dict[tuple[int, int], tuple[int, ...] | None] = {}
        if instance.paths is not None:
            index = instance.server_index
            for path in instance.paths:
                first, second = (index[end] for end in path.ends)
                self._known[first, second] = self._hops(path.nodes)
                self._known[second, first] = self._hops(path.nodes[::-1])
        self._walk()
        self.fits: Integers = np.array([self.free(job, self.capacity) for job in range(len(jobs))])
        together = np.zeros((int(self.part.max()) + 1, len(jobs)), dtype=np.int64)
        np.add.at(together, self.part, self.fits.T)
        self.most: Integers = np.minimum([min(job.max_workers, _LARGEST) for job in jobs], together.max(axis=0))
        self.total: Integers = np.array([self._total(job) for job in range(len(jobs))])
        self.most = np.minimum(self.most, self.total)

    @cached_property
    def slots(self) -> range:
        """Slots from the first arrival on; UsageError: they are too many to be held one by one."""
        first = min(job.arrival_slot for job in self.instance.jobs)
        each = _OBJECT + self.capacity.size + len(self.bandwidth)
        most = _NUMBERS // each
        if self.instance.slots - first + 1 > most:
            raise UsageError(
                f"slots: found {self.instance.slots - first + 1} from the first arrival on, allowed: up to {most}"
            )
        return range(first, self.instance.slots + 1)

    @cached_property
    def worths(self) -> list[Worth]:
        """Utilities of the most worker-slots of every job; UsageError: they are too many for tables."""
        return worth_tables(self.instance.jobs, self.total.tolist())

    def tick(self, rings: int = 0) -> None:
        """Stop at a limit, and so much before it that an answer of so many rings can be made and checked."""
        if self._tick is not None:
            self._tick()
            left = self.limits().time_s if rings else None
            if left is not None and left <= rings * _RING_S:
                raise Stopped(TerminationStatus.TIME_LIMIT)

    def free(self, job: int, capacity: Floats) -> Integers:
        """Workers of a job that each server holds with so much capacity left, shape (S,), at most N_i."""
        demand = self.demand[job]
        used = demand > 0
        most = np.min(capacity[:, used] / demand[used], axis=1)
        limit = min(self.instance.jobs[job].max_workers, _LARGEST)
        whole: Integers = np.floor(np.clip(most, 0, limit)).astype(np.int64)
        return whole

    def path(self, here: int, there: int) -> tuple[int, ...] | None:
        """Directed links from a server to another, None without a route."""
        if not self.forest or (here, there) in self._known:
            return self._known.get((here, there))
        found = self._climb(here, there) if self.part[here] == self.part[there] else None
        self._known[here, there] = found
        return found

    def crossed(self, order: Sequence[int]) -> list[int] | None:
        """Directed links of a ring of servers in this order, each as often as it is crossed; None when it has no route."""
        if len(order) == 1:
            return []
        links: list[int] = []
        for here, there in zip(order, (*order[1:], order[0]), strict=True):
            path = self.path(here, there)
            if path is None:
                return None
            links += path
        return links

    def orders(self, servers: Iterable[int]) -> Iterable[tuple[int, ...]]:
        """Orders of a ring worth trying: depth-first in a forest, where none does with less; else all, or for many a few."""
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

    def _hops(self, nodes: Sequence[str]) -> tuple[int, ...]:
        return tuple(self._direct[hop] for hop in pairwise(nodes))

    def beneath(self, node: int, usable: npt.NDArray[np.bool_]) -> list[int]:
        """Servers of the subtree of a node, given by its place in preorder, over usable links."""
        reached = {node}
        for below in range(node + 1, len(self.above)):
            if self.above[below] < node:
                break
            if self.above[below] in reached and usable[self.upward[below] // 2]:
                reached.add(below)
        return [self.hosted[place] for place in sorted(reached) if place in self.hosted]

    def _walk(self) -> None:
        """Walk a forest depth-first, each tree from its middle."""
        count = len(self.instance.servers)
        self.position: Integers = np.arange(count)
        self.part: Integers = np.zeros(count, dtype=np.int64)
        self.above: list[int] = []
        self.upward: list[int] = []
        if not self.forest:
            return
        neighbours: dict[str, list[str]] = {node.id: [] for node in self.instance.nodes}
        for link in self.instance.links:
            neighbours[link.ends[0]].append(link.ends[1])
            neighbours[link.ends[1]].append(link.ends[0])
        place: dict[str, int] = {}
        parts: dict[str, int] = {}
        for number, top in enumerate(_from_the_middle(neighbours)):
            waiting: list[tuple[str, str | None]] = [(top, None)] if top not in place else []
            while waiting:
                here, above = waiting.pop()
                place[here], parts[here] = len(place), number
                self.above.append(-1 if above is None else place[above])
                self.upward.append(-1 if above is None else self._direct[here, above])
                waiting += [(there, here) for there in reversed(neighbours[here]) if there != above]
        self.position = np.array([place[server.id] for server in self.instance.servers])
        self.part = np.array([parts[server.id] for server in self.instance.servers])
        self.hosted = {int(position): server for server, position in enumerate(self.position)}

    def _climb(self, here: int, there: int) -> tuple[int, ...]:
        """The path of a tree: nodes come after those above them in preorder."""
        up, down = int(self.position[here]), int(self.position[there])
        first: list[int] = []
        second: list[int] = []
        while up != down:
            if up > down:
                first.append(self.upward[up])
                up = self.above[up]
            else:
                second.append(self.upward[down] ^ 1)
                down = self.above[down]
        return (*first, *reversed(second))

    def _total(self, job: int) -> int:
        record = self.instance.jobs[job]
        most = int(self.most[job]) * (self.instance.slots - record.arrival_slot + 1)
        for name, amount in record.demand.items():
            if amount > 0 and name in record.budget:
                most = min(most, math.floor(min(relaxed(record.budget[name]) / amount, _LARGEST)))
        return min(most, _LARGEST)


def _from_the_middle(neighbours: Mapping[str, Sequence[str]]) -> list[str]:
    """Nodes of a forest, those first that are left longest when leaves are taken away layer by layer."""
    degree = {node: len(linked) for node, linked in neighbours.items()}
    order: list[str] = []
    leaves = [node for node, count in degree.items() if count <= 1]
    gone: set[str] = set()
    while leaves:
        order += leaves
        gone |= set(leaves)
        later: list[str] = []
        for node in leaves:
            for there in neighbours[node]:
                degree[there] -= 1
                if degree[there] == 1 and there not in gone:
                    later.append(there)
        leaves = later
    return order[::-1]
