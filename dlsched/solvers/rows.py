"""Builder of rows of a linear program one by one, and models from sparse matrices."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dlsched.core.status import Sense
from dlsched.solvers.linear import LinearModel

if TYPE_CHECKING:
    from scipy.sparse import csr_array


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

        places, held, values = zip(*self.entries, strict=True)
        return coo_array((values, (places, held)), shape=(len(self.right), columns)).tocsr()


def maximisation(
    costs: npt.ArrayLike,
    matrix: "csr_array",
    right: npt.ArrayLike,
    *,
    upper: npt.ArrayLike,
    integer: npt.ArrayLike,
    equal: Sequence[int] = (),
) -> LinearModel:
    """Maximise ``costs`` x over A x <= ``right``, 0 <= x <= ``upper``, in rows ``equal`` with equality.

    Columns are named ``x<index>``.
    """
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
