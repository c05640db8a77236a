"""What a certificate of srpt_mapping proves, in exact arithmetic on the instance's own numbers, without a solver.

*Seconds of an iteration.* No placement of a job is faster than the largest of these, over its stages s; c_in = 1 / b_in,
c_m = g^m / b_out are seconds a byte, w_v = 2 O_sv / k_s, and only servers of the instance are counted, all of them empty:

    one server m:   p_s + 2 (k_s - 1) / k_s h_s c_in + sum_v w_v (phi_v c_in + (1 - phi_v) c_m), where the partners that
                    fit beside the stage are those that save most: sum_v phi_v k_v <= g^m - k_s; the best m with k_s <= g^m
    q >= 2 servers: p_s + 2 (k_s - 1) / k_s h_s c_r + sum_v w_v (c - max(0, c - c_in) / q), c = min_m c_m; q: the least
                    number of servers that hold k_s, at least 2; c_r: the least max c_m of any 2 or more that hold it

and of the two the smaller. (The shares phi of a stage's partners on the servers that it uses add up to at most 1, so on
one of them their weighted mean is at most 1 / q.) Never below alpha^low where b_in >= b_out / g^m.

*Machine.* Running job i on g_i of G GPUs is running it at rate g_i / G on one machine of speed 1 that may serve many at a
time: size at least n_i g_i alpha_i / G. Serving them one by one, in the order in which they end, ends none later; so
SRPT's sum is a lower bound, with smaller sizes too.

*Length.* No job ends before r_i + n_i alpha_i. *Both*: the k-th end of any schedule is no sooner than SRPT's k-th end,
nor than the k-th smallest r_i + n_i alpha_i (``certificates.srpt_value``); so the later of the two is summed.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import accumulate

from dlsched.certificates import LengthsCertificate, SrptCertificate, claimed, exact_sum, srpt_value
from dlsched.cluster.job_graph import JobGraph
from dlsched.core.result import Certificate
from dlsched.srpt_mapping.instance import Instance

Tick = Callable[[], None]


def no_tick() -> None:
    """Never stop."""


def exact_iteration_s(instance: Instance, place: int, tick: Tick = no_tick) -> Fraction:
    """Seconds below which no placement brings an iteration of the job, exactly; ``tick`` may raise to stop."""
    sizes = tuple(sorted(server.gpus for server in instance.servers))
    inside, nic = instance.intra_bandwidth_bytes_per_s, instance.nic_bandwidth_bytes_per_s
    key = instance.jobs[place].graph, sizes, inside, nic
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = _least_s(*key, tick)
    return _known[key]


def exact_size_s(instance: Instance, place: int, tick: Tick = no_tick) -> Fraction:
    """Seconds of the job on the virtual machine, at least: n_i g_i alpha_i / G."""
    return exact_length_s(instance, place, tick) * instance.jobs[place].gpus / instance.total_gpus


def exact_length_s(instance: Instance, place: int, tick: Tick = no_tick) -> Fraction:
    """Seconds from the job's start to its end, at least: n_i alpha_i."""
    return Fraction(instance.jobs[place].iterations) * exact_iteration_s(instance, place, tick)


def machine_value(instance: Instance, sizes: Sequence[float], lengths: Sequence[float] | None = None) -> Fraction:
    """Sum of completion times that sizes, none larger than ``exact_size_s``, prove; with lengths, that both prove."""
    return srpt_value([job.release_s for job in instance.jobs], sizes, lengths)


def length_value(instance: Instance, lengths: Sequence[float]) -> Fraction:
    """Sum of completion times that lengths prove, one a job, none larger than ``exact_length_s``."""
    return exact_sum([Fraction(job.release_s) for job in instance.jobs] + [Fraction(length) for length in lengths])


def verify(instance: Instance, certificate: Certificate) -> Fraction:
    """Return the bound on the sum of completion times that the certificate proves, exactly; jobs not named count as 0.

    Raises
    ------
    ValueError
        It is no certificate of this family, names a job that does not exist, or claims more than a job needs.
    """
    names = [job.id for job in instance.jobs]
    if isinstance(certificate, SrptCertificate):
        sizes = claimed(names, certificate.sizes, partial(exact_size_s, instance))
        lengths = (
            claimed(names, certificate.lengths, partial(exact_length_s, instance)) if certificate.lengths else None
        )
        return machine_value(instance, sizes, lengths)
    if isinstance(certificate, LengthsCertificate):
        return length_value(instance, claimed(names, certificate.lengths, partial(exact_length_s, instance)))
    raise ValueError(f"there are no certificates of kind {certificate.as_data()['kind']!r} in this family")


_MOST_KNOWN = 100_000
_known: dict[tuple[JobGraph, tuple[int, ...], float, float], Fraction] = {}


def _least_s(graph: JobGraph, sizes: tuple[int, ...], inside: float, nic: float, tick: Tick) -> Fraction:
    """The largest of the stages' seconds; ``sizes``: GPUs of all servers, ascending."""
    stages = range(len(graph.replicas))
    return max(_stage_s(graph, stage, sizes, Fraction(inside), Fraction(nic), tick) for stage in stages)


def _stage_s(
    graph: JobGraph, stage: int, sizes: tuple[int, ...], inside: Fraction, nic: Fraction, tick: Tick
) -> Fraction:
    """Seconds of a stage on one server or on several, whichever is less; the instance's servers hold it."""
    replicas = graph.replicas[stage]
    ring = Fraction(2 * (replicas - 1), replicas) * Fraction(graph.parameter_bytes[stage])
    weights = [
        (Fraction(2, replicas) * Fraction(sent), graph.replicas[other]) for other, sent in graph.neighbours(stage)
    ]
    near = 1 / inside
    choices = []
    tick()
    for size in set(sizes[bisect_left(sizes, replicas) :]):
        tick()
        choices.append(ring * near + _transfer_s(weights, size - replicas, near, size / nic))
    several = _several(replicas, sizes)
    if several is not None:
        count, slowest = several
        far = sizes[0] / nic
        spread = far - max(Fraction(0), far - near) / count
        choices.append(ring * slowest / nic + sum((weight for weight, _ in weights), Fraction(0)) * spread)
    return Fraction(graph.compute_s[stage]) + min(choices)


def _transfer_s(weights: list[tuple[Fraction, int]], room: int, near: Fraction, far: Fraction) -> Fraction:
    """Seconds of transfers of a stage on one server with so much room beside it, partners split at will."""
    total = sum((weight for weight, _ in weights), Fraction(0)) * far
    if far <= near:
        return total
    for weight, partners in sorted(weights, key=lambda pair: pair[0] / pair[1], reverse=True):
        placed = min(room, partners)
        room -= placed
        total -= weight * Fraction(placed, partners) * (far - near)
    return total


def _several(replicas: int, sizes: tuple[int, ...]) -> tuple[int, int] | None:
    """Least number (2 or more) of servers that hold a stage, and the least largest size of such a set; None: there is none."""
    if replicas < 2 or len(sizes) < 2 or sum(sizes) < replicas:
        return None
    largest = accumulate(reversed(sizes))
    count = max(2, next(number for number, held in enumerate(largest, 1) if held >= replicas))
    smallest = enumerate(zip(sizes, accumulate(sizes), strict=True), 1)
    slowest = next(size for number, (size, held) in smallest if number >= 2 and held >= replicas)
    return count, slowest
