"""An exact search of our own over whole clusters: jobs start in order of time, and bounds cut.

*Nodes.* The jobs that have started, in order of their starts. A child lets one more job start in one of its layouts, at
the earliest time, not before the last start, at which its GPUs are free beside the jobs that run. Every schedule in which
no job can start earlier with the others as they are is reached so, and one of them is optimal.

*Cut: active.* Let E be the least end over all children. A child that starts at E or later and ends later leaves room for the
job that would end at E: moving it there is possible and ends it sooner. So such children are left out.

*Cut: bound.* Of the jobs left, let t be the last start: the k-th of their ends is not before the k-th end of SRPT on a
virtual machine that runs as fast as the GPUs free over time allow (SRPT has ended the most jobs at any time, at any speed
over time), nor before the k-th smallest of max(t, r_i) + shortest length.

*Cut: repeated.* Two nodes with the same jobs started, the same last start and the same GPUs taken until the same times
differ in the ends so far only; the larger sum is cut. Servers of one size that are taken alike, and jobs that are alike,
are tried in one order only.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dlsched.srpt_mapping.instance import Instance
from dlsched.srpt_mapping.layouts import Layout

Taken = tuple[tuple[tuple[float, int], ...], ...]
"""By server, pairs of a time and the GPUs that are taken until then, in order."""

Picked = list[tuple[int, Layout]]
"""Jobs and their layouts, in order of their starts."""

_LARGEST_MEMORY = 2_000_000  # nodes remembered
CLOSE = 1e-10
"""Relative: a bound so close to the best sum closes a node."""


@dataclass(slots=True)
class _Tree:
    instance: Instance
    found: Sequence[Sequence[Layout]]
    best_s: float
    sizes: list[int] = field(init=False)
    total: int = field(init=False)
    release: list[float] = field(init=False)
    shortest: list[float] = field(init=False)
    work: list[float] = field(init=False)
    twin: list[int | None] = field(init=False)
    seen: dict[tuple[object, ...], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        jobs = self.instance.jobs
        self.sizes = [server.gpus for server in self.instance.servers]
        self.total = sum(self.sizes)
        self.release = [job.release_s for job in jobs]
        self.shortest = [
            job.iterations * min(layout.iteration_s for layout in held)
            for job, held in zip(jobs, self.found, strict=True)
        ]
        self.work = [job.gpus * length for job, length in zip(jobs, self.shortest, strict=True)]
        alike: dict[tuple[object, ...], int] = {}
        self.twin = []
        for place, job in enumerate(jobs):
            key = (job.graph, job.iterations, job.release_s)
            self.twin.append(alike.get(key))
            alike[key] = place


class _Node(NamedTuple):
    """What has started (the last job, its layout, and what started before it), when, the ends so far, and what is left."""

    last: tuple[Any, ...]
    last_s: float
    sum_s: float
    taken: Taken
    left: frozenset[int]


def search_schedules(
    instance: Instance,
    found: Sequence[Sequence[Layout]],
    best_s: float,
    *,
    tick: Callable[[int], None],
    better: Callable[[Picked], None],
) -> None:
    """Search all schedules that may be better than a sum of completion times; when it returns, there is no other.

    Parameters
    ----------
    instance, found
        Feasible, and its layouts.
    best_s
        A sum that is attained.
    tick
        Called with the nodes of each step; it may raise to stop.
    better
        Called with the jobs and layouts whenever the sum is better than ``best_s`` and all before, in order of the starts.
    """
    tree = _Tree(instance, found, best_s)
    root = _Node((), 0.0, 0.0, tuple(() for _ in instance.servers), frozenset(range(len(instance.jobs))))
    stack = [_children(tree, root)]
    tick(1)
    while stack:
        node = next(stack[-1], None)
        if node is None:
            stack.pop()
            continue
        tick(1)
        if node.left:
            stack.append(_children(tree, node))
        elif node.sum_s < tree.best_s:
            tree.best_s = node.sum_s
            better(_path(node))


def _path(node: _Node) -> Picked:
    picked: Picked = []
    step = node.last
    while step:
        job, layout, step = step
        picked.append((job, layout))
    return picked[::-1]


def _children(tree: _Tree, node: _Node) -> Iterator[_Node]:
    """The children that no cut takes, the soonest end first; each cut is made when its turn comes."""
    children = []
    soonest = math.inf
    for job in node.left:
        if tree.twin[job] in node.left:
            continue
        tried = set()
        for layout in tree.found[job]:
            alike = tuple(sorted(zip(tree.sizes, node.taken, layout.usage, strict=True)))
            if alike in tried:
                continue
            tried.add(alike)
            start_s = _earliest(tree, node.taken, layout.usage, max(node.last_s, tree.release[job]))
            end_s = start_s + tree.instance.jobs[job].iterations * layout.iteration_s
            soonest = min(soonest, end_s)
            children.append((end_s, start_s, job, layout))
    for end_s, start_s, job, layout in sorted(children, key=lambda child: child[:3]):
        if start_s >= soonest and end_s > soonest:
            continue
        rest = node.left - {job}
        after = _after(node.taken, layout.usage, start_s, end_s)
        total_s = node.sum_s + end_s
        if total_s + _bound(tree, rest, start_s, after) >= tree.best_s * (1 - CLOSE):
            continue
        key = (rest, start_s, tuple(sorted(zip(tree.sizes, after, strict=True))))
        if tree.seen.get(key, math.inf) <= total_s:
            continue
        if len(tree.seen) < _LARGEST_MEMORY:
            tree.seen[key] = total_s
        yield _Node((job, layout, node.last), start_s, total_s, after, rest)


def _earliest(tree: _Tree, taken: Taken, usage: Sequence[int], from_s: float) -> float:
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


def _bound(tree: _Tree, rest: frozenset[int], last_s: float, taken: Taken) -> float:
    """A number that the ends of the jobs left do not undercut in sum."""
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
    return math.fsum(map(max, ends, soonest))
