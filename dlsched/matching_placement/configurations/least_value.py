"""The least cost and price of all jobs' configurations, for certificates: by another algorithm than ``configurations``.

Count vectors are extended type by type, by rising bandwidth. Let a vector so far have n' workers, rate R'
and price P'. Each of its extensions costs at least P' plus the least over x of two terms: the cost at rate
R' + x, with the ring so far, and the least price of rate x from the types to come, fractions allowed.
Vectors of a job with a bound above its best known value are dropped. So are, among vectors of equal n' and slowest
type, those with no more R' and no less P' than another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dlsched.algorithms.count_vectors import run_lengths
from dlsched.algorithms.time_costs import Fair
from dlsched.core.arrays import dot
from dlsched.core.limits import TooMany
from dlsched.matching_placement.arrays import Arrays, Counts, Floats

ERROR = 2.0**-40
"""Relative, of sums, products and quotients of a few thousand terms >= 0."""
_HALVINGS = 60  # of the logarithm of a rate: to the last digits of a double
_SLACK = 1 + 1e-9  # no vector within rounding of the best is dropped
_BLOCK, _VECTORS = 4096, 1_000_000  # jobs whose vectors are extended together, and most vectors at a time


class Law(Protocol):
    """Cost law of jobs: cost by rate, and up to which rate a price is worth paying; one entry for each of ``job``, shape (N,)."""

    def value(self, job: Counts, rate: Floats, ring_s: Floats) -> Floats:
        """Cost at some rates > 0 and seconds of the ring."""

    def target(self, job: Counts, price: Floats, ring_s: Floats) -> Floats:
        """Rate up to which a further unit lowers the cost by more than ``price``, which is the same for all of a job."""


@dataclass(frozen=True, slots=True, eq=False)
class Seconds:
    """The completion time; ``work`` by job, shape (S,)."""

    work: Floats

    def value(self, job: Counts, rate: Floats, ring_s: Floats) -> Floats:
        """As ``Law`` says."""
        return self.work[job] / rate + ring_s

    def target(self, job: Counts, price: Floats, ring_s: Floats) -> Floats:
        """As ``Law`` says."""
        most = np.full(len(price), np.inf)
        target: Floats = np.divide(np.sqrt(self.work[job]), np.sqrt(price), out=most, where=price > 0)
        return target


class FairCost:
    """The cost of a utility."""

    def __init__(self, data: Arrays, costs: Fair) -> None:
        self._work, self._costs = data.work, costs
        self._low = np.where(data.rates > 0, data.rates, np.inf).min(axis=1)
        self._high = dot(data.rates, data.stock)

    def value(self, job: Counts, rate: Floats, ring_s: Floats) -> Floats:
        """As ``Law`` says."""
        return self._costs.of(job, self._work[job] / rate + ring_s)

    def target(self, job: Counts, price: Floats, ring_s: Floats) -> Floats:
        """As ``Law`` says."""
        # bisect the logarithm of the rate where the slope of the cost is the price, once for each job and ring
        _, first, index = np.unique(job + 1j * ring_s, return_index=True, return_inverse=True)
        job, price, rings = job[first], price[first], ring_s[first]
        low, high = self._low[job], self._high[job]
        for _ in range(_HALVINGS):
            rate = np.sqrt(low) * np.sqrt(high)
            slope = self._costs.slopes(job, self._work[job] / rate + rings) * (self._work[job] / rate / rate)
            low, high = np.where(slope > price, rate, low), np.where(slope > price, high, rate)
        targets: Floats = high[index]
        return targets


class Within:
    """Cost 0 within given seconds (widened for rounding), shape (S,), infinite beyond."""

    def __init__(self, data: Arrays, most_s: Floats) -> None:
        self._work, self._most_s = data.work, most_s * (1 + ERROR)

    def value(self, job: Counts, rate: Floats, ring_s: Floats) -> Floats:
        """As ``Law`` says."""
        return np.where(self._work[job] / rate + ring_s <= self._most_s[job] * (1 + ERROR), 0.0, np.inf)

    def target(self, job: Counts, price: Floats, ring_s: Floats) -> Floats:
        """As ``Law`` says."""
        remaining_s = self._most_s[job] - ring_s
        needed: Floats = np.divide(
            self._work[job], remaining_s, out=np.full(len(ring_s), np.inf), where=remaining_s > 0
        )
        return needed


def least_values(data: Arrays, prices: Floats, law: Law | None = None) -> Floats:
    """Least cost (``law``; None: seconds) plus price p c over each job's configurations, shape (S,), up to a relative ``ERROR``.

    Infinite where a job has none.
    """
    law = Seconds(data.work) if law is None else law
    least = np.full(data.jobs, np.inf)
    served = np.flatnonzero(data.least <= data.most)
    # blocks of jobs; one with too many vectors is halved
    blocks = [served[begin : begin + _BLOCK] for begin in range(0, len(served), _BLOCK)][::-1]
    while blocks:
        block = blocks.pop()
        try:
            least[block] = _least_of(data, block, prices, law, most=_VECTORS if len(block) > 1 else None)
        except TooMany:
            blocks += [block[len(block) // 2 :], block[: len(block) // 2]]
    return least


def _least_of(data: Arrays, jobs: Counts, prices: Floats, law: Law, most: int | None) -> Floats:
    """The least values of some jobs; TooMany: more than ``most`` vectors at a time."""
    kinds = np.argsort(data.bandwidth, kind="stable")
    able = data.rates[jobs][:, kinds] > 0
    rates, price = np.where(able, data.rates[jobs][:, kinds], 1.0), prices[kinds]
    stock = np.where(able, data.stock[kinds], 0)
    fewest, largest = data.least[jobs], data.most[jobs]
    # vectors start with no worker; ``slow`` is the seconds of an endless ring through the first type with a worker
    ring_s = data.traffic[jobs][:, None] / data.bandwidth[kinds]
    best = _some_values(law, jobs, ring_s, rates, price, stock, fewest, largest)
    row = np.arange(len(jobs))
    size = np.zeros(len(jobs), dtype=np.int64)
    slow, rate, paid = (np.zeros(len(jobs)) for _ in range(3))
    to_come = np.cumsum(stock[:, ::-1], axis=1)[:, ::-1] - stock
    for kind in range(len(kinds)):
        # every vector with every number of workers of this type that its best value pays for
        payable = np.divide(
            best[row] * _SLACK - paid, price[kind], out=np.full(len(row), np.inf), where=price[kind] > 0
        )
        room = np.minimum(stock[row, kind], largest[row] - size)
        ways = np.minimum(np.floor(payable * _SLACK), room).astype(np.int64) + 1
        if most is not None and int(ways.sum()) > most:
            raise TooMany
        parent, added = np.repeat(np.arange(len(row)), ways), run_lengths(ways)
        row, slow = row[parent], slow[parent]
        slow = np.where((slow == 0) & (added > 0), ring_s[row, kind], slow)
        size = size[parent] + added
        rate = rate[parent] + rates[row, kind] * added
        paid = paid[parent] + price[kind] * added
        ring = slow * (np.maximum(size - 1, 0) / np.maximum(size, 1))
        later = slice(kind + 1, len(kinds))
        # complete vectors lower the best value; those that no extension improves are dropped
        bound = paid + cheapest_rate(law, jobs, row, rate, ring, rates[:, later], price[later], stock[:, later])
        done = np.flatnonzero(size >= np.maximum(1, fewest[row]))
        values = paid[done] + law.value(jobs[row[done]], rate[done], ring[done])
        np.minimum.at(best, row[done], values)
        good = (size + to_come[row, kind] >= fewest[row]) & np.isfinite(bound) & ~(bound > best[row] * _SLACK)
        good = np.flatnonzero(good)
        good = good[undominated((row[good], size[good], slow[good]), rate[good], paid[good])]
        row, size, slow, rate, paid = row[good], size[good], slow[good], rate[good], paid[good]
    return best


def _some_values(
    law: Law, jobs: Counts, ring_s: Floats, rates: Floats, price: Floats, stock: Counts, least: Counts, most: Counts
) -> Floats:
    """Return the value of some good configuration of each job: workers are added while that helps, from the fast or the cheap."""
    best = np.full(len(jobs), np.inf)
    rows = np.arange(len(jobs))
    for by in (price / rates, -rates, ring_s):
        order = np.argsort(np.where(stock > 0, by, np.inf), axis=1, kind="stable")
        taken = np.cumsum(np.take_along_axis(stock, order, axis=1), axis=1)
        rate, paid, slow = (np.zeros(len(jobs)) for _ in range(3))
        last = np.full(len(jobs), np.inf)
        live, size = rows, 0
        # one worker more of all jobs that gained by the last one, or need more
        while len(live):
            size += 1
            kind = order[live, (taken[live] < size).sum(axis=1)]
            rate[live] += rates[live, kind]
            paid[live] += price[kind]
            slow[live] = np.maximum(slow[live], ring_s[live, kind])
            whole = live[least[live] <= size]
            values = law.value(jobs[whole], rate[whole], slow[whole] * ((size - 1) / size)) + paid[whole]
            last[whole], gains = values, values < last[whole]
            best[whole] = np.minimum(best[whole], values)
            live = np.union1d(whole[gains], live[least[live] > size])
            live = live[most[live] > size]
    return best


def cheapest_rate(
    law: Law, jobs: Counts, row: Counts, rate: Floats, ring_s: Floats, rates: Floats, price: Floats, stock: Counts
) -> Floats:
    """Least cost at a rate R' + x and price of x over fractions of the types to come, for every R' in ``rate``.

    ``row``: whose R' it is, a position in ``jobs``; ``rates`` and ``stock`` have a row for each of these.
    """
    reached, paid = rate.copy(), np.zeros(len(rate))
    order = np.argsort(np.where(stock > 0, price / rates, np.inf), axis=1, kind="stable")
    live = np.arange(len(rate))
    # the cheapest rate first, as long as it lowers the cost by more than its price
    for position in range(order.shape[1]):
        kind, of = order[row[live], position], row[live]
        before, rate_of = reached[live], rates[of, kind]
        target = law.target(jobs[of], price[kind] / rate_of, ring_s[live])
        following = np.maximum(before, np.minimum(before + stock[of, kind] * rate_of, target))
        paid[live] += price[kind] * ((following - before) / rate_of)
        reached[live] = following
        live = live[following < target]
    some = reached > 0
    paid[some] += law.value(jobs[row[some]], reached[some], ring_s[some])
    paid[~some] = np.inf
    return paid


def undominated(alike: Sequence[Counts | Floats], rate: Floats, paid: Floats) -> Counts:
    """Positions of vectors that no other with the same numbers in ``alike`` equals or beats in rate and price."""
    order = np.lexsort((paid, -rate, *reversed(alike)))
    price = paid[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any([np.diff(numbers[order]) != 0 for numbers in alike], axis=0)
    # by falling rate: a vector is undominated if it is cheaper than all before it; ranks of prices, each group's below those
    # of the group before, so that one running minimum serves all groups
    rank = np.empty(len(order), dtype=np.int64)
    rank[np.argsort(price, kind="stable")] = np.arange(len(order))
    rank -= np.cumsum(new) * len(order)
    before = np.append(np.iinfo(np.int64).max, np.minimum.accumulate(rank)[:-1])
    return order[rank < before[: len(rank)]]
