"""The least largest ratio rho: which thresholds can be kept, by covers, prices and a search.

Whether every job can end within rho times its J(equal share) is a question of stock only: each needs a *cover*, a minimal
configuration with which it ends in time. For prices p >= 0 of the types let u_i be the least p c of the covers c of job i.
If sum u_i > p s, no choice keeps the stock, so the optimum is above rho. The prices that prove this first are the duals of

    minimise t,   sum_c x_ic = 1 for every job,   sum_ic c_g x_ic <= t s_g for every type:     above rho if t > 1.

If t <= 1, a choice that keeps the stock costs at most p s, so none of its configurations exceeds its u_i by more than
p s - sum u_i. The dynamic program of ``columns.slack`` finds such a choice, or proves that there is none.

Covers are labels, extended type by type by rising bandwidth, so the first type that gives a worker is the ring's slowest.
A label is complete once it ends soon enough. It is dropped if it is too slow even with its present ring and the fastest
units to come, or too dear even if fractions of workers supplied the rate that it lacks.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from dlsched.columns.generation import Master
from dlsched.columns.slack import CELLS, WIDTH, Listed, Prices, cheapest_within
from dlsched.core.arrays import dot
from dlsched.core.limits import Budget, Tick, TooMany, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, Floats, least_times
from dlsched.matching_placement.configurations.least_value import undominated

_ROOM = 1 + 1e-9  # relative tolerance for rounding


def covers(
    data: Arrays,
    job: int,
    most_s: float,
    *,
    prices: Floats | None = None,
    limit: float = np.inf,
    cheapest: bool = False,
    cells: int = CELLS,
    tick: Tick = no_tick,
) -> Counts:
    """List configurations of at most ``most_s``, shape (N, G), so that each other one contains a listed one.

    Omitted are those above ``limit`` at ``prices``, and with ``cheapest`` others, but one of the cheapest stays. TooMany: labels
    would have more than ``cells`` entries.
    """
    able = data.able(job)
    kinds = able[np.argsort(data.bandwidth[able], kind="stable")]
    rates, least, most = data.rates[job, kinds], int(data.least[job]), int(data.most[job])
    ring_s, stock = data.traffic[job] / data.bandwidth[kinds], np.minimum(data.stock[kinds], most)
    # labels: counts, their sum, and the position of the slowest type with a worker (-1: none)
    rows = np.zeros((1, data.types), dtype=np.int64)
    size, slow, ended = np.zeros(1, dtype=np.int64), np.full(1, -1), []
    for at, kind in enumerate(kinds.tolist()):
        tick()
        ways = np.minimum(stock[at], most - size) + 1
        if int(ways.sum()) * (len(kinds) + 10) > cells:
            raise TooMany
        # every label with every number of workers of this type
        parent = np.repeat(np.arange(len(size)), ways)
        added = np.arange(len(parent)) - np.repeat(np.cumsum(ways) - ways, ways)
        rows, size = rows[parent], size[parent] + added
        rows[:, kind] = added
        slow = np.where((slow[parent] < 0) & (added > 0), at, slow[parent])
        rate = dot(rows, data.rates[job])
        # of each parent the extension with the fewest workers that ends soon enough is complete
        soon = (size >= max(1, least)) & (_times(data, job, rate, ring_s[slow], size) <= most_s)
        fewest = np.full(len(ways), len(added), dtype=np.int64)
        np.minimum.at(fewest, parent[soon], added[soon])
        ended.append(rows[soon & (added == fewest[parent])])
        # labels with fewer stay open if the fastest units to come can make them end soon enough
        fast, units = _fastest(rates[at + 1 :], stock[at + 1 :])
        more = np.minimum(most - size, units)
        final = np.maximum(size, least)
        ring = ring_s[np.where(slow < 0, len(kinds) - 1, slow)]
        best = _times(data, job, rate + fast[more], ring, final)
        good = (added < fewest[parent]) & (size + more >= least) & (more > 0) & (best <= most_s)
        if prices is not None:
            remaining_s = most_s - ring * (np.maximum(final - 1, 0) / final)
            lacking = (
                np.divide(data.work[job], remaining_s, out=np.full(len(rate), np.inf), where=remaining_s > 0) - rate
            )
            # the missing rate costs at least this, in fractions of workers
            dearest = _bought(rates[at + 1 :], stock[at + 1 :], prices[kinds[at + 1 :]], lacking)
            good &= dot(rows, prices) + dearest <= limit * _ROOM
        open_ = np.flatnonzero(good)
        if prices is not None and cheapest:
            open_ = open_[undominated((size[open_], slow[open_]), rate[open_], dot(rows[open_], prices))]
        rows, size, slow = rows[open_], size[open_], slow[open_]
    complete = np.concatenate(ended) if ended else rows[:0]
    if prices is not None:
        complete = complete[dot(complete, prices) <= limit * _ROOM]
    return _spare(data, job, complete, most_s)


def some_price(data: Arrays, job: int, most_s: float, prices: Floats) -> float:
    """Price of a good cover: tries the fastest and the cheapest workers of every ring and size, or inf."""
    # for every slowest bandwidth: workers by falling rate, then by rising price of rate, until the job ends in time
    able, least, best = data.able(job), int(data.least[job]), np.inf
    for slowest in np.unique(data.bandwidth[able]).tolist():
        kinds = able[data.bandwidth[able] >= slowest]
        rates, paid = data.rates[job, kinds], prices[kinds]
        for order in (np.argsort(-rates, kind="stable"), np.argsort(paid / rates, kind="stable")):
            unit = np.repeat(kinds[order], data.stock[kinds[order]])[: data.most[job]]
            size = np.arange(1, len(unit) + 1)
            ring = np.maximum.accumulate(data.traffic[job] / data.bandwidth[unit])
            times = _times(data, job, np.cumsum(data.rates[job, unit]), ring, size)
            soon = np.flatnonzero((times <= most_s) & (size >= least))
            if len(soon):
                best = min(best, float(prices[unit[: soon[0] + 1]].sum()))
    return best


def _bought(rates: Floats, stock: Counts, prices: Floats, lacking: Floats) -> Floats:
    """Least price of some rates from fractions of workers; infinite if there are too few workers."""
    order = np.argsort(prices / rates, kind="stable")
    reached = np.append(0.0, np.cumsum((rates * stock)[order]))
    paid = np.append(0.0, np.cumsum((prices * stock)[order]))
    bought: Floats = np.interp(np.minimum(lacking / _ROOM, reached[-1]), reached, paid)
    return bought


def _times(data: Arrays, job: int, rate: Floats, ring_s: Floats, size: Counts) -> Floats:
    """Seconds at some rates; infinite without any."""
    times: Floats = np.divide(data.work[job], rate, out=np.full(len(rate), np.inf), where=rate > 0)
    times += ring_s * (np.maximum(size - 1, 0) / np.maximum(size, 1))
    return times


def _fastest(rates: Floats, stock: Counts) -> tuple[Floats, int]:
    """Rate of the 0, 1, 2 ... fastest units of some types, and how many there are."""
    order = np.argsort(-rates)
    fast = np.append(0.0, np.cumsum(np.repeat(rates[order], stock[order])))
    return fast, len(fast) - 1


def _spare(data: Arrays, job: int, rows: Counts, most_s: float) -> Counts:
    """Leave out configurations that are fast enough without one of their workers."""
    needed = np.ones(len(rows), dtype=bool)
    for kind in data.able(job).tolist():
        some = np.flatnonzero(needed & (rows[:, kind] > 0) & (rows.sum(axis=1) > max(1, data.least[job])))
        fewer = rows[some]
        fewer[:, kind] -= 1
        needed[some[data.times(job, fewer) <= most_s / _ROOM]] = False
    return rows[needed]


HAIR = 2.0**-36
"""Relative distance below which ratios count as equal."""
NEAR = 1e-6
"""Relative distance of the bound below the thresholds that its linear program can keep."""
_SURE = 1e-9  # of p s: margin by which the sum of the u_i must exceed it
_TOLERANCE = 1e-9  # of the linear programs
_ROUNDS = 1000  # of column generation at a threshold: a guard against cycling
_FEW = 500_000  # largest number of label entries of a job whose covers are all listed, once
_ROUGH = 1e-2  # relative distance of thresholds below which fractions of workers no longer tell them apart
_FIRST = 1 / 64  # of the gap: first step to the threshold searched; doubles if it cannot be kept


class Covers:
    """Covers of a job at a threshold; listed if there are few, else found by price."""

    def __init__(self, data: Arrays, job: int, most_s: float, tick: Tick) -> None:
        self._data, self._job, self._most_s, self._tick = data, job, most_s, tick
        self._listed: Counts | None = None
        with suppress(TooMany):
            self._listed = covers(data, job, most_s, cells=_FEW, tick=tick)

    def __bool__(self) -> bool:
        """Whether there are any."""
        if self._listed is not None:
            return bool(len(self._listed))
        return some_price(self._data, self._job, self._most_s, np.zeros(self._data.types)) < np.inf

    def upto(self, prices: Floats, limit: float) -> Listed:
        """Covers of a price up to ``limit``, cheapest first; raises ``TooMany`` as ``covers``."""
        counts = self._listed
        if counts is None:
            counts = covers(self._data, self._job, self._most_s, prices=prices, limit=limit, tick=self._tick)
        paid = dot(counts, prices)
        order = np.argsort(paid, kind="stable")
        return Listed(counts[order], paid[order])

    def cheapest(self, prices: Floats) -> tuple[Counts, float]:
        """The cheapest, and its price."""
        data, job, most_s, counts = self._data, self._job, self._most_s, self._listed
        if counts is None:
            limit = some_price(data, job, most_s, prices)
            counts = covers(data, job, most_s, prices=prices, limit=limit, cheapest=True, tick=self._tick)
        paid = dot(counts, prices)
        first = int(np.argmin(paid))
        return counts[first], float(paid[first])


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """A threshold: the covers of every job, and prices; ``prices`` are None where a job has no cover."""

    covers: list[Covers]
    prices: Prices | None

    @property
    def refuted(self) -> bool:
        """Whether prices, or a job alone, prove that the threshold cannot be kept."""
        return self.prices is None or self.prices.bound > _SURE * float(dot(self.prices.prices, self.prices.stock))

    def within(self) -> list[Listed]:
        """Every job's covers that a placement can use, cheapest first; for levels that are not refuted."""
        assert self.prices is not None
        limit = self.prices.least + self.slack
        return [each.upto(self.prices.prices, most) for each, most in zip(self.covers, limit.tolist(), strict=True)]

    @property
    def slack(self) -> float:
        """Largest total by which prices of a placement's covers may exceed the least."""
        assert self.prices is not None
        return max(0.0, -self.prices.bound) + _SURE * float(dot(self.prices.prices, self.prices.stock))


