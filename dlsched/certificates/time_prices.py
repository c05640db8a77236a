"""Bounds from prices over time, as steps: the form of the prices, and least costs of rigid and of malleable jobs.

*Rigid jobs* hold fixed units for a fixed time; in whole numbers.

Minimise the sum of the ends C_i = s_i + L_i, s_i >= r_i, where the jobs that run at any time take at most G units, job i g_i.

*Prices.* For lambda(t) >= 0 a schedule takes at most G int lambda of priced units. So its sum of ends is at least

    sum_i phi_i - G int lambda,   phi_i = min over s >= r_i of c_i(s) = s + L_i + g_i (P(s + L_i) - P(s)),  P = int lambda

*Where the minimum lies.* P is linear between breakpoints. So c_i is linear between the points at which s or
s + L_i is a breakpoint, and it grows beyond the last of them. So phi_i is the least of c_i at r_i and at
those of these points that are later. Points with s + L_i at or above the least found cannot be lower, as
lambda >= 0. And phi_i does not fall when L_i grows: lengths that no job undercuts prove the bound.

*Malleable jobs*, in floats that never exceed the true least cost. A job of weight omega at prices lambda costs omega times as
much as a job of weight 1 at prices lambda / omega.

Jobs are rows. The arrays of a ``Window`` have a job's own clock: it starts at the job's release, and its
unit is near L, the job's time on its fastest count.

==================  =================================================================================================
``nodes``           s_0 = 0 < s_1 < ..., the breakpoints after the release; shape (jobs, intervals + 1)
``spans, prices``   s_k+1 - s_k, and the price lambda_k between them, over the weight; where a row ends early, spans of 0
``counts, speeds``  w and f(w), a share of the work per unit of time; rows are filled up with speeds of 0
``pauses``          rho; 0: pauses are not counted
==================  =================================================================================================

*Bound.* For mu >= 0 let q_k(w) = mu f(w) - lambda_k w, and R(k) the largest reward up to s_k: an interval on
w earns q_k(w) x span, an interval on w = 0 earns 0, and every start but the job's first costs mu f(w) rho,
with w the count it starts on. A schedule that does the work by time T after the release earns mu for it, so
it costs at least h(T) = T + mu - R(T). (On w for x seconds it does f(w) (x - rho) of the work, or none if
x < rho; then waiting earns no less. The reward is linear in the time of each change, so changes at
breakpoints suffice.) Between breakpoints R is convex and h concave, so the smaller end bounds h. So the
job's least cost is at least the smaller of two numbers: the min over k of max over mu of min(h(s_k),
h(s_k+1)), if the job ends by the last node, and the last node itself, if it ends later. The last node may be
any time within an interval. Each mu is valid for all k.

*Search.* h is concave in mu, with slope 1 - work done. The search keeps two tangents of each interval, one
rising and one falling; the next mu is where those of the least interval meet. It stops within 2^-42 of the
best, or after 100 rounds and some more for every interval: if the job can end in any of many intervals at
almost the same cost, each of them needs its own mu.

*Rounding.* u = 2^-53, n intervals. ``speeds`` are at least (1 + 2^-48) f(w), so the float of mu f(w) - lambda w, computed as
p - c, is no less than the true one if that is positive: p >= mu f (1 + 2^-48) (1 - u), c <= lambda w (1 + u)^2 (once for the
quotient lambda, once for the product), and what p - c loses by rounding is u (p - c). If it is negative, it is too small by
at most 8 u of itself. (A price of which c overflows makes it minus infinity, a reward of 0.) Nodes and spans are true to
2 u, spans are rounded once more into the product.
So the reward of one path, in floats, is off by at most (2 n + 16) u (1 + 1e-9) times the sum of the absolute values
of its terms. If the reward is >= 0, this sum is at most twice the sum of the positive terms, which is at
most the reward G without pauses. Rounded sums and maxima are monotone, so the float R is no less than the
float reward of the best path: R <= float R + (8 n + 64) u G. The last sums lose less than 8 u of s + mu + R
+ G. Underflow loses 2^-1000, since mu >= 2^-60 or 0, f >= 1e-210 where it counts, and L >= 1/2; the clamps
below keep out infinities less infinities, and only raise rewards.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dlsched.certificates import exact_sum


def require_steps(breakpoints: Sequence[float], prices: Sequence[float]) -> None:
    """Refuse anything but a list of prices, each from one breakpoint to the next.

    ValueError: breakpoints that are not finite or do not ascend, another number of prices, or one that is negative or
    not finite.
    """
    if not all(map(math.isfinite, breakpoints)):
        raise ValueError("breakpoints must be finite numbers")
    for first, second in pairwise(breakpoints):
        if not first < second:
            raise ValueError(f"breakpoints must ascend: {second!r} follows {first!r}")
    if len(prices) != max(0, len(breakpoints) - 1):
        needed = max(0, len(breakpoints) - 1)
        raise ValueError(f"{len(breakpoints)} breakpoints have {needed} prices between them, found {len(prices)}")
    for price in prices:
        if not (math.isfinite(price) and price >= 0):
            raise ValueError(f"price {price!r} must be a finite number >= 0")


def mean_bound(
    units: int,
    least: Sequence[Fraction],
    breakpoints: Sequence[float],
    prices: Sequence[float],
    unit_s: Fraction,
    weight: Fraction,
) -> Fraction:
    """Return the jobs' ``least`` costs minus the cost of all units, over the jobs' ``weight``; exactly.

    Breakpoints count units of ``unit_s`` seconds.

    Every schedule holds at most C units at any time, so it pays at most C times the integral of the prices.
    """
    spans = [Fraction(second) - Fraction(first) for first, second in pairwise(breakpoints)]
    paid = exact_sum(Fraction(price) * span for price, span in zip(prices, spans, strict=True)) * unit_s
    return (exact_sum(least) - units * paid) / weight


def rigid_value(
    releases: Sequence[float],
    lengths: Sequence[float],
    units: Sequence[int],
    total: int,
    breakpoints: Sequence[float],
    prices: Sequence[float],
) -> Fraction:
    """Return the bound on the sum of ends, exactly.

    ``releases``, ``lengths``, ``units``: r_i, L_i (or anything below), g_i of every job. ``total``: G. ``breakpoints``,
    ``prices``: ascending, shape (K + 1,), and the price from each to the next, >= 0, shape (K,). ValueError:
    breakpoints that do not ascend, prices that are negative or not finite, or not one fewer of them.
    """
    if len(breakpoints) != len(prices) + 1:
        raise ValueError(f"{len(prices)} prices: found {len(breakpoints)} breakpoints, allowed: one more than prices")
    if not all(map(math.isfinite, breakpoints)) or any(first >= second for first, second in pairwise(breakpoints)):
        raise ValueError("breakpoints must ascend")
    if not all(math.isfinite(price) and price >= 0 for price in prices):
        raise ValueError("prices must be numbers >= 0")
    second = common_unit((*releases, *lengths, *breakpoints))
    dear = common_unit(prices)
    times, rates = scaled(breakpoints, second), scaled(prices, dear)
    paid = list(accumulate((rate * (b - a) for rate, (a, b) in zip(rates, pairwise(times), strict=True)), initial=0))
    last = len(times) - 1

    def paid_until(time: int) -> int:
        """Return P, in seconds of the objective over ``second`` times ``dear``."""
        index = bisect_right(times, time) - 1
        if index < 0:
            return 0
        return paid[last] if index >= last else paid[index] + rates[index] * (time - times[index])

    value = -total * paid[last]
    # The cost is piecewise linear in the start: besides the release, only breakpoints as start or as end can be least.
    for release, length, size in zip(scaled(releases, second), scaled(lengths, second), units, strict=True):
        least = (release + length) * dear + size * (paid_until(release + length) - paid_until(release))
        for index in range(bisect_right(times, release), last + 1):
            start = times[index]
            if (start + length) * dear >= least:
                break
            least = min(least, (start + length) * dear + size * (paid_until(start + length) - paid[index]))
        for index in range(bisect_right(times, release + length), last + 1):
            end = times[index]
            if end * dear >= least:
                break
            least = min(least, end * dear + size * (paid[index] - paid_until(end - length)))
        value += least
    return Fraction(value, second * dear)


def common_unit(numbers: Sequence[float]) -> int:
    """Return the largest denominator of the numbers, a power of two."""
    return max((number.as_integer_ratio()[1] for number in numbers), default=1)


def scaled(numbers: Sequence[float], unit: int) -> list[int]:
    """Return the numbers in multiples of 1 / ``unit``, which all their denominators divide."""
    ratios = (number.as_integer_ratio() for number in numbers)
    return [numerator * (unit // denominator) for numerator, denominator in ratios]


Floats: TypeAlias = NDArray[np.float64]

_ROUNDS, _MORE = 100, 4
"""Largest numbers of evaluations: a base, and some more for every interval."""
_STEEPEST = 32
"""Exponent: until a job does its work, a round multiplies its worth by at most eight times two to this."""
_U = 2.0**-53
_CLOSE = 2.0**-42
_FAR = 1e290
"""A loss that no reward makes up for."""


class Window(NamedTuple):
    """Some jobs and the prices that matter to them; the module's docstring has the fields."""

    nodes: Floats
    spans: Floats
    prices: Floats
    counts: Floats
    speeds: Floats
    pauses: Floats

    def of(self, rows: NDArray[np.intp]) -> "Window":
        """Return some of the jobs."""
        return Window(*(field[rows] for field in self))


