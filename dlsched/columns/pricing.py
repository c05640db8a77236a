"""What the search for columns asks of a family: the pricing problem of one group."""

from typing import Protocol

from dlsched.algorithms.count_vectors import Counts, Floats
from dlsched.columns.slack import Listed
from dlsched.core.budget import Tick, no_tick


class Pricing(Protocol):
    """The columns of one group, vectors of counts, at prices p of what they take."""

    def costs(self, counts: Counts) -> Floats:
        """J(c) of columns, shape (..., G); shape (...)."""

    def guess(self, prices: Floats) -> Listed:
        """Some columns that are cheap at these prices, at least one, soon found."""

    def cheap(self, prices: Floats, threshold: float, *, cells: int | None = None, tick: Tick = no_tick) -> Listed:
        """All columns with J(c) + p c <= threshold; ``TooMany`` where labels would have more than ``cells`` numbers."""

    def floor(self, prices: Floats) -> float:
        """A lower bound on the least J(c) + p c, soon found."""
