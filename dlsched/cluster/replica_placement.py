"""Placement of a job's replicas on servers: the exact fastest spread, Heavy-Edge, chain order, swaps, and best fit.

*Exact*: a branch and bound tries, stage by stage, every split of the stage's replicas over servers that give fixed numbers
of GPUs. The seconds of a stage are known once the next one is split too; branches that are no better than the best spread
are cut. It is meant for small jobs.

*Heavy-Edge* fills rooms on servers; swaps improve it. Only the abstract of Luo et al. (INFOCOM 2025) was available: the
steps are our reconstruction, on the idea that the ends of heavy edges belong together.

*Best fit* packs runs of stages, so that heavy edges of a chain, and rings, stay on one server. Stages joined by a heavy edge,
one that would take long between servers, form a *block*. Blocks go on servers from the largest to the smallest, each on the
server with the least room in which it fits (best fit decreasing). Bisection finds the lightest level of heavy edges at
which all blocks can be packed.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from heapq import nlargest
from itertools import accumulate, combinations, pairwise, permutations, product
from operator import itemgetter
from typing import cast

from dlsched.cluster.job_graph import JobGraph
from dlsched.core.limits import Tick, TooMany, no_tick

Rows = tuple[tuple[int, ...], ...]
"""Replicas by server and stage."""

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
            known_s = slowest_s if done == 0 else max(slowest_s, graph.stage_s(done - 1, splits, shares, inside))
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


_ROUNDS = 50  # of swaps, at most
_MANY = 2_000  # pairs of replicas beyond which a round of swaps is not worth its time
_MOST_SWAPS = 2_000_000  # swaps evaluated in all rounds
_MOST_STEPS = 300_000  # steps of ``grouped`` times stages; other replicas follow in the chain's order
_REMEMBERED = 2_000  # stages times rooms up to which rows are remembered


@lru_cache(maxsize=4_096)
def grouped(graph: JobGraph, rooms: tuple[int, ...]) -> Rows:
    """Heavy-Edge: share the replicas out to rooms that hold exactly as many; rows by room and stage.

    Each room in turn first gets the two ends of the heaviest edge between unplaced replicas (``edge_weight``); then, one by
    one, the replica with the largest weight of edges to those in the room (ties: the earliest stage). Cost: O(g S). After
    ``_MOST_STEPS`` / S replicas or groups of replicas, the rest follows in the order of the chain.
    """
    unplaced, stages = list(graph.replicas), len(graph.replicas)
    if stages == 1:
        return tuple([(room,) for room in rooms])
    near = [range(max(0, stage - 1), min(stages, stage + 2)) for stage in range(stages)] if len(rooms) > 1 else []
    weights = [{other: graph.edge_weight(stage, other) for other in others} for stage, others in enumerate(near)]
    edges = [(weight, a, b) for a, others in enumerate(weights) for b, weight in others.items() if a <= b]
    edges = sorted((edge for edge in edges if edge[0] > 0), key=itemgetter(0), reverse=True)
    steps = _MOST_STEPS // stages
    rows = []
    for room in rooms[:-1]:
        row, steps = _fill_room(weights, edges, unplaced, room, steps)
        rows.append(tuple(row))
    return (*rows, tuple(unplaced))


@lru_cache(maxsize=4_096)
def improved(graph: JobGraph, rooms: tuple[int, ...], shares: tuple[float, ...], inside: float) -> Rows:
    """Take the faster of ``grouped`` and ``chained``; swap replicas while that makes an iteration faster."""
    if len(rooms) == 1 or len(graph.replicas) == 1:
        return chained(graph, rooms)
    choices = remembering(grouped, graph, rooms)(graph, rooms), chained(graph, rooms)
    best = (
        choices[0]
        if choices[0] == choices[1]
        else min(choices, key=lambda rows: graph.iteration_s(rows, shares, inside))
    )
    if graph.gpus**2 > _MANY:
        return best
    # Pairs of (server, stage) to exchange: a round of swaps evaluates about this many placements.
    looked_at = max(1, (len(rooms) * len(graph.replicas)) ** 2 // 2)
    for _ in range(min(_ROUNDS, _MOST_SWAPS // looked_at)):
        better = _best_swap(graph, best, shares, inside)
        if better is None:
            break
        best = better
    return best


def _best_swap(graph: JobGraph, rows: Rows, shares: tuple[float, ...], inside: float) -> Rows | None:
    """The first of the fastest exchanges of two replicas; None: none makes an iteration faster."""
    splits = [list(split) for split in zip(*rows, strict=True)]
    stages = range(len(splits))
    stages_s = [graph.stage_s(stage, splits, shares, inside) for stage in stages]
    best, least_s = None, max(stages_s)
    # the slowest stage first: most swaps leave it as slow, and need not be looked at further
    order = sorted(stages, key=stages_s.__getitem__, reverse=True)
    # a swap changes the seconds of two stages and their neighbours; it has to change those of the slowest
    near_of = {pair: {each + step for each in pair for step in (-1, 0, 1)} for pair in permutations(stages, 2)}
    pairs = [(*pair, near) for pair, near in near_of.items() if order[0] in near]
    for (first, second), (stage, other, near) in product(combinations(range(len(rows)), 2), pairs):
        if not (splits[stage][first] and splits[other][second]):
            continue
        _swap(splits, stage, other, first, second)
        slowest_s = 0.0
        for each in order:
            each_s = graph.stage_s(each, splits, shares, inside) if each in near else stages_s[each]
            slowest_s = max(slowest_s, each_s)
            if slowest_s >= least_s:
                break
        else:
            best, least_s = (stage, other, first, second), slowest_s
        _swap(splits, stage, other, second, first)
    if best is None:
        return None
    _swap(splits, *best)
    return tuple(zip(*splits, strict=True))


def remembering(rule: Callable[..., Rows], graph: JobGraph, rooms: Sequence[int]) -> Callable[..., Rows]:
    """Return the rule; above ``_REMEMBERED`` stages times rooms without its cache, which would grow too large."""
    few = len(rooms) * len(graph.replicas) <= _REMEMBERED
    return rule if few else cast(Callable[..., Rows], rule.__wrapped__)  # type: ignore[attr-defined]


def chained(graph: JobGraph, rooms: tuple[int, ...]) -> Rows:
    """Fill room after room with the stages in the order of the chain."""
    unplaced = list(graph.replicas)
    return tuple(tuple(_fill_in_order(unplaced, room)) for room in rooms)


def _fill_in_order(unplaced: list[int], room: int) -> list[int]:
    row = []
    for stage, count in enumerate(unplaced):
        here = count if count < room else room
        row.append(here)
        room -= here
        unplaced[stage] = count - here
    return row


def _swap(splits: list[list[int]], stage: int, other: int, first: int, second: int) -> None:
    """Move a replica of a stage from the first server to the second, and one of the other stage back."""
    splits[stage][first] -= 1
    splits[stage][second] += 1
    splits[other][first] += 1
    splits[other][second] -= 1


_Weights = list[dict[int, float]]  # of the edges from a replica of each stage to those of it and its neighbours


def _fill_room(
    weights: _Weights, edges: Sequence[tuple[float, int, int]], unplaced: list[int], room: int, steps: int
) -> tuple[list[int], int]:
    """Move ``room`` replicas from ``unplaced`` to a server, in at most ``steps``; return them by stage, and the unused steps.

    ``edges``: those with a weight, and the stages of their ends; the heaviest first.
    """
    if room == 1:
        return _fill_in_order(unplaced, room), steps - 1
    stages = range(len(unplaced))
    here = [0] * len(unplaced)
    pull = [0.0] * len(unplaced)  # weight of the edges from a replica of each stage to those here

    def put(stage: int, count: int) -> None:
        unplaced[stage] -= count
        here[stage] += count
        for other, weight in weights[stage].items():
            pull[other] += count * weight

    # One step places an edge's two ends, or as many replicas of the best stage as single placements in turn would.
    while room:
        if steps <= 0:
            rest = _fill_in_order(unplaced, room)
            return [count + more for count, more in zip(here, rest, strict=True)], 0
        steps -= 1
        best = max((stage for stage in stages if unplaced[stage]), key=pull.__getitem__)
        free = (edge for edge in edges if unplaced[edge[1]] and unplaced[edge[2]] > (edge[1] == edge[2]))
        if room >= 2 and pull[best] == 0 and (edge := next(free, None)):
            put(edge[1], 1)
            put(edge[2], 1)
            room -= 2
        else:
            count = min(room, unplaced[best], _turns(weights[best], best, unplaced, pull))
            put(best, count)
            room -= count
    return here, steps


def _turns(weights: dict[int, float], best: int, unplaced: Sequence[int], pull: Sequence[float]) -> int:
    """Return how many replicas of the stage that pulls most are placed before another stage pulls more."""
    turns = unplaced[best]
    for other, weight in weights.items():
        if other != best and unplaced[other]:
            faster = weight - weights[best]
            # after n turns the pull of ``other`` has gained n ``faster`` on the best; ties go to the earlier stage
            ahead = pull[best] - pull[other]
            if faster > 0 and ahead < turns * faster:
                turns = max(1, math.ceil(ahead / faster) if other < best else math.floor(ahead / faster) + 1)
    return turns


_MOST_STAGES = 1_000_000  # packed in all rounds of the bisection

Packed = list[tuple[int, tuple[int, ...]]]
"""Pairs of a server and the replicas of every stage that it gets."""


def best_fit(graph: JobGraph, rooms: Sequence[tuple[int, int]], shares: Sequence[float], inside: float) -> Packed:
    """Pack the stages of a job on servers, ascending pairs of free GPUs and index; return the fastest packing of the bisection.

    Cost: O(M log M + S log S (log M + servers used)). Every stage is packed whole if that is possible and there are at most two
    stages, or the numbers of replicas divide one another (such as powers of two): some level packs each stage alone, and best
    fit decreasing then places all whenever possible. A stage that no server holds takes the servers with the most room; its
    rest goes to the server that it fits best.
    """
    edges = _cut_s(graph, min(shares[server] for _, server in rooms))
    largest = rooms[-1][0]
    loose = [count > largest for count in graph.replicas]
    # no block spans a stage that no server holds
    edges = [0.0 if loose[stage] or loose[stage + 1] else edge_s for stage, edge_s in enumerate(edges)]
    levels = sorted({0.0, *edges})

    def seconds(packed: Packed) -> float:
        return graph.iteration_s([row for _, row in packed], [shares[server] for server, _ in packed], inside)

    best = _packed(graph, rooms, _blocks(edges, levels[-1]))
    assert best is not None
    # Bisection over levels: a higher level cuts more edges, so blocks get smaller and easier to pack.
    low, high = 0, len(levels) - 1
    for _ in range(_MOST_STAGES // len(loose)):
        if low == high:
            break
        middle = (low + high) // 2
        packed = _packed(graph, rooms, _blocks(edges, levels[middle]))
        if packed is None:
            low = middle + 1
        else:
            best, high = min(best, packed, key=seconds), middle
    return best


def _cut_s(graph: JobGraph, share: float) -> list[float]:
    """Return the seconds of the slower end of every edge if all its bytes went between servers."""
    ends = list(zip(graph.compute_s, graph.replicas, strict=True))
    return [
        max(compute_s + 2 * sent / replicas / share for compute_s, replicas in pair)
        for pair, sent in zip(pairwise(ends), graph.output_bytes, strict=False)
    ]


def _blocks(edges: Sequence[float], level: float) -> list[range]:
    """Cut the stages into runs, at every edge up to a level."""
    cuts = [0, *(stage for stage, edge_s in enumerate(edges, 1) if edge_s <= level), len(edges) + 1]
    return [range(first, last) for first, last in pairwise(cuts)]


def _packed(graph: JobGraph, rooms: Sequence[tuple[int, int]], blocks: Sequence[range]) -> Packed | None:
    """Pack by best fit decreasing into ``rooms``, ascending (GPUs, server); None if a block does not fit."""
    rest = list(rooms)
    rows: dict[int, list[int]] = {}

    def put(place: int, stages: range, counts: Sequence[int]) -> None:
        room, server = rest.pop(place)
        rows.setdefault(server, [0] * len(graph.replicas))[stages.start : stages.stop] = counts
        if room > sum(counts):
            insort(rest, (room - sum(counts), server))

    sized = [(sum(graph.replicas[stages.start : stages.stop]), stages) for stages in blocks]
    # largest block first; a stage larger than every server fills the roomiest, and its rest is placed like a block
    for size, stages in sorted(sized, key=lambda each: -each[0]):
        while rest[-1][0] < size:
            if len(stages) > 1:
                return None
            room = rest[-1][0]
            put(-1, stages, [room])
            size -= room
        whole = graph.replicas[stages.start : stages.stop] if len(stages) > 1 else [size]
        put(bisect_left(rest, (size, -1)), stages, whole)
    return [(server, tuple(row)) for server, row in rows.items()]
