"""Restricted master of column generation: the known columns, and the linear program over them.

minimise sum_c cost_c x_c,   rows 0 .. M - 1: A x <= ``most``,   rows M, M + 1 ..: A x = ``exactly``,   x >= 0

Columns and rows keep the order in which they came; the same columns added in the same order give the same optimum.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dlsched.solvers.lp import linear_program

if TYPE_CHECKING:
    from scipy.sparse import csc_array

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """The optimum over the known columns: objective ``value``, and ``weights`` x in the order of the columns.

    ``prices`` >= 0 of the rows ``most``: by how much the value falls if the right-hand side grows by one. ``duals`` of
    the equalities: by how much it rises.
    """

    value: float
    weights: Floats
    prices: Floats
    duals: Floats


class Master:
    """The known columns, each under a key, and their linear program.

    ``most`` and ``exactly``: right-hand sides of the rows <=, and of the equalities after them; ``unit``: divisor of
    the costs for the solver; ``tolerance``: HiGHS' feasibility tolerances, None for its default.
    """

    def __init__(
        self, most: npt.ArrayLike, exactly: npt.ArrayLike = (), *, unit: float = 1.0, tolerance: float | None = None
    ) -> None:
        self._most, self._exactly = np.asarray(most, dtype=np.float64), np.asarray(exactly, dtype=np.float64)
        self._unit, self._tolerance = unit, tolerance
        self._keys: set[Hashable] = set()
        self._costs: list[float] = []
        self._rows: list[int] = []
        self._values: list[float] = []
        self._ends = [0]

    def __len__(self) -> int:
        """Number of known columns."""
        return len(self._costs)

    def __contains__(self, key: Hashable) -> bool:
        """Whether the column of that key is known."""
        return key in self._keys

    def add(self, key: Hashable, cost: float, rows: Sequence[int], values: Sequence[float]) -> bool:
        """Add a column with its entries by row; return False if its key is known already."""
        if key in self._keys:
            return False
        self._keys.add(key)
        self._costs.append(cost)
        self._rows += rows
        self._values += values
        self._ends.append(len(self._rows))
        return True

    @property
    def costs(self) -> Floats:
        """Costs of the known columns, in ``unit``."""
        return np.array(self._costs) / self._unit

    def matrix(self) -> "csc_array":
        """A, rows by known columns."""
        from scipy.sparse import csc_array

        shape = len(self._most) + len(self._exactly), len(self)
        return csc_array((self._values, self._rows, self._ends), shape=shape)

    def solve(self, time_s: float | None = None) -> Optimum:
        """Solve the linear program over the known columns.

        ``SolverError``: no optimum; ``Stopped``: after ``time_s``.
        """
        matrix, first = self.matrix().tocsr(), len(self._most)
        answer = linear_program(
            self.costs,
            a_ub=matrix[:first],
            b_ub=self._most,
            a_eq=matrix[first:],
            b_eq=self._exactly,
            tolerance=self._tolerance,
            time_s=time_s,
        )
        return Optimum(
            value=answer.objective * self._unit,
            weights=answer.x,
            # Marginals of rows <= are <= 0 in SciPy; rounding may leave a tiny positive one.
            prices=np.maximum(0.0, -answer.upper) * self._unit,
            duals=answer.equal * self._unit,
        )
