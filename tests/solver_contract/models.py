"""Small linear models whose optima are known by hand, or by enumeration, for ``solver_contract``."""

import math
import random
from collections.abc import Sequence

import numpy as np

from dlsched.core.status import Sense
from dlsched.solvers.linear import LinearModel

Row = tuple[float, Sequence[float], float]
"""A row's lower end, coefficients and upper end."""


def linear_model(
    sense: Sense,
    costs: Sequence[float],
    rows: Sequence[Row],
    *,
    constant: float = 0.0,
    lower: float | Sequence[float] = 0.0,
    upper: float | Sequence[float] = 1.0,
    integer: bool | Sequence[bool] = True,
) -> LinearModel:
    """Return a model of variables ``x0``, ``x1``, ... and rows ``row0``, ``row1``, ..., all coefficients stored."""
    variables = len(costs)
    return LinearModel(
        sense=sense,
        names=[f"x{index}" for index in range(variables)],
        costs=np.array(costs, dtype=np.float64),
        constant=constant,
        lower=np.broadcast_to(np.array(lower, dtype=np.float64), variables).copy(),
        upper=np.broadcast_to(np.array(upper, dtype=np.float64), variables).copy(),
        integer=np.broadcast_to(np.array(integer, dtype=bool), variables).copy(),
        row_names=[f"row{index}" for index in range(len(rows))],
        row_starts=np.arange(len(rows) + 1, dtype=np.int64) * variables,
        columns=np.tile(np.arange(variables, dtype=np.int64), len(rows)),
        coefficients=np.array([a for _, coefficients, _ in rows for a in coefficients], dtype=np.float64),
        row_lower=np.array([low for low, _, _ in rows], dtype=np.float64),
        row_upper=np.array([high for _, _, high in rows], dtype=np.float64),
    )


def packing(items: int = 24, *, seed: int = 1, constant: float = 0.0) -> LinearModel:
    """Maximise nearly proportional values within half of the weight: many nodes for a branch and bound."""
    weights, values = _items(items, seed)
    return linear_model(
        Sense.MAXIMIZE, values, [(-math.inf, [2 * weight for weight in weights], sum(weights))], constant=constant
    )


def covering(items: int = 24, *, seed: int = 1, constant: float = 0.0) -> LinearModel:
    """The mirror image: minimise, cover at least half."""
    weights, values = _items(items, seed)
    return linear_model(
        Sense.MINIMIZE, values, [(sum(weights), [2 * weight for weight in weights], math.inf)], constant=constant
    )


def _items(items: int, seed: int) -> tuple[list[int], list[int]]:
    weights = [random.Random(seed * 100 + index).randint(1000, 9999) for index in range(items)]
    return weights, [weight + 100 for weight in weights]


def several_rows(sense: Sense) -> LinearModel:
    """18 items within, or at least, half of what they have of each of three things: a root that is not the end."""
    rng = np.random.default_rng(1)
    values, sizes = rng.integers(10, 100, 18), rng.integers(10, 100, (3, 18))
    halves = [(row.tolist(), float(row.sum() // 2)) for row in sizes]
    minimise = sense is Sense.MINIMIZE
    rows = [(half, row, math.inf) if minimise else (-math.inf, row, half) for row, half in halves]
    return linear_model(sense, values.tolist(), rows)


def optimum_by_sums(model: LinearModel) -> float:
    """Return the optimum of ``packing`` or ``covering`` by dynamic programming; what covers leaves a packing out."""
    weights = [int(weight) // 2 for weight in model.row(0)[1]]
    values = model.costs.tolist()
    best = np.zeros(sum(weights) // 2 + 1)
    for weight, value in zip(weights, values, strict=True):
        best[weight:] = np.maximum(best[weight:], best[: len(best) - weight] + value)
    packed = float(best[-1])
    return (packed if model.sense is Sense.MAXIMIZE else math.fsum(values) - packed) + model.constant


def optimum_by_enumeration(model: LinearModel) -> float:
    """Return the best objective over all 0-1 points; exact for whole numbers."""
    count = len(model.names)
    points = np.arange(2**count)[:, None] >> np.arange(count) & 1
    sums = points @ model.matrix().toarray().T
    inside = ((sums >= model.row_lower) & (sums <= model.row_upper)).all(axis=1)
    values = (points @ model.costs)[inside]
    return float(values.min() if model.sense is Sense.MINIMIZE else values.max()) + model.constant


def violation(model: LinearModel, point: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    """Return by how much a point breaks the row or the bound that it breaks most; 0: none."""
    sums = model.matrix() @ point
    ends = (model.row_lower - sums, sums - model.row_upper, model.lower - point, point - model.upper)
    return max(0.0, *(float(each.max(initial=0.0)) for each in ends))
