"""The record of an objective: what the solutions of some instances of a family are held against, and who does what for it."""

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

    Checkers and models ask a record for their part, so the record stands below them and can only name what it tells of.
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
    """One objective of a family; families whose objectives differ in more have a record with further fields.

    Parameters
    ----------
    name
        As it is called among those of its family.
    sense, unit
        Whether it is minimised; its unit.
    value
        Of an instance and a solution, by the checker.
    refused, instead
        Methods that cannot serve it; in words, those to use instead.
    """

    name: str
    sense: Sense
    unit: str
    value: Callable[[InstanceT, SolutionT], float]
    refused: tuple[str, ...] = ()
    instead: str = ""


def served_by(method: str, objectives: Iterable[Objective[InstanceT, SolutionT]]) -> str:
    """Names of the objectives that a method can serve."""
    return ", ".join(objective.name for objective in objectives if method not in objective.refused)
