"""Heuristic spreads of a job's replicas over servers: Heavy-Edge, chain order, swaps, and best fit.

*Heavy-Edge* fills rooms on servers; swaps improve it. Only the abstract of Luo et al. (INFOCOM 2025) was available: the
steps are our reconstruction, on the idea that the ends of heavy edges belong together.

*Best fit* packs runs of stages, so that heavy edges of a chain, and rings, stay on one server. Stages joined by a heavy edge,
one that would take long between servers, form a *block*. Blocks go on servers from the largest to the smallest, each on the
server with the least room in which it fits (best fit decreasing). Bisection finds the lightest level of heavy edges at
which all blocks can be packed.

All are loops on numbers, which Numba compiles where many jobs are placed (``Spreads``): the same operations on the same floats.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import takewhile
from typing import Any, TypeVar

import numpy as np

from dlsched.cluster.job_graph import JobGraph, Stages, edge_weight, ring_bytes, splits_s, stage_s
from dlsched.core.imports import compiled

Rows = tuple[tuple[int, ...], ...]
"""Replicas by server and stage."""

Packed = list[tuple[int, tuple[int, ...]]]
"""Pairs of a server and the replicas of every stage that it gets."""

_ROUNDING = 1e-9  # of seconds, far above what floats are off
_ROUNDS = 50  # of swaps, at most
_MANY = 2_000  # pairs of replicas beyond which a round of swaps is not worth its time
_MOST_SWAPS = 2_000_000  # swaps evaluated in all rounds
_MOST_STEPS = 300_000  # steps of ``grouped`` times stages; other replicas follow in the chain's order
_MOST_STAGES = 1_000_000  # packed in all rounds of the bisection
_MOST_ROWS = 1_000  # ways to choose replicas for a server, up to which all are looked at
_REMEMBERED = 2_000  # stages times rooms up to which rows are remembered

_Graph = JobGraph | Stages
_Table = list[list[int]]  # replicas by server and stage, or by stage and server
T = TypeVar("T")


def chained(graph: JobGraph, rooms: tuple[int, ...]) -> Rows:
    """Fill room after room with the stages in the order of the chain."""
    return _frozen(_chained(graph, rooms))


def _frozen(rows: _Table) -> Rows:
    """The rows as tuples."""
    return tuple(map(tuple, rows))


def _by_stage(rows: _Table) -> _Table:
    """Replicas by stage and server of those by server and stage, or the other way around."""
    return [[row[stage] for row in rows] for stage in range(len(rows[0]))]


def _chained(graph: _Graph, rooms: Sequence[int]) -> _Table:
    """Rows of ``chained``."""
    unplaced = [count for count in graph.replicas]
    rows = [[0 for _ in unplaced] for _ in rooms]
    for index, room in enumerate(rooms):
        _fill_in_order(unplaced, rows[index], room)
    return rows


def _fill_in_order(unplaced: list[int], here: list[int], room: int) -> None:
    """Move ``room`` replicas to a server, those of the first stages."""
    for stage, count in enumerate(unplaced):
        moved = min(count, room)
        here[stage] += moved
        unplaced[stage] -= moved
        room -= moved


def _grouped(graph: _Graph, rooms: Sequence[int]) -> _Table:
    """Rows of ``grouped``."""
    stages = len(graph.replicas)
    if stages == 1 or len(rooms) == 1:
        return _chained(graph, rooms)
    unplaced = [count for count in graph.replicas]
    rows = [[0 for _ in unplaced] for _ in rooms]
    # weights of the edges of a replica to those of the stage before, of its own, and of the stage after; edges by weight
    weights = [[0.0, 0.0, 0.0] for _ in range(stages)]
    edges = [(0.0, 0, 0) for _ in range(0)]
    for stage in range(stages):
        for other in range(max(0, stage - 1), min(stage + 2, stages)):
            weight = edge_weight(graph, stage, other)
            weights[stage][other - stage + 1] = weight
            if other >= stage and weight > 0:
                edges.append((-weight, stage, other))
    edges.sort()
    steps = _MOST_STEPS // stages
    for index in range(len(rooms) - 1):
        steps = _fill_room(weights, edges, unplaced, rows[index], rooms[index], steps)
    rows[-1] = unplaced
    return rows


def _fill_room(
    weights: list[list[float]],
    edges: list[tuple[float, int, int]],
    unplaced: list[int],
    here: list[int],
    room: int,
    steps: int,
) -> int:
    """Move ``room`` replicas from ``unplaced`` to a server, ``here``, in at most so many steps; return the unused ones."""
    if room == 1:
        _fill_in_order(unplaced, here, room)
        return steps - 1
    pull = [0.0 for _ in unplaced]  # weight of the edges from a replica of each stage to those here
    # One step places an edge's two ends, or as many replicas of the best stage as single placements in turn would.
    while room and steps > 0:
        steps -= 1
        best, heaviest = -1, -1
        for stage, count in enumerate(unplaced):
            if count and (best < 0 or pull[stage] > pull[best]):
                best = stage
        if room >= 2 and pull[best] == 0:
            for index, (_, first, second) in enumerate(edges):
                if unplaced[first] and unplaced[second] > (1 if first == second else 0):
                    heaviest = index
                    break
        if heaviest >= 0:
            _put(weights, unplaced, here, pull, edges[heaviest][1], 1)
            _put(weights, unplaced, here, pull, edges[heaviest][2], 1)
            room -= 2
        else:
            count = min(room, unplaced[best], _turns(weights[best], best, unplaced, pull))
            _put(weights, unplaced, here, pull, best, count)
            room -= count
    _fill_in_order(unplaced, here, room)
    return steps


def _put(
    weights: list[list[float]], unplaced: list[int], here: list[int], pull: list[float], stage: int, count: int
) -> None:
    """Place replicas of a stage."""
    unplaced[stage] -= count
    here[stage] += count
    for other in range(max(0, stage - 1), min(stage + 2, len(pull))):
        pull[other] += count * weights[stage][other - stage + 1]


def _turns(weights: list[float], best: int, unplaced: list[int], pull: list[float]) -> int:
    """Return how many replicas of the stage that pulls most are placed before another stage pulls more."""
    turns = unplaced[best]
    for other in (best - 1, best + 1):
        if 0 <= other < len(unplaced) and unplaced[other]:
            faster = weights[other - best + 1] - weights[1]
            # after n turns the pull of ``other`` has gained n ``faster`` on the best; ties go to the earlier stage
            ahead = pull[best] - pull[other]
            if faster > 0 and ahead < turns * faster:
                turns = max(1, math.ceil(ahead / faster) if other < best else math.floor(ahead / faster) + 1)
    return turns


def _grouped_s(graph: _Graph, rooms: Sequence[int], shares: Sequence[float], inside: float) -> tuple[_Table, float]:
    """Rows and seconds of ``grouped``."""
    rows = _grouped(graph, rooms)
    return rows, splits_s(graph, _by_stage(rows), shares, inside)


def _improved(graph: _Graph, rooms: Sequence[int], shares: Sequence[float], inside: float) -> tuple[_Table, float]:
    """Rows and seconds of ``improved``."""
    splits = _by_stage(_chained(graph, rooms))
    iteration_s = splits_s(graph, splits, shares, inside)
    if len(rooms) == 1 or len(splits) == 1:
        return _by_stage(splits), iteration_s
    others = _by_stage(_grouped(graph, rooms))
    others_s = splits_s(graph, others, shares, inside)
    if others_s <= iteration_s:
        splits, iteration_s = others, others_s
    if sum(rooms) * sum(rooms) <= _MANY:
        # Pairs of (server, stage) to exchange: a round of swaps evaluates about this many placements.
        pairs = len(rooms) * len(splits)
        for _ in range(min(_ROUNDS, _MOST_SWAPS // max(1, pairs * pairs // 2))):
            better_s = _swap_best(graph, splits, shares, inside)
            if better_s == iteration_s:
                break
            iteration_s = better_s
    return _by_stage(splits), iteration_s


def _swap_best(graph: _Graph, splits: _Table, shares: Sequence[float], inside: float) -> float:
    """Make the first of the fastest exchanges of two replicas if that makes an iteration faster; return its seconds."""
    stages, servers = range(len(splits)), range(len(splits[0]))
    stages_s = [stage_s(graph, stage, splits, shares, inside) for stage in stages]
    # the slowest stage first: most swaps leave it as slow, and need not be looked at further
    order = [(-stages_s[stage], stage) for stage in stages]
    order.sort()
    slowest, least_s, best = order[0][1], -order[0][0], (-1, 0, 0, 0)
    for first in servers:
        for second in range(first + 1, len(servers)):
            for stage in stages:
                for other in stages:
                    # a swap changes the seconds of two stages and their neighbours; it has to change those of the slowest
                    if stage == other or not (abs(slowest - stage) <= 1 or abs(slowest - other) <= 1):
                        continue
                    if not (splits[stage][first] and splits[other][second]):
                        continue
                    _swap(splits, stage, other, first, second)
                    slowest_s = 0.0
                    for _, each in order:
                        near = abs(each - stage) <= 1 or abs(each - other) <= 1
                        each_s = stage_s(graph, each, splits, shares, inside) if near else stages_s[each]
                        slowest_s = max(slowest_s, each_s)
                        if slowest_s >= least_s:
                            break
                    if slowest_s < least_s:
                        best, least_s = (stage, other, first, second), slowest_s
                    _swap(splits, stage, other, second, first)
    if best[0] >= 0:
        _swap(splits, best[0], best[1], best[2], best[3])
    return least_s


def _swap(splits: _Table, stage: int, other: int, first: int, second: int) -> None:
    """Move a replica of a stage from the first server to the second, and one of the other stage back."""
    splits[stage][first] -= 1
    splits[stage][second] += 1
    splits[other][first] += 1
    splits[other][second] -= 1


def _best_fit(
    graph: _Graph, rooms: Sequence[Sequence[int]], shares: Sequence[float], inside: float
) -> tuple[list[int], _Table, float]:
    """Places in ``rooms``, to which ``shares`` belong, rows and seconds of ``best_fit``."""
    stages, largest, least = len(graph.replicas), rooms[-1][0], min(shares)
    # seconds of the slower end of every edge if all its bytes went between servers; no block spans a stage that no server holds
    edges_s = [0.0 for _ in range(stages - 1)]
    for stage in range(stages - 1):
        if graph.replicas[stage] <= largest and graph.replicas[stage + 1] <= largest:
            sent = 2 * graph.output_bytes[stage]
            edges_s[stage] = max(
                graph.compute_s[stage] + sent / graph.replicas[stage] / least,
                graph.compute_s[stage + 1] + sent / graph.replicas[stage + 1] / least,
            )
    levels = [0.0]
    for edge_s in sorted(edges_s):
        if edge_s > levels[-1]:
            levels.append(edge_s)
    places, rows = _packed(graph, rooms, edges_s, levels[-1])
    # Bisection over levels: a higher level cuts more edges, so blocks get smaller and easier to pack.
    low, high, rounds = 0, len(levels) - 1, _MOST_STAGES // stages
    least_s = splits_s(graph, _by_stage(rows), [shares[place] for place in places], inside)
    while low < high and rounds:
        rounds -= 1
        middle = (low + high) // 2
        others, other_rows = _packed(graph, rooms, edges_s, levels[middle])
        if len(others) == 0:
            low = middle + 1
            continue
        high = middle
        other_s = splits_s(graph, _by_stage(other_rows), [shares[place] for place in others], inside)
        if other_s < least_s:
            places, rows, least_s = others, other_rows, other_s
    return places, rows, least_s


def _packed(
    graph: _Graph, rooms: Sequence[Sequence[int]], edges_s: list[float], level: float
) -> tuple[list[int], _Table]:
    """Pack by best fit decreasing; return places in ``rooms``, none if a block does not fit, and their rows.

    Blocks are runs of stages, which end at every edge up to the level.
    """
    rest = [(room[0], room[1], place) for place, room in enumerate(rooms)]
    places, rows = [0 for _ in range(0)], [[0] for _ in range(0)]
    # largest block first; a stage larger than every server fills the roomiest, and its rest is placed like a block
    blocks, begin, size = [(0, 0, 0) for _ in range(0)], 0, 0
    for stage in range(len(graph.replicas)):
        size += graph.replicas[stage]
        if stage == len(edges_s) or edges_s[stage] <= level:
            blocks.append((-size, begin, stage + 1))
            begin, size = stage + 1, 0
    blocks.sort()
    for negated, begin, end in blocks:
        size = -negated
        while size:
            if rest[-1][0] >= size:
                index, moved = bisect_left(rest, (size, -1, -1)), size
            elif end > begin + 1:
                return [0 for _ in range(0)], rows
            else:
                index, moved = len(rest) - 1, rest[-1][0]
            room, server, place = rest.pop(index)
            if place not in places:
                places.append(place)
                rows.append([0 for _ in graph.replicas])
            row = rows[places.index(place)]
            for stage in range(begin, end):
                row[stage] = graph.replicas[stage] if end > begin + 1 else moved
            if room > moved:
                insort(rest, (room - moved, server, place))
            size -= moved
    return places, rows


def _least_rooms(graph: _Graph, share: float, inside: float, allowed_s: float) -> list[int]:
    """Rooms of ``least_rooms``, of a job whose splits are few."""
    counts, gpus = graph.replicas, sum(graph.replicas)
    steps = [1 for _ in counts]
    for stage in range(1, len(counts)):
        steps[stage] = steps[stage - 1] * (counts[stage - 1] + 1)
    rows = [
        [index // step % (count + 1) for step, count in zip(steps, counts)]  # noqa: B905  Numba knows no strict
        for index in range(steps[-1] * (counts[-1] + 1))
    ]
    # rows fast enough on one server if the rest shares another one, whose card takes no time, as if inside were no slower
    good, splits, shares, fast = [0 for _ in range(0)], [[0, 0] for _ in counts], [share, math.inf], max(share, inside)
    for index in range(1, len(rows)):
        for stage, some in enumerate(rows[index]):
            splits[stage][0], splits[stage][1] = some, counts[stage] - some
        stage = 0
        while stage < len(counts) and stage_s(graph, stage, splits, shares, fast) <= allowed_s:
            stage += 1
        if stage == len(counts):
            good.append(index)
    # largest[i]: with rows[i] still unplaced and all else in good rows, the size of the largest of these, at its smallest
    largest = [gpus + 1 for _ in rows]
    largest[-1] = 0
    for left in range(len(rows) - 1, 0, -1):
        unplaced = rows[left]
        for index in good if largest[left] <= gpus else good[:0]:
            if index > left:
                break  # it has more of some stage
            size = 0
            for stage, some in enumerate(rows[index]):
                size += some if some <= unplaced[stage] else gpus + 1
            if size <= gpus:
                largest[left - index] = min(largest[left - index], max(largest[left], size))
    # the row that is placed last is in the largest room
    least = [gpus + 1 for _ in range(gpus + 1)]
    for index in good:
        for second in range(largest[index], gpus + 1):
            least[second] = min(least[second], sum(rows[index]))
    return least


_PARTS = (edge_weight, ring_bytes, stage_s, splits_s, _by_stage, _chained, _fill_in_order)
_SPREADING = (*_PARTS, _grouped, _fill_room, _put, _turns, _swap_best, _swap)


class Spreads:
    """The rules, interpreted or compiled. Of ``grouped`` and ``improved`` the last results are remembered if not too large.

    All give the seconds of an iteration, too. ``shares``, ``inside``: bandwidths, as for ``JobGraph``; shares of rooms, or of all
    servers for ``best_fit``.
    """

    def __init__(self, *, fast: bool) -> None:
        def loop(plain: Callable[..., T], *parts: Callable[..., object]) -> Callable[..., T]:
            return (compiled(plain, *parts) if fast else None) or plain

        self._grouped, self._improved = loop(_grouped_s, *_SPREADING), loop(_improved, *_SPREADING)
        self._best_fit = loop(_best_fit, *_PARTS, _packed)
        self._least_rooms = loop(_least_rooms, *_PARTS)
        self._fast = self._grouped is not _grouped_s
        self._last: tuple[JobGraph, Stages] | None = None
        self._known = lru_cache(4_096)(self._spread)

    def grouped(
        self, graph: JobGraph, rooms: tuple[int, ...], shares: tuple[float, ...], inside: float
    ) -> tuple[Rows, float]:
        """Heavy-Edge: share the replicas out to rooms that hold exactly as many; rows by room and stage.

        Each room in turn first gets the two ends of the heaviest edge between unplaced replicas (``edge_weight``); then, one by
        one, the replica with the largest weight of edges to those in the room (ties: the earliest stage). Cost: O(g S). After
        ``_MOST_STEPS`` / S replicas or groups of replicas, the rest follows in the order of the chain.
        """
        return self._remembered(False, graph, rooms, shares, inside)

    def improved(
        self, graph: JobGraph, rooms: tuple[int, ...], shares: tuple[float, ...], inside: float
    ) -> tuple[Rows, float]:
        """Take the faster of ``grouped`` and ``chained``; swap replicas while that makes an iteration faster."""
        return self._remembered(True, graph, rooms, shares, inside)

    def best_fit(
        self, graph: JobGraph, rooms: Sequence[tuple[int, int]], shares: Sequence[float], inside: float
    ) -> tuple[Packed, float]:
        """Pack the stages of a job on servers, ascending pairs of free GPUs and index; the fastest packing of the bisection.

        Cost: O(M log M + S log S (log M + servers used)). Every stage is packed whole if that is possible and there are at most
        two stages, or the numbers of replicas divide one another (such as powers of two): some level packs each stage alone, and
        best fit decreasing then places all whenever possible. A stage that no server holds takes the servers with the most room;
        its rest goes to the server that it fits best.
        """
        own = self._numbers([shares[server] for _, server in rooms])
        places, rows, iteration_s = self._best_fit(self._stages(graph), self._numbers(rooms), own, inside)
        return [(rooms[place][1], row) for place, row in zip(places, _frozen(rows), strict=True)], iteration_s

    def least_rooms(self, graph: JobGraph, share: float, inside: float, allowed_s: float) -> tuple[int, ...]:
        """By the GPUs that the second largest room gives, from 0 to g: what the largest has to give, for an iteration in time.

        With smaller rooms every placement takes longer than ``allowed_s``, but for rounding; ``share``: the largest. Shares of a
        server that serve its own replicas in time, were all others on one server with an endless card, are put together. Jobs
        with more than ``_MOST_ROWS`` of them, and interpreted loops: by ``JobGraph.least_s`` of the largest room alone.
        """
        allowed_s *= 1 + _ROUNDING
        if self._fast and math.prod(count + 1 for count in graph.replicas) <= _MOST_ROWS:
            return tuple(self._least_rooms(self._stages(graph), share, inside, allowed_s))
        slow = (graph.least_s(room, share, inside) > allowed_s for room in range(1, graph.gpus))
        return (1 + sum(takewhile(bool, slow)),) * (graph.gpus + 1)

    def _remembered(
        self, swapped: bool, graph: JobGraph, rooms: tuple[int, ...], shares: tuple[float, ...], inside: float
    ) -> tuple[Rows, float]:
        """As ``_spread``, from the cache if the rows are few."""
        if len(graph.replicas) == 1 < len(rooms):
            # a ring has one spread, and no neighbours
            return tuple([(room,) for room in rooms]), graph.compute_s[0] + graph.ring_bytes(0) / min(shares)
        few = len(rooms) * len(graph.replicas) <= _REMEMBERED
        return (self._known if few else self._spread)(swapped, graph, rooms, shares, inside)

    def _spread(
        self, swapped: bool, graph: JobGraph, rooms: tuple[int, ...], shares: tuple[float, ...], inside: float
    ) -> tuple[Rows, float]:
        """Rows and seconds of ``grouped`` or ``improved``."""
        loop = self._improved if swapped else self._grouped
        rows, iteration_s = loop(self._stages(graph), self._numbers(rooms), self._numbers(shares), inside)
        return _frozen(rows), iteration_s

    def _numbers(self, numbers: Sequence[Any]) -> Any:
        """Numbers as loops take them."""
        return np.array(numbers) if self._fast else numbers

    def _stages(self, graph: JobGraph) -> JobGraph | Stages:
        """A job's stages as loops take them."""
        if not self._fast:
            return graph
        last = self._last  # other threads may set it
        if last is None or last[0] is not graph:
            fields = graph.replicas, graph.compute_s, graph.output_bytes, graph.parameter_bytes
            last = self._last = graph, Stages(*map(self._numbers, fields))
        return last[1]


COMPILED_FROM = 200_000
"""Number of jobs from which Numba is used if installed; compiling takes as long as placing fewer."""


def spreads_for(jobs: int) -> Spreads:
    """The rules for so many jobs."""
    return _spreads(fast=jobs >= COMPILED_FROM)


@cache
def _spreads(*, fast: bool) -> Spreads:
    """The rules, made once."""
    return Spreads(fast=fast)
