"""Certificates of async_sgd: exact seconds of a job on n nodes, minima over counts, and float intervals of a job's time.

*Exact seconds*, in integers, of which very long ones are cut off on the safe side.

Mean value analysis in terms of normalising constants, X(n) = G(n - 1) / G(n): the series G(x) = e^(Zx) prod_k 1 / (1 - D_k x)
has x G' = G (Z x + sum_k D_k x / (1 - D_k x)); with g(n) = n! G(n) and t_k(n) = (n - 1)! times the n-th coefficient of
G D_k x / (1 - D_k x) that says

    g(0) = 1;   t_k(n) = D_k (g(n - 1) + (n - 1) t_k(n - 1)),   g(n) = Z g(n - 1) + sum_k t_k(n),   X(n) = n g(n - 1) / g(n)

These are only sums and products of numbers >= 0. In the largest unit of seconds that makes Z and all D_k integers, g and t
are integers too. When they pass ``LONGEST`` bits, two copies go on with ``KEPT`` bits, one cut off downwards and one upwards:
from then on they enclose the number, with a relative width of about n 2^-KEPT.

*Bound of a price in floats* with a proven error, for ``solve``, in which exact arithmetic would be slow.

Write <m> for any number from (1 + u)^-m to (1 + u)^m, u = 2^-53. Rounding is a factor <1>; in products and quotients the m
add up, and a sum of numbers >= 0 times factors <m> is their sum times one <m>. With R_k(n) = t_k(n) / g(n - 1) the recursion
above is that of ``queueing.throughput``. Let X', Q', R' be what floats give, and *define* g'(n) = g'(n - 1) n / X'(n),
t'_k(n) = R'_k(n) g'(n - 1). Demands are D_k <2>; the product and the sum in R'_k add <2>, the product in Q'_k <1>; from R'_k
to X' it is three operations and the division, <4>. So

    t'_k(n) = D_k (g'(n - 1) + (n - 1) t'_k(n - 1) <1>) <4>,   g'(n) = Z g'(n - 1) <4> + sum_k t'_k(n) <4>

and by induction t'_k(n) = t_k(n) <8 n - 4>, g'(n) = g(n) <8 n>. Hence 1 / X'(n) = 1 / X(n) <16 n - 8>, and the seconds of the
table, for which the batches are rounded and divided, are the job's <16 n - 6>. They are off by less than n 2^-48 of themselves,
which is twice as much: 16 n u remain for the rounding of what is done with them here. Nothing may underflow or overflow, so
all numbers of a job have to be ``moderate``.

As times are convex, the least of time + price x count lies behind every step that surely saves more than the price, and not
behind one that surely saves less. Jobs whose table ends before such a step need exact arithmetic.

*Minima over counts* (see ``allocation.certificate``). The columns of ``milp`` are all counts n that fit beside one node for
every other job. Times are convex in n, so where the next count on either side is no better, no count is; floating point only
decides where the search begins. It skips counts at which a job is as fast as it can be: time_j(n) >= batches_j
D_max, the time of its busiest station. Beyond n nodes time + price x count is at least that floor + price (n + 1). So the walk
ends where the time is within 2^-40 of the floor, or after ``MOST`` counts, and the floor stands for the rest.

A sum of fractions with denominators of many thousands of digits would take hours. So where they are longer than ``_LONG``
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
from dlsched.allocation.relevant_pairs import blocks
from dlsched.async_sgd.instance import Instance, Job
from dlsched.certificates import exact_sum
from dlsched.certificates.exact import moderate, sum_below
from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.core.limits import Tick, no_tick
from dlsched.queueing.network import network_of
from dlsched.queueing.throughput import iterate

LONGEST = 4096  # bits beyond which numbers are cut off; several tens of nodes are exact
KEPT = 512  # bits that remain
_OFTEN = 2**8  # nodes, after which ``tick`` is called


class Ratio(NamedTuple):
    """A rational number >= 0, not in lowest terms, since reducing would take longer than all the rest."""

    numerator: int
    denominator: int


class Enclosure(NamedTuple):
    """Lower and upper bound of a number; equal if it is known exactly."""

    low: Ratio
    high: Ratio


class ExactTimes:
    """Seconds that a job takes on n = 1, 2, ... nodes: its cycles on a network of delay Z and equal stations of demand D_k.

    >>> Fraction(*ExactTimes(Fraction(1), [], Fraction(12)).on(3).low)
    Fraction(4, 1)
    """

    def __init__(
        self,
        delay_s: Fraction,
        stations: Sequence[tuple[Fraction, int]],
        cycles: Fraction,
        *,
        tick: Tick = no_tick,
    ) -> None:
        busy = [(demand_s, copies) for demand_s, copies in stations if demand_s]
        times_s = [delay_s, *(demand_s for demand_s, _ in busy)]
        unit = math.lcm(*(time_s.denominator for time_s in times_s))
        whole = [int(time_s * unit) for time_s in times_s]
        common = math.gcd(*whole)
        demands = [(time // common, copies) for time, (_, copies) in zip(whole[1:], busy, strict=True)]
        self._low = _Recursion(whole[0] // common, demands, upwards=False)
        self._high: _Recursion | None = None
        self._scale = cycles * Fraction(common, unit)
        # What the busiest station takes for all cycles is a lower bound on the seconds on any number of nodes.
        self.least = cycles * max((demand_s for demand_s, _ in busy), default=Fraction(0))
        self._tick = tick

    def on(self, nodes: int) -> Enclosure:
        """Return the seconds on that many nodes, >= 1; O(nodes) beyond the most asked for before."""
        low = self._low
        while len(low.constants) <= nodes:
            self._sometimes(len(low.constants))
            if self._high is None and low.constants[-1].bit_length() > LONGEST:
                self._high = low.upwards()
            low.step(cut=self._high is not None)
        high = self._high
        if high is None:
            exact = self._over(low, low, nodes)
            return Enclosure(exact, exact)
        while len(high.constants) <= nodes:
            self._sometimes(len(high.constants))
            high.step(cut=True)
        return Enclosure(self._over(low, high, nodes), self._over(high, low, nodes))

    def _sometimes(self, nodes: int) -> None:
        if nodes % _OFTEN == 0:
            self._tick()

    def saves(self, nodes: int, price: Ratio) -> bool | None:
        """Whether one more node saves more than the price; None if it saves as much, or if it is unknown."""
        before, after = self.on(nodes), self.on(nodes + 1)
        if _excess(before.low, after.high, price) > 0:
            return True
        return False if _excess(before.high, after.low, price) < 0 else None

    def _over(self, first: "_Recursion", second: "_Recursion", nodes: int) -> Ratio:
        """Seconds with g(n) of one recursion over n g(n - 1) of another."""
        shift = first.exponents[nodes] - second.exponents[nodes - 1]
        above, below = max(0, shift), max(0, -shift)
        return Ratio(
            self._scale.numerator * first.constants[nodes] << above,
            self._scale.denominator * nodes * second.constants[nodes - 1] << below,
        )


class _Recursion:
    """g(0), g(1), ... as integers times powers of two; once cut off, all rounded in one direction."""

    def __init__(self, delay: int, stations: list[tuple[int, int]], *, upwards: bool) -> None:
        self._delay, self._stations, self._up = delay, stations, upwards
        self._terms = [0] * len(stations)
        self.constants = [1]
        self.exponents = [0]

    def upwards(self) -> "_Recursion":
        """Return a copy that rounds up from here on."""
        other = _Recursion(self._delay, self._stations, upwards=True)
        other._terms, other.constants, other.exponents = self._terms[:], self.constants[:], self.exponents[:]
        return other

    def step(self, *, cut: bool) -> None:
        """Go to the next n."""
        before, earlier = self.constants[-1], len(self.constants) - 1
        total = self._delay * before
        for kind, (demand, copies) in enumerate(self._stations):
            self._terms[kind] = term = demand * (before + earlier * self._terms[kind])
            total += copies * term
        exponent = self.exponents[-1]
        # Cutting all terms by the same shift keeps them on one exponent; rounding is always in one direction.
        surplus = total.bit_length() - KEPT if cut else 0
        if surplus > 0:
            total, exponent = self._cut(total, surplus), exponent + surplus
            self._terms = [self._cut(term, surplus) for term in self._terms]
        self.constants.append(total)
        self.exponents.append(exponent)

    def _cut(self, number: int, bits: int) -> int:
        return -(-number >> bits) if self._up else number >> bits


def _excess(first: Ratio, second: Ratio, price: Ratio) -> int:
    """Return a number with the sign of first - second - price."""
    difference = first.numerator * second.denominator - second.numerator * first.denominator
    return difference * price.denominator - price.numerator * first.denominator * second.denominator


_EACH = 2.0**-48  # of a time, for every node
_PRODUCT = 2.0**-50  # of a price times a number of nodes: that product, and a sum with it
_STRIDES = 32  # number of strides over a job's counts if single steps do not decide
_FURTHER = 0.25  # part of a job's counts examined beyond the table in that case


def least_values(instance: Instance, table: CostTable, price: float) -> tuple[FloatArray, IntArray]:
    """Numbers r and counts n of all jobs for which r + price n <= min_m (time(m) + price m); r NaN where floats do not decide."""
    least, at, decided = np.empty(table.jobs), np.empty(table.jobs, dtype=np.int64), np.empty(table.jobs, dtype=bool)
    for first, last, begin, end in blocks(table.starts):  # which stay in the cache
        jobs, pairs = slice(first, last), slice(begin, end)
        part = table.starts[first : last + 1] - begin, table.counts[pairs], table.costs[pairs]
        least[jobs], at[jobs], decided[jobs] = _tabulated(*part, instance.most_fitting[jobs], price)
    usable = _usable(instance, price)
    for job in np.flatnonzero(usable & ~decided).tolist():
        least[job], at[job] = _walked(instance, job, int(table.counts[table.starts[job + 1] - 1]), price)
    return np.where(usable, least, np.nan), at


def _tabulated(
    starts: IntArray, counts: IntArray, times_s: FloatArray, most: IntArray, price: float
) -> tuple[FloatArray, IntArray, BoolArray]:
    """The numbers r and counts n of some jobs over the counts in their table, and whether no other count matters."""
    # steps between neighbouring pairs of one job that surely save more than the price, or surely less
    owner = np.repeat(np.arange(len(most)), np.diff(starts))
    error_s = times_s * (counts * _EACH)
    savings_s, slack_s = times_s[:-1] - times_s[1:], error_s[:-1] + error_s[1:]
    within = owner[:-1] == owner[1:]
    first, last = starts[:-1].copy(), starts[1:] - 1  # pairs between which the least is
    surely_more = np.flatnonzero(within & (savings_s - slack_s > price))
    np.maximum.at(first, owner[surely_more], surely_more + 1)
    surely_less = np.flatnonzero(within & (savings_s + slack_s < price))
    decided = counts[last] == most
    decided[owner[surely_less]] = True
    np.minimum.at(last, owner[surely_less], surely_less)

    # the least over the pairs between these steps, counted from the first of them
    pairs = np.arange(len(counts))
    near = pairs[(pairs >= first[owner]) & (pairs <= last[owner])]
    values = _values(times_s[near], error_s[near], counts[near] - counts[first[owner[near]]], price)
    least, at = np.full(len(most), np.inf), counts[first]
    np.minimum.at(least, owner[near], values)
    return least, at, decided


def _values(times_s: FloatArray, error_s: FloatArray, further: IntArray, price: float) -> FloatArray:
    """Numbers not above time + price x further nodes, >= 0."""
    extra = price * further
    return times_s - error_s + (extra - extra * _PRODUCT)


def _usable(instance: Instance, price: float) -> BoolArray:
    """Mark the jobs whose numbers are all moderate, without underflow, so that the error bound holds."""
    networks = instance.networks
    positive = [instance.column(field) > 0 for field in ("parameter_bytes", "update_s")]
    underflown = ((networks.demands == 0) & positive).any(axis=0)
    numbers = np.concatenate((networks.delays[np.newaxis], networks.demands, instance.batches[np.newaxis]))
    return np.asarray(moderate(np.array([price])) & moderate(numbers).all(axis=0) & ~underflown)


def _walked(instance: Instance, job: int, tabulated: int, price: float) -> tuple[float, int]:
    """The same for one job, with several steps at a time and counts beyond the table."""
    most = instance.most(job)
    until = min(most, tabulated + int(_FURTHER * tabulated) + 1)
    rates = islice(iterate(instance.networks[job]), until)
    times_s = instance.batches[job] / np.fromiter(rates, dtype=np.float64, count=until)
    counts = np.arange(1, until + 1)
    error_s = times_s * (counts * _EACH)
    # one step may save less than its error; a stride saves many times as much
    stride = 1 + until // _STRIDES
    savings_s, slack_s = times_s[:-stride] - times_s[stride:], error_s[:-stride] + error_s[stride:]
    surely_more = np.flatnonzero(savings_s - slack_s > price * stride)
    surely_less = np.flatnonzero(savings_s + slack_s < price * stride)
    if until < most and not len(surely_less):
        return np.nan, 1
    first = surely_more[-1] + 1 if len(surely_more) else 0
    last = surely_less[0] + stride - 1 if len(surely_less) else until - 1
    near = slice(first, last + 1)
    return float(_values(times_s[near], error_s[near], counts[near] - counts[first], price).min()), int(counts[first])


VAST = 1e280  # largest useful multiplier: beyond it no float holds what is proven, as no job takes as many seconds
MOST = 2**20  # counts of one job that are looked at

_LONG = 2**14  # bits of denominators that are added up exactly
_CLOSE = Fraction(1, 2**40)  # relative distance from the floor at which a walk ends
_DIGITS = 256  # binary digits of shortened numbers


def exact_times(job: Job, *, tick: Tick) -> ExactTimes:
    """Seconds that a job takes on 1, 2, ... nodes, on the exact values of its numbers."""
    transfer_s = Fraction(job.parameter_bytes) / Fraction(job.bandwidth_bytes_per_s) / job.shards
    links = (2 * transfer_s, job.shards) if job.duplex == "half" else (transfer_s, 2 * job.shards)
    updates = Fraction(job.update_s) / job.shards, job.shards
    return ExactTimes(Fraction(job.compute_s), [links, updates], job.exact_batches, tick=tick)


def _minima(instance: Instance, price: Fraction, tick: Tick) -> list[Fraction]:
    """Least time + price x count of every job; some tens of microseconds each, and about ten for each node worth the price."""
    minima = []
    for index in range(len(instance.jobs)):
        tick()
        minima.append(_minimum(instance, index, price, tick))
    return _shortened(minima)


def _minimum(instance: Instance, index: int, price: Fraction, tick: Tick) -> Fraction:
    """Least time + price x count of one job, or the floor's if that is less."""
    times, counts, floor = _cheapest(instance, index, price, tick)
    values = [Fraction(*times.on(nodes).low) + price * nodes for nodes in counts]
    if floor is not None:
        values.append(floor + price * (counts[-1] + 1))
    return min(values)


