"""Dispatching of jobs in an order of the queue, and waiting for better placements.

*Dispatcher*: jobs join the queue over time and start, in an order, when enough GPUs are free. *Strict*: only the job at
the head may start. *Backfilling* (work-conserving): the first job of the order that fits starts, on any servers.

*Waiting rule* of A-SRPT: a job whose iteration may become slow by a bad placement, alpha^max / alpha^min > ``threshold``,
does not start on servers that would make it ``quality`` times as slow as alpha^min; it steps aside, and others pass it,
for at most ``patience`` times its predicted length. Then it starts on any free GPUs, first in the order.
"""

import heapq
import math
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from dlsched.cluster.job_graph import JobGraph
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing import Placed, Rule, Servers
from dlsched.srpt_mapping.slices import servers_of
from dlsched.srpt_mapping.solution import Schedule, Share, Start, begun_starts


@dataclass(frozen=True, slots=True)
class Waiting:
    """Rule by which communication-heavy jobs wait; see the module.

    ``threshold``: alpha^max / alpha^min above which a job is communication-heavy, >= 1. ``patience``: longest wait as a multiple
    of the predicted length, >= 0. ``quality``: seconds of an iteration over alpha^min up to which a placement is good, >= 1.
    UsageError: a number out of range.
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


_Kind = tuple[JobGraph, str | None]  # a graph and a pool, which jobs of one placement share
_Need = tuple[int, str | None, tuple[int, ...]]  # GPUs, pool, and ``Spreads.least_rooms`` of a good placement
_Head = tuple[float, int]  # key and index of a job
_Able = dict[tuple[int, int], defaultdict[tuple[int, str | None], list[_Head]]]
_MOST_ABLE = 64  # pairs of largest rooms for which jobs are listed


@dataclass(slots=True)
class Aside:
    """Placement of a queue's jobs, with the arguments of ``dispatch``, and the jobs that wait for a better placement."""

    instance: Instance
    servers: Servers
    keys: Sequence[float]
    place: Rule
    waiting: Waiting | None = None
    least_s: Sequence[float] = ()
    waited_s: Sequence[float] = ()
    # by waiting job the end of its wait; by graph its need and the waiting jobs in order; a heap of ends; all that ever waited
    _until: dict[int, float] = field(default_factory=dict)
    _order: dict[_Kind, tuple[_Need, list[_Head]]] = field(default_factory=dict)
    _ends: list[tuple[float, int]] = field(default_factory=list)
    _waited: set[int] = field(default_factory=set)
    # by the two largest rooms, then by GPUs and pool, the first jobs of all graphs whose need these meet, in order
    _able: _Able = field(default_factory=dict)

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
        if job.gpus == 1 or self._is_good(index, placed, self.waiting):
            return False
        if job.graph.uniform_s(self.instance.slowest) <= self.waiting.threshold * least_s:
            return False
        patience_s = self.waiting.patience * job.predicted * least_s - (self.waited_s[index] if self.waited_s else 0.0)
        if patience_s <= 0:
            return False
        self._waited.add(index)
        self._until[index] = now_s + patience_s
        heapq.heappush(self._ends, (self._until[index], index))
        if (kind := (job.graph, job.pool)) not in self._order:
            # the first share is the largest
            share, allowed_s = self.servers.shares[0], self.waiting.quality * least_s
            rooms = self.servers.spreads.least_rooms(job.graph, share, self.servers.inside, allowed_s)
            self._order[kind] = (job.gpus, job.pool, rooms), []
        need, waiting_jobs = self._order[kind]
        before = waiting_jobs[:1]
        insort(waiting_jobs, (self.keys[index], index))
        _enter(self._able, need, before, waiting_jobs[:1])
        return True

    def expired(self, now_s: float) -> list[int]:
        """Take out and return the jobs that have waited long enough."""
        done = []
        while self.next_s <= now_s:
            done.append(heapq.heappop(self._ends)[1])
            self._leave(done[-1])
        return done

    def ready(self, tick: Tick) -> Iterator[tuple[int, Placed]]:
        """Yield waiting jobs that now find good placements, of equal graphs the first alone; each must start before the next."""
        # in the order of the queue: what a start leaves makes no job good that comes before it
        after = -math.inf, -1
        while (found := self._first_good(after, tick)) is not None:
            after, placed = found
            self._leave(after[1])
            yield after[1], placed

    def _first_good(self, after: _Head, tick: Tick) -> tuple[_Head, Placed] | None:
        """The first job after one that is first of its graph and finds a good placement, and where."""
        servers = self.servers
        rooms = servers.largest_rooms()
        if rooms not in self._able:
            if len(self._able) >= _MOST_ABLE:
                self._able.clear()
            self._able[rooms] = defaultdict(list)
            for need, jobs in self._order.values():
                _enter({rooms: self._able[rooms]}, need, [], jobs[:1])
        able = [heads for (gpus, pool), heads in self._able[rooms].items() if heads and servers.fits(gpus, pool)]
        for head in heapq.merge(*(islice(heads, bisect_right(heads, after), None) for heads in able)):
            tick()
            job = self.instance.jobs[head[1]]
            placed = self.place(job.graph, servers.within(job.pool))
            if self.waiting is not None and self._is_good(head[1], placed, self.waiting):
                return head, placed
        return None

    def _is_good(self, index: int, placed: Placed, waiting: Waiting) -> bool:
        """Whether a placement is as fast as the rule asks for."""
        iteration_s = self.servers.iteration_s(self.instance.jobs[index].graph, placed)
        return iteration_s <= waiting.quality * self.least_s[index]

    def _leave(self, index: int) -> None:
        """End the wait of a job."""
        del self._until[index]
        kind = self.instance.jobs[index].graph, self.instance.jobs[index].pool
        need, waiting_jobs = self._order[kind]
        before = waiting_jobs[:1]
        del waiting_jobs[bisect_left(waiting_jobs, (self.keys[index], index))]
        _enter(self._able, need, before, waiting_jobs[:1])
        if not waiting_jobs:
            del self._order[kind]


