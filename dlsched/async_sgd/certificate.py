"""What a certificate of async_sgd proves, in exact arithmetic on the instance's own numbers, without a solver.

A price certificate proves sum_j min_n (time_j(n) + price n) - price N; duals prove the same kind of bound from the rows of
the formulation ``milp``, whose columns 0 <= x_jn <= 1 stand for all counts n that fit beside one node for every other job.
Times are those of ``exact_times``. They are convex in n (``throughput``), so where the next count on either side is no
better, no count is; floating point only says where to begin to look.

No count is looked at where a job is as fast as it will ever be: time_j(n) >= batches_j D_max, what its busiest station takes.
Beyond n nodes time + price x count is at least that floor + price (n + 1). So the walk ends where the time is within 2^-40
of the floor, or after ``MOST`` counts, and the floor stands for the rest.

A sum of fractions whose denominators have many thousands of digits would take hours. So where they are longer than ``_LONG``
bits together, every job's part is rounded down to ``_DIGITS`` binary digits first: what is returned is proven all the same.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import islice, pairwise
from typing import NamedTuple

from dlsched.async_sgd.exact_times import ExactTimes, Ratio, least_time
from dlsched.async_sgd.instance import Instance, Job
from dlsched.async_sgd.network import network_of
from dlsched.async_sgd.throughput import iterate
from dlsched.certificates import DualsCertificate, ExactRow, PriceCertificate, exact_multipliers, exact_sum, price_value
from dlsched.core.labels import plain_labels
from dlsched.core.result import Certificate

VAST = 1e280
"""Multipliers beyond prove nothing that has a float: no job takes as many seconds."""
MOST = 2**20
"""Counts of one job that are looked at."""

_LONG = 2**14
_CLOSE = Fraction(1, 2**40)
_DIGITS = 256


def verify(instance: Instance, certificate: Certificate) -> Fraction:
    """Return the bound that the certificate proves.

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
    """Lagrangian bound of a price; some tens of microseconds a job, and about ten for each node that is worth the price.

    ``tick`` is called now and then; it may raise to stop.
    """
    if not 0 <= price <= VAST:
        raise ValueError(f"price {price} is no number from 0 to {VAST:g}")
    exact = Fraction(price)
    minima = []
    for place in range(len(instance.jobs)):
        if tick is not None:
            tick()
        times, counts, floor = _cheapest(instance, place, exact, tick)
        values = [Fraction(*times.on(nodes).low) + exact * nodes for nodes in counts]
        if floor is not None:
            values.append(floor + exact * (counts[-1] + 1))
        minima.append(min(values))
    return price_value(price, instance.nodes, _shortened(minima))


def duals_bound(instance: Instance, certificate: DualsCertificate) -> Fraction:
    """Bound of multipliers of the rows ``capacity`` and ``choice_<job>``."""
    if certificate.formulation != "milp":
        raise ValueError(f"there are no duals of a formulation {certificate.formulation!r}")
    labels = [f"choice_{label}" for label in plain_labels([job.id for job in instance.jobs], "j")]
    rows = {"capacity": ExactRow("<=", instance.nodes)} | dict.fromkeys(labels, ExactRow("=", 1))
    exact = exact_multipliers(certificate.rows, rows)
    for name, multiplier in exact.items():
        if abs(multiplier) > VAST:
            raise ValueError(f"multiplier {certificate.rows[name]} of row {name!r} is beyond {VAST:g}")
    price = -exact.get("capacity", Fraction(0))
    parts = []
    for place, label in enumerate(labels):
        choice = exact.get(label, Fraction(0))
        parts.append(choice + _negative(instance, place, price, choice))
    return exact_sum(_shortened(parts)) - price * instance.nodes


class _Cheapest(NamedTuple):
    """Where time + price x count of a job is least."""

    times: ExactTimes
    counts: range
    """One of these minimises it, unless a later one does: one count, or more where steps tie."""
    floor: Fraction | None
    """Least time, which stands for all later counts; None where time + price x count rises from there on."""


def _cheapest(instance: Instance, place: int, price: Fraction, tick: Callable[[], None] | None = None) -> _Cheapest:
    """Look for the cheapest count, first in floats."""
    job, most = instance.jobs[place], instance.most(place)
    ratio = Ratio(*price.as_integer_ratio())
    times, floor = ExactTimes(job, tick=tick), least_time(job)
    last = _nearly(job, float(price), min(most, MOST))
    reached = None
    while last < most and times.saves(last, ratio) is not False:
        if last >= MOST or Fraction(*times.on(last).low) - floor <= floor * _CLOSE:
            reached = floor
            break
        last += 1
    first = last
    while first > 1 and times.saves(first - 1, ratio) is not True:
        first -= 1
    return _Cheapest(times, range(first, last + 1), reached)


def _nearly(job: Job, price: float, most: int) -> int:
    """Count up to which floats say that steps save more than the price."""
    batches, rates = job.batches, islice(iterate(network_of(job)), most)
    nodes = 1
    for nodes, (before, after) in enumerate(pairwise(rates), start=1):
        if batches / before - batches / after <= price:
            return nodes
    return min(nodes + 1, most)


def _negative(instance: Instance, place: int, price: Fraction, choice: Fraction) -> Fraction:
    """Sum of time + price x count - choice over the counts where it is negative: as it is convex, those around its least."""
    times, cheapest, floor = _cheapest(instance, place, price)
    most, after = instance.most(place), cheapest[-1] + 1
    found = []

    def value(nodes: int) -> Fraction:
        return Fraction(*times.on(nodes).low) + price * nodes - choice

    for nodes in range(cheapest[-1], 0, -1):
        if (reduced := value(nodes)) < 0:
            found.append(reduced)
        elif nodes <= cheapest[0]:
            break
    until = min(most, cheapest[-1] + MOST) if floor is None else cheapest[-1]
    while after <= until and (reduced := value(after)) < 0:
        found.append(reduced)
        after += 1
    if after > until:  # still negative: the floor stands for the rest
        found.append(_negative_from(after, most, least_time(instance.jobs[place]) - choice, price))
    return exact_sum(_shortened(found))


def _negative_from(first: int, most: int, value: Fraction, price: Fraction) -> Fraction:
    """Sum of value + price n over n = first .. most where it is negative; 0 where first > most."""
    last = most if price == 0 else min(most, math.ceil(-value / price) - 1)
    if last < first or value + price * last >= 0:
        return Fraction(0)
    return (last - first + 1) * value + price * Fraction((first + last) * (last - first + 1), 2)


def _shortened(numbers: list[Fraction]) -> list[Fraction]:
    """Round numbers down to ``_DIGITS`` binary digits where their denominators are too long to add up."""
    if sum(number.denominator.bit_length() for number in numbers) <= _LONG:
        return numbers
    return [_rounded_down(number) for number in numbers]


def _rounded_down(number: Fraction) -> Fraction:
    bits = _DIGITS - number.numerator.bit_length() + number.denominator.bit_length()
    if bits <= 0:
        return Fraction(number.numerator // (number.denominator << -bits) << -bits)
    return Fraction((number.numerator << bits) // number.denominator, 1 << bits)
