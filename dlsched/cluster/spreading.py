"""The best way to spread the replicas of a job over servers when it is fixed how many of its GPUs each server gives.

A branch and bound of ours: stage by stage, every split of its replicas over the servers; once the next stage is split
too, the seconds of a stage are known, and what is no better than the best known is cut. Exact; for small jobs.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from dlsched.cluster.job_graph import JobGraph
from dlsched.core.budget import Tick, TooMany, no_tick

Rows = tuple[tuple[int, ...], ...]
"""Replicas by server and stage."""

LARGEST = 200_000
MOST_STAGES = 300


_MOST_KNOWN = 20_000
_known: dict[tuple[JobGraph, tuple[int, ...], tuple[float, ...], float], tuple[float, Rows]] = {}


def best_rows(
    graph: JobGraph, usage: tuple[int, ...], shares: tuple[float, ...], inside: float, *, tick: Tick = no_tick
) -> tuple[float, Rows]:
    """Return the least seconds of an iteration and the rows that attain it; what was found is remembered.

    Parameters
    ----------
    graph
        The job.
    usage
        GPUs of every server used, > 0, as many as the job has replicas together.
    shares, inside
        As in ``dlsched.cluster.job_graph``.
    tick
        Called for every split; it may raise to stop.

    Raises
    ------
    TooMany
        The job is too large for this search.
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
            known_s = slowest_s if done == 0 else max(slowest_s, graph.stage_s(done - 1, splits, shares, inside))
            if known_s < best[0] and best[0] > floor_s:
                search(splits, tuple(a - b for a, b in zip(left, split, strict=True)), known_s)
            splits.pop()

    search([], usage, 0.0)
    return best


def splits_of(count: int, room: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every way to put ``count`` replicas into the rooms, as many as possible into the first ones first."""
    if len(room) == 1:
        if count <= room[0]:
            yield (count,)
        return
    beyond = sum(room[1:])
    for here in range(min(count, room[0]), max(0, count - beyond) - 1, -1):
        for rest in splits_of(count - here, room[1:]):
            yield here, *rest


def splits_up_to(most: int, rooms: Sequence[int], *, tick: Tick = no_tick) -> list[int]:
    """In how many ways the rooms can take 0 .. ``most`` replicas; ``tick`` is called for every room.

    >>> splits_up_to(3, [2, 2])
    [1, 2, 3, 2]
    """
    ways = [1] + [0] * most
    for room in rooms:
        tick()
        sums = list(accumulate(ways, initial=0))
        ways = [sums[count + 1] - sums[max(0, count - room)] for count in range(most + 1)]
    return ways
