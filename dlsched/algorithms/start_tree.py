"""Exact branch-and-bound search for the least sum of flow times, which starts jobs in order of time; and its decomposition.

Every job runs once, without a pause, in one of its modes, each of which has a length and takes units of several resources.
Some may have begun when the clock starts: they start at 0, before all others, in their only mode. Sums are of flow times,
end less release, on a clock whose zero is the first release.

*Nodes.* The jobs that have started, in order of their starts. A child lets one more job start in one of its modes, at
the earliest time, not before the last start, at which its units are free beside the jobs that run. The
search reaches every schedule in which no job can start earlier while the others stay, and one of these is
optimal.

*Cut: active.* Let E be the least end over all children. A child that starts at E or later and ends later has room for the
job that would end at E: moving it there is possible and ends it sooner. So such children are cut.

*Cut: bound.* Let t be the last start. The k-th end of the jobs not started is not before the k-th end of SRPT on a
virtual machine that runs as fast as the units free over time allow (SRPT has ended the most jobs at any
time, at any speed over time), nor before the k-th smallest of max(t, r_i) + shortest length.

*Cut: repeated.* Two nodes with the same jobs started, the same last start and the same units taken until the
same times differ only in the ends so far; the search cuts the larger sum. It tries resources of one capacity
that are taken alike, and jobs that are alike, in one order only.

*Parts* whose jobs cannot meet in any good schedule are decided apart. Let F be the sum of the flow times of a known schedule,
p_i the least length of job i, and E = F - sum p. In any schedule whose flow times sum to at most F, job i ends by
r_i + p_i + E, as no other job flows for less than its own p. If all jobs released before some time end by then, the later
ones never meet them. So the best schedules of the two parts together are the best schedule of all, and the F of a part
is smaller again. The releases of a part that cannot be split further lie within its number of jobs times F.
"""

import heapq
import marshal
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from dlsched.core.gap import FEASIBLE, rounding
from dlsched.core.limits import Tick, no_tick

Taken = tuple[tuple[tuple[float, int], ...], ...]
"""For every resource pairs of a time and the units that are taken until then, in order."""
Modes = Sequence[tuple[int, int]]
"""Jobs and their modes, in order of their starts."""

_LARGEST_MEMORY = 500_000  # states of nodes that are stored, some .5 kB each
CLOSE = 1e-10
"""Relative distance of a node's bound from the best sum at which the node is closed."""


class ModeJob(NamedTuple):
    """Release of a job, length and usage of its modes, a key that jobs alike share, and whether it has begun."""

    release_s: float
    modes: Sequence[tuple[float, Sequence[int]]]
    kind: Hashable
    begun: bool = False


class _Node(NamedTuple):
    """The last job started, its mode and start; the node before; flows so far; units taken; jobs not started."""

    job: int
    mode: int
    last_s: float
    before: "_Node | None"
    sum_s: float
    taken: Taken
    unstarted: frozenset[int]


