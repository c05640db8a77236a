"""What a certificate of elastic_stream proves, in exact arithmetic on the instance's own numbers, without a solver.

*Area.* On w units job j does at most the fraction w / a_j of its work a second, a_j = min over w <= C of w work_j tau_j(w):
any stream is a schedule of jobs with sizes a_j / C on one machine of speed 1 that may serve many at a time, pauses left
out. Serving them one by one, in the order in which they end, ends none later; so SRPT's sum is a lower bound on the sum of
completion times, and with smaller sizes too.

*Length.* No job takes less than work_j min over w <= C of tau_j(w) from when it can first hold units.

With ticks that is the first tick at or after its arrival, which is also the release in SRPT; flow times count from the
arrival all the same. Work is the float stops_at x epochs, which simulator and checker use.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from dlsched.core.certificate import Certificate, LengthsCertificate, SrptCertificate, exact_sum, srpt_value
from dlsched.elastic_stream.instance import Instance


def exact_size_s(instance: Instance, place: int) -> Fraction:
    """a_j / C: seconds that the job's work takes on the whole cluster at its most efficient count."""
    job = instance.jobs[place]
    if job.work == 0:
        return Fraction(0)
    counts = instance.counts(place)
    if job.speed_law is not None:
        counts = job.speed_law.least_area_counts(counts[-1])
    return Fraction(job.work) * min(n * job.speed.exact_epoch_time_s(n) for n in counts) / instance.units


def exact_length_s(instance: Instance, place: int) -> Fraction:
    """Seconds from the job's arrival that it takes at least: to its first tick, and its work on its fastest count."""
    job = instance.jobs[place]
    if job.work == 0:
        return Fraction(0)
    counts = instance.useful_counts(place)
    if job.speed_law is not None:
        counts = counts[-1:]
    waited = Fraction(instance.ready_s(place)) - Fraction(job.arrival_s)
    return waited + Fraction(job.work) * min(job.speed.exact_epoch_time_s(n) for n in counts)


def area_value(instance: Instance, sizes: Sequence[float]) -> Fraction:
    """Mean flow time that sizes prove, one a job, none larger than ``exact_size_s``."""
    released = [instance.ready_s(place) for place in range(len(sizes))]
    arrived = exact_sum(Fraction(job.arrival_s) for job in instance.jobs)
    return (srpt_value(released, sizes) - arrived) / len(sizes)


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
    if isinstance(certificate, SrptCertificate):
        return area_value(instance, _claimed(instance, certificate.sizes, exact_size_s))
    if isinstance(certificate, LengthsCertificate):
        return length_value(_claimed(instance, certificate.lengths, exact_length_s))
    raise ValueError(f"there are no certificates of kind {certificate.as_data()['kind']!r} in this family")


def _claimed(instance: Instance, claims: Mapping[str, float], most: Callable[[Instance, int], Fraction]) -> list[float]:
    """Claims in the order of the jobs, each held against what the job needs."""
    for name, claim in claims.items():
        if name not in instance.index:
            raise ValueError(f"there is no job {name!r}")
        needed = most(instance, instance.index[name])
        if not claim >= 0 or claim > needed:
            raise ValueError(f"{claim!r} s is claimed of job {name!r}, it needs {float(needed)!r} s")
    return [claims.get(job.id, 0.0) for job in instance.jobs]
