"""What a certificate of ring_allocation proves, in exact arithmetic on the instance's own numbers, without a solver.

A price certificate proves sum_j min over w in W_j of (cost_j(w) + price w) - price C; duals do the same for the rows of
the formulation ``milp``, whose columns 0 <= x_j_n <= 1 stand for the counts n that can fit. Floating point only sorts out
which counts can be minimal: each float cost is off by at most ``_ERROR`` times itself, since all its terms are
positive, so a count that is more than twice that above the least cannot be.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from dlsched.cluster.speed_law import SpeedLaw, smallest_minimiser
from dlsched.core.certificate import (
    Certificate,
    Column,
    DualsCertificate,
    PriceCertificate,
    Row,
    duals_value,
    price_value,
)
from dlsched.core.labels import plain_labels
from dlsched.ring_allocation.instance import Instance, Job

_ERROR = 16 * np.finfo(np.float64).eps  # at most nine roundings
_TINY = 1e-290  # where floats lose relative precision


def exact_cost(job: Job, gpus: int) -> Fraction:
    """cost_j(w) as a rational number."""
    changed = job.current_gpus is not None and gpus != job.current_gpus
    restart = Fraction(job.restart_s) if changed else Fraction(0)
    return Fraction(job.weight) * (Fraction(job.epochs) * job.speed.exact_epoch_time_s(gpus) + restart)


def verify(instance: Instance, certificate: Certificate) -> Fraction:
    """Return the bound that the certificate proves, exactly.

    Raises
    ------
    ValueError
        It is no certificate of this family: a negative price, an unknown formulation or row, a wrong sign.
    """
    if isinstance(certificate, PriceCertificate):
        return price_bound(instance, certificate.price)
    if isinstance(certificate, DualsCertificate):
        return duals_bound(instance, certificate)
    raise ValueError(f"there are no certificates of kind {certificate.as_data()['kind']!r} in this family")


def price_bound(instance: Instance, price: float) -> Fraction:
    """Exact Lagrangian bound of a price; about 1 s for 10,000 jobs with 64 counts each."""
    if not (np.isfinite(price) and price >= 0):
        raise ValueError(f"price {price} is no number >= 0")
    return price_value(price, instance.gpus, _minima(instance, Fraction(price)))


def duals_bound(instance: Instance, certificate: DualsCertificate) -> Fraction:
    """Exact bound of multipliers of the rows ``capacity`` and ``choice_<job>``; cost O(P) rationals."""
    if certificate.formulation != "milp":
        raise ValueError(f"there are no duals of a formulation {certificate.formulation!r}")
    labels = plain_labels([job.id for job in instance.jobs], "j")
    rows = {"capacity": Row("<=", instance.gpus)} | {f"choice_{label}": Row("=", 1) for label in labels}
    return duals_value(certificate.rows, rows, _columns(instance, labels))


def _columns(instance: Instance, labels: Iterable[str]) -> Iterator[Column]:
    """Columns of ``milp``: counts that fit beside the others' smallest; of a law none above its fastest but the current."""
    spare = max(0, instance.gpus - instance.minimum_gpus)
    for place, (job, label) in enumerate(zip(instance.jobs, labels, strict=True)):
        allowed = instance.counts(place)
        most = min(allowed[-1], allowed[0] + spare)
        counts: Iterable[int] = (count for count in allowed if count <= most)
        if job.speed_law is not None:
            fastest = job.speed_law.largest_useful_count(most)
            current = job.current_gpus
            kept = [current] if current is not None and fastest < current <= most else []
            counts = [*range(1, fastest + 1), *kept]
        for gpus in counts:
            yield Column(exact_cost(job, gpus), 0, 1, {f"choice_{label}": 1, "capacity": gpus})


def _minima(instance: Instance, price: Fraction) -> Iterator[Fraction]:
    for place, job in enumerate(instance.jobs):
        candidates = (
            _table_candidates(job, float(price))
            if job.speed_law is None
            else _law_candidates(job, job.speed_law, instance.counts(place)[-1], price)
        )
        yield min(exact_cost(job, gpus) + price * gpus for gpus in candidates)


def _table_candidates(job: Job, price: float) -> list[int]:
    """Counts of a table whose cost + price x count may be the least."""
    assert job.epoch_time_s is not None
    counts, times = job.epoch_time_s.counts, job.epoch_time_s.times_s
    restart = job.restart_s if job.current_gpus is not None else 0.0
    values = [
        job.weight * (job.epochs * time + (0.0 if count == job.current_gpus else restart)) + price * count
        for count, time in zip(counts, times, strict=True)
    ]
    limit = min(values) * (1 + 4 * _ERROR) + _TINY
    return [count for count, value in zip(counts, values, strict=True) if value <= limit]


def _law_candidates(job: Job, law: SpeedLaw, most: int, price: Fraction) -> list[int]:
    """Count that minimises weight epochs tau(w) + price w, in closed form, and the current one, which needs no restart."""
    theta0, theta1, theta2, _ = map(Fraction, law.theta)
    scale = Fraction(job.weight) * Fraction(job.epochs)
    hyperbolic = scale * (theta0 * Fraction(law.samples) - theta2 * Fraction(law.model_bytes))
    best = smallest_minimiser(hyperbolic, scale * theta1 + price, most)
    current = [job.current_gpus] if job.current_gpus is not None and job.current_gpus <= most else []
    return [best, *current]
