"""Upper limits on the workers of a job, in exact arithmetic, for proofs."""

import math
from fractions import Fraction
from functools import cached_property

from dlsched.algorithms.utility_tables import UtilityTable
from dlsched.ring_embedding.instance import Instance
from dlsched.ring_embedding.rings.rows import classes, fits, loose, rows
from dlsched.ring_embedding.rings.tables import utility_tables
from dlsched.ring_embedding.rings.tree import Tree


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
