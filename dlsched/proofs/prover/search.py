"""Branch and bound whose every closed case is proven in whole numbers; it can be stopped at any time.

The case with the least bound comes first; from there the search goes down until a case closes. The objective of the best
known point is the target: a case is closed when its multipliers prove the target, or that it has no point. A point below
the target becomes the best known one. A case splits the variable whose splits gained most so far (pseudo-costs), by
trials where little is known (reliability branching).
"""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import count

import numpy as np

from dlsched.core.limits import Tick, no_tick
from dlsched.proofs.prover.cases import Case, Closer
from dlsched.proofs.prover.cuts import SplitCut, add_cuts
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.exact_point import exact_point
from dlsched.proofs.prover.rational_simplex import RationalOptimum
from dlsched.proofs.prover.relaxation import Relaxation, Relaxed, unlimited
from dlsched.solvers.linear import Floats

_RELIABLE = 4
"""Splits of each direction after which what a variable gained is believed."""
_LOOK_AHEAD = 6
"""Trials in a row without a better variable that end the search."""
_MOST = 40
"""Candidates that are tried at most."""
_STEPS = 60
"""Steps of the simplex method in a trial."""
_LEAST = 1e-6
"""Part of the gap that a gain counts at least."""
_WHOLE = 1e-6
"""Distance from a whole number up to which a float counts as whole."""


@dataclass(eq=False)
class Branching:
    """Gains by variable and direction, in scaled costs for each unit of the fraction; ``integer``: the whole variables."""

    integer: np.ndarray
    sums: Floats = field(init=False)
    counts: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.sums = np.zeros((2, len(self.integer)))
        self.counts = np.zeros((2, len(self.integer)))

    def fractional(self, x: Floats) -> list[int]:
        """Return the whole variables that are not whole in a point."""
        distances = np.where(self.integer, np.abs(x - np.rint(x)), 0.0)
        return np.flatnonzero(distances > _WHOLE).tolist()

    def learn(self, column: int, rising: bool, part: float, gain: float) -> None:
        """Record what a split gained; ``part``: how far the variable moved."""
        self.sums[int(rising), column] += max(gain, 0.0) / max(part, _WHOLE)
        self.counts[int(rising), column] += 1

    def choose(
        self, relaxation: Relaxation, x: Floats, objective: float, target: float, tick: Tick = no_tick
    ) -> tuple[int, bool]:
        """Return the variable to split, and whether the case upwards is to be solved first.

        The relaxation has the same bounds and basis afterwards.
        """
        candidates = self.fractional(x)
        gap = target - objective if target < math.inf else max(1.0, abs(objective))
        least = _LEAST * gap
        # expected gains of both directions by candidate, from past splits of it, or of all variables if it has none;
        # the score is their product, ties go to the variable nearest to the middle
        whole = np.array(candidates)
        parts = np.stack((x[whole] - np.floor(x[whole]), np.ceil(x[whole]) - x[whole]))
        known = self.counts[:, whole]
        mean = self.sums.sum(axis=1) / np.maximum(1.0, self.counts.sum(axis=1))
        rates = np.where(known > 0, self.sums[:, whole] / np.maximum(known, 1.0), np.maximum(mean, 1e-12)[:, None])
        gains = np.minimum(rates * parts, gap)
        scores = np.maximum(gains[0], least) * np.maximum(gains[1], least)
        order = np.lexsort((whole, -np.minimum(parts[0], parts[1]), -scores))
        basis = relaxation.basis
        relaxation.limit(_STEPS)
        best, best_score, ahead = -1, -1.0, 0
        best_gains = 0.0, 0.0
        # best scores first: candidates with few splits are tried, until a number of them in a row are no better
        for place in order[:_MOST].tolist():
            column = candidates[place]
            tick()
            if known[:, place].min() >= _RELIABLE:
                tried = float(gains[0, place]), float(gains[1, place])
            else:
                tried = self._try(relaxation, column, x, objective, gap, basis)
            score = max(tried[0], least) * max(tried[1], least)
            if score > best_score * (1 + 1e-9):
                best, best_score, best_gains, ahead = column, score, tried, 0
                if max(tried) >= gap:
                    break
            else:
                ahead += 1
                if ahead >= _LOOK_AHEAD:
                    break
        relaxation.limit(2**31 - 1)
        relaxation.basis = basis
        return best, best_gains[1] < best_gains[0]

    def _try(
        self,
        relaxation: Relaxation,
        column: int,
        x: Floats,
        objective: float,
        gap: float,
        basis: tuple[list[int], list[int]],
    ) -> tuple[float, float]:
        """Solve both cases of a variable for a few steps, and return what they gain, up to the gap."""
        low, high = float(relaxation.lower[column]), float(relaxation.upper[column])
        below = math.floor(x[column])
        gains = []
        for rising in (False, True):
            relaxation.bound(column, *((below + 1.0, high) if rising else (low, float(below))))
            gain = min(max(relaxation.value() - objective, 0.0), gap)
            gains.append(gain)
            if gain < gap:
                self.learn(column, rising, abs(below + rising - float(x[column])), gain)
            relaxation.bound(column, low, high)
            relaxation.basis = basis
        return gains[0], gains[1]


