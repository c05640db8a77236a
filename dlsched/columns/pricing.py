"""Interface of a family's pricing for column generation: the pricing problems of all groups at once."""

from dataclasses import dataclass
from typing import Protocol

from dlsched.algorithms.count_vectors import Counts, Floats
from dlsched.columns.slack import Listed
from dlsched.core.budget import Tick, no_tick


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """Bounds and columns that a quick pricing finds.

    Parameters
    ----------
    floor, known
        Bounds of u_i = min_c (J_i(c) + p c) of every group from below and above, shape (S,).
    group, values, counts
        Columns no dearer than the known ones of their groups, in no order: group of each and an upper bound
        on its value, shape (N,), and its counts, shape (N, G).
    """

    floor: Floats
    known: Floats
    group: Counts
    values: Floats
    counts: Counts


class Pricing(Protocol):
    """The columns of every group, vectors of counts, at prices p of what they take."""

    @property
    def groups(self) -> int:
        """S."""

    def costs(self, group: Counts, counts: Counts) -> Floats:
        """J(c) of columns of groups, shapes (N,) and (N, G)."""

    def guess(self, prices: Floats, known: Floats, tick: Tick = no_tick) -> Priced:
        """Bound the least J(c) + p c of every group quickly; ``known``, shape (S,): values of columns held."""

    def cheap(
        self, prices: Floats, thresholds: Floats, *, cells: int | None = None, tick: Tick = no_tick
    ) -> list[Listed | None]:
        """All columns of every group with J(c) + p c at most its threshold; none where that is below 0.

        None for a group whose labels would have more than ``cells`` numbers.
        """