class Tree:
    """The search, which can be stopped and resumed at any node; when it is ``done``, no schedule is better than ``best_s``.

    The first job is released at 0; each has a mode that fits; those that have begun are released at 0 and fit together.
    ``kinds``: equal numbers for resources that all jobs may exchange for each other; None: those of one capacity.
    ``best_s``: sum of flow times of a known schedule, or infinity; the caller may lower it at any time. ``better`` is
    called for every lower sum; ``tick`` with 1 for every node and with nothing in between, and may raise to stop.
    """

    def __init__(
        self,
        capacities: Sequence[int],
        jobs: Sequence[ModeJob],
        best_s: float,
        *,
        kinds: Sequence[int] | None = None,
        better: Callable[[Modes], None],
        tick: Callable[..., None],
    ) -> None:
        self.best_s, self.done, self.looks = best_s, False, 0
        self._sizes, self._jobs, self._better, self._tick = capacities, jobs, better, tick
        self._kinds = capacities if kinds is None else kinds
        self._shortest = [min(length_s for length_s, _ in job.modes) for job in jobs]
        self._work = [min(sum(usage) * length_s for length_s, usage in job.modes) for job in jobs]
        self._seen: dict[bytes, float] = {}
        self._twin: list[int | None] = []
        alike: dict[Hashable, int] = {}
        root = _Node(-1, -1, 0.0, None, 0.0, tuple(() for _ in capacities), frozenset(range(len(jobs))))
        for index, job in enumerate(jobs):
            if job.begun:
                ((length_s, usage),) = job.modes
                taken = _after(root.taken, usage, 0.0, length_s)
                root = _Node(index, 0, 0.0, root, root.sum_s + length_s, taken, root.unstarted - {index})
                self._twin.append(None)
                continue
            self._twin.append(alike.get((job.kind, job.release_s)))
            alike[job.kind, job.release_s] = index
        self._waiting: _Node | None = root
        self._stack: list[tuple[_Node, Iterator[tuple[float, float, int, int]]]] = []

    def run(self, looks: float = math.inf) -> bool:
        """Go on until ``looks`` more modes have been looked at; return ``done``."""
        until = self.looks + looks
        while not self.done and self.looks < until:
            node = self._waiting = self._waiting or self._next()
            if node is None:
                self.done = True
                break
            self._tick(1)
            if node.unstarted:
                self._stack.append((node, self._children(node)))
            elif node.sum_s < self.best_s:
                self.best_s = node.sum_s
                self._better(_path(node))
            self._waiting = None
        return self.done

    def _next(self) -> _Node | None:
        """Return the next node that no cut removes, None at the end of the search."""
        while self._stack:
            node, children = self._stack[-1]
            for child in children:
                grown = self._grown(node, *child)
                if grown is not None:
                    return grown
            self._stack.pop()
        return None

    def _children(self, node: _Node) -> Iterator[tuple[float, float, int, int]]:
        """End, start, job and mode of the children that the cut ``active`` retains, the soonest end first."""
        children = []
        for job in node.unstarted:
            if self._twin[job] in node.unstarted:
                continue
            tried = set()
            self._tick()
            self.looks += len(self._jobs[job].modes)
            from_s = max(node.last_s, self._jobs[job].release_s)
            for mode, (length_s, usage) in enumerate(self._jobs[job].modes):
                # Modes that use resources of one kind and state alike lead to equal subtrees: one of them is
                # enough.
                alike = tuple(sorted(zip(self._kinds, node.taken, usage, strict=True)))
                if alike in tried:
                    continue
                tried.add(alike)
                start_s = _earliest(self._sizes, node.taken, usage, from_s)
                children.append((start_s + length_s, start_s, job, mode))
        children.sort(key=lambda child: child[:3])
        soonest = children[0][0]
        return iter([child for child in children if child[1] < soonest or child[0] <= soonest])

    def _grown(self, node: _Node, end_s: float, start_s: float, job: int, mode: int) -> _Node | None:
        """Return a child, or None if the cut ``bound`` or ``repeated`` removes it."""
        self.looks += 1
        rest = node.unstarted - {job}
        after = _after(node.taken, self._jobs[job].modes[mode][1], start_s, end_s)
        sum_s = node.sum_s + (end_s - self._jobs[job].release_s)
        if sum_s + self._bound(rest, start_s, after) >= self.best_s * (1 - CLOSE):
            return None
        # Resources of one kind and state are interchangeable, so the key sorts them.
        key = marshal.dumps(
            (sorted(rest), start_s, sorted(zip(self._kinds, after, strict=True))), 2
        )  # 2: no references
        if self._seen.get(key, math.inf) <= sum_s:
            return None
        if len(self._seen) < _LARGEST_MEMORY:
            self._seen[key] = sum_s
        return _Node(job, mode, start_s, node, sum_s, after, rest)

    def _bound(self, rest: frozenset[int], last_s: float, taken: Taken) -> float:
        """Return a lower bound on the sum of the flow times of the jobs not started."""
        if not rest:
            return 0.0
        released = sorted(
            (max(last_s, self._jobs[job].release_s), self._work[job], self._shortest[job]) for job in rest
        )
        soonest = sorted(release + shortest for release, _, shortest in released)
        steps = sorted(in_use for resource in taken for in_use in resource)
        speed = sum(self._sizes) - sum(gpus for _, gpus in steps)
        ends = srpt_ends([(release, work) for release, work, _ in released], steps, speed)
        return math.fsum([*map(max, ends, soonest), *(-self._jobs[job].release_s for job in rest)])


