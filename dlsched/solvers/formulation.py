"""The record of a formulation: a model for a solver, and how its values and objective are decoded."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from dlsched.solvers.outcome import Incumbent

ModelT = TypeVar("ModelT")
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True)
class Formulation(Generic[ModelT, AnswerT]):
    """A model of an instance, as every builder returns it.

    Parameters
    ----------
    model
        The model for its solver: a PuLP ``LpProblem``, a ``LinearModel``, a Pyomo, CP-SAT or
        ``IntervalModel``.
    decode
        Turns values of variables, by name, into a solution, or the part of one that the model decides.
    unit, constant
        The objective of the instance is ``unit`` times that of the model, plus ``constant``.
    start
        Values by name of a solution to start from; None: no start.
    limit, parameters
        Objective of the instance up to which every solution is in the model, None: all are; and what builds the same model
        again (``solvers.parametric``).
    """

    model: ModelT
    decode: Callable[[Incumbent], AnswerT]
    unit: float = 1.0
    constant: float = 0.0
    start: Incumbent | None = None
    limit: float | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
