"""The real queue: jobs join it over time, in an order, and start when their GPUs are free.

*Strict*: only the job at the head may start. *Backfilling* (work-conserving): whenever GPUs are free, the first job of
the order that fits starts. A job fits when there are as many GPUs free, on whichever servers.
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from dlsched.core.budget import Tick, no_tick
from dlsched.srpt_mapping.dispatching.waiting import Aside, Waiting
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing.heavy_edge import Rule
from dlsched.srpt_mapping.placing.servers import Placed, Servers
from dlsched.srpt_mapping.solution import Schedule, Share


def dispatch(
    instance: Instance,
    *,
    joins_s: Sequence[float],
    keys: Sequence[float],
    place: Rule,
    backfill: bool = False,
    waiting: Waiting | None = None,
    least_s: Sequence[float] = (),
    tick: Tick = no_tick,
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
    aside = Aside(instance, Servers(instance), keys, place, waiting, least_s)
    return schedule_of(instance, run_queue(aside, joins_s, backfill=backfill, tick=tick))


class Ran(NamedTuple):
    """When a job starts, how long it runs, seconds, and where."""

    start_s: float
    length_s: float
    placement: list[Share]


def schedule_of(instance: Instance, ran: Sequence[Ran]) -> Schedule:
    """The schedule of what ran, by index of the job."""
    return Schedule({job.id: (each.start_s, each.placement) for job, each in zip(instance.jobs, ran, strict=True)})


def run_queue(aside: Aside, joins_s: Sequence[float], *, backfill: bool = False, tick: Tick = no_tick) -> list[Ran]:
    """As ``dispatch``; when it returns all GPUs are free again, and no job waits."""
    jobs, keys, servers = aside.instance.jobs, aside.keys, aside.servers
    queue = _Queue(keys, [job.gpus for job in jobs], backfill=backfill)
    arriving = sorted(range(len(jobs)), key=lambda job: (joins_s[job], keys[job], job), reverse=True)
    running: list[tuple[float, int, list[tuple[int, int]]]] = []
    ran: dict[int, Ran] = {}

    def start(job: int, placed: Placed, now_s: float) -> None:
        length_s = jobs[job].iterations * servers.iteration_s(jobs[job].graph, placed)
        ran[job] = Ran(now_s, length_s, servers.named(placed))
        heapq.heappush(running, (now_s + length_s, job, servers.take(placed)))

    while arriving or running or aside:
        joins, ends = joins_s[arriving[-1]] if arriving else math.inf, running[0][0] if running else math.inf
        now_s = min(joins, ends, aside.next_s)
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
            placed = aside.place(jobs[first].graph, servers)
            if not aside.steps(first, placed, now_s):
                start(first, placed, now_s)
    return [ran[job] for job in range(len(jobs))]


class _Queue:
    """Jobs in an order, by the GPUs that they take."""

    def __init__(self, keys: Sequence[float], gpus: Sequence[int], *, backfill: bool) -> None:
        self._keys, self._gpus, self._backfill = keys, gpus, backfill
        self._heaps: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)

    def add(self, job: int) -> None:
        """Let a job join."""
        heapq.heappush(self._heaps[self._gpus[job] if self._backfill else 0], (self._keys[job], job))

    def first(self, free: int) -> int | None:
        """The job that may start next when ``free`` GPUs are."""
        heads = (heap[0] for gpus, heap in self._heaps.items() if heap and gpus <= free)
        best = min(heads, default=None)
        return None if best is None or self._gpus[best[1]] > free else best[1]

    def pop(self, job: int) -> None:
        """Take out the job that ``first`` named."""
        heapq.heappop(self._heaps[self._gpus[job] if self._backfill else 0])
