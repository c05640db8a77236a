"""Pricing of configurations: the least cost plus price of every job, and column generation on it.

*Bounds.* A configuration has a slowest type, of bandwidth r, and a number n of workers. These two fix its ring, so its
cost h(R) depends only on the rate R; h is convex and falls (``arrays``; for the mean, h(R) = w / R + the ring's
seconds). So for every R0, with lambda = -h'(R0) and P = p c at prices p of the types,

    h(R) + P >= h(R0) + lambda (R0 - R) + P >= h(R0) + lambda R0 + min over n units of sum (p_g - lambda rho_g),

and that minimum takes the n cheapest units of the types of bandwidth r or more. The bound is concave in lambda, with slope
R0 less the rate of these units, so R0 is found by halving; and the units themselves are configurations. A *case* is a job
with an r and an n. It is dropped when its bound is above the job's known value, so R0 is refined only where it pays.

*Deviations* are all configurations of a case up to a threshold. At its R0 the n cheapest units are those below some
p - lambda rho, its margin. Another vector of n workers costs more than the bound by at least the summed distances from
the margin of its units above, and of missing units below it. So types further from the margin than threshold minus bound
are fixed; the others, furthest first, extend labels as long as the threshold allows.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dlsched.algorithms.count_vectors import run_lengths
from dlsched.columns.generation import Pool
from dlsched.columns.slack import CELLS, Listed, Priced
from dlsched.core.arrays import dot, row_dots
from dlsched.core.limits import Tick, TooMany, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, Floats

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Jobs with the slowest bandwidth and the number of their workers; all of shape (N,)."""

    job: Counts
    level: Counts
    size: Counts
    ring: Floats

    def take(self, which: "Counts | Flags") -> "Cases":
        """Some of them."""
        return Cases(self.job[which], self.level[which], self.size[which], self.ring[which])


class CaseCosts:
    """Costs of cases at a rate: h(R) of ``pricing``, its slope, and the cheapest units."""

    def __init__(self, data: Arrays) -> None:
        self.data = data
        self.bandwidths = np.unique(data.bandwidth)
        self.fast = data.bandwidth >= self.bandwidths[:, None]  # types by bandwidth of a ring's slowest

    def units(self, cases: Cases, at: Floats, prices: Floats) -> tuple[Floats, Floats, Floats, Counts, Counts]:
        """Lambda at R0, p - lambda rho of all types (inf: not allowed), the rates, the types' order and how many are taken."""
        data = self.data
        slope = self._slope(cases, at)
        rates = data.rates[cases.job]
        allowed = self.fast[cases.level] & (rates > 0)
        linear = np.where(allowed, prices - slope[:, None] * rates, np.inf)
        order = np.argsort(linear, axis=1, kind="stable")
        stock = data.stock[order]
        taken = np.clip(cases.size[:, None] - (np.cumsum(stock, axis=1) - stock), 0, stock)
        return slope, linear, rates, order, taken

    def value(self, cases: Cases, rate: Floats) -> Floats:
        """h(R)."""
        data = self.data
        times = data.work[cases.job] / rate + cases.ring
        return data.costs.of(cases.job, times)

    def _slope(self, cases: Cases, rate: Floats) -> Floats:
        """-h'(R)."""
        data = self.data
        slopes: Floats = data.work[cases.job] / rate / rate
        return data.costs.sloped(slopes, cases.job, lambda: data.work[cases.job] / rate + cases.ring)


Rows = tuple[Counts, Floats, Counts]
_DEVIATION_ROUNDING = 1e-12  # relative tolerance on the cost of a deviation
_BATCH = 100_000  # largest number of cases times types handled at once


