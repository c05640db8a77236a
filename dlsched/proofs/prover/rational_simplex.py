"""The simplex method in rationals, for linear programs that floats do not decide: small ones, or from a basis near the optimum.

Every step solves its equations anew, so that nothing but the basis is carried along. Where basic variables break their
bounds, the sum of what they break is what a step lowers; at its least, if it is not 0, the multipliers show that there is
no point. The variable that gains most enters; after a step of length 0 the first does until a step has a length (Bland).
"""

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dlsched.core.limits import Tick, no_tick
from dlsched.proofs.prover.relaxation import BASIC, UPPER, ZERO, Basis

Equation = tuple[Mapping[int, int], Fraction]
"""Whole coefficients by unknown, and the right side."""

_MOST_BITS = 20_000
"""Numbers of more bits end the elimination, which would take too long."""


def solution_of(
    equations: Sequence[Equation], unknowns: Sequence[int], tick: Tick = no_tick
) -> dict[int, Fraction] | None:
    """Solve a sparse system by elimination, the shortest equation first; None: no or several solutions, or too long numbers."""
    rows: list[dict[int, Fraction]] = [{j: Fraction(a) for j, a in terms.items() if a} for terms, _ in equations]
    right = [side for _, side in equations]
    users: defaultdict[int, set[int]] = defaultdict(set)
    for i, row in enumerate(rows):
        for j in row:
            users[j].add(i)
    queue = [(len(row), i) for i, row in enumerate(rows)]
    heapq.heapify(queue)
    done = [False] * len(rows)
    pivots: list[tuple[int, int]] = []
    while queue:
        size, i = heapq.heappop(queue)
        if done[i] or size != len(rows[i]):
            continue
        done[i] = True
        tick()
        row = rows[i]
        if not row:
            if right[i]:
                return None
            continue
        # the unknown that the fewest equations have is eliminated from these, which fills in least
        pivot = min(row, key=lambda j: (len(users[j]), j))
        value = row[pivot]
        if value.numerator.bit_length() > _MOST_BITS:
            return None
        pivots.append((i, pivot))
        for j in row:
            users[j].discard(i)
        for other in list(users[pivot]):
            target = rows[other]
            factor = target.pop(pivot) / value
            users[pivot].discard(other)
            for j, a in row.items():
                if j != pivot:
                    changed = target.get(j, Fraction(0)) - factor * a
                    if changed:
                        target[j] = changed
                        users[j].add(other)
                    elif j in target:
                        del target[j]
                        users[j].discard(other)
            right[other] -= factor * right[i]
            heapq.heappush(queue, (len(target), other))
    # back substitution, in the reverse order of the elimination
    if len(pivots) < len(unknowns):
        return None
    values: dict[int, Fraction] = {}
    for i, pivot in reversed(pivots):
        row = rows[i]
        rest = right[i] - sum((a * values[j] for j, a in row.items() if j != pivot), Fraction(0))
        values[pivot] = rest / row[pivot]
    return values


Side = Fraction | None
"""A bound or the side of a row; None: infinite."""

_LOWER = 0  # state of a column or row at its lower side
_STEPS = 1000  # at most


@dataclass(frozen=True, slots=True)
class RationalProgram:
    """Minimise ``costs`` x with x in ``bounds``, and each of ``rows`` (coefficients by variable) times x in its ``sides``."""

    costs: Sequence[int]
    bounds: Sequence[tuple[Side, Side]]
    rows: Sequence[Mapping[int, int]]
    sides: Sequence[tuple[Side, Side]]

    def slacks(self) -> Basis:
        """Return the basis in which every row is basic."""
        states = [_LOWER if low is not None else UPPER if high is not None else ZERO for low, high in self.bounds]
        return states, [BASIC] * len(self.rows)


@dataclass(frozen=True, slots=True)
class RationalOptimum:
    """The optimal ``point``, or None: there is no point; ``multipliers`` by row that prove it."""

    point: tuple[Fraction, ...] | None
    multipliers: Mapping[int, Fraction]


def rational_optimum(program: RationalProgram, basis: Basis, tick: Tick = no_tick) -> RationalOptimum | None:
    """Solve a program from a basis on, or from that of the slacks if it is none; None: it takes too long, or has no end."""
    simplex = _Simplex(program, basis, tick)
    if simplex.values() is None:
        simplex = _Simplex(program, program.slacks(), tick)
    bland = False
    for _ in range(_STEPS):
        tick()
        values = simplex.values()
        if values is None:
            return None
        wrong = simplex.wrong(values)
        costs = simplex.costs(wrong) if wrong else dict(enumerate(program.costs))
        multipliers = simplex.multipliers(costs)
        if multipliers is None:
            return None
        entering = simplex.entering(costs, multipliers, first=bland)
        if entering is None:
            count = len(program.costs)
            if not wrong:
                return RationalOptimum(tuple(values[:count]), multipliers)
            broken = {k - count: Fraction(-sign) for k, sign in wrong.items() if k >= count}
            return RationalOptimum(None, multipliers | broken)
        length = simplex.step(entering, values, wrong)
        if length is None:
            return None
        bland = not length
    return None


