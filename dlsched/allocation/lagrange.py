"""The best price of a unit: the Lagrangian (= linear programming) optimum of a cost table, from the jobs' demand.

==================  =======================================================================================
code                mathematics
==================  =======================================================================================
``price``           lambda >= 0, cost of one unit
``L(lambda)``       sum_j min_w (cost_j(w) + lambda w) - lambda C, a lower bound for every lambda
``Frontier``        lambda* that maximises L, and two choices that attain the minima there (up to rounding)
``Demand``          units at a price, if each job takes the first count that minimises cost + price x count
==================  =======================================================================================

The minima move to smaller counts as the price rises. The search keeps a choice that fits (from a price too high) and
one that does not (too low), and next tries the price at which the two cost the same: either nothing is cheaper there,
and the price is optimal, or a new choice replaces one of them (the cutting-plane method on the concave function L).
Counts outside the two choices, or above the line through a job's two, minimise at no price in between and are
dropped, so that each pass looks at a fraction of the pairs of the one before (after Dyer 1984, Zemel 1984).

The first prices come from the demand of a sample of the jobs, a falling curve: between two known points it is treated as a
power of the price, and beyond the dearest as the inverse of the price's square root, as of jobs with times near 1 / count.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np

from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.relevant_pairs import RelevantPairs, first_minima, minima
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.elementary import float_power, log
from dlsched.core.limits import Tick, no_tick

_SAMPLE = 2**15  # pairs of a sample of the jobs
_WORTHWHILE = 4  # a sample pays if the table has this many times its pairs, and it has this many jobs
_NEAR = 0.03  # tolerance of the first price, as a share of the sample's units
_BEYOND = 1.3  # the second price aims back by this multiple of the units that the first missed


@dataclass(frozen=True, slots=True, eq=False)
class Frontier:
    """Two choices of one pair per job, shape (J,), that minimise cost + ``price`` x count: one fits, one need not."""

    price: float
    fits: IntArray
    exceeds: IntArray


def best_price(
    table: CostTable, capacity: int, *, tick: Tick = no_tick, relevant: RelevantPairs | None = None
) -> Frontier | None:
    """Maximise the Lagrangian bound; None when even the smallest counts exceed ``capacity``.

    Passes are linear in the pairs still active, which shrink geometrically in practice; ``tick`` is called before each.
    """
    if table.minimum_units > capacity:
        return None
    relevant = RelevantPairs(table) if relevant is None else relevant
    chosen: dict[float, IntArray] = {}

    def units_at(price: float) -> int:
        chosen[price] = relevant.cheapest(price, next(reversed(chosen.values()), None))
        return int(table.counts[chosen[price]].sum())

    low, high, excess = bracket(table, capacity, units_at, tick)
    if high is None:
        assert low is not None
        return Frontier(0.0, chosen[low], chosen[low])
    fits = table.first.copy() if low is None else chosen[low]
    return closed(table, fits, chosen[high], excess, tick)


class Sampled(Protocol):
    """What the first prices need of a table: its numbers of jobs and pairs, and the table of some jobs."""

    @property
    def jobs(self) -> int: ...  # noqa: D102
    @property
    def pairs(self) -> int: ...  # noqa: D102
    def of_jobs(self, jobs: IntArray, /) -> CostTable: ...  # noqa: D102


def bracket(
    table: Sampled, capacity: int, units_at: Callable[[float], int], tick: Tick
) -> tuple[float | None, float | None, int]:
    """Return a price at which ``units_at`` fit, one at which they exceed the capacity, and by how much; None: none was met."""
    fits: float | None = None
    exceeds: float | None = None
    latest = excess = 0
    prices = _likely_prices(table, capacity, lambda: latest, tick)
    while fits is None or exceeds is None:
        price = next(prices, None)
        if price is None:
            break
        tick()
        latest = units_at(price) - capacity
        if latest > 0:
            exceeds, excess = price, latest
        else:
            fits = price
    return fits, exceeds, excess


def _likely_prices(table: Sampled, capacity: int, excess: Callable[[], int], tick: Tick) -> Iterator[float]:
    """Yield two prices, from a sample of many jobs, likely on either side of the best; and 0 unless one exceeds the capacity."""
    every, above = table.pairs // _SAMPLE, False
    if every >= _WORTHWHILE and table.jobs >= _WORTHWHILE * every:
        sample = table.of_jobs(np.arange(every // 2, table.jobs, every))
        share, demand = table.jobs / sample.jobs, Demand(sample)
        units = capacity / share
        within = _NEAR * units
        for _ in range(2):
            price, taken = demand.price_for(max(sample.minimum_units, units), within, tick)
            yield price
            above = above or excess() > 0
            units = taken - _BEYOND * excess() / share - math.copysign(2.0, excess())
            within = max(1.0, abs(excess()) / share / 8)
    if not above:
        yield 0.0


def closed(table: CostTable, fits: IntArray, exceeds: IntArray, excess: int, tick: Tick) -> Frontier:
    """Close in on the best price between two choices, of which one exceeds the capacity by ``excess``."""
    active = Active.of(table, fits, exceeds)
    while True:
        tick()
        low, high = active.starts[:-1], active.starts[1:] - 1
        # The price at which both choices cost the same, over all undecided jobs.
        price = float((active.costs[low] - active.costs[high]).sum() / (active.counts[high] - active.counts[low]).sum())
        values = active.costs + price * active.counts
        lowest = first_minima(values, active.starts)
        fewer = int((active.counts[high] - active.counts[lowest]).sum())
        gain = float((values[low] - values[lowest]).sum())
        if fewer == 0 or gain <= 1e-13 * float(np.abs(values[low]).sum()):
            return Frontier(price, fits, exceeds)
        if fewer >= excess:
            fits[active.rows] = active.pairs[lowest]
            active = active.narrowed(lowest, high)
        else:
            exceeds[active.rows] = active.pairs[lowest]
            excess -= fewer
            active = active.narrowed(low, lowest)


@dataclass(frozen=True, slots=True, eq=False)
class Active:
    """The undecided jobs and the pairs that may still be minimisers: a job's first one fits, its last one exceeds."""

    rows: IntArray  # jobs, shape (U,)
    starts: IntArray  # segments of the arrays below, shape (U + 1,)
    pairs: IntArray  # indices into the table
    counts: IntArray
    costs: FloatArray

    @classmethod
    def of(cls, table: CostTable, fits: IntArray, exceeds: IntArray) -> Self:
        """Return the jobs for which two choices of a table differ, and their pairs from one choice to the other."""
        return cls.between(np.arange(table.jobs), None, table, fits, exceeds)

    @classmethod
    def between(
        cls, rows: IntArray, pairs: IntArray | None, source: "CostTable | Active", low: IntArray, high: IntArray
    ) -> Self:
        """Keep every job's pairs low .. high that lie below the line through these two; ``pairs`` None: all."""
        counts, costs = source.counts, source.costs
        undecided = low < high
        rows, low, high = rows[undecided], low[undecided], high[undecided]
        lengths = high - low + 1
        ends = np.cumsum(lengths)
        index = np.arange(ends[-1] if len(ends) else 0) + np.repeat(low - (ends - lengths), lengths)
        # Slope of the line through a job's first and last pair; only pairs below it can be minima in between.
        slope = (costs[low] - costs[high]) / (counts[high] - counts[low])
        keep = costs[index] + np.repeat(slope, lengths) * counts[index] < np.repeat(
            costs[low] + slope * counts[low], lengths
        )
        keep[ends - lengths] = keep[ends - 1] = True
        starts = np.concatenate(([0], np.cumsum(np.add.reduceat(keep, ends - lengths, dtype=np.int64))))
        index = index[keep]
        return cls(rows, starts, index if pairs is None else pairs[index], counts[index], costs[index])

    def narrowed(self, low: IntArray, high: IntArray) -> Self:
        """Return the jobs and pairs that are undecided between two choices, given as positions in these arrays."""
        return self.between(self.rows, self.pairs, self, low, high)