def deviations(
    costs: CaseCosts,
    cases: Cases,
    at: Floats,
    bound: Floats,
    prices: Floats,
    upto: Floats,
    many: Flags,
    cells: int,
    tick: Tick,
) -> list[Rows]:
    """List job, J(c) + p c and c of all vectors of the cases up to the jobs' thresholds; ``at``: the R0 of each ``bound``.

    Labels of one case, and a job's list, may have ``cells`` numbers; ``many`` marks jobs that have more.
    """
    rows_of_parts: list[Rows] = []
    listed = np.zeros(len(many), dtype=np.int64)
    # batches of cases; one with too many labels is halved, and a single case with too many marks its job
    step = max(1, _BATCH // costs.data.types)
    parts = [np.arange(begin, min(begin + step, len(at))) for begin in range(0, len(at), step)][::-1]
    while parts:
        tick()
        part = parts.pop()
        part = part[~many[cases.job[part]]]
        if not len(part):
            continue
        try:
            rows = _extended(costs, cases.take(part), at[part], bound[part], prices, upto, cells, tick)
        except TooMany:
            if len(part) == 1:
                many[cases.job[part]] = True
            else:
                parts += [part[len(part) // 2 :], part[: len(part) // 2]]
            continue
        rows_of_parts.append(rows)
        listed += np.bincount(rows[0], minlength=len(many))
        many |= listed * (costs.data.types + 10) > cells
    return rows_of_parts


def _extended(
    costs: CaseCosts,
    cases: Cases,
    at: Floats,
    bound: Floats,
    prices: Floats,
    upto: Floats,
    cells: int,
    tick: Tick,
) -> Rows:
    """Rows of ``deviations`` for one batch of cases; TooMany: more label entries than ``cells``."""
    data = costs.data
    # the cheapest units of each case and their margin; a unit away from it costs its distance
    budget = upto[cases.job] - bound + _DEVIATION_ROUNDING * np.abs(upto[cases.job])
    _, linear, _, order, taken = costs.units(cases, at, prices)
    rows = np.arange(len(at))[:, None]
    base = np.zeros_like(taken)
    np.put_along_axis(base, order, taken, axis=1)
    margin = np.where(base > 0, linear, -np.inf).max(axis=1)
    away = linear - margin[:, None]
    # range of each type's count that the budget allows if all other types keep their base
    stock = np.minimum(data.stock, cases.size[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        most_away = np.where(away == 0, np.inf, np.floor(budget[:, None] / np.abs(away)))
    low = np.where(away < 0, np.maximum(0, stock - np.minimum(most_away, stock)), 0).astype(np.int64)
    high = np.where(away < 0, stock, np.minimum(stock, most_away)).astype(np.int64)
    # types with a choice, furthest from the margin first; the others are fixed
    free = low < high
    width = max(1, int(free.sum(axis=1).max()))
    chosen = np.argsort(np.where(free, -np.abs(away), np.inf), axis=1, kind="stable")[:, :width]
    fixed = low.copy()
    np.put_along_axis(fixed, chosen, 0, axis=1)
    lows, highs, step, stock_of = (each[rows, chosen] for each in (low, high, np.where(free, away, 0.0), stock))
    # fewest and most workers that the types from each position on can still take
    least = np.append(np.cumsum(lows[:, ::-1], axis=1)[:, ::-1], np.zeros((len(at), 1), dtype=np.int64), axis=1)
    most = np.append(np.cumsum(highs[:, ::-1], axis=1)[:, ::-1], np.zeros((len(at), 1), dtype=np.int64), axis=1)
    case, missing, spent = np.arange(len(at)), cases.size - fixed.sum(axis=1), np.zeros(len(at))
    added = np.zeros((len(at), 0), dtype=np.int64)
    for kind in range(width):
        tick()
        distance = step[case, kind]
        with np.errstate(divide="ignore", invalid="ignore"):
            most_off = np.where(distance == 0, np.inf, np.floor((budget[case] - spent) / np.abs(distance)))
        # counts that leave a feasible rest and whose deviation the remaining budget allows
        fewest = np.maximum(lows[case, kind], missing - most[case, kind + 1])
        largest = np.minimum(highs[case, kind], missing - least[case, kind + 1])
        below = distance < 0
        fewest = np.where(below, np.maximum(fewest, stock_of[case, kind] - most_off), fewest).astype(np.int64)
        largest = np.where(below, largest, np.minimum(largest, most_off)).astype(np.int64)
        number = np.maximum(0, largest - fewest + 1)
        if int(number.sum()) * (kind + 10) > cells:
            raise TooMany
        parent = np.repeat(np.arange(len(case)), number)
        count = run_lengths(number) + fewest[parent]
        off = np.where(below[parent], stock_of[case[parent], kind] - count, count)
        spent = spent[parent] + off * np.abs(distance[parent])
        missing = missing[parent] - count
        case = case[parent]
        added = np.concatenate((added[parent], count[:, None]), axis=1)
    # evaluate the labels; a vector belongs to the case of its own slowest bandwidth only
    counts = fixed[case]
    np.put_along_axis(counts, chosen[case], added, axis=1)
    ended = cases.take(case)
    rate = row_dots(counts, data.rates[ended.job])
    value = costs.value(ended, rate) + dot(counts, prices)
    slowest = np.where(counts > 0, data.bandwidth, np.inf).min(axis=1)
    own = (slowest == costs.bandwidths[ended.level]) | (data.traffic[ended.job] == 0)
    good = np.flatnonzero((value <= upto[ended.job]) & own)
    return ended.job[good], value[good], counts[good]


HALVINGS = 24
"""Largest number of halvings of the logarithm of R0."""
_NUMBERS = 4_000_000  # cases times types at once
_ROUNDING = 2.0**-44  # relative rounding of the terms of a bound
_WIDENED = 1e-10  # relative widening of a threshold: sums of many rates are rounded many times
_NARROW = 1e-9  # relative distance of two R0 at which halving ends


@dataclass(frozen=True, slots=True, eq=False)
class Probed:
    """Cases, each at an R0: the bound, the cheapest units, shape (N, G), their rate, and their cost plus price."""

    bound: Floats
    counts: Counts
    rate: Floats
    value: Floats


class Pricing(CaseCosts):
    """The pricing problems of all jobs, for any prices."""

    def __init__(self, data: Arrays) -> None:
        super().__init__(data)
        # pairs of a job and a bandwidth that its slowest worker can have, with enough workers as fast
        able = data.rates > 0
        has_level = np.stack([(able & (data.bandwidth == each)).any(axis=1) for each in self.bandwidths], axis=1)
        quiet = data.traffic == 0
        has_level[quiet] &= np.cumsum(has_level[quiet], axis=1) == 1  # nothing is sent: one ring is as good as another
        usable = np.stack([dot(able & each, data.stock) for each in self.fast], axis=1)
        self._job, self._level = np.nonzero(has_level & (usable >= np.maximum(1, data.least)[:, None]))
        self._most = np.minimum(data.most[self._job], usable[self._job, self._level])
        self._power = data.costs.steepness

    @property
    def groups(self) -> int:
        """Number of jobs."""
        return self.data.jobs

    def costs(self, group: Counts, counts: Counts) -> Floats:
        """J(c) of configurations of jobs, shapes (N,) and (N, G)."""
        return self.data.costs_of(group, counts)

    def guess(self, prices: Floats, known: Floats, tick: Tick = no_tick) -> Priced:
        """Bound every job's least value from below and above; see ``columns.slack.Pricing``."""
        limit, known, floor = known, known.copy(), np.full(self.groups, np.inf)
        rows = [_nothing(self.data.types)]
        for cases in self._batches(prices, known):
            tick()
            rows += self._refine(cases, prices, limit, known, floor)
        return Priced(np.minimum(floor, known), known, *_joined(rows))

    def cheap(
        self, prices: Floats, thresholds: Floats, *, cells: int | None = None, tick: Tick = no_tick
    ) -> list[Listed | None]:
        """List every job's configurations with J(c) + p c at most its threshold; see ``columns.slack.Pricing``."""
        upto = thresholds + _WIDENED * np.abs(thresholds)
        rows, many = [_nothing(self.data.types)], np.zeros(self.groups, dtype=bool)
        for cases in self._batches(prices, upto):
            tick()
            near, at, bound = self._settled(cases, prices, upto)
            rows += deviations(self, near, at, bound, prices, upto, many, CELLS if cells is None else cells, tick)
        job, value, counts = _joined(rows)
        order = np.lexsort((value, job))
        cuts = np.searchsorted(job[order], np.arange(self.groups + 1))
        return [
            None if many[each] else Listed(counts[order[begin:end]], value[order[begin:end]])
            for each, (begin, end) in enumerate(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))
        ]

    def _batches(self, prices: Floats, known: Floats) -> "list[Cases]":
        """Yield batches of cases whose cheapest units alone cost no more than the known values."""
        data = self.data
        allowed = self.fast[self._level] & (data.rates[self._job] > 0)
        # units of each case by rising price: how many the known value pays for limits the size
        price = np.where(allowed, prices, np.inf)
        order = np.argsort(price, axis=1, kind="stable")
        price, stock = np.take_along_axis(price, order, axis=1), np.where(allowed, data.stock, 0)
        stock = np.take_along_axis(stock, order, axis=1)
        units = np.cumsum(stock, axis=1)
        paid = np.cumsum(np.where(stock > 0, price, 0.0) * stock, axis=1)
        budget = known[self._job] * (1 + _WIDENED)
        whole = (paid <= budget[:, None]).sum(axis=1)
        rows, last = np.arange(len(order)), np.minimum(whole, data.types - 1)
        before, spent = (np.where(whole > 0, each[rows, whole - 1], 0) for each in (units, paid))
        part = np.where(np.isfinite(price[rows, last]) & (price[rows, last] > 0), price[rows, last], np.inf)
        # clipped: at small prices the quotient is more than integers hold
        further = np.clip(np.floor((budget - spent) / part), -1.0, self._most)
        most = np.minimum(self._most, before + further.astype(np.int64))
        least = np.maximum(1, data.least[self._job])
        ways = np.maximum(0, most - least + 1)
        # one case for each size from least to most
        job = np.repeat(self._job, ways)
        size = np.arange(len(job)) - np.repeat(np.cumsum(ways) - ways, ways) + np.repeat(least, ways)
        level = np.repeat(self._level, ways)
        ring = data.traffic[job] / self.bandwidths[level] * ((size - 1) / size)
        cases, step = Cases(job, level, size, ring), max(1, _NUMBERS // data.types)
        return [cases.take(np.arange(begin, min(begin + step, len(job)))) for begin in range(0, len(job), step)]

    def _probe(self, cases: Cases, at: Floats, prices: Floats) -> Probed:
        """Evaluate cases at an R0 each; the bound is lowered by its rounding."""
        slope, _, rates, order, taken = self.units(cases, at, prices)
        counts = np.zeros_like(taken)
        np.put_along_axis(counts, order, taken, axis=1)
        rate, paid = row_dots(counts, rates), dot(counts, prices)
        top = self.value(cases, at) + slope * at + paid
        bound = top - slope * rate - self._power * _ROUNDING * (top + slope * rate)
        return Probed(bound, counts, rate, self.value(cases, rate) + paid)

    def _ends(self, cases: Cases) -> tuple[Floats, Floats]:
        """Rates that the cheapest units of a case lie between."""
        rates = self.data.rates[cases.job]
        allowed = self.fast[cases.level] & (rates > 0)
        low = np.where(allowed, rates, np.inf).min(axis=1)
        return cases.size * low, cases.size * np.where(allowed, rates, 0.0).max(axis=1)

    def _refine(self, cases: Cases, prices: Floats, limit: Floats, known: Floats, floor: Floats) -> list[Rows]:
        """Raise the bounds of cases until they are above what is ``known``, or R0 is settled; both arrays are lowered."""
        low, high = self._ends(cases)
        best = np.full(len(low), -np.inf)
        rows: list[Rows] = []
        # halve the logarithm of R0: the bound is concave in lambda, its slope is R0 less the units' rate
        for _ in range(HALVINGS):
            if not len(cases.job):
                return rows
            at = np.sqrt(low) * np.sqrt(high)
            probed = self._probe(cases, at, prices)
            good = np.flatnonzero(probed.value <= limit[cases.job])
            rows.append((cases.job[good], probed.value[good], probed.counts[good]))
            np.minimum.at(known, cases.job[good], probed.value[good])
            best = np.maximum(best, probed.bound)
            low, high = np.where(probed.rate > at, at, low), np.where(probed.rate > at, high, at)
            open_ = (best < known[cases.job] * (1 - _WIDENED)) & (high > low * (1 + _NARROW))
            done = ~open_ & (best < known[cases.job])
            np.minimum.at(floor, cases.job[done], best[done])
            cases, low, high, best = cases.take(open_), low[open_], high[open_], best[open_]
        np.minimum.at(floor, cases.job, best)
        return rows

    def _settled(self, cases: Cases, prices: Floats, upto: Floats) -> tuple[Cases, Floats, Floats]:
        """Cases whose bound is not above the thresholds, at their best R0, and that bound."""
        low, high = self._ends(cases)
        # as in ``_refine``, but cases are dropped only when their bound exceeds the threshold
        best, at_best = np.full(len(low), -np.inf), low.copy()
        for _ in range(HALVINGS):
            at = np.sqrt(low) * np.sqrt(high)
            probed = self._probe(cases, at, prices)
            better = probed.bound > best
            best, at_best = np.where(better, probed.bound, best), np.where(better, at, at_best)
            low, high = np.where(probed.rate > at, at, low), np.where(probed.rate > at, high, at)
            open_ = best <= upto[cases.job]
            cases, low, high, best, at_best = cases.take(open_), low[open_], high[open_], best[open_], at_best[open_]
            if not len(low) or (high <= low * (1 + _NARROW)).all():
                break
        return cases, at_best, best


def _joined(rows: list[Rows]) -> Rows:
    job, value, counts = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    return job, value, counts


def _nothing(types: int) -> Rows:
    """No job, no value, no configuration."""
    return np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, types), dtype=np.int64)


def first_pool(data: Arrays, start: Counts) -> Pool:
    """The configurations of a placement, for ``columns.generation.generate`` to add to."""
    return Pool(Pricing(data), data.stock, start, data.total(start))


def first_prices(data: Arrays, upper: float) -> Floats:
    """Prices that divide half of a placement's cost among the workers, by their rates over each job's best."""
    fast = data.rates.max(axis=1, keepdims=True)
    worth: Floats = (data.rates / fast).mean(axis=0)
    return worth * (upper / 2 / float(dot(worth, data.stock)))
