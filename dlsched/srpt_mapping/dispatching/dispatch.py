"""The real queue: jobs join it over time, in an order, and start when their GPUs are free.

*Strict*: only the job at the head may start. *Backfilling* (work-conserving): whenever GPUs are free, the first job of
the order that fits starts. A job fits when so many GPUs are free, on whichever servers.

*Waiting for a better placement* (A-SRPT): a job whose iteration may become slow by a bad placement,
alpha^max / alpha^min > ``threshold``, does not start on servers that would make it ``quality`` times as slow as
alpha^min; it steps aside for at most ``patience`` times its predicted length, while others pass. Then it starts on
whatever is free, first in the order.
"""

import heapq
import math
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dlsched.cluster.job_graph import JobGraph
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.placing.heavy_edge import Rule
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing.servers import Placed, Servers
from dlsched.srpt_mapping.solution import Schedule, Share


@dataclass(frozen=True, slots=True)
class Waiting:
    """The rule by which communication-heavy jobs wait; see the module.

    Parameters
    ----------
    threshold
        alpha^max / alpha^min above which a job is communication-heavy, >= 1.
    patience
        Longest wait over predicted length, >= 0.
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
                raise UsageError(f"{name}: found {getattr(self, name)}, allowed: a number >= {least}")


class Queue:
    """Jobs in an order, by the GPUs that they take."""

    def __init__(self, keys: Sequence[float], gpus: Sequence[int], *, backfill: bool) -> None:
        self._keys, self._gpus, self._backfill = keys, gpus, backfill
        self._heaps: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)

    def add(self, job: int) -> None:
        """Let a job join."""
        heapq.heappush(self._heaps[self._gpus[job] if self._backfill else 0], (self._keys[job], job))

    def first(self, free: int) -> int | None:
        """The job that may start next when so many GPUs are free."""
        best: tuple[float, int] | None = None
        for gpus, heap in self._heaps.items():
            if heap and gpus <= free and (best is None or heap[0] < best):
                best = heap[0]
        return None if best is None or self._gpus[best[1]] > free else best[1]

    def pop(self, job: int) -> None:
        """Take out the job that ``first`` named."""
        heapq.heappop(self._heaps[self._gpus[job] if self._backfill else 0])


def dispatch(
    instance: Instance,
    *,
    joins_s: Sequence[float],
    keys: Sequence[float],
    place: Rule,
    backfill: bool = False,
    waiting: Waiting | None = None,
    least_s: Sequence[float] = (),
    tick: Callable[[], None] = lambda: None,
) -> Schedule:
    """Run the queue to its end.

    Parameters
    ----------
    instance
        Feasible: every job fits on the servers.
    joins_s
        When each job joins the queue, shape (I,), none before its release.
    keys
        The order: smaller first, ties in the order of the instance; shape (I,).
    place
        The rule that places a job.
    backfill
        Whether jobs may pass the head.
    waiting, least_s
        The waiting rule, and what it takes for alpha^min of every job: what ``place`` reaches on the empty servers, so that
        no job waits when all of them are free.
    tick
        Called for every job that is looked at; it may raise to stop.

    Cost: O(I (log I + K + M log M)) for K numbers of GPUs that occur and M servers, without waiting.
    """
    ran = run_queue(
        instance,
        Servers(instance),
        joins_s=joins_s,
        keys=keys,
        place=place,
        backfill=backfill,
        waiting=waiting,
        least_s=least_s,
        tick=tick,
    )
    return schedule_of(instance, ran)


class Ran(NamedTuple):
    """When a job starts, how long it runs, seconds, and where."""

    start_s: float
    length_s: float
    placement: list[Share]


def schedule_of(instance: Instance, ran: Sequence[Ran]) -> Schedule:
    """The schedule of what ran, by position of the job."""
    return Schedule({job.id: (each.start_s, each.placement) for job, each in zip(instance.jobs, ran, strict=True)})


def run_queue(
    instance: Instance,
    servers: Servers,
    *,
    joins_s: Sequence[float],
    keys: Sequence[float],
    place: Rule,
    backfill: bool = False,
    waiting: Waiting | None = None,
    least_s: Sequence[float] = (),
    tick: Callable[[], None] = lambda: None,
) -> list[Ran]:
    """As ``dispatch``, on servers all of whose GPUs are free, as they are again when it returns."""
    jobs = instance.jobs
    queue = Queue(keys, [job.gpus for job in jobs], backfill=backfill)
    aside = _Aside(instance, servers, place, waiting, least_s, keys)
    arriving = sorted(range(len(jobs)), key=lambda job: (joins_s[job], keys[job], job), reverse=True)
    running: list[tuple[float, int, list[tuple[int, int]]]] = []
    ran: dict[int, Ran] = {}

    def start(job: int, placed: Placed, now_s: float) -> None:
        length_s = jobs[job].iterations * servers.iteration_s(jobs[job].graph, placed)
        ran[job] = Ran(now_s, length_s, servers.named(placed))
        heapq.heappush(running, (now_s + length_s, job, servers.take(placed)))

    while arriving or running or aside:
        now_s = min(
            joins_s[arriving[-1]] if arriving else math.inf, running[0][0] if running else math.inf, aside.next_s
        )
        freed = False
        while running and running[0][0] <= now_s:
            servers.give(heapq.heappop(running)[2])
            freed = True
        while arriving and joins_s[arriving[-1]] <= now_s:
            queue.add(arriving.pop())
        for job in aside.expired(now_s):
            queue.add(job)
        if freed:
            for job, placed in aside.ready(tick):
                start(job, placed, now_s)
        while (first := queue.first(servers.total)) is not None:
            tick()
            queue.pop(first)
            placed = place(jobs[first].graph, servers)
            if aside.wants(first, placed):
                aside.step(first, now_s)
            else:
                start(first, placed, now_s)
    return [ran[job] for job in range(len(jobs))]


class _Aside:
    """The jobs that wait for a better placement."""

    def __init__(
        self,
        instance: Instance,
        servers: Servers,
        place: Rule,
        waiting: Waiting | None,
        least_s: Sequence[float],
        keys: Sequence[float],
    ) -> None:
        self._jobs, self._servers, self._place, self._waiting = instance.jobs, servers, place, waiting
        self._least_s, self._keys = least_s, keys
        self._slowest = min(instance.intra_bandwidth_bytes_per_s, *instance.shares)
        self._until: dict[int, float] = {}
        self._order: list[tuple[float, int]] = []
        self._ends: list[tuple[float, int]] = []
        self._waited: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._until)

    @property
    def next_s(self) -> float:
        """When the first wait ends; infinite without any."""
        while self._ends and self._ends[0][1] not in self._until:
            heapq.heappop(self._ends)
        return self._ends[0][0] if self._ends else math.inf

    def wants(self, job: int, placed: Placed) -> bool:
        """Whether a job that could start steps aside instead."""
        if self._waiting is None or self._waiting.patience == 0 or job in self._waited:
            return False
        graph, least_s = self._jobs[job].graph, self._least_s[job]
        if graph.gpus == 1 or graph.uniform_s(self._slowest) <= self._waiting.threshold * least_s:
            return False
        return not self._is_good(job, placed)

    def _is_good(self, job: int, placed: Placed) -> bool:
        assert self._waiting is not None
        return self._servers.iteration_s(self._jobs[job].graph, placed) <= self._waiting.quality * self._least_s[job]

    def step(self, job: int, now_s: float) -> None:
        """Let a job wait."""
        assert self._waiting is not None
        self._waited.add(job)
        self._until[job] = now_s + self._waiting.patience * self._jobs[job].predicted * self._least_s[job]
        heapq.heappush(self._ends, (self._until[job], job))
        insort(self._order, (self._keys[job], job))

    def expired(self, now_s: float) -> list[int]:
        """Take out and return the jobs that have waited long enough."""
        done = []
        while self.next_s <= now_s:
            done.append(heapq.heappop(self._ends)[1])
            self._leave(done[-1])
        return done

    def ready(self, tick: Callable[[], None]) -> Iterator[tuple[int, Placed]]:
        """Jobs in the order of the queue that the rule places well now; each is to start before the next is asked for.

        Of jobs with equal graphs, once one finds no good placement, the others of the moment are not tried.
        """
        failed: set[JobGraph] = set()
        for _, job in list(self._order):
            graph = self._jobs[job].graph
            if graph.gpus > self._servers.total or graph in failed:
                continue
            tick()
            placed = self._place(graph, self._servers)
            if self._is_good(job, placed):
                self._leave(job)
                yield job, placed
            else:
                failed.add(graph)

    def _leave(self, job: int) -> None:
        del self._until[job]
        del self._order[bisect_left(self._order, (self._keys[job], job))]
