"""When a search has to stop, so that its proof can still be written and checked within the limit of time."""

import math
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from dlsched.core.budget import Budget, Stopped
from dlsched.core.status import TerminationStatus
from dlsched.proofs.prover.derivation import needed_cuts
from dlsched.proofs.prover.dual_bounds import nothing, proven
from dlsched.proofs.prover.search import TreeSearch

_HEAD = 5.0
"""Checking the problem of a proof takes at most so many times what writing it took."""
_LINES = 6.0
"""Writing and checking a line takes at most so many times what its sum took."""
_SAMPLE = 8
_AGAIN = 0.25
"""Part of the time that is left after which it is estimated again."""
_CUTS = 0.5
"""Part of the time after which no further rows are derived."""

T = TypeVar("T")


class Deadline:
    """The time limit of a search, less what the rest of the proof is estimated to take; without a limit it does nothing.

    Parameters
    ----------
    budget, head_s
        Of the whole proof; seconds that its problem took to write.
    """

    def __init__(self, budget: Budget, head_s: float) -> None:
        self._budget, self._head_s = budget, _HEAD * head_s
        self._reserved_s, self._next_s = self._head_s, 0.0

    def left_s(self) -> float:
        """Seconds left for the search; infinite without a limit."""
        limit_s = self._budget.limits.time_s
        return math.inf if limit_s is None else limit_s - self._reserved_s - self._budget.elapsed_s

    def tick(self) -> None:
        """Stop at the limit."""
        self._budget.tick()
        if self.left_s() <= 0:
            raise Stopped(TerminationStatus.TIME_LIMIT)

    def node(self, search: TreeSearch) -> None:
        """Count a case, and estimate anew what its proof takes, more often near the end."""
        self._budget.tick(1)
        if self.left_s() < math.inf and self._budget.elapsed_s >= self._next_s:
            cases = list(search.root.leaves())
            cuts = needed_cuts(search.exact, search.cuts, cases)
            taken_s = _sampled(
                cases, lambda case: proven(search.exact, case.proof or nothing(), case.narrowed(search.exact))
            )
            self._reserved_s = self._head_s + _LINES * (taken_s + self._cuts_s(search, cuts))
            self._next_s = self._budget.elapsed_s + _AGAIN * self.left_s()
        self.tick()

    def rows_enough(self, search: TreeSearch) -> bool:
        """Whether the proof of further derived rows would leave too little time."""
        if self.left_s() == math.inf:
            return False
        taken_s = _LINES * self._cuts_s(search, range(len(search.cuts)))
        self._next_s = 0.0
        return self.left_s() - taken_s < _CUTS * (self._budget.limits.time_s or 0.0)

    @staticmethod
    def _cuts_s(search: TreeSearch, cuts: Sequence[int]) -> float:
        return 2 * _sampled(cuts, lambda k: search.cuts[k].proven(search.exact, rising=True))


def _sampled(items: Sequence[T], prove: Callable[[T], object]) -> float:
    """Return about how long it takes to prove all."""
    sample = items[:: max(1, len(items) // _SAMPLE)]
    began = time.perf_counter()
    for each in sample:
        prove(each)
    return (time.perf_counter() - began) * len(items) / max(1, len(sample))