def least_costs(window: Window) -> Floats:
    """Return a lower bound on every job's cost: its flow time plus the prices of the units it holds."""
    jobs = len(window.spans)
    found = np.empty(jobs)
    lengths = 1 / window.speeds.max(axis=1)
    nodes = window.nodes * (1 - 4 * _U)
    last = nodes[:, -1]
    # a job ends in intervals that exist and reach its length
    low = np.where((window.spans > 0) & (window.nodes[:, 1:] * (1 + 4 * _U) >= lengths[:, None]), nodes[:, :-1], np.inf)
    rows = np.arange(jobs)
    under = _Tangent(np.zeros_like(low), window.nodes[:, :-1].copy(), np.ones_like(low))
    over = _Tangent(np.full_like(low, np.inf), np.zeros_like(low), np.zeros_like(low))
    multipliers = lengths
    # Each round raises the bounds of all intervals, then moves the multipliers of the jobs that can still gain.
    for number in range(_ROUNDS + _MORE * low.shape[1]):
        height, slope, slack = _evaluate(window, multipliers)
        np.maximum(low, np.minimum(height[:, :-1] - slack[:, :-1], height[:, 1:] - slack[:, 1:]), out=low)
        falls = height[:, 1:] < height[:, :-1]
        height = np.where(falls, height[:, 1:], height[:, :-1])
        slope = np.where(falls, slope[:, 1:], slope[:, :-1])
        tried = np.broadcast_to(multipliers[:, None], low.shape)
        under.replace((slope > 0) & (tried > under.multiplier), tried, height, slope)
        over.replace((slope <= 0) & (tried < over.multiplier), tried, height, slope)
        here = np.arange(len(rows)), low.argmin(axis=1)
        found[rows] = np.maximum(lengths * (1 - 4 * _U), np.minimum(low[here], last))
        multipliers, close = _meet(under.at(here), over.at(here), number)
        todo = np.flatnonzero(~close & (low[here] < last) & (multipliers < 2.0**600))
        if not len(todo):
            break
        # Jobs whose bound cannot rise further leave the arrays.
        if len(todo) < len(rows):
            window, under, over = window.of(todo), under.at(todo), over.at(todo)
            low, rows, lengths, last, multipliers = low[todo], rows[todo], lengths[todo], last[todo], multipliers[todo]
    return found


