"""Bounds from the linear relaxation, by HiGHS, for solvers that report no bound when stopped.

Minimise c x, row bounds, l <= x <= u. Any multipliers y of the rows prove (weak duality)

    c x >= sum_i min over the row's activity a_i of y_i a_i + sum_j min over l_j <= x_j <= u_j of (c - A' y)_j x_j,

so HiGHS' tolerances do not matter; the bound is weakened by possible rounding (Neumaier & Shcherbina 2004).
"""

import math

import numpy as np

from dlsched.core.budget import Budget
from dlsched.solvers.linear import Floats, LinearModel
from dlsched.solvers.lp import version
from dlsched.solvers.outcome import BoundCallback, Bounded

_UNIT = 2.0**-52  # twice the rounding unit
_ROOM = 1e-10  # share by which multipliers shrink if an unbounded column's reduced cost is too small


def tell_relaxation(model: LinearModel, budget: Budget, bounded: BoundCallback | None) -> None:
    """Report the bound of the linear relaxation of a model, using at most half of the time that is left."""
    if bounded is None or not model.costs.any():
        return
    left = budget.left.time_s
    bound = relaxed_bound(model, None if left is None else left / 2)
    if bound is not None:
        bounded(Bounded(bound, version()))


def relaxed_bound(model: LinearModel, time_s: float | None = None) -> float | None:
    """Return a proven bound from the linear relaxation, in the model's sense; None: none, or no time for it.

    Cost: one linear program.
    """
    multipliers = _multipliers(model, time_s)
    return None if multipliers is None else proven_by(model, multipliers)


def _multipliers(model: LinearModel, time_s: float | None) -> Floats | None:
    """Multipliers of the rows at the relaxation's optimum, shape (R,), with the relaxation as a minimum."""
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    matrix = model.matrix()
    same = model.row_lower == model.row_upper
    equal = np.flatnonzero(same)
    up, down = (
        np.flatnonzero(np.isfinite(model.row_upper) & ~same),
        np.flatnonzero(np.isfinite(model.row_lower) & ~same),
    )
    answer = linprog(
        model.sign * model.costs,
        A_ub=vstack([matrix[up], -matrix[down]]),
        b_ub=np.concatenate((model.row_upper[up], -model.row_lower[down])),
        A_eq=matrix[equal],
        b_eq=model.row_lower[equal],
        bounds=np.column_stack((model.lower, model.upper)),
        method="highs",
        options={} if time_s is None else {"time_limit": time_s},
    )
    if answer.status != 0:
        return None
    multipliers = np.zeros(len(model.row_names))
    multipliers[equal] = answer.eqlin.marginals
    multipliers[up] = answer.ineqlin.marginals[: len(up)]
    multipliers[down] -= answer.ineqlin.marginals[len(up) :]
    return multipliers


def proven_by(model: LinearModel, multipliers: Floats) -> float | None:
    """Return the bound that multipliers of the rows, shape (R,), prove, rounded safely; None: no bound.

    Multipliers of a sign that proves nothing count as 0; all shrink a little if a column without bound needs
    it.
    """
    costs = model.sign * model.costs
    y = np.where(np.isfinite(np.where(multipliers > 0, model.row_lower, model.row_upper)), multipliers, 0.0)
    sums, error = _sums(model, costs, y)
    reduced = costs - sums
    free = (np.isinf(model.upper) & (reduced < error)) | (np.isinf(model.lower) & (reduced > -error))
    if free.any():
        with np.errstate(divide="ignore", invalid="ignore"):
            part = float(np.min(np.where(sums[free] != 0, costs[free] / sums[free], 0.0))) * (1 - _ROOM)
        if not 0 < part <= 1:
            return None
        y = y * part
        sums, error = _sums(model, costs, y)
        reduced = costs - sums
        if (np.isinf(model.upper) & (reduced < error)).any() or (np.isinf(model.lower) & (reduced > -error)).any():
            return None
    of_rows = np.where(y > 0, y * _finite(model.row_lower), y * _finite(model.row_upper))
    low, high = _finite(model.lower), _finite(model.upper)  # an infinite end is never the minimum
    # of a column without any end the reduced cost is 0, and so is its part
    at_low = np.where(np.isinf(model.lower) & np.isfinite(model.upper), np.inf, reduced * low)
    at_high = np.where(np.isinf(model.upper), np.inf, reduced * high)
    of_columns = np.minimum(at_low, at_high)
    off = math.fsum(error * np.maximum(np.abs(low), np.abs(high)))
    off += _UNIT * (math.fsum(np.abs(of_rows)) + math.fsum(np.abs(of_columns)))
    value = math.fsum([*of_rows.tolist(), *of_columns.tolist(), -off])
    if not math.isfinite(value):
        return None
    bound = model.sign * math.nextafter(value, -math.inf) + model.constant
    return math.nextafter(bound, -model.sign * math.inf)


def _sums(model: LinearModel, costs: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return A' y, and the largest rounding error of c - A' y, shape (V,) each."""
    matrix = model.matrix()
    sizes = abs(matrix).T @ np.abs(y)
    count = np.bincount(model.columns, minlength=len(costs)) + 2
    return matrix.T @ y, _UNIT * count * (np.abs(costs) + sizes)


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, 0.0)
