"""Models as objects: ``formulate`` builds one of any family; ``Formulation.solve`` solves it with rows of a user's own."""

import inspect
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from dlsched.catalogue.solvers import able
from dlsched.certificates.exact import rounded_down, rounded_up
from dlsched.core.errors import UsageError
from dlsched.core.family import Method
from dlsched.core.gap import CLOSED, tolerance
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits, ProgressCallback
from dlsched.core.ranges import MODERATE
from dlsched.core.result import Result, SolutionT
from dlsched.core.search import Search
from dlsched.core.status import Sense, TerminationStatus
from dlsched.families import family_of
from dlsched.proofs.proof import Scale
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.prover import finding_of
from dlsched.proofs.prover.search import TreeSearch
from dlsched.solvers.conclude import conclude, solve_and_conclude
from dlsched.solvers.formulation import Formulation
from dlsched.solvers.linear import LinearModel, from_pulp
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.outcome import Incumbent

if TYPE_CHECKING:
    import pulp

    Built: TypeAlias = Formulation[pulp.LpProblem, Any]

LINEAR = tuple(dict.fromkeys((*able("milp"), *able("integer milp"))))
"""Solvers of linear models; some take whole variables only."""
_CASES = 1000
"""Cases of an exact proof of what a solver calls optimal."""
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
        In families whose jobs run over time: the time of the instance's clock by which all jobs end in a complete model. None:
        it leaves room for all jobs one by one after the last of them has come.

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
    arguments = {"complete": True} if complete else {}
    more = {} if horizon_s is None else {"horizon_s": horizon_s}
    known = inspect.signature(builders[name]).parameters
    for argument in (*arguments, *more):
        if argument not in known:
            raise UsageError(f"formulation {name} of {instance.family} takes no {argument}")
    return cast("Built", builders[name](instance, **arguments, **more))


def solve_formulation(
    formulation: "Formulation[pulp.LpProblem, SolutionT]",
    *,
    solver: str,
    start: SolutionT | Result[SolutionT] | None,
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
    before = from_pulp(cast("Built", origin.build()).model)
    if not origin.complete and not _same(now, before):
        found = "a model that was changed, and that leaves out solutions no optimum needs"
        raise UsageError(where="formulation", found=found, allowed="one that was built with complete=True")
    _require_own(now, before)
    stated = _in_terms_of(before, replace(formulation, model=now))
    run = partial(_run_changed, formulation, now) if stated is None else partial(_run, formulation, stated, before)
    method = Method(origin.name, "exact", run, solvers=LINEAR)
    solve_with = partial(family_of(origin.instance).solve, method=method, solver=solver, start=start, limits=limits)
    return solve_with(origin.instance, time_limit=time_limit, progress=progress, verbose=verbose)


def _run(
    formulation: "Formulation[pulp.LpProblem, SolutionT]",
    stated: Formulation[LinearModel, SolutionT],
    before: LinearModel,
    instance: InstanceFile,
    search: Search[SolutionT],
) -> TerminationStatus:
    """Solve a model that has the instance's objective, or a multiple of it."""
    search.of_model = True
    if (stated.model.sense is before.sense) != (stated.unit * formulation.unit > 0):
        search.sense = Sense.MAXIMIZE if search.sense is Sense.MINIMIZE else Sense.MINIMIZE
    values = _start(formulation, search)
    if values is not None:
        search.consider(stated.decode(values), source="start")
    status = solve_and_conclude(search, replace(stated, start=values))
    if status is TerminationStatus.FEASIBLE:
        _prove(search, stated)
        search.message = "" if search.proven else search.message
    return status


def _prove(search: Search[SolutionT], stated: Formulation[LinearModel, SolutionT]) -> None:
    """Prove without rounding what a solver calls optimal, though its tolerances leave open whether it is."""
    exact = ExactModel(stated.model)
    unit = Fraction(stated.unit)
    constant = Fraction(stated.constant) + unit * Fraction(stated.model.constant)
    incumbent = exact.sign * (Fraction(search.objective or 0.0) - constant) / unit
    scale = Scale(exact.sign, unit, constant, Fraction(search.constant))
    tree = TreeSearch(exact, lambda upper: upper - Fraction(CLOSED) * abs(scale.of(upper) - scale.shift) / abs(unit))
    tree.expect(incumbent)
    tree.run(search.tick, most=_CASES)
    if tree.point is not None:  # it is better than what the solver calls so
        point = dict(zip(stated.model.names, map(float, tree.point), strict=True))
        search.consider(stated.decode(point), source="exact arithmetic")
    lower = finding_of(exact, tree).lower
    if lower is not None:
        rounded = rounded_down if search.sense is Sense.MINIMIZE else rounded_up
        search.prove(rounded(scale.of(lower)), source="exact arithmetic")


def _run_changed(
    formulation: "Formulation[pulp.LpProblem, SolutionT]",
    model: LinearModel,
    _: InstanceFile,
    search: Search[SolutionT],
) -> TerminationStatus:
    """Solve a model that has another objective: the best solution by that one is held, and no bound."""
    search.of_model = True
    latest: SolutionT | None = None

    def found(values: Incumbent) -> None:
        nonlocal latest
        solution = formulation.decode(values)
        if not search.violations(solution):
            latest = solution

    start = _start(formulation, search)
    if start is not None:
        found(start)
    try:
        outcome = solve_milp(model, solver=search.solver or LINEAR[0], limits=search.left, start=start, found=found)
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
    if outcome.status is TerminationStatus.UNBOUNDED:
        search.say("the model's objective has no end")
    if outcome.objective is not None or outcome.bound is not None:
        search.say(f"the model's objective is {outcome.objective!r}, its bound {outcome.bound!r}")
    return outcome.status


def _start(formulation: "Formulation[pulp.LpProblem, SolutionT]", search: Search[SolutionT]) -> Incumbent | None:
    """Return values of the model that decide what the user's start does, and the rest as well as can be.

    None: there is no start, or no time for it. UsageError: it breaks a row of the model.
    """
    if search.start is None:
        return None
    if formulation.chosen is None:
        raise UsageError(where="start", found="a model without complete=True", allowed="a complete one, or no start")
    fixed, absent = formulation.model.copy(), False
    # Fix every decision of the start within its tolerance; the solver sets what the start leaves open.
    for kind, decided in formulation.chosen(search.start).items():
        choices = formulation.variables[kind]
        absent |= any(value and key not in choices for key, value in decided.items())
        for key, choice in choices.items():
            value = decided.get(key, 0.0)
            fixed.addConstraint(choice >= value - tolerance(value))
            fixed.addConstraint(choice <= value + tolerance(value))
    outcome = solve_milp(from_pulp(fixed), limits=replace(search.left, nodes=None))
    if absent or outcome.status is TerminationStatus.INFEASIBLE:
        found = "a solution that breaks a row of the model, or that the model leaves out"
        raise UsageError(where="start", found=found, allowed="one that keeps all rows, those added too")
    return outcome.values


def _readable(model: "pulp.LpProblem") -> LinearModel:
    """Read a model into arrays; UsageError: solvers would be given another one."""
    import pulp

    if model.sos1 or model.sos2:
        raise UsageError("the model has special ordered sets, which are not passed to solvers; use binary variables")
    # The rows are a dictionary that users fill: refuse what is no linear constraint with a number on its side.
    for name, row in model.constraints.items():
        known = isinstance(row, pulp.LpConstraint) and row.sense in pulp.LpConstraintSenses
        if not (known and isinstance(row.expr, pulp.LpAffineExpression) and isinstance(row.constant, int | float)):
            raise UsageError(where=f"row {name!r}", found=repr(row)[:60], allowed="an expression <=, >= or == a number")
    names = [variable.name for variable in model.variables()]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})[0]
        raise UsageError(where="model", found=f"two variables {twice!r}", allowed="a name for each")
    return from_pulp(model)


