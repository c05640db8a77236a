"""Policies that weigh every job and give units, step by step, to the largest gain in weighted speed per unit.

In hindsight prices over time give each job one weight, the multiplier of its work. These policies know the present only
and estimate it: by the work that is left, or by prices at which the jobs present would be done.
"""

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence

import numpy as np

from dlsched.algorithms.upper_hull import upper_hull
from dlsched.core.arrays import FloatArray
from dlsched.core.errors import UsageError
from dlsched.elastic_stream.simulation.view import View

MOST_COUNTS = 32
"""Counts of a job that are weighed; of more, about as many in geometric steps, and the fastest."""

_RECENT = 0.1  # weight of the last time between two events in their running mean
_RATIO = 1.12  # of a price of the grid to the next smaller one
_LEAST = 0.02  # job ends per second of all units: the smallest price of the grid besides 0

Points = Sequence[tuple[int, float]]
"""Counts of a job and its speeds on them, both ascending."""


class _Weighing:
    """Serves at every arrival and end by marginal gain of weighted speed; subclasses weigh the jobs."""

    clairvoyant = False
    timeless = True

    def __init__(self) -> None:
        self._points: dict[int, Points] = {}  # by job, in epochs a second
        self._last_s = 0.0
        self._gap_s = math.inf  # running mean of the times between events
        self._price = 0.0  # gain per unit of the first step that was refused; 0: none was

    def decide(self, view: View) -> dict[int, int]:
        """Weigh the jobs and share out all units anew."""
        for job in view.ended:
            del self._points[job]
        for job in view.arrived:
            self._points[job] = useful_points(view, job)
        passed_s = view.passed_s - self._last_s
        if passed_s > 0:
            self._last_s = view.passed_s
            self._gap_s = passed_s if self._gap_s == math.inf else self._gap_s + _RECENT * (passed_s - self._gap_s)
        return self._serve(view, self._weights(view))

    def _weights(self, view: View) -> Mapping[int, float]:
        raise NotImplementedError

    def _serve(self, view: View, weights: Mapping[int, float]) -> dict[int, int]:
        """Climb the upper hulls of the weighted speeds, the steepest step first; one that does not fit is cut short."""
        curves = {job: self._weighted_points(view, job, weight) for job, weight in weights.items()}
        steps = []
        for job, curve in curves.items():
            corners = upper_hull(curve)
            for (low, less), (high, more) in zip([(0, 0.0), *corners], corners, strict=False):
                steps.append(((less - more) / (high - low), job, low, high))
        given, left, self._price = dict.fromkeys(curves, 0), view.units, 0.0
        for negated, job, low, high in sorted(steps):
            if given[job] != low:
                continue  # it was cut short before
            if high - low > left:
                self._price = self._price or -negated
                curve = curves[job]
                floor = max((value for count, value in curve if count <= low), default=0.0)
                fitting = [(value, -count) for count, value in curve if low < count <= low + left and value > floor]
                if not fitting:
                    continue
                high = -max(fitting)[1]
            given[job] = high
            left -= high - low
        return given

    def _weighted_points(self, view: View, job: int, weight: float) -> Points:
        """Weight x speed on each count, in the mean over two events or the rest of the job, and a pause before."""
        points = self._points[job]
        if view.restart_s(job) == 0:
            return [(count, weight * speed) for count, speed in points]
        span_s = min(2 * self._gap_s, view.left(job) / points[-1][1])
        return [(count, weight * speed * (span_s / (span_s + view.pause_s(job, count)))) for count, speed in points]


class Weighted(_Weighing):
    """At every arrival and end: units, step by step, to the largest gain in speed per unit and epoch left.

    The rule of ``Priced`` with weight / (epochs left) in place of a price. Guarantee: none. Knows speeds and the
    nominal work. Cost: O(n w log(n w)) an event for n jobs present with w <= 34 counts.

    Source: ours.
    """

    def _weights(self, view: View) -> dict[int, float]:
        """Weight / (epochs left)."""
        return {job: view.weight(job) / max(view.left(job), 1e-150) for job in view}


