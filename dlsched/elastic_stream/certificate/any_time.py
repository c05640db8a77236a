"""Bound of prices with decisions at any time: the jobs' least costs, less the price of all units."""

import math
from collections.abc import Sequence
from fractions import Fraction
from operator import sub

import numpy as np
from numpy.typing import NDArray

from dlsched.certificates import exact_sum, rounded_down
from dlsched.certificates.time_prices import Floats, Window, least_costs, mean_bound, require_steps
from dlsched.core.elementary import geometric
from dlsched.elastic_stream.instance import Instance, Job

MOST_COUNTS = 256
"""Corners of the hull of its speeds up to which the pauses of a job are counted; leaving them out is valid too."""

_CELLS = 200_000  # jobs x intervals at a time
_ALL = 10_000  # counts of a law that are looked at one by one
_ABOVE = 1 + 2.0**-47
_FAR, _NEAR = 2.0**600, 2.0**-1000


def any_time_value(instance: Instance, breakpoints: Sequence[float], prices: Sequence[float]) -> Fraction:
    """The bound on the weighted mean of flow times that prices of a unit-second prove (see ``certificates.time_prices``).

    ``prices[k]`` holds from ``breakpoints[k]``, in seconds, on. With ticks, where jobs are released at their first ticks, it
    holds too. Rounding takes some 1e-12 of the jobs' costs. Cost: about 30 evaluations of O(intervals x counts), of the
    intervals until the job's latest end. ValueError: prices that are no steps, or a job that fits no cluster of this size.
    """
    require_steps(breakpoints, prices)
    times, steps = np.array(breakpoints, dtype=float), np.array([0.0, *prices, 0.0])
    if not len(times):
        steps = steps[:1]
    index = [number for number, job in enumerate(instance.jobs) if job.work > 0]
    running = [instance.jobs[number] for number in index]
    releases = [instance.release_s(number) for number in index]
    jobs = _Jobs(running, list(map(rounded_down, releases)), instance.units)
    found = jobs.least(times, steps) if running else np.empty(0)
    least = [Fraction(value) * Fraction(2) ** int(power) for value, power in zip(found, jobs.powers, strict=True)]
    later = map(sub, map(Fraction, jobs.releases), releases)  # what rounding makes the releases earlier is no flow time
    least = [cost + wait + late for cost, wait, late in zip(least, map(instance.wait_s, index), later, strict=True)]
    weights = [Fraction(job.weight) for job in instance.jobs]
    least = [weights[number] * cost for number, cost in zip(index, least, strict=True)]
    return mean_bound(instance.units, least, breakpoints, prices, Fraction(1), exact_sum(weights))


