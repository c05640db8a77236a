"""What a certificate of elastic_stream proves, in exact arithmetic on the instance's own numbers, without a solver.

*Area.* On w units job j does at most the fraction w / a_j of its work a second, a_j = min over w <= C of w work_j tau_j(w):
any stream is a schedule of jobs with sizes a_j / C on one machine of speed 1 that may serve many at a time, pauses left
out. Serving them one by one, in the order in which they end, ends none later; so SRPT's sum is a lower bound on the sum of
completion times, and with smaller sizes too.

*Length.* No job takes less than work_j min over w <= C of tau_j(w) from when it can first hold units.

With ticks that is the first tick at or after its arrival, which is also the release in SRPT; flow times count from the
arrival all the same. Slot t begins at t tick_s, exactly. Work is the float stops_at x epochs, which simulator and checker
use.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from operator import mul

from dlsched.certificates import LengthsCertificate, SrptCertificate, claimed, exact_sum, srpt_value
from dlsched.core.result import Certificate
from dlsched.elastic_stream.instance import Instance

_ERROR = 1e-12  # of a product of floats, generously: products that are least but for it are compared exactly


def exact_size_s(instance: Instance, place: int) -> Fraction:
    """a_j / C: seconds that the job's work takes on the whole cluster at its most efficient count."""
    job = instance.jobs[place]
    if job.work == 0:
        return Fraction(0)
    if job.epoch_time_s is not None:
        areas = list(map(mul, job.epoch_time_s.counts[: len(instance.counts(place))], job.epoch_time_s.times_s))
        most = min(areas) * (1 + _ERROR)
        counts = [count for count, area in zip(job.epoch_time_s.counts, areas, strict=False) if area <= most]
    else:
        assert job.speed_law is not None
        counts = list(job.speed_law.least_area_counts(instance.counts(place)[-1]))
    return Fraction(job.work) * min(n * job.speed.exact_epoch_time_s(n) for n in counts) / instance.units


def exact_length_s(instance: Instance, place: int) -> Fraction:
    """Seconds from the job's arrival that it takes at least: to its first tick, and its work on its fastest count."""
    job = instance.jobs[place]
    if job.work == 0:
        return Fraction(0)
    if job.speed_law is not None:
        time_s = job.speed.exact_epoch_time_s(instance.useful_counts(place)[-1])
    else:
        assert job.epoch_time_s is not None
        time_s = Fraction(min(job.epoch_time_s.times_s[: len(instance.counts(place))]))
    return exact_wait_s(instance, place) + Fraction(job.work) * time_s


def exact_wait_s(instance: Instance, place: int) -> Fraction:
    """Seconds from the job's arrival to its release; an arrival that is a tick but for rounding is one."""
    if instance.tick_s is None or instance.jobs[place].work == 0:
        return Fraction(0)
    waited = instance.first_slot(place) * Fraction(instance.tick_s) - Fraction(instance.jobs[place].arrival_s)
    return max(Fraction(0), waited)


def exact_release_s(instance: Instance, place: int) -> Fraction:
    """When the job can first hold units: its arrival, with ticks its first slot unless it has no work."""
    if instance.tick_s is None or instance.jobs[place].work == 0:
        return Fraction(instance.jobs[place].arrival_s)
    return instance.first_slot(place) * Fraction(instance.tick_s)


def area_value(instance: Instance, sizes: Sequence[float]) -> Fraction:
    """Mean flow time that sizes prove, one a job, none larger than ``exact_size_s``."""
    places = range(len(sizes))
    released = [exact_release_s(instance, place) for place in places]
    waited = exact_sum(exact_wait_s(instance, place) for place in places)
    return (srpt_value(released, sizes) - exact_sum(released) + waited) / len(sizes)


def length_value(lengths: Sequence[float]) -> Fraction:
    """Mean flow time that lengths prove, one a job, none larger than ``exact_length_s``."""
    return exact_sum(map(Fraction, lengths)) / len(lengths)


def verify(instance: Instance, certificate: Certificate) -> Fraction:
    """Return the bound on the mean flow time that the certificate proves, exactly; jobs not named count as 0.

    Raises
    ------
    ValueError
        It is no certificate of this family, names a job that does not exist, or claims more than a job needs.
    """
    names = [job.id for job in instance.jobs]
    if isinstance(certificate, SrptCertificate) and not certificate.lengths:
        return area_value(instance, claimed(names, certificate.sizes, partial(exact_size_s, instance)))
    if isinstance(certificate, LengthsCertificate):
        return length_value(claimed(names, certificate.lengths, partial(exact_length_s, instance)))
    raise ValueError(f"there are no certificates of kind {certificate.as_data()['kind']!r} in this family")
