"""Models as objects: ``formulate`` builds one of any family; ``Formulation.solve`` solves it with rows of a user's own."""

import inspect
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from dlsched.catalogue.solvers import able
from dlsched.core.errors import UsageError
from dlsched.core.family import Method, Run
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits, ProgressCallback
from dlsched.core.ranges import MODERATE
from dlsched.core.result import Result, SolutionT
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.families import family_of
from dlsched.solvers.conclude import conclude, solve_and_conclude
from dlsched.solvers.formulation import Formulation
from dlsched.solvers.linear import LinearModel, from_pulp
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.outcome import Incumbent

if TYPE_CHECKING:
    import pulp

    from dlsched.core.modelled import Modelled

    Built: TypeAlias = Formulation[pulp.LpProblem, Any]

_ROWS = ("row_starts", "columns", "coefficients", "row_lower", "row_upper")
_COLUMNS = ("lower", "upper", "integer", "costs")


def formulate(
    instance: InstanceFile,
    name: str | None = None,
    *,
    complete: bool = False,
    horizon_s: float | None = None,
) -> "Built":
    """Build a linear model of an instance in PuLP, to look at or to extend.

    Parameters
    ----------
    instance
        Of any family.
    name
        A formulation of the family, as ``dlsched export --formulation`` takes them; None: ``milp``, or its first.
    complete
        Whether to keep all solutions, not only what some optimal one needs. Models that are extended need it.
    horizon_s
        In families whose jobs run over time: the time of the instance's clock by which all jobs end in the solutions that a
        complete model holds. None: it leaves room for all jobs one by one after the last of them has come.

    Returns
    -------
    Formulation
        ``model`` is the PuLP problem, ``variables`` says what its variables mean, ``solve`` solves it.

    Raises
    ------
    UsageError
        The family has no such formulation, or none with these arguments; or the model would be too large.
    """
    builders = family_of(instance).formulations
    if name is None:
        name = "milp" if "milp" in builders else next(iter(builders), "")
    if not isinstance(name, str) or name not in builders:
        raise UsageError(where="formulation", found=repr(name), allowed=", ".join(builders) or "none")
    if horizon_s is not None and not (isinstance(horizon_s, int | float) and abs(horizon_s) <= MODERATE[1]):
        raise UsageError(where="horizon_s", found=repr(horizon_s), allowed=f"seconds, at most {MODERATE[1]:g}")
    given = {"complete": True} if complete else {}
    more = {} if horizon_s is None else {"horizon_s": horizon_s}
    known = inspect.signature(builders[name]).parameters
    for argument in (*given, *more):
        if argument not in known:
            raise UsageError(f"formulation {name} of {instance.family} takes no {argument}")
    return cast("Built", builders[name](instance, **given, **more))


def solve_formulation(
    formulation: "Formulation[pulp.LpProblem, SolutionT]",
    *,
    solver: str,
    limits: Limits | None,
    time_limit: float | None,
    progress: ProgressCallback | None,
    verbose: bool,
) -> Result[SolutionT]:
    """Do what ``Formulation.solve`` says."""
    import pulp

    origin = formulation.origin
    if origin is None or not isinstance(formulation.model, pulp.LpProblem):
        raise UsageError("only formulations of dlsched that are PuLP models can be solved so; use dlsched.solve")
    now = _readable(formulation.model)
    before = from_pulp(cast("Modelled", origin.build()).model)
    if not origin.complete and not _same(now, before):
        found = "a model that was changed, and that leaves out solutions no optimum needs"
        raise UsageError(where="formulation", found=found, allowed="one that was built with complete=True")
    run = _run if _objective(now) == _objective(before) else _run_changed
    method = Method(origin.name, "exact", run(formulation), solvers=able("milp"))
    result: Result[SolutionT] = family_of(origin.instance).solve(
        origin.instance,
        method=method,
        solver=solver,
        limits=limits,
        time_limit=time_limit,
        progress=progress,
        verbose=verbose,
    )
    return result


def _run(formulation: "Formulation[pulp.LpProblem, SolutionT]") -> Run[InstanceFile, SolutionT]:
    """Solve a model that has the instance's objective."""

    def run(instance: InstanceFile, search: Search[SolutionT]) -> TerminationStatus:
        del instance
        search.of_model = True
        return solve_and_conclude(search, formulation)

    return run


def _run_changed(formulation: "Formulation[pulp.LpProblem, SolutionT]") -> Run[InstanceFile, SolutionT]:
    """Solve a model that has another objective: the best solution by that one is held, and no bound."""

    def run(instance: InstanceFile, search: Search[SolutionT]) -> TerminationStatus:
        del instance
        search.of_model = True
        latest: SolutionT | None = None

        def found(values: Incumbent) -> None:
            nonlocal latest
            solution = formulation.decode(values)
            if not search.violations(solution):
                latest = solution

        try:
            outcome = solve_milp(
                formulation.model, solver=search.solver or able("milp")[0], limits=search.left, found=found
            )
            search.solver_version = outcome.solver
            search.budget.nodes += outcome.nodes or 0
            search.say(outcome.message)
            if outcome.status is TerminationStatus.INFEASIBLE:
                return conclude(search, outcome, formulation)
            if outcome.values is not None:
                latest = formulation.decode(outcome.values)
        finally:
            search.offer(latest, source="the model")
        if outcome.status is TerminationStatus.OPTIMAL:
            search.say(f"optimal for the model's objective {outcome.objective!r}")
            return TerminationStatus.FEASIBLE
        if outcome.objective is not None or outcome.bound is not None:
            search.say(f"the model's objective is {outcome.objective!r}, its bound {outcome.bound!r}")
        return outcome.status

    return run


def _readable(model: "pulp.LpProblem") -> LinearModel:
    """Read a model into arrays; UsageError: solvers would be given another one."""
    if model.sos1 or model.sos2:
        raise UsageError("the model has special ordered sets, which are not passed to solvers; use binary variables")
    names = [variable.name for variable in model.variables()]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})[0]
        raise UsageError(where="model", found=f"two variables {twice!r}", allowed="a name for each")
    return from_pulp(model)


def _objective(model: LinearModel) -> tuple[str, float, dict[str, float]]:
    costs = {name: cost for name, cost in zip(model.names, model.costs.tolist(), strict=True) if cost}
    return str(model.sense), model.constant, costs


def _same(now: LinearModel, before: LinearModel) -> bool:
    """Whether nothing was changed."""
    named = now.names == before.names and now.row_names == before.row_names
    stated = now.sense is before.sense and now.constant == before.constant
    arrays = (np.array_equal(getattr(now, each), getattr(before, each)) for each in (*_ROWS, *_COLUMNS))
    return named and stated and all(arrays)
