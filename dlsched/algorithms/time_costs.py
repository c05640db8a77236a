"""Costs that algorithms minimise in place of the objective: > 0 and rising with a job's completion time J.

``Costs`` are the times themselves, for their mean; ``Ratio`` and ``Fair`` override methods for other
objectives.

With y = J / J(equal share) and p = alpha - 1 the utility of a job is U = -y^p / p, and -ln y for p = 0. Let y* be no more than
any y. Then ``Fair`` costs

    y*^p (1 + ((y / y*)^p - 1) / p),     1 + ln(y / y*) for p = 0:     the utility at y* and y*^p, less U

which is at least y*^p, however the signs of utilities are; the sum of U is the sum of ``offset`` less the costs. In the rate R
of a job's workers all of them are convex at a fixed ring, since U is concave and rises, and 1 / y is concave in R and rises.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dlsched.core.arrays import FloatArray as Floats
from dlsched.core.arrays import IntArray
from dlsched.core.elementary import exp, expm1, float_power, log

Jobs = int | slice | IntArray
_LARGEST = 600.0  # largest logarithm of a cost, so that sums of costs are finite


@dataclass(frozen=True, slots=True, eq=False)
class Costs:
    """The times themselves; the last axis of times has one entry per job asked for. ``equal``, shape (S,): unit of time."""

    bottleneck: ClassVar[bool] = False
    """Whether the largest of the costs is minimised, not their sum."""

    equal: Floats

    @property
    def offset(self) -> Floats:
        """Sum of a job's cost and its part of the objective, shape (S,), if it is the same for all times."""
        return np.zeros(len(self.equal))

    @property
    def steepness(self) -> float:
        """By how much larger a relative error of a cost can be than that of its time, at least 1."""
        return 1.0

    @property
    def divisors(self) -> Floats:
        """Divisors that turn seconds into parts of the objective, shape (S,), if it is linear in seconds."""
        return self.equal * len(self.equal)

    def of(self, job: Jobs, times: Floats) -> Floats:
        """Cost of every time."""
        del job
        return times

    def sloped(self, slopes: Floats, job: Jobs, times: Callable[[], Floats]) -> Floats:
        """Slopes of costs, from those of times."""
        del job, times
        return slopes

    def parts(self, job: Jobs, costs: Floats, times: Floats) -> Floats:
        """Return the jobs' contributions to the objective, from their costs and times."""
        del job, times
        return costs / len(self.equal)

    def multipliers(self, prices: Floats) -> Floats:
        """Multipliers of the rows of the stock in the objective, from prices in costs."""
        return -(prices / len(self.equal))

    def objective(self, total: float) -> float:
        """Objective that belongs to the minimised ``total``."""
        return total / len(self.equal)


@dataclass(frozen=True, slots=True, eq=False)
class Fair(Costs):
    """Costs of alpha-fair utilities; ``power`` is p = alpha - 1, ``least`` a lower bound on each job's J, seconds, shape (S,)."""

    power: float
    least: Floats

    @property
    def scale(self) -> Floats:
        """y*^p, shape (S,)."""
        return float_power(self.least / self.equal, self.power)

    @property
    def offset(self) -> Floats:
        """Cost and utility together, shape (S,)."""
        if self.power == 0:
            return 1 - log(self.least / self.equal)
        return self.scale * (1 - 1 / self.power)

    @property
    def steepness(self) -> float:
        """The power of a cost, at least 1."""
        return max(1.0, self.power + 1)

    def of(self, job: Jobs, times: Floats) -> Floats:
        """Cost of every time."""
        # log and expm1 keep the digits of times close to the least.
        longer = log(times / self.least[job])
        if self.power == 0:
            return 1 + longer
        return self.scale[job] * (1 + expm1(self.power * longer) / self.power)

    def utilities(self, job: Jobs, times: Floats) -> Floats:
        """U of every time."""
        ratio = times / self.equal[job]
        return -log(ratio) if self.power == 0 else -float_power(ratio, self.power) / self.power

    def slopes(self, job: Jobs, times: Floats) -> Floats:
        """Cost of a further second, at every time."""
        return self.scale[job] * float_power(times / self.least[job], self.power) / times

    def sloped(self, slopes: Floats, job: Jobs, times: Callable[[], Floats]) -> Floats:
        """Slopes of costs, from those of times."""
        return slopes * self.slopes(job, times())

    def parts(self, job: Jobs, costs: Floats, times: Floats) -> Floats:
        """U of every time."""
        del costs
        return self.utilities(job, times)

    def multipliers(self, prices: Floats) -> Floats:
        """Return the prices, since the minimised costs and the objective add up to the offsets."""
        return prices

    def objective(self, total: float) -> float:
        """The offsets less the costs."""
        return float(self.offset.sum()) - total


@dataclass(frozen=True, slots=True, eq=False)
class Ratio(Costs):
    """The ratio J / J(equal share), of which the largest is minimised."""

    bottleneck: ClassVar[bool] = True

    @property
    def divisors(self) -> Floats:
        """J(equal share)."""
        return self.equal

    def of(self, job: Jobs, times: Floats) -> Floats:
        """Cost of every time."""
        return times / self.equal[job]

    def parts(self, job: Jobs, costs: Floats, times: Floats) -> Floats:
        """The ratios, none of which may be above the objective."""
        del job, times
        return costs

    def objective(self, total: float) -> float:
        """The largest ratio."""
        return total


@dataclass(frozen=True, slots=True, eq=False)
class Power(Costs):
    """A power of the ratio J / ``equal``: the larger the power, the more the largest dominates their sum."""

    power: float

    def of(self, job: Jobs, times: Floats) -> Floats:
        """Cost of every time."""
        return exp(np.minimum(self.power * log(times / self.equal[job]), _LARGEST))