def _parts(instance: Instance, price: Fraction, choices: Sequence[Fraction], tick: Tick) -> list[Fraction]:
    """Parts of the bound of duals: the choice, and all negative reduced costs of the job."""
    parts = []
    for index, choice in enumerate(choices):
        tick()
        parts.append(choice + _negative(instance, index, price, choice, tick))
    return _shortened(parts)


def price_below(table: CostTable, instance: Instance, price: float, tick: Tick) -> float:
    """Bound of a price, lower than the exact one by about 2^-48 of a job's time a node, by floats; exact for undecided jobs."""
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
    counts: range  # one of these minimises it, unless a later one does: one count, or more where steps tie
    floor: Fraction | None  # least time, for all later counts; None where time + price x count rises from there on


def _cheapest(instance: Instance, index: int, price: Fraction, tick: Tick) -> _Cheapest:
    """Look for the cheapest count, first in floats."""
    # from the float's count forward while steps may save more than the price, then back while they may save less
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
    parts = []

    def value(nodes: int) -> Fraction:
        return Fraction(*times.on(nodes).low) + price * nodes - choice

    # down from the least, then up, as long as the reduced cost is negative
    for nodes in range(cheapest[-1], 0, -1):
        if (reduced := value(nodes)) < 0:
            parts.append(reduced)
        elif nodes <= cheapest[0]:
            break
    until = min(most, cheapest[-1] + MOST) if floor is None else cheapest[-1]
    while after <= until and (reduced := value(after)) < 0:
        parts.append(reduced)
        after += 1
    if after > until:  # still negative: the floor stands for the rest
        parts.append(_negative_from(after, most, times.least - choice, price))
    return exact_sum(_shortened(parts))


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
    """The number, rounded down to about ``_DIGITS`` binary digits."""
    bits = _DIGITS - number.numerator.bit_length() + number.denominator.bit_length()
    if bits <= 0:
        return Fraction(number.numerator // (number.denominator << -bits) << -bits)
    return Fraction((number.numerator << bits) // number.denominator, 1 << bits)
