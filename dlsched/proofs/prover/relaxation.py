"""The linear relaxation, solved again and again by SoPlex from the last basis: a case costs a fraction of a millisecond.

Costs are scaled by a power of two such that the largest is 2**16 to 2**17, as tolerances are absolute; the model is a
minimum. What SoPlex says is only proposed: multipliers are rounded and proven in whole numbers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dlsched.core.arrays import dot
from dlsched.solvers.linear import Floats, LinearModel

Basis: TypeAlias = tuple[list[int], list[int]]
"""Statuses of the columns and of the rows, as SoPlex numbers them."""

BASIC, UPPER, ZERO = 1, 2, 3
"""States of a column or row in a basis, besides 0 for its lower side."""
FAILED = 1e99
"""Objectives from here on mean that SoPlex found no optimum."""
_FREE = 1e20  # stands for infinite bounds
_COSTS = 17  # the largest scaled cost is 2**16 to 2**17
_TOLERANCE = 1e-9  # by how much SoPlex may break rows, bounds and reduced costs
_LEAST_S = 1e-3  # the least time limit for SoPlex
_HAIR = 1e-14  # reduced costs below this part of the multipliers count as 0 when a bound is foreseen in floats


def unlimited() -> float:
    """No limit of time."""
    return math.inf


@dataclass(frozen=True, slots=True, eq=False)
class Relaxed:
    """An answer: ``objective`` in scaled costs (infinite: no point, then ``y`` are multipliers that show it), x and y."""

    objective: float
    x: Floats
    y: Floats


class Relaxation:
    """The relaxation of a model, whose bounds change from case to case.

    ``tolerance``: by how much SoPlex may break a row, bound or reduced cost. ``rows``: those that take part, ascending; None:
    all. Multipliers are of all rows, 0 for the others. ``left_s`` returns the seconds after which a solution stops. Scaled
    costs are the model's times 2**-``power``.
    """

    def __init__(
        self,
        model: LinearModel,
        *,
        tolerance: float = _TOLERANCE,
        rows: Sequence[int] | None = None,
        left_s: Callable[[], float] = unlimited,
    ) -> None:
        from pyscipopt import LP

        self.model, self.left_s = model, left_s
        largest = float(np.abs(model.costs).max(initial=0.0))
        self.power = math.frexp(largest)[1] - _COSTS if largest > 0 else 0
        self.costs = np.ldexp(model.costs * model.sign, -self.power)
        self.matrix = model.matrix()
        self.turned = self.matrix.T.tocsr()
        self.row_lower, self.row_upper = model.row_lower.copy(), model.row_upper.copy()
        self.lower, self.upper = model.lower.copy(), model.upper.copy()
        self._program = LP("relaxation", "minimize")
        self._set_parameters(tolerance)
        count = len(model.names)
        self._program.addCols([[] for _ in range(count)], self.costs.tolist(), *_sides(model.lower, model.upper))
        self.rows = np.arange(len(model.row_names)) if rows is None else np.array(rows, dtype=np.int64)
        entries = [list(zip(*model.row(i), strict=True)) for i in self.rows.tolist()]
        if entries:
            self._program.addRows(entries, *_sides(model.row_lower[self.rows], model.row_upper[self.rows]))

    def _set_parameters(self, tolerance: float) -> None:
        from pyscipopt import SCIP_LPPARAM

        for parameter in (SCIP_LPPARAM.FEASTOL, SCIP_LPPARAM.DUALFEASTOL):
            self._program.setRealParam(parameter, tolerance)
        self._program.setIntParam(SCIP_LPPARAM.PRESOLVING, 0)  # after it there is no basis where nothing is left
        self._steps, self._seconds = SCIP_LPPARAM.LPITLIM, SCIP_LPPARAM.LPTILIM

    def limit(self, steps: int) -> None:
        """Stop each solution after so many steps of the simplex method."""
        self._program.setIntParam(self._steps, steps)

    def narrow(self, lower: Floats, upper: Floats) -> None:
        """Set the bounds of all variables."""
        for j in np.flatnonzero((lower != self.lower) | (upper != self.upper)).tolist():
            self.bound(j, float(lower[j]), float(upper[j]))

    def bound(self, j: int, low: float, high: float) -> None:
        """Set the bounds of one variable."""
        self._program.chgBound(j, max(low, -_FREE), min(high, _FREE))
        self.lower[j], self.upper[j] = low, high

    @property
    def basis(self) -> Basis:
        """The basis of the last answer."""
        columns, rows = self._program.getBase()
        return columns, rows

    @basis.setter
    def basis(self, basis: Basis) -> None:
        columns, rows = basis
        self._program.setBase(columns, rows + [BASIC] * (self._program.nrows() - len(rows)))

    def value(self) -> float:
        """Solve, and return the objective only; infinite: no point, or no answer."""
        objective = self._solved()
        return math.inf if objective is None else objective

    def _solved(self) -> float | None:
        """Return the objective; None: SoPlex fails, the next solution begins from the basis of the slacks."""
        if (left_s := self.left_s()) < math.inf:
            self._program.setRealParam(self._seconds, max(left_s, _LEAST_S))
        try:
            objective = float(self._program.solve())
        except Exception:  # pyscipopt raises no narrower class
            self.basis = self._slacks()
            return None
        return objective if objective < FAILED else math.inf

    def _slacks(self) -> Basis:
        """Return the basis in which every row is basic."""
        states = np.where(np.isfinite(self.lower), 0, np.where(np.isfinite(self.upper), UPPER, ZERO))
        return states.tolist(), [BASIC] * len(self.rows)

    def _empty(self) -> Relaxed:
        """Solve a model without variables, on which SoPlex fails: a row that 0 breaks shows that there is no point."""
        y = np.where(self.row_lower > 0, 1.0, np.where(self.row_upper < 0, -1.0, 0.0))
        return Relaxed(math.inf if y.any() else 0.0, np.zeros(0), y)

    def solve(self) -> Relaxed | None:
        """Solve; None: SoPlex has no answer."""
        if not len(self.costs):
            return self._empty()
        objective = self._solved()
        if objective is None:
            return None
        count = len(self.costs)
        if objective < math.inf:
            if not self._program.isOptimal():
                return None
            return Relaxed(objective, np.array(self._program.getPrimal()), self._signed(self._program.getDual()))
        ray = self._program.getDualRay()
        if ray is None or not any(ray):
            return None
        y = self._signed(ray)
        return Relaxed(math.inf, np.zeros(count), y / max(1e-300, float(np.abs(y).max())))

    def row_states(self) -> npt.NDArray[np.int64]:
        """Return the states of all rows in the basis; rows that take no part are basic."""
        states = np.full(len(self.row_lower), BASIC)
        states[self.rows] = self._program.getBase()[1]
        return states

    def _signed(self, dual: Sequence[float]) -> Floats:
        """Put multipliers in their places, and drop those of sides that rows do not have."""
        y = np.zeros(len(self.row_lower))
        y[self.rows] = dual
        wrong = ((y > 0) & np.isinf(self.row_lower)) | ((y < 0) & np.isinf(self.row_upper))
        return np.where(wrong, 0.0, y)

    def float_bound(self, y: Floats, *, costs: bool = True) -> float:
        """Return about what multipliers prove with the bounds that are set, in scaled costs."""
        # reduced costs that are rounding errors would meet infinite bounds
        reduced = (self.costs if costs else 0.0) - self.turned @ y
        reduced[np.abs(reduced) < _HAIR * max(1.0, float(np.abs(y).max(initial=0.0)))] = 0.0
        sides = np.where(y > 0, self.row_lower, self.row_upper)
        ends = np.where(reduced > 0, self.lower, self.upper)
        rows, columns = y != 0, reduced != 0
        return float(dot(y[rows], sides[rows]) + dot(reduced[columns], ends[columns]))


def _sides(lower: Floats, upper: Floats) -> tuple[list[float], list[float]]:
    return np.maximum(lower, -_FREE).tolist(), np.minimum(upper, _FREE).tolist()
