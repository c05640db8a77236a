"""Utilities of 0, 1, 2 ... units as tables, with concave envelopes, steps, stretches, quotas and the price of a pool.

Utilities mu never fall: most rise ever faster and then ever slower (S-shaped), or ever slower (concave), some irregularly.

*Steps.* A utility of z units is a sum of steps; each has a number of units and the gain that they add:

mu(z) = mu(0) + max { sum_k gain_k g_k :  sum_k width_k g_k <= z,  0 <= g_k <= 1 }. Steps of a concave utility have
width 1 and gains that decrease, so the best g are whole. Steps of other utilities are cut into runs of gains
that decrease. The first g of a run is binary, at most the last g of the run before, and at least the other g
of its run. If another run follows, each g of a run is at most the one before, so that the next run needs
them all. Then the best g are whole again. In an S-shaped utility each of the first steps is a run, up to the
steepest step, which begins the last run. If all g may lie between 0 and 1, the sum is the concave envelope
of an S-shaped utility, and a function above it for other utilities.

A gain below 2**-60 of the largest one, or within the rounding of a utility that is not concave, gets no step
of its own: it joins the next step, which is then wider; after the last step it is dropped. ``hidden``
returns how much this can hide.

*Stretches* cut an S-shaped utility until it is close below the concave envelope of each; *tangents* are lines above them.
*Quotas* are the least units of every job with which its utility is at least v. The *price of a pool* that serves jobs
along their envelopes follows from a fractional greedy.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from dlsched.core.limits import Tick

CountT = TypeVar("CountT", int, float)


def upper_hull(points: Iterable[tuple[CountT, float]]) -> list[tuple[CountT, float]]:
    """Return the corners, without (0, 0), of the least concave function from (0, 0) on above points of ascending counts > 0."""
    corners: list[tuple[CountT, float]] = []
    for count, value in points:
        if value <= (corners[-1][1] if corners else 0.0):
            continue
        while corners:
            last, height = corners[-1]
            before, low = corners[-2] if len(corners) > 1 else (0, 0.0)
            if (height - low) * (count - last) > (value - height) * (last - before):
                break
            corners.pop()
        corners.append((count, value))
    return corners


Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_HAIR = 1e-13  # rounding of floats, as a share of the range of a utility


@dataclass(frozen=True, eq=False)
class UtilityTable:
    """Utility of 0 .. Z units: ``values``, shape (Z + 1,); the exact ones differ by a relative 2**-50 and ``error`` at most."""

    values: Floats
    error: float
    concave: bool

    @property
    def units(self) -> int:
        """Z."""
        return len(self.values) - 1

    @property
    def nothing(self) -> float:
        """Utility of no unit."""
        return float(self.values[0])

    @property
    def most(self) -> float:
        """Largest gain over no unit."""
        return float(self.values.max() - self.values[0])

    @property
    def upper(self) -> Floats:
        """Upper bounds of the exact utilities."""
        return self.values * (1 + 2.0**-50) + self.error

    @cached_property
    def corners(self) -> Integers:
        """The units at which the concave envelope touches the utility, ascending, from 0 to Z."""
        return np.arange(len(self.values)) if self.concave else hull(self.values)

    @cached_property
    def envelope(self) -> Floats:
        """The concave envelope, shape (Z + 1,)."""
        return np.interp(np.arange(len(self.values)), self.corners, self.values[self.corners])

    def gains(self, owned: int, most: int) -> Floats:
        """Gains of 0 .. ``most`` units added to those owned, shape (most + 1,)."""
        gains: Floats = self.values[owned : owned + most + 1] - self.values[owned]
        return gains

    def slope(self, count: int) -> tuple[float, int]:
        """The best average gain from ``count`` units on, and how many more it takes; (0, 0) where there is no gain."""
        if count >= self.units:
            return 0.0, 0
        if self.concave:
            return float(self.values[count + 1] - self.values[count]), 1
        gains = (self.values[count + 1 :] - self.values[count]) / np.arange(1, len(self.values) - count)
        step = int(np.argmax(gains))
        return float(gains[step]), step + 1


def hull(values: Floats) -> Integers:
    """Corners of the upper convex hull of (z, values[z]): computed at once for an S shape, else one by one."""
    last = len(values) - 1
    if last < 1:
        return np.arange(len(values))
    # An S shape: one chord from 0 touches it, and behind the touching point every bend is a corner.
    slopes = (values[1:] - values[0]) / np.arange(1, last + 1)
    touched = last - int(np.argmax(slopes[::-1]))
    steps = np.diff(values[touched:])
    bends = touched + 1 + np.flatnonzero(steps[:-1] > steps[1:])
    corners = np.unique(np.concatenate(([0, touched], bends, [last])))
    above = np.interp(np.arange(len(values)), corners, values[corners])
    within = _HAIR * float(values.max() - values.min())
    if np.all(values <= above + within) and _bends_down(values, corners, within):
        return corners
    return np.concatenate((np.arange(touched and 1), touched + _chain(values[touched:])))


def _bends_down(values: Floats, corners: Integers, within: float) -> bool:
    """Whether no corner is below the line between its neighbours."""
    a, b, c = corners[:-2], corners[1:-1], corners[2:]
    line = values[a] + (values[c] - values[a]) * ((b - a) / (c - a))
    return bool(np.all(values[b] >= line - within))


def _chain(values: Floats) -> Integers:
    """Andrew's monotone chain."""
    found: list[int] = []
    heights: list[float] = []
    for z, value in enumerate(values.tolist()):
        while len(found) > 1 and (heights[-1] - heights[-2]) * (z - found[-1]) <= (value - heights[-1]) * (
            found[-1] - found[-2]
        ):
            found.pop()
            heights.pop()
        found.append(z)
        heights.append(value)
    return np.array(found, dtype=np.int64)


