"""What jobs that have not started cost at least, at fixed prices over time: a bound for the nodes of ``start_tree``.

For all rates lambda_j(t) >= 0, in a node whose last start is t and which leaves f(u) units free at u >= t,

    sum of flow times of the jobs not started  >=  sum_j phi_j(e_j) - int_t K(u, f(u)) du
    phi_j(e) = min over s >= max(e, r_j) of  s + p_j - r_j + int_s^{s + p_j} lambda_j

where job j starts at e_j or later, and runs for p_j at least; K(u, c) is the most that jobs which fit on c units pay at u, a
knapsack. Rates that are best at the root (``columns.price_ascent``: lambda_j = g_j lambda; ``columns.packing_cuts``) are good
ones below it. As f only grows, the integral is the sum over c of that of K(u, c) - K(u, c - 1) from the time on at which the
c-th unit is free.

*Windows* of time (``columns.packing_cuts``) charge one job if it touches them, others if they run throughout; this is one more
cost of a start, and the most that jobs pay so is taken off. Those that run throughout a window start before it, so they fit on
units that are free when it begins, and beside the job that touches it on those that are free before it ends.

*Tables.* Between breakpoints of the prices, breakpoints less p_j, and r_j, the cost of a start is linear; at these times it is no
more than on either side. So phi_j is the smaller one of a line and a constant between neighbours of a grid of these times,
common to all jobs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray, IntArray

_MOST_ENTRIES = 2_000_000
"""Entries of a table: prices with more breakpoints are averaged over several pieces, as all prices >= 0 are valid."""


class Charged(NamedTuple):
    """A window of time, the job that pays if it touches it, and what it and the others, if they run throughout, pay, (J,)."""

    begin_s: float
    end_s: float
    touching: int
    charges: FloatArray


class PriceTables:
    """Tables of phi for some prices, and what free units cost.

    ``release_s``, ``length_s``, ``units``: of the jobs, shape (J,), lengths being the least ones; ``total``: units of all;
    ``times``: ascending, shape (K + 1,); ``rates``: what each job pays a second in between, >= 0, shape (J, K); 0 elsewhere.
    ``windows`` begin and end at some of these times.
    """

    def __init__(
        self,
        release_s: FloatArray,
        length_s: FloatArray,
        units: IntArray,
        total: int,
        times: FloatArray,
        rates: FloatArray,
        windows: Sequence[Charged] = (),
    ) -> None:
        rates = np.where(times[1:] > release_s[:, None], rates, 0.0)
        # by room, the most that jobs which run at one time pay, and what the last unit adds to it
        value = np.zeros((total + 1, rates.shape[1]))
        for count, own in zip(units.tolist(), rates, strict=True):
            value[count:] = np.maximum(value[count:], value[: total + 1 - count] + own)
        paid = np.cumsum(
            np.pad(np.concatenate([rates, np.diff(value, axis=0)]) * np.diff(times), ((0, 0), (1, 0))), axis=1
        )
        most = max(1, _MOST_ENTRIES // (len(release_s) * (len(release_s) + 1)))
        if len(times) > most:
            some = np.unique(np.linspace(0, len(times) - 1, most + 1).astype(np.int64))
            times, paid = times[some], paid[:, some]
        self._times, self._paid = times, paid[len(rates) :]
        edges = [edge for window in windows for edge in (window.begin_s, window.end_s)]
        events = np.unique(np.concatenate([times, edges]))
        grid = np.unique(np.concatenate([[0.0], events, release_s, (events[:, None] - length_s).ravel()]))
        # cell n is (grid[n], grid[n + 1]], so the first one ends at 0
        self._grid = grid = np.concatenate([[-1.0], grid[grid >= 0]])
        base = grid[:, None] + length_s - release_s
        for job, own in enumerate(paid[: len(rates)]):
            base[:, job] += np.interp(grid + length_s[job], times, own) - np.interp(grid, times, own)
        slope, later = np.ones_like(base), np.full_like(base, np.inf)
        slope[:-1] = np.diff(base, axis=0) / np.diff(grid)[:, None]
        # charges at the times of the grid, the lower ones where they change, and between these
        point, cost = base.copy(), base
        middle = np.append((grid[:-1] + grid[1:]) / 2, grid[-1] + 1.0)
        for window in windows:
            first, last = window.end_s - length_s, np.full(len(length_s), window.begin_s)
            first[window.touching], last[window.touching] = window.begin_s - length_s[window.touching], window.end_s
            for costs, starts in ((point, grid), (cost, middle)):
                costs += np.where((starts[:, None] > first) & (starts[:, None] < last), window.charges, 0.0)
        point[grid[:, None] < release_s] = np.inf
        early = middle[:, None] < release_s
        cost[early], slope[early] = np.inf, 0.0
        later[:-1] = np.minimum.accumulate(point[:0:-1], axis=0)[::-1]
        self._cost, self._slope, self._later = cost, slope, later
        self._windows = [(window, *self._budget(window, units, total)) for window in windows]

    def _budget(self, window: Charged, units: IntArray, total: int) -> tuple[FloatArray, int]:
        """By room, the most that the jobs which run throughout pay; and units of the job that may touch the window."""
        value = np.zeros(total + 1)
        for job, (count, own) in enumerate(zip(units.tolist(), window.charges.tolist(), strict=True)):
            if job != window.touching and own > 0:
                value[count:] = np.maximum(value[count:], value[: total + 1 - count] + own)
        return value, int(units[window.touching])

    def charged(self, waiting: BoolArray, last_s: FloatArray, free_s: FloatArray) -> FloatArray:
        """The most that waiting jobs pay for windows: what runs throughout started before, beside it one job touches."""
        total = np.zeros(len(last_s))
        for (begin_s, end_s, touching, charges), value, count in self._windows:
            room = np.where(last_s < begin_s, (free_s <= begin_s).sum(axis=1), 0)
            beside = (free_s < end_s).sum(axis=1) - count
            touched = charges[touching] + value[np.maximum(np.minimum(room, beside), 0)]
            able = waiting[:, touching] & (last_s < end_s) & (beside >= 0)
            total += np.where(able, np.maximum(touched, value[room]), value[room])
        return total

    def unused(self, free_s: FloatArray) -> FloatArray:
        """The most that jobs pay for units that are free from some times on, shape (N, C); shape (N,)."""
        ordered, total = np.sort(free_s, axis=1), np.zeros(len(free_s))
        for unit, paid in enumerate(self._paid):
            total += paid[-1] - np.interp(ordered[:, unit], self._times, paid)
        return total

    def least(self, waiting: BoolArray, from_s: FloatArray) -> FloatArray:
        """Sum of phi over the ``waiting`` jobs, shape (N, J), from times on, shape (N, J) or (N, 1); shape (N,)."""
        jobs = np.arange(waiting.shape[1])
        cell: IntArray = np.searchsorted(self._grid, from_s.ravel(), side="left").reshape(from_s.shape) - 1
        at = (cell[:, 0],) if from_s.shape[1] == 1 else (cell, jobs)
        phi = np.minimum(self._cost[at] + self._slope[at] * (from_s - self._grid[cell]), self._later[at])
        return row_sums(np.where(waiting, phi, 0.0))


def row_sums(numbers: FloatArray) -> FloatArray:
    """Sums of the rows, added up from the first column to the last."""
    total = np.zeros(len(numbers))
    for column in range(numbers.shape[1]):
        total += numbers[:, column]
    return total
