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
    """A function by its module and name, imported when it is called: checkers and models import the record that names it."""

    target: str

    def load(self) -> Callable[..., T]:
        """Import the function."""
        module, _, name = self.target.partition(":")
        found: Callable[..., T] = getattr(import_module(f"dlsched.{module}"), name)
        return found

    def __call__(self, *arguments: object, **named: object) -> T:
        """Call it."""
        return self.load()(*arguments, **named)


@dataclass(frozen=True, kw_only=True)
class Objective(Generic[InstanceT, SolutionT]):
    """One objective of a family; families whose objectives differ further extend this record with fields.

    Parameters
    ----------
    name, sense, unit
        Its name in the family; whether it is minimised; its unit.
    value
        The checker's function from an instance and a solution to the objective.
    refused, instead
        Methods that cannot serve it; the methods to use instead, in words.
    lexicographic
        Whether it is the first of several values, the next of which decide between solutions that are equal in it.
    quantity, remark
        What ratios divide, in words: the objective less the ``constant`` of the family; and what readers of ratios should
        know of it beside that.
    """

    name: str
    sense: Sense
    unit: str
    value: Callable[[InstanceT, SolutionT], float]
    refused: tuple[str, ...] = ()
    instead: str = ""
    lexicographic: bool = False
    quantity: str = "objective"
    remark: str = ""

    def ratio(self, reference: str = "") -> str:
        """Say in one clause what a ratio is of; ``reference``: the method to whose answers it is, not to optima.

        >>> objective = Objective(name="", sense=Sense.MAXIMIZE, unit="", value=max, quantity="utility")
        >>> objective.ratio(), objective.ratio("fifo")
        ('optimal utility over the utility', 'utility of fifo over the utility')
        """
        other = f"{self.quantity} of {reference}" if reference else f"optimal {self.quantity}"
        if self.sense is Sense.MINIMIZE:
            return f"{self.quantity} over the {other}"
        return f"{other} over the {self.quantity}"

    def ratio_sentence(self, reference: str = "") -> str:
        """Say the same with the remark."""
        return "; ".join(filter(None, (self.ratio(reference), self.remark)))


def served_by(method: str, objectives: Iterable[Objective[InstanceT, SolutionT]]) -> str:
    """Names of the objectives that a method can serve."""
    return ", ".join(objective.name for objective in objectives if method not in objective.refused)