def _require_own(now: LinearModel, before: LinearModel) -> None:
    """Refuse a model some points of which are no solutions, as a row or a bound that it was built with is gone or wider."""
    parts = _parts(now)
    # Every row and variable of the original must still be there, with the same terms and sides no wider.
    for name, (means, low, high) in _parts(before).items():
        means_now, low_now, high_now = parts.get(name, (None, -np.inf, np.inf))
        if means_now is None and isinstance(means, bool):
            continue  # a variable that no row has any more
        if means_now != means or low_now < low or high_now > high:
            allowed = "what it was built with, or tighter sides; add rows for the rest"
            raise UsageError(where="formulation", found=f"{name} changed or missing", allowed=allowed)


def _parts(model: LinearModel) -> dict[str, tuple[object, float, float]]:
    """Return rows and variables by name: the terms, or whether it is whole, and the two sides."""
    terms = [model.row(index) for index in range(len(model.row_names))]
    means = [{model.names[k]: value for k, value in zip(*each, strict=True)} for each in terms]
    rows = zip(means, model.row_lower.tolist(), model.row_upper.tolist(), strict=True)
    variables = zip(model.integer.tolist(), model.lower.tolist(), model.upper.tolist(), strict=True)
    named = [*(f"variable {name!r}" for name in model.names), *(f"row {name!r}" for name in model.row_names)]
    return dict(zip(named, (*variables, *rows), strict=True))


def _in_terms_of(
    before: LinearModel, now: Formulation[LinearModel, SolutionT]
) -> Formulation[LinearModel, SolutionT] | None:
    """Return the model with the unit and constant that its objective has now; None: it is no multiple of what it was."""
    costs, own = _costs(now.model), _costs(before)
    times = next((costs.get(name, 0.0) / cost for name, cost in own.items()), 1.0)
    if not times or costs != {name: times * cost for name, cost in own.items()}:
        return None
    unit = now.unit / times
    return replace(now, unit=unit, constant=now.constant + now.unit * before.constant - unit * now.model.constant)


def _costs(model: LinearModel) -> dict[str, float]:
    return {name: cost for name, cost in zip(model.names, model.costs.tolist(), strict=True) if cost}


def _same(now: LinearModel, before: LinearModel) -> bool:
    """Whether nothing was changed."""
    named = now.names == before.names and now.row_names == before.row_names
    stated = now.sense is before.sense and now.constant == before.constant
    arrays = (np.array_equal(getattr(now, each), getattr(before, each)) for each in (*_ROWS, *_COLUMNS))
    return named and stated and all(arrays)
