"""Waiting rule of A-SRPT: jobs that bad placements slow down wait for better ones, and others pass them.

A job whose iteration may become slow by a bad placement, alpha^max / alpha^min > ``threshold``, does not start on servers
that would make it ``quality`` times as slow as alpha^min; it steps aside for at most ``patience`` times its predicted
length. Then it starts on any free GPUs, first in the order.
"""

import heapq
import math
from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dlsched.cluster.job_graph import JobGraph
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing.heavy_edge import Rule
from dlsched.srpt_mapping.placing.servers import Placed, Servers


@dataclass(frozen=True, slots=True)
class Waiting:
    """Rule by which communication-heavy jobs wait; see the module.

    Parameters
    ----------
    threshold
        alpha^max / alpha^min above which a job is communication-heavy, >= 1.
    patience
        Longest wait as a multiple of the predicted length, >= 0.
    quality
        Seconds of an iteration over alpha^min up to which a placement is good, >= 1.

    Raises
    ------
    UsageError
        A number out of range.
    """

    threshold: float = 2.0
    patience: float = 0.5
    quality: float = 1.5

    def __post_init__(self) -> None:
        for name, least in (("threshold", 1), ("patience", 0), ("quality", 1)):
            if not getattr(self, name) >= least:
                raise UsageError(where=name, found=getattr(self, name), allowed=f"a number >= {least}")


PATIENT = Waiting(threshold=1.2, patience=10.0, quality=1.2)
"""Our rule for ``compact``: with a patience of 10 times the length, waiting pays for almost every job."""


@dataclass(slots=True)
class Aside:
    """Placement of a queue's jobs as ``dispatch`` is told, and the jobs that wait for a better placement.

    ``waited_s``: seconds of its patience that each job has spent before the clock starts; empty: none.
    """

    instance: Instance
    servers: Servers
    keys: Sequence[float]
    place: Rule
    waiting: Waiting | None = None
    least_s: Sequence[float] = ()
    waited_s: Sequence[float] = ()
    _until: dict[int, float] = field(default_factory=dict)
    _order: dict[JobGraph, list[tuple[float, int]]] = field(default_factory=dict)
    _ends: list[tuple[float, int]] = field(default_factory=list)
    _waited: set[int] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self._until)

    @property
    def next_s(self) -> float:
        """Time at which the first wait ends; infinite if no job waits."""
        while self._ends and self._ends[0][1] not in self._until:
            heapq.heappop(self._ends)
        return self._ends[0][0] if self._ends else math.inf

    def steps(self, index: int, placed: Placed, now_s: float) -> bool:
        """Let a job that could start wait instead, if the rule says so; return whether it does."""
        if self.waiting is None or self.waiting.patience == 0 or index in self._waited:
            return False
        job, least_s = self.instance.jobs[index], self.least_s[index]
        if job.gpus == 1 or job.graph.uniform_s(self.instance.slowest) <= self.waiting.threshold * least_s:
            return False
        if self._is_good(index, placed, self.waiting):
            return False
        patience_s = self.waiting.patience * job.predicted * least_s - (self.waited_s[index] if self.waited_s else 0.0)
        if patience_s <= 0:
            return False
        self._waited.add(index)
        self._until[index] = now_s + patience_s
        heapq.heappush(self._ends, (self._until[index], index))
        insort(self._order.setdefault(job.graph, []), (self.keys[index], index))
        return True

    def expired(self, now_s: float) -> list[int]:
        """Take out and return the jobs that have waited long enough."""
        done = []
        while self.next_s <= now_s:
            done.append(heapq.heappop(self._ends)[1])
            self._leave(done[-1])
        return done

    def ready(self, tick: Tick) -> Iterator[tuple[int, Placed]]:
        """Yield waiting jobs that now find good placements; each must start before the next is drawn.

        If a job finds no good placement, later jobs with equal graphs are not tried at this moment.
        """
        first = [(held[0], graph) for graph, held in self._order.items() if graph.gpus <= self.servers.total]
        heads = {index: graph for (_, index), graph in first}
        order = [head for head, _ in first]
        heapq.heapify(order)
        while order and self.waiting is not None:
            _, index = heapq.heappop(order)
            graph = heads[index]
            if graph.gpus > self.servers.total:
                continue
            tick()
            placed = self.place(graph, self.servers)
            if self._is_good(index, placed, self.waiting):
                self._leave(index)
                yield index, placed
                if graph in self._order:
                    heapq.heappush(order, self._order[graph][0])
                    heads[self._order[graph][0][1]] = graph

    def _is_good(self, index: int, placed: Placed, waiting: Waiting) -> bool:
        iteration_s = self.servers.iteration_s(self.instance.jobs[index].graph, placed)
        return iteration_s <= waiting.quality * self.least_s[index]

    def _leave(self, index: int) -> None:
        del self._until[index]
        graph = self.instance.jobs[index].graph
        held = self._order[graph]
        del held[bisect_left(held, (self.keys[index], index))]
        if not held:
            del self._order[graph]
