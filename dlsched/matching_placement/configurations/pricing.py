"""The configurations of a job that are cheap at prices per type: J_i(c) + p c at most a threshold, all of them.

A label is a number n of workers and what the types looked at so far give of it: R' of the rate, P' of the price. Types
are looked at by rising bandwidth, so the first that gives a worker is the ring's slowest. What a label can still become
is bounded below by tangents: for every R0 > 0, w / R >= 2 w / R0 - w R / R0^2 (w / R is convex), so with
lambda = w / R0^2

    w / R + P >= 2 w / R0 - lambda R' + P' + min over the m units still to come of sum (p_g - lambda rho_g),

and that minimum takes the m cheapest units of the types to come. The R0 are a geometric grid; for every n the one with
the best bound at the root serves all labels of that n, and its neighbours beside it. Communication is added with the
ring's slowest type, or before one is chosen with the fastest to come. Labels above the threshold are dropped, so what
is left at the end is all there is. The cheapest units themselves are configurations: ``guess`` evaluates those.
"""

from functools import cached_property, partial

import numpy as np

from dlsched.algorithms.count_vectors import run_lengths
from dlsched.columns.slack import CELLS, Listed
from dlsched.core.budget import Tick, TooMany, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, Floats

TANGENTS = 64
"""Size of the grid of R0; the nearest is off by at most a few per cent, its bound by the square of that."""
GUESSES = 8
_NEIGHBOURS = (-2, 2)
_BATCH = 200_000
_ROUNDING = 1e-10  # relative, by which a threshold is widened: sums of many rates are rounded many times


