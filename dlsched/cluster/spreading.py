"""Exact search for the fastest spread of a job's replicas over servers that give fixed numbers of GPUs.

A branch and bound tries, stage by stage, every split of the stage's replicas over the servers.
Once the next stage is split too, the seconds of a stage are known, and the search cuts branches that are no
better than the best known spread. It is exact, and meant for small jobs.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from dlsched.cluster.job_graph import JobGraph
from dlsched.core.budget import Tick, TooMany, no_tick

Rows = tuple[tuple[int, ...], ...]
"""Replicas by server and stage."""

# Splits tried before ``TooMany``; and stages, which are levels of recursion.
LARGEST = 200_000
MOST_STAGES = 300


_MOST_KNOWN = 20_000
_known: dict[tuple[JobGraph, tuple[int, ...], tuple[float, ...], float], tuple[float, Rows]] = {}


def best_rows(
    graph: JobGraph, usage: tuple[int, ...], shares: tuple[float, ...], inside: float, *, tick: Tick = no_tick
) -> tuple[float, Rows]:
    """Return the least seconds of an iteration and the rows that attain it; results are cached.

    ``usage``: GPUs of every server used, > 0, in all as many as replicas; ``shares`` and ``inside`` as in
    ``dlsched.cluster.job_graph``; ``tick`` is called for every split and may raise to stop. ``TooMany``: the job is too
    large for this search.
    """
    key = graph, usage, shares, inside
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = _searched(graph, usage, shares, inside, tick)
    return _known[key]


def _searched(
    graph: JobGraph, usage: tuple[int, ...], shares: tuple[float, ...], inside: float, tick: Tick
) -> tuple[float, Rows]:
    stages = len(graph.replicas)
    if stages > MOST_STAGES:
        raise TooMany
    if len(usage) == 1:
        rows = (graph.replicas,)
        return graph.iteration_s(rows, shares, inside), rows
    best: tuple[float, Rows] = (float("inf"), ())
    floor_s = graph.uniform_s(max(inside, *shares))
    tried = 0

    def search(splits: list[tuple[int, ...]], left: tuple[int, ...], slowest_s: float) -> None:
        nonlocal best, tried
        done = len(splits)
        if done == stages:
            rows = tuple(zip(*splits, strict=True))
            best = min(best, (graph.iteration_s(rows, shares, inside), rows))
            return
        for split in splits_of(graph.replicas[done], left):
            tried += 1
            tick()
            if tried > LARGEST:
                raise TooMany
            splits.append(split)
            # Splitting a stage completes the seconds of the one before it, whose neighbours are now all placed.
            known_s = slowest_s if done == 0 else max(slowest_s, graph.stage_s(done - 1, splits, shares, inside))
            if known_s < best[0] and best[0] > floor_s:
                search(splits, tuple(a - b for a, b in zip(left, split, strict=True)), known_s)
            splits.pop()

    search([], usage, 0.0)
    return best


def splits_of(count: int, room: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield every way to put ``count`` replicas into the rooms, first those that fill the first rooms."""
    if len(room) == 1:
        if count <= room[0]:
            yield (count,)
        return
    beyond = sum(room[1:])
    for here in range(min(count, room[0]), max(0, count - beyond) - 1, -1):
        for rest in splits_of(count - here, room[1:]):
            yield here, *rest


def splits_up_to(most: int, rooms: Sequence[int], *, tick: Tick = no_tick) -> list[int]:
    """Count the ways in which the rooms can take 0 .. ``most`` replicas; call ``tick`` for every room.

    >>> splits_up_to(3, [2, 2])
    [1, 2, 3, 2]
    """
    ways = [1] + [0] * most
    for room in rooms:
        tick()
        # Prefix sums: a room takes 0 .. ``room`` replicas, so each new count is a window of the old ones.
        sums = list(accumulate(ways, initial=0))
        ways = [sums[count + 1] - sums[max(0, count - room)] for count in range(most + 1)]
    return ways