def level_at(
    data: Arrays, rho: float, guess: Floats, *, best: bool = True, tick: Tick = no_tick, budget: Budget | None = None
) -> Level:
    """Prices that come closest to refuting a threshold, ``guess`` first; unless ``best``, any that do not refute it."""
    every = []
    for job, equal_s in enumerate(data.costs.equal.tolist()):
        every.append(Covers(data, job, rho * equal_s, tick))
        if not every[-1]:
            return Level(every, None)
    # covers that are cheapest at the program's prices are added until none is new
    master = Master(np.zeros(data.types), np.ones(data.jobs), tolerance=_TOLERANCE)
    master.add("t", 1.0, range(data.types), (-data.stock.astype(np.float64)).tolist())
    prices, budget = guess, budget or Budget()
    for _ in range(_ROUNDS):
        joined, least = _join(master, every, prices)
        level = Level(every, Prices(data.stock, prices, least))
        if level.refuted or not joined:
            break
        tick()
        optimum = master.solve(budget.left.time_s)
        if optimum.value <= 1 and not best:
            break
        prices = optimum.prices
    return level


def _join(master: Master, every: list[Covers], prices: Floats) -> tuple[bool, Floats]:
    """Add each job's cheapest cover; return whether one was new, and the prices of all."""
    joined, least = False, np.zeros(len(every))
    for job, of_job in enumerate(every):
        counts, least[job] = of_job.cheapest(prices)
        taken = np.flatnonzero(counts)
        rows, values = [*taken.tolist(), len(prices) + job], [*counts[taken].astype(float).tolist(), 1.0]
        joined |= master.add((job, counts.tobytes()), 0.0, rows, values)
    return joined, least


