"""Epochs, classes of servers, capacity rows, and upper limits on workers, in exact arithmetic, for all bounds.

*Epochs.* Between two arrivals all slots are alike; epoch e begins with slot t_e, has L_e slots, and every job with
a_i <= t_e may run in it.

*Classes.* Servers with equal capacities that cost the same while they are on; m_c of them in class c.

*Rows.* For every resource r:  sum_i l_i^r y_is <= C_s^r  on every server s. And for a divisor d, one of the demands, since
the y are integers:  sum_i floor(l_i^r / d) y_is <= floor(C_s^r / d). Capacities here are at least what the checker tolerates.
"""

import math
from collections.abc import Mapping, Sequence, Set
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from dlsched.algorithms.ring_sets import exact_least
from dlsched.algorithms.utility_tables import UtilityTable
from dlsched.cluster.network import forest
from dlsched.core.gap import FEASIBLE
from dlsched.core.messages import separable_labels
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.network import utility_tables

_LOOSE = Fraction(11, 10) * Fraction(FEASIBLE)  # a tenth more than the checker tolerates
_DIVISORS = 6  # of one resource


class Epoch(NamedTuple):
    """An epoch: its first slot, and its number of slots."""

    first: int
    slots: int


class CapacityRow(NamedTuple):
    """A row of every server, exactly: what a worker of each job uses, and what a server of each class has."""

    name: str
    demand: tuple[Fraction, ...]
    capacity: tuple[Fraction, ...]


def loose(value: float) -> Fraction:
    """A capacity with a little more than its tolerance, exactly."""
    return Fraction(value) * (1 + _LOOSE)


def epochs(instance: Instance) -> list[Epoch]:
    """Epochs from the first arrival on, in order."""
    starts = sorted({job.arrival_slot for job in instance.jobs})
    ends = [*starts[1:], instance.slots + 1]
    return [Epoch(start, end - start) for start, end in zip(starts, ends, strict=True)]


def classes(instance: Instance) -> tuple[list[list[int]], list[int]]:
    """Servers of every class, in the order of the file, and the class of every server."""
    found: dict[tuple[float | Fraction, ...], list[int]] = {}
    for index, (server, price) in enumerate(zip(instance.servers, instance.on_prices, strict=True)):
        found.setdefault((*map(server.holds, instance.resources), price), []).append(index)
    members = list(found.values())
    of = {server: number for number, alike in enumerate(members) for server in alike}
    return members, [of[server] for server in range(len(of))]


def rows(instance: Instance) -> list[CapacityRow]:
    """Rows of every server, without those that another row with the same prices makes redundant."""
    found: list[CapacityRow] = []
    firsts = [instance.servers[alike[0]] for alike in classes(instance)[0]]
    for label, name in zip(separable_labels(instance.resources, "r"), instance.resources, strict=True):
        demand = tuple(Fraction(job.demand.get(name, 0.0)) for job in instance.jobs)
        capacity = tuple(loose(server.holds(name)) for server in firsts)
        plain = CapacityRow(label, demand, capacity)
        divided = []
        for divisor in sorted({amount for amount in demand if amount})[:_DIVISORS]:
            part = tuple(Fraction(math.floor(amount / divisor)) for amount in demand)
            whole = tuple(Fraction(math.floor(amount / divisor)) for amount in capacity)
            row = CapacityRow(f"{label}_by_{float(divisor)!r}", part, whole)
            if all(share * divisor == amount for share, amount in zip(part, demand, strict=True)):
                plain = CapacityRow(label, part, whole)  # all demands are multiples of the divisor: never weaker
            elif any(share * divisor < amount for share, amount in zip(whole, capacity, strict=True)):
                divided.append(row)
        found += [plain, *divided]
    return found


def fits(instance: Instance, job: int, demands: list[CapacityRow], number: int) -> int:
    """The most workers of a job that an empty server of a class holds, at most N_i."""
    most = instance.jobs[job].max_workers
    for row in demands:
        if row.demand[job]:
            most = min(most, math.floor(row.capacity[number] / row.demand[job]))
    return most


