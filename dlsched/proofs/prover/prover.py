"""The frame of a search for a proof: its starting point, its deadline, and what it has proven when it stops.

The point that a search begins with is a solver's optimum of the model, made exact. The deadline leaves time to write and
check the proof. A search that is stopped has proven the least bound of its cases.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

import numpy as np

from dlsched.core.errors import SolverError
from dlsched.core.limits import Budget, Limits, Stopped, Tick, no_tick
from dlsched.core.status import TerminationStatus
from dlsched.proofs.prover.cases import Case
from dlsched.proofs.prover.derivation import Derivation, needed_cuts
from dlsched.proofs.prover.dual_bounds import nothing, proven
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.exact_point import exact_point
from dlsched.proofs.prover.search import Point, TreeSearch
from dlsched.solvers.linear import LinearModel
from dlsched.solvers.milp import solve_milp
from dlsched.solvers.outcome import Incumbent

_HEAD = 5.0
"""Checking the problem of a proof takes at most so many times what writing it took."""
_LINES = 6.0
"""Writing and checking a line takes at most so many times what its sum took."""
_SAMPLE = 8
"""Cases or cuts that are proven to estimate the time of all."""
_AGAIN = 0.25
"""Part of the remaining time after which it is estimated again."""
_CUTS = 0.5
"""Part of the time after which no further rows are derived."""

T = TypeVar("T")


class Deadline:
    """The time limit of a search, less what the rest of the proof is estimated to take; without a limit it does nothing.

    ``budget``: that of the whole proof; ``head_s``: seconds that its problem took to write.
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


_HAIR = 1e-9  # relative amount by which an objective in floats may miss the one that is known


def starting_point(
    exact: ExactModel,
    limits: Limits,
    *,
    start: Incumbent | None = None,
    reached: float | None = None,
    tick: Tick = no_tick,
) -> Point | None:
    """Return an exact point: the best that HiGHS finds within the limits, or the start, values by name.

    ``reached``: objective of the model that some point is known to have; if HiGHS finds a worse one, it is asked for one
    as good.
    """
    points = [] if start is None and exact.variables else [_exact(exact, start or {}, tick)]
    if exact.variables and limits.time_s != 0:
        points.append(_solved(exact, exact.model, limits, start, tick))
        if reached is not None and not any(_reaches(exact, point, reached) for point in points):
            points.append(_solved(exact, _no_worse(exact.model, reached), limits, start, tick))
    feasible = [point for point in points if point is not None]
    return min(feasible, key=exact.objective, default=None)


def _solved(exact: ExactModel, asked: LinearModel, limits: Limits, start: Incumbent | None, tick: Tick) -> Point | None:
    """Return the best point of a model that HiGHS finds, exactly."""
    try:
        outcome = solve_milp(asked, limits=limits, start=start)
    except SolverError:
        return None
    return None if outcome.values is None else _exact(exact, outcome.values, tick)


def _reaches(exact: ExactModel, point: Point | None, reached: float) -> bool:
    if point is None:
        return False
    side = exact.sign * (Fraction(reached) - Fraction(exact.model.constant))
    return exact.objective(point) <= side + Fraction(_HAIR * max(1.0, abs(reached)))


def _exact(exact: ExactModel, values: Incumbent, tick: Tick) -> Point | None:
    floats = np.array([values.get(name, 0.0) for name in exact.model.names], dtype=np.float64)
    return exact_point(exact, floats, tick)


def _no_worse(model: LinearModel, reached: float) -> LinearModel:
    """Add a row that asks for an objective as good as one that is known."""
    used = np.flatnonzero(model.costs)
    side = reached - model.constant
    side += model.sign * _HAIR * max(1.0, abs(reached))
    return replace(
        model,
        row_names=[*model.row_names, "no_worse"],
        row_starts=np.append(model.row_starts, len(model.columns) + len(used)),
        columns=np.concatenate((model.columns, used)),
        coefficients=np.concatenate((model.coefficients, model.costs[used])),
        row_lower=np.append(model.row_lower, -np.inf if model.sign > 0 else side),
        row_upper=np.append(model.row_upper, side if model.sign > 0 else np.inf),
    )


def shortened(low: Fraction, high: Fraction) -> Fraction:
    """Return a short number from ``low`` to ``high``.

    >>> shortened(Fraction(1, 3), Fraction(2, 3))
    Fraction(1, 2)
    """
    power = 0
    while (number := Fraction(math.ceil(low * (1 << power)), 1 << power)) > high:
        power += 1
    return number


_ROOM = Fraction(1, 10**9)  # relative amount by which a bound is lowered to become a short number


@dataclass(frozen=True)
class Finding:
    """The proven bound of the minimum (None: none), or that there is no point."""

    lower: Fraction | None
    infeasible: bool

    def derivation(self, search: TreeSearch) -> Derivation | None:
        """Return the lines that prove it; None: nothing is proven."""
        if self.lower is None and not self.infeasible:
            return None
        return Derivation(search.exact, search.cuts, search.root, self.lower, search.exact.step())


def finding_of(exact: ExactModel, search: TreeSearch) -> Finding:
    """Return what is proven: the target, or of a search that was stopped the least bound of its cases."""
    if search.closed:
        pointless = search.point is None and not any(case.proof and case.proof.costs for case in search.root.leaves())
        return Finding(None if pointless else search.target, pointless)
    # a stopped search: every leaf proves something, else nothing is proven of the whole
    least = search.target
    for case in search.root.leaves():
        multipliers = case.proof or nothing()
        bound_of_case = proven(exact, multipliers, case.narrowed(exact))
        if bound_of_case is None:
            return Finding(None, False)
        if multipliers.costs and (least is None or bound_of_case.bound < least):
            least = bound_of_case.bound
    if least is not None and least != search.target:
        least = shortened(least - _ROOM * (1 + abs(least)), least)
        _fold(exact, search, least)
    return Finding(least, False)


def _fold(exact: ExactModel, search: TreeSearch, least: Fraction) -> None:
    """Leave out what is below cases that prove the bound on their own, as far as it goes."""
    enough = search.closer.scaled(least)
    stack: list[tuple[Case, frozenset[Case]]] = [(search.root.proven_as(), frozenset())]
    while stack:
        case, assumed = stack.pop()
        if case.children is None:
            continue
        if case.proof is not None and case.proof.costs and case.bound >= enough:
            bound_of_case = proven(exact, case.proof, case.narrowed(exact))
            # the proof of a case that stands for others above has lost the assumptions in between
            if bound_of_case is not None and bound_of_case.bound >= least and case.needs(bound_of_case) <= assumed:
                case.fold()
                continue
        stack += [(child.proven_as(), assumed | {child}) for child in case.children]
