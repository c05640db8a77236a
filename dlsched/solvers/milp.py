"""One call for every mixed-integer linear solver: a PuLP model and limits in, an ``Outcome`` out."""

import importlib
from dataclasses import replace
from typing import TYPE_CHECKING

from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.solvers import availability, child
from dlsched.solvers.linear import LinearModel, from_pulp, scaled
from dlsched.solvers.outcome import Incumbent, IncumbentCallback, Outcome

if TYPE_CHECKING:
    import pulp

_ABSOLUTE = 1e-6
"""The absolute gap at which HiGHS ends; what the others' tolerances make of costs up to 2**17 is not more."""


def solve_milp(
    problem: "pulp.LpProblem | LinearModel",
    *,
    solver: str = "highs",
    limits: Limits | None = None,
    start: Incumbent | None = None,
    found: IncumbentCallback | None = None,
    isolated: bool = True,
) -> Outcome:
    """Solve a mixed-integer linear model to a gap of 0; the solver sees it brought to a common magnitude (``scaled``).

    Parameters
    ----------
    problem
        A PuLP model, or its arrays.
    solver
        ``highs``, ``cbc``, ``scip`` or ``cpsat``.
    limits
        Time, nodes and threads.
    start
        A solution by variable name (missing ones are 0), for the solvers that take one: CBC, SCIP, CP-SAT.
    found
        Called with every better solution that SCIP and CP-SAT find on the way.
    isolated
        Run it in a child process, which makes limits hold and Ctrl-C work; without, calls cost less.

    Raises
    ------
    SolverMissingError
        The solver is not installed.
    UsageError
        The model is not of the solver's kind.
    """
    limits = limits or Limits()
    availability.require(solver, "milp")
    model = problem if isinstance(problem, LinearModel) else from_pulp(problem)
    if not model.names:
        return _of_nothing(model, availability.SOLVERS[solver].version())
    constant = model.constant
    model, unit = scaled(model)
    if not isolated:
        outcome = importlib.import_module(f"dlsched.solvers.{solver}").solve(model, limits, start, found)
    else:
        limits = child.prepared(solver, limits)
        try:
            outcome = child.call(
                f"dlsched.solvers.{solver}:solve", model, limits, start, time_s=limits.time_s, heard=found or _ignore
            )
        except child.OutOfTime:
            return Outcome(status=TerminationStatus.TIME_LIMIT, solver=availability.SOLVERS[solver].version())
    assert isinstance(outcome, Outcome)
    return replace(
        outcome,
        objective=None if outcome.objective is None else outcome.objective * unit + constant,
        bound=None if outcome.bound is None else outcome.bound * unit + constant,
        slack=_ABSOLUTE * unit if model.costs.any() else 0.0,
    )


def _of_nothing(model: LinearModel, solver: str) -> Outcome:
    """The answer to a model without variables, which SciPy and PuLP refuse."""
    if (model.row_lower > 0).any() or (model.row_upper < 0).any():
        return Outcome(status=TerminationStatus.INFEASIBLE, solver=solver)
    constant = model.constant
    return Outcome(
        status=TerminationStatus.OPTIMAL, solver=solver, values={}, objective=constant, bound=constant, nodes=0
    )


def _ignore(incumbent: Incumbent) -> None:
    del incumbent
