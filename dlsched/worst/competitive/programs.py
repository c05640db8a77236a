"""Multipliers that bound the ratio of a run of the policy and an order of events of the optimum.

*Optimum.*
Without restarts only the time that a schedule spends on each allocation in each interval between two events
matters. So for one order of arrivals and ends the least flow time is a linear program.

*Multipliers* are found by HiGHS in floats, and confirmed in rationals.
A run of the policy and the first events of an optimal stream are given. For r, u, h >= 0 and g with

    p_k + sum_i h_i row_ik <= sum_j u_j W_jk + sum_j g_j A_jk                        for every interval k of the run
    sum_j u_j s_j(v_j) + sum of g_j over jobs to come <= r (weight of jobs present)  for every interval and allocation
    u_j s_j(C) <= r (weight of j), sum of g_i over jobs i >= j to come <= 0          for what follows the given events

flow(policy) <= sum_j u_j w_j + sum_j g_j a_j <= r flow(optimum). The least such r is sought. Only the first rows
depend on the run, and each other row on the jobs present and to come alone: so multipliers that satisfy the
first rows prove some ratio for every order of events, the largest that one of its intervals needs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import product
from math import lcm, sqrt

import numpy as np
from numpy.typing import NDArray

from dlsched.core.arrays import FloatArray, dot
from dlsched.core.errors import SolverError
from dlsched.worst.competitive.runs import Whole
from dlsched.worst.competitive.stream import Speeds
from dlsched.worst.proving.branch_and_bound import RIGHT, Equation, solution

Allocation = tuple[int, ...]
"""Units by job."""


@dataclass(frozen=True, eq=False)
class State:
    """Jobs that have arrived and those of them that have not ended, between two events, or (``last``) from then on."""

    arrived: int
    present: tuple[int, ...]
    last: bool = False


# one object for each state: keys are compared by identity
_state = cache(State)
_FIRST = _state(1, (0,))


@dataclass(frozen=True, eq=False)
class Prefix:
    """The first events of an optimal stream of so many jobs: -1 for the next arrival, or the job that ends; its intervals."""

    jobs: int
    events: tuple[int, ...] = (-1,)
    intervals: tuple[State, ...] = ()
    now: State = _FIRST

    @property
    def whole(self) -> bool:
        """Whether all jobs have ended."""
        return len(self.events) == 2 * self.jobs

    @property
    def parts(self) -> tuple[State, ...]:
        """Its intervals, and what follows."""
        return self.intervals if self.whole else (*self.intervals, _state(self.now.arrived, self.now.present, True))

    @property
    def support(self) -> frozenset[object]:
        """Its intervals, jobs that have not ended, and (-1 for the first) jobs from which on all are to come."""
        coming = range(self.now.arrived, self.jobs)
        return frozenset((*self.intervals, *self.now.present, *coming, *(-1 - job for job in coming)))

    def longer(self) -> "Iterator[Prefix]":
        """Yield the prefixes of one event more."""
        arrived, present = self.now.arrived, self.now.present
        after = {job: _state(arrived, tuple(each for each in present if each != job)) for job in present}
        if arrived < self.jobs:
            after = {-1: _state(arrived + 1, (*present, arrived))} | after
        for event, state in after.items():
            yield Prefix(self.jobs, (*self.events, event), (*self.intervals, self.now), state)


def allocations(tables: Sequence[Speeds], present: tuple[int, ...]) -> list[Allocation]:
    """Divisions of all units among the jobs present; units by job, 0 for the others."""
    divided = _divisions(len(tables[0]), len(present))
    return [tuple(dict(zip(present, row, strict=True)).get(job, 0) for job in range(len(tables))) for row in divided]


def speed(table: Speeds, units: int) -> Fraction:
    """Speed on some units, 0 on none."""
    return table[units - 1] if units else Fraction(0)


@cache
def _divisions(units: int, jobs: int) -> list[tuple[int, ...]]:
    if jobs == 0:
        return [()]
    if jobs == 1:
        return [(units,)]
    return [(first, *rest) for first in range(units + 1) for rest in _divisions(units - first, jobs - 1)]


_INFEASIBLE = 2
_MET, _APART = (1e-7, 1e-9, 1e-11), 1e-6
_DENOMINATORS = (1, 12, 120, 10**4, 10**7)
Block = tuple[NDArray[np.object_], FloatArray]
"""Rows >= 0, as whole numbers and in floats: the right side negated, then coefficients of r, u, g and, in those of runs, h."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Multipliers of the jobs' works and arrivals, and of the run's rows, as certificates hold them.

    ``whole``: their denominator, works and arrivals in whole numbers; ``needs``: the least ratios that states need, as far as
    they are known, as numerators and denominators.
    """

    work: tuple[Fraction, ...]
    arrival: tuple[Fraction, ...]
    rows: tuple[Fraction, ...]
    whole: tuple[int, ...] = field(repr=False)
    needs: dict[State, tuple[int, int]] = field(default_factory=dict, repr=False)

    def as_data(self) -> dict[str, list[str]]:
        """Return them as text."""
        parts = {"work": self.work, "arrival": self.arrival, "rows": self.rows}
        return {name: [str(each) for each in values] for name, values in parts.items()}


class Programs:
    """Programs of jobs with these tables and weights, in order of arrival; or all with any one table between ``corners``."""

    def __init__(self, tables: Sequence[Speeds], weights: Sequence[int], corners: Sequence[Speeds] = ()) -> None:
        self.tables, self.weights, self.jobs = tables, weights, len(tables)
        self._corners: list[Sequence[Speeds]] = [*([corner] * len(tables) for corner in corners)] or [tables]
        self._blocks: dict[Whole | State, Block] = {}

    def _block(self, part: Whole | State) -> Block:
        """Rows of a run, of an interval or of what follows."""
        if part not in self._blocks:
            rows = list(self._rows(part))
            scales = [lcm(*(Fraction(each).denominator for each in row)) for row in rows]
            whole = [[int(each * scale) for each in row] for row, scale in zip(rows, scales, strict=True)]
            self._blocks[part] = np.array(whole, dtype=object), np.array([list(map(float, row)) for row in rows])
        return self._blocks[part]

    def _rows(self, part: Whole | State) -> Iterator[Sequence[Fraction | int]]:
        jobs = range(self.jobs)
        if isinstance(part, Whole):
            for k, weight in enumerate(part.present):
                works, arrivals = ([each[k] for each in rows] for rows in (part.works, part.arrivals))
                yield [-weight, 0, *works, *arrivals, *(-each[k] for each in part.rows)]
            return
        coming = jobs[part.arrived :]
        if not part.last:
            weight = sum(self.weights[job] for job in part.present)
            for v, tables in product(allocations(self.tables, part.present), self._corners):
                speeds = [-speed(tables[j], v[j]) for j in jobs]
                yield [0, weight, *speeds, *(-int(j in coming) for j in jobs)]
            return
        for job in (*part.present, *coming):
            largest = max(tables[job][-1] for tables in self._corners)
            yield [0, self.weights[job], *(-largest * (j == job) for j in jobs), *(0 for _ in jobs)]
        for job in coming:
            yield [0, 0, *(0 for _ in jobs), *(-int(j >= job) for j in jobs)]

    def bound(self, run: Whole, prefix: Prefix) -> tuple[float, FloatArray | None]:
        """Return the least r in floats, infinite if there is none, and the unknowns."""
        return self._solved(run, prefix, None)

    def _floats(self, run: Whole, prefix: Prefix) -> FloatArray:
        """All rows of a program but the signs of its unknowns."""
        first = self._block(run)[1]
        others = np.concatenate([self._block(each)[1] for each in prefix.parts])
        return np.concatenate((first, np.pad(others, ((0, 0), (0, len(run.rows))))))

    def _solved(self, run: Whole, prefix: Prefix, ratio: float | None) -> tuple[float, FloatArray | None]:
        """Minimise r; or, for a given r, return multipliers far from all rows."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        rows = self._floats(run, prefix)
        # the first column becomes the distance from all rows
        matrix = np.concatenate((np.full((len(rows), 1), -1.0), rows[:, 1:]), axis=1)
        unknowns = matrix.shape[1]
        cost, low, high = np.zeros(unknowns), np.zeros(unknowns), np.full(unknowns, np.inf)
        # multipliers of arrivals may have any sign, but the first job's is at 0
        low[3 + self.jobs : 2 + 2 * self.jobs], high[2 + self.jobs] = -np.inf, 0
        if ratio is None:
            cost[1], high[0] = 1.0, 0
        else:
            cost[0], low[1], high[1], high[0] = -1.0, ratio, ratio, 1
        found = milp(cost, constraints=LinearConstraint(matrix, lb=-rows[:, 0]), bounds=Bounds(low, high))
        if found.status == _INFEASIBLE:
            return np.inf, None
        if found.status != 0:
            raise SolverError(f"a program of a proof: {found.message}")
        return float(found.x[1]), found.x[1:]

    def met(self, run: Whole, prefix: Prefix, near: FloatArray) -> frozenset[object]:
        """Return what an optimum meets of ``Prefix.support``: orders that have it too have no smaller bound."""
        met = set[object]()
        point = np.array([1.0, *near[: 1 + 2 * self.jobs]])
        for state in prefix.parts:
            tight = dot(self._block(state)[1], point) < _APART
            coming = range(state.arrived, self.jobs)
            names = (*state.present, *coming, *(-1 - job for job in coming)) if state.last else [state] * len(tight)
            met |= {name for name, each in zip(names, tight, strict=True) if each}
        return frozenset(met)

    def least(self, run: Whole, prefix: Prefix, near: FloatArray) -> tuple[Fraction, Multipliers] | None:
        """Return the least r, and multipliers that prove it, from an optimum in floats; None if none are confirmed."""
        parts: list[Whole | State] = [run, *prefix.parts]
        rows = [row for part in parts for row in self._block(part)[0].tolist()]
        slacks = dot(self._floats(run, prefix), np.array([1.0, *near]))
        signed = [k for k in range(len(near)) if not self.jobs + 1 < k <= 2 * self.jobs]
        # rows that almost meet where two speeds are almost equal are apart by less than others are met
        for largest in _MET:
            met: list[Equation] = [
                {k - 1: Fraction(each) for k, each in enumerate(row) if k} | {RIGHT: Fraction(-row[0])}
                for row, slack in zip(rows, slacks, strict=True)
                if slack < largest
            ]
            met += [{k: Fraction(1)} for k in signed if near[k] < largest]
            exact = solution(met, len(near))
            multipliers = None if exact is None else self._confirmed(run, exact[1:])
            if exact is not None and multipliers is not None and self.prove(multipliers, prefix, exact[0]):
                return exact[0], multipliers
        return None

    def proving(self, run: Whole, prefix: Prefix, near: FloatArray, ratio: Fraction) -> Multipliers | None:
        """Return multipliers that prove a ratio, near those in floats; None if none are confirmed."""
        # larger ones satisfy the run's rows and need a larger ratio: between, short fractions satisfy both
        found = self._short(run, prefix, near * sqrt(max(1.0, float(ratio) / max(near[0], 1.0))), ratio)
        if found is None:
            _, inner = self._solved(run, prefix, float(ratio))
            found = None if inner is None else self._short(run, prefix, inner, ratio)
        if found is None:
            least = self.least(run, prefix, near)
            found = None if least is None or least[0] > ratio else least[1]
        return found

    def _short(self, run: Whole, prefix: Prefix, near: FloatArray, ratio: Fraction) -> Multipliers | None:
        for largest in _DENOMINATORS:
            found = self._confirmed(run, [Fraction(each).limit_denominator(largest) for each in near[1:].tolist()])
            if found is not None and self.prove(found, prefix, ratio):
                return found
        return None

    def shared(self, multipliers: Multipliers, origin: Whole, run: Whole) -> Multipliers | None:
        """Return multipliers of a run as those of another with the same lengths, None if they do not hold there."""
        rows = [Fraction(0)] * len(run.rows)
        for value, row in zip(multipliers.rows, origin.rows, strict=True):
            if value and row not in run.rows:
                return None
            if value:
                rows[run.rows.index(row)] += value
        found = self._confirmed(run, [*multipliers.work, *multipliers.arrival, *rows])
        return None if found is None else replace(found, needs=multipliers.needs)

    def _confirmed(self, run: Whole, unknowns: Sequence[Fraction]) -> Multipliers | None:
        """Return u, g and h as multipliers, None if they do not satisfy the run's rows."""
        jobs = self.jobs
        scale = lcm(*(each.denominator for each in unknowns))
        whole = [scale, *(int(each * scale) for each in unknowns)]
        if min((*whole[1 : 1 + jobs], *whole[1 + 2 * jobs :])) < 0:
            return None
        values = np.array([scale, 0, *whole[1:]], dtype=object)
        if any(each < 0 for each in (self._block(run)[0] * values).sum(axis=1)):
            return None
        work, arrival, rows = map(tuple, (unknowns[:jobs], unknowns[jobs : 2 * jobs], unknowns[2 * jobs :]))
        return Multipliers(work, arrival, rows, tuple(whole[: 1 + 2 * jobs]))

    def prove(self, multipliers: Multipliers, prefix: Prefix, ratio: Fraction) -> bool:
        """Whether multipliers that satisfy the run's rows prove a ratio for an order of events."""
        needs = multipliers.needs
        for state in reversed(prefix.parts):
            if state not in needs:
                needs[state] = self._need(multipliers, state)
            if needs[state][0] * ratio.denominator > ratio.numerator * needs[state][1]:
                return False
        return True

    def _need(self, multipliers: Multipliers, state: State) -> tuple[int, int]:
        """The least ratio that the rows of a state need, 1 / 0 for none."""
        rows, (scale, *whole) = self._block(state)[0], multipliers.whole
        above, below = 0, 1
        values = (rows[:, 2:] * np.array(whole, dtype=object)).sum(axis=1)
        for many, value in zip(rows[:, 1], values, strict=True):
            if -value * below > above * many:
                above, below = -value, many
        return (above, below * scale) if below else (1, 0)
