"""The type that builders of linear models return, for family records and ``dlsched export``."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pulp


class Modelled(Protocol):
    """What a builder of a linear model returns."""

    @property
    def model(self) -> "pulp.LpProblem":
        """The linear model with named variables and rows, built once."""
        ...

    @property
    def unit(self) -> float:
        """What one unit of the model's objective is worth in the instance's."""
        ...