class _Simplex:
    """A basis; columns are numbered first, then rows."""

    def __init__(self, program: RationalProgram, basis: Basis, tick: Tick) -> None:
        self.program, self.tick = program, tick
        self.count = len(program.costs)
        self.limits = [*program.bounds, *program.sides]
        self.states = [
            state if state == BASIC else self._state(limits, state)
            for limits, state in zip(self.limits, (*basis[0], *basis[1]), strict=True)
        ]

    @staticmethod
    def _state(limits: tuple[Side, Side], state: int) -> int:
        """Return the state of what is not basic: at a bound that there is, at the upper one if the state says so."""
        low, high = limits
        if low is None and high is None:
            return ZERO
        return UPPER if low is None or (high is not None and state == UPPER) else _LOWER

    def _solved(self, sides: Mapping[int, Fraction]) -> dict[int, Fraction] | None:
        """Return the basic columns where each row that is not basic has a value (0 where none is said)."""
        basic = [j for j in range(self.count) if self.states[j] == BASIC]
        equations = [
            ({j: a for j, a in row.items() if self.states[j] == BASIC}, sides.get(i, Fraction(0)))
            for i, row in enumerate(self.program.rows)
            if self.states[self.count + i] != BASIC
        ]
        return solution_of(equations, basic, self.tick)

    def _side(self, k: int) -> Fraction:
        """Return the value of what is not basic."""
        state, (low, high) = self.states[k], self.limits[k]
        side = Fraction(0) if state == ZERO else high if state == UPPER else low
        assert side is not None
        return side

    def values(self) -> list[Fraction] | None:
        """Return the values of the columns and rows; None: the basis has none, or they are too long."""
        values = {j: self._side(j) for j in range(self.count) if self.states[j] != BASIC}
        sides = {
            i: self._side(self.count + i) - sum((a * values[j] for j, a in row.items() if j in values), Fraction(0))
            for i, row in enumerate(self.program.rows)
            if self.states[self.count + i] != BASIC
        }
        basic = self._solved(sides)
        if basic is None:
            return None
        values |= basic
        return [*(values[j] for j in range(self.count)), *self._sums(values)]

    def _sums(self, values: Mapping[int, Fraction]) -> list[Fraction]:
        """Return the values of the rows."""
        return [sum((a * values[j] for j, a in row.items() if j in values), Fraction(0)) for row in self.program.rows]

    def wrong(self, values: Sequence[Fraction]) -> dict[int, int]:
        """Return which basic variables are below (-1) or above (1) their bounds."""
        found = {}
        for k, (value, (low, high)) in enumerate(zip(values, self.limits, strict=True)):
            if low is not None and value < low:
                found[k] = -1
            elif high is not None and value > high:
                found[k] = 1
        return found

    def costs(self, wrong: Mapping[int, int]) -> dict[int, int]:
        """Return the costs of the columns whose sum is what is broken."""
        costs = dict.fromkeys(range(self.count), 0)
        for k, sign in wrong.items():
            for j, a in ((k, 1),) if k < self.count else self.program.rows[k - self.count].items():
                costs[j] += sign * a
        return costs

    def multipliers(self, costs: Mapping[int, int]) -> dict[int, Fraction] | None:
        """Return the multipliers of the rows that are not basic: reduced costs of basic columns are 0."""
        terms: dict[int, dict[int, int]] = {j: {} for j in range(self.count) if self.states[j] == BASIC}
        unknowns = [i for i in range(len(self.program.rows)) if self.states[self.count + i] != BASIC]
        for i in unknowns:
            for j, a in self.program.rows[i].items():
                if j in terms:
                    terms[j][i] = a
        return solution_of(
            [(terms_of_column, Fraction(costs[j])) for j, terms_of_column in terms.items()], unknowns, self.tick
        )

    def entering(
        self, costs: Mapping[int, int], multipliers: Mapping[int, Fraction], *, first: bool
    ) -> tuple[int, int] | None:
        """Return what enters the basis, and whether it rises (1) or falls (-1); None: the basis is optimal."""
        reduced = {j: Fraction(cost) for j, cost in costs.items()}
        for i, y in multipliers.items():
            for j, a in self.program.rows[i].items():
                reduced[j] -= y * a
        reduced |= {self.count + i: y for i, y in multipliers.items()}
        best, gain = None, Fraction(0)
        for k, cost in sorted(reduced.items()):
            low, high = self.limits[k]
            way = -1 if cost > 0 else 1
            state = self.states[k]
            if state == BASIC or abs(cost) <= gain or low == high is not None:
                continue
            if state == ZERO or way == (-1 if state == UPPER else 1):
                best, gain = (k, way), abs(cost)
                if first:
                    break
        return best

    def step(self, entering: tuple[int, int], values: Sequence[Fraction], wrong: Mapping[int, int]) -> Fraction | None:
        """Move along an edge to its end, and return its length; None: it has no end, or numbers are too long."""
        k, way = entering
        if k < self.count:
            basic = self._solved({i: Fraction(-way * row[k]) for i, row in enumerate(self.program.rows) if k in row})
        else:
            basic = self._solved({k - self.count: Fraction(way)})
        if basic is None:
            return None
        changes = {j: change for j, change in basic.items() if change}
        if k < self.count:
            changes[k] = Fraction(way)
        changes |= {self.count + i: change for i, change in enumerate(self._sums(changes)) if change}
        # ratio test: how far until a basic variable, or the entering one itself, reaches its next bound; a variable beyond
        # a bound stops at that bound, on its way back, and not at all on its way out
        length, leaving, state = None, k, self.states[k]
        low, high = self.limits[k]
        if low is not None and high is not None:
            length, state = high - low, UPPER if way > 0 else _LOWER
        for b, change in sorted(changes.items()):
            if self.states[b] != BASIC:
                continue
            low, high = self.limits[b]
            rising = change > 0
            end = high if rising else low
            if b in wrong:
                end = None if rising == (wrong[b] > 0) else low if rising else high
            if end is not None and (length is None or (end - values[b]) / change < length):
                length, leaving, state = (end - values[b]) / change, b, _LOWER if end == low else UPPER
        if length is None:
            return None
        self.states[k] = BASIC
        self.states[leaving] = state
        return length
