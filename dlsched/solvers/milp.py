"""One call for every mixed-integer linear solver: a PuLP model and limits in, an ``Outcome`` out."""

import importlib
import inspect
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from dlsched.core.arrays import dot
from dlsched.core.limits import Budget, Limits
from dlsched.core.status import TerminationStatus
from dlsched.solvers import availability, child
from dlsched.solvers.linear import LinearModel, from_pulp, scaled
from dlsched.solvers.outcome import (
    BoundCallback,
    Bounded,
    Incumbent,
    IncumbentCallback,
    Outcome,
    Standing,
    StandingCallback,
)

if TYPE_CHECKING:
    import pulp

_ABSOLUTE = 1e-6
"""Absolute gap at which HiGHS ends; the other solvers' tolerances with costs up to 2**17 make no larger
gap."""
_NARROW = 1e-6
"""Presolve fixes a variable whose bounds are closer than this, the feasibility tolerance of HiGHS and
SCIP."""
_SELDOM_S = 0.5
"""Seconds between two reports of where a solver stands."""
_ENDED = TerminationStatus.OPTIMAL, TerminationStatus.INFEASIBLE


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

    Parameters
    ----------
    problem
        A PuLP model, or its arrays.
    solver
        A name of ``dlsched.catalogue.solvers`` that takes linear models.
    limits
        Time, nodes and threads.
    start
        A solution by variable name (missing ones are 0), for the solvers that take one.
    found
        Called with every better solution, by solvers that report them.
    bounded
        Called with bounds during the run, first with that of the linear relaxation, which HiGHS computes
        before a solver that reports none. The outcome of a stopped solver has the best of them.
    standing
        Called about once a second while the solver runs: with what it says of itself (HiGHS and SCIP do), or with what was
        said last (0 nodes if nothing was, as by CBC, which is silent until it ends). Only if ``isolated`` when it is silent.
    isolated
        Whether to run the solver in a child process, so that limits hold and Ctrl-C works; otherwise calls
        cost less.

    Raises
    ------
    SolverMissingError
        The solver is not installed.
    UsageError
        The model is not of the solver's kind.
    """
    limits = limits or Limits()
    budget = Budget(limits)
    availability.require(solver, "milp")
    given = problem if isinstance(problem, LinearModel) else from_pulp(problem)
    if not given.names:
        return _of_nothing(given, availability.SOLVERS[solver].version())
    constant = given.constant
    model, unit = scaled(given)
    slack = _slack(model) * unit
    known: float | None = None
    last = Standing(None, None, 0)

    def hear(told: Incumbent | Bounded | Standing) -> None:
        nonlocal known, last
        if isinstance(told, Standing):
            objective, least = (None if end is None else end * unit + constant for end in (told.objective, told.bound))
            last = Standing(objective, least, told.nodes)
            stand()
        elif not isinstance(told, Bounded):
            if found is not None:
                found(told)
        elif bounded is not None and (known is None or model.sense.better(known, told.bound)):
            known = told.bound
            bounded(replace(told, bound=known * unit + constant, slack=slack))

    def stand() -> None:
        if standing is not None:
            standing(last)

    wanted = found is not None, bounded is not None, standing is not None
    if not isolated:
        outcome = run(solver, model, limits, start, wanted, hear)
    else:
        limits = child.prepared(solver, limits)
        arguments = solver, model, limits, start, wanted
        try:
            outcome = child.call(
                *("dlsched.solvers.milp:run", *arguments),
                time_s=limits.time_s,
                heard=hear,
                waiting=None if standing is None else stand,
            )
        except child.OutOfTime:
            outcome = Outcome(status=TerminationStatus.TIME_LIMIT, solver=availability.SOLVERS[solver].version())
    assert isinstance(outcome, Outcome)
    if outcome.status is TerminationStatus.UNBOUNDED:
        if not given.costs.any():  # then it is the other thing that this word may mean
            return Outcome(status=TerminationStatus.INFEASIBLE, solver=outcome.solver)
        without = replace(given, costs=np.zeros_like(given.costs))
        point = solve_milp(without, solver=solver, limits=budget.left, start=start, isolated=isolated)
        ended = outcome.status if point.status is TerminationStatus.OPTIMAL else point.status
        return replace(point, status=ended, objective=None, bound=None)
    bound = outcome.bound
    if outcome.status not in _ENDED and known is not None and (bound is None or model.sense.better(bound, known)):
        bound = known
    return replace(
        outcome,
        objective=None if outcome.objective is None else outcome.objective * unit + constant,
        bound=None if bound is None else bound * unit + constant,
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
    """Run a solver in this process; ``wanted``: whether to report solutions, bounds, and where it stands, to ``say``.

    A solver whose ``solve`` has a parameter ``standing`` says where it stands.
    """
    solve = importlib.import_module(availability.SOLVERS[solver].code).solve
    found, bounded, standing = (say if each else None for each in wanted)
    if standing is not None and "standing" in inspect.signature(solve).parameters:
        solve = partial(solve, standing=seldom(standing))
    outcome = solve(model, limits, start, found, bounded)
    assert isinstance(outcome, Outcome)
    return outcome


def seldom(say: StandingCallback, clock: Callable[[], float] = time.monotonic) -> StandingCallback:
    """Let a solver say where it stands twice a second at most, however often it could."""
    last: float | None = None

    def told(standing: Standing) -> None:
        nonlocal last
        now = clock()
        if last is None or now - last >= _SELDOM_S:
            last = now
            say(standing)

    return told


def _slack(model: LinearModel) -> float:
    """Largest error of a scaled model's bound from the tolerances of a solver."""
    if not model.costs.any():
        return 0.0
    widths = model.upper - model.lower
    narrow = widths <= _NARROW
    return _ABSOLUTE + float(dot(np.abs(model.costs[narrow]), widths[narrow]))


def _of_nothing(model: LinearModel, solver: str) -> Outcome:
    """The answer to a model without variables, which SciPy and PuLP refuse."""
    if (model.row_lower > 0).any() or (model.row_upper < 0).any():
        return Outcome(status=TerminationStatus.INFEASIBLE, solver=solver)
    constant = model.constant
    return Outcome(
        status=TerminationStatus.OPTIMAL, solver=solver, values={}, objective=constant, bound=constant, nodes=0
    )
