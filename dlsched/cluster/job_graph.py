"""Pipeline and data-parallel jobs as graphs of stages, the time of one iteration on given servers, and its least over all.

A job is a chain of stages; stage s has k_s replicas, one GPU each. A server with g GPUs gives each of them an equal
share of its network card, so that jobs do not disturb each other.

===================  ================================================================================================
code                 mathematics
===================  ================================================================================================
``replicas``         k_s
``compute_s``        p_s, seconds of a replica's computation in an iteration
``output_bytes``     d_s, bytes from stage s to the next in an iteration, and as many back; 0 for the last
``parameter_bytes``  h_s, bytes that the replicas of stage s all-reduce
``inside``           b_in, bandwidth between GPUs of one server, B/s
``shares``           b_out / g^m, bandwidth of one GPU's share of the card of server m, B/s
``counts``           x_sm, replicas of every stage on one server, shape (S,)
===================  ================================================================================================

Source: Luo, Liu, Lee, Shroff, INFOCOM 2025 (arXiv 2501.05563, abstract); the iteration time is dlsched's own definition.

*Least seconds of an iteration.* No placement is faster than the largest, over the stages s, of the smaller of two numbers.
c_in = 1 / b_in and c_m = g^m / b_out are seconds a byte, w_v = 2 O_sv / k_s, and all servers count as empty:

    one server m:   p_s + 2 (k_s - 1) / k_s h_s c_in + sum_v w_v (phi_v c_in + (1 - phi_v) c_m), where the partners that
                    fit beside the stage are those that save most: sum_v phi_v k_v <= g^m - k_s; the best m with k_s <= g^m
    q >= 2 servers: p_s + 2 (k_s - 1) / k_s h_s c_r + sum_v w_v (c - max(0, c - c_in) / q), c = min_m c_m; q: the least
                    number of servers that hold k_s, at least 2; c_r: the least max c_m of any 2 or more that hold it

(The shares phi of a stage's partners on its servers add up to at most 1, so on one of these servers their weighted mean
is at most 1 / q.) The bound is never below alpha^low if b_in >= b_out / g^m.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import NamedTuple

from dlsched.core.instance import Count, NonNegative, Positive
from dlsched.core.limits import Tick, no_tick
from dlsched.core.part import Part


class Stage(Part):
    """A pipeline stage: data-parallel copies, one GPU each, and what an iteration of the whole job takes.

    ``compute_s``: of one replica, forward and backward of its share of the batch. ``output_bytes``: to the next stage, and as
    many back; 0 for the last. ``parameter_bytes``: all-reduced by the replicas.
    """

    replicas: Count
    compute_s: Positive
    output_bytes: NonNegative
    parameter_bytes: NonNegative


class Stages(NamedTuple):
    """The fields of ``JobGraph`` alone; arrays in compiled loops."""

    replicas: Sequence[int]
    compute_s: Sequence[float]
    output_bytes: Sequence[float]
    parameter_bytes: Sequence[float]


def ring_bytes(graph: "JobGraph | Stages", stage: int) -> float:
    """2 (k_s - 1) / k_s h_s: bytes that the ring all-reduce of a stage sends through each replica."""
    return 2 * (graph.replicas[stage] - 1) / graph.replicas[stage] * graph.parameter_bytes[stage]


def edge_weight(graph: "JobGraph | Stages", first: int, second: int) -> float:
    """Bytes in an iteration between two replicas, of two stages or of one: Heavy-Edge's weights."""
    if first == second:
        return 2 * graph.parameter_bytes[first] / graph.replicas[first]
    sent = graph.output_bytes[min(first, second)] if abs(first - second) == 1 else 0.0
    return 2 * sent / (graph.replicas[first] * graph.replicas[second])


