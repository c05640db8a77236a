"""Non-linear mixed-integer models in Pyomo, solved to global optimality by SCIP."""

from dataclasses import replace
from typing import Any

from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.solvers import availability, child
from dlsched.solvers.outcome import Outcome

_ABSOLUTE = 1e-6
"""SCIP's tolerance on a row or a non-linear term, which stays as it is: at a tight one its linear programs can cycle."""


def solve_minlp(model: Any, *, limits: Limits | None = None, isolated: bool = True, terms: int = 1) -> Outcome:
    """Solve a Pyomo model to a relative gap of 0; its objective should have a magnitude of 1e4 or more.

    Parameters
    ----------
    model
        A ``pyomo.environ.ConcreteModel`` with one objective.
    limits
        Time, nodes and threads.
    isolated
        Run it in a child process, which makes limits hold and Ctrl-C work.
    terms
        Non-linear terms of the objective, each of which may be off by SCIP's tolerance.

    Raises
    ------
    SolverMissingError
        SCIP is not installed.
    """
    limits = limits or Limits()
    availability.require("scip", "minlp")
    slack = _ABSOLUTE * (1 + terms)
    if not isolated:
        return replace(solve(model, limits), slack=slack)
    try:
        outcome = child.call("dlsched.solvers.minlp:solve", model, limits, time_s=limits.time_s)
    except child.OutOfTime:
        return Outcome(status=TerminationStatus.TIME_LIMIT, solver=availability.SOLVERS["scip"].version())
    assert isinstance(outcome, Outcome)
    return replace(outcome, slack=slack)


def solve(model: Any, limits: Limits) -> Outcome:
    """Solve in this process."""
    import pyomo.environ as pyo
    from pyomo.contrib.solver.common.factory import SolverFactory
    from pyomo.contrib.solver.common.results import TerminationCondition

    from dlsched.solvers.scip import version

    words = {
        TerminationCondition.convergenceCriteriaSatisfied: TerminationStatus.OPTIMAL,
        TerminationCondition.provenInfeasible: TerminationStatus.INFEASIBLE,
        TerminationCondition.maxTimeLimit: TerminationStatus.TIME_LIMIT,
        TerminationCondition.iterationLimit: TerminationStatus.NODE_LIMIT,
        TerminationCondition.interrupted: TerminationStatus.INTERRUPTED,
    }
    # SCIP 10.0's symmetry detection takes 1/v and 3/w for each other and "proves" wrong optima: it stays off
    options: dict[str, float | int] = {
        "parallel/maxnthreads": limits.threads,
        "misc/usesymmetry": 0,
    }
    if limits.nodes is not None:
        options["limits/nodes"] = limits.nodes
    answer = SolverFactory("scip_direct").solve(
        model,
        rel_gap=0.0,
        time_limit=limits.time_s,
        solver_options=options,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
    )
    status = words.get(answer.termination_condition, TerminationStatus.SOLVER_ERROR)
    values = None
    if answer.incumbent_objective is not None:
        answer.solution_loader.load_vars()
        values = {
            variable.name: float(pyo.value(variable))
            for variable in model.component_data_objects(pyo.Var)
            if not variable.stale
        }
    return Outcome(
        status=status,
        solver=version(),
        values=values,
        objective=answer.incumbent_objective,
        bound=answer.objective_bound if status is not TerminationStatus.INFEASIBLE else None,
        message=""
        if status is not TerminationStatus.SOLVER_ERROR
        else f"SCIP says {answer.termination_condition.name}",
    )
