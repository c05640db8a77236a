"""Interface of a family's pricing for column generation: the pricing problems of all groups at once."""

from dataclasses import dataclass
from typing import Protocol

from dlsched.algorithms.count_vectors import Counts, Floats
from dlsched.columns.slack import Listed
from dlsched.core.budget import Tick, no_tick


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """Bounds and columns of a quick pricing.

    ``floor`` and ``known``, shape (S,): bounds of u_i = min_c (J_i(c) + p c) of every group from below and above.
    Columns no dearer than the known ones of their groups, in no order: ``group`` and ``values`` (upper bounds), shape
    (N,), ``counts``, shape (N, G).
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
        """Bound the least J(c) + p c of every group quickly; ``known``, shape (S,): values of known columns."""

    def cheap(
        self, prices: Floats, thresholds: Floats, *, cells: int | None = None, tick: Tick = no_tick
    ) -> list[Listed | None]:
        """All columns of every group with J(c) + p c at most its threshold; none where that is below 0.

        None for a group whose labels would have more than ``cells`` numbers.
        """
