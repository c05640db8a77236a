"""The exact point of a solution that a solver states in floats: whole numbers fixed, the others a rational basis solution.

Rows with one variable that is left become bounds, exactly. A linear program in floats finds a basis of what remains, and
its equations are solved in rationals. Where the point breaks a row by a hair, within the tolerance of floats, that row is
drawn in and the point is made anew.
"""

from collections import deque
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dlsched.core.status import Sense
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.rational_solution import Equation, solution_of
from dlsched.proofs.prover.relaxation import BASIC, UPPER, ZERO, Relaxation
from dlsched.solvers.linear import Floats, LinearModel

_ROUNDS = 6
"""Times that rows are drawn in."""

Side = Fraction | None


def exact_point(exact: ExactModel, x: Floats) -> tuple[Fraction, ...] | None:
    """Return a point with the whole numbers of ``x`` that keeps every row exactly, the best up to a hair; None: none found."""
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
    for _ in range(_ROUNDS):
        found = rest.basic()
        if found is None:
            return None
        if exact.admits(found):
            return tuple(found)
        if not rest.draw_in(found):
            return None
    return None


class _Rest:
    """What is left of a model when its whole variables are fixed."""

    def __init__(self, exact: ExactModel, fixed: Floats) -> None:
        self.exact = exact
        unit = 1 << exact.sides
        whole = [int(value) if integer else None for value, integer in zip(fixed.tolist(), exact.integer, strict=True)]
        self.low, self.high = (
            [
                Fraction(value) if value is not None else None if bound is None else Fraction(bound, unit)
                for value, bound in zip(whole, held, strict=True)
            ]
            for held in (exact.lower, exact.upper)
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
        left = []
        for i in range(exact.own):
            for j in exact.columns[i]:
                users[j].append(i)
            left.append(sum(self._is_free(j) for j in exact.columns[i]))
        queue = deque(i for i, count in enumerate(left) if count == 1)
        while queue:
            i = queue.popleft()
            if left[i] != 1:
                continue
            left[i] = 0
            changed = self._bound_by(i)
            if changed is None:
                return False
            if not self._is_free(changed):
                for other in users[changed]:
                    left[other] -= left[other] > 0
                    if left[other] == 1:
                        queue.append(other)
        self.free = [j for j in range(exact.variables) if self._is_free(j)]
        self.rows = [i for i, count in enumerate(left) if count > 1]
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

    def basic(self) -> list[Fraction] | None:
        """Return a rational basis solution of what is left, or None."""
        point = [low if not self._is_free(j) else None for j, low in enumerate(self.low)]
        if self.free:
            relaxation = Relaxation(self._program(point), tolerance=1e-10)
            answer = relaxation.solve()
            if answer is None or not np.isfinite(answer.objective):
                relaxation = Relaxation(self._program(point))
                answer = relaxation.solve()
            if answer is None or not np.isfinite(answer.objective) or not self._fill(point, relaxation):
                return None
        return [_known(value) for value in point]

    def _program(self, point: Sequence[Side]) -> LinearModel:
        """Return the linear program of the free variables, in floats."""
        exact, place = self.exact, {j: k for k, j in enumerate(self.free)}
        starts, columns, values, lower, upper = [0], [], [], [], []
        unit = 1 << exact.scale
        for i in self.rows:
            rest = Fraction(0)
            for j, value in zip(exact.columns[i], exact.values[i], strict=True):
                if j in place:
                    columns.append(place[j])
                    values.append(value / unit)
                else:
                    rest += value * _known(point[j])
            starts.append(len(columns))
            lower.append(_float(self.at_least[i], rest, unit, -np.inf))
            upper.append(_float(self.at_most[i], rest, unit, np.inf))
        return LinearModel(
            sense=Sense.MINIMIZE,
            names=[str(j) for j in self.free],
            costs=np.array([exact.costs[j] / unit for j in self.free]),
            constant=0.0,
            lower=np.array([_float(self.low[j], Fraction(0), 1, -np.inf) for j in self.free]),
            upper=np.array([_float(self.high[j], Fraction(0), 1, np.inf) for j in self.free]),
            integer=np.zeros(len(self.free), dtype=bool),
            row_names=[str(i) for i in self.rows],
            row_starts=np.array(starts, dtype=np.int64),
            columns=np.array(columns, dtype=np.int64),
            coefficients=np.array(values, dtype=np.float64),
            row_lower=np.array(lower),
            row_upper=np.array(upper),
        )

    def _fill(self, point: list[Side], relaxation: Relaxation) -> bool:
        """Put in the values of the basis of a solved relaxation; False: they cannot be had."""
        states, row_states = relaxation.basis
        basic = set()
        for j, state in zip(self.free, states, strict=True):
            if state == BASIC:
                basic.add(j)
            else:
                point[j] = Fraction(0) if state == ZERO else (self.high if state == UPPER else self.low)[j]
                if point[j] is None:
                    return False
        equations: list[Equation] = []
        for i, state in zip(self.rows, row_states, strict=True):
            if state == BASIC:
                continue
            side = (self.at_most if state == UPPER else self.at_least)[i]
            if side is None:
                return False
            terms = {}
            for j, value in zip(self.exact.columns[i], self.exact.values[i], strict=True):
                if j in basic:
                    terms[j] = value
                else:
                    side -= value * _known(point[j])
            equations.append((terms, side))
        values = solution_of(equations, sorted(basic))
        if values is None:
            return False
        for j, found in values.items():
            point[j] = found
        return True

    def draw_in(self, point: Sequence[Fraction]) -> bool:
        """Draw in the bounds and inequalities that a point breaks, by a few times as much; False: it breaks an equation."""
        for j in self.free:
            low, high = self.low[j], self.high[j]
            if low is not None and point[j] < low:
                self.low[j] = low + _longer(low - point[j])
            if high is not None and point[j] > high:
                self.high[j] = high - _longer(point[j] - high)
            low, high = self.low[j], self.high[j]
            if low is not None and high is not None and low > high:
                return False
        for i in self.rows:
            total = sum(
                (a * point[c] for c, a in zip(self.exact.columns[i], self.exact.values[i], strict=True)), Fraction(0)
            )
            least, most = self.at_least[i], self.at_most[i]
            broken = (least is not None and total < least) or (most is not None and total > most)
            if broken and least == most:
                return False
            if least is not None and total < least:
                self.at_least[i] = least + _longer(least - total)
            if most is not None and total > most:
                self.at_most[i] = most - _longer(total - most)
        return True


def _longer(amount: Fraction) -> Fraction:
    """Return a short number that is two to four times an amount."""
    power = amount.numerator.bit_length() - amount.denominator.bit_length() + 2
    return Fraction(2) ** power


def _known(value: Side) -> Fraction:
    assert value is not None
    return value


def _float(side: Side, rest: Fraction, unit: int, infinite: float) -> float:
    return infinite if side is None else float((side - rest) / unit)
