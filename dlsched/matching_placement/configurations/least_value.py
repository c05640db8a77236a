"""The least cost and price of a job's configurations, for certificates: by another algorithm than ``configurations``.

Count vectors are extended type by type, by rising bandwidth. Let a vector so far have n' workers, rate R'
and price P'. Each of its extensions costs at least P' plus the least over x of two terms: the cost at rate
R' + x, with the ring so far, and the least price of rate x from the types to come, fractions allowed.
Vectors with a bound above the best known value are dropped. So are, among vectors of equal n' and slowest
type, those with no more R' and no less P' than another.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dlsched.algorithms.time_costs import Fair
from dlsched.core.arrays import dot
from dlsched.matching_placement.arrays import Arrays, Counts, Floats

ERROR = 2.0**-40
"""Relative, of sums, products and quotients of a few thousand terms >= 0."""
_HALVINGS = 60  # of the logarithm of a rate: to the last digits of a double
_SLACK = 1 + 1e-9  # no vector within rounding of the best is dropped


class Law(Protocol):
    """Cost law of a job: its cost by rate, and up to which rate a price is worth paying."""

    def value(self, rate: Floats, ring_s: Floats) -> Floats:
        """Cost at some rates > 0 and seconds of the ring."""

    def target(self, price: float, ring_s: Floats) -> Floats:
        """Rate up to which a further unit lowers the cost by more than ``price``; any rate for price 0."""


@dataclass(frozen=True, slots=True)
class Seconds:
    """The completion time."""

    work: float

    def value(self, rate: Floats, ring_s: Floats) -> Floats:
        """As ``Law`` says."""
        return self.work / rate + ring_s

    def target(self, price: float, ring_s: Floats) -> Floats:
        """As ``Law`` says."""
        return np.full(len(ring_s), math.sqrt(self.work) / math.sqrt(price) if price > 0 else math.inf)


class FairCost:
    """The cost of a utility."""

    def __init__(self, data: Arrays, job: int, costs: Fair) -> None:
        self._work, self._job, self._costs = float(data.work[job]), job, costs
        rates = data.rates[job, data.able(job)]
        self._ends = float(rates.min()), float(dot(data.rates[job], data.stock))

    def value(self, rate: Floats, ring_s: Floats) -> Floats:
        """As ``Law`` says."""
        return self._costs.of(self._job, self._work / rate + ring_s)

    def target(self, price: float, ring_s: Floats) -> Floats:
        """As ``Law`` says."""
        # bisect the logarithm of the rate where the slope of the cost is the price, once for each ring
        rings, index = np.unique(ring_s, return_inverse=True)
        low, high = (np.full(len(rings), end) for end in self._ends)
        for _ in range(_HALVINGS):
            rate = np.sqrt(low) * np.sqrt(high)
            slope = self._costs.slopes(self._job, self._work / rate + rings) * (self._work / rate / rate)
            low, high = np.where(slope > price, rate, low), np.where(slope > price, high, rate)
        targets: Floats = high[index]
        return targets


class Within:
    """Cost 0 within given seconds (widened for rounding), infinite beyond."""

    def __init__(self, data: Arrays, job: int, most_s: float) -> None:
        self._work, self._most_s = float(data.work[job]), most_s * (1 + ERROR)

    def value(self, rate: Floats, ring_s: Floats) -> Floats:
        """As ``Law`` says."""
        return np.where(self._work / rate + ring_s <= self._most_s * (1 + ERROR), 0.0, np.inf)

    def target(self, price: float, ring_s: Floats) -> Floats:
        """As ``Law`` says."""
        remaining_s = self._most_s - ring_s
        needed: Floats = np.divide(self._work, remaining_s, out=np.full(len(ring_s), np.inf), where=remaining_s > 0)
        return needed


def least_value(data: Arrays, job: int, prices: Floats, law: Law | None = None) -> float:
    """Least cost (``law``; None: seconds) plus price p c over a job's configurations, up to a relative ``ERROR``; inf: none."""
    able = data.able(job)
    kinds = able[np.argsort(data.bandwidth[able], kind="stable")]
    rates, price, stock = data.rates[job, kinds], prices[kinds], data.stock[kinds]
    least, most = int(data.least[job]), int(data.most[job])
    law = Seconds(float(data.work[job])) if law is None else law
    if least > most:
        return math.inf
    # vectors start with no worker; ``slow`` is the seconds of an endless ring through the first type with a worker
    ring_s = data.traffic[job] / data.bandwidth[kinds]
    best = _some_value(law, ring_s, rates, price, stock, least, most)
    size = np.zeros(1, dtype=np.int64)
    slow, rate, paid = np.zeros(1), np.zeros(1), np.zeros(1)
    for kind in range(len(kinds)):
        # every vector with every number of workers of this type
        added = np.arange(int(stock[kind]) + 1)
        shape = (len(size), len(added))
        slow = np.where((slow == 0)[:, None] & (added > 0), ring_s[kind], np.broadcast_to(slow[:, None], shape)).ravel()
        size = (size[:, None] + added).ravel()
        rate = (rate[:, None] + rates[kind] * added).ravel()
        paid = (paid[:, None] + price[kind] * added).ravel()
        ring = slow * (np.maximum(size - 1, 0) / np.maximum(size, 1))
        to_come = slice(kind + 1, len(kinds))
        # complete vectors lower the best value; those that no extension improves are dropped
        bound = paid + cheapest_rate(law, rate, ring, rates[to_come], price[to_come], stock[to_come])
        reach = (size <= most) & (size + int(stock[to_come].sum()) >= least)
        done = reach & (size >= max(1, least))
        best = min(best, float((paid[done] + law.value(rate[done], ring[done])).min(initial=math.inf)))
        good = np.flatnonzero(reach & np.isfinite(bound) & ~(bound > best * _SLACK))
        good = good[_undominated(size[good], slow[good], rate[good], paid[good])]
        size, slow, rate, paid = size[good], slow[good], rate[good], paid[good]
    return best


