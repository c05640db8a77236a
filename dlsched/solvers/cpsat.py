"""CP-SAT of OR-Tools, for integer programs: costs become integers; the bound is weakened by the error."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dlsched.core.arrays import dot
from dlsched.core.errors import UsageError
from dlsched.core.limits import Limits
from dlsched.core.status import Sense, TerminationStatus
from dlsched.solvers.linear import LinearModel
from dlsched.solvers.outcome import BoundCallback, Bounded, Incumbent, IncumbentCallback, Outcome, failure

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

Value: TypeAlias = "Callable[[cp_model.IntVar], int]"
"""Reads a variable of a solution."""
_LARGEST_OBJECTIVE = 2.0**53  # CP-SAT has 64-bit sums, and its presolve adds differences of costs
_LARGEST_SCALE = 2**20  # rows of fractions are integers after scaling by at most this


def version() -> str:
    """Name and version."""
    import ortools

    return f"CP-SAT {ortools.__version__}"


def solve(
    model: LinearModel,
    limits: Limits,
    start: Incumbent | None = None,
    found: IncumbentCallback | None = None,
    bounded: BoundCallback | None = None,
) -> Outcome:
    """Solve to a gap of 0 in scaled integers; a node limit limits the conflicts.

    Raises UsageError for a continuous or unbounded variable, or a coefficient that is not an integer after scaling its row.
    """
    from ortools.sat.python import cp_model

    unfit = np.flatnonzero(~(model.integer & np.isfinite(model.lower) & np.isfinite(model.upper)))
    if len(unfit):
        which = f"the continuous or unbounded variable {model.names[unfit[0]]!r}"
        raise UsageError(where="solver cpsat", found=which, allowed="bounded integers")
    cp = cp_model.CpModel()
    variables = [
        cp.new_int_var(math.ceil(low), math.floor(high), name)
        for name, low, high in zip(model.names, model.lower.tolist(), model.upper.tolist(), strict=True)
    ]
    # rows in integers: coefficients exactly, sides rounded to what integers can reach
    for index, name in enumerate(model.row_names):
        columns, coefficients = model.row(index)
        low, high = float(model.row_lower[index]), float(model.row_upper[index])
        factor, whole = _whole(coefficients, name)
        row = cp_model.LinearExpr.weighted_sum([variables[c] for c in columns], whole)
        domain = cp_model.Domain(
            _end(low * factor, math.ceil, cp_model.INT_MIN), _end(high * factor, math.floor, cp_model.INT_MAX)
        )
        cp.add_linear_expression_in_domain(row, domain)
    power, whole_costs, error = _whole_costs(model)
    total = cp_model.LinearExpr.weighted_sum(variables, whole_costs)
    cp.minimize(total) if model.sense is Sense.MINIMIZE else cp.maximize(total)
    for name, variable in zip(model.names, variables, strict=True):
        if start is not None:
            cp.add_hint(variable, round(start.get(name, 0.0)))

    name = version()

    def bound_of_costs(bound: float) -> float:
        """A bound on scaled costs, for those of the model: weaker by the rounding error of the costs."""
        return math.ldexp(bound, -power) - model.sign * error + model.constant

    def report(bound: float) -> None:
        if bounded is not None:
            bounded(Bounded(bound_of_costs(bound), name))

    def read(value: Value) -> Incumbent:
        return {name: float(value(variable)) for name, variable in zip(model.names, variables, strict=True)}

    watch = None if found is None else lambda value: found(read(value))
    code, solver, bound = run(cp, limits, watch, bounded=report)
    values = read(solver.value) if code in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None
    point = np.array([values[name] for name in model.names]) if values is not None else None
    status = status_of(code, limits, solver)
    return Outcome(
        status=status,
        solver=name,
        values=values,
        objective=None if point is None else model.objective(point),
        bound=None if bound is None else bound_of_costs(bound),
        nodes=int(solver.num_branches),
        message=failure(status, solver.response_stats()),
    )


def run(
    cp: "cp_model.CpModel",
    limits: Limits,
    found: Callable[[Value], None] | None = None,
    *,
    bounded: Callable[[float], None] = lambda bound: None,
    linear: int = 1,
    symmetry: bool = True,
    cuts: bool = True,
    probing: bool = True,
) -> "tuple[int, cp_model.CpSolver, float | None]":
    """Solve a CP-SAT model to a gap of 0; return its code, the solver, and its bound, None if unknown; nodes are conflicts.

    ``found`` is called with what reads the variables of every better solution.
    Without a solution CP-SAT states a bound of 0 that it has not proven; then the last bound that was passed to ``bounded``,
    which gets every better one and must not raise, is returned. ``linear``: size of the linear relaxation, 0 to 2.

    Probing before the search stays off: with it CP-SAT 9.15 proved wrong optima for models whose enforced rows had
    coefficients near 2**40, and, with symmetries and a hint, for times near 2**34. Without probing it still
    proved wrong optima for an objective with an additional row of its own and coefficients from 2**33 on,
    when it searched for rows contained in others; so that search stays off too.
    """
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = limits.threads
    solver.parameters.relative_gap_limit = 0.0
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.presolve_inclusion_work_limit = 0
    solver.parameters.linearization_level = linear
    if not symmetry:
        solver.parameters.symmetry_level = 0
    if not cuts:
        solver.parameters.cut_level = 0
    if not probing:
        solver.parameters.inprocessing_probing_dtime = 0.0
    solver.parameters.catch_sigint_signal = False
    if limits.time_s is not None:
        solver.parameters.max_time_in_seconds = limits.time_s
    if limits.nodes is not None:
        solver.parameters.max_number_of_conflicts = limits.nodes
    heard: list[float] = []

    def hear(bound: float) -> None:
        heard.append(bound)
        bounded(bound)

    solver.best_bound_callback = hear
    code = solver.solve(cp, None if found is None else _watch(found))
    if code in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return code, solver, solver.best_objective_bound
    return code, solver, heard[-1] if heard and code == cp_model.UNKNOWN else None


def status_of(code: int, limits: Limits, solver: "cp_model.CpSolver") -> TerminationStatus:
    """Return the status; CP-SAT does not say which limit stopped it: take the one that is used up more."""
    from ortools.sat.python import cp_model

    if code == cp_model.OPTIMAL:
        return TerminationStatus.OPTIMAL
    if code == cp_model.INFEASIBLE:
        return TerminationStatus.INFEASIBLE
    if code in (cp_model.FEASIBLE, cp_model.UNKNOWN):
        if limits.nodes is None:
            return TerminationStatus.SOLVER_ERROR if limits.time_s is None else TerminationStatus.TIME_LIMIT
        if limits.time_s is None or solver.num_conflicts * limits.time_s >= solver.wall_time * limits.nodes:
            return TerminationStatus.NODE_LIMIT
        return TerminationStatus.TIME_LIMIT
    return TerminationStatus.SOLVER_ERROR


def _whole(coefficients: list[float], name: str) -> tuple[int, list[int]]:
    """Scale a row by a power of two so that its coefficients are integers, exactly."""
    scale = 1
    while scale <= _LARGEST_SCALE:
        scaled = [a * scale for a in coefficients]
        if all(a.is_integer() for a in scaled):
            return scale, [int(a) for a in scaled]
        scale *= 2
    raise UsageError(
        f"solver cpsat: row {name!r} has coefficients that are not integers even after scaling by {_LARGEST_SCALE}"
    )


def _whole_costs(model: LinearModel) -> tuple[int, list[int], float]:
    """Scale costs by the largest power of two that CP-SAT can add up; return its exponent, the integers, and the error."""
    reach = np.maximum(np.abs(model.lower), np.abs(model.upper))
    most = float(dot(np.abs(model.costs), reach))
    power = math.frexp(_LARGEST_OBJECTIVE / most)[1] - 1 if most > 0 else 0
    whole = [round(math.ldexp(cost, power)) for cost in model.costs.tolist()]
    errors = np.abs(np.array([math.ldexp(cost, -power) for cost in whole]) - model.costs)
    return power, whole, float(dot(errors, reach))


def _end(value: float, rounding: Callable[[float], int], infinite: int) -> int:
    return infinite if math.isinf(value) else rounding(value)


def _watch(found: Callable[[Value], None]) -> "cp_model.CpSolverSolutionCallback":
    from ortools.sat.python import cp_model

    class Watch(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]  # the package is untyped
        def on_solution_callback(self) -> None:
            found(self.value)

    return Watch()
