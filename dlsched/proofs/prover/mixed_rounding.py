"""Mixed-integer rounding of sums of few rows (Marchand & Wolsey 2001, Oper. Res. 49, 363-371), as split cuts.

Each row begins a sum. Its sum is divided by a coefficient of a whole variable that is between its bounds, and rounded;
the quotient whose cut the vertex breaks most is taken. Where none is broken, a real variable between its bounds is
eliminated by a further row that is tight.
"""

from collections.abc import Iterator

import numpy as np

from dlsched.proofs.prover.split_cuts import SplitCut, Vertex, nearer
from dlsched.solvers.linear import Floats

_ROWS = 4
"""Rows that a sum has, at most."""
_DIVISORS = 6
_LEAST = 1e-3
"""Least violation of a cut, whose right side is 1."""
_BETWEEN = 1e-6
_TIGHT = 1e-6
_AWAY = 0.01
_LONG = 300
"""Coefficients of a sum, at most."""


class Rounding:
    """Makes the cuts of one vertex.

    Parameters
    ----------
    vertex
        The vertex to cut off.
    """

    def __init__(self, vertex: Vertex) -> None:
        relaxation = vertex.relaxation
        self.vertex = vertex
        self.matrix, self.turned = relaxation.matrix.tocsr(), relaxation.turned
        self.whole = vertex.exact.model.integer
        distance = np.abs(vertex.x - np.where(np.isfinite(vertex.nearest), vertex.nearest, np.inf))
        self.distance = np.where(distance < 1e-12, 0.0, distance)
        self.tight = np.isfinite(vertex.row_side) & (vertex.row_slack <= _TIGHT * (1 + np.abs(vertex.row_side)))

    def cuts(self, most: int) -> Iterator[SplitCut]:
        """Yield cuts of the ``most`` first tight rows."""
        for start in np.flatnonzero(self.tight)[:most].tolist():
            found = self._begin(start)
            if found is not None:
                cut = self.vertex.cut_of(found)
                if cut is not None:
                    yield cut

    def _begin(self, start: int) -> Floats | None:
        """Return multipliers of the rows that make a broken cut, beginning with one row."""
        rows = {start: 1.0}
        for _ in range(_ROWS):
            held = np.zeros(self.matrix.shape[0])
            held[list(rows)] = list(rows.values())
            sums = self.turned @ held
            columns = np.flatnonzero(np.abs(sums) > 1e-9)
            if len(columns) > _LONG:
                return None
            best = self._best(rows, columns, sums[columns])
            if best is not None:
                return held * best
            real = columns[~self.whole[columns] & (self.distance[columns] > _BETWEEN)]
            if not len(real):
                return None
            column = int(real[np.argmax(self.distance[real])])
            row = self._eliminating(column, rows)
            if row is None:
                return None
            rows[row] = -float(sums[column]) / float(self.matrix[row, column])
        return None

    def _eliminating(self, column: int, rows: dict[int, float]) -> int | None:
        """Return the shortest tight row with a variable that is not among the rows yet."""
        part = slice(int(self.turned.indptr[column]), int(self.turned.indptr[column + 1]))
        held = [i for i in self.turned.indices[part].tolist() if i not in rows and self.tight[i]]
        sizes = self.matrix.indptr
        return min(held, key=lambda i: (int(sizes[i + 1] - sizes[i]), i), default=None)

    def _best(
        self, rows: dict[int, float], columns: "np.ndarray[tuple[int], np.dtype[np.int64]]", sums: Floats
    ) -> float | None:
        """Return the factor of a sum whose rounding the vertex breaks most; None: it breaks none."""
        between = self.whole[columns] & (self.distance[columns] > _BETWEEN)
        divisors = np.unique(np.abs(sums[between]).round(9))
        if not len(divisors):
            return None
        best, factor = _LEAST, None
        for divisor in divisors[-_DIVISORS:].tolist():
            for turn in (1.0, -1.0):
                broken = self._broken(rows, columns, sums, turn / divisor)
                if broken > best:
                    best, factor = broken, turn / divisor
        if factor is not None:
            for part in (0.5, 0.25, 0.125):
                broken = self._broken(rows, columns, sums, factor * part)
                if broken > best:
                    best, factor = broken, factor * part
        return factor

    def _broken(
        self, rows: dict[int, float], columns: "np.ndarray[tuple[int], np.dtype[np.int64]]", sums: Floats, factor: float
    ) -> float:
        """Return by how much the vertex breaks the cut of a sum times a factor, whose right side is 1."""
        vertex = self.vertex
        sums = sums * factor
        whole, sense, distance = self.whole[columns], vertex.sense[columns], self.distance[columns]
        pi = np.where(whole, np.rint(sums), 0.0)
        left = pi - sums
        if np.isinf(distance[left != 0]).any():
            return 0.0
        near = np.where(np.isfinite(vertex.nearest[columns]), vertex.nearest[columns], 0.0)
        value = sum(float(vertex.row_side[i]) * y for i, y in rows.items()) * factor + float(left @ near)
        f = value - np.floor(value)
        if not _AWAY <= f <= 1 - _AWAY:
            return 0.0
        rest = np.where(whole & (left != 0), nearer(left * sense, f), left * sense)
        held = np.where(np.isfinite(distance), distance, 0.0)
        total = float(np.where(rest > 0, rest / (1 - f), -rest / f) @ held)
        for i, y in rows.items():
            slack = y * factor * float(vertex.row_turn[i])
            if not vertex.equal[i]:
                total += (slack / (1 - f) if slack > 0 else -slack / f) * float(vertex.row_slack[i])
        return 1.0 - total
