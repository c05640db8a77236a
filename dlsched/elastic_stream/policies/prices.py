"""Policies that weigh every job and give units, step by step, by gain in weighted speed per unit.

In hindsight, prices over time give each job one weight, the multiplier of its work. These policies estimate it from the
present: from the work left, or from prices at which the present jobs would be done.
"""

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from dlsched.algorithms.utility_tables import upper_hull
from dlsched.core.arrays import FloatArray
from dlsched.core.elementary import float_power, log
from dlsched.core.errors import UsageError
from dlsched.elastic_stream.simulation.present_jobs import FASTEST
from dlsched.elastic_stream.simulation.queue_stream import Rule
from dlsched.elastic_stream.simulation.view import View
from dlsched.elastic_stream.simulation.weighing_loop import LEAST_LEFT, LINE, RECENT

MOST_COUNTS = 32
"""Most counts of a job that are weighed; a job with more keeps about this many in geometric steps, and its fastest."""

_RATIO = 1.12  # ratio of a price of the grid to the next smaller one
_LEAST = 0.02  # job ends per second of all units: the smallest price of the grid besides 0

Points = Sequence[tuple[int, float]]
"""Counts of a job and its speeds on them, both ascending."""


class _Weighing:
    """Gives units at every arrival and end by marginal gain of weighted speed; subclasses weigh the jobs."""

    clairvoyant = False
    timeless = True

    def __init__(self) -> None:
        self._points: dict[int, Points] = {}  # by job, in epochs a second
        self._last_s = 0.0
        self._gap_s = math.inf  # running mean of the times between events
        self._price = 0.0  # gain per unit of the first step that was refused; 0 if none was

    def decide(self, view: View) -> dict[int, int]:
        """Weigh the jobs and share out all units anew."""
        for job in view.ended:
            del self._points[job]
        for job in view.arrived:
            self._points[job] = useful_points(view, job)
        passed_s = view.passed_s - self._last_s
        if passed_s > 0:
            self._last_s = view.passed_s
            self._gap_s = passed_s if self._gap_s == math.inf else self._gap_s + RECENT * (passed_s - self._gap_s)
        return self._serve(view, self._weights(view))

    def _weights(self, view: View) -> Mapping[int, float]:
        raise NotImplementedError

    def _serve(self, view: View, weights: Mapping[int, float]) -> dict[int, int]:
        """Climb the upper hulls of weighted speeds, steepest step first; cut short steps that do not fit."""
        curves = {job: self._weighted_points(view, job, weight) for job, weight in weights.items()}
        steps = []
        for job, curve in curves.items():
            corners = [(0, 0.0)]
            for high, more in upper_hull(curve):
                # steps of one slope but for rounding are one step, or equal jobs would share what one should have
                (before, low), (last, height) = [(0, 0.0), *corners][-2:]
                if last and (height - low) * (high - last) <= (more - height) * (last - before) * LINE:
                    corners.pop()
                corners.append((high, more))
            for (low, less), (high, more) in pairwise(corners):
                steps.append(((less - more) / (high - low), job, low, high))
        allocation, free, self._price = dict.fromkeys(curves, 0), view.units, 0.0
        for negated, job, low, high in sorted(steps):
            if allocation[job] != low:
                continue  # it was cut short before
            # A step cut short takes the fastest count that still fits; the price is the gain of the first such step.
            if high - low > free:
                self._price = self._price or -negated
                curve = curves[job]
                floor = max((value for count, value in curve if count <= low), default=0.0)
                fitting = [(value, -count) for count, value in curve if low < count <= low + free and value > floor]
                if not fitting:
                    continue
                high = -max(fitting)[1]
            allocation[job] = high
            free -= high - low
        return allocation

    def _weighted_points(self, view: View, job: int, weight: float) -> Points:
        """Weight x speed on each count, averaged with its pause over two events or the rest of the job."""
        points = self._points[job]
        if view.restart_s(job) == 0:
            return [(count, weight * speed) for count, speed in points]
        span_s = min(2 * self._gap_s, view.left(job) / points[-1][1])
        return [(count, weight * speed * (span_s / (span_s + view.pause_s(job, count)))) for count, speed in points]