def _enter(lists: _Able, need: _Need, before: list[_Head], first: list[_Head]) -> None:
    """List the first of the jobs of a graph that wait, in place of the one before, where the two largest rooms meet the need."""
    if before == first:
        return
    gpus, pool, least = need
    for (most, second), able in lists.items():
        if least[min(second, gpus)] <= most:
            heads = able[gpus, pool]
            for head in before:
                del heads[bisect_left(heads, head)]
            for head in first:
                insort(heads, head)


class Begun(NamedTuple):
    """A moment, and the starts of the jobs that have begun by then, by id; of those that have ended any placement will do."""

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
    slices: str = "best-fit",
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
        Jobs that run when the clock starts, beside those of the instance that have begun: they go on, and no other job starts
        earlier; a job has waited since it joined. UsageError: they hold more GPUs of a server than it has.
    slices
        The rule of ``slices.SLICE_RULES`` that places jobs on slices.
    tick
        Called for every job that the queue considers; it may raise to stop.

    Cost: O(I (log I + K + M log M)) for K numbers of GPUs that occur and M servers, without waiting.
    """
    begun = with_own(instance, begun)
    waited_s = () if begun is None else [max(0.0, begun.at_s - join_s) for join_s in joins_s]
    aside = Aside(instance, servers_of(instance, slices), by_class(instance, keys), place, waiting, least_s, waited_s)
    return schedule_of(instance, run_queue(aside, joins_s, backfill=backfill, begun=begun, tick=tick))


def by_class(instance: Instance, keys: Sequence[float]) -> Sequence[float]:
    """Keys by which jobs of a larger priority come first, and jobs of one priority in the order of ``keys``."""
    jobs = instance.jobs
    if len({job.priority for job in jobs}) == 1:
        return keys
    ranks = [0.0] * len(jobs)
    for rank, job in enumerate(sorted(range(len(jobs)), key=lambda job: (-jobs[job].priority, keys[job], job))):
        ranks[job] = float(rank)
    return ranks


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
    """Run the queue as ``dispatch`` does; afterwards all GPUs are free again and no job waits."""
    jobs, keys, servers = aside.instance.jobs, aside.keys, aside.servers
    queue = _Queue(keys, aside.instance, backfill=backfill)
    running: list[tuple[float, int, list[tuple[int, int]]]] = []
    ran: dict[int, JobRun] = {}
    if begun is not None:
        running, ran = going_on(aside, begun)
        for _, job, _ in running:
            queue.count(job)
        joins_s = [max(join_s, begun.at_s) for join_s in joins_s]
    others = (job for job in range(len(jobs)) if job not in ran)
    arriving = sorted(others, key=lambda job: (joins_s[job], keys[job], job), reverse=True)

    def start(job: int, placed: Placed, now_s: float) -> None:
        length_s = jobs[job].iterations * servers.iteration_s(jobs[job].graph, placed)
        placement, taken = servers.start(placed, jobs[job])
        ran[job] = JobRun(now_s, length_s, placement)
        heapq.heappush(running, (now_s + length_s, job, taken))

    # events in order of time: ends and arrivals, then waits that are over, then starts
    while arriving or running or aside:
        joins, ends = joins_s[arriving[-1]] if arriving else math.inf, running[0][0] if running else math.inf
        waited = aside.next_s
        now_s = min(joins, ends, waited)
        freed = False
        while running and running[0][0] <= now_s:
            _, ended, taken = heapq.heappop(running)
            servers.give(taken)
            queue.leave(ended)
            freed = True
        while arriving and joins_s[arriving[-1]] <= now_s:
            queue.add(arriving.pop())
        for job in aside.expired(now_s) if waited <= now_s else ():
            queue.leave(job)
            queue.add(job)
        if freed and aside:
            for job, placed in aside.ready(tick):
                start(job, placed, now_s)
        while (first := queue.first(servers)) is not None:
            tick()
            queue.pop(first)
            placed = servers.place(aside.place, jobs[first])
            if not aside.steps(first, placed, now_s):
                start(first, placed, now_s)
    return [ran[job] for job in range(len(jobs))]


def going_on(aside: Aside, begun: Begun) -> tuple[list[tuple[float, int, list[tuple[int, int]]]], dict[int, JobRun]]:
    """Continue the jobs that have begun: a heap of ends, positions and GPUs, and the runs of all."""
    # jobs that have ended by now only count as run
    running, ran, servers = [], {}, aside.servers
    for name, (start_s, placement) in begun.starts.items():
        index = aside.instance.index[name]
        job = aside.instance.jobs[index]
        placed = servers.placed(job.graph, placement)
        length_s = job.iterations * servers.iteration_s(job.graph, placed) if placed else 0.0
        ran[index] = JobRun(start_s, length_s, placement)
        if start_s + length_s > begun.at_s:
            running.append((start_s + length_s, index, servers.hold(job, placement)))
    if min(servers.free) < 0:
        full = servers.names[servers.free.index(min(servers.free))]
        raise UsageError(
            where="begun", found=f"{-min(servers.free)} GPUs too many on server {full!r}", allowed="no more than it has"
        )
    heapq.heapify(running)
    return running, ran


class _Queue:
    """Waiting jobs in an order, grouped by their pools and numbers of GPUs; jobs of groups at their limit step aside."""

    def __init__(self, keys: Sequence[float], instance: Instance, *, backfill: bool) -> None:
        self._keys, self._jobs = keys, instance.jobs
        self._gpus, self._groups = [job.gpus for job in instance.jobs], [job.group for job in instance.jobs]
        self._sliced = instance.sliced
        self._kinds = [
            (job.pool, job.gpus if backfill else 0, job.slice if backfill else None) for job in instance.jobs
        ]
        self._heaps: defaultdict[tuple[str | None, int, int | str | None], list[tuple[float, int]]] = defaultdict(list)
        # by group how many more jobs may run, and those that wait for one to end, in order
        self._left = {group.id: group.limit for group in instance.groups}
        self._full: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)

    def add(self, job: int) -> None:
        """Let a job join."""
        heapq.heappush(self._heaps[self._kinds[job]], (self._keys[job], job))

    def first(self, servers: Servers) -> int | None:
        """The job that may start next on what is free; with a strict order none may pass the head of its pool."""
        sizes = self._gpus
        while servers.total or self._sliced:
            heads = [
                heap[0]
                for (pool, gpus, _), heap in self._heaps.items()
                if heap
                and (self._fits(heap[0][1], servers) if self._sliced else servers.fits(gpus or sizes[heap[0][1]], pool))
            ]
            if not heads:
                return None
            best = min(heads)
            group = self._groups[best[1]]
            if group not in self._left or self._left[group]:
                return best[1]
            # its group is at its limit: it does not keep others from starting
            heapq.heappop(self._heaps[self._kinds[best[1]]])
            heapq.heappush(self._full[group], best)
        return None

    def _fits(self, index: int, servers: Servers) -> bool:
        """Whether a job fits, where some take slices."""
        job = self._jobs[index]
        return servers.fits(job.gpus, job.pool) if job.slice is None else servers.fits_slice(job)

    def pop(self, job: int) -> None:
        """Take out the job that ``first`` named, which counts for its group until it leaves."""
        heapq.heappop(self._heaps[self._kinds[job]])
        self.count(job)

    def count(self, job: int) -> None:
        """Count a job that runs."""
        group = self._groups[job]
        if group in self._left:
            self._left[group] -= 1

    def leave(self, job: int) -> None:
        """Let a job leave its group: it has ended, or joins again; the first that waits for that joins the queue."""
        group = self._groups[job]
        if group in self._left:
            self._left[group] += 1
            if self._full[group]:
                self.add(heapq.heappop(self._full[group])[1])
