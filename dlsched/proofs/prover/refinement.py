"""Second opinions on a case that SoPlex's floats do not close: HiGHS, and its program in rationals."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from dlsched.proofs.prover.dual_bounds import Multipliers, Narrowed
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.rational_simplex import RationalOptimum, RationalProgram, Side
from dlsched.proofs.prover.relaxation import Relaxation, Relaxed

_MOST_BITS = 20_000


def other_multipliers(relaxation: Relaxation) -> Iterator[Relaxed]:
    """Yield what HiGHS says of the relaxation with its bounds: an optimum, or that there is no point."""
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
    found = linprog(
        relaxation.costs, A_ub=above, b_ub=right, **equations, bounds=bounds, method="highs-ds", options=tight
    )
    if found.status == 0:
        yield Relaxed(float(found.fun), found.x, signed((found.ineqlin.marginals, found.eqlin.marginals)))
        return
    rows, equals = above.shape[0], len(equal)
    slack = csr_array((rows, 2 * equals))
    found = linprog(
        np.concatenate((np.zeros(len(relaxation.costs)), np.ones(rows + 2 * equals))),
        A_ub=hstack([above, -eye_array(rows), slack], format="csr"),
        b_ub=right,
        A_eq=hstack([matrix[equal], csr_array((equals, rows)), eye_array(equals), -eye_array(equals)], format="csr"),
        b_eq=lower[equal],
        bounds=np.concatenate((bounds, np.tile([0.0, np.inf], (rows + 2 * equals, 1)))),
        method="highs-ds",
        options=tight,
    )
    if found.status == 0 and found.fun > 0:
        y = signed((found.ineqlin.marginals, found.eqlin.marginals))
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


def whole_multipliers(rows: Sequence[int], found: RationalOptimum) -> Multipliers | None:
    """Return multipliers in whole numbers; None: these would be too long."""
    used = sorted((rows[i], value) for i, value in found.multipliers.items() if value)
    common = math.lcm(*(value.denominator for _, value in used))
    if common.bit_length() > _MOST_BITS:
        return None
    numbers = [int(value * common) for _, value in used]
    return Multipliers(np.array([i for i, _ in used], dtype=np.int32), numbers, common, found.point is not None)
