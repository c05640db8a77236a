"""Safe dual bounds: multipliers of rows as whole numbers, and the bound that they prove, without rounding.

Minimise c x where x keeps rows a_i x >= b_i (or <=) and l <= x <= u. Any multipliers y of the right signs prove

    c x >= sum_i y_i b_i + sum_j min over l_j <= x_j <= u_j of d_j x_j,   d = c - A' y,

so the bounds of the variables take up the reduced costs. With c = 0 a sum above 0 proves that there is no point. Where
SoPlex's multipliers prove too little, those of HiGHS, or of the program in rationals, may do.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.rational_simplex import RationalOptimum, RationalProgram, Side
from dlsched.proofs.prover.relaxation import Relaxation, Relaxed
from dlsched.solvers.linear import Floats

BITS = (-4, 2, 8, 14, 20, 28, 36, 44, 52, 60)
"""Bits behind the point to which multipliers are rounded, tried in turn; costs are below 2**17."""

Narrowed = Mapping[int, tuple[int | None, int | None]]
"""Bounds of the variables that a case narrows, in the units of ``ExactModel.sides``."""


@dataclass(frozen=True, slots=True, eq=False)
class Multipliers:
    """Multipliers of rows, ``values`` / ``unit``; ``costs``: whether they prove a bound, or that there is no point."""

    rows: npt.NDArray[np.int32]
    values: list[int]
    unit: int
    costs: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class DualBound:
    """What multipliers prove: ``value`` / ``unit``, and the reduced costs, in units of 1 / ``scale``, that are not 0."""

    value: int
    unit: int
    reduced: dict[int, int]
    scale: int

    @property
    def bound(self) -> Fraction:
        """The bound of the minimum, or the right side of 0 >= ... ."""
        return Fraction(self.value, self.unit)


def rounded(y: Floats, bits: int, power: int, *, costs: bool = True) -> Multipliers:
    """Round multipliers times 2**(bits - power) to whole numbers; ``power``: that of the costs, see ``Relaxation``."""
    shift = bits - power
    scaled = np.rint(np.ldexp(y, bits))
    rows = np.flatnonzero(scaled)
    values = [int(value) for value in scaled[rows].tolist()]
    if shift < 0:
        values, shift = [value << -shift for value in values], 0
    return Multipliers(rows.astype(np.int32), values, 1 << shift, costs)


def proven(exact: ExactModel, multipliers: Multipliers, narrowed: Narrowed) -> DualBound | None:
    """Return what multipliers prove; None: nothing, as a side or bound that they need is infinite."""
    unit = multipliers.unit
    reduced = {j: cost * unit for j, cost in enumerate(exact.costs) if cost} if multipliers.costs else {}
    return _summed(exact, reduced, multipliers, narrowed, 0)


def combined(
    exact: ExactModel,
    costs: Mapping[int, int],
    multipliers: Multipliers,
    split: Mapping[int, int],
    side: int,
    assumed: int,
) -> DualBound | None:
    """Return the bound of other costs, times 2**``ExactModel.scale``, where a row of whole numbers is assumed too.

    ``split``, ``side``, ``assumed``: that row, its side, and its multiplier in units of 1 / ``multipliers.unit``, above 0 for
    a least side.
    """
    reduced = {j: cost * multipliers.unit for j, cost in costs.items()}
    for j, value in split.items():
        reduced[j] = reduced.get(j, 0) - ((assumed * value) << exact.scale)
    return _summed(exact, reduced, multipliers, {}, (assumed * side) << exact.sides)


def _summed(
    exact: ExactModel, reduced: dict[int, int], multipliers: Multipliers, narrowed: Narrowed, total: int
) -> DualBound | None:
    """Subtract the rows from the costs, and add the least value of the reduced costs between the bounds."""
    unit, get = multipliers.unit, reduced.get
    for i, y in zip(multipliers.rows.tolist(), multipliers.values, strict=True):
        side = exact.row_lower[i] if y > 0 else exact.row_upper[i]
        if side is None:
            return None
        total += y * side
        for column, value in zip(exact.columns[i], exact.values[i], strict=True):
            reduced[column] = get(column, 0) - y * value
    total <<= exact.scale
    nonzero = {}
    for j, d in reduced.items():
        if d:
            nonzero[j] = d
            low, high = narrowed[j] if j in narrowed else (exact.lower[j], exact.upper[j])
            bound = low if d > 0 else high
            if bound is None:
                return None
            total += d * bound
    return DualBound(total, unit << (exact.scale + exact.sides), nonzero, unit << exact.scale)


def nothing() -> Multipliers:
    """Return no multipliers: costs times bounds alone."""
    return Multipliers(np.zeros(0, dtype=np.int32), [], 1)


_MOST_BITS = 20_000  # of a common denominator


def other_multipliers(relaxation: Relaxation) -> Iterator[Relaxed]:
    """Yield HiGHS' answer to the relaxation with its bounds: an optimum, or multipliers that show that there is no point."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack, vstack

    lower, upper = relaxation.row_lower, relaxation.row_upper
    matrix = relaxation.matrix
    equal = np.flatnonzero(lower == upper)
    up, down = (np.flatnonzero(np.isfinite(side) & (lower != upper)) for side in (upper, lower))
    above = vstack([matrix[up], -matrix[down]], format="csr")
    right = np.concatenate((upper[up], -lower[down]))
    bounds = np.column_stack((relaxation.lower, relaxation.upper))

    def signed(marginals: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        y = np.zeros(len(lower))
        y[equal] = marginals[1]
        y[up] += np.minimum(marginals[0][: len(up)], 0.0)
        y[down] -= np.minimum(marginals[0][len(up) :], 0.0)
        return y

    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    if (left_s := relaxation.left_s()) < math.inf:
        tight["time_limit"] = max(left_s, 0.0) / 2
    equations = {"A_eq": matrix[equal], "b_eq": lower[equal]}
    answer = linprog(
        relaxation.costs, A_ub=above, b_ub=right, **equations, bounds=bounds, method="highs-ds", options=tight
    )
    if answer.status == 0:
        yield Relaxed(float(answer.fun), answer.x, signed((answer.ineqlin.marginals, answer.eqlin.marginals)))
        return
    # no optimum: the least sum of violations of rows, whose multipliers prove that there is no point if it is above 0
    rows, equals = above.shape[0], len(equal)
    slack = csr_array((rows, 2 * equals))
    answer = linprog(
        np.concatenate((np.zeros(len(relaxation.costs)), np.ones(rows + 2 * equals))),
        A_ub=hstack([above, -eye_array(rows), slack], format="csr"),
        b_ub=right,
        A_eq=hstack([matrix[equal], csr_array((equals, rows)), eye_array(equals), -eye_array(equals)], format="csr"),
        b_eq=lower[equal],
        bounds=np.concatenate((bounds, np.tile([0.0, np.inf], (rows + 2 * equals, 1)))),
        method="highs-ds",
        options=tight,
    )
    if answer.status == 0 and answer.fun > 0:
        y = signed((answer.ineqlin.marginals, answer.eqlin.marginals))
        yield Relaxed(math.inf, np.zeros(len(relaxation.costs)), y / max(1e-300, float(np.abs(y).max(initial=0.0))))


def case_in_rationals(exact: ExactModel, rows: Sequence[int], narrowed: Narrowed) -> RationalProgram:
    """Return the relaxation of a case, with those rows; numbers are times 2**``ExactModel.scale``."""
    unit = 1 << exact.sides
    factor = Fraction(1 << exact.scale, unit)
    limits = [narrowed.get(j, each) for j, each in enumerate(zip(exact.lower, exact.upper, strict=True))]
    return RationalProgram(
        exact.costs,
        [(_times(low, Fraction(1, unit)), _times(high, Fraction(1, unit))) for low, high in limits],
        [dict(zip(exact.columns[i], exact.values[i], strict=True)) for i in rows],
        [(_times(exact.row_lower[i], factor), _times(exact.row_upper[i], factor)) for i in rows],
    )


def _times(side: int | None, factor: Fraction) -> Side:
    return None if side is None else side * factor


def whole_multipliers(rows: Sequence[int], optimum: RationalOptimum) -> Multipliers | None:
    """Return multipliers in whole numbers; None: these would be too long."""
    used = sorted((rows[i], value) for i, value in optimum.multipliers.items() if value)
    common = math.lcm(*(value.denominator for _, value in used))
    if common.bit_length() > _MOST_BITS:
        return None
    numbers = [int(value * common) for _, value in used]
    return Multipliers(np.array([i for i, _ in used], dtype=np.int32), numbers, common, optimum.point is not None)
