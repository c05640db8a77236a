"""What a solver returns: why it stopped, what it holds, what it claims to have proven."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dlsched.core.status import TerminationStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer of a solver, in the terms of the model.

    Parameters
    ----------
    status
        Never ``FEASIBLE``: a solver proves, or something stopped it.
    solver
        Name and version.
    values
        Value of every variable by name, or None; read them only when present.
    objective, bound
        As the solver states them; the bound is None when it states none.
    slack
        By how much its tolerances may have put the bound off, in the unit of the objective.
    nodes
        Branch-and-bound nodes, None when not reported.
    message
        What it said of a failure.
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
    """A bound that is known while a solver still runs.

    Parameters
    ----------
    bound
        In the terms of the model.
    solver
        Name and version of the one that proves it, which for a relaxation may be another.
    slack
        As of an ``Outcome``.
    """

    bound: float
    solver: str
    slack: float = 0.0


Incumbent = Mapping[str, float]
"""Values of a solution found on the way, by variable name."""

IncumbentCallback = Callable[[Incumbent], None]

BoundCallback = Callable[[Bounded], None]
