"""Models that depend on parameters: a proof names them, and its checker builds the same model from them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeAlias, TypeVar, cast

from dlsched.core.errors import InputError, UsageError
from dlsched.core.result import Solution
from dlsched.core.status import Sense
from dlsched.solvers.formulation import Formulation

ModelT = TypeVar("ModelT")
AnswerT = TypeVar("AnswerT")
AnyModel: TypeAlias = Formulation[object, Solution]


@dataclass(frozen=True)
class Parametric(Generic[ModelT, AnswerT]):
    """A builder that finds parameters of its model, or takes them as keywords, in words: ``Formulation.parameters``.

    Whatever they are, every solution up to ``Formulation.limit`` is in the model. ``names`` are those of the parameters.
    """

    build: Callable[..., Formulation[ModelT, AnswerT]]
    names: tuple[str, ...]

    def __call__(self, instance: object, *, complete: bool = False, **parameters: str) -> Formulation[ModelT, AnswerT]:
        """Build the model; missing parameters are computed. ``complete``: with all solutions, so without any."""
        if complete and parameters:
            raise UsageError(where="complete", found="with " + ", ".join(parameters), allowed="without parameters")
        return self.build(instance, complete=True) if complete else self.build(instance, **parameters)


def rebuilt(build: Callable[..., object], instance: object, comments: Mapping[str, str], name: str) -> AnyModel:
    """Build the model of a proof from the instance and the parameters among the comments of the file of that name.

    Raises InputError if a parameter is missing or wrong, UsageError if the instance has no such model.
    """
    if not isinstance(build, Parametric):
        return cast(AnyModel, build(instance))
    missing = [parameter for parameter in build.names if parameter not in comments]
    if missing:
        raise InputError(where=name, found=f"no comment {missing[0]}", allowed=f"comments {', '.join(build.names)}")
    try:
        built = build.build(instance, **{parameter: comments[parameter] for parameter in build.names})
        return cast(AnyModel, built)
    except UsageError as error:
        raise InputError(f"{name}: {error}") from None


def bound_of_all(bound: Fraction | None, limit: float | None, sense: Sense, *, infeasible: bool) -> Fraction | None:
    """Return the bound on all solutions that follows from a bound on those in a model, or from there being none.

    Solutions beyond the limit may be missing in the model: the optimum is the model's, or not better than the limit.

    >>> bound_of_all(Fraction(7), 5.0, Sense.MINIMIZE, infeasible=False)
    Fraction(5, 1)
    >>> bound_of_all(None, 5.0, Sense.MAXIMIZE, infeasible=True)
    Fraction(5, 1)
    >>> bound_of_all(None, 5.0, Sense.MINIMIZE, infeasible=False)
    """
    if limit is None or (bound is None and not infeasible):
        return bound
    beyond = Fraction(limit)
    return beyond if bound is None else (min if sense is Sense.MINIMIZE else max)(bound, beyond)
