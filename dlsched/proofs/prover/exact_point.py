"""The exact point of a solution that a solver states in floats: whole numbers fixed, the others a rational basis solution.

Where that breaks a row by a hair, as sides are floats too, the rows and bounds of the other variables are drawn in a
little, and the point is made anew.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.rational_solution import solution_of
from dlsched.proofs.prover.relaxation import Relaxation
from dlsched.solvers.linear import Floats, LinearModel

_BASIC, _UPPER, _ZERO = 1, 2, 3
_HAIRS = (0.0, 2.0**-44, 2.0**-38, 2.0**-33)
"""Parts of their sides by which rows are drawn in, tried in turn."""


def exact_point(exact: ExactModel, x: Floats) -> tuple[Fraction, ...] | None:
    """Return a point with the whole numbers of ``x`` that keeps every row exactly, the best up to a hair; None: none found."""
    model = exact.model
    fixed = np.clip(np.rint(x), model.lower, model.upper)
    if model.integer.all():
        return _admitted(exact, [Fraction(int(value)) for value in fixed.tolist()])
    for hair in _HAIRS:
        drawn = _drawn_in(model, hair)
        drawn = replace(
            drawn,
            lower=np.where(model.integer, fixed, drawn.lower),
            upper=np.where(model.integer, fixed, drawn.upper),
        )
        found = _basic(drawn)
        point = None if found is None else _admitted(exact, found)
        if point is not None:
            return point
    return None


def _admitted(exact: ExactModel, point: Sequence[Fraction]) -> tuple[Fraction, ...] | None:
    return tuple(point) if exact.admits(point) else None


def _drawn_in(model: LinearModel, hair: float) -> LinearModel:
    """Draw in inequalities with a real variable, and bounds of real variables, by a part of their size."""
    if not hair:
        return model
    real = ~model.integer
    matrix = model.matrix()
    touched = (abs(matrix) @ real.astype(np.float64) > 0) & (model.row_lower != model.row_upper)
    size = np.ones(len(model.row_names))
    if matrix.nnz:
        size = np.maximum(size, np.asarray(abs(matrix).max(axis=1).todense()).ravel())
    for side in (model.row_lower, model.row_upper):
        size = np.maximum(size, np.where(np.isfinite(side), np.abs(side), 0.0))
    step = np.where(touched, hair * size, 0.0)
    width = model.upper - model.lower
    room = np.where(real & (width > 0), hair * np.minimum(1.0, width), 0.0)
    return replace(
        model,
        row_lower=model.row_lower + step,
        row_upper=model.row_upper - step,
        lower=model.lower + room,
        upper=model.upper - room,
    )


def _basic(model: LinearModel) -> list[Fraction] | None:
    """Return the rational basis solution of a model's relaxation."""
    relaxation = Relaxation(model)
    answer = relaxation.solve()
    if answer is None or not np.isfinite(answer.objective):
        return None
    column_states, row_states = relaxation.basis
    point = [Fraction(0)] * len(model.names)
    unknowns = []
    for j, state in enumerate(column_states):
        if state == _BASIC:
            unknowns.append(j)
        elif state != _ZERO:
            point[j] = Fraction(float((model.upper if state == _UPPER else model.lower)[j]))
    sought = set(unknowns)
    exact = ExactModel(model)
    equations = []
    for i, state in enumerate(row_states):
        if state == _BASIC:
            continue
        side = float((model.row_upper if state == _UPPER else model.row_lower)[i])
        right = Fraction(side) * (1 << exact.scale)
        terms = {}
        for column, value in zip(exact.columns[i], exact.values[i], strict=True):
            if column in sought:
                terms[column] = value
            else:
                right -= value * point[column]
        equations.append((terms, right))
    values = solution_of(equations, unknowns)
    if values is None:
        return None
    for j, value in values.items():
        point[j] = value
    return point
