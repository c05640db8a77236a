"""What a builder of linear models returns, as a family's record and ``dlsched export`` see it."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pulp


class Modelled(Protocol):
    """What a builder of a linear model returns."""

    @property
    def model(self) -> "pulp.LpProblem":
        """The model, written down once, by name."""
        ...
