"""The record of a formulation: a model for a solver, and how its values and objective are decoded."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from dlsched.core.errors import UsageError
from dlsched.solvers.outcome import Incumbent

if TYPE_CHECKING:
    import pulp

    Value: TypeAlias = pulp.LpVariable | pulp.LpAffineExpression

Key = str | tuple[str | int, ...]

ModelT = TypeVar("ModelT")
AnswerT = TypeVar("AnswerT")

_SHOWN = 6


class Choices(Mapping[Key, "Value"]):
    """Variables of a PuLP model, or affine expressions of them, by what they decide."""

    def __init__(self, name: str, values: "Mapping[Key, Value]") -> None:
        self._name, self._values = name, dict(values)

    def __getitem__(self, key: Key) -> "Value":
        try:
            return self._values[key]
        except KeyError:
            shown = ", ".join(map(repr, islice(self._values, _SHOWN))) or "none"
            more = f" ... ({len(self._values)} in all)" if len(self._values) > _SHOWN else ""
            raise UsageError(where=f"variables.{self._name}", found=repr(key), allowed=f"{shown}{more}") from None

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[Key]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Variables:
    """What a model decides, one mapping for each kind of decision: ``variables.starts["a"]``."""

    def __init__(self, **kinds: "Mapping[Key, Value]") -> None:
        self._kinds = {name: Choices(name, values) for name, values in kinds.items()}

    def __getattr__(self, name: str) -> Choices:
        kinds = self.__dict__.get("_kinds", {})
        if name not in kinds:
            raise AttributeError(f"variables has no {name!r}, it has {', '.join(kinds) or 'none'}")
        found: Choices = kinds[name]
        return found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._kinds]


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
    variables
        What the model decides, for rows of one's own.
    """

    model: ModelT
    decode: Callable[[Incumbent], AnswerT]
    unit: float = 1.0
    constant: float = 0.0
    start: Incumbent | None = None
    variables: Variables = field(default_factory=Variables)
