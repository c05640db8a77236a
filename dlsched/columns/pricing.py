"""What the search for columns asks of a family: the pricing problems of its groups, all at once."""

from dataclasses import dataclass
from typing import Protocol

from dlsched.algorithms.count_vectors import Counts, Floats
from dlsched.columns.slack import Listed
from dlsched.core.budget import Tick, no_tick


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """What a quick pricing finds.

    Parameters
    ----------
    floor, known
        Bounds of u_i = min_c (J_i(c) + p c) of every group from below and above, shape (S,).
    group, values, counts
        Columns no dearer than what was known of their groups, in no order: group and at most the value of each, shape (N,), and
        what it takes, shape (N, G).
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
        """Bounds of the least J(c) + p c of every group, of which columns of ``known`` (shape (S,)) are held; soon found."""

    def cheap(
        self, prices: Floats, thresholds: Floats, *, cells: int | None = None, tick: Tick = no_tick
    ) -> list[Listed | None]:
        """All columns of every group with J(c) + p c at most its threshold; none where that is below 0.

        None for a group whose labels would have more than ``cells`` numbers.
        """
