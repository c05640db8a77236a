"""What jobs that have not started cost at least, at fixed prices of a unit over time: a bound for the nodes of ``start_tree``.

For all prices lambda(t) >= 0 of a unit, in a node whose last start is t and which leaves f(u) units free at u >= t,

    sum of flow times of the jobs not started  >=  sum_j phi_j(e_j) - int_t lambda(u) f(u) du
    phi_j(e) = min over s >= max(e, r_j) of  s + p_j - r_j + g_j int_s^{s + p_j} lambda

where job j starts at e_j or later, runs for p_j at least, and takes g_j units: what these jobs pay for units is at most what
all free units cost. Prices that are best at the root (``columns.price_ascent``) are good ones below it.

*Tables.* Between breakpoints of the prices, breakpoints less p_j, and r_j, the cost of a start is linear; so
phi_j is the smaller one of a line and a constant between neighbours of a grid of these times, common to all jobs.
"""

from collections.abc import Sequence

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray, IntArray

_MOST_ENTRIES = 2_000_000
"""Entries of a table: prices with more breakpoints are averaged over several pieces, as all prices >= 0 are valid."""


class PriceTables:
    """Tables of phi for some prices.

    ``release_s``, ``length_s``, ``units``: of the jobs, shape (J,), lengths being the least ones; ``times``: ascending, shape
    (K + 1,); ``rates``: prices >= 0 in between, shape (K,); 0 elsewhere.
    """

    def __init__(
        self, release_s: FloatArray, length_s: FloatArray, units: FloatArray, times: FloatArray, rates: FloatArray
    ) -> None:
        paid = np.concatenate([[0.0], np.cumsum(rates * np.diff(times))])
        most = max(1, _MOST_ENTRIES // (len(release_s) * (len(release_s) + 1)))
        if len(times) > most:
            some = np.unique(np.linspace(0, len(times) - 1, most + 1).astype(np.int64))
            times, paid = times[some], paid[some]
        self._times, self._paid = times, paid
        grid = np.unique(np.concatenate([[0.0], times, release_s, (times[:, None] - length_s).ravel()]))
        self._grid = grid = grid[grid >= 0]
        begins, ends = grid[:, None], grid[:, None] + length_s
        # cost of a start at every time of the grid, its slope up to the next, and the least cost from the next on
        cost = ends - release_s + units * (self.paid(ends) - self.paid(begins))
        slope, later = np.ones_like(cost), np.full_like(cost, np.inf)
        slope[:-1] = np.diff(cost, axis=0) / np.diff(grid)[:, None]
        early = begins < release_s
        cost[early], slope[early] = np.inf, 0.0
        later[:-1] = np.minimum.accumulate(cost[:0:-1], axis=0)[::-1]
        self._cost, self._slope, self._later = cost, slope, later

    def paid(self, times_s: FloatArray) -> FloatArray:
        """The price of one unit up to some times."""
        return np.asarray(np.interp(times_s, self._times, self._paid))

    def unused(self, free_s: FloatArray) -> FloatArray:
        """The price of units that are free from some times on, shape (N, C); shape (N,)."""
        paid, total = self.paid(free_s), np.zeros(len(free_s))
        for unit in range(free_s.shape[1]):
            total += self._paid[-1] - paid[:, unit]
        return total

    def least(self, waiting: BoolArray, from_s: FloatArray) -> FloatArray:
        """Sum of phi over the ``waiting`` jobs, shape (N, J), from times on, shape (N, J) or (N, 1); shape (N,)."""
        jobs = np.arange(waiting.shape[1])
        cell: IntArray = np.searchsorted(self._grid, from_s.ravel(), side="right").reshape(from_s.shape) - 1
        at = (cell[:, 0],) if from_s.shape[1] == 1 else (cell, jobs)
        phi = np.minimum(self._cost[at] + self._slope[at] * (from_s - self._grid[cell]), self._later[at])
        return row_sums(np.where(waiting, phi, 0.0))


def tables_of(
    release_s: FloatArray, length_s: FloatArray, units: FloatArray, prices: Sequence[tuple[FloatArray, FloatArray]]
) -> list[PriceTables]:
    """Tables for several prices, pairs of times and rates; for none those of prices of 0."""
    pairs = prices or [(np.array([0.0, 1.0]), np.zeros(1))]
    return [PriceTables(release_s, length_s, units, times, rates) for times, rates in pairs]


def row_sums(numbers: FloatArray) -> FloatArray:
    """Sums of the rows, added up from the first column to the last."""
    total = np.zeros(len(numbers))
    for column in range(numbers.shape[1]):
        total += numbers[:, column]
    return total
