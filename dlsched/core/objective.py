"""The record of a family's objective: name, sense, unit, value, and the methods that cannot serve it."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from dlsched.catalogue.families import load
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
        found: Callable[..., T] = load(f"dlsched.{self.target}")
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


class Objectives(Generic[InstanceT, SolutionT]):
    """Base of families: ``objectives`` and ``objective_of``, as ``Family`` has them, and what they say."""

    objectives: Sequence[Objective[InstanceT, SolutionT]]
    objective_of: Callable[[InstanceT], Objective[InstanceT, SolutionT]] | None

    @property
    def sense(self) -> Sense:
        """Whether the first objective is minimised or maximised."""
        return self.objectives[0].sense

    @property
    def unit(self) -> str:
        """Unit of the first objective."""
        return self.objectives[0].unit

    def objective_for(self, instance: InstanceT) -> Objective[InstanceT, SolutionT]:
        """Return the objective of an instance."""
        return self.objectives[0] if self.objective_of is None else self.objective_of(instance)

    def objective_named(self, name: str) -> Objective[InstanceT, SolutionT]:
        """Return the objective of that name, or whose name a number follows in it, as in ``alpha_fair 2``; else the first."""
        bare = name.rpartition(" ")[0]
        return next(
            (each for wanted in (name, bare) for each in self.objectives if each.name == wanted), self.objectives[0]
        )

    def sense_for(self, instance: InstanceT) -> Sense:
        """Whether the objective of an instance is minimised or maximised."""
        return self.objective_for(instance).sense

    def unit_for(self, instance: InstanceT) -> str:
        """Unit of the objective of an instance."""
        return self.objective_for(instance).unit


def served_by(method: str, objectives: Iterable[Objective[InstanceT, SolutionT]]) -> str:
    """Names of the objectives that a method can serve."""
    return ", ".join(objective.name for objective in objectives if method not in objective.refused)
