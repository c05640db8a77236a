"""Best-fit packing of runs of stages on servers: heavy edges of a chain, and rings, stay on one server.

Stages joined by a heavy edge, one that would take long between servers, form a *block*. Blocks go on servers
from the largest block to the smallest, each on the server with the least room that still holds it (best fit
decreasing). Bisection finds the lightest level of heavy edges at which all blocks can be packed.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from itertools import pairwise

from dlsched.cluster.job_graph import JobGraph

_MOST_STAGES = 1_000_000  # packed in all rounds of the bisection

Packed = list[tuple[int, tuple[int, ...]]]
"""Pairs of a server and the replicas of every stage that it gets."""


def best_fit(graph: JobGraph, free: Sequence[int], shares: Sequence[float], inside: float) -> Packed:
    """Pack the stages of a job on servers with enough free GPUs in all; return the fastest packing of the bisection.

    ``free``: GPUs a server; ``shares``: B/s of one GPU's share of its card, both shape (M,); ``inside``: B/s between
    GPUs of one server. Cost: O(M log M + S log S (log M + servers used)). Every stage is packed whole if that is
    possible and there are at most two stages, or the numbers of replicas divide one another (such as powers of two):
    some level packs each stage alone, and best fit decreasing then places all whenever possible. A stage that no server
    holds takes the servers with the most room; its rest goes to the server that it fits best.
    """
    rooms = sorted((room, server) for server, room in enumerate(free) if room)
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
    left = list(rooms)
    rows: dict[int, list[int]] = {}

    def put(place: int, stages: range, counts: Sequence[int]) -> None:
        room, server = left.pop(place)
        rows.setdefault(server, [0] * len(graph.replicas))[stages.start : stages.stop] = counts
        if room > sum(counts):
            insort(left, (room - sum(counts), server))

    sized = [(sum(graph.replicas[stages.start : stages.stop]), stages) for stages in blocks]
    # Largest block first; a stage larger than every server fills the roomiest ones, and its rest is placed like a
    # block.
    for size, stages in sorted(sized, key=lambda each: -each[0]):
        while left[-1][0] < size:
            if len(stages) > 1:
                return None
            room = left[-1][0]
            put(-1, stages, [room])
            size -= room
        whole = graph.replicas[stages.start : stages.stop] if len(stages) > 1 else [size]
        put(bisect_left(left, (size, -1)), stages, whole)
    return [(server, tuple(row)) for server, row in rows.items()]
