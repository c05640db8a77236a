"""Conclusions from a solver's answer: its solution, bound and status are passed to the search."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from dlsched.catalogue.solvers import able
from dlsched.core.errors import ContradictionError, SolverError
from dlsched.core.family import InstanceT, Run
from dlsched.core.gap import MEETING
from dlsched.core.limits import Limits
from dlsched.core.result import Certificate, SolutionT
from dlsched.core.search import CONTRADICTION, Search
from dlsched.core.status import Sense, TerminationStatus
from dlsched.solvers.formulation import Formulation, ModelT
from dlsched.solvers.outcome import Bounded, Outcome, Standing, require

if TYPE_CHECKING:
    import pulp

    from dlsched.solvers.linear import LinearModel


def solve_and_conclude(
    search: Search[SolutionT],
    formulation: "Formulation[pulp.LpProblem, SolutionT] | Formulation[LinearModel, SolutionT]",
    *,
    limits: Limits | None = None,
) -> TerminationStatus:
    """Solve a linear model by the solver that the search names (default: HiGHS), then call ``conclude``."""
    from dlsched.solvers.milp import solve_milp

    decode, unit, constant = formulation.decode, formulation.unit, formulation.constant
    solver = search.solver or able("milp")[0]

    def watch(standing: Standing) -> None:
        scaled = standing.rescaled(unit, constant)
        search.watch(solver, scaled.objective, scaled.bound, scaled.nodes)

    outcome = solve_milp(
        formulation.model,
        solver=solver,
        limits=limits or search.left,
        start=formulation.start,
        found=lambda values: search.consider(decode(values), source="incumbent"),
        bounded=lambda known: _prove(search, known, formulation),
        standing=watch,
    )
    return conclude(search, outcome, formulation)


def conclude(
    search: Search[SolutionT], outcome: Outcome, formulation: Formulation[ModelT, SolutionT]
) -> TerminationStatus:
    """Pass a solver's solution and bound, in terms of the instance, to the search; return the status.

    SolverError: the solver claims infeasibility of a feasible instance, or the checker rejects its solution.
    """
    search.solver_version = outcome.solver
    search.budget.nodes += outcome.nodes or 0
    search.say(outcome.message)
    if outcome.status is TerminationStatus.INFEASIBLE:
        if search.of_model and search.solution is None:
            horizon_s = formulation.horizon_s
            by = "" if horizon_s is None else f" in which all jobs end by {horizon_s!r} s; horizon_s sets a later time"
            search.say(f"the model has no solution{by}")
            search.bound = search.bound_source = None  # of its relaxation
            return outcome.status
        message = f"{outcome.solver} and the checker disagree: infeasible, but a solution is held"
        raise ContradictionError(message, where=CONTRADICTION)
    if outcome.status is TerminationStatus.UNBOUNDED and not search.of_model:
        raise SolverError(f"{outcome.solver} calls the model unbounded")
    if outcome.values is not None:
        search.offer(formulation.decode(outcome.values), source=outcome.solver)
    if outcome.bound is not None:
        _prove(search, Bounded(outcome.bound, outcome.solver, outcome.slack), formulation)
    return settled(search, outcome.status, outcome.solver) if formulation.limit is None else outcome.status


def _prove(search: Search[SolutionT], known: Bounded, formulation: Formulation[ModelT, SolutionT]) -> None:
    """Record what a solver's bound proves of all solutions, weakened by its tolerances; no weaker than a constant that bounds."""
    bound = known.bound * formulation.unit + formulation.constant
    slack = known.slack * abs(formulation.unit)
    least = search.constant if search.sense is Sense.MINIMIZE and not search.of_model else -math.inf
    bound = max(bound, least)
    incumbent = search.objective
    if incumbent is not None and slack <= MEETING * abs(incumbent - search.constant):
        # the tolerances are within the gap of an optimum: only a bound that they put beyond the incumbent moves, onto it
        if abs(bound - incumbent) <= slack and search.sense.better(incumbent, bound):
            bound = incumbent
    else:
        bound = bound + slack if search.sense is Sense.MAXIMIZE else max(bound - slack, least)
    if formulation.limit is not None and search.sense.better(formulation.limit, bound):
        bound = formulation.limit
    search.prove(bound, source=known.solver)


def settled(search: Search[SolutionT], status: TerminationStatus, solver: str) -> TerminationStatus:
    """Return why a solver stopped; ``feasible``, with a remark, if its bound does not prove "optimal"."""
    if status is TerminationStatus.OPTIMAL and not search.proven:
        search.say(f"{solver} calls it optimal; its bound proves less")
        return TerminationStatus.FEASIBLE
    return status


def bound_by_duals(relaxation: Callable[..., Certificate]) -> Run[InstanceT, SolutionT]:
    """Wrap a linear programming bound, a function of an instance, ``time_s`` and ``tick``, as a method."""

    def run(instance: InstanceT, search: Search[SolutionT]) -> TerminationStatus:
        from dlsched.solvers import child

        search.tick()
        search.solver_version = require(able("multipliers")[0], "milp").version()
        try:
            certificate = relaxation(instance, time_s=search.left.time_s, tick=search.tick)
        except child.OutOfTime:
            return TerminationStatus.TIME_LIMIT
        search.prove(certificate.value, source="certificate", certificate=certificate)
        return TerminationStatus.FEASIBLE

    return run
