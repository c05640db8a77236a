"""HiGHS, as it comes inside SciPy: mixed-integer programs with a dual bound, and the duals of linear programs."""

import re

import numpy as np

from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.solvers.linear import LinearModel
from dlsched.solvers.lp import linear_program, version
from dlsched.solvers.outcome import Incumbent, IncumbentCallback, Outcome

_STATUS = {0: TerminationStatus.OPTIMAL, 1: TerminationStatus.TIME_LIMIT, 2: TerminationStatus.INFEASIBLE}
_NODE_LIMIT = 16  # HiGHS' own number; SciPy has none for it
_HIGHS_STATUS = re.compile(r"HiGHS Status (\d+)")


def solve(
    model: LinearModel, limits: Limits, start: Incumbent | None = None, found: IncumbentCallback | None = None
) -> Outcome:
    """Solve to a relative gap of 0 (HiGHS' absolute gap of 1e-6 stays); SciPy takes no start and reports no incumbents.

    HiGHS 1.12 now and then rejects its own answer, off by a rounding more than its tolerance, and calls that an error: then
    it is asked once more without its presolve, in which the error arises.
    """
    del start, found
    outcome = _solve(model, limits, presolve=True)
    return _solve(model, limits, presolve=False) if outcome.status is TerminationStatus.SOLVER_ERROR else outcome


def _solve(model: LinearModel, limits: Limits, *, presolve: bool) -> Outcome:
    from scipy.optimize import Bounds, LinearConstraint, milp

    options: dict[str, float | int | bool] = {"mip_rel_gap": 0.0, "disp": False, "presolve": presolve}
    if limits.time_s is not None:
        options["time_limit"] = limits.time_s
    if limits.nodes is not None:
        options["node_limit"] = limits.nodes
    rows = LinearConstraint(model.matrix(), model.row_lower, model.row_upper) if model.row_names else None
    answer = milp(
        model.sign * model.costs,
        integrality=model.integer.astype(np.int64),
        bounds=Bounds(model.lower, model.upper),
        constraints=rows,
        options=options,
    )
    status = _status(int(answer.status), str(answer.message))
    bound = getattr(answer, "mip_dual_bound", None)
    if bound is None and status is TerminationStatus.OPTIMAL:
        bound = answer.fun
    values = None if answer.x is None else dict(zip(model.names, answer.x.tolist(), strict=True))
    nodes = getattr(answer, "mip_node_count", None)
    return Outcome(
        status=status,
        solver=version(),
        values=values,
        objective=None if answer.x is None else model.sign * float(answer.fun) + model.constant,
        bound=None if bound is None or not np.isfinite(bound) else model.sign * float(bound) + model.constant,
        nodes=None if nodes is None else int(nodes),
        message=str(answer.message) if status is TerminationStatus.SOLVER_ERROR else "",
    )


def _status(code: int, message: str) -> TerminationStatus:
    """SciPy's status, and for its 4 ("other") HiGHS' own number from the message."""
    if code in _STATUS:
        return _STATUS[code]
    number = _HIGHS_STATUS.search(message)
    if code == 4 and number is not None and int(number.group(1)) == _NODE_LIMIT:
        return TerminationStatus.NODE_LIMIT
    return TerminationStatus.SOLVER_ERROR


def duals(model: LinearModel) -> dict[str, float]:
    """Multipliers of the rows at the optimum of the linear relaxation, in the sign that lowers a minimum's bound.

    Raises
    ------
    SolverError
        The relaxation has no optimum.
    """
    from scipy.sparse import vstack

    matrix = model.matrix()
    equal = np.flatnonzero(model.row_lower == model.row_upper)
    up = np.flatnonzero(np.isfinite(model.row_upper) & (model.row_lower != model.row_upper))
    down = np.flatnonzero(np.isfinite(model.row_lower) & (model.row_lower != model.row_upper))
    answer = linear_program(
        model.sign * model.costs,
        a_ub=vstack([matrix[up], -matrix[down]]),
        b_ub=np.concatenate((model.row_upper[up], -model.row_lower[down])),
        a_eq=matrix[equal],
        b_eq=model.row_lower[equal],
        bounds=np.column_stack((model.lower, model.upper)),
        isolated=False,
    )
    multipliers = np.zeros(len(model.row_names))
    multipliers[equal] = answer.equal
    multipliers[up] = answer.upper[: len(up)]
    multipliers[down] -= answer.upper[len(up) :]
    return dict(zip(model.row_names, multipliers.tolist(), strict=True))
