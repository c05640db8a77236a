"""A mixed-integer linear model as plain arrays, for solvers; made from a PuLP model.

minimise (or maximise) ``costs`` x + ``constant``,  ``row_lower`` <= A x <= ``row_upper``,  ``lower`` <= x <= ``upper``.
A is held row by row: the columns of row i are ``columns[row_starts[i] : row_starts[i + 1]]``.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dlsched.core.arrays import dot
from dlsched.core.status import Sense

if TYPE_CHECKING:
    import pulp
    from scipy.sparse import csr_array


Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """Arrays of a model with V variables and R rows; see the module for their meaning."""

    sense: Sense
    names: list[str]
    costs: Floats
    constant: float
    lower: Floats
    upper: Floats
    integer: npt.NDArray[np.bool_]
    row_names: list[str]
    row_starts: Integers
    columns: Integers
    coefficients: Floats
    row_lower: Floats
    row_upper: Floats

    @property
    def sign(self) -> float:
        """1 when minimising, -1 when maximising."""
        return 1.0 if self.sense is Sense.MINIMIZE else -1.0

    def matrix(self) -> "csr_array":
        """A as a SciPy sparse array, shape (R, V)."""
        from scipy.sparse import csr_array

        shape = (len(self.row_names), len(self.names))
        return csr_array((self.coefficients, self.columns, self.row_starts), shape=shape)

    def row(self, index: int) -> tuple[list[int], list[float]]:
        """Columns and coefficients of one row."""
        part = slice(int(self.row_starts[index]), int(self.row_starts[index + 1]))
        return self.columns[part].tolist(), self.coefficients[part].tolist()

    def objective(self, values: Floats) -> float:
        """Objective of a point, shape (V,)."""
        return float(dot(self.costs, values)) + self.constant


_COSTS = 17  # the largest scaled cost is 2**16 to 2**17: tolerances of 1e-6 and 1e-7 are then 1e-11 of it and less
_ROWS = 20  # rows of whole numbers below 2**20 stay as they are: their tolerances are those of whole numbers


def scaled(model: LinearModel) -> tuple[LinearModel, float]:
    """Scale costs, and rows of fractions, by powers of two, which keeps all digits; return the model and its unit.

    The scaled model's objective times the unit, plus the constant of ``model``, is that of ``model``. Rows with all coefficients
    below 1 are scaled up to 1, rows of integer columns above 2**20 down to that.
    """
    largest = float(np.abs(model.costs).max(initial=0.0))
    power = math.frexp(largest)[1] - _COSTS if largest > 0 else 0
    # exponents by which rows shrink, of the largest coefficient of each row that has any
    powers = np.zeros(len(model.row_names), dtype=np.int64)
    filled = np.flatnonzero(np.diff(model.row_starts))
    if len(filled):
        starts = model.row_starts[:-1][filled]
        sizes = np.maximum.reduceat(np.abs(model.coefficients), starts)
        whole = np.logical_and.reduceat(model.integer[model.columns], starts)
        exponents = np.where(sizes > 0, np.frexp(sizes)[1].astype(np.int64), 1)
        powers[filled] = np.where(
            exponents < 1, exponents - 1, np.where(whole & (exponents > _ROWS), exponents - _ROWS, 0)
        )
    each = np.repeat(powers, np.diff(model.row_starts))
    return replace(
        model,
        costs=np.ldexp(model.costs, -power),
        constant=0.0,
        coefficients=np.ldexp(model.coefficients, -each),
        row_lower=np.ldexp(model.row_lower, -powers),
        row_upper=np.ldexp(model.row_upper, -powers),
    ), math.ldexp(1.0, power)


def from_pulp(problem: "pulp.LpProblem") -> LinearModel:
    """Read a PuLP model into arrays."""
    import pulp

    variables = problem.variables()
    index = {variable.name: position for position, variable in enumerate(variables)}
    costs = np.zeros(len(variables))
    constant = 0.0
    if problem.objective is not None:
        for variable, cost in problem.objective.items():
            costs[index[variable.name]] = cost
        constant = float(problem.objective.constant)
    starts, columns, coefficients, row_lower, row_upper = [0], [], [], [], []
    for row in problem.constraints.values():
        columns += [index[variable.name] for variable in row]
        coefficients += row.values()
        starts.append(len(columns))
        right = -row.constant
        row_lower.append(-np.inf if row.sense == pulp.LpConstraintLE else right)
        row_upper.append(np.inf if row.sense == pulp.LpConstraintGE else right)
    return LinearModel(
        sense=Sense.MINIMIZE if problem.sense == pulp.LpMinimize else Sense.MAXIMIZE,
        names=[variable.name for variable in variables],
        costs=costs,
        constant=constant,
        lower=np.array([-np.inf if v.lowBound is None else v.lowBound for v in variables], dtype=np.float64),
        upper=np.array([np.inf if v.upBound is None else v.upBound for v in variables], dtype=np.float64),
        integer=np.array([v.cat == pulp.LpInteger for v in variables], dtype=bool),
        row_names=list(problem.constraints),
        row_starts=np.array(starts, dtype=np.int64),
        columns=np.array(columns, dtype=np.int64),
        coefficients=np.array(coefficients, dtype=np.float64),
        row_lower=np.array(row_lower, dtype=np.float64),
        row_upper=np.array(row_upper, dtype=np.float64),
    )


class Rows:
    """Rows ``sum_k a_k x_k <= right``."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int, float]] = []
        self.right: list[float] = []

    def add(self, terms: Iterable[tuple[int, float]], right: float) -> int:
        """Add a row of (column, coefficient) terms, and return its index."""
        self.entries += [(len(self.right), column, value) for column, value in terms]
        self.right.append(right)
        return len(self.right) - 1

    def copy(self) -> "Rows":
        """Return an independent copy of the rows."""
        other = Rows()
        other.entries, other.right = list(self.entries), list(self.right)
        return other

    def matrix(self, columns: int) -> "csr_array":
        """A SciPy sparse array of that many columns."""
        from scipy.sparse import coo_array

        rows, indices, values = zip(*self.entries, strict=True)
        return coo_array((values, (rows, indices)), shape=(len(self.right), columns)).tocsr()


def maximisation(
    costs: npt.ArrayLike,
    matrix: "csr_array",
    right: npt.ArrayLike,
    *,
    upper: npt.ArrayLike,
    integer: npt.ArrayLike,
    equal: Sequence[int] = (),
) -> LinearModel:
    """Maximise ``costs`` x over A x <= ``right``, 0 <= x <= ``upper``, in rows ``equal`` with equality; columns ``x<index>``."""
    rows, columns = matrix.shape
    row_upper = np.asarray(right, dtype=np.float64)
    row_lower = np.full(rows, -np.inf)
    row_lower[list(equal)] = row_upper[list(equal)]
    return LinearModel(
        sense=Sense.MAXIMIZE,
        names=[f"x{index}" for index in range(columns)],
        costs=np.asarray(costs, dtype=np.float64),
        constant=0.0,
        lower=np.zeros(columns),
        upper=np.asarray(upper, dtype=np.float64),
        integer=np.asarray(integer, dtype=bool),
        row_names=[f"r{index}" for index in range(rows)],
        row_starts=matrix.indptr.astype(np.int64),
        columns=matrix.indices.astype(np.int64),
        coefficients=matrix.data,
        row_lower=row_lower,
        row_upper=row_upper,
    )
