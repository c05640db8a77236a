"""Verifier of elastic_stream certificates: exact or safe bounds from the instance's own numbers, no solver.

*Area.* On w units job j does at most the fraction w / a_j of its work a second, a_j = min over w <= C of w work_j tau_j(w):
any stream is a schedule of jobs with sizes a_j / C on one machine of speed 1 that may serve many at a time, pauses left
out. Serving them one by one, in the order in which they end, makes each k-th end no later; so SRPT's sum is a lower bound on
the sum of completion times, and with smaller sizes too. With weights, omega the least of them, omega times that sum and the
sum of what the weights are above omega times least mean busy times (``busy_value``) is one; so is that of all of the weights
times mean busy times. The larger counts.

*Length.* No job takes less than work_j min over w <= C of tau_j(w) from when it can first hold units.

With ticks that is the first tick at or after its arrival, which is also the release in SRPT; flow times count from the
arrival all the same. Slot t begins at t tick_s, exactly. Work is the float stops_at x epochs, which simulator and checker
use.

*Prices.* Every job by itself costs at least so much, weight x flow time and the prices of what it holds; all units together
cost no more than C times the integral of the prices. What remains is a bound. What a job costs at least is computed with
safely rounded floats (``certificates.time_prices``), by slot in whole numbers (``certificates.slot_costs``).
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from operator import mul

from dlsched.certificates import (
    LengthsCertificate,
    PricesCertificate,
    SrptCertificate,
    busy_value,
    claimed,
    exact_sum,
    srpt_value,
)
from dlsched.core.result import Certificate
from dlsched.elastic_stream.certificate.any_time import any_time_value
from dlsched.elastic_stream.certificate.ticks import ticks_value
from dlsched.elastic_stream.instance import Instance


def exact_size_s(instance: Instance, index: int) -> Fraction:
    """a_j / C: seconds that the job's work takes on the whole cluster at its most efficient count."""
    job = instance.jobs[index]
    return Fraction(job.work) * job.least_area_s(instance.units) / instance.units if job.work else Fraction(0)


def exact_length_s(instance: Instance, index: int) -> Fraction:
    """Least seconds from the job's arrival to its end: to its first tick, and its work on its fastest count."""
    job = instance.jobs[index]
    if job.work == 0:
        return Fraction(0)
    time_s = job.speed.exact_epoch_time_s(job.fastest_count(instance.units))
    return instance.wait_s(index) + Fraction(job.work) * time_s


def area_value(instance: Instance, sizes: Sequence[float]) -> Fraction:
    """Weighted mean of flow times that sizes prove, one per job, none larger than ``exact_size_s``."""
    released = list(map(instance.release_s, range(len(sizes))))
    weights = [Fraction(job.weight) for job in instance.jobs]
    least = min(weights)
    ends = least * srpt_value(released, sizes)
    if least < max(weights):
        ends += busy_value(released, sizes, [weight - least for weight in weights])
        ends = max(ends, busy_value(released, sizes, weights))
    before = exact_sum(
        weight * (release - instance.wait_s(index))
        for index, (weight, release) in enumerate(zip(weights, released, strict=True))
    )
    return (ends - before) / exact_sum(weights)


def length_value(instance: Instance, lengths: Sequence[float]) -> Fraction:
    """Weighted mean of flow times that lengths prove, one per job, none larger than ``exact_length_s``."""
    weights = [Fraction(job.weight) for job in instance.jobs]
    return exact_sum(map(mul, weights, map(Fraction, lengths))) / exact_sum(weights)


def verify(instance: Instance, certificate: Certificate) -> Fraction:
    """Return the bound on the weighted mean of flow times that the certificate proves, exactly; jobs not named count as 0.

    Raises
    ------
    ValueError
        It is not a certificate of this family, names a job that does not exist, claims more than a job needs, or has
        prices that are no steps.
    """
    names = [job.id for job in instance.jobs]
    if isinstance(certificate, SrptCertificate) and not certificate.lengths:
        return area_value(instance, claimed(names, certificate.sizes, partial(exact_size_s, instance)))
    if isinstance(certificate, LengthsCertificate):
        return length_value(instance, claimed(names, certificate.lengths, partial(exact_length_s, instance)))
    if isinstance(certificate, PricesCertificate):
        return _prices_value(instance, certificate)
    raise ValueError(f"there are no certificates of kind {certificate.as_data()['kind']!r} in this family")


def _prices_value(instance: Instance, certificate: PricesCertificate) -> Fraction:
    """The better of prices by slot and, without blocks, of prices at any time; without ticks the latter."""
    breakpoints, prices, blocks, tick_s = (
        certificate.breakpoints,
        certificate.prices,
        certificate.blocks,
        instance.tick_s,
    )
    if tick_s is None:
        if blocks:
            raise ValueError("blocks have prices only where the instance has ticks")
        return any_time_value(instance, breakpoints, prices)
    by_slot = ticks_value(instance, breakpoints, prices, blocks)
    return (
        by_slot if blocks else max(by_slot, any_time_value(instance, [tick * tick_s for tick in breakpoints], prices))
    )
