"""Minima over counts that certificates of async_sgd use (see ``allocation.certificate``).

The columns of ``milp`` are all counts n that fit beside one node for every other job. Times are those of
``queueing.exact_times``. They are convex in n (``queueing.throughput``), so where the next count on either side is no better,
no count is; floating point only decides where the search begins.

The search skips counts at which a job is as fast as it can be: time_j(n) >= batches_j D_max, the time of its
busiest station.
Beyond n nodes time + price x count is at least that floor + price (n + 1). So the walk ends where the time is within 2^-40
of the floor, or after ``MOST`` counts, and the floor stands for the rest.

A sum of fractions whose denominators have many thousands of digits would take hours. So where they are longer than ``_LONG``
bits together, every job's part is rounded down to ``_DIGITS`` binary digits first: what is returned is proven all the same.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import islice, pairwise
from typing import NamedTuple

import numpy as np

from dlsched.allocation.certificate import Proof
from dlsched.allocation.cost_table import CostTable
from dlsched.async_sgd.float_value import least_values
from dlsched.async_sgd.instance import Instance, Job
from dlsched.certificates import exact_sum
from dlsched.certificates.exact import sum_below
from dlsched.core.limits import Tick
from dlsched.queueing.exact_times import ExactTimes, Ratio
from dlsched.queueing.network import network_of
from dlsched.queueing.throughput import iterate

VAST = 1e280
"""Largest useful multiplier: beyond it no float holds what is proven, as no job takes as many seconds."""
MOST = 2**20
"""Counts of one job that are looked at."""

_LONG = 2**14
_CLOSE = Fraction(1, 2**40)
_DIGITS = 256


def exact_times(job: Job, *, tick: Tick) -> ExactTimes:
    """Seconds that a job takes on 1, 2, ... nodes, on the exact values of its numbers."""
    transfer_s = Fraction(job.parameter_bytes) / Fraction(job.bandwidth_bytes_per_s) / job.shards
    links = (2 * transfer_s, job.shards) if job.duplex == "half" else (transfer_s, 2 * job.shards)
    updates = Fraction(job.update_s) / job.shards, job.shards
    return ExactTimes(Fraction(job.compute_s), [links, updates], job.exact_batches, tick=tick)


def _minima(instance: Instance, price: Fraction, tick: Tick) -> list[Fraction]:
    """Some tens of microseconds a job, and about ten for each node that is worth the price."""
    minima = []
    for index in range(len(instance.jobs)):
        tick()
        minima.append(_minimum(instance, index, price, tick))
    return _shortened(minima)


def _minimum(instance: Instance, index: int, price: Fraction, tick: Tick) -> Fraction:
    times, counts, floor = _cheapest(instance, index, price, tick)
    values = [Fraction(*times.on(nodes).low) + price * nodes for nodes in counts]
    if floor is not None:
        values.append(floor + price * (counts[-1] + 1))
    return min(values)


def _parts(instance: Instance, price: Fraction, choices: Sequence[Fraction], tick: Tick) -> list[Fraction]:
    parts = []
    for index, choice in enumerate(choices):
        tick()
        parts.append(choice + _negative(instance, index, price, choice, tick))
    return _shortened(parts)


def price_below(table: CostTable, instance: Instance, price: float, tick: Tick) -> float:
    """Bound of a price, or slightly less, by floats of a cost table; by ``_minima`` for undecided jobs.

    It is lower than what exact arithmetic proves by about 2^-48 of a job's time for each of its nodes.
    """
    values, counts = least_values(instance, table, price)
    exact = [Fraction(price) * (sum(counts[np.isfinite(values)].tolist()) - instance.nodes)]
    for index in np.flatnonzero(np.isnan(values)).tolist():
        tick()
        exact.append(_minimum(instance, index, Fraction(price), tick))
    return sum_below(values[np.isfinite(values)].tolist(), exact_sum(_shortened(exact)))


PROOF = Proof(_minima, _parts, largest=VAST)
verify, price_bound = PROOF.verify, PROOF.price_bound


class _Cheapest(NamedTuple):
    """Where time + price x count of a job is least."""

    times: ExactTimes
    counts: range
    """One of these minimises it, unless a later one does: one count, or more where steps tie."""
    floor: Fraction | None
    """Least time, which stands for all later counts; None where time + price x count rises from there on."""


def _cheapest(instance: Instance, index: int, price: Fraction, tick: Tick) -> _Cheapest:
    """Look for the cheapest count, first in floats."""
    job, most = instance.jobs[index], instance.most(index)
    ratio = Ratio(*price.as_integer_ratio())
    times = exact_times(job, tick=tick)
    floor = times.least
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


def _negative(instance: Instance, index: int, price: Fraction, choice: Fraction, tick: Tick) -> Fraction:
    """Sum of time + price x count - choice over the counts where it is negative: as it is convex, those around its least."""
    times, cheapest, floor = _cheapest(instance, index, price, tick)
    most, after = instance.most(index), cheapest[-1] + 1
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
        found.append(_negative_from(after, most, times.least - choice, price))
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