def bound_by_thresholds(
    data: Arrays, upper: float, *, tick: Tick = no_tick, budget: Budget | None = None
) -> tuple[float, Floats]:
    """A lower bound on the largest ratio and prices that prove it, below the ratio ``upper`` of a placement; TooMany: covers."""

    def fluid(rho: float) -> Floats | None:
        tick()
        return _refuting(data, rho, budget or Budget())

    def whole(rho: float) -> Floats | None:
        level = level_at(data, rho, guess[-1], best=False, tick=tick, budget=budget)
        if level.prices is not None:
            guess.append(level.prices.prices)
        if not level.refuted:
            return None
        return np.zeros(data.types) if level.prices is None else level.prices.prices

    low, prices = _halved(alone(data), np.zeros(data.types), upper, fluid, _ROUGH)
    guess = [prices if prices.any() else 1 / data.stock]
    return _halved(low, prices, upper, whole, NEAR)


def _halved(
    low: float, prices: Floats, high: float, refuting: Callable[[float], Floats | None], near: float
) -> tuple[float, Floats]:
    """Bisect for the largest ratio that prices exclude; return it with its prices."""
    while high > low * (1 + near):
        middle = low * math.sqrt(high / low)
        prices_at = refuting(middle)
        if prices_at is None:
            high = middle
        else:
            low, prices = middle, prices_at
    return low, prices