def stage_s(
    graph: "JobGraph | Stages", stage: int, splits: Sequence[Sequence[int]], shares: Sequence[float], inside: float
) -> float:
    """Seconds of one stage of a placement; ``splits``: replicas by stage and server, at least to the next stage."""
    here, count, last = splits[stage], graph.replicas[stage], len(graph.replicas) - 1
    # By server: the share ``near`` of each neighbour stage is reached inside the server, the rest through the card.
    before = 2 * graph.output_bytes[stage - 1] / count if stage else 0.0
    after = 2 * graph.output_bytes[stage] / count if stage < last else 0.0
    used, band, slowest_s = 0, math.inf, 0.0
    for index, some in enumerate(here):
        if some:
            share, transfer_s = shares[index], 0.0
            if stage:
                near = splits[stage - 1][index] / graph.replicas[stage - 1]
                transfer_s += before * (near / inside + (1 - near) / share)
            if stage < last:
                near = splits[stage + 1][index] / graph.replicas[stage + 1]
                transfer_s += after * (near / inside + (1 - near) / share)
            slowest_s = max(slowest_s, transfer_s)
            band = min(band, share)
            used += 1
    # The ring is as fast as its slowest link: inside one server, or the least share of the cards that it passes.
    return graph.compute_s[stage] + slowest_s + ring_bytes(graph, stage) / (inside if used == 1 else band)


def splits_s(
    graph: "JobGraph | Stages", splits: Sequence[Sequence[int]], shares: Sequence[float], inside: float
) -> float:
    """Seconds of an iteration; ``splits``: replicas by stage and server."""
    return max([stage_s(graph, stage, splits, shares, inside) for stage in range(len(splits))])


@dataclass(frozen=True, slots=True)
class JobGraph:
    """The stages of a job; each of the four fields has one entry per stage. Equal graphs have equal hashes.

    >>> graph = JobGraph((2, 1), (0.5, 0.25), (8.0, 0.0), (0.0, 0.0))
    >>> graph.gpus, graph.iteration_s([(2, 1)], [1.0], inside=16.0)
    (3, 1.25)
    """

    replicas: tuple[int, ...]
    compute_s: tuple[float, ...]
    output_bytes: tuple[float, ...]
    parameter_bytes: tuple[float, ...]
    gpus: int = field(init=False, compare=False)
    _hash: int = field(init=False, compare=False, repr=False)
    _together: tuple[float, float] = field(init=False, compare=False, repr=False, default=(0.0, 0.0))

    def __post_init__(self) -> None:
        object.__setattr__(self, "gpus", sum(self.replicas))
        fields = self.replicas, self.compute_s, self.output_bytes, self.parameter_bytes
        object.__setattr__(self, "_hash", hash(fields))

    def __hash__(self) -> int:
        return self._hash

    ring_bytes, edge_weight, stage_s = ring_bytes, edge_weight, stage_s

    def neighbours(self, stage: int) -> list[tuple[int, float]]:
        """Pairs (v, O_sv) of the neighbour stages and the bytes exchanged with them in each direction."""
        before = [(stage - 1, self.output_bytes[stage - 1])] if stage else []
        after = [(stage + 1, self.output_bytes[stage])] if stage + 1 < len(self.replicas) else []
        return before + after

    def uniform_s(self, bandwidth: float) -> float:
        """Seconds of an iteration if all bytes went at one bandwidth: alpha^max at the lowest, alpha^low at the highest."""
        before = slowest_s = 0.0
        outputs = (*self.output_bytes[:-1], 0.0)
        stages = zip(self.replicas, self.compute_s, outputs, self.parameter_bytes, strict=True)
        for count, compute_s, after, parameters in stages:
            sent = 2 * (before + after) / count + 2 * (count - 1) / count * parameters
            slowest_s, before = max(slowest_s, compute_s + sent / bandwidth), after
        return slowest_s

    def iteration_s(self, counts: Sequence[Sequence[int]], shares: Sequence[float], inside: float) -> float:
        """alpha(x): seconds of a placement's iteration; ``counts`` and ``shares`` have one entry per server used."""
        if len(counts) == 1 and counts[0] == self.replicas:
            # asked for again and again: known for the last bandwidth
            if self._together[0] != inside:
                object.__setattr__(self, "_together", (inside, self._together_s(inside)))
            return self._together[1]
        return splits_s(self, tuple(zip(*counts, strict=True)), shares, inside)

    def _together_s(self, inside: float) -> float:
        """The same on one server, rounded as ``stage_s`` rounds."""
        near, sent, slowest_s = 1.0 / inside, 0.0, 0.0
        outputs = (*self.output_bytes[:-1], 0.0)
        stages = zip(self.replicas, self.compute_s, outputs, self.parameter_bytes, strict=True)
        for count, compute_s, after, parameters in stages:
            transfer_s = 2 * sent / count * near + 2 * after / count * near
            ring_s = 2 * (count - 1) / count * parameters / inside
            slowest_s, sent = max(slowest_s, compute_s + transfer_s + ring_s), after
        return slowest_s

    def least_s(self, room: int, share: float, inside: float) -> float:
        """Lower bound on ``iteration_s``, but for rounding, where no server gives more GPUs than ``room`` or a larger share."""
        fast, slowest_s = max(inside, share), 0.0
        for stage, count in enumerate(self.replicas):
            partners = [(2 * sent / count, self.replicas[other]) for other, sent in self.neighbours(stage)]
            # on one server: beside the stage fit so many partners, those first that save most
            choices, left, saved = [], room - count, 0.0
            for each, others in sorted(partners, key=lambda pair: pair[0] / pair[1], reverse=True):
                here = min(max(0, left), others)
                left, saved = left - here, saved + each * here / others
            if count <= room:
                choices.append(ring_bytes(self, stage) / fast - saved * (1 / share - 1 / fast))
            # on several: some server has no more replicas of a partner than all of them can have at once
            loose = [each * min(1.0, (room - 1) / others) for each, others in partners]
            saved = min(
                [
                    sum(loose) - most + each * _largest_minimum(count, others, room) / others
                    for (each, others), most in zip(partners, loose, strict=True)
                ],
                default=0.0,
            )
            if count > 1:
                choices.append(ring_bytes(self, stage) / share - saved * (1 / share - 1 / fast))
            far_s = sum([each for each, _ in partners]) / share
            slowest_s = max(slowest_s, self.compute_s[stage] + far_s + min(choices))
        return slowest_s