def _path(node: _Node | None) -> Modes:
    picked = []
    while node is not None and node.before is not None:
        picked.append((node.job, node.mode))
        node = node.before
    return picked[::-1]


def _earliest(sizes: Sequence[int], taken: Taken, usage: Sequence[int], from_s: float) -> float:
    """Return the first time from which ``usage`` is free: units in use are only released over time."""
    start_s = from_s
    for in_use, count, size in zip(taken, usage, sizes, strict=True):
        if not count:
            continue
        busy = sum(gpus for until_s, gpus in in_use if until_s > start_s)
        for until_s, gpus in in_use:
            if busy + count <= size:
                break
            if until_s > start_s:
                busy -= gpus
                start_s = until_s
    return start_s


def _after(taken: Taken, usage: Sequence[int], start_s: float, end_s: float) -> Taken:
    """Return the units taken once a job has started, without those that are free by then."""
    return tuple(
        tuple(sorted([*(in_use for in_use in resource if in_use[0] > start_s), *([(end_s, count)] if count else [])]))
        for resource, count in zip(taken, usage, strict=True)
    )


def srpt_ends(jobs: Sequence[tuple[float, float]], steps: Sequence[tuple[float, int]], speed: int) -> list[float]:
    """Return the ends of SRPT in order of time.

    ``jobs``: release and work of at least one job, in order of release; ``steps``: times at which the speed rises, and
    by how much, in order of time; ``speed``: at the first release, >= 0, and > 0 after all steps.
    """
    waiting: list[float] = []
    ends: list[float] = []
    now, arrived, step = jobs[0][0], 0, 0
    while len(ends) < len(jobs):
        while arrived < len(jobs) and jobs[arrived][0] <= now:
            heapq.heappush(waiting, jobs[arrived][1])
            arrived += 1
        while step < len(steps) and steps[step][0] <= now:
            speed += steps[step][1]
            step += 1
        # the machine serves the job of least work until the next release or change of speed
        until = min(
            jobs[arrived][0] if arrived < len(jobs) else math.inf, steps[step][0] if step < len(steps) else math.inf
        )
        if not waiting or not speed:
            now = until
            continue
        least = waiting[0]
        if now + least / speed <= until:
            heapq.heappop(waiting)
            now += least / speed
            ends.append(now)
        else:
            heapq.heapreplace(waiting, least - (until - now) * speed)
            now = until
    return ends


def separated(
    releases: Sequence[float], shortest: Sequence[float], flows: Sequence[float], *, tick: Tick = no_tick
) -> list[list[int]]:
    """Return the jobs of every part, in order of release; ``flows``: flow times in the known schedule; all of shape (J,)."""
    whole, done = [sorted(range(len(releases)), key=releases.__getitem__)], []
    while whole:
        jobs = whole.pop()
        excess_s = max(0.0, math.fsum([*(flows[job] for job in jobs), *(-shortest[job] for job in jobs)]))
        parts: list[list[int]] = [[]]
        latest_s = -math.inf
        for job in jobs:
            tick()
            if parts[-1] and releases[job] >= latest_s:
                parts.append([])
            parts[-1].append(job)
            # Ends are rounded up, so that a tie never separates jobs that may meet.
            end_s = releases[job] + (shortest[job] + excess_s) * (1 + FEASIBLE)
            latest_s = max(latest_s, end_s + rounding(end_s))
        if len(parts) == 1:
            done.append(jobs)
        else:
            whole += parts
    return sorted(done, key=lambda jobs: releases[jobs[0]])
