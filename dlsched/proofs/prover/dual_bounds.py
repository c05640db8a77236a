"""Safe dual bounds: multipliers of rows as whole numbers, and the bound that they prove, without rounding.

Minimise c x where x keeps rows a_i x >= b_i (or <=) and l <= x <= u. Any multipliers y of the right signs prove

    c x >= sum_i y_i b_i + sum_j min over l_j <= x_j <= u_j of d_j x_j,   d = c - A' y,

so the bounds of the variables take up what is left of the costs. With c = 0 a sum above 0 proves that there is no point.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dlsched.proofs.prover.exact_model import ExactModel
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

    Parameters
    ----------
    exact, costs, multipliers
        The model, the costs, and multipliers of its rows.
    split, side, assumed
        The row that is assumed, its side, and its multiplier in units of 1 / ``multipliers.unit``: above 0 for at least.
    """
    reduced = {j: cost * multipliers.unit for j, cost in costs.items()}
    for j, value in split.items():
        reduced[j] = reduced.get(j, 0) - ((assumed * value) << exact.scale)
    return _summed(exact, reduced, multipliers, {}, (assumed * side) << exact.sides)


def _summed(
    exact: ExactModel, reduced: dict[int, int], multipliers: Multipliers, narrowed: Narrowed, total: int
) -> DualBound | None:
    """Take rows from the costs, and let bounds take up what is left."""
    unit, get = multipliers.unit, reduced.get
    for i, y in zip(multipliers.rows.tolist(), multipliers.values, strict=True):
        side = exact.row_lower[i] if y > 0 else exact.row_upper[i]
        if side is None:
            return None
        total += y * side
        for column, value in zip(exact.columns[i], exact.values[i], strict=True):
            reduced[column] = get(column, 0) - y * value
    total <<= exact.scale
    left = {}
    for j, d in reduced.items():
        if d:
            left[j] = d
            low, high = narrowed[j] if j in narrowed else (exact.lower[j], exact.upper[j])
            bound = low if d > 0 else high
            if bound is None:
                return None
            total += d * bound
    return DualBound(total, unit << (exact.scale + exact.sides), left, unit << exact.scale)


def nothing() -> Multipliers:
    """Return no multipliers: costs times bounds alone."""
    return Multipliers(np.zeros(0, dtype=np.int32), [], 1)
