"""Placement of a job's replicas on servers: the exact fastest spread; ``spreading`` has heuristics.

*Exact*: a branch and bound tries, stage by stage, every split of the stage's replicas over servers that give fixed numbers
of GPUs. The seconds of a stage are known once the next one is split too; branches that are no better than the best spread
are cut. It is meant for small jobs.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from heapq import nlargest
from itertools import accumulate

from dlsched.cluster.job_graph import JobGraph, stage_s
from dlsched.cluster.spreading import Rows
from dlsched.core.limits import Tick, TooMany, no_tick

LARGEST = 200_000  # splits tried before ``TooMany``
MOST_STAGES = 300  # stages are levels of recursion
_MOST_KNOWN = 20_000  # results in the cache
_known: dict[tuple[JobGraph, tuple[int, ...], tuple[float, ...], float], tuple[float, Rows]] = {}


def best_rows(
    graph: JobGraph, usage: tuple[int, ...], shares: tuple[float, ...], inside: float, *, tick: Tick = no_tick
) -> tuple[float, Rows]:
    """The least seconds of an iteration, and rows that attain it, where servers give ``usage`` GPUs, > 0; results are cached.

    ``TooMany``: the job is too large for this search.
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

    def search(splits: list[tuple[int, ...]], rooms: tuple[int, ...], slowest_s: float) -> None:
        nonlocal best, tried
        done = len(splits)
        if done == stages:
            rows = tuple(zip(*splits, strict=True))
            best = min(best, (graph.iteration_s(rows, shares, inside), rows))
            return
        for split in splits_of(graph.replicas[done], rooms):
            tried += 1
            tick()
            if tried > LARGEST:
                raise TooMany
            splits.append(split)
            # Splitting a stage completes the seconds of the one before it, whose neighbours are now all placed.
            known_s = slowest_s if done == 0 else max(slowest_s, stage_s(graph, done - 1, splits, shares, inside))
            if known_s < best[0] and best[0] > floor_s:
                search(splits, tuple(a - b for a, b in zip(rooms, split, strict=True)), known_s)
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


def few_rooms(count: int, room: tuple[int, ...], most: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to put ``count`` replicas into at most so many of the rooms, first those that fill the first rooms.

    >>> list(few_rooms(2, (1, 2, 1), 1))
    [(0, 2, 0)]
    """
    held = [0] * len(room)

    @cache
    def largest(first: int, most: int) -> int:
        """What so many rooms from one on can hold."""
        return sum(nlargest(most, room[first:]))

    def ways(first: int, count: int, most: int) -> Iterator[tuple[int, ...]]:
        if not count:
            yield tuple(held)
            return
        # the next room that takes some, as long as those from it on can take all
        for index in range(first, len(room)):
            if largest(index, most) < count:
                return
            least = max(1, count - largest(index + 1, most - 1))
            for here in range(min(count, room[index]), least - 1, -1):
                held[index] = here
                yield from ways(index + 1, count - here, most - 1)
            held[index] = 0

    return ways(0, count, most)


def splits_up_to(most: int, rooms: Sequence[int], *, tick: Tick = no_tick) -> list[int]:
    """Count the ways in which the rooms can take 0 .. ``most`` replicas.

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