class Priced(_Weighing):
    """At every arrival and end: units, step by step, to the largest gain in speed per unit, weighed at prices to come.

    1. Jobs are ranked by the time left on their fastest count over their weight, the longest first.
    2. If they end in that order, the i longest are the last to be there, and each second with them costs as many seconds
       of flow time as they weigh together: i without weights. The i-th is weighed so that the best weighed speed of these i
       jobs on a part of the units is that. (The other units are for jobs to come.) So one follows another, the longest
       first.
    3. To these i jobs a unit of them that is left over is worth a price, for longer jobs will come: half of what a unit
       was worth at the event before (the gain of the first step refused there), times the share of the jobs seen that
       were at least as long as the i-th when they came.
    4. From no units on, jobs climb the upper hulls of the speeds so weighed, the largest gain per unit first. A step that
       does not fit is cut short. Where a change pauses, speed is the mean over the next two events or the rest of the job.

    Parameters
    ----------
    share
        Part of the units that counts in step 2, > 0 and at most 1.
    worth
        Part of the price in step 3, >= 0; 0 learns nothing.

    Guarantee: none. Without further arrivals, pauses and price, with ``share`` 1, speeds w^p and fractions of units,
    it is the optimal heSRPT. Knows speeds and the nominal work of jobs that are present or were. Cost: O(n w g) an event
    for n jobs present with w <= 34 counts, and g = O(log n) prices.

    Source: ours; for speeds w^p Berg, Vesilo and Harchol-Balter, heSRPT, IFIP Performance 2020.
    """

    def __init__(self, share: float = 0.5, worth: float = 0.5) -> None:
        super().__init__()
        if not 0 < share <= 1:
            raise UsageError(where="share", found=share, allowed="a number > 0 and at most 1")
        if not 0 <= worth < math.inf:
            raise UsageError(where="worth", found=worth, allowed="a number >= 0")
        self._share, self._worth = share, worth
        self._lengths: list[float] = []  # over weights, of all jobs seen when they came, ascending

    def _weights(self, view: View) -> dict[int, float]:
        """Rank, and weigh the longest first."""
        lengths = {job: view.left(job) / self._points[job][-1][1] / view.weight(job) for job in view}
        for job in view.arrived:
            insort(self._lengths, lengths[job])
        order = sorted(lengths, key=lambda job: (lengths[job], job), reverse=True)
        seen = len(self._lengths)
        longer = [seen - bisect_left(self._lengths, lengths[job] * (1 - 1e-9)) for job in order]
        worth = [self._worth * self._price * many / seen for many in longer]
        shares = [view.weight(job) for job in order]
        weights = drain([self._points[job] for job in order], shares, worth, self._share * view.units)
        return dict(zip(order, weights, strict=True))


def drain(jobs: Sequence[Points], shares: Sequence[float], worth: Sequence[float], units: float) -> list[float]:
    """Weights with which the best weighted speed of the first i jobs is the sum of their ``shares``, for every i.

    Parameters
    ----------
    jobs
        Counts and speeds of each, the job that ends last first.
    shares
        What a second of the presence of each costs, > 0.
    worth
        For each job, what a unit earns that none of those up to it uses.
    units
        That they share, fractions allowed; a job may hold its counts and what lies between them, on the upper hull.

    By duality the best weighted speed is the least, over prices, of what the units and the jobs earn at a price; the
    prices are those of a grid, so that weights come out a little too small; and 0 where a share is lost in rounding.
    """
    mean = math.fsum(shares) / max(1, len(shares))
    reach = 2 * (len(jobs) + 1)
    powers = np.arange(math.ceil(math.log(reach / _LEAST) / math.log(_RATIO)) + 1)
    grid: FloatArray = np.concatenate(([0.0], _LEAST * _RATIO**powers)) / units * mean
    earned = np.zeros_like(grid)  # by the jobs so far, at each price
    weights, rank = [], 0.0
    for points, share, price in zip(jobs, shares, worth, strict=True):
        rank += share
        counts, speeds = np.array(points).T[:, :, None]
        first = bisect_right(grid, price) - 1
        prices = grid[first:]
        missing = rank - earned[first:] - (prices - grid[first]) * units
        needed = ((missing + prices * counts) / speeds).min(axis=0)
        weight = float(needed[missing > 0].max(initial=0.0))
        weights.append(weight)
        earned += np.maximum(0.0, (weight * speeds - grid * counts).max(axis=0))
    return weights


def useful_points(view: View, job: int) -> Points:
    """Counts that no smaller one matches and the speeds on them; of many counts about ``MOST_COUNTS``."""
    useful = view.useful(job)
    counts: Sequence[int] = useful
    if len(useful) > MOST_COUNTS:
        places = {round(len(useful) ** (step / (MOST_COUNTS - 1))) - 1 for step in range(MOST_COUNTS)}
        counts = sorted({*(useful[place] for place in places), view.fastest(job)})
    points: list[tuple[int, float]] = []
    for count in counts:
        speed = 1 / view.epoch_time_s(job, count)
        if not points or speed > points[-1][1]:
            points.append((count, speed))
    return points