_ASKED = 8  # largest number of points computed for one answer
_LEAST, _MOST = 0.1, 0.9  # range of a new point between its neighbours, in powers: not too near either


class Demand:
    """The curve of a table, and its known points: prices, ascending, and units."""

    def __init__(self, table: CostTable) -> None:
        self._table = table
        free = minima(table.starts, table.counts, table.costs, 0.0)
        taken = int(table.counts[free].sum())
        self._points = [(0.0, taken)]
        saved = float((table.costs[table.first] - table.costs[free]).sum())
        self._typical = saved / max(1, taken - table.minimum_units)  # what a unit saves on average

    def price_for(self, units: float, within: float, tick: Tick) -> tuple[float, int]:
        """Return a price at which jobs take about ``units``, and these units; else the nearest of some tries."""
        for _ in range(_ASKED):
            price, taken = min(self._points, key=lambda point: abs(point[1] - units))
            if abs(taken - units) <= within or (price == 0.0 and taken <= units):
                break
            tick()
            self._ask(self._next(units))
        return min(self._points, key=lambda point: abs(point[1] - units))

    def _next(self, units: float) -> float:
        """Estimate the price for so many units."""
        index = sum(taken > units for _, taken in self._points)
        (low, more), dearer = self._points[index - 1], self._points[index : index + 1]
        if not dearer:
            return low * float_power(more / max(units, 1.0), 2) if low else self._typical
        high, fewer = dearer[0]
        if not low:
            return high / 4
        # Between two known points the demand is a power of the price: interpolate in logarithms.
        share = log(more / max(units, 1.0)) / log(more / fewer)
        return low * float_power(high / low, min(_MOST, max(_LEAST, share)))

    def _ask(self, price: float) -> None:
        table = self._table
        chosen = minima(table.starts, table.counts, table.costs, price)
        self._points = sorted([*self._points, (price, int(table.counts[chosen].sum()))])
