"""Second opinions on a case that SoPlex's floats do not close: HiGHS, and the multipliers of the basis in rationals."""

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dlsched.proofs.prover.dual_bounds import Multipliers
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.rational_solution import solution_of
from dlsched.proofs.prover.relaxation import BASIC, Relaxation, Relaxed

_MOST_BITS = 4000


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


def basic_multipliers(exact: ExactModel, relaxation: Relaxation) -> Multipliers | None:
    """Return the multipliers of the relaxation's last basis in rationals: reduced costs of basic variables are 0."""
    columns, _ = relaxation.basis
    unknowns = [i for i, state in enumerate(relaxation.row_states().tolist()) if state != BASIC]
    sought = set(unknowns)
    terms: dict[int, dict[int, int]] = {j: {} for j, state in enumerate(columns) if state == BASIC}
    for i in sought:
        for column, value in zip(exact.columns[i], exact.values[i], strict=True):
            if column in terms:
                terms[column][i] = value
    values = solution_of([(held, Fraction(exact.costs[j])) for j, held in terms.items()], unknowns)
    if values is None:
        return None
    common = math.lcm(*(value.denominator for value in values.values())) if values else 1
    if common.bit_length() > _MOST_BITS:
        return None
    used = [i for i in unknowns if values[i]]
    numbers = [int(values[i] * common) for i in used]
    return Multipliers(np.array(used, dtype=np.int32), numbers, common)