def _some_value(law: Law, ring_s: Floats, rates: Floats, price: Floats, stock: Counts, least: int, most: int) -> float:
    """Return the value of some good configuration: workers are added while that helps, from the fast or the cheap ones."""
    best = math.inf
    for order in (np.argsort(price / rates), np.argsort(-rates), np.argsort(ring_s)):
        unit = np.repeat(order, stock[order])[:most]
        size = np.arange(1, len(unit) + 1)
        ring = np.maximum.accumulate(ring_s[unit]) * ((size - 1) / size)
        values = law.value(np.cumsum(rates[unit]), ring) + np.cumsum(price[unit])
        best = min(best, float(values[least - 1 :].min()))
    return best


def cheapest_rate(law: Law, rate: Floats, ring_s: Floats, rates: Floats, price: Floats, stock: Counts) -> Floats:
    """Least cost at a rate R' + x and price of x over fractions of the types to come, for every R' in ``rate``."""
    reached, paid = rate.copy(), np.zeros(len(rate))
    # the cheapest rate first, as long as it lowers the cost by more than its price
    for kind in np.argsort(price / rates).tolist():
        target = law.target(price[kind] / rates[kind], ring_s)
        following = np.maximum(reached, np.minimum(reached + stock[kind] * rates[kind], target))
        paid += price[kind] * ((following - reached) / rates[kind])
        reached = following
    some = reached > 0
    paid[some] += law.value(reached[some], ring_s[some])
    paid[~some] = np.inf
    return paid


def _undominated(size: Counts, slow: Floats, rate: Floats, paid: Floats) -> Counts:
    """Positions of vectors that no other of equal size and ring equals or beats in rate and price."""
    order = np.lexsort((paid, -rate, slow, size))
    cuts = np.flatnonzero((np.diff(size[order]) != 0) | (np.diff(slow[order]) != 0)) + 1
    good = [order[:0]]
    for group in np.split(order, cuts):
        # by falling rate: a vector is undominated if it is cheaper than all before it
        price = paid[group]
        before = np.minimum.accumulate(np.append(np.inf, price[:-1]))
        good.append(group[price < before])
    return np.concatenate(good).astype(np.int64)
