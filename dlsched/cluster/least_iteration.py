"""Exact lower bound on the seconds of an iteration, over all placements of a job graph.

No placement is faster than the largest, over the stages s, of the smaller of two numbers. c_in = 1 / b_in
and c_m = g^m / b_out are seconds a byte, w_v = 2 O_sv / k_s, and all servers of the cluster count as empty:

    one server m:   p_s + 2 (k_s - 1) / k_s h_s c_in + sum_v w_v (phi_v c_in + (1 - phi_v) c_m), where the partners that
                    fit beside the stage are those that save most: sum_v phi_v k_v <= g^m - k_s; the best m with k_s <= g^m
    q >= 2 servers: p_s + 2 (k_s - 1) / k_s h_s c_r + sum_v w_v (c - max(0, c - c_in) / q), c = min_m c_m; q: the least
                    number of servers that hold k_s, at least 2; c_r: the least max c_m of any 2 or more that hold it

(The shares phi of a stage's partners on its servers add up to at most 1, so on one of these
servers their weighted mean is at most 1 / q.) The bound is never below alpha^low if b_in >= b_out / g^m.
"""

from bisect import bisect_left
from fractions import Fraction
from itertools import accumulate

from dlsched.cluster.job_graph import JobGraph
from dlsched.core.limits import Tick, no_tick

_MOST_KNOWN = 100_000  # results in the cache
_known: dict[tuple[JobGraph, tuple[int, ...], float, float], Fraction] = {}


def exact_least_iteration_s(
    graph: JobGraph, sizes: tuple[int, ...], inside: float, nic: float, *, tick: Tick = no_tick
) -> Fraction:
    """Return the lower bound on the seconds of an iteration; results are cached.

    The servers must hold the job. ``sizes``: GPUs of all servers, ascending; ``inside`` and ``nic``: b_in and b_out in
    B/s; ``tick`` is called for every stage and every size that holds it, and may raise to stop.
    """
    key = graph, sizes, inside, nic
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        stages = range(len(graph.replicas))
        _known[key] = max(_stage_s(graph, stage, sizes, Fraction(inside), Fraction(nic), tick) for stage in stages)
    return _known[key]


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
