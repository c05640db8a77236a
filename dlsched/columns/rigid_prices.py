"""Prices of units over time for jobs that take a fixed number of units for a fixed time without a pause.

minimise sum_i C_i:  the units of the jobs that run never exceed G.  For all prices lambda(t) >= 0 of a unit and second

    sum_i (C_i - r_i) >= sum_i phi_i - G int lambda,   phi_i = min over s >= r_i of  s - r_i + L_i + g_i int_s^{s + L_i} lambda

Between breakpoints lambda is constant. So the function of s is linear as long as neither s nor s + L_i
passes a breakpoint, and it is least at r_i, or where s or s + L_i is a breakpoint (after the last one it
only grows). As lambda >= 0, only starts with s + L_i below the cost of starting at r_i count.
``certificates.time_prices`` has the proof, and verifies with code of its own.

Source: the time-indexed relaxation of one machine, Sousa and Wolsey 1992, whose linear program these prices solve.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dlsched.columns.price_ascent import Ascent, Cheapest
from dlsched.core.arrays import FloatArray, IntArray, dot
from dlsched.core.limits import Tick, no_tick

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_BREAKPOINTS = 1_500
_AT_ONCE = 1_000_000
"""Number of starts that are priced together, which limits memory."""
_PLANES = 20
"""Number of groups of jobs, and so of planes a round, for more than ``_ALONE`` jobs."""
_ALONE = 200
_POWERS = (-3, -2, -1, 0)
_SHORTEST = 1e-7
"""Share of the whole time: breakpoints closer to each other count as one."""


@dataclass(frozen=True, slots=True, eq=False)
class RigidJobs:
    """Releases and lengths, seconds, and units, shape (I,); ``total`` is the number of units."""

    release_s: FloatArray
    length_s: FloatArray
    units: FloatArray
    total: int


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """For every job, shape (I,): phi_i, and a start that attains it."""

    least_s: FloatArray
    start_s: FloatArray


def cheapest_starts(jobs: RigidJobs, times: FloatArray, prices: FloatArray) -> Priced:
    """The cheapest start of every job; ``times`` ascending, shape (K + 1,), ``prices`` >= 0 in between, shape (K,).

    Cost: for every job the number of breakpoints after its release and after its end, as long as waiting
    could pay.
    """
    # Price paid for one unit up to each breakpoint: piecewise linear, so ``interp`` is exact in between.
    paid = np.concatenate([[0.0], np.cumsum(prices * np.diff(times))])

    def cost_s(start_s: FloatArray, which: IntArray | slice) -> FloatArray:
        end_s = start_s + jobs.length_s[which]
        charged = np.interp(end_s, times, paid) - np.interp(start_s, times, paid)
        return np.asarray(end_s - jobs.release_s[which] + jobs.units[which] * charged)

    now_s = cost_s(jobs.release_s, slice(None))
    # Waiting longer than the cost beyond the length cannot pay; it limits the windows of starts worth pricing.
    longest = now_s - jobs.length_s
    windows = []
    for after_s in (np.zeros_like(longest), jobs.length_s):
        first = np.searchsorted(times, jobs.release_s + after_s, side="right")
        windows.append((after_s, first, np.searchsorted(times, jobs.release_s + after_s + longest, side="left")))
    least_s, best_s = now_s.copy(), jobs.release_s.copy()
    for after_s, first, last in windows:
        counts = np.maximum(last - first, 0)
        ends = np.cumsum(counts)
        for begin, end in _chunks(ends):
            some = np.arange(begin, end)[counts[begin:end] > 0]
            if not len(some):
                continue
            # Ragged ranges flattened: the starts of all these jobs side by side, then one minimum per job.
            number = counts[some]
            offsets = np.cumsum(number) - number
            which = np.repeat(some, number)
            at = np.arange(int(number.sum())) - np.repeat(offsets, number) + np.repeat(first[some], number)
            starts_s = np.maximum(times[at] - after_s[which], jobs.release_s[which])
            costs_s = cost_s(starts_s, which)
            lowest = np.minimum.reduceat(costs_s, offsets)
            hits = np.flatnonzero(costs_s == np.repeat(lowest, number))
            found = starts_s[hits[np.searchsorted(hits, offsets)]]
            better = lowest < least_s[some]
            least_s[some[better]], best_s[some[better]] = lowest[better], found[better]
    return Priced(least_s, best_s)


def _chunks(ends: IntArray) -> list[tuple[int, int]]:
    """Ranges of jobs with about ``_AT_ONCE`` starts each."""
    bounds = np.searchsorted(ends, np.arange(_AT_ONCE, int(ends[-1]) + _AT_ONCE, _AT_ONCE), side="left") + 1
    edges = np.unique(np.minimum(np.concatenate([[0], bounds, [len(ends)]]), len(ends)))
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def usage(jobs: RigidJobs, starts_s: FloatArray, times: FloatArray) -> "csr_array":
    """Unit-seconds of every job between breakpoints, shape (I, K)."""
    from scipy.sparse import csr_array

    ends_s = starts_s + jobs.length_s
    first = np.maximum(np.searchsorted(times, starts_s, side="right") - 1, 0)
    last = np.minimum(np.searchsorted(times, ends_s, side="left"), len(times) - 1)
    counts = np.maximum(last - first, 0)
    rows = np.concatenate([[0], np.cumsum(counts)])
    which = np.repeat(np.arange(len(counts)), counts)
    at = np.arange(int(rows[-1])) - np.repeat(rows[:-1], counts) + np.repeat(first, counts)
    held_s = np.minimum(times[at + 1], ends_s[which]) - np.maximum(times[at], starts_s[which])
    return csr_array((jobs.units[which] * held_s, at, rows), shape=(len(counts), len(times) - 1))


def pooled_starts(jobs: RigidJobs, tick: Tick = no_tick) -> FloatArray:
    """Starts on one pool: when units are free, the waiting job of the least unit-seconds starts if it fits.

    No other job may pass it. Cost: O(I log I).
    """
    work, units = (jobs.units * jobs.length_s).tolist(), jobs.units.tolist()
    arriving = np.argsort(jobs.release_s, kind="stable")[::-1].tolist()
    release_s, length_s = jobs.release_s.tolist(), jobs.length_s.tolist()
    starts_s, free = np.empty(len(work)), float(jobs.total)
    waiting: list[tuple[float, int]] = []
    running: list[tuple[float, int]] = []
    while arriving or running:
        now_s = min(release_s[arriving[-1]] if arriving else np.inf, running[0][0] if running else np.inf)
        while running and running[0][0] <= now_s:
            free += units[heapq.heappop(running)[1]]
        while arriving and release_s[arriving[-1]] <= now_s:
            job = arriving.pop()
            heapq.heappush(waiting, (work[job], job))
        while waiting and units[waiting[0][1]] <= free:
            tick()
            job = heapq.heappop(waiting)[1]
            free -= units[job]
            starts_s[job] = now_s
            heapq.heappush(running, (now_s + length_s[job], job))
    return starts_s


def waiting_prices(
    jobs: RigidJobs, starts_s: FloatArray, most: int = MOST_BREAKPOINTS
) -> tuple[FloatArray, FloatArray]:
    """Return the releases, starts and ends of a schedule as breakpoints, and jobs waiting per unit as prices.

    Of more than ``most`` breakpoints, a selection shares the seconds waited evenly; without waiting there are none.
    """
    ends_s = starts_s + jobs.length_s
    times = np.unique(np.concatenate([jobs.release_s, starts_s, ends_s]))
    distinct = np.concatenate([[True], np.diff(times) > _SHORTEST * (times[-1] - times[0])])
    times = times[distinct]
    waiting = _waiting(jobs, starts_s, times)
    busy = np.concatenate([waiting > 0, [False]])
    times = times[busy | np.concatenate([[False], busy[:-1]])]
    if len(times) < 2:
        return np.array([jobs.release_s.min(), ends_s.max()]), np.zeros(1)
    if len(times) > most:
        waited_s = np.concatenate([[0.0], np.cumsum(np.sqrt(_waiting(jobs, starts_s, times)) * np.diff(times))])
        marks = np.searchsorted(waited_s, np.linspace(0.0, waited_s[-1], most), side="left")
        times = times[np.unique(np.minimum(marks, len(times) - 1))]
    return times, _waiting(jobs, starts_s, times) / jobs.total


def _waiting(jobs: RigidJobs, starts_s: FloatArray, times: FloatArray) -> FloatArray:
    """Mean number of released jobs that have not started, between breakpoints."""
    # Integral of the jobs that have come less that of those that have started, at every breakpoint.
    waited = np.zeros(len(times))
    for moments_s, sign in ((jobs.release_s, 1.0), (starts_s, -1.0)):
        ordered = np.sort(moments_s)
        sums = np.concatenate([[0.0], np.cumsum(ordered)])
        before = np.searchsorted(ordered, times, side="right")
        waited += sign * (before * times - sums[before])
    return np.asarray(np.maximum(np.diff(waited) / np.diff(times), 0.0))


def best_prices(jobs: RigidJobs, rounds: int, tick: Tick = no_tick) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield breakpoints and ever better prices: first 0, then from jobs waiting in ``pooled_starts``.

    The jobs waiting are multiplied by the best of some powers of two; then at most ``rounds`` rounds of ``Ascent``
    follow. Seconds are multiples of the whole time, and units are shares of all, so that the linear programs have one
    magnitude. Raises as ``linear_program``, and as ``tick``, which is called for every job and in every round.
    """
    times, waiting = waiting_prices(jobs, pooled_starts(jobs, tick))
    yield times, np.zeros_like(waiting)
    if not waiting.any():
        return  # no job waits in the pool: no prices prove more than lengths
    unit_s = float(times[-1] - times[0])
    scaled = RigidJobs(jobs.release_s / unit_s, jobs.length_s / unit_s, jobs.units / jobs.total, 1)
    moments = times / unit_s
    supply = np.diff(moments)

    def price(tried: FloatArray) -> Cheapest:
        tick()
        found = cheapest_starts(scaled, moments, tried)
        own = found.start_s + scaled.length_s - scaled.release_s
        return Cheapest(float(found.least_s.sum()), own, usage(scaled, found.start_s, moments))

    def proven(tried: FloatArray) -> float:
        tick()
        return float(cheapest_starts(scaled, moments, tried).least_s.sum() - dot(supply, tried))

    start = max((waiting * jobs.total * 2.0**power for power in _POWERS), key=proven)
    reached = proven(np.zeros_like(start))
    ascent = Ascent(price, supply, start, None if len(jobs.units) <= _ALONE else _grouped(jobs))
    for _ in range(rounds):
        if ascent.step() and ascent.value > reached:
            reached = ascent.value
            yield times, ascent.best / jobs.total
        if ascent.closed:
            return


def _grouped(jobs: RigidJobs) -> IntArray:
    """Groups of jobs that follow one another, of equally many each."""
    order = np.argsort(jobs.release_s, kind="stable")
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.arange(len(order)) * _PLANES // len(order)
    return groups
