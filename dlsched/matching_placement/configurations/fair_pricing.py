"""Pricing where costs are not the times themselves but those of alpha-fair utilities (``arrays.Fair``).

At a fixed ring of k seconds the cost g_k(R) = cost(w / R + k) is convex in the rate R, and falls. With the slopes s_j < 0 of
its tangents at the points R_j and any lambda > 0, min_R (g_k(R) + lambda R) is at least where the tangents at two
neighbours meet whose slopes have -lambda between them: an intercept for the slope -lambda, whatever the ring. So labels of
all rings share one grid of lambda, and the cheapest units to come are those of ``Pricing``; the ring stands in the intercept.
"""

from functools import cached_property

import numpy as np

from dlsched.matching_placement.arrays import Arrays, Counts, Fair, Floats
from dlsched.matching_placement.configurations.pricing import TANGENTS, Pricing

_ROUNDING = 2.0**-48  # of the terms of an intercept, which may be far above what is left of them


class FairPricing(Pricing):
    """The pricing problem of one job whose costs are those of a utility."""

    def __init__(self, arrays: Arrays, job: int, costs: Fair) -> None:
        super().__init__(arrays, job)
        self._job, self._costs = job, costs
        self._rings, self._level = np.unique(self.exchange, return_inverse=True)
        steepest, flattest = (
            self._slopes(self.points, ring * ((size - 1) / size))
            for ring, size in ((0.0, 1), (self.exchange.max(), self.most))
        )
        ends = np.concatenate((steepest, flattest))
        self.slopes = np.geomspace(ends.max(), ends.min(), TANGENTS)

    def _slopes(self, rate: Floats, ring: Floats | float) -> Floats:
        """By how much the cost falls with the rate."""
        times = self.work / rate + ring
        slopes: Floats = self._costs.slopes(self._job, times) * (self.work / rate / rate)
        return slopes

    @cached_property
    def _intercepts(self) -> Floats:
        """Of the slopes of the grid, by size and ring; shape (sizes, rings, TANGENTS)."""
        part = ((self.sizes - 1) / self.sizes)[:, None, None]
        ring = part * self._rings[:, None]
        cost = self._costs.of(self._job, self.work / self.points + ring)
        slope = self._slopes(self.points, ring)
        line = cost + slope * self.points
        # in order of the points slopes fall: where -lambda is between two of them, their tangents meet
        after = (slope[..., None, :] > self.slopes[:, None]).sum(axis=-1)
        left, right = np.clip(after - 1, 0, None), np.clip(after, None, TANGENTS - 1)

        def at(values: Floats, index: Counts) -> Floats:
            return np.take_along_axis(values, index, axis=-1)

        steep, flat = at(slope, left), at(slope, right)
        apart = steep > flat
        rate = np.where(apart, at(line, left) - at(line, right), 0.0) / np.where(apart, steep - flat, 1.0)
        rate = np.where(apart, np.clip(rate, self.points[left], self.points[right]), self.points[left])
        met = np.minimum(at(line, left) - steep * rate, at(line, right) - flat * rate) + self.slopes * rate
        rounded: Floats = met - _ROUNDING * (at(line, left) + at(line, right) + self.slopes * rate)
        return rounded

    def _priced(self, rate: Floats, paid: Floats, ring: Floats) -> Floats:
        return self._costs.of(self._job, self.work / rate + ring) + paid

    def _root(self) -> tuple[Floats, Floats]:
        return self._intercepts[:, self._level[-1]].T, np.zeros(len(self.sizes))

    def _lines(self, tangent: Counts, size: Counts, slowest: Counts) -> Floats:
        lines: Floats = self._intercepts[size - self.least, self._level[slowest], tangent]
        return lines

    def _known(self, paid: Floats, ring: Floats) -> Floats:
        return paid

    def _ended(self, rate: Floats, ring: Floats) -> Floats:
        return self._costs.of(self._job, self.work / rate + ring)


def all_pricing(arrays: Arrays) -> list[Pricing]:
    """Return the pricing problem of every job."""
    costs = arrays.costs
    if isinstance(costs, Fair):
        return [FairPricing(arrays, job, costs) for job in range(arrays.jobs)]
    return [Pricing(arrays, job) for job in range(arrays.jobs)]
