"""The point that a search begins with: a solver's optimum of the model, made exact."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from dlsched.core.budget import Tick, no_tick
from dlsched.core.errors import SolverError
from dlsched.core.limits import Limits
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.exact_point import exact_point
from dlsched.proofs.prover.search import Point
from dlsched.solvers.linear import LinearModel
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.outcome import Incumbent

_HAIR = 1e-9


def starting_point(
    exact: ExactModel,
    limits: Limits,
    *,
    start: Incumbent | None = None,
    reached: float | None = None,
    tick: Tick = no_tick,
) -> Point | None:
    """Return an exact point: the best that HiGHS finds within the limits, or the start.

    Parameters
    ----------
    exact, limits
        The model; time and threads for HiGHS.
    start
        Values by name of a point that the formulation has.
    reached
        Objective of the model that some point is known to reach: if what HiGHS finds is worse, it is asked for one as good.
    """
    points = [] if start is None and exact.variables else [_exact(exact, start or {}, tick)]
    if exact.variables and limits.time_s != 0:
        points.append(_solved(exact, exact.model, limits, start, tick))
        if reached is not None and not any(_reaches(exact, point, reached) for point in points):
            points.append(_solved(exact, _no_worse(exact.model, reached), limits, start, tick))
    found = [point for point in points if point is not None]
    return min(found, key=exact.objective, default=None)


def _solved(exact: ExactModel, asked: LinearModel, limits: Limits, start: Incumbent | None, tick: Tick) -> Point | None:
    """Return the best point of a model that HiGHS finds, exactly."""
    try:
        outcome = solve_milp(asked, limits=limits, start=start)
    except SolverError:
        return None
    return None if outcome.values is None else _exact(exact, outcome.values, tick)


def _reaches(exact: ExactModel, point: Point | None, reached: float) -> bool:
    if point is None:
        return False
    side = exact.sign * (Fraction(reached) - Fraction(exact.model.constant))
    return exact.objective(point) <= side + Fraction(_HAIR * max(1.0, abs(reached)))


def _exact(exact: ExactModel, values: Incumbent, tick: Tick) -> Point | None:
    held = np.array([values.get(name, 0.0) for name in exact.model.names], dtype=np.float64)
    return exact_point(exact, held, tick)


def _no_worse(model: LinearModel, reached: float) -> LinearModel:
    """Add a row that asks for an objective as good as one that is known."""
    used = np.flatnonzero(model.costs)
    side = reached - model.constant
    side += model.sign * _HAIR * max(1.0, abs(reached))
    return replace(
        model,
        row_names=[*model.row_names, "no_worse"],
        row_starts=np.append(model.row_starts, len(model.columns) + len(used)),
        columns=np.concatenate((model.columns, used)),
        coefficients=np.concatenate((model.coefficients, model.costs[used])),
        row_lower=np.append(model.row_lower, -np.inf if model.sign > 0 else side),
        row_upper=np.append(model.row_upper, side if model.sign > 0 else np.inf),
    )


def shortened(low: Fraction, high: Fraction) -> Fraction:
    """Return a short number from ``low`` to ``high``.

    >>> shortened(Fraction(1, 3), Fraction(2, 3))
    Fraction(1, 2)
    """
    power = 0
    while (number := Fraction(math.ceil(low * (1 << power)), 1 << power)) > high:
        power += 1
    return number
