"""A linear model in whole numbers: every float times a power of two, and the rows in the order of a proof.

Costs and coefficients are stored times 2**``scale``, bounds and sides times 2**``sides``; costs as those of a minimum.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dlsched.solvers.linear import Floats, LinearModel

CUT_COEFFICIENTS, CUT_SIDES = 20, 24
"""Bits behind the point of the coefficients and sides of derived rows."""
_DIGITS = 53
"""Bits of a float's mantissa."""
_FINE = 30
"""Bits below the largest cost from which on a common divisor of the costs is no help."""


def power_of(*arrays: Floats) -> int:
    """Return the least p >= 0 such that every finite number times 2**p is whole."""
    least = 0
    for numbers in arrays:
        # the exponent of the lowest bit of each number: of its mantissa as a whole number, and its own
        finite = numbers[np.isfinite(numbers) & (numbers != 0)]
        if not len(finite):
            continue
        mantissas, exponents = np.frexp(finite)
        whole = np.ldexp(mantissas, _DIGITS).astype(np.int64)
        lowest = np.frexp((whole & -whole).astype(np.float64))[1] - 1
        least = min(least, int((exponents - _DIGITS + lowest).min()))
    return -least


def whole(numbers: Floats, power: int) -> list[int]:
    """Return finite numbers times 2**power, which must be whole."""
    mantissas, exponents = np.frexp(numbers)
    large = np.ldexp(mantissas, _DIGITS).astype(np.int64).tolist()
    shifts = (exponents.astype(np.int64) - _DIGITS + power).tolist()
    return [m << s if s >= 0 else m >> -s for m, s in zip(large, shifts, strict=True)]


def sides_of(numbers: Floats, power: int) -> list[int | None]:
    """Return numbers times 2**power; None for infinite ones."""
    finite = np.isfinite(numbers)
    values = whole(np.where(finite, numbers, 0.0), power)
    return [value if known else None for value, known in zip(values, finite.tolist(), strict=True)]


class ExactModel:
    """A model, of either sense, in whole numbers; derived rows may be added behind its own."""

    def __init__(self, model: LinearModel) -> None:
        self.model = model
        self.sign = int(model.sign)
        self.own = len(model.row_names)
        self.scale = max(power_of(model.costs, model.coefficients), CUT_COEFFICIENTS)
        self.sides = max(power_of(model.lower, model.upper, model.row_lower, model.row_upper), CUT_SIDES)
        self.costs = whole(model.costs * model.sign, self.scale)
        self.lower, self.upper = sides_of(model.lower, self.sides), sides_of(model.upper, self.sides)
        self.integer: list[bool] = model.integer.tolist()
        starts, columns = model.row_starts.tolist(), model.columns.tolist()
        values = whole(model.coefficients, self.scale)
        self.columns: list[list[int]] = [columns[a:b] for a, b in pairwise(starts)]
        self.values: list[list[int]] = [values[a:b] for a, b in pairwise(starts)]
        self.row_lower, self.row_upper = (sides_of(each, self.sides) for each in (model.row_lower, model.row_upper))
        self._place()

    def _place(self) -> None:
        """Number the rows as the proof lists them: bounds of variables, then rows; None: there is no such row."""
        count = 0
        self.lower_rows: list[int | None] = []
        self.upper_rows: list[int | None] = []
        for low, high in zip(self.lower, self.upper, strict=True):
            self.lower_rows.append(None if low is None else count)
            count += low is not None
            self.upper_rows.append(None if high is None else count)
            count += high is not None
        self.bounds = count
        self.at_least: list[int | None] = []
        self.at_most: list[int | None] = []
        for low, high in zip(self.row_lower, self.row_upper, strict=True):
            equal = low is not None and low == high
            self.at_least.append(None if low is None else count)
            count += low is not None
            self.at_most.append(count - 1 if equal else None if high is None else count)
            count += high is not None and not equal
        self.rows = count

    def add(self, rows: Sequence[tuple[list[int], list[int], int]]) -> None:
        """Add derived rows, each with columns, coefficients and the side that it is at least, in the units of this."""
        model = self.model
        for columns, values, side in rows:
            self.columns.append(columns)
            self.values.append(values)
            self.row_lower.append(side)
            self.row_upper.append(None)
            self.at_least.append(None)
            self.at_most.append(None)
        sizes = [len(columns) for columns, _, _ in rows]
        self.model = replace(
            model,
            row_names=[*model.row_names, *("cut" for _ in rows)],
            row_starts=np.concatenate((model.row_starts, model.row_starts[-1] + np.cumsum(sizes, dtype=np.int64))),
            columns=np.concatenate((model.columns, *(np.array(columns, dtype=np.int64) for columns, _, _ in rows))),
            coefficients=np.concatenate(
                (model.coefficients, *([value / (1 << self.scale) for value in values] for _, values, _ in rows))
            ),
            row_lower=np.append(model.row_lower, [side / (1 << self.sides) for _, _, side in rows]),
            row_upper=np.append(model.row_upper, np.full(len(rows), np.inf)),
        )

    @property
    def variables(self) -> int:
        """Number of variables."""
        return len(self.costs)

    def fraction(self, number: int) -> Fraction:
        """Return the value of a bound or side."""
        return Fraction(number, 1 << self.sides)

    def coefficient(self, number: int) -> Fraction:
        """Return the value of a cost or coefficient."""
        return Fraction(number, 1 << self.scale)

    def step(self) -> Fraction | None:
        """Return the largest g such that every point's objective is a multiple of g; None: there is none of use."""
        if any(cost and not integer for cost, integer in zip(self.costs, self.integer, strict=True)):
            return None
        sizes = [abs(cost) for cost in self.costs if cost]
        common = math.gcd(*sizes)
        if not sizes or common < max(sizes) >> _FINE:
            return None
        return self.coefficient(common)

    def objective(self, point: Sequence[Fraction]) -> Fraction:
        """Return the objective of a point, as that of a minimum and without a constant."""
        return sum((cost * x for cost, x in zip(self.costs, point, strict=True) if cost), Fraction(0)) / (
            1 << self.scale
        )

    def admits(self, point: Sequence[Fraction]) -> bool:
        """Whether a point keeps every bound, every row of the model, and is whole where it must be."""
        unit = 1 << self.sides
        for x, low, high, integer in zip(point, self.lower, self.upper, self.integer, strict=True):
            if integer and x.denominator != 1:
                return False
            if (low is not None and x * unit < low) or (high is not None and x * unit > high):
                return False
        for i in range(self.own):
            low, high = self.row_lower[i], self.row_upper[i]
            total = sum((a * point[c] for c, a in zip(self.columns[i], self.values[i], strict=True)), Fraction(0))
            total = total * unit / (1 << self.scale)
            if (low is not None and total < low) or (high is not None and total > high):
                return False
        return True