class _Jobs:
    """Jobs with work; job j counts time in units of 2 ** ``powers[j]`` s, of which its fastest run takes 1/2 to 1."""

    def __init__(self, jobs: Sequence[Job], releases: Sequence[float], units: int) -> None:
        self.releases, self.weights = np.array(releases), np.array([job.weight for job in jobs])
        self.powers = np.zeros(len(jobs), dtype=np.int64)
        self.pauses = np.zeros(len(jobs))
        self.counts: list[Floats] = []
        self.speeds: list[Floats] = []
        for index, job in enumerate(jobs):
            counts, seconds = _useful_seconds(job, units)
            self.powers[index] = power = math.frexp(seconds[-1])[1]
            speeds = _ABOVE / np.ldexp(seconds, -power)
            counts, speeds = _hull(counts, speeds)
            if job.restart_s > 0 and len(counts) <= MOST_COUNTS:
                self.pauses[index] = math.ldexp(job.restart_s, -power)
            self.counts.append(counts)
            self.speeds.append(speeds)

    def least(self, times: Floats, steps: Floats) -> Floats:
        """Least cost of every job in its own unit; ``steps[i]`` is the price up to ``times[i]``, the last one thereafter."""
        first = np.searchsorted(times, self.releases, side="right")
        most = len(times) + 1 - first  # intervals: after the last breakpoint there is one in which to run alone
        limits = self._limits(times, steps)
        found = np.empty(len(most))
        left = np.arange(len(most))
        while len(left):
            with np.errstate(over="ignore"):
                until = np.searchsorted(times, self.releases + np.ldexp(limits, self.powers))
            sizes = np.clip(until + 1 - first, 1, most)
            # A job whose least cost reaches the end of its window may end later: it gets a window four times as long.
            cut = np.zeros(len(most), dtype=bool)
            for rows in self._alike(left, sizes):
                window = self._window(rows, times, steps, first[rows], sizes[rows], limits[rows])
                found[rows] = least_costs(window)
                cut[rows] = found[rows] >= window.nodes[:, -1] * (1 - 2.0**-40)
                cut[rows] &= (sizes[rows] < most[rows]) | (window.nodes[:, -1] >= limits[rows])
            left = left[cut[left]]
            limits *= 4
        return found

    def _limits(self, times: Floats, steps: Floats) -> Floats:
        """Estimated cost of jobs that begin at once and keep one count; later ends need not be examined."""
        # Any plan's cost bounds the latest end worth looking at; this estimate is checked afterwards, and may be wrong.
        clock = times if len(times) else np.zeros(1)
        limits = np.full(len(self.releases), np.inf)
        with np.errstate(all="ignore"):
            paid = np.concatenate(([0.0], np.cumsum(np.diff(clock) * steps[1:-1])))
            for index, (counts, speeds) in enumerate(zip(self.counts, self.speeds, strict=True)):
                release, power = self.releases[index], self.powers[index]
                pays = np.interp(release + np.ldexp(1 / speeds, power), clock, paid) - np.interp(release, clock, paid)
                pays /= self.weights[index]
                limits[index] = np.fmin.reduce(1 / speeds + counts * np.ldexp(pays, -power)) * (1 + 1e-6)
        least: Floats = np.fmin(limits, _FAR)
        return least

    def _alike(self, rows: NDArray[np.intp], sizes: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Jobs with about as many counts and intervals, with pauses or without, in groups that fit into memory."""
        kinds: dict[tuple[bool, int, int], list[int]] = {}
        for row in rows.tolist():
            kind = self.pauses[row] > 0, len(self.counts[row]).bit_length(), int(sizes[row]).bit_length()
            kinds.setdefault(kind, []).append(row)
        alike = []
        for (_, _, bits), members in kinds.items():
            step = max(1, _CELLS >> bits)
            alike += [np.array(members[start : start + step]) for start in range(0, len(members), step)]
        return alike

    def _window(
        self,
        rows: NDArray[np.intp],
        times: Floats,
        steps: Floats,
        first: NDArray[np.intp],
        sizes: NDArray[np.intp],
        limits: Floats,
    ) -> Window:
        """The intervals of some jobs; the first begins at the release, the last one ends at the limit."""
        powers, release = -self.powers[rows, None], self.releases[rows, None]
        column = np.arange(sizes.max())
        index = first[:, None] + column
        lengths = np.array([1 / self.speeds[row][-1] for row in rows])[:, None]
        # After the last breakpoint there is one more interval, as long as the job's fastest run.
        there, closing = column < sizes[:, None], index == len(times)
        ends = np.append(times, 0.0)[np.minimum(index, len(times))]
        with np.errstate(over="ignore"):
            nodes = np.ldexp(ends - release, powers)
            spans = np.ldexp(np.diff(ends, axis=1, prepend=release), powers)
        before = np.concatenate((np.zeros((len(rows), 1)), nodes[:, :-1]), axis=1)
        nodes, spans = np.where(closing, before + lengths, nodes), np.where(closing, lengths, spans)
        # Beyond the limit nothing is paid: the interval in which it lies ends there, rounded up.
        least = np.maximum(np.minimum(limits, _FAR)[:, None], lengths)
        spans = np.where(nodes > least, np.minimum((least - before) + 2.0**-50 * least, spans), spans)
        there &= before < least
        nodes, spans = np.minimum(nodes, least), np.clip(spans, _NEAR, _FAR)
        last = np.take_along_axis(nodes, sizes[:, None] - 1, axis=1)
        nodes, spans = np.where(there, nodes, last), np.where(there, spans, 0.0)
        width = max(len(self.counts[row]) for row in rows)
        counts, speeds = np.ones((len(rows), width)), np.zeros((len(rows), width))
        for line, row in enumerate(rows):
            counts[line, : len(self.counts[row])] = self.counts[row]
            speeds[line, : len(self.speeds[row])] = self.speeds[row]
        nodes = np.concatenate((np.zeros((len(rows), 1)), nodes), axis=1)
        with np.errstate(over="ignore"):
            prices = steps[np.minimum(index, len(times))] / self.weights[rows, None]
        return Window(nodes, spans, prices, counts, speeds, self.pauses[rows])


def _useful_seconds(job: Job, units: int) -> tuple[Floats, Floats]:
    """Counts that no smaller one matches, and the seconds of all work on them, descending, to 10 units of rounding."""
    if not job.fitting_counts(units):
        raise ValueError(f"job {job.id!r} needs more units than the cluster has")
    if job.speed_law is None or len(useful := job.useful_counts(units)) <= _ALL:
        times_s = job.useful_times_s(units)
        return np.array(list(times_s), dtype=float), job.work * np.array(list(times_s.values()))
    # Of a long law, which only gets faster, some counts are left out; the next one's time is below theirs.
    ends = np.unique(np.append(geometric(1, len(useful), _ALL).astype(np.int64), len(useful)))
    ends = ends[ends <= len(useful)]
    seconds = job.work * np.array([job.speed_law.epoch_time_s(count) for count in ends.tolist()])
    return np.concatenate(([1.0], ends[:-1] + 1.0)), np.minimum.accumulate(seconds)


def _hull(counts: Floats, speeds: Floats) -> tuple[Floats, Floats]:
    """Counts at the corners of the least concave curve from 0 above the speeds, with speeds raised above its rounding."""
    # Corners suffice with pauses too: mu f(w) (seconds - pause) - w x prices is linear in w and f(w).
    corners = [(0.0, 0.0)]
    for count, speed in zip(counts.tolist(), speeds.tolist(), strict=True):
        while len(corners) > 1:
            (count0, speed0), (count1, speed1) = corners[-2:]
            if (speed1 - speed0) * (count - count0) > (speed - speed0) * (count1 - count0):
                break
            corners.pop()
        corners.append((count, speed))
    found = np.array(corners)
    above = np.max(speeds / np.interp(counts, found[:, 0], found[:, 1]))
    return found[1:, 0], found[1:, 1] * (max(1.0, float(above)) * _ABOVE)
