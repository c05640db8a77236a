"""The outcome of a solver: its status, solution, and claimed bound."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dlsched.core.status import TerminationStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer of a solver, in terms of the model.

    Parameters
    ----------
    status
        Never ``FEASIBLE``: a solver proves, or something stopped it. A solver says ``UNBOUNDED`` where the model is that or
        infeasible; ``solve_milp`` finds out which, and its ``values`` are then some feasible point.
    solver
        Name and version.
    values
        Value of every variable by name, or None; read them only when present.
    objective, bound
        As the solver states them; the bound is None if it states none.
    slack
        Largest error of the bound from the solver's tolerances, in the unit of the objective.
    nodes
        Branch-and-bound nodes, None when not reported.
    message
        The solver's message about a failure.
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
    """A bound that is known while the solver still runs.

    Parameters
    ----------
    bound
        In terms of the model.
    solver
        Name and version of the solver that proved it; for a relaxation this may be another one.
    slack
        As in ``Outcome``.
    """

    bound: float
    solver: str
    slack: float = 0.0


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a solver stands while it runs, in terms of the model: for people only, nothing is concluded from it.

    Parameters
    ----------
    objective, bound
        Of the best solution that the solver holds, and its bound; None if unknown.
    nodes
        Branch-and-bound nodes so far.
    """

    objective: float | None
    bound: float | None
    nodes: int


Incumbent = Mapping[str, float]
"""Values of a solution found during the run, by variable name."""

IncumbentCallback = Callable[[Incumbent], None]

BoundCallback = Callable[[Bounded], None]

StandingCallback = Callable[[Standing], None]