Point = tuple[Fraction, ...]
Target = Callable[[Fraction], Fraction]
"""What has to be proven where a point of that objective is known."""


class TreeSearch:
    """The search; after it, or when it was stopped, ``root`` is the tree and ``point`` the best known point.

    Objectives, those of ``target`` too, are of a minimum, without the model's constant. ``left_s`` returns the remaining
    seconds.
    """

    def __init__(
        self,
        exact: ExactModel,
        target: Target,
        point: Point | None = None,
        *,
        left_s: Callable[[], float] = unlimited,
    ) -> None:
        self.exact, self._left_s = exact, left_s
        self.cuts: list[SplitCut] = []
        self._relax(None)
        self.branching = Branching(exact.model.integer)
        self.root = Case()
        self.point: Point | None = None
        self.upper: Fraction | None = None
        self.target: Fraction | None = None
        self.stuck: list[Case] = []
        self.nodes = 0
        self._tried: set[bytes] = set()
        self._going = self.root
        self._tick: Tick = no_tick
        self._target_of = target
        self._serial = count()
        self._open: list[tuple[float, int, Case]] = [(-math.inf, 0, self.root)]
        if point is not None:
            self.offer(point)

    def offer(self, point: Point) -> bool:
        """Keep a feasible point if it is the best; say whether."""
        objective = self.exact.objective(point)
        if self.upper is not None and objective >= self.upper:
            return False
        self.point, self.upper = point, objective
        self.expect(objective)
        return True

    def expect(self, objective: Fraction) -> None:
        """Aim at the proof that a point of that objective needs, whether or not the point itself is known."""
        target = self._target_of(objective)
        self.target = target if self.target is None else min(self.target, target)

    def _relax(self, rows: Sequence[int] | None) -> None:
        self.relaxation = Relaxation(self.exact.model, rows=rows, left_s=self._left_s)
        self.closer = Closer(self.exact, self.relaxation)

    def cut(self, tick: Tick = no_tick, enough: Callable[[], bool] = bool) -> None:
        """Add derived rows, in rounds till they are ``enough``, and begin anew with them."""
        rows = add_cuts(self.exact, self.cuts, self.upper, tick, enough, self._left_s)
        if rows is not None and len(rows) > self.exact.own:
            self._relax(rows)
            self.root, self.stuck = Case(), []
            self._going = self.root
            self._open = [(-math.inf, 0, self.root)]

    @property
    def closed(self) -> bool:
        """Whether every case is closed."""
        return self.root.uses is not None

    def bound(self) -> float | None:
        """Return about the bound that is proven, as that of a minimum; None: none yet, or all is closed."""
        while self._open and (self._open[0][2].dropped or self._open[0][2].uses is not None):
            heapq.heappop(self._open)
        least = min((self._going.bound, *(case[0] for case in self._open[:1])))
        return math.ldexp(least, self.relaxation.power) if math.isfinite(least) else None

    def run(self, tick: Tick = no_tick, node: Callable[[], None] = no_tick, most: float = math.inf) -> None:
        """Search till every case is closed, or nothing more can be done.

        ``node`` is called for every case, ``tick`` often; ``most``: cases after which it returns where it has gone down.
        """
        self._tick = tick
        while self._open and self.nodes < most:
            _, _, case = heapq.heappop(self._open)
            going: Case | None = case
            while going is not None:
                if going.dropped or going.uses is not None:
                    break
                self._going = going
                try:
                    node()
                    tick()
                    following = self._solve(going)
                except BaseException:
                    if going.children is None:
                        self._push(going)
                    raise
                going = following

    def _push(self, case: Case) -> None:
        heapq.heappush(self._open, (case.bound, next(self._serial), case))

    def _solve(self, case: Case) -> Case | None:
        """Solve a case: close it, or split it and return the part to go on with."""
        self.nodes += 1
        relaxation = self.relaxation
        relaxation.narrow(*case.bounds(self.exact.model.lower, self.exact.model.upper))
        if case.basis is not None:
            relaxation.basis = case.basis
        answer = relaxation.solve()
        if answer is not None and case.parent is not None and answer.objective < math.inf:
            self._learn(case, answer)
        if self.closer.close(case, answer, self.target):
            return None
        self._tick()
        if answer is None:
            answer = next(iter(self.closer.others()), None)
            self._tick()
            if self.closer.close(case, answer, self.target):
                return None
        # the floats say that the case is open: split it, or, if they have a whole point, see what exact numbers say
        if answer is None or answer.objective == math.inf:
            return self._settle(case, answer)
        case.bound = max(case.bound, answer.objective)
        case.proof = self.closer.anything(case, answer)
        if not self.branching.fractional(answer.x):
            if self._improve(answer) and self.closer.close(case, answer, self.target):
                return None
            return self._settle(case, answer)
        target = math.inf if self.target is None else self.closer.scaled(self.target)
        column, rising = self.branching.choose(relaxation, answer.x, answer.objective, target, self._tick)
        return self._split(case, column, math.floor(answer.x[column]), float(answer.x[column]), rising)

    def _improve(self, answer: Relaxed) -> bool:
        """Make an exact point of an answer that is whole, once for the same whole numbers; say whether it is the best."""
        whole = np.rint(answer.x[self.exact.model.integer]).tobytes()
        if whole in self._tried:
            return False
        self._tried.add(whole)
        point = exact_point(self.exact, answer.x, self._tick)
        return point is not None and self.offer(point)

    def _split(self, case: Case, column: int, below: int, x: float, rising: bool) -> Case:
        down, up = case.split(column, below, x, case.bound, self.relaxation.basis)
        first, second = (up, down) if rising else (down, up)
        self._push(second)
        return first

    def _learn(self, case: Case, answer: Relaxed) -> None:
        moved = case.moved
        if moved > 0 and case.bound > -math.inf:
            self.branching.learn(case.column, case.rising, moved, answer.objective - case.bound)

    def _settle(self, case: Case, answer: Relaxed | None) -> Case | None:
        """Close a case whose floats are at odds with exact numbers, in rationals if need be; or split it."""
        if self.closer.insist(case, answer, self.target):
            return None
        relaxation = self.relaxation
        free = np.flatnonzero(self.exact.model.integer & (relaxation.lower < relaxation.upper))
        # in rationals: the case is closed, its exact point is better than all, or a variable is exactly not whole
        optimum = self.closer.in_rationals(case, self._tick) if self.closer.small or not len(free) else None
        if optimum is not None:
            column = self._apart(optimum)
            if column is None and optimum.point is not None:
                self.offer(optimum.point)
            if self.closer.close_exactly(case, optimum, self.target):
                return None
            if column is not None and optimum.point is not None:
                below = math.floor(optimum.point[column])
                return self._split(case, column, below, float(optimum.point[column]), False)
        if not len(free):
            self.stuck.append(case)
            return None
        # split the variable that is farthest from whole numbers, or any that is not fixed
        x = relaxation.lower if answer is None or answer.objective == math.inf else answer.x
        distances = np.abs(x - np.rint(x))[free]
        column = int(free[np.argmax(distances)])
        low, high = float(relaxation.lower[column]), float(relaxation.upper[column])
        value = min(max(float(x[column]), low), high)
        below = math.floor(value) if math.isfinite(value) else 0
        return self._split(case, column, min(below, int(high) - 1) if math.isfinite(high) else below, value, False)

    def _apart(self, optimum: RationalOptimum) -> int | None:
        """Return the whole variable that is farthest from a whole number in a point; None: all are whole."""
        point = optimum.point or ()
        distances = [abs(x - round(x)) if whole else 0 for x, whole in zip(point, self.exact.integer, strict=False)]
        most = max(distances, default=0)
        return distances.index(most) if most else None
