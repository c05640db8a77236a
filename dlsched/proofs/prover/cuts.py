"""Cuts at the root, in rounds: Gomory's mixed-integer cuts and mixed-integer rounding, both as split cuts.

Split cuts are rows that hold where pi x <= p and where pi x >= p + 1, and so for every point, as pi and p are whole.

Gomory's mixed-integer cut of a fractional basic variable is one: multipliers l of the rows and bounds that are tight at
the vertex, with sum_k l_k r_k(x) = pi x - (p + f), r_k(x) >= 0 their slacks. On either side

    sum over l_k > 0 of l_k r_k / (1 - f)  +  sum over l_k < 0 of |l_k| r_k / f  >=  1.

Floats choose pi, p, the row's coefficients and both sides' multipliers; its right side is what the multipliers prove in
whole numbers, on the worse of the two sides.

Mixed-integer rounding of sums of few rows (Marchand & Wolsey 2001, Oper. Res. 49, 363-371): each row begins a sum. The sum is
divided by a coefficient of a whole variable that is between its bounds, and rounded; the quotient whose cut the vertex breaks
most is taken. Where none is broken, a real variable between its bounds is eliminated by a further row that is tight.

A round solves the relaxation, cuts off its vertex and drops the cuts that are not tight. The cuts of rounds after the last
one that made progress are dropped, too.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import numpy as np
import numpy.typing as npt

from dlsched.core.arrays import dot
from dlsched.core.limits import Tick, no_tick
from dlsched.proofs.prover.dual_bounds import DualBound, Multipliers, combined
from dlsched.proofs.prover.exact_model import CUT_COEFFICIENTS, CUT_SIDES, ExactModel
from dlsched.proofs.prover.relaxation import BASIC, UPPER, Relaxation, Relaxed, unlimited
from dlsched.solvers.linear import Floats, Integers

_AWAY = 0.005
"""A variable has to be so far from whole numbers for a cut."""
_LARGEST = 2.0**20
"""Multiples of whole variables above this make no cut."""
_BITS = 30
"""Bits behind the point of the multipliers of both sides."""
_SMALLEST = 2.0**-16
"""Coefficients below this part of the largest become 0; a bound takes them up."""
_VIOLATED = 1e-4
"""Least distance of the vertex from a cut, in the Euclidean norm."""
_DENSE = 400
"""Coefficients that a cut may have, besides half of the variables."""


@dataclass(frozen=True, eq=False)
class SplitCut:
    """A cut ``values`` x >= ``side``, in the units of ``ExactModel``, and how it is derived."""

    columns: list[int]
    values: list[int]
    side: int
    split: dict[int, int]
    """pi, whole, by variable."""
    below: int
    """p."""
    up: tuple[Multipliers, int]
    """Multipliers of the rows where pi x >= p + 1, and that of pi."""
    down: tuple[Multipliers, int]
    """Multipliers of the rows where pi x <= p, and that of pi."""
    distance: float
    """Of the vertex that it cuts off."""

    def proven(self, exact: ExactModel, *, rising: bool) -> DualBound | None:
        """Return what the multipliers of one side prove of the row."""
        multipliers, assumed = self.up if rising else self.down
        side = self.below + 1 if rising else self.below
        costs = dict(zip(self.columns, self.values, strict=True))
        return combined(exact, costs, multipliers, self.split, side, assumed)


class Vertex:
    """The vertex of a relaxation without narrowed bounds, with its basis as a factorized matrix."""

    def __init__(self, exact: ExactModel, relaxation: Relaxation, answer: Relaxed) -> None:
        from scipy.sparse.linalg import splu

        self.exact, self.relaxation, self.x = exact, relaxation, answer.x
        columns, rows = np.array(relaxation.basis[0]), relaxation.row_states()
        self.basic = np.flatnonzero(columns == BASIC)
        self.tight = np.flatnonzero(rows != BASIC)
        model = exact.model
        # of every variable and row the side that is tight, or nearest, with the sign of its slack
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
        # f from the nearest whole pi; then each coefficient is rounded to the side that counts less
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
        # the cut's row, and the multipliers of the rows on both sides of the split
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
        row = np.where(np.abs(row) < _SMALLEST * largest, 0.0, row)
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
            nonzero = np.flatnonzero(scaled)
            multipliers = Multipliers(nonzero.astype(np.int32), [int(v) for v in scaled[nonzero].tolist()], unit)
            sides.append((multipliers, round(math.ldexp(mu, power + _BITS))))
        cut = SplitCut(used.tolist(), values, 0, split, below, sides[0], sides[1], 0.0)
        # the side that both multipliers prove, rounded down; the cut is of use if the vertex is far enough from it
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
    rows: npt.NDArray[np.bool_] = whole & (sums[starts[1:]] == sums[starts[:-1]])
    return rows


_ROWS = 4
"""Rows that a sum has, at most."""
_DIVISORS = 6
"""Coefficients by which a sum is divided, the largest ones."""
_LEAST = 1e-3
"""Least violation of a cut, whose right side is 1."""
_BETWEEN = 1e-6
"""Distance from its nearest bound above which a variable is between its bounds."""
_TIGHT = 1e-6
"""Slack, in the Euclidean norm, up to which a row is tight."""
_NEAR = 0.1
"""Distance from the vertex up to which a row begins a sum."""
_ROUNDING_AWAY = 0.01
"""As ``_AWAY``, of rounded sums."""
_FLIPS = 20
"""Variables whose other bound is tried."""
_LONG = 300
"""Coefficients of a sum, at most."""


class Rounding:
    """Makes the cuts of one vertex from sums of rows."""

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
            multipliers = np.zeros(self.matrix.shape[0])
            multipliers[list(rows)] = list(rows.values())
            sums = self.turned @ multipliers
            columns = np.flatnonzero(np.abs(sums) > 1e-9)
            if len(columns) > _LONG:
                return None
            best = self._best(_Sum(self, rows, columns, sums[columns]))
            if best is not None:
                return multipliers * best[0], columns[best[1]]
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
        tight = [i for i in self.turned.indices[part].tolist() if i not in rows and self.tight[i]]
        sizes = self.matrix.indptr
        return min(tight, key=lambda i: (int(sizes[i + 1] - sizes[i]), i), default=None)

    def _best(self, total: "_Sum") -> tuple[float, npt.NDArray[np.bool_]] | None:
        """Return the factor of a sum, and the variables that change bounds, of the most broken cut; None: none is broken."""
        between = total.whole & (self.distance[total.columns] > _BETWEEN)
        divisors = np.unique(np.abs(total.sums[between]).round(9))
        if not len(divisors):
            return None
        flips = np.zeros(len(total.columns), dtype=bool)
        tried = [
            (total.broken(turn / divisor, flips), turn / divisor)
            for divisor in divisors[-_DIVISORS:].tolist()
            for turn in (1.0, -1.0)
        ]
        best, factor = max(tried)
        # smaller factors, then variables between their bounds that change to the other one, each if the cut gets better
        for part in (0.5, 0.25, 0.125):
            broken = total.broken(factor * part, flips)
            if broken > best:
                best, factor = broken, factor * part
        middle = np.flatnonzero(between & total.two_sided)
        for place in middle[np.argsort(-self.distance[total.columns[middle]], kind="stable")][:_FLIPS].tolist():
            flips[place] = True
            broken = total.broken(factor, flips)
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
        rest = np.where(self.whole, np.rint(sums), 0.0) - sums
        if np.isinf(near[rest != 0]).any():
            return -np.inf
        near = np.where(np.isfinite(near), near, 0.0)
        value = self.side * factor + float(dot(rest, near))
        f = value - math.floor(value)
        if not _ROUNDING_AWAY <= f <= 1 - _ROUNDING_AWAY:
            return -np.inf
        rest *= sense
        parts = np.where(self.whole & (rest != 0), nearer(rest, f), rest)
        total = float(dot(np.maximum(parts / (1 - f), -parts / f), np.abs(self.x - near)))
        for y, slack in self.slacks:
            total += max(y * factor / (1 - f), -y * factor / f) * slack
        return 1.0 - total


_ROUNDS = 40  # at most
_STALLED = 6
"""Rounds without progress after which sums of rows are rounded too, and then it ends."""
_PROGRESS = 0.002
"""Part of the gap that counts as progress."""
_LAST = 10
"""Rounds in which sums of rows are rounded, at most."""
_TRIED = 400
"""Cuts that are made in a round, at most."""
_ROUNDED = 200
"""Rows that begin a sum in a round, at most."""
_TAKEN = 150
"""Cuts that are added in a round, at most."""
_PARALLEL = 0.9
"""Cosine of the angle to a better cut above which a cut is left out."""
_MOST_COLUMNS = 200_000
"""Coefficients of a model above which no cuts are made."""


def add_cuts(
    exact: ExactModel,
    pool: list[SplitCut],
    upper: Fraction | None,
    tick: Tick = no_tick,
    enough: Callable[[], bool] = bool,
    left_s: Callable[[], float] = unlimited,
) -> Sequence[int] | None:
    """Add derived rows to a model, and how they derive to ``pool``, in their order.

    ``upper``: objective of a known point, as a minimum; ``enough``: whether no further round begins. Returns the rows that
    are worth solving with; None: all.
    """
    if upper is None or len(exact.model.columns) > _MOST_COLUMNS:
        return None
    relaxation = Relaxation(exact.model, left_s=left_s)
    reached, rounds, rounding = -math.inf, 0, False
    worth = list(range(exact.own))
    last = _ROUNDS
    while last and not enough():
        last -= 1
        tick()
        answer = relaxation.solve()
        if answer is None or answer.objective == math.inf:
            break
        goal = math.ldexp(float(upper), -relaxation.power)
        gap = goal - answer.objective
        tight = _tight(exact, relaxation.row_states())
        rounds += 1
        if answer.objective - reached > _PROGRESS * gap:
            reached, rounds, worth = answer.objective, 0, tight
        if gap <= 1e-9 * max(1.0, abs(goal)) or (rounds >= _STALLED and rounding):
            break
        if rounds >= _STALLED:
            rounding, rounds = True, 0
            last = _LAST
        # this round's cuts join the tight ones; the basis stays, with the new rows basic
        vertex = Vertex(exact, relaxation, answer)
        cuts = []
        for cut in chain(Rounding(vertex).cuts(_ROUNDED if rounding else 0), vertex.cuts(_TRIED)):
            cuts.append(cut)
            tick()
        cuts = _apart(cuts, exact.variables)
        if not cuts:
            break
        columns, _ = relaxation.basis
        states = relaxation.row_states()
        new = range(len(states), len(states) + len(cuts))
        pool += cuts
        exact.add([(cut.columns, cut.values, cut.side) for cut in cuts])
        relaxation = Relaxation(exact.model, rows=[*tight, *new], left_s=left_s)
        relaxation.basis = columns, states[tight].tolist()
    return worth


def _tight(exact: ExactModel, states: npt.NDArray[np.int64]) -> list[int]:
    """Return the model's own rows, and the cuts that are tight."""
    return [*range(exact.own), *(exact.own + np.flatnonzero(states[exact.own :] != BASIC)).tolist()]


def _apart(cuts: list[SplitCut], variables: int) -> list[SplitCut]:
    """Return the cuts that cut off most, of those that are nearly parallel only the best."""
    cuts.sort(key=lambda cut: -cut.distance)
    chosen: list[SplitCut] = []
    rows: list[Floats] = []
    for cut in cuts:
        row = np.zeros(variables)
        largest = max(map(abs, cut.values))
        row[cut.columns] = [value / largest for value in cut.values]
        row /= np.sqrt((row * row).sum())
        if all(float(dot(row, other)) <= _PARALLEL for other in rows):
            chosen.append(cut)
            rows.append(row)
            if len(chosen) == _TAKEN:
                break
    return chosen
