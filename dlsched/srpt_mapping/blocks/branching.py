"""An exact search of our own over whole clusters: jobs start in order of time, and bounds cut.

*Nodes.* The jobs that have started, in order of their starts. A child lets one more job start in one of its layouts, at
the earliest time, not before the last start, at which its GPUs are free beside the jobs that run. Every schedule in which
no job can start earlier with the others as they are is reached so, and one of them is optimal.

*Cut: active.* Let E be the least end over all children. A child that starts at E or later and ends later leaves room for the
job that would end at E: moving it there is possible and ends it sooner. So such children are left out.

Sums are of flow times, end less release, on a clock whose zero is the first release: only what is to be decided counts.

*Cut: bound.* Of the jobs left, let t be the last start: the k-th of their ends is not before the k-th end of SRPT on a
virtual machine that runs as fast as the GPUs free over time allow (SRPT has ended the most jobs at any time, at any speed
over time), nor before the k-th smallest of max(t, r_i) + shortest length.

*Cut: repeated.* Two nodes with the same jobs started, the same last start and the same GPUs taken until the same times
differ in the ends so far only; the larger sum is cut. Servers of one size that are taken alike, and jobs that are alike,
are tried in one order only.
"""

import heapq
import marshal
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from dlsched.srpt_mapping.blocks.block import Picked
from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.placing.layouts import Layout

Taken = tuple[tuple[tuple[float, int], ...], ...]
"""By server, pairs of a time and the GPUs that are taken until then, in order."""

_LARGEST_MEMORY = 500_000  # nodes remembered, some .5 kB each
CLOSE = 1e-10
"""Relative: a bound so close to the best sum closes a node."""


class _Node(NamedTuple):
    """What has started (the last job, its layout, and what started before it), when, the flows so far, and what is left."""

    last: tuple[Any, ...]
    last_s: float
    sum_s: float
    taken: Taken
    left: frozenset[int]


class Tree:
    """The search, which may be stopped and resumed at any node; when it is ``done``, no schedule is better than ``best_s``.

    Parameters
    ----------
    instance, found
        Feasible, on its own clock, and its layouts.
    best_s
        A sum of flow times that is attained, or infinity; it may be lowered at any time.
    better
        Called with the jobs and layouts whenever a sum is less than ``best_s``, in order of the starts.
    tick
        Called with 1 for every node and with nothing in between; it may raise to stop, and the search can be resumed.
    """

    def __init__(
        self,
        instance: Instance,
        found: Sequence[Sequence[Layout]],
        best_s: float,
        *,
        better: Callable[[Picked], None],
        tick: Callable[..., None],
    ) -> None:
        jobs = instance.jobs
        self.best_s, self.done, self.looks = best_s, False, 0
        self.instance, self.found, self._better, self._tick = instance, found, better, tick
        self.sizes = [server.gpus for server in instance.servers]
        self.total = sum(self.sizes)
        self.release = [job.release_s for job in jobs]
        self.shortest = [
            job.iterations * min(layout.iteration_s for layout in held) for job, held in zip(jobs, found, strict=True)
        ]
        self.work = [job.gpus * length for job, length in zip(jobs, self.shortest, strict=True)]
        self.seen: dict[bytes, float] = {}
        self.twin: list[int | None] = []
        alike: dict[tuple[object, ...], int] = {}
        for index, job in enumerate(jobs):
            key = (job.graph, job.iterations, job.release_s)
            self.twin.append(alike.get(key))
            alike[key] = index
        self._waiting: _Node | None = _Node((), 0.0, 0.0, tuple(() for _ in self.sizes), frozenset(range(len(jobs))))
        self._stack: list[Iterator[tuple[float, float, int, Layout]]] = []
        self._nodes: list[_Node] = []

    def run(self, looks: float = math.inf) -> bool:
        """Go on until so many layouts more have been looked at; return ``done``."""
        until = self.looks + looks
        while not self.done and self.looks < until:
            if self._waiting is None:
                self._waiting = self._next()
                if self._waiting is None:
                    self.done = True
                    break
            self._tick(1)
            if self._waiting.left:
                children = _children(self, self._waiting)
                self._stack.append(children)
                self._nodes.append(self._waiting)
            elif self._waiting.sum_s < self.best_s:
                self.best_s = self._waiting.sum_s
                self._better(_path(self._waiting))
            self._waiting = None
        return self.done

    def _next(self) -> _Node | None:
        """The next node that no cut takes, None when there is none left."""
        while self._stack:
            for child in self._stack[-1]:
                node = _grown(self, self._nodes[-1], *child)
                if node is not None:
                    return node
            self._stack.pop()
            self._nodes.pop()
        return None

    def tick(self) -> None:
        """Stop where a limit is reached."""
        self._tick()


