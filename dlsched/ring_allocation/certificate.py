"""What a certificate of ring_allocation proves, in exact arithmetic on the instance's own numbers, without a solver.

A price certificate proves sum_j min over w in W_j of (cost_j(w) + price w) - price C; duals do the same for the rows of
the formulation ``milp``, whose columns 0 <= x_j_n <= 1 stand for the counts n that can fit. Floating point only sorts out
which counts can be minimal, and which columns can have a negative reduced cost (the others add nothing): each float cost is
off by at most ``_ERROR`` times itself, since all its terms are positive, so a count that is more than twice that above the
least cannot be.
"""

import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

import numpy as np

from dlsched.certificates import (
    DualsCertificate,
    ExactColumn,
    ExactRow,
    PriceCertificate,
    duals_value,
    exact_multipliers,
    price_value,
)
from dlsched.cluster.speed_law import SpeedLaw, smallest_minimiser
from dlsched.core.labels import plain_labels
from dlsched.core.result import Certificate
from dlsched.ring_allocation.instance import Instance, Job

_ERROR = 16 * np.finfo(np.float64).eps  # at most nine roundings
_TINY = 1e-290  # where floats lose relative precision
_LARGEST = Fraction(sys.float_info.max)
_MOST = 2**20  # columns of laws with a negative reduced cost; duals of an optimum have a few


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


def price_bound(instance: Instance, price: float, *, tick: Callable[[], None] | None = None) -> Fraction:
    """Exact Lagrangian bound of a price; about 1 s for 10,000 jobs with 64 counts each.

    ``tick`` is called for every job; it may raise to stop.
    """
    if not (np.isfinite(price) and price >= 0):
        raise ValueError(f"price {price} is no number >= 0")
    return _in_range(price_value(price, instance.gpus, _minima(instance, Fraction(price), tick or _nothing)))


def duals_bound(
    instance: Instance, certificate: DualsCertificate, *, tick: Callable[[], None] | None = None
) -> Fraction:
    """Exact bound of multipliers of the rows ``capacity`` and ``choice_<job>``; ``tick`` as in ``price_bound``.

    Raises
    ------
    ValueError
        As ``verify``; or more than ``_MOST`` columns of laws have a negative reduced cost.
    """
    if certificate.formulation != "milp":
        raise ValueError(f"there are no duals of a formulation {certificate.formulation!r}")
    labels = plain_labels([job.id for job in instance.jobs], "j")
    rows = {"capacity": ExactRow("<=", instance.gpus)} | {f"choice_{label}": ExactRow("=", 1) for label in labels}
    exact = exact_multipliers(certificate.rows, rows)
    columns = _columns(instance, labels, exact, tick or _nothing)
    return _in_range(duals_value(certificate.rows, rows, columns))


def _nothing() -> None:
    pass


def _in_range(value: Fraction) -> Fraction:
    if not -_LARGEST <= value <= _LARGEST:
        raise ValueError(f"what is proven lies {'below' if value < 0 else 'above'} all floats")
    return value


def _columns(
    instance: Instance, labels: Iterable[str], multipliers: dict[str, Fraction], tick: Callable[[], None]
) -> Iterator[ExactColumn]:
    """Columns of ``milp`` that may have a negative reduced cost.

    The columns are the counts that fit beside the others' smallest; of a law none above its fastest but the current one.
    """
    spare = max(0, instance.gpus - instance.minimum_gpus)
    price, seen = -multipliers.get("capacity", Fraction(0)), 0
    for place, (job, label) in enumerate(zip(instance.jobs, labels, strict=True)):
        tick()
        allowed, choice = instance.counts(place), multipliers.get(f"choice_{label}", Fraction(0))
        most = min(allowed[-1], allowed[0] + spare)
        counts: Sequence[int]
        if job.speed_law is None:
            counts = _table_columns(job, most, float(price), float(choice))
        else:
            counts = _law_columns(job, job.speed_law, most, price, choice)
            seen += len(counts)
            if seen > _MOST:
                raise ValueError(f"over {_MOST} columns have a negative reduced cost: too many to add up")
        for gpus in counts:
            yield ExactColumn(exact_cost(job, gpus), 0, 1, {f"choice_{label}": 1, "capacity": gpus})


def _table_columns(job: Job, most: int, price: float, choice: float) -> list[int]:
    """Counts up to ``most`` for which cost + price x count, in floats, is not above the multiplier of the job's choice."""
    limit = choice + abs(choice) * 4 * _ERROR + _TINY
    return [count for count, value in _table_values(job, price) if count <= most and value * (1 - 4 * _ERROR) <= limit]


def _law_columns(job: Job, law: SpeedLaw, most: int, price: Fraction, choice: Fraction) -> list[int] | range:
    """Counts whose cost + price x count is below ``choice``: an interval around the least, and maybe the current count."""
    fastest = law.largest_useful_count(most)
    least = min(_law_candidates(job, law, fastest, price)[0], fastest)
    charged = job.current_gpus is not None
    restart = Fraction(job.weight) * Fraction(job.restart_s) if charged else Fraction(0)
    scale = Fraction(job.weight) * Fraction(job.epochs)

    def below(gpus: int) -> bool:
        return scale * law.exact_epoch_time_s(gpus) + restart + price * gpus < choice

    counts = range(0)
    if below(least):
        first = 1 + bisect_left(range(1, least + 1), True, key=below)
        last = least + bisect_left(range(least + 1, fastest + 1), True, key=lambda gpus: not below(gpus))
        counts = range(first, last + 1)
    current = job.current_gpus
    if current is None or current > most or current in counts or len(counts) > _MOST:
        return counts
    return [*counts, current]


def _minima(instance: Instance, price: Fraction, tick: Callable[[], None]) -> Iterator[Fraction]:
    for place, job in enumerate(instance.jobs):
        tick()
        candidates = (
            _table_candidates(job, float(price))
            if job.speed_law is None
            else _law_candidates(job, job.speed_law, instance.counts(place)[-1], price)
        )
        yield min(exact_cost(job, gpus) + price * gpus for gpus in candidates)


def _table_candidates(job: Job, price: float) -> list[int]:
    """Counts of a table whose cost + price x count may be the least."""
    values = _table_values(job, price)
    limit = min(value for _, value in values) * (1 + 4 * _ERROR) + _TINY
    return [count for count, value in values if value <= limit]


def _table_values(job: Job, price: float) -> list[tuple[int, float]]:
    """Every count of a table with its cost + price x count in floats."""
    assert job.epoch_time_s is not None
    restart = job.restart_s if job.current_gpus is not None else 0.0
    return [
        (count, job.weight * (job.epochs * time + (0.0 if count == job.current_gpus else restart)) + price * count)
        for count, time in zip(job.epoch_time_s.counts, job.epoch_time_s.times_s, strict=True)
    ]


def _law_candidates(job: Job, law: SpeedLaw, most: int, price: Fraction) -> list[int]:
    """Count that minimises weight epochs tau(w) + price w, in closed form, and the current one, which needs no restart."""
    theta0, theta1, theta2, _ = map(Fraction, law.theta)
    scale = Fraction(job.weight) * Fraction(job.epochs)
    hyperbolic = scale * (theta0 * Fraction(law.samples) - theta2 * Fraction(law.model_bytes))
    best = smallest_minimiser(hyperbolic, scale * theta1 + price, most)
    current = [job.current_gpus] if job.current_gpus is not None and job.current_gpus <= most else []
    return [best, *current]
