"""Placement of a job's replicas in rooms on servers: by Heavy-Edge, by chain order, and improved by swaps.

Only the abstract of Luo et al. (INFOCOM 2025) was available, which does not describe Heavy-Edge: its steps are our
reconstruction, on the idea that the ends of heavy edges belong together.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import combinations, permutations
from typing import cast

from dlsched.cluster.job_graph import JobGraph
from dlsched.cluster.spreading import Rows

_ROUNDS = 50
_MANY = 2_000  # pairs of replicas beyond which a round of swaps is not worth its time
_MOST_SWAPS = 2_000_000  # swaps evaluated in all rounds
_MOST_STEPS = 300_000  # steps of ``grouped`` times stages; other replicas follow in the chain's order
_REMEMBERED = 2_000  # stages times rooms up to which rows are remembered


@lru_cache(maxsize=4_096)
def grouped(graph: JobGraph, rooms: tuple[int, ...]) -> Rows:
    """Heavy-Edge: share the replicas out to rooms that hold exactly as many; rows by room and stage.

    Each room in turn first gets the two ends of the heaviest edge between unplaced replicas; then, one by one, the
    replica with the largest weight of edges to those in the room (ties: the earliest stage). Weights: 2 O_sv / (k_s
    k_v) between replicas of neighbour stages, 2 h_s / k_s between replicas of one stage. Cost: O(g S). After
    ``_MOST_STEPS`` / S replicas or groups of replicas, the rest follows in the order of the chain.
    """
    if len(rooms) == 1:
        return (graph.replicas,)
    left = list(graph.replicas)
    steps = _MOST_STEPS // len(left)
    rows = []
    for room in rooms:
        row, steps = _fill_room(graph, left, room, steps)
        rows.append(tuple(row))
    return tuple(rows)


@lru_cache(maxsize=4_096)
def improved(graph: JobGraph, rooms: tuple[int, ...], shares: tuple[float, ...], inside: float) -> Rows:
    """Take the faster of ``grouped`` and ``chained``; swap replicas while that makes an iteration faster."""
    if len(rooms) == 1:
        return (graph.replicas,)

    def seconds(rows: Rows) -> float:
        return graph.iteration_s(rows, shares, inside)

    best = min((remembering(grouped, graph, rooms)(graph, rooms), chained(graph, rooms)), key=seconds)
    if graph.gpus**2 > _MANY:
        return best
    # Pairs of (server, stage) to exchange: a round of swaps evaluates about this many placements.
    looked_at = max(1, (len(rooms) * len(graph.replicas)) ** 2 // 2)
    for _ in range(min(_ROUNDS, _MOST_SWAPS // looked_at)):
        better = min(_swaps(best), key=seconds, default=best)
        if not seconds(better) < seconds(best):
            break
        best = better
    return best


def remembering(rule: Callable[..., Rows], graph: JobGraph, rooms: Sequence[int]) -> Callable[..., Rows]:
    """Return the rule; above ``_REMEMBERED`` stages times rooms without its cache, which would grow too large."""
    few = len(rooms) * len(graph.replicas) <= _REMEMBERED
    return rule if few else cast(Callable[..., Rows], rule.__wrapped__)  # type: ignore[attr-defined]


def chained(graph: JobGraph, rooms: tuple[int, ...]) -> Rows:
    """Fill room after room with the stages in the order of the chain."""
    left = list(graph.replicas)
    return tuple(tuple(_fill_in_order(left, room)) for room in rooms)


def _fill_in_order(left: list[int], room: int) -> list[int]:
    row = []
    for stage, count in enumerate(left):
        row.append(min(count, room))
        room -= row[-1]
        left[stage] -= row[-1]
    return row


def _swaps(rows: Rows) -> Iterator[Rows]:
    """Yield every exchange of two replicas of different stages between two servers."""
    for first, second in combinations(range(len(rows)), 2):
        for stage, other in permutations(range(len(rows[0])), 2):
            if rows[first][stage] and rows[second][other]:
                changed = [list(row) for row in rows]
                changed[first][stage] -= 1
                changed[first][other] += 1
                changed[second][other] -= 1
                changed[second][stage] += 1
                yield tuple(map(tuple, changed))


def _fill_room(graph: JobGraph, left: list[int], room: int, steps: int) -> tuple[list[int], int]:
    """Move ``room`` replicas from ``left`` to a server in at most ``steps`` steps; return them by stage and the unused steps."""
    stages = range(len(left))
    here = [0] * len(left)
    pull = [0.0] * len(left)  # weight of the edges from a replica of each stage to those here

    def put(stage: int, count: int) -> None:
        left[stage] -= count
        here[stage] += count
        for other in range(max(0, stage - 1), min(len(left), stage + 2)):
            pull[other] += count * graph.edge_weight(stage, other)

    # One step places an edge's two ends, or as many replicas of the best stage as single placements in turn would.
    while room:
        if steps <= 0:
            rest = _fill_in_order(left, room)
            return [count + more for count, more in zip(here, rest, strict=True)], 0
        steps -= 1
        best = max((stage for stage in stages if left[stage]), key=pull.__getitem__)
        ends = _heaviest(graph, left) if room >= 2 and pull[best] == 0 else None
        if ends is not None:
            put(ends[0], 1)
            put(ends[1], 1)
            room -= 2
        else:
            count = min(room, left[best], _turns(graph, best, left, pull))
            put(best, count)
            room -= count
    return here, steps


def _turns(graph: JobGraph, best: int, left: Sequence[int], pull: Sequence[float]) -> int:
    """Return how many replicas of the stage that pulls most are placed before another stage pulls more."""
    turns = left[best]
    for other in (best - 1, best + 1):
        if 0 <= other < len(left) and left[other]:
            faster = graph.edge_weight(best, other) - graph.edge_weight(best, best)
            # After n turns the pull of ``other`` has gained n ``faster`` on the best stage's; ties go to the earlier
            # stage.
            ahead = pull[best] - pull[other]
            if faster > 0 and ahead < turns * faster:
                turns = max(1, math.ceil(ahead / faster) if other < best else math.floor(ahead / faster) + 1)
    return turns


def _heaviest(graph: JobGraph, left: Sequence[int]) -> tuple[int, int] | None:
    """Return the stages of the ends of the heaviest edge between unplaced replicas, None if there is no edge."""
    edges = [(first, second) for first in range(len(left)) for second in (first, first + 1) if second < len(left)]
    held = [(a, b) for a, b in edges if left[a] and left[b] and (a != b or left[a] >= 2)]
    heaviest = max(held, key=lambda edge: graph.edge_weight(*edge), default=None)
    return heaviest if heaviest is not None and graph.edge_weight(*heaviest) > 0 else None
