"""Gurobi (gurobipy), for mixed-integer linear programs; reports incumbents and bounds while it runs.

The licence inside its wheel needs no network and allows models of up to 2,000 variables and 2,000 rows; a
licence in one of Gurobi's own locations may allow more.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from dlsched.core.errors import SolverError
from dlsched.core.limits import Budget, Limits
from dlsched.core.status import Sense, TerminationStatus
from dlsched.solvers.linear import LinearModel
from dlsched.solvers.outcome import BoundCallback, Bounded, Incumbent, IncumbentCallback, Outcome, failure

if TYPE_CHECKING:
    import gurobipy

_STATUS = {
    "OPTIMAL": TerminationStatus.OPTIMAL,
    "INFEASIBLE": TerminationStatus.INFEASIBLE,
    "UNBOUNDED": TerminationStatus.UNBOUNDED,
    "INF_OR_UNBD": TerminationStatus.UNBOUNDED,
    "TIME_LIMIT": TerminationStatus.TIME_LIMIT,
    "NODE_LIMIT": TerminationStatus.NODE_LIMIT,
    "INTERRUPTED": TerminationStatus.INTERRUPTED,
}
"""Gurobi's words; every other one (NUMERIC, SUBOPTIMAL, ...) is an error here: no such limit was set."""
_WITHOUT_POINT = TerminationStatus.INFEASIBLE, TerminationStatus.UNBOUNDED, TerminationStatus.SOLVER_ERROR
"""Statuses without a solution: for an unbounded model Gurobi has some far-away point."""
_PARAMETERS = {"OutputFlag": 0, "MIPGap": 0.0, "MIPGapAbs": 0.0, "IntFeasTol": 1e-9}
"""Integrality tolerance 1e-9 instead of 1e-5: a row with coefficients near 2**20 turns 1e-5 into whole
units."""


def version() -> str:
    """Name and version."""
    import gurobipy

    return f"Gurobi {'.'.join(map(str, gurobipy.gurobi.version()))}"


def solve(
    model: LinearModel,
    limits: Limits,
    start: Incumbent | None = None,
    found: IncumbentCallback | None = None,
    bounded: BoundCallback | None = None,
) -> Outcome:
    """Solve to a gap of 0; SolverError if the licence does not allow the model, or none is valid."""
    import gurobipy

    budget = Budget(limits)
    try:
        with gurobipy.Env(params=_PARAMETERS) as environment, gurobipy.Model(env=environment) as program:
            x = _write(program, model)
            program.Params.Threads = limits.threads
            if limits.nodes is not None:
                program.Params.NodeLimit = limits.nodes
            if start is not None:
                x.setAttr("Start", np.array([start.get(name, 0.0) for name in model.names]))
            watch = _Watch(model.names, x, found, bounded)
            word = _run(program, budget, watch)
            return _outcome(program, model, x, word)
    except gurobipy.GurobiError as error:
        raise SolverError(_failure(model, error)) from None


def _write(program: "gurobipy.Model", model: LinearModel) -> "gurobipy.MVar":
    """Write the model, and return its variables."""
    from gurobipy import GRB

    kinds = np.where(model.integer, GRB.INTEGER, GRB.CONTINUOUS)
    x = program.addMVar(len(model.names), lb=model.lower, ub=model.upper, vtype=kinds)
    sense = GRB.MINIMIZE if model.sense is Sense.MINIMIZE else GRB.MAXIMIZE
    program.setObjective(model.costs @ x + model.constant, sense)
    # rows by kind of their sides; a row with two different finite ends is written twice
    same = model.row_lower == model.row_upper
    matrix = model.matrix()
    for relation, right, rows in (
        (GRB.EQUAL, model.row_upper, same),
        (GRB.LESS_EQUAL, model.row_upper, np.isfinite(model.row_upper) & ~same),
        (GRB.GREATER_EQUAL, model.row_lower, np.isfinite(model.row_lower) & ~same),
    ):
        if rows.any():
            program.addMConstr(matrix[np.flatnonzero(rows)], x, relation, right[rows])
    return x


def _run(program: "gurobipy.Model", budget: Budget, watch: "_Watch") -> str:
    """Solve within the remaining time, and return Gurobi's status word."""
    from gurobipy import GRB

    if budget.left.time_s is not None:
        program.Params.TimeLimit = budget.left.time_s
    program.optimize(watch)
    if watch.error is not None:
        raise watch.error
    words: dict[int, str] = {getattr(GRB.Status, word): word for word in dir(GRB.Status) if word.isupper()}
    return words[program.Status]


def _outcome(program: "gurobipy.Model", model: LinearModel, x: "gurobipy.MVar", word: str) -> Outcome:
    status = _STATUS.get(word, TerminationStatus.SOLVER_ERROR)
    conclusive = status not in _WITHOUT_POINT
    solved = conclusive and program.SolCount > 0
    return Outcome(
        status=status,
        solver=version(),
        values=dict(zip(model.names, np.asarray(x.X).tolist(), strict=True)) if solved else None,
        objective=float(program.ObjVal) if solved else None,
        bound=_finite(program.ObjBound) if conclusive else None,
        nodes=int(program.NodeCount),
        message=failure(status, f"Gurobi says {word}"),
    )


def _finite(bound: float) -> float | None:
    from gurobipy import GRB

    return float(bound) if abs(bound) < GRB.INFINITY else None


class _Watch:
    """Reports new best solutions and bounds; keeps errors of listeners, which Gurobi would swallow."""

    def __init__(
        self, names: list[str], x: "gurobipy.MVar", found: IncumbentCallback | None, bounded: BoundCallback | None
    ) -> None:
        self.names, self.x, self.found, self.bounded = names, x, found, bounded
        self.name = version()
        self.known: float | None = None
        self.error: BaseException | None = None

    def __call__(self, program: "gurobipy.Model", where: int) -> None:
        try:
            self._report(program, where)
        except BaseException as error:
            self.error = error
            program.terminate()

    def _report(self, program: "gurobipy.Model", where: int) -> None:
        from gurobipy import GRB

        bounds = {GRB.Callback.MIP: GRB.Callback.MIP_OBJBND, GRB.Callback.MIPSOL: GRB.Callback.MIPSOL_OBJBND}
        if where == GRB.Callback.MIPSOL and self.found is not None:
            values: Any = program.cbGetSolution(self.x)
            self.found(dict(zip(self.names, values.tolist(), strict=True)))
        if where in bounds and self.bounded is not None:
            bound = _finite(program.cbGet(bounds[where]))
            if bound is not None and bound != self.known:
                self.known = bound
                self.bounded(Bounded(bound, self.name))


def _failure(model: LinearModel, error: Any) -> str:
    """Describe a failure in one line; for a model that is too large, name the licence."""
    from gurobipy import GRB

    if error.errno == GRB.Error.SIZE_LIMIT_EXCEEDED:
        sizes = f"{len(model.names):,} variables and {len(model.row_names):,} rows"
        return (
            f"{version()}: the model has {sizes}, more than its licence allows (2,000 of each, by the one that gurobipy "
            f"carries): {error}"
        )
    return f"{version()}: {error}"