def _path(node: _Node) -> Picked:
    picked: list[tuple[int, Layout]] = []
    step = node.last
    while step:
        job, layout, step = step
        picked.append((job, layout))
    return picked[::-1]


def _children(tree: Tree, node: _Node) -> Iterator[tuple[float, float, int, Layout]]:
    """End, start, job and layout of the children that the cut ``active`` leaves, the soonest end first."""
    children = []
    soonest = math.inf
    for job in node.left:
        if tree.twin[job] in node.left:
            continue
        tried = set()
        tree.tick()
        tree.looks += len(tree.found[job])
        for layout in tree.found[job]:
            alike = tuple(sorted(zip(tree.sizes, node.taken, layout.usage, strict=True)))
            if alike in tried:
                continue
            tried.add(alike)
            start_s = _earliest(tree, node.taken, layout.usage, max(node.last_s, tree.release[job]))
            end_s = start_s + tree.instance.jobs[job].iterations * layout.iteration_s
            soonest = min(soonest, end_s)
            children.append((end_s, start_s, job, layout))
    children.sort(key=lambda child: child[:3])
    return iter([child for child in children if child[1] < soonest or child[0] <= soonest])


def _grown(tree: Tree, node: _Node, end_s: float, start_s: float, job: int, layout: Layout) -> _Node | None:
    """A child, None where the cuts ``bound`` and ``repeated`` take it."""
    tree.looks += 1
    rest = node.left - {job}
    after = _after(node.taken, layout.usage, start_s, end_s)
    sum_s = node.sum_s + (end_s - tree.release[job])
    if sum_s + _bound(tree, rest, start_s, after) >= tree.best_s * (1 - CLOSE):
        return None
    key = marshal.dumps((sorted(rest), start_s, sorted(zip(tree.sizes, after, strict=True))), 2)  # 2: no references
    if tree.seen.get(key, math.inf) <= sum_s:
        return None
    if len(tree.seen) < _LARGEST_MEMORY:
        tree.seen[key] = sum_s
    return _Node((job, layout, node.last), start_s, sum_s, after, rest)


def _earliest(tree: Tree, taken: Taken, usage: Sequence[int], from_s: float) -> float:
    """The first time from which so many GPUs are free; what is taken only ends."""
    start_s = from_s
    for held, count, size in zip(taken, usage, tree.sizes, strict=True):
        if not count:
            continue
        busy = sum(gpus for until_s, gpus in held if until_s > start_s)
        for until_s, gpus in held:
            if busy + count <= size:
                break
            if until_s > start_s:
                busy -= gpus
                start_s = until_s
    return start_s


def _after(taken: Taken, usage: Sequence[int], start_s: float, end_s: float) -> Taken:
    """What is taken once a job has started: nothing that ends by then."""
    return tuple(
        tuple(sorted([*(held for held in server if held[0] > start_s), *([(end_s, count)] if count else [])]))
        for server, count in zip(taken, usage, strict=True)
    )


def _bound(tree: Tree, rest: frozenset[int], last_s: float, taken: Taken) -> float:
    """A number that the flow times of the jobs left do not undercut in sum."""
    if not rest:
        return 0.0
    released = sorted((max(last_s, tree.release[job]), tree.work[job], tree.shortest[job]) for job in rest)
    soonest = sorted(release + shortest for release, _, shortest in released)
    steps = sorted(held for server in taken for held in server)
    speed = tree.total - sum(gpus for _, gpus in steps)
    waiting: list[float] = []
    ends: list[float] = []
    now, arrived, step = last_s, 0, 0
    while len(ends) < len(released):
        while arrived < len(released) and released[arrived][0] <= now:
            heapq.heappush(waiting, released[arrived][1])
            arrived += 1
        while step < len(steps) and steps[step][0] <= now:
            speed += steps[step][1]
            step += 1
        until = min(
            released[arrived][0] if arrived < len(released) else math.inf,
            steps[step][0] if step < len(steps) else math.inf,
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
    return math.fsum([*map(max, ends, soonest), *(-tree.release[job] for job in rest)])