def power_of_two(value: float) -> float:
    """Return the next power of two above a number > 0, or 1 for 0: dividing by it changes no digit."""
    return math.ldexp(1.0, math.frexp(value)[1]) if value > 0 else 1.0


_NOTHING = 2.0**-60  # share of the largest gain up to which a gain gets no step of its own
_SMALLEST_GAIN = 1e-9  # relative amount by which a gain must exceed the one before to begin a run
_ROUNDING = 2.0**-49  # relative rounding of two floats of a utility


class Step(NamedTuple):
    """Units, what they add to the utility, whether g is binary, and the step (from 0) that it needs, if any."""

    width: int
    gain: float
    binary: bool
    after: int | None


def steps(table: UtilityTable) -> list[Step]:
    """Steps of a utility, in order."""
    values = table.values.tolist()
    # Table differences; a gain below ``least`` joins the next step.
    gains = [there - here for here, there in pairwise(values)]
    if not gains or max(gains) <= 0:
        return []
    least = max(gains) * _NOTHING
    if table.concave:
        return [Step(1, gain, False, None) for gain in gains if gain > least]
    least = max(least, values[-1] * _ROUNDING)
    found: list[Step] = []
    before, first, last = 0, 0, math.inf
    for z, gain in enumerate(gains, start=1):
        if gain <= least:
            last = min(last, gain)
            continue
        starts = not found or gain > last * (1 + _SMALLEST_GAIN) + values[-1] * _ROUNDING or z - before > 1
        needs = None if not found else len(found) - 1 if starts else first
        if starts:
            found[first + 1 :] = [step._replace(after=k) for k, step in enumerate(found[first + 1 :], start=first)]
            first = len(found)
        found.append(Step(z - before, values[z] - values[before], starts, needs))
        before, last = z, gain
    return found


def hidden(table: UtilityTable, found: list[Step]) -> float:
    """Return the most by which whole steps of a utility are below it."""
    ends = np.concatenate(([0], np.cumsum([step.width for step in found], dtype=np.int64)))
    reached = ends[np.searchsorted(ends, np.arange(len(table.values)), side="right") - 1]
    return float(np.max(table.values - table.values[reached]))


Tangent = tuple[float, float]
"""Offset and slope."""

_STRETCHES = 12  # largest number of stretches of one utility
_TANGENTS = 24  # largest number of tangents of one stretch
VANISHING = 1e-9
"""Of the largest utility: what rises less is level."""
_FLAT = 1e-6  # of the largest utility: a stretch nearer to its envelope is not cut


def stretches(table: UtilityTable, unit: float) -> list[tuple[int, int]]:
    """Cut 0 .. Z where mu is farthest below the envelope of its stretch, until it is near it everywhere."""
    found = [(0, table.units)]
    while len(found) < _STRETCHES:
        worst, cut, index = max((*_farthest(table, low, high), index) for index, (low, high) in enumerate(found))
        if worst <= _FLAT * unit:
            break
        low, high = found[index]
        found[index : index + 1] = [(low, cut - 1), (cut, high)] if cut > low else [(low, low), (low + 1, high)]
    return found


def _farthest(table: UtilityTable, low: int, high: int) -> tuple[float, int]:
    """Return how far mu is below the envelope of a stretch, and the corner above, at which it is cut."""
    values = table.values[low : high + 1]
    corners = hull(values)
    below = np.interp(np.arange(len(values)), corners, values[corners]) - values
    worst = int(np.argmax(below))
    above = int(corners[np.searchsorted(corners, worst)])
    cut = above if above < len(values) - 1 or worst == 0 else worst
    return float(below[worst]), low + cut


