"""Multipliers that bound the ratio of a run: found by HiGHS in floats, confirmed in rationals.

A run of the policy and the first events of an optimal stream are given. For r, u, h >= 0 and g with

    p_k + sum_i h_i row_ik <= sum_j u_j W_jk + sum_j g_j A_jk                        for every interval k of the run
    sum_j u_j s_j(v_j) + sum of g_j over jobs to come <= r (number of jobs present)  for every interval and allocation
    u_j s_j(C) <= r, sum of g_i over jobs i >= j to come <= 0                        for what follows the given events

flow(policy) <= sum_j u_j w_j + sum_j g_j a_j <= r flow(optimum). The least such r is sought.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dlsched.core.arrays import FloatArray
from dlsched.core.errors import SolverError
from dlsched.worst.competitive.optimum import Prefix, allocations, speed
from dlsched.worst.competitive.runs import Whole
from dlsched.worst.competitive.stream import Speeds
from dlsched.worst.proving.elimination import RIGHT, Equation, solution

_INFEASIBLE = 2
_MET = 1e-7
_DENOMINATORS = (1, 12, 120, 10**4, 10**7)
Row = dict[int, Fraction]
"""Coefficients by unknown: r is 0, then come u, g and h; the row is >= its entry ``RIGHT``."""


@dataclass(frozen=True)
class Multipliers:
    """Multipliers of the jobs' works and arrivals, and of the run's rows, as certificates hold them."""

    work: tuple[Fraction, ...]
    arrival: tuple[Fraction, ...]
    rows: tuple[Fraction, ...]

    def as_data(self) -> dict[str, list[str]]:
        """Return them as text."""
        parts = {"work": self.work, "arrival": self.arrival, "rows": self.rows}
        return {name: [str(each) for each in values] for name, values in parts.items()}


class Programs:
    """Programs of jobs with these tables, in order of arrival."""

    def __init__(self, tables: Sequence[Speeds]) -> None:
        self.tables, self.jobs = tables, len(tables)
        self._blocks: dict[Prefix, list[Row]] = {}
        self._tails: dict[Prefix, list[Row]] = {}

    def rows(self, run: Whole, prefix: Prefix) -> list[Row]:
        """All rows of a program but the signs of its unknowns."""
        rows = []
        for k, many in enumerate(run.present):
            row = {1 + j: run.works[j][k] for j in range(self.jobs)}
            row |= {1 + self.jobs + j: run.arrivals[j][k] for j in range(self.jobs)}
            row |= {1 + 2 * self.jobs + i: -each[k] for i, each in enumerate(run.rows)}
            rows.append({at: each for at, each in row.items() if each} | {RIGHT: Fraction(many)})
        for interval in prefix.intervals():
            rows += self._block(interval)
        return rows if prefix.whole else rows + self._tail(prefix)

    def _block(self, interval: Prefix) -> list[Row]:
        if interval not in self._blocks:
            present = interval.present
            later = {1 + self.jobs + j: Fraction(-1) for j in range(interval.arrived, self.jobs)}
            self._blocks[interval] = [
                {0: Fraction(len(present))} | {1 + j: -speed(self.tables[j], v[j]) for j in present if v[j]} | later
                for v in allocations(self.tables, present)
            ]
        return self._blocks[interval]

    def _tail(self, prefix: Prefix) -> list[Row]:
        if prefix not in self._tails:
            open_ = [job for job in range(self.jobs) if job not in prefix.events]
            rows: list[Row] = [{0: Fraction(1), 1 + j: -self.tables[j][-1]} for j in open_]
            for first in range(prefix.arrived, self.jobs):
                rows.append({1 + self.jobs + j: Fraction(-1) for j in range(first, self.jobs)})
            self._tails[prefix] = rows
        return self._tails[prefix]

    def bound(self, run: Whole, prefix: Prefix) -> tuple[float, FloatArray | None]:
        """Return the least r in floats, infinite if there is none, and the unknowns.

        Raises
        ------
        SolverError
            HiGHS gives no answer.
        """
        return self._solved(self.rows(run, prefix), len(run.rows), None)

    def _solved(self, rows: list[Row], splits: int, ratio: float | None) -> tuple[float, FloatArray | None]:
        """Minimise r; or, for a given r, return multipliers far from all rows."""
        from scipy.optimize import linprog

        unknowns = 1 + 2 * self.jobs + splits
        matrix, right = np.zeros((len(rows), unknowns + 1)), np.zeros(len(rows))
        for at, row in enumerate(rows):
            for place, value in row.items():
                if place == RIGHT:
                    right[at] = value
                else:
                    matrix[at, place] = value
        cost = np.zeros(unknowns + 1)
        bounds: list[tuple[float | None, float | None]] = [(0, None)] * (unknowns + 1)
        bounds[1 + self.jobs : 1 + 2 * self.jobs] = [(0, 0), *[(None, None)] * (self.jobs - 1)]  # the first is at 0
        if ratio is None:
            cost[0], bounds[-1] = 1.0, (0, 0)
        else:
            cost[-1], bounds[0], bounds[-1], matrix[:, -1] = -1.0, (ratio, ratio), (0, 1), -1.0
        found = linprog(cost, A_ub=-matrix, b_ub=-right, bounds=bounds, method="highs-ds")
        if found.status == _INFEASIBLE:
            return np.inf, None
        if found.status != 0:
            raise SolverError(f"a program of a proof: {found.message}")
        return float(found.x[0]), found.x[:unknowns]

    def least(self, run: Whole, prefix: Prefix, near: FloatArray) -> tuple[Fraction, Multipliers] | None:
        """Return the least r, and multipliers that prove it, from an optimum in floats; None if none are confirmed."""
        rows = self.rows(run, prefix)
        signs: list[Row] = [{k: Fraction(1)} for k in range(len(near)) if not self.jobs + 1 < k <= 2 * self.jobs]
        met: list[Equation] = []
        for row in (*rows, *signs):
            slack = sum(float(value) * near[k] for k, value in row.items() if k != RIGHT) - float(row.get(RIGHT, 0))
            if abs(slack) < _MET:
                met.append(row)
        exact = solution(met, len(near))
        if exact is None or not _holds(rows, signs, exact):
            return None
        return exact[0], self._parts(exact)

    def proving(self, run: Whole, prefix: Prefix, near: FloatArray, ratio: Fraction) -> Multipliers | None:
        """Return multipliers that prove a ratio, near those in floats; None if none are confirmed."""
        rows = self.rows(run, prefix)
        signs: list[Row] = [{k: Fraction(1)} for k in range(len(near)) if not self.jobs + 1 < k <= 2 * self.jobs]
        found = self.least(run, prefix, near)
        if found is not None and found[0] <= ratio:
            return found[1]
        _, inner = self._solved(rows, len(run.rows), float(ratio))
        for floats in (near, *(() if inner is None else (inner,))):
            for largest in _DENOMINATORS:
                exact = [ratio, *(Fraction(float(each)).limit_denominator(largest) for each in floats[1:])]
                if _holds(rows, signs, exact):
                    return self._parts(exact)
        return None

    def _parts(self, unknowns: Sequence[Fraction]) -> Multipliers:
        jobs = self.jobs
        return Multipliers(
            *map(tuple, (unknowns[1 : 1 + jobs], unknowns[1 + jobs : 1 + 2 * jobs], unknowns[1 + 2 * jobs :]))
        )


def _holds(rows: Sequence[Mapping[int, Fraction]], signs: Sequence[Row], unknowns: Sequence[Fraction]) -> bool:
    """Whether unknowns satisfy all rows."""
    return all(
        sum((value * unknowns[k] for k, value in row.items() if k != RIGHT), Fraction(0)) >= row.get(RIGHT, 0)
        for row in (*rows, *signs)
    )
