"""A solver that is installed, its outcome (status, solution, claimed bound), and what it reports while it runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dlsched.catalogue.solvers import SOLVERS, Solver
from dlsched.core.errors import SolverMissingError, UsageError
from dlsched.core.status import TerminationStatus


def require(name: str, kind: str) -> Solver:
    """Return a solver; UsageError: there is none for this kind of model; SolverMissingError: it is not installed."""
    able = [solver.name for solver in SOLVERS.values() if kind in solver.kinds]
    if name not in able:
        raise UsageError(where="solver", found=repr(name), allowed=", ".join(able))
    missing = SOLVERS[name].missing(kind)
    if missing is not None:
        raise SolverMissingError(f"solver {name} is not here; install {SOLVERS[name].full_name}: pip install {missing}")
    return SOLVERS[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer of a solver, in terms of the model.

    ``status`` is never ``FEASIBLE``: a solver proves, or something stopped it. ``UNBOUNDED`` of a solver means unbounded or
    infeasible; ``solve_milp`` finds out which, and ``values``, of which only those present may be read, are then some feasible
    point. ``objective`` and ``bound`` are as the solver states them; ``slack`` is the largest error of the bound from the
    solver's tolerances, in the unit of the objective. ``message`` describes a failure.
    """

    status: TerminationStatus
    solver: str
    values: Mapping[str, float] | None = None
    objective: float | None = None
    bound: float | None = None
    slack: float = 0.0
    nodes: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A bound, in terms of the model, known while the solver runs; ``solver`` proved it, of a relaxation another one."""

    bound: float
    solver: str
    slack: float = 0.0


@dataclass(frozen=True, slots=True)
class Standing:
    """Incumbent objective, bound (None if unknown) and nodes of a running solver: for display, nothing follows from it."""

    objective: float | None
    bound: float | None
    nodes: int

    def rescaled(self, unit: float, constant: float) -> "Standing":
        """The same in an objective that is ``unit`` times this one, plus ``constant``."""
        return Standing(rescaled(self.objective, unit, constant), rescaled(self.bound, unit, constant), self.nodes)


Incumbent = Mapping[str, float]
"""Values of a solution found during the run, by variable name."""

IncumbentCallback = Callable[[Incumbent], None]

BoundCallback = Callable[[Bounded], None]

StandingCallback = Callable[[Standing], None]


def failure(status: TerminationStatus, message: str) -> str:
    """The message of an outcome: empty unless the solver failed."""
    return message if status is TerminationStatus.SOLVER_ERROR else ""


def rescaled(value: float | None, unit: float, constant: float) -> float | None:
    """An objective or bound of a scaled model, in terms of the original: times ``unit``, plus ``constant``."""
    return None if value is None else value * unit + constant