def _largest_minimum(count: int, others: int, room: int) -> int:
    """The most of a partner's replicas that every server can have, of the several that share ``count`` replicas of a stage."""
    return max(few for few in range(room) if max(2, -(-count // (room - few))) * few <= others)


_MOST_KNOWN = 1_000_000  # results in the cache
_known: dict[tuple[JobGraph, tuple[int, ...], float, float], Fraction] = {}


def exact_least_iteration_s(
    graph: JobGraph, sizes: tuple[int, ...], inside: float, nic: float, *, tick: Tick = no_tick
) -> Fraction:
    """Lower bound on the seconds of an iteration on servers that hold the job, GPUs ascending; results are cached."""
    key = graph, sizes, inside, nic
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        stages = range(len(graph.replicas))
        _known[key] = max(_stage_s(graph, stage, sizes, Fraction(inside), Fraction(nic), tick) for stage in stages)
    return _known[key]


_MOST_SPLITS = 4_000
"""Splits of stages over servers after which the search for the best placement gives up."""
_best: dict[tuple[JobGraph, tuple[int, ...], float, float], Fraction] = {}


def exact_best_iteration_s(
    graph: JobGraph, sizes: tuple[int, ...], inside: float, nic: float, *, tick: Tick = no_tick
) -> Fraction:
    """Seconds of an iteration in the best of all placements; of too many, ``exact_least_iteration_s``; results are cached."""
    key = graph, sizes, inside, nic
    if key not in _best:
        if len(_best) >= _MOST_KNOWN:
            _best.clear()
        _best[key] = _searched_s(graph, sizes, inside, nic, tick)
    return _best[key]


def _searched_s(graph: JobGraph, sizes: tuple[int, ...], inside: float, nic: float, tick: Tick) -> Fraction:
    """Depth-first over the splits of one stage after the other; a stage costs what it does once the next one is placed."""
    floor = exact_least_iteration_s(graph, sizes, inside, nic, tick=tick)
    near, far = 1 / Fraction(inside), [size / Fraction(nic) for size in sizes]
    each = [
        [(other, 2 * Fraction(sent) / k) for other, sent in graph.neighbours(s)] for s, k in enumerate(graph.replicas)
    ]
    rings = [
        2 * Fraction(k - 1, k) * Fraction(sent) for k, sent in zip(graph.replicas, graph.parameter_bytes, strict=True)
    ]
    best, tried = Fraction(0), 0

    def seconds(stage: int, placed: Sequence[Sequence[int]]) -> Fraction:
        used = [m for m, count in enumerate(placed[stage]) if count]
        band = near if len(used) == 1 else max(far[m] for m in used)
        transfers = [
            sum(
                (
                    sent * (far[m] + (near - far[m]) * Fraction(placed[v][m], graph.replicas[v]))
                    for v, sent in each[stage]
                ),
                Fraction(0),
            )
            for m in used
        ]
        return Fraction(graph.compute_s[stage]) + rings[stage] * band + max(transfers)

    def splits(
        count: int, rooms: Sequence[int], alike: Sequence[bool], first: tuple[int, ...] = ()
    ) -> Iterator[tuple[int, ...]]:
        """Splits over the servers after ``first``, none with more on a server than on one before it that is alike."""
        m = len(first)
        if m == len(rooms):
            if not count:
                yield first
            return
        most = min(count, rooms[m], first[-1] if m and alike[m] else count)
        for here in range(most, max(0, count - sum(rooms[m + 1 :])) - 1, -1):
            yield from splits(count - here, rooms, alike, (*first, here))

    def search(placed: list[tuple[int, ...]], rooms: Sequence[int], slowest: Fraction) -> bool:
        """Return whether to go on with other splits."""
        nonlocal best, tried
        stage = len(placed)
        if stage == len(graph.replicas):
            best = max(slowest, seconds(stage - 1, placed))
            return best > floor
        columns = list(zip(*placed, strict=True)) if placed else [()] * len(sizes)
        alike = [m > 0 and (sizes[m], columns[m]) == (sizes[m - 1], columns[m - 1]) for m in range(len(sizes))]
        for split in splits(graph.replicas[stage], rooms, alike):
            tick()
            tried += 1
            if tried > _MOST_SPLITS:
                return False
            placed.append(split)
            reached = max(slowest, seconds(stage - 1, placed)) if stage else slowest
            last = stage + 1 == len(graph.replicas)
            worse = best > 0 and max(reached, seconds(stage, placed) if last else reached) >= best
            left = [room - taken for room, taken in zip(rooms, split, strict=True)]
            more = worse or search(placed, left, reached)
            placed.pop()
            if not more:
                return False
        return True

    search([], sizes, Fraction(0))
    return floor if tried > _MOST_SPLITS else max(floor, best)


def _stage_s(
    graph: JobGraph, stage: int, sizes: tuple[int, ...], inside: Fraction, nic: Fraction, tick: Tick
) -> Fraction:
    """Seconds of a stage on one server or on several, whichever is less."""
    replicas = graph.replicas[stage]
    ring = Fraction(2 * (replicas - 1), replicas) * Fraction(graph.parameter_bytes[stage])
    weights = [
        (Fraction(2, replicas) * Fraction(sent), graph.replicas[other]) for other, sent in graph.neighbours(stage)
    ]
    near = 1 / inside
    choices = []
    # On one server: every size that holds the stage is a choice, since a larger server has a smaller share per GPU.
    tick()
    for size in set(sizes[bisect_left(sizes, replicas) :]):
        tick()
        choices.append(ring * near + _transfer_s(weights, size - replicas, near, size / nic))
    # On several servers: the ring crosses cards, and the best-placed one sees at most 1 / count of the partners.
    several = _several(replicas, sizes)
    if several is not None:
        count, slowest = several
        far = sizes[0] / nic
        spread = far - max(Fraction(0), far - near) / count
        choices.append(ring * slowest / nic + sum((weight for weight, _ in weights), Fraction(0)) * spread)
    return Fraction(graph.compute_s[stage]) + min(choices)


def _transfer_s(weights: list[tuple[Fraction, int]], room: int, near: Fraction, far: Fraction) -> Fraction:
    """Seconds of a stage's transfers on a server with ``room`` GPUs beside it, if partners can be split."""
    total = sum((weight for weight, _ in weights), Fraction(0)) * far
    if far <= near:
        return total
    # Fractional knapsack: the partners with most bytes a replica go on the server first.
    for weight, partners in sorted(weights, key=lambda pair: pair[0] / pair[1], reverse=True):
        placed = min(room, partners)
        room -= placed
        total -= weight * Fraction(placed, partners) * (far - near)
    return total


def _several(replicas: int, sizes: tuple[int, ...]) -> tuple[int, int] | None:
    """Least number >= 2 of servers that hold a stage, and the least largest size of such a set; or None."""
    if replicas < 2 or len(sizes) < 2 or sum(sizes) < replicas:
        return None
    largest = accumulate(reversed(sizes))
    count = max(2, next(number for number, capacity in enumerate(largest, 1) if capacity >= replicas))
    smallest = enumerate(zip(sizes, accumulate(sizes), strict=True), 1)
    slowest = next(size for number, (size, capacity) in smallest if number >= 2 and capacity >= replicas)
    return count, slowest