class Pricing:
    """The pricing problem of one job; built once, asked at many prices."""

    def __init__(self, arrays: Arrays, job: int) -> None:
        able = arrays.able(job)
        self.costs = partial(arrays.cost, job)
        self.kinds = able[np.argsort(arrays.bandwidth[able], kind="stable")]
        self.all_kinds = arrays.types
        self.rates = arrays.rates[job][self.kinds]
        self.most, self.least = int(arrays.most[job]), int(arrays.least[job])
        self.stock = np.minimum(arrays.stock[self.kinds], self.most)
        self.work = float(arrays.work[job])
        self.exchange = arrays.traffic[job] / arrays.bandwidth[self.kinds]
        falling = np.argsort(-self.rates)
        fastest = np.repeat(self.rates[falling], self.stock[falling])[: self.most].sum()
        self.points = np.geomspace(self.rates.min() * self.least, fastest, TANGENTS)
        self.slopes = self.work / self.points**2
        self.after = np.append(np.cumsum(self.stock[::-1])[::-1], 0)

    @cached_property
    def sizes(self) -> Counts:
        """Numbers of workers that the job may have."""
        return np.arange(self.least, min(self.most, int(self.stock.sum())) + 1)

    def _units(self, prices: Floats, first: int) -> tuple[Counts, Floats]:
        """Type of the m-th cheapest unit of types ``first`` .. at every tangent, and its p - lambda rho; shape (K, units)."""
        linear = prices[self.kinds][first:] - np.outer(self.slopes, self.rates[first:])
        order = np.argsort(linear, axis=1, kind="stable")
        stock = self.stock[first:][order]
        kinds = np.repeat(order.ravel(), stock.ravel()).reshape(len(self.slopes), -1)[:, : self.most]
        return kinds + first, np.take_along_axis(linear, kinds, axis=1)

    def guess(self, prices: Floats) -> Listed:
        """Evaluate the cheapest units at every bandwidth, tangent and size; the best ``GUESSES``, cheapest first."""
        levels = np.flatnonzero(np.diff(self.exchange, prepend=np.inf))
        counts, values = [], []
        for first in levels[self.after[levels] >= self.least].tolist():
            kinds, _ = self._units(prices, first)
            rate = np.cumsum(self.rates[kinds], axis=1)
            paid = np.cumsum(prices[self.kinds][kinds], axis=1)
            exchange = np.maximum.accumulate(self.exchange[kinds], axis=1)
            size = np.arange(1, kinds.shape[1] + 1)
            each = self._priced(rate, paid, exchange * ((size - 1) / size))[:, self.least - 1 :]
            tangent = np.argmin(each, axis=0)
            best = each[tangent, np.arange(each.shape[1])]
            for index in np.argsort(best, kind="stable")[:GUESSES].tolist():
                taken = kinds[tangent[index], : index + self.least]
                counts.append(np.bincount(self.kinds[taken], minlength=self.all_kinds))
                values.append(float(best[index]))
        order = np.argsort(values, kind="stable")[:GUESSES]
        return Listed(np.array(counts, dtype=np.int64)[order], np.array(values)[order])

    def cheap(self, prices: Floats, threshold: float, *, cells: int | None = None, tick: Tick = no_tick) -> Listed:
        """List every configuration with J(c) + p c <= threshold, cheapest first; ``tick`` is called at every type.

        Raises
        ------
        TooMany
            Labels of more than ``cells`` numbers at once (None: ``CELLS``).
        """
        threshold += _ROUNDING * abs(threshold)
        most = (CELLS if cells is None else cells) // (len(self.kinds) + 10)
        exchange = np.minimum.accumulate(self.exchange[::-1])[::-1]  # of the fastest type to come
        totals = [self._totals(prices, first) for first in range(len(self.kinds))] + [np.zeros((TANGENTS, 1))]
        sizes = self.sizes
        lines, shared = self._root()
        root = lines + totals[0][:, sizes]
        tangent = np.argmax(root, axis=0)
        kept = np.flatnonzero(root[tangent, np.arange(len(sizes))] + shared <= threshold)
        parts = []
        batch = max(1, _BATCH // max(1, int(self.stock.max(initial=1))))
        for begin in range(0, len(kept), batch):
            chosen = kept[begin : begin + batch]
            parts.append(self._grow(prices, threshold, sizes[chosen], tangent[chosen], totals, exchange, most, tick))
        counts = np.concatenate([part.counts for part in parts] or [np.zeros((0, self.all_kinds), dtype=np.int64)])
        values = np.concatenate([part.values for part in parts] or [np.zeros(0)])
        order = np.argsort(values, kind="stable")
        return Listed(counts[order], values[order])

    def floor(self, prices: Floats) -> float:
        """Return a lower bound on the least J(c) + p c, from the labels at the root alone."""
        sizes = self.sizes
        lines, shared = self._root()
        root = lines + self._totals(prices, 0)[:, sizes]
        return float((root.max(axis=0) + shared).min()) * (1 - _ROUNDING)

    def _priced(self, rate: Floats, paid: Floats, ring: Floats) -> Floats:
        """What workers of a rate and a price cost, whose ring takes some seconds."""
        return self.work / rate + paid + ring

    def _root(self) -> tuple[Floats, Floats]:
        """Intercepts of the tangents by tangent and size, and by size what a ring adds at least."""
        return 2 * self.work / self.points[:, None], self.exchange.min() * ((self.sizes - 1) / self.sizes)

    def _lines(self, tangent: Counts, size: Counts, slowest: Counts) -> Floats:
        """Intercepts of tangents for labels; the position of the ring's slowest type is known, or that of the fastest to come."""
        return 2 * self.work / self.points[tangent]

    def _known(self, paid: Floats, ring: Floats) -> Floats:
        """What is added to a label's tangent."""
        return paid + ring

    def _ended(self, rate: Floats, ring: Floats) -> Floats:
        """What a label that is complete costs beyond what is known."""
        return self.work / rate

    def _totals(self, prices: Floats, first: int) -> Floats:
        _, linear = self._units(prices, first)
        return np.concatenate((np.zeros((TANGENTS, 1)), np.cumsum(linear, axis=1)), axis=1)

    def _grow(
        self,
        prices: Floats,
        threshold: float,
        size: Counts,
        tangent: Counts,
        totals: list[Floats],
        exchange: Floats,
        most: int,
        tick: Tick,
    ) -> Listed:
        """Extend labels type by type; ``size`` and ``tangent`` have one entry for each label at the root, ``most`` at once."""
        rows = np.zeros((len(size), len(self.kinds)), dtype=np.int64)
        left, rate, paid = size.copy(), np.zeros(len(size)), np.zeros(len(size))
        slowest = np.full(len(size), -1)
        for kind in range(len(self.kinds)):
            tick()
            low = np.maximum(0, left - self.after[kind + 1])
            ways = np.maximum(0, np.minimum(left, self.stock[kind]) - low + 1)
            if int(ways.sum()) > most:
                raise TooMany
            kept = np.repeat(np.arange(len(left)), ways)
            added = run_lengths(ways) + low[kept]
            left_now = left[kept] - added
            rate_now = rate[kept] + added * self.rates[kind]
            paid_now = paid[kept] + added * prices[self.kinds[kind]]
            slowest_now = np.where((slowest[kept] < 0) & (added > 0), kind, slowest[kept])
            to_come = exchange[kind + 1] if kind + 1 < len(self.kinds) else 0.0
            ring = np.where(slowest_now >= 0, self.exchange[slowest_now], to_come) * ((size[kept] - 1) / size[kept])
            known = self._known(paid_now, ring)
            if kind + 1 < len(self.kinds):
                bound = np.full(len(kept), -np.inf)
                for shift in (0, *_NEIGHBOURS):
                    index = np.clip(tangent[kept] + shift, 0, TANGENTS - 1)
                    line = self._lines(index, size[kept], slowest_now) - self.slopes[index] * rate_now
                    np.maximum(bound, line + totals[kind + 1][index, left_now], out=bound)
            else:
                bound = self._ended(rate_now, ring)
            good = np.flatnonzero(bound + known <= threshold)
            kept, left, rate, paid, slowest = (
                kept[good],
                left_now[good],
                rate_now[good],
                paid_now[good],
                slowest_now[good],
            )
            values = (bound + known)[good]
            rows, size, tangent = rows[kept], size[kept], tangent[kept]
            rows[:, kind] = added[good]
        counts = np.zeros((len(rows), self.all_kinds), dtype=np.int64)
        counts[:, self.kinds] = rows
        return Listed(counts, values)
