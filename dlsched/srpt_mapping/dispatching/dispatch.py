"""Dispatcher of the real queue: jobs join it over time and start, in an order, when enough GPUs are free.

*Strict*: only the job at the head may start. *Backfilling* (work-conserving): whenever GPUs are free, the first job of
the order that fits starts. A job fits when as many GPUs as it needs are free, on any servers.
"""

import heapq
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.srpt_mapping.dispatching.waiting import Aside, Waiting
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing.heavy_edge import Rule
from dlsched.srpt_mapping.placing.servers import Placed, Servers
from dlsched.srpt_mapping.solution import Schedule, Share, Start, begun_starts


class Begun(NamedTuple):
    """State of a queue at a moment: the time, and the starts of the jobs that have begun, by their ids.

    Jobs that have ended by that time may have any placement; policies that look back use them.
    """

    at_s: float
    starts: Mapping[str, Start]

    def since(self, zero_s: float) -> "Begun":
        """Return this state by a clock that starts at ``zero_s``."""
        moved = {name: Start(start_s - zero_s, placement) for name, (start_s, placement) in self.starts.items()}
        return Begun(self.at_s - zero_s, moved)


def dispatch(
    instance: Instance,
    *,
    joins_s: Sequence[float],
    keys: Sequence[float],
    place: Rule,
    backfill: bool = False,
    waiting: Waiting | None = None,
    least_s: Sequence[float] = (),
    begun: Begun | None = None,
    tick: Tick = no_tick,
) -> Schedule:
    """Run the queue to its end.

    Parameters
    ----------
    instance
        Feasible: every job fits on the servers.
    joins_s
        Time at which each job joins the queue, not before its release; shape (I,).
    keys
        Keys that order the jobs, shape (I,): smaller first, ties in the order of the instance.
    place
        The rule that places a job.
    backfill
        Whether jobs may pass the head.
    waiting, least_s
        The waiting rule, and the alpha^min that it assumes for every job: the seconds that ``place`` reaches
        on the empty servers, so that no job waits when all of them are free.
    begun
        Jobs that run when the clock starts: they go on, and no other job starts earlier; a job has waited
        since it joined. Jobs of the instance that have begun need not be named.
    tick
        Called for every job that the queue considers; it may raise to stop.

    Cost: O(I (log I + K + M log M)) for K numbers of GPUs that occur and M servers, without waiting.

    Raises
    ------
    UsageError
        Jobs that have begun hold more GPUs of a server than it has.
    """
    begun = with_own(instance, begun)
    waited_s = () if begun is None else [max(0.0, begun.at_s - join_s) for join_s in joins_s]
    aside = Aside(instance, Servers(instance), keys, place, waiting, least_s, waited_s)
    return schedule_of(instance, run_queue(aside, joins_s, backfill=backfill, begun=begun, tick=tick))


def with_own(instance: Instance, begun: Begun | None = None) -> Begun | None:
    """The jobs that have begun: those of the instance, when its clock starts, and those named, by then."""
    own = begun_starts(instance)
    if not own:
        return begun
    if begun is None:
        return Begun(min(job.release_s for job in instance.jobs), own)
    return Begun(begun.at_s, own | dict(begun.starts))


class JobRun(NamedTuple):
    """Start and length of a job's run in seconds, and its placement."""

    start_s: float
    length_s: float
    placement: tuple[Share, ...]


def schedule_of(instance: Instance, ran: Sequence[JobRun]) -> Schedule:
    """The schedule of runs, which are listed by index of the job."""
    return Schedule({job.id: Start(each.start_s, each.placement) for job, each in zip(instance.jobs, ran, strict=True)})


def run_queue(
    aside: Aside,
    joins_s: Sequence[float],
    *,
    backfill: bool = False,
    begun: Begun | None = None,
    tick: Tick = no_tick,
) -> list[JobRun]:
    """Run the queue as ``dispatch`` does; when it returns, all GPUs are free again and no job waits."""
    jobs, keys, servers = aside.instance.jobs, aside.keys, aside.servers
    queue = _Queue(keys, [job.gpus for job in jobs], backfill=backfill)
    running: list[tuple[float, int, list[tuple[int, int]]]] = []
    ran: dict[int, JobRun] = {}
    if begun is not None:
        running, ran = _going_on(aside, begun)
        joins_s = [max(join_s, begun.at_s) for join_s in joins_s]
    others = (job for job in range(len(jobs)) if job not in ran)
    arriving = sorted(others, key=lambda job: (joins_s[job], keys[job], job), reverse=True)

    def start(job: int, placed: Placed, now_s: float) -> None:
        length_s = jobs[job].iterations * servers.iteration_s(jobs[job].graph, placed)
        ran[job] = JobRun(now_s, length_s, servers.placement(placed))
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


def _going_on(aside: Aside, begun: Begun) -> tuple[list[tuple[float, int, list[tuple[int, int]]]], dict[int, JobRun]]:
    """Continue the jobs that have begun: a heap of ends, positions and GPUs, and the runs of all."""
    running, ran, servers = [], {}, aside.servers
    for name, (start_s, placement) in begun.starts.items():
        index = aside.instance.index[name]
        job = aside.instance.jobs[index]
        placed = servers.placed(job.graph, placement)
        length_s = job.iterations * servers.iteration_s(job.graph, placed) if placed else 0.0
        ran[index] = JobRun(start_s, length_s, placement)
        if start_s + length_s > begun.at_s:
            running.append((start_s + length_s, index, servers.take(placed)))
    if min(servers.free) < 0:
        full = servers.names[servers.free.index(min(servers.free))]
        raise UsageError(
            where="begun", found=f"{-min(servers.free)} GPUs too many on server {full!r}", allowed="no more than it has"
        )
    heapq.heapify(running)
    return running, ran


class _Queue:
    """Waiting jobs in an order, grouped by their numbers of GPUs."""

    def __init__(self, keys: Sequence[float], gpus: Sequence[int], *, backfill: bool) -> None:
        self._keys, self._gpus, self._backfill = keys, gpus, backfill
        self._heaps: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)

    def add(self, job: int) -> None:
        """Let a job join."""
        heapq.heappush(self._heaps[self._gpus[job] if self._backfill else 0], (self._keys[job], job))

    def first(self, free: int) -> int | None:
        """The job that may start next when ``free`` GPUs are free."""
        heads = (heap[0] for gpus, heap in self._heaps.items() if heap and gpus <= free)
        best = min(heads, default=None)
        return None if best is None or self._gpus[best[1]] > free else best[1]

    def pop(self, job: int) -> None:
        """Take out the job that ``first`` named."""
        heapq.heappop(self._heaps[self._gpus[job] if self._backfill else 0])
