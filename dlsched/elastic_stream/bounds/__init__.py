"""Lower bounds on the weighted mean of the flow times of the best stream in hindsight; ``certificate`` has what proves them.

``area`` and ``length`` hold for streams with decisions at any time, hence also for ticks. They ignore pauses
and the integrality of counts. ``prices`` considers both, and ticks, job by job, but lets a job mix several
schedules instead of following one. The largest of the three is a bound; a mix, job by job, is not.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from dlsched.certificates import LengthsCertificate, PricesCertificate, SrptCertificate, rounded_down
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.core.result import Certificate
from dlsched.elastic_stream.bounds.any_time import ROUNDS, Better, any_time_prices, ignore
from dlsched.elastic_stream.bounds.ticks import refusal, ticked_prices
from dlsched.elastic_stream.certificate import area_value, exact_length_s, exact_size_s, length_value, verify
from dlsched.elastic_stream.checker import infeasible, objective
from dlsched.elastic_stream.heuristics import ordered
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream


def area(instance: Instance, *, tick: Tick = no_tick) -> SrptCertificate:
    """SRPT on one machine of the cluster's speed, with every job at its most efficient count. Strong when units are short.

    With weights that are not all alike, least mean busy times on that machine (``certificates.busy_value``).

    Cost: O(J log J), and some microseconds for each job, before which ``tick`` is called; it may raise to stop.

    Raises
    ------
    UsageError
        The instance is infeasible.
    """
    sizes = _claims(instance, exact_size_s, tick)
    return SrptCertificate(sizes, rounded_down(area_value(instance, list(sizes.values()))))


def length(instance: Instance, *, tick: Tick = no_tick) -> LengthsCertificate:
    """Every job alone on the cluster at its fastest count. Strong when there are units enough. Otherwise as ``area``."""
    lengths = _claims(instance, exact_length_s, tick)
    return LengthsCertificate(lengths, rounded_down(length_value(instance, list(lengths.values()))))


def prices(
    instance: Instance,
    *,
    known: Stream | None = None,
    start: PricesCertificate | None = None,
    rounds: int = ROUNDS,
    better: Better = ignore,
    solved: Tick = no_tick,
    tick: Tick = no_tick,
) -> PricesCertificate:
    """Prices of a unit over time, at which every job chooses its units alone; what all of them pay is taken off again.

    With ticks prices by slot, where these are few enough, else prices that hold for decisions at any time. Weights that are
    all alike are looked at as 1, and the prices found multiplied by them.

    Parameters
    ----------
    instance
        Feasible.
    known
        A stream whose events are breakpoints of the prices; None: the better one of two fast policies.
    start
        Prices to begin with, which saves most of the time; not for prices by slot.
    rounds
        Linear programs that are solved at most on each of some levels; not for prices by slot.
    better
        Called with every better certificate on the way.
    solved, tick
        Called after every linear program, and often; either may raise to stop.

    Cost: 2 to 20 s for 200 jobs, some minutes for 80,000; most is reached in a tenth of that.

    Raises
    ------
    UsageError
        The instance is infeasible.
    """
    if infeasible(instance) is not None:
        raise UsageError("the instance is infeasible: every bound holds")
    even = instance.even
    if even is not instance:
        begin = None if start is None else _times(even, start, 1 / instance.jobs[0].weight)
        found = prices(
            even,
            known=known,
            start=begin,
            rounds=rounds,
            better=lambda certificate: better(restated(instance, certificate)),
            solved=solved,
            tick=tick,
        )
        return restated(instance, found)
    stream = known or quick_stream(instance, tick=tick)
    if instance.tick_s is None or refusal(instance) is not None:
        return any_time_prices(instance, stream, rounds=rounds, start=start, better=better, solved=solved, tick=tick)
    certificate = ticked_prices(instance, stream, better=better, solved=solved, tick=tick)
    assert certificate is not None, "not refused"
    return certificate


def restated(instance: Instance, certificate: PricesCertificate) -> PricesCertificate:
    """A certificate of ``instance.even`` as one of the instance: prices times the weight that all its jobs have."""
    return _times(instance, certificate, instance.jobs[0].weight)


def _times(instance: Instance, certificate: PricesCertificate, factor: float) -> PricesCertificate:
    """The certificate with prices times ``factor``, and the value that the verifier proves."""

    def scaled(prices: Sequence[float]) -> tuple[float, ...]:
        return tuple(price * factor for price in prices)

    blocks = {size: scaled(prices) for size, prices in certificate.blocks.items()}
    changed = PricesCertificate(certificate.breakpoints, scaled(certificate.prices), 0.0, blocks)
    return replace(changed, value=rounded_down(verify(instance, changed)))


def bounds(
    instance: Instance, *, better: Callable[[Certificate], None], solved: Tick = no_tick, tick: Tick = no_tick
) -> None:
    """Call ``better`` with ever better certificates: of ``area``, ``length`` and ``prices``."""
    best = -math.inf

    def keep(certificate: Certificate) -> None:
        nonlocal best
        if certificate.value > best:
            best = certificate.value
            better(certificate)

    keep(length(instance, tick=tick))
    keep(area(instance, tick=tick))
    if any(job.work for job in instance.jobs):
        keep(prices(instance, better=keep, solved=solved, tick=tick))


def bound(instance: Instance, *, tick: Tick = no_tick) -> Certificate:
    """Return the best of ``area``, ``length`` and ``prices``."""
    found: list[Certificate] = []
    bounds(instance, tick=tick, better=found.append)
    return found[-1]


def quick_stream(instance: Instance, *, tick: Tick = no_tick) -> Stream:
    """The better stream of two fast policies that are seldom bad."""
    streams = [ordered(instance, "srpt", sizing, tick=tick) for sizing in ("fixed", "knee")]
    return min((each for each in streams if each is not None), key=partial(objective, instance))


def _claims(instance: Instance, needed: Callable[[Instance, int], Fraction], tick: Tick) -> dict[str, float]:
    """Least need of every job, rounded down; UsageError if the instance is infeasible."""
    if infeasible(instance) is not None:
        raise UsageError("the instance is infeasible: every bound holds")
    claims = {}
    for index, job in enumerate(instance.jobs):
        tick()
        claims[job.id] = rounded_down(needed(instance, index))
    return claims
