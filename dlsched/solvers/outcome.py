"""The outcome of a solver: its status, solution, and claimed bound; and what it reports while it runs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dlsched.core.status import TerminationStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer of a solver, in terms of the model.

    ``status`` is never ``FEASIBLE``: a solver proves, or something stopped it. ``UNBOUNDED`` of a solver means unbounded or
    infeasible; ``solve_milp`` finds out which, and ``values`` are then some feasible point. ``solver`` is its name and
    version; ``values`` has the value of every variable by name, only those present may be read. ``objective`` and ``bound``
    are as the solver states them, None if it states none; ``slack`` is the largest error of the bound from the solver's
    tolerances, in the unit of the objective. ``nodes`` counts branch-and-bound nodes; ``message`` describes a failure.
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
    """A bound, in terms of the model, that is known while the solver still runs, with its slack as in ``Outcome``.

    ``solver`` is name and version of the solver that proved it; for a relaxation this may be another one.
    """

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