def tangents(table: UtilityTable, low: int, high: int, unit: float) -> list[Tangent]:
    """Lines above a stretch, through corners of its envelope, more where they are farthest above it."""
    corners = hull(table.values[low : high + 1]) + low
    if len(corners) == 1:
        return [_visible(float(table.values[low] - table.values[0]), 0.0, high, VANISHING * unit)]
    values = table.values[corners] - table.values[0]
    slopes = np.diff(values) / np.diff(corners)
    chosen: dict[int, Tangent] = {}
    above = np.full(len(corners), np.inf)
    wanted = [0, len(slopes) - 1]
    while wanted and len(chosen) < _TANGENTS:
        for line in wanted:
            offset = float(values[line + 1] - slopes[line] * corners[line + 1])
            chosen[line] = offset, float(slopes[line])
            above = np.minimum(above, offset + slopes[line] * corners)
        far = int(np.argmax(above - values))
        # Refine beside the corner at which the lines are farthest above the envelope.
        near = [line for line in (far - 1, far) if 0 <= line < len(slopes) and line not in chosen]
        wanted = near if above[far] - values[far] > _FLAT * unit else []
    return [_visible(offset, slope, high, VANISHING * unit) for offset, slope in chosen.values()]


def _visible(offset: float, slope: float, high: int, least: float) -> Tangent:
    """Raise a line a little, so that no coefficient is tiny: with some of 1e-272 HiGHS 1.12 proved a wrong optimum."""
    if slope <= least:
        offset, slope = offset + slope * high, 0.0
    if abs(offset) < least:
        offset = least if offset > 0 else 0.0
    return offset, slope


class Quotas:
    """Quotas n_i(v) of jobs with utility tables: the least z with mu_i(z) >= v, or >= the job's top (``tops``) if less.

    mu_i is taken from ``upper``, which is never below the exact utility, and made non-decreasing: since the exact utility does
    not fall, an upper bound for more units is one for fewer. So every z with an exact utility >= v is at least n_i(v).
    """

    def __init__(self, tables: Sequence[UtilityTable]) -> None:
        self._upper = [np.minimum.accumulate(table.upper[::-1])[::-1] for table in tables]
        self.tops: Floats = np.array([float(upper[-1]) for upper in self._upper])
        self._values = np.unique(np.concatenate(self._upper))

    def at(self, value: float) -> list[int]:
        """n_i(v) of every job."""
        tops = self.tops.tolist()
        return [int(np.searchsorted(upper, min(value, top))) for upper, top in zip(self._upper, tops, strict=True)]

    def largest(self, prices: Sequence[Fraction], supply: Fraction, most: float | None = None) -> float:
        """Return the largest utility v <= ``most`` (the least top) of a job and units with sum_i prices_i n_i(v) <= supply.

        Prices and supply are >= 0; with v the least utility of no unit, all n_i are 0.
        """
        most = float(self.tops.min()) if most is None else most
        low, high = 0, int(np.searchsorted(self._values, most, side="right"))
        # Quotas change only at utilities of some table: bisection over these.
        while high - low > 1:
            middle = (low + high) // 2
            needed = sum(
                price * n for price, n in zip(prices, self.at(float(self._values[middle])), strict=True) if price
            )
            low, high = (middle, high) if needed <= supply else (low, middle)
        return float(self._values[low])


def pool_price(
    tables: Sequence[UtilityTable],
    demand: Sequence[float],
    costs: Sequence[float],
    pool: Callable[[float], float],
    tick: Tick,
) -> float:
    """Find by bisection the least price at which the pool offers the units that are worth their price.

    A job's unit takes ``demand`` from the pool and costs ``costs`` besides. The pool offers no less at a higher price.
    """
    curves = []
    for table, share, cost in zip(tables, demand, costs, strict=True):
        tick()
        if share and len(table.corners) > 1:
            slopes = (np.diff(table.values[table.corners]) / np.diff(table.corners) - cost) / share
            curves.append((np.minimum.accumulate(slopes)[::-1], table.corners, share))

    def needed(price: float) -> float:
        return sum(
            share * float(corners[len(slopes) - int(np.searchsorted(slopes, price, side="right"))])
            for slopes, corners, share in curves
        )

    if needed(0.0) <= pool(0.0):
        return 0.0
    # Bisection over the bits of floats ends at two neighbouring floats, after at most 64 steps.
    low, high = 0, _bits(max(float(slopes[-1]) for slopes, _, _ in curves))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if needed(_float(middle)) <= pool(_float(middle)) else (middle, high)
    return _float(high)


def _bits(value: float) -> int:
    """Rank of a float > 0 among all floats."""
    return int(np.float64(value).view(np.int64))


def _float(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))
