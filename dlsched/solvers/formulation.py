"""One record for every model that a solver is handed: the model as data, and what its numbers mean."""

from collections.abc import Callable
from dataclasses import dataclass
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
        As its solver takes it: a PuLP ``LpProblem`` or a ``LinearModel``, a Pyomo model, a CP-SAT model, an ``IntervalModel``.
    decode
        What values of its variables, by name, stand for: a solution, or the part of one that the model decides.
    unit, constant
        The objective of the instance is ``unit`` times that of the model, plus ``constant``.
    start
        Values, by name, of a solution to start from; None without one.
    """

    model: ModelT
    decode: Callable[[Incumbent], AnswerT]
    unit: float = 1.0
    constant: float = 0.0
    start: Incumbent | None = None