class _Tangent(NamedTuple):
    """Multiplier, lower bound there and its slope, for every interval of every job or one interval a job."""

    multiplier: Floats
    height: Floats
    slope: Floats

    def at(self, where: NDArray[np.intp] | tuple[NDArray[np.intp], NDArray[np.intp]]) -> "_Tangent":
        return _Tangent(*(field[where] for field in self))

    def replace(self, where: NDArray[np.bool_], multiplier: Floats, height: Floats, slope: Floats) -> None:
        for array, new in zip(self, (multiplier, height, slope), strict=True):
            np.copyto(array, new, where=where)


def _meet(under: _Tangent, over: _Tangent, number: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Return where two tangents meet, or at times the middle, and whether nothing can be gained there."""
    wide = over.multiplier - under.multiplier
    with np.errstate(all="ignore"):
        step = (over.height - under.height - over.slope * wide) / (under.slope - over.slope)
        step = np.where(np.isnan(step), np.inf, np.clip(step, 0, wide))
        best = np.maximum(under.height, np.where(np.isfinite(over.multiplier), over.height, -np.inf))
        close = under.height + under.slope * step <= best + _CLOSE * np.abs(best)
        close |= wide <= 4 * _U * over.multiplier
        near = (over.multiplier <= 4 * under.multiplier) | (under.multiplier == 0)
        middle = np.where(near, under.multiplier + wide / 2, np.sqrt(under.multiplier) * np.sqrt(over.multiplier))
    inside = (step > 0) & (step < wide)
    following = np.where(inside & (number % 3 < 2), under.multiplier + step, middle)
    following = np.where(np.isfinite(over.multiplier), following, 8 * 2.0 ** min(number, _STEEPEST) * under.multiplier)
    return np.maximum(following, 2.0**-60), close & np.isfinite(over.multiplier)


def _evaluate(window: Window, multipliers: Floats) -> tuple[Floats, Floats, Floats]:
    """Return h at the nodes, its slope (1 - work done), and what rounding may have added to it."""
    with np.errstate(over="ignore"):
        worth = multipliers[:, None] * window.speeds
        reward, work = _without_pauses(window, worth)
        slack = (8 * window.spans.shape[1] + 64) * _U * reward
        if window.pauses.any():
            reward, work = _with_pauses(window, worth)
        total = window.nodes + multipliers[:, None]
        slack += 8 * _U * (total + reward)
        return total - reward, 1 - work, np.minimum(slack, _FAR)


def _without_pauses(window: Window, worth: Floats) -> tuple[Floats, Floats]:
    """Reward from release to every node, and the work done for it, if starts and stops are free."""
    jobs, intervals = window.spans.shape
    # The best count of every interval on its own: starts and stops are free, so intervals do not interact.
    best, speed = np.zeros((jobs, intervals)), np.zeros((jobs, intervals))
    for index in range(window.counts.shape[1]):
        gain = worth[:, index, None] - window.prices * window.counts[:, index, None]
        better = gain > best
        np.copyto(best, gain, where=better)
        np.copyto(speed, np.broadcast_to(window.speeds[:, index, None], speed.shape), where=better)
    reward, work = np.zeros((jobs, intervals + 1)), np.zeros((jobs, intervals + 1))
    np.cumsum(best * window.spans, axis=1, out=reward[:, 1:])
    np.cumsum(speed * window.spans, axis=1, out=work[:, 1:])
    return reward, work


def _with_pauses(window: Window, worth: Floats) -> tuple[Floats, Floats]:
    """Return reward and work of the best path, which waits or holds a count; later starts pause."""
    jobs, intervals = window.spans.shape
    reward, work = np.zeros((jobs, intervals + 1)), np.zeros((jobs, intervals + 1))
    lost = window.speeds * window.pauses[:, None]
    cost = np.minimum(worth * window.pauses[:, None], _FAR)
    # Of paths that hold a count: their reward and work; the first start is free
    reward_on, done = np.zeros_like(worth), np.zeros_like(worth)
    for index in range(intervals):
        start = np.maximum(reward[:, index, None] - cost, 0)
        ran = np.where(start > 0, work[:, index, None] - lost, 0)
        better = start > reward_on
        np.copyto(reward_on, start, where=better)
        np.copyto(done, ran, where=better)
        gain = worth - window.prices[:, index, None] * window.counts
        reward_on = reward_on + np.maximum(np.maximum(gain, -_FAR) * window.spans[:, index, None], -_FAR)
        done = done + window.speeds * window.spans[:, index, None]
        most = reward_on.argmax(axis=1)[:, None]
        top = np.take_along_axis(reward_on, most, axis=1)[:, 0]
        waits = top <= reward[:, index]
        reward[:, index + 1] = np.where(waits, reward[:, index], top)
        work[:, index + 1] = np.where(waits, work[:, index], np.take_along_axis(done, most, axis=1)[:, 0])
    return reward, work