class Weighted(_Weighing):
    """At every arrival and end: gives units step by step by gain in speed per unit and epoch left.

    The rule of ``Priced`` with weight / (epochs left) in place of a price. Guarantee: ``guarantees``. Knows speeds and the
    nominal work. Cost: O(n w log(n w)) an event for n jobs present with w <= 34 counts; ``weighing_loop`` looks at few of them.

    Source: ours.
    """

    @property
    def rule(self) -> Rule | None:
        """What ``weighing_loop`` needs to serve without asking; None with other classes, and for a policy that has been asked."""
        if type(self) is not Weighted or self._last_s > 0 or self._points:
            return None
        return Rule(FASTEST, View.fastest, lambda view, job, size: 1 / view.epoch_time_s(job, size), _counts)

    def _weights(self, view: View) -> dict[int, float]:
        """Weight / (epochs left)."""
        return {job: view.weight(job) / max(view.left(job), LEAST_LEFT) for job in view}


class Priced(_Weighing):
    """At every arrival and end: gives units step by step by gain in speed per unit, at future prices.

    1. Jobs are ranked by their time left on their fastest count, divided by their weight, the longest first.
    2. If they end in that order, the i longest are the last to be there, and each second with them costs as many seconds
       of flow time as they weigh together: i without weights. The i-th is weighed so that the best weighed speed of these i
       jobs on a part of the units is that. (The other units are for jobs to come.) So one follows another, the longest
       first.
    3. A unit that these i jobs leave unused has a price, as longer jobs will come: half of what a unit was worth at the
       previous event (the gain of the first step refused there), times the share of the jobs seen so far that were at
       least as long as the i-th when they came.
    4. From no units on, jobs climb the upper hulls of the speeds so weighed, the largest gain per unit first. A step that
       does not fit is cut short. Where a change pauses, speed is the mean over the next two events or the rest of the job.

    Parameters
    ----------
    share
        Share of the units that step 2 counts, > 0 and at most 1.
    worth
        Factor in the price of step 3 (half by default), >= 0; with 0 the policy learns nothing.

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
        self._lengths: list[float] = []  # length over weight of every job seen, when it came; ascending

    def _weights(self, view: View) -> dict[int, float]:
        """Rank the jobs and weigh them, the longest first."""
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
    """Weights with which the best weighted speed of the first i jobs, the last to end first, is the sum of their ``shares``.

    ``worth``: what an idle unit earns, by job. Units may be divided. By duality the best weighted speed is the least, over
    prices, of what units and jobs earn. The grid of prices makes weights a little too small.
    """
    mean = math.fsum(shares) / max(1, len(shares))
    reach = 2 * (len(jobs) + 1)
    steps = range(math.ceil(log(reach / _LEAST) / log(_RATIO)) + 1)
    grid: FloatArray = np.array([0.0, *(_LEAST * float_power(_RATIO, step) for step in steps)]) / units * mean
    earned = np.zeros_like(grid)  # what the jobs so far earn at each price
    weights, rank = [], 0.0
    for points, share, price in zip(jobs, shares, worth, strict=True):
        rank += share
        counts, speeds = np.array(points).T[:, :, None]
        first = bisect_right(grid, price) - 1
        prices = grid[first:]
        # Least weight at which the job earns what is missing at every price.
        missing = rank - earned[first:] - (prices - grid[first]) * units
        needed = ((missing + prices * counts) / speeds).min(axis=0)
        weight = float(needed[missing > 0].max(initial=0.0))
        weights.append(weight)
        earned += np.maximum(0.0, (weight * speeds - grid * counts).max(axis=0))
    return weights


def _counts(view: View, job: int) -> list[int]:
    return [count for count, _ in useful_points(view, job)]


def useful_points(view: View, job: int) -> Points:
    """Counts that no smaller one matches, with their speeds; of many about ``MOST_COUNTS``."""
    useful = view.useful(job)
    counts: Sequence[int] = useful
    if len(useful) > MOST_COUNTS:
        places = {round(float_power(len(useful), step / (MOST_COUNTS - 1))) - 1 for step in range(MOST_COUNTS)}
        counts = sorted({*(useful[place] for place in places), view.fastest(job)})
    points: list[tuple[int, float]] = []
    for count in counts:
        speed = 1 / view.epoch_time_s(job, count)
        if not points or speed > points[-1][1]:
            points.append((count, speed))
    return points
