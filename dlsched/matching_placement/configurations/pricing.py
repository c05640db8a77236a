"""The least J_i(c) + p c of every job at prices p of the types: bounds of all jobs at once, and configurations near them.

A configuration has a slowest type, of bandwidth r, and a number n of workers. These two fix its ring, so its
cost h(R) depends only on the rate R; h is convex and falls (``arrays``; for the mean, h(R) = w / R + the
ring's seconds). So for every R0, with lambda = -h'(R0),

    h(R) + P >= h(R0) + lambda (R0 - R) + P >= h(R0) + lambda R0 + min over n units of sum (p_g - lambda rho_g),

and that minimum takes the n cheapest units of the types of bandwidth r or more. The bound is concave in
lambda, with slope R0 less the rate of these units, so R0 is found by halving; and the units themselves are
configurations. A *case* is a job with an r and an n. It is dropped when its bound is above the job's known
value; few cases survive, so R0 is refined only where it pays. ``deviations`` lists all configurations
between the bound and the known value.
"""

from dataclasses import dataclass

import numpy as np

from dlsched.columns.slack import CELLS, Listed, Priced
from dlsched.core.arrays import dot, row_dots
from dlsched.core.limits import Tick, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, Floats
from dlsched.matching_placement.configurations.cases import CaseCosts, Cases
from dlsched.matching_placement.configurations.deviations import deviations

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
    """The pricing problems of all jobs; built once, asked at many prices."""

    def __init__(self, data: Arrays) -> None:
        super().__init__(data)
        able = data.rates > 0
        there = np.stack([(able & (data.bandwidth == each)).any(axis=1) for each in self.bandwidths], axis=1)
        quiet = data.traffic == 0
        there[quiet] &= np.cumsum(there[quiet], axis=1) == 1  # nothing is sent: one ring is as good as another
        usable = np.stack([dot(able & each, data.stock) for each in self.fast], axis=1)
        self._job, self._level = np.nonzero(there & (usable >= np.maximum(1, data.least)[:, None]))
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
        held, known, floor = known, known.copy(), np.full(self.groups, np.inf)
        found: list[tuple[Counts, Floats, Counts]] = []
        for cases in self._batches(prices, known):
            tick()
            for job, value, counts in self._refine(cases, prices, held, known, floor):
                found.append((job, value, counts))
        every = [np.concatenate([each[part] for each in found]) for part in range(3)] if found else []
        return Priced(np.minimum(floor, known), known, *(every or _nothing(self.data.types)))

    def cheap(
        self, prices: Floats, thresholds: Floats, *, cells: int | None = None, tick: Tick = no_tick
    ) -> list[Listed | None]:
        """List every job's configurations with J(c) + p c at most its threshold; see ``columns.slack.Pricing``."""
        upto = thresholds + _WIDENED * np.abs(thresholds)
        found, many = [], np.zeros(self.groups, dtype=bool)
        for cases in self._batches(prices, upto):
            tick()
            kept, at, bound = self._settled(cases, prices, upto)
            found += deviations(self, kept, at, bound, prices, upto, many, CELLS if cells is None else cells, tick)
        job, value, counts = (
            (np.concatenate([each[part] for each in found]) for part in range(3))
            if found
            else _nothing(self.data.types)
        )
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
        further = np.clip(
            np.floor((budget - spent) / part), -1.0, self._most
        )  # at small prices more than integers hold
        most = np.minimum(self._most, before + further.astype(np.int64))
        least = np.maximum(1, data.least[self._job])
        ways = np.maximum(0, most - least + 1)
        job = np.repeat(self._job, ways)
        size = np.arange(len(job)) - np.repeat(np.cumsum(ways) - ways, ways) + np.repeat(least, ways)
        level = np.repeat(self._level, ways)
        ring = data.traffic[job] / self.bandwidths[level] * ((size - 1) / size)
        cases, step = Cases(job, level, size, ring), max(1, _NUMBERS // data.types)
        return [cases.take(np.arange(begin, min(begin + step, len(job)))) for begin in range(0, len(job), step)]

    def _probe(self, cases: Cases, at: Floats, prices: Floats) -> Probed:
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

    def _refine(
        self, cases: Cases, prices: Floats, held: Floats, known: Floats, floor: Floats
    ) -> "list[tuple[Counts, Floats, Counts]]":
        """Raise the bounds of cases until they are above what is ``known``, or R0 is settled; both arrays are lowered."""
        low, high = self._ends(cases)
        best = np.full(len(low), -np.inf)
        found: list[tuple[Counts, Floats, Counts]] = []
        for _ in range(HALVINGS):
            if not len(cases.job):
                return found
            at = np.sqrt(low) * np.sqrt(high)
            probed = self._probe(cases, at, prices)
            good = np.flatnonzero(probed.value <= held[cases.job])
            found.append((cases.job[good], probed.value[good], probed.counts[good]))
            np.minimum.at(known, cases.job[good], probed.value[good])
            best = np.maximum(best, probed.bound)
            low, high = np.where(probed.rate > at, at, low), np.where(probed.rate > at, high, at)
            open_ = (best < known[cases.job] * (1 - _WIDENED)) & (high > low * (1 + _NARROW))
            done = ~open_ & (best < known[cases.job])
            np.minimum.at(floor, cases.job[done], best[done])
            cases, low, high, best = cases.take(open_), low[open_], high[open_], best[open_]
        np.minimum.at(floor, cases.job, best)
        return found

    def _settled(self, cases: Cases, prices: Floats, upto: Floats) -> tuple[Cases, Floats, Floats]:
        """Cases whose bound is not above the thresholds, at their best R0, and that bound."""
        low, high = self._ends(cases)
        best, at_best = np.full(len(low), -np.inf), low.copy()
        for _ in range(HALVINGS):
            at = np.sqrt(low) * np.sqrt(high)
            probed = self._probe(cases, at, prices)
            better = probed.bound > best
            best, at_best = np.where(better, probed.bound, best), np.where(better, at, at_best)
            low, high = np.where(probed.rate > at, at, low), np.where(probed.rate > at, high, at)
            kept = best <= upto[cases.job]
            cases, low, high, best, at_best = cases.take(kept), low[kept], high[kept], best[kept], at_best[kept]
            if not len(low) or (high <= low * (1 + _NARROW)).all():
                break
        return cases, at_best, best


def _nothing(types: int) -> tuple[Counts, Floats, Counts]:
    return np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros((0, types), dtype=np.int64)
