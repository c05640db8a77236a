"""Mixed-integer rounding of sums of few rows (Marchand & Wolsey 2001, Oper. Res. 49, 363-371), as split cuts.

Each row begins a sum. Its sum is divided by a coefficient of a whole variable that is between its bounds, and rounded;
the quotient whose cut the vertex breaks most is taken. Where none is broken, a real variable between its bounds is
eliminated by a further row that is tight.
"""

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dlsched.core.arrays import dot
from dlsched.proofs.prover.split_cuts import SplitCut, Vertex, nearer
from dlsched.solvers.linear import Floats, Integers

_ROWS = 4
"""Rows that a sum has, at most."""
_DIVISORS = 6
_LEAST = 1e-3
"""Least violation of a cut, whose right side is 1."""
_BETWEEN = 1e-6
_TIGHT = 1e-6
_NEAR = 0.1
"""Distance from the vertex up to which a row begins a sum."""
_AWAY = 0.01
_FLIPS = 20
"""Variables whose other bound is tried."""
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
        norm = np.sqrt(np.asarray(self.matrix.multiply(self.matrix).sum(axis=1)).ravel())
        slack = vertex.row_slack / np.where(norm > 0, norm, 1.0)
        self.tight = np.isfinite(vertex.row_side) & (slack <= _TIGHT)
        near = np.isfinite(vertex.row_side) & (slack <= _NEAR)
        self.starts = sorted(np.flatnonzero(near).tolist(), key=lambda i: (float(slack[i]), i))

    def cuts(self, most: int) -> Iterator[SplitCut]:
        """Yield cuts that begin with the ``most`` rows of least slack."""
        for start in self.starts[:most]:
            found = self._begin(start)
            if found is not None:
                cut = self.vertex.cut_of(*found)
                if cut is not None:
                    yield cut

    def _begin(self, start: int) -> tuple[Floats, Integers] | None:
        """Return the rows' multipliers of a broken cut that begins with one row, and which variables change bounds."""
        rows = {start: 1.0}
        for _ in range(_ROWS):
            held = np.zeros(self.matrix.shape[0])
            held[list(rows)] = list(rows.values())
            sums = self.turned @ held
            columns = np.flatnonzero(np.abs(sums) > 1e-9)
            if len(columns) > _LONG:
                return None
            best = self._best(_Sum(self, rows, columns, sums[columns]))
            if best is not None:
                return held * best[0], columns[best[1]]
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

    def _best(self, held: "_Sum") -> tuple[float, npt.NDArray[np.bool_]] | None:
        """Return the factor of a sum, and the variables that change bounds, of the most broken cut; None: none is broken."""
        between = held.whole & (self.distance[held.columns] > _BETWEEN)
        divisors = np.unique(np.abs(held.sums[between]).round(9))
        if not len(divisors):
            return None
        flips = np.zeros(len(held.columns), dtype=bool)
        tried = [
            (held.broken(turn / divisor, flips), turn / divisor)
            for divisor in divisors[-_DIVISORS:].tolist()
            for turn in (1.0, -1.0)
        ]
        best, factor = max(tried)
        for part in (0.5, 0.25, 0.125):
            broken = held.broken(factor * part, flips)
            if broken > best:
                best, factor = broken, factor * part
        middle = np.flatnonzero(between & held.two_sided)
        for place in middle[np.argsort(-self.distance[held.columns[middle]], kind="stable")][:_FLIPS].tolist():
            flips[place] = True
            broken = held.broken(factor, flips)
            if broken > best + 1e-9:
                best = broken
            else:
                flips[place] = False
        return (factor, flips) if best > _LEAST else None


class _Sum:
    """A sum of rows, and how much the vertex breaks the cuts that it makes."""

    def __init__(self, rounding: Rounding, rows: dict[int, float], columns: Integers, sums: Floats) -> None:
        vertex = rounding.vertex
        model = vertex.exact.model
        self.columns, self.sums, self.whole = columns, sums, rounding.whole[columns]
        self.sense, self.near = vertex.sense[columns], vertex.nearest[columns]
        self.other = np.where(self.sense > 0, model.upper[columns], model.lower[columns])
        self.two_sided = np.isfinite(self.other)
        self.x = vertex.x[columns]
        self.side = sum(float(vertex.row_side[i]) * y for i, y in rows.items())
        slacks = [
            (y * float(vertex.row_turn[i]), float(vertex.row_slack[i])) for i, y in rows.items() if not vertex.equal[i]
        ]
        self.slacks = [(y, slack) for y, slack in slacks if slack > 0]

    def broken(self, factor: float, flips: npt.NDArray[np.bool_]) -> float:
        """Return by how much the vertex breaks the cut of a sum times a factor, whose right side is 1."""
        sums = self.sums * factor
        near = np.where(flips, self.other, self.near)
        sense = np.where(flips, -self.sense, self.sense)
        left = np.where(self.whole, np.rint(sums), 0.0) - sums
        if np.isinf(near[left != 0]).any():
            return -np.inf
        near = np.where(np.isfinite(near), near, 0.0)
        value = self.side * factor + float(dot(left, near))
        f = value - math.floor(value)
        if not _AWAY <= f <= 1 - _AWAY:
            return -np.inf
        left *= sense
        rest = np.where(self.whole & (left != 0), nearer(left, f), left)
        total = float(dot(np.maximum(rest / (1 - f), -rest / f), np.abs(self.x - near)))
        for y, slack in self.slacks:
            total += max(y * factor / (1 - f), -y * factor / f) * slack
        return 1.0 - total