def _refuting(data: Arrays, rho: float, budget: Budget) -> Floats | None:
    """Prices that refute a threshold even for fractional workers on the fastest network, or None."""
    fastest = np.where(data.rates > 0, data.bandwidth, 0.0).max(axis=1)
    remaining_s = rho * data.costs.equal - data.traffic * ((data.least - 1) / data.least) / fastest
    if (remaining_s <= 0).any():
        return np.zeros(data.types)
    # the part of the job's rate that one worker gives; the program minimises the load t of the stock
    parts = data.rates / (data.work / remaining_s)[:, None]
    master = Master(np.append(np.zeros(data.types), -np.ones(data.jobs)), tolerance=_TOLERANCE)
    master.add("t", 1.0, range(data.types), (-data.stock.astype(np.float64)).tolist())
    for job, kind in np.argwhere(parts > 0).tolist():
        master.add((job, kind), 0.0, [kind, data.types + job], [1.0, -float(parts[job, kind])])
    prices = master.solve(budget.left.time_s).prices[: data.types]
    each = np.divide(prices, parts, out=np.full(parts.shape, np.inf), where=parts > 0)
    needed = float(each.min(axis=1).sum())
    return prices if needed > float(dot(prices, data.stock)) * (1 + _SURE) else None


def alone(data: Arrays) -> float:
    """Lower bound on the largest ratio: some job cannot undercut it, whatever workers it gets."""
    return float((least_times(data) / data.costs.equal).max())


def choice_within(data: Arrays, level: Level, *, width: int | None = None, tick: Tick = no_tick) -> Counts | None:
    """A placement that keeps the threshold, or None: there is none, or none within ``width`` labels. TooMany: of labels."""
    if level.refuted or level.prices is None:
        return None
    return cheapest_within(level.within(), level.prices, level.slack, width=width, tick=tick)


Choose = Callable[[Level], Counts | None]


def lower(
    data: Arrays,
    best: Counts,
    low: float,
    choose: Choose,
    *,
    tick: Tick = no_tick,
    budget: Budget | None = None,
    better: Callable[[Counts], None] | None = None,
    proven: Callable[[float], None] | None = None,
) -> Counts:
    """Lower the largest ratio of ``best``, above the bound ``low``, until ``choose`` finds no placement that keeps a level.

    ``better`` is called with every better placement, ``proven`` with every ratio for which there is none.
    """
    # steps up from the lower bound; after a success try just below the new ratio, which may prove it optimal
    step, below, guess = _FIRST, False, 1 / data.stock
    high = data.total(best)
    while low < high * (1 - HAIR):
        rho = low + step * (high - low)
        if below or high - low <= NEAR * high or rho >= high * (1 - HAIR):
            rho = high * (1 - HAIR)
        level = level_at(data, rho, guess, tick=tick, budget=budget)
        guess = guess if level.prices is None else level.prices.prices
        choice = choose(level)
        below = choice is not None and not below
        if choice is None:
            low, step = rho, min(0.5, 2 * step)
            if proven is not None:
                proven(low)
            continue
        best, high, step = choice, data.total(choice), 0.5
        if better is not None:
            better(best)
    return best


def by_beam(data: Arrays, width: int = WIDTH, tick: Tick = no_tick) -> Choose:
    """Choose by a search with few labels, which may miss placements that exist."""
    return lambda level: choice_within(data, level, width=width, tick=tick)
