"""HiGHS inside SciPy, for mixed-integer programs, with a dual bound."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from dlsched.core.limits import Budget, Limits
from dlsched.core.status import TerminationStatus
from dlsched.solvers.linear import LinearModel
from dlsched.solvers.lp import report_relaxation, version
from dlsched.solvers.outcome import (
    BoundCallback,
    Incumbent,
    IncumbentCallback,
    Outcome,
    Standing,
    StandingCallback,
    failure,
)

_STATUS = {
    0: TerminationStatus.OPTIMAL,
    1: TerminationStatus.TIME_LIMIT,
    2: TerminationStatus.INFEASIBLE,
    3: TerminationStatus.UNBOUNDED,
}
_OTHER = {9: TerminationStatus.UNBOUNDED, 16: TerminationStatus.NODE_LIMIT}
"""HiGHS' own numbers for which SciPy has none: infeasible or unbounded, and the node limit."""
_HIGHS_STATUS = re.compile(r"HiGHS Status (\d+)")
_ATTEMPTS = (True, 0), (False, 0), (False, 10)
"""Attempts: whether with presolve, and the power of two that scales costs (tolerances are absolute)."""


def solve(
    model: LinearModel,
    limits: Limits,
    start: Incumbent | None = None,
    found: IncumbentCallback | None = None,
    bounded: BoundCallback | None = None,
    standing: StandingCallback | None = None,
) -> Outcome:
    """Solve to a relative gap of 0 (HiGHS' absolute gap of 1e-6 stays); SciPy takes no start and reports no incumbents.

    It reports no bounds either, and has none if HiGHS stops before the root node is done. So if ``bounded``
    is given, the linear relaxation is solved first.

    HiGHS 1.12 sometimes rejects its own answer as an error, because rounding exceeds its tolerance, or ends
    with a status unknown to SciPy. Then it runs again without presolve, where such errors arise, and at last
    with costs of another magnitude.
    """
    del start, found
    budget = Budget(limits)
    report_relaxation(model, budget, bounded)
    for presolve, power in _ATTEMPTS:
        factor = 2.0**power
        larger = replace(model, costs=model.costs * factor, constant=model.constant * factor)
        with _watched(None if standing is None else _in_terms_of(model, factor, standing)):
            outcome = _solve(larger, budget.left, presolve=presolve)
        if outcome.status is not TerminationStatus.SOLVER_ERROR:
            break
    return replace(
        outcome,
        objective=None if outcome.objective is None else outcome.objective / factor,
        bound=None if outcome.bound is None else outcome.bound / factor,
    )


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
        message=failure(status, str(answer.message)),
    )


def _in_terms_of(model: LinearModel, factor: float, standing: StandingCallback) -> StandingCallback:
    """Turn what HiGHS minimises, scaled costs without the constant, into objectives of the model."""

    def report(standing_of_highs: Standing) -> None:
        ends = (standing_of_highs.objective, standing_of_highs.bound)
        objective, bound = (None if end is None else model.sign * end / factor + model.constant for end in ends)
        standing(Standing(objective, bound, standing_of_highs.nodes))

    return report


@contextlib.contextmanager
def _watched(standing: StandingCallback | None) -> Iterator[None]:
    """Let the HiGHS of SciPy call back with where it stands, which SciPy itself does not ask for.

    The class that SciPy's wrapper makes is replaced by one that first starts HiGHS' own callbacks of its log; they steer
    nothing. A SciPy without such a class leaves HiGHS silent.
    """
    try:
        from scipy.optimize._highspy import _highs_wrapper as wrapper

        core = wrapper._h
        kinds = (core.cb.kCallbackMipLogging, core.cb.kCallbackMipImprovingSolution)
        plain = core._Highs
    except (ImportError, AttributeError):
        standing = None
    if standing is None:
        yield
        return
    report = standing

    def hear(kind: int, message: str, state: SimpleNamespace, steering: object, user: object) -> None:
        ends = (float(state.mip_primal_bound), float(state.mip_dual_bound))
        objective, bound = (end if np.isfinite(end) else None for end in ends)
        report(Standing(objective, bound, max(0, int(state.mip_node_count))))

    class Watched(plain):  # type: ignore[misc, valid-type]  # the package is untyped
        def run(self) -> object:
            self.setCallback(hear, None)
            for kind in kinds:
                self.startCallbackInt(int(kind))
            return super().run()

    wrapper._h = SimpleNamespace(**{**vars(core), "_Highs": Watched})
    try:
        yield
    finally:
        wrapper._h = core


def _status(code: int, message: str) -> TerminationStatus:
    """Convert SciPy's status; for 4 ("other"), HiGHS' own status from the message."""
    if code in _STATUS:
        return _STATUS[code]
    number = _HIGHS_STATUS.search(message)
    status = None if code != 4 or number is None else _OTHER.get(int(number.group(1)))
    return status or TerminationStatus.SOLVER_ERROR
