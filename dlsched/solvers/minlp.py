"""Non-linear mixed-integer models in Pyomo, solved to global optimality by SCIP."""

from dataclasses import replace
from typing import TYPE_CHECKING

from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.solvers import child
from dlsched.solvers.outcome import Outcome, failure, require

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

FEASIBILITY = 1e-6
"""SCIP's default tolerance for rows and non-linear terms. With a tighter one its linear programs can cycle,
so models should be scaled until this is enough; where that is impossible, pass another."""


def solve_minlp(
    model: "ConcreteModel",
    *,
    limits: Limits | None = None,
    isolated: bool = True,
    terms: int = 1,
    feasibility: float = FEASIBILITY,
) -> Outcome:
    """Solve a Pyomo model with one objective to a relative gap of 0, in a child process if ``isolated``.

    The objective should be much larger than ``feasibility``, SCIP's tolerance on rows and each of its ``terms`` non-linear terms.
    """
    limits = limits or Limits()
    require("scip", "minlp")
    slack = feasibility * (1 + terms)
    if not isolated:
        return replace(solve(model, limits, feasibility), slack=slack)
    limits = child.prepared("scip", limits)
    function = "dlsched.solvers.minlp:solve"
    outcome = child.outcome_of("scip", function, model, limits, feasibility, time_s=limits.time_s)
    return replace(outcome, slack=slack)


def solve(model: "ConcreteModel", limits: Limits, feasibility: float = FEASIBILITY) -> Outcome:
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
    # no symmetry: SCIP 10.0's detection mistakes 1/v for 3/w and "proves" wrong optima
    options: dict[str, float | int] = {"parallel/maxnthreads": limits.threads, "misc/usesymmetry": 0}
    if feasibility < FEASIBILITY:
        options |= {"numerics/feastol": feasibility, "numerics/dualfeastol": feasibility}
        options["propagating/obbt/freq"] = -1  # the linear programs of bound tightening are the first to cycle
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
        message=failure(status, f"SCIP says {answer.termination_condition.name}"),
    )
