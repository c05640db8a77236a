"""Split cuts: rows that hold where pi x <= p and where pi x >= p + 1, and so for every point, as pi and p are whole.

Gomory's mixed-integer cut of a fractional basic variable is one: multipliers l of the rows and bounds that are tight at
the vertex, with sum_k l_k r_k(x) = pi x - (p + f), r_k(x) >= 0 their slacks. On either side

    sum over l_k > 0 of l_k r_k / (1 - f)  +  sum over l_k < 0 of |l_k| r_k / f  >=  1.

Floats choose pi, p, the row's coefficients and both sides' multipliers; its right side is what the multipliers prove in
whole numbers, on the worse of the two sides.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dlsched.core.arrays import dot
from dlsched.proofs.prover.dual_bounds import DualBound, Multipliers, combined
from dlsched.proofs.prover.exact_model import CUT_COEFFICIENTS, CUT_SIDES, ExactModel
from dlsched.proofs.prover.relaxation import BASIC, UPPER, Relaxation, Relaxed
from dlsched.solvers.linear import Floats, Integers

_AWAY = 0.005
"""A variable has to be so far from whole numbers for a cut."""
_LARGEST = 2.0**20
"""Multiples of whole variables above this make no cut."""
_BITS = 30
"""Bits behind the point of the multipliers of both sides."""
_KEPT = 2.0**-16
"""Coefficients below this part of the largest are left out; a bound takes them up."""
_VIOLATED = 1e-4
"""Least distance of the vertex from a cut, in the Euclidean norm."""
_DENSE = 400
"""Coefficients that a cut may have, besides half of the variables."""


@dataclass(frozen=True, eq=False)
class SplitCut:
    """A cut ``values`` x >= ``side``, in the units of ``ExactModel``, and how it is derived.

    Parameters
    ----------
    columns, values, side
        The row.
    split, below
        pi, whole, by variable; and p.
    up, down
        Multipliers of the rows where pi x >= p + 1, and where pi x <= p; the last number of each is that of pi.
    distance
        Of the vertex that it cuts off.
    """

    columns: list[int]
    values: list[int]
    side: int
    split: dict[int, int]
    below: int
    up: tuple[Multipliers, int]
    down: tuple[Multipliers, int]
    distance: float

    def proven(self, exact: ExactModel, *, rising: bool) -> DualBound | None:
        """Return what the multipliers of one side prove of the row."""
        multipliers, assumed = self.up if rising else self.down
        side = self.below + 1 if rising else self.below
        costs = dict(zip(self.columns, self.values, strict=True))
        return combined(exact, costs, multipliers, self.split, side, assumed)


class Vertex:
    """The vertex of a solved relaxation, with its basis as a factorized matrix.

    Parameters
    ----------
    exact, relaxation, answer
        The model, its relaxation without narrowed bounds, and the answer of the relaxation.
    """

    def __init__(self, exact: ExactModel, relaxation: Relaxation, answer: Relaxed) -> None:
        from scipy.sparse.linalg import splu

        self.exact, self.relaxation, self.x = exact, relaxation, answer.x
        columns, rows = np.array(relaxation.basis[0]), relaxation.row_states()
        self.basic = np.flatnonzero(columns == BASIC)
        self.tight = np.flatnonzero(rows != BASIC)
        model = exact.model
        to_lower, to_upper = self.x - model.lower, model.upper - self.x
        at_upper = np.where((columns == UPPER) | (columns == 0), columns == UPPER, to_upper < to_lower)
        at_upper = np.where(np.isinf(model.lower), True, np.where(np.isinf(model.upper), False, at_upper))
        self.sense = np.where(at_upper, -1.0, 1.0)
        self.nearest = np.where(at_upper, model.upper, model.lower)
        activity = relaxation.matrix @ self.x
        lower, upper = relaxation.row_lower, relaxation.row_upper
        row_at_upper = np.where(rows == BASIC, upper - activity < activity - lower, rows == UPPER)
        self.equal = lower == upper
        self.row_turn = np.where(row_at_upper, -1.0, 1.0)
        self.row_side = np.where(row_at_upper, upper, lower)
        self.row_slack = np.maximum((activity - self.row_side) * self.row_turn, 0.0)
        self.factors = None
        if len(self.basic) and len(self.basic) == len(self.tight):
            square = relaxation.matrix[self.tight][:, self.basic]
            try:
                self.factors = splu(square.T.tocsc())
            except RuntimeError:  # the matrix is singular to working precision
                self.factors = None
        self.whole_rows = _whole_rows(exact)

    def cuts(self, most: int) -> Iterator[SplitCut]:
        """Yield a cut for each of the ``most`` basic whole variables that are farthest from whole numbers."""
        if self.factors is None:
            return
        apart = np.abs(self.x - np.rint(self.x))
        found = [k for k, j in enumerate(self.basic.tolist()) if self.exact.integer[j] and apart[j] > _AWAY]
        found.sort(key=lambda k: (-apart[self.basic[k]], k))
        for k in found[:most]:
            cut = self._cut(k)
            if cut is not None:
                yield cut

    def _cut(self, k: int) -> SplitCut | None:
        """Return the cut of the k-th basic variable."""
        assert self.factors is not None
        relaxation = self.relaxation
        f = float(self.x[self.basic[k]] - math.floor(self.x[self.basic[k]]))
        unit = np.zeros(len(self.basic))
        unit[k] = 1.0
        part = self.factors.solve(unit)
        if not np.isfinite(part).all() or np.abs(part).max() > _LARGEST:
            return None
        rows = np.zeros(len(relaxation.row_lower))
        rows[self.tight] = np.where(np.abs(part) < 1e-11, 0.0, part)
        slack = rows * self.row_turn
        slack = np.where(self.whole_rows & (slack != 0), nearer(slack, f), slack)
        return self.cut_of(slack * self.row_turn)

    def cut_of(self, rows: Floats, flipped: Integers | None = None) -> SplitCut | None:
        """Return the cut that multipliers of the rows make: bounds that are near take up what is left of every variable.

        ``flipped``: variables whose other bound does so.
        """
        nearest, sense = self.nearest, self.sense
        if flipped is not None and len(flipped):
            nearest, sense = nearest.copy(), sense.copy()
            model = self.exact.model
            nearest[flipped] = np.where(sense[flipped] > 0, model.upper[flipped], model.lower[flipped])
            sense[flipped] *= -1.0
        relaxation, whole = self.relaxation, self.exact.model.integer
        sums = relaxation.turned @ rows
        used = (sums != 0) & ~(whole & (sums == np.rint(sums)))
        if not np.isfinite(nearest[used]).all() or np.abs(sums).max(initial=0.0) > _LARGEST:
            return None
        near = np.where(np.isfinite(nearest), nearest, 0.0)
        taking = rows != 0
        pi = np.where(whole, np.rint(sums), 0.0)
        value = float(dot(rows[taking], self.row_side[taking])) + float(dot(pi - sums, near))
        f = value - math.floor(value)
        if not _AWAY <= f <= 1 - _AWAY:
            return None
        rest = np.where(whole & used, nearer((pi - sums) * sense, f), (pi - sums) * sense)
        pi = np.where(whole, np.rint(sums + rest * sense), 0.0)
        value = float(dot(rows[taking], self.row_side[taking])) + float(dot(pi - sums, near))
        below = math.floor(value)
        f = value - below
        if not _AWAY <= f <= 1 - _AWAY or not pi.any():
            return None
        slack = rows * self.row_turn
        row_parts = np.where(self.equal | (slack > 0), slack / (1 - f), -slack / f) * self.row_turn
        bound_parts = np.where(rest > 0, rest / (1 - f), -rest / f) * sense
        row = relaxation.turned @ row_parts + bound_parts
        both = 1 / f + 1 / (1 - f)
        up = np.where(~self.equal & (slack < 0), -slack * both, 0.0) * self.row_turn
        down = np.where(self.equal | (slack > 0), slack * both, 0.0) * self.row_turn
        return self._exact(row, pi, below, up, down, f)

    def _exact(self, row: Floats, pi: Floats, below: int, up: Floats, down: Floats, f: float) -> SplitCut | None:
        """Round a cut, and prove it in whole numbers; None: it is too dense, or cuts off too little."""
        exact = self.exact
        largest = float(np.abs(row).max(initial=0.0))
        if not 0 < largest < math.inf:
            return None
        power = -math.frexp(largest)[1]
        row = np.where(np.abs(row) < _KEPT * largest, 0.0, row)
        if np.count_nonzero(row) > len(row) // 2 + _DENSE:
            return None
        unit = 1 << _BITS
        numbers = np.rint(np.ldexp(row, power + CUT_COEFFICIENTS))
        used = np.flatnonzero(numbers)
        values = [int(v) << (exact.scale - CUT_COEFFICIENTS) for v in numbers[used].tolist()]
        split = {int(j): int(pi[j]) for j in np.flatnonzero(pi)}
        sides = []
        for rows, mu in ((up, 1 / (1 - f)), (down, -1 / f)):
            scaled = np.rint(np.ldexp(rows, power + _BITS))
            held = np.flatnonzero(scaled)
            multipliers = Multipliers(held.astype(np.int32), [int(v) for v in scaled[held].tolist()], unit)
            sides.append((multipliers, round(math.ldexp(mu, power + _BITS))))
        cut = SplitCut(used.tolist(), values, 0, split, below, sides[0], sides[1], 0.0)
        proofs = [cut.proven(exact, rising=rising) for rising in (True, False)]
        if proofs[0] is None or proofs[1] is None:
            return None
        least = min(proof.bound for proof in proofs if proof is not None)
        side = math.floor(least * (1 << CUT_SIDES))
        coefficients = np.ldexp(numbers[used], -CUT_COEFFICIENTS)
        missing = math.ldexp(side, -CUT_SIDES) - float(dot(coefficients, self.x[used]))
        distance = missing / float(np.sqrt((coefficients * coefficients).sum()))
        if distance < _VIOLATED:
            return None
        exact_side = side << (exact.sides - CUT_SIDES)
        return SplitCut(used.tolist(), values, exact_side, split, below, sides[0], sides[1], distance)


def nearer(multipliers: Floats, f: float) -> Floats:
    """Change multipliers by whole numbers such that their slacks count least in the cut."""
    part = multipliers - np.floor(multipliers)
    return np.where(part / (1 - f) <= (1 - part) / f, part, part - 1.0)


def _whole_rows(exact: ExactModel) -> npt.NDArray[np.bool_]:
    """Return which rows have slacks that are whole in every point."""
    model = exact.model
    bad = ~model.integer[model.columns] | (model.coefficients != np.rint(model.coefficients))
    starts = model.row_starts
    sums = np.concatenate(([0], np.cumsum(bad)))
    ends = (
        np.where(np.isfinite(model.row_lower), model.row_lower, 0.0),
        np.where(np.isfinite(model.row_upper), model.row_upper, 0.0),
    )
    whole = (ends[0] == np.rint(ends[0])) & (ends[1] == np.rint(ends[1]))
    found: npt.NDArray[np.bool_] = whole & (sums[starts[1:]] == sums[starts[:-1]])
    return found
