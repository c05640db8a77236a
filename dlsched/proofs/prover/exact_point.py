"""The exact point of a solution that a solver states in floats: whole numbers fixed, the others a rational basis solution.

Rows with one free variable become bounds, exactly. A linear program in floats finds a basis of what remains, from
which the simplex method in rationals goes on: seldom more than a few steps, as floats miss the optimum by a hair only.
"""

from collections import deque
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from dlsched.core.limits import Tick, no_tick
from dlsched.core.status import Sense
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.rational_simplex import RationalProgram, Side, rational_optimum
from dlsched.proofs.prover.relaxation import Basis, Relaxation
from dlsched.solvers.linear import Floats, LinearModel


def exact_point(exact: ExactModel, x: Floats, tick: Tick = no_tick) -> tuple[Fraction, ...] | None:
    """Return the best point with the whole numbers of ``x``, exactly; None: there is none, or it takes too long."""
    model = exact.model
    if np.isnan(x).any():
        return None
    fixed = np.clip(np.rint(x), model.lower, model.upper)
    if model.integer.all():
        point = tuple(Fraction(int(value)) for value in fixed.tolist())
        return point if exact.admits(point) else None
    rest = _Rest(exact, fixed)
    if not rest.reduce():
        return None
    point_of_rest = rest.best(tick)
    return point_of_rest if point_of_rest is not None and exact.admits(point_of_rest) else None


class _Rest:
    """The rest of a model when its whole variables are fixed: bounds, free variables, and rows with several of these."""

    def __init__(self, exact: ExactModel, fixed: Floats) -> None:
        self.exact = exact
        unit = 1 << exact.sides
        # bounds of all variables, those of whole ones being their values; sides of rows in the unit of coefficients
        whole = [int(value) if integer else None for value, integer in zip(fixed.tolist(), exact.integer, strict=True)]
        self.low, self.high = (
            [
                Fraction(value) if value is not None else None if bound is None else Fraction(bound, unit)
                for value, bound in zip(whole, bounds, strict=True)
            ]
            for bounds in (exact.lower, exact.upper)
        )
        factor = Fraction(1 << exact.scale, unit)
        self.at_least: list[Side] = [None if side is None else side * factor for side in exact.row_lower[: exact.own]]
        self.at_most: list[Side] = [None if side is None else side * factor for side in exact.row_upper[: exact.own]]
        self.free: list[int] = []
        self.rows: list[int] = []

    def reduce(self) -> bool:
        """Turn rows of one variable into bounds; False: there is no point."""
        exact = self.exact
        users: list[list[int]] = [[] for _ in range(exact.variables)]
        free_in = []
        for i in range(exact.own):
            for j in exact.columns[i]:
                users[j].append(i)
            free_in.append(sum(self._is_free(j) for j in exact.columns[i]))
        # a variable that its bounds fix may leave one free variable in other rows, which then become bounds too
        queue = deque(i for i, count in enumerate(free_in) if count == 1)
        while queue:
            i = queue.popleft()
            if free_in[i] != 1:
                continue
            free_in[i] = 0
            changed = self._bound_by(i)
            if changed is None:
                return False
            if not self._is_free(changed):
                for other in users[changed]:
                    free_in[other] -= free_in[other] > 0
                    if free_in[other] == 1:
                        queue.append(other)
        self.free = [j for j in range(exact.variables) if self._is_free(j)]
        self.rows = [i for i, count in enumerate(free_in) if count > 1]
        return True

    def _is_free(self, j: int) -> bool:
        low, high = self.low[j], self.high[j]
        return low is None or high is None or low < high

    def _bound_by(self, i: int) -> int | None:
        """Bound the only free variable of a row, and return it; None: no value is left."""
        rest, variable, coefficient = Fraction(0), -1, 0
        for j, value in zip(self.exact.columns[i], self.exact.values[i], strict=True):
            if self._is_free(j):
                variable, coefficient = j, value
            else:
                rest += value * _known(self.low[j])
        if variable < 0 or not coefficient:
            return variable if variable >= 0 else None
        sides = [None if side is None else (side - rest) / coefficient for side in (self.at_least[i], self.at_most[i])]
        least, most = sides if coefficient > 0 else reversed(sides)
        low, high = self.low[variable], self.high[variable]
        if least is not None and (low is None or least > low):
            self.low[variable] = low = least
        if most is not None and (high is None or most < high):
            self.high[variable] = high = most
        return None if low is not None and high is not None and low > high else variable

    def best(self, tick: Tick) -> tuple[Fraction, ...] | None:
        """Return the optimum of the free variables, with all others; None: there is none."""
        point = {j: _known(low) for j, low in enumerate(self.low) if not self._is_free(j)}
        if self.free:
            program = self._program(point)
            optimum = rational_optimum(program, _basis(program, self.exact.scale), tick)
            if optimum is None or optimum.point is None:
                return None
            point |= zip(self.free, optimum.point, strict=True)
        return tuple(point[j] for j in range(self.exact.variables))

    def _program(self, point: Mapping[int, Fraction]) -> RationalProgram:
        """Return the linear program of the free variables."""
        exact, place = self.exact, {j: k for k, j in enumerate(self.free)}
        rows, sides = [], []
        for i in self.rows:
            terms, rest = {}, Fraction(0)
            for j, value in zip(exact.columns[i], exact.values[i], strict=True):
                if j in place:
                    terms[place[j]] = value
                else:
                    rest += value * point[j]
            rows.append(terms)
            sides.append((_less(self.at_least[i], rest), _less(self.at_most[i], rest)))
        bounds = [(self.low[j], self.high[j]) for j in self.free]
        return RationalProgram([exact.costs[j] for j in self.free], bounds, rows, sides)


def _basis(program: RationalProgram, scale: int) -> Basis:
    """Return a basis that is about optimal, or that of the slacks; numbers are times 2**scale."""
    model = _floats(program, scale)
    for tolerance in (1e-10, 1e-9):
        relaxation = Relaxation(model, tolerance=tolerance)
        answer = relaxation.solve()
        if answer is not None and np.isfinite(answer.objective):
            return relaxation.basis
    return program.slacks()


def _floats(program: RationalProgram, scale: int) -> LinearModel:
    """Return a program in floats."""
    unit = 1 << scale
    lower, upper = (
        np.array([_float(each[k], 1, end) for each in program.bounds]) for k, end in enumerate((-np.inf, np.inf))
    )
    row_lower, row_upper = (
        np.array([_float(each[k], unit, end) for each in program.sides]) for k, end in enumerate((-np.inf, np.inf))
    )
    return LinearModel(
        sense=Sense.MINIMIZE,
        names=[str(j) for j in range(len(lower))],
        costs=np.array([cost / unit for cost in program.costs]),
        constant=0.0,
        lower=lower,
        upper=upper,
        integer=np.zeros(len(lower), dtype=bool),
        row_names=[str(i) for i in range(len(row_lower))],
        row_starts=np.cumsum([0, *map(len, program.rows)], dtype=np.int64),
        columns=np.array([j for row in program.rows for j in row], dtype=np.int64),
        coefficients=np.array([a / unit for row in program.rows for a in row.values()], dtype=np.float64),
        row_lower=row_lower,
        row_upper=row_upper,
    )


def _known(value: Side) -> Fraction:
    assert value is not None
    return value


def _less(side: Side, rest: Fraction) -> Side:
    return None if side is None else side - rest


def _float(side: Side, unit: int, infinite: float) -> float:
    return infinite if side is None else float(side / unit)