class Tree:
    """A forest in depth-first order."""

    def __init__(self, instance: Instance) -> None:
        names = [node.id for node in instance.nodes]
        self._walked = forest(names, (link.ends for link in instance.links))
        index = instance.server_index
        self._hosts = {n: index[names[node]] for n, node in enumerate(self._walked.nodes) if names[node] in index}

    def parts(self, closed: Set[int] = frozenset()) -> list[list[int]]:
        """Servers of every tree of the forest without the links ``closed``."""
        top: list[int] = []
        found: dict[int, list[int]] = {}
        for node, (above, link) in enumerate(zip(self._walked.above, self._walked.upward, strict=True)):
            top.append(node if above < 0 or link // 2 in closed else top[above])
            if node in self._hosts:
                found.setdefault(top[node], []).append(self._hosts[node])
        return list(found.values())

    def cheapest(
        self,
        paid: Sequence[Fraction],
        room: Sequence[int],
        most: int,
        prices: Mapping[int, Fraction],
        closed: Set[int] = frozenset(),
    ) -> list[Fraction | None]:
        """Least prices of rings of 0 .. ``most`` workers; None where no tree holds that many.

        ``paid``, ``room``: price of a worker on each server, and how many it holds; ``prices``: of crossing a link, by its
        index; ``closed``: links that the ring may not cross.
        """
        links = [upward // 2 for upward in self._walked.upward]
        crossing = [None if link in closed else prices.get(link, Fraction(0)) for link in links]
        return exact_least(self._walked.above, self._hosts, room, paid, crossing, most)


class Ceilings:
    """The most workers of every job: ``fits`` on each server, ``most`` in a slot, ``total`` over all slots (Z_i).

    ``rows``, ``members`` of every class of servers and the class ``of`` every server: as in ``rows``. ``closed``: links of a
    forest too narrow for the job, by more than the checker tolerates and floats round.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance, self.rows = instance, rows(instance)
        self.members, self.of = classes(instance)
        self.tree = Tree(instance) if instance.paths is None else None
        self._parts: dict[frozenset[int], list[list[int]]] = {}
        self.closed: list[frozenset[int]] = []
        self.fits: list[list[int]] = []
        self.most: list[int] = []
        self.total: list[int] = []
        links = () if self.tree is None else instance.links
        widths = [loose(link.bandwidth_bytes_per_s) for link in links]
        for job, record in enumerate(instance.jobs):
            load = record.bandwidth_bytes_per_s
            self.closed.append(frozenset(link for link, width in enumerate(widths) if load > width))
            by_class = [fits(instance, job, self.rows, number) for number in range(len(self.members))]
            self.fits.append([by_class[number] for number in self.of])
            # A ring lies within one part, so that bounds its workers; a budget bounds them over all slots.
            together = max(sum(self.fits[job][server] for server in part) for part in self.parts(job))
            most = min(record.max_workers, together)
            total = most * (instance.slots - record.arrival_slot + 1)
            for name, amount in record.demand.items():
                if amount > 0 and name in record.budget:
                    total = min(total, math.floor(loose(record.budget[name]) / Fraction(amount)))
            self.total.append(total)
            self.most.append(min(most, total))

    @cached_property
    def tables(self) -> list[UtilityTable]:
        """Utilities of up to ``total`` worker-slots; UsageError if these are too many for tables."""
        return utility_tables(self.instance.jobs, self.total)

    def parts(self, job: int) -> list[list[int]]:
        """Sets of servers that a ring of the job can combine; one set of all with listed paths."""
        closed = self.closed[job]
        if closed not in self._parts:
            whole = [list(range(len(self.instance.servers)))]
            self._parts[closed] = whole if self.tree is None else self.tree.parts(closed)
        return self._parts[closed]
