"""One call for every mixed-integer linear solver: a PuLP model and limits in, an ``Outcome`` out."""

import importlib
import inspect
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dlsched.catalogue.solvers import SOLVERS
from dlsched.core.arrays import dot
from dlsched.core.limits import Budget, Limits
from dlsched.core.status import TerminationStatus
from dlsched.solvers.linear import LinearModel, from_pulp, scaled
from dlsched.solvers.outcome import (
    BoundCallback,
    Bounded,
    Incumbent,
    IncumbentCallback,
    Outcome,
    Standing,
    StandingCallback,
    require,
    rescaled,
)

if TYPE_CHECKING:
    import pulp

_ABSOLUTE = 1e-6
"""Absolute gap at which HiGHS ends; the other solvers' tolerances with costs up to 2**17 make no larger
gap."""
_NARROW = 1e-6
"""Presolve fixes a variable whose bounds are closer than this, the feasibility tolerance of HiGHS and
SCIP."""
_INTERVAL_S = 0.5
"""Seconds between two reports of where a solver stands."""
_PROVEN = TerminationStatus.OPTIMAL, TerminationStatus.INFEASIBLE


def solve_milp(
    problem: "pulp.LpProblem | LinearModel",
    *,
    solver: str = "highs",
    limits: Limits | None = None,
    start: Incumbent | None = None,
    found: IncumbentCallback | None = None,
    bounded: BoundCallback | None = None,
    standing: StandingCallback | None = None,
    isolated: bool = True,
) -> Outcome:
    """Solve a mixed-integer linear model to a gap of 0; the solver gets it ``scaled``.

    ``start``: a solution by variable name (missing ones are 0), for the solvers that take one. ``isolated`` runs the solver in a
    child process, so that limits hold and Ctrl-C works; without it calls cost less. ``found`` is called with every better
    solution; ``bounded`` with bounds, first that of the linear relaxation where the solver reports none; ``standing`` about once
    a second with the latest report of HiGHS and SCIP, and while the solver is silent only if ``isolated``. The outcome of a
    stopped solver has the best of the bounds. SolverMissingError; UsageError: the model is not of the solver's kind.
    """
    limits = limits or Limits()
    budget = Budget(limits)
    require(solver, "milp")
    original = problem if isinstance(problem, LinearModel) else from_pulp(problem)
    if not original.names:
        return _without_variables(original, SOLVERS[solver].version())
    constant = original.constant
    model, unit = scaled(original)
    slack = _slack(model) * unit
    known: float | None = None
    last = Standing(None, None, 0)

    def hear(report: Incumbent | Bounded | Standing) -> None:
        """Pass a report on, in terms of the original model; bounds only if they are better than all before."""
        nonlocal known, last
        if isinstance(report, Standing):
            last = report.rescaled(unit, constant)
            stand()
        elif not isinstance(report, Bounded):
            if found is not None:
                found(report)
        elif bounded is not None and (known is None or model.sense.better(known, report.bound)):
            known = report.bound
            bounded(replace(report, bound=known * unit + constant, slack=slack))

    def stand() -> None:
        if standing is not None:
            standing(last)

    wanted = found is not None, bounded is not None, standing is not None
    if not isolated:
        outcome = run(solver, model, limits, start, wanted, hear)
    else:
        from dlsched.solvers import child

        limits = child.prepared(solver, limits)
        outcome = child.outcome_of(
            *(solver, "dlsched.solvers.milp:run", solver, model, limits, start, wanted),
            time_s=limits.time_s,
            heard=hear,
            waiting=None if standing is None else stand,
        )
    if outcome.status is TerminationStatus.UNBOUNDED:
        # infeasible models may be called unbounded: the model without costs tells which, and gives a point
        if not original.costs.any():
            return Outcome(status=TerminationStatus.INFEASIBLE, solver=outcome.solver)
        costless = replace(original, costs=np.zeros_like(original.costs))
        point = solve_milp(costless, solver=solver, limits=budget.left, start=start, isolated=isolated)
        status = outcome.status if point.status is TerminationStatus.OPTIMAL else point.status
        return replace(point, status=status, objective=None, bound=None)
    # a stopped solver may state a weaker bound than it, or the relaxation, reported before
    bound = outcome.bound
    if outcome.status not in _PROVEN and known is not None and (bound is None or model.sense.better(bound, known)):
        bound = known
    return replace(
        outcome,
        objective=rescaled(outcome.objective, unit, constant),
        bound=rescaled(bound, unit, constant),
        slack=slack,
    )


def run(
    solver: str,
    model: LinearModel,
    limits: Limits,
    start: Incumbent | None,
    wanted: tuple[bool, bool, bool],
    say: Callable[[Incumbent | Bounded | Standing], None],
) -> Outcome:
    """Run a solver in this process; ``wanted``: whether to report solutions, bounds and its standing to ``say``."""
    solve = importlib.import_module(SOLVERS[solver].code).solve
    found, bounded, standing = (say if each else None for each in wanted)
    if standing is not None and "standing" in inspect.signature(solve).parameters:
        solve = partial(solve, standing=throttled(standing))
    outcome = solve(model, limits, start, found, bounded)
    assert isinstance(outcome, Outcome)
    return outcome


def throttled(say: StandingCallback, clock: Callable[[], float] = time.monotonic) -> StandingCallback:
    """Pass on a solver's reports at most every ``_INTERVAL_S`` seconds."""
    last: float | None = None

    def report(standing: Standing) -> None:
        nonlocal last
        now = clock()
        if last is None or now - last >= _INTERVAL_S:
            last = now
            say(standing)

    return report


def _slack(model: LinearModel) -> float:
    """Largest error of a scaled model's bound from the tolerances of a solver."""
    if not model.costs.any():
        return 0.0
    widths = model.upper - model.lower
    narrow = widths <= _NARROW
    return _ABSOLUTE + float(dot(np.abs(model.costs[narrow]), widths[narrow]))


def _without_variables(model: LinearModel, solver: str) -> Outcome:
    """The outcome of a model without variables, which SciPy and PuLP refuse."""
    if (model.row_lower > 0).any() or (model.row_upper < 0).any():
        return Outcome(status=TerminationStatus.INFEASIBLE, solver=solver)
    constant = model.constant
    return Outcome(
        status=TerminationStatus.OPTIMAL, solver=solver, values={}, objective=constant, bound=constant, nodes=0
    )
