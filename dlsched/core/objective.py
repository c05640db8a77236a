"""The record of a family's objective: name, sense, unit, value, and the methods that cannot serve it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Generic, TypeVar

from dlsched.core.instance import InstanceFile
from dlsched.core.result import SolutionT
from dlsched.core.status import Sense

InstanceT = TypeVar("InstanceT", bound=InstanceFile)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Late(Generic[T]):
    """A function by its module and name, imported when it is called.

    Checkers and models import the record of an objective, so the record cannot import their functions at
    load time.
    """

    target: str

    def load(self) -> Callable[..., T]:
        """Import the function."""
        module, _, name = self.target.partition(":")
        found: Callable[..., T] = getattr(import_module(f"dlsched.{module}"), name)
        return found

    def __call__(self, *given: object, **named: object) -> T:
        """Call it."""
        return self.load()(*given, **named)


@dataclass(frozen=True, kw_only=True)
class Objective(Generic[InstanceT, SolutionT]):
    """One objective of a family; families whose objectives differ further extend this record with fields.

    Parameters
    ----------
    name
        Its name among the objectives of its family.
    sense, unit
        Whether it is minimised; its unit.
    value
        The checker's function from an instance and a solution to the objective.
    refused, instead
        Methods that cannot serve it; the methods to use instead, in words.
    lexicographic
        Whether it is the first of several values: of solutions that are equal in it, the next values decide.
    """

    name: str
    sense: Sense
    unit: str
    value: Callable[[InstanceT, SolutionT], float]
    refused: tuple[str, ...] = ()
    instead: str = ""
    lexicographic: bool = False


def served_by(method: str, objectives: Iterable[Objective[InstanceT, SolutionT]]) -> str:
    """Names of the objectives that a method can serve."""
    return ", ".join(objective.name for objective in objectives if method not in objective.refused)
