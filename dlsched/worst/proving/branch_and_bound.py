"""Branch and bound over the last steps of runs: finds the largest ratio, and proves that none is larger.

The search takes the tail whose program has the largest value first, and splits it by the step before it.
When it takes a whole run, the value of this run is the supremum, and the tails still waiting are the leaves
of the proof. If the program of a whole run is unbounded, so is the method's ratio.

The program of a tail:

maximise  c(held) = sum_j c_j(h_j)   subject to   c(best) = sum_j c_j(w_j) = 1,   rows A c >= 0,   c >= 0

Any y >= 0 with  held + y A <= m best  at every job and count proves  c(held) <= m c(best)  for all tables of the rows, since
c(held) <= c(held) + y A c <= m c(best). A y in floats is not trusted: rationals close to it are checked, and
give m.
"""

import heapq
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any, TypeVar

import numpy as np

from dlsched.core.arrays import FloatArray
from dlsched.core.errors import SolverError, UsageError
from dlsched.core.limits import Budget, Limits, Progress, ProgressCallback, Stopped
from dlsched.worst.proving.runs import Row, Rows, Setting, Tail, class_rows, end_rows, ends, last_rows

Equation = dict[int, Fraction]
"""Coefficients by unknown; the key ``RIGHT`` holds the right-hand side."""
RIGHT = -1
_OPTIMAL, _UNBOUNDED = 0, 3
"""Status codes of ``linprog``."""


def solution(equations: Sequence[Equation], unknowns: int) -> list[Fraction] | None:
    """Return the unique solution of a system in unknowns 0, 1, ...; None if it has no solution, or several."""
    waiting = [{k: factor for k, factor in equation.items() if factor} for equation in equations]
    waiting = [equation for equation in waiting if equation]
    solved: list[tuple[int, Equation]] = []
    while waiting:
        # the sparsest first, so that the others stay sparse
        row = min(waiting, key=len)
        waiting.remove(row)
        pivot = max(row)
        if pivot == RIGHT:
            return None
        solved.append((pivot, row))
        for other in waiting:
            if pivot in other:
                _subtract(other, row, other[pivot] / row[pivot])
        waiting = [other for other in waiting if other]
    if len(solved) < unknowns:
        return None
    values: dict[int, Fraction] = {}
    # substitute backwards: the last equation has one unknown
    for pivot, row in reversed(solved):
        known = sum((factor * values[k] for k, factor in row.items() if k not in (pivot, RIGHT)), Fraction(0))
        values[pivot] = (row.get(RIGHT, Fraction(0)) - known) / row[pivot]
    return [values[k] for k in range(unknowns)]


def _subtract(row: Equation, other: Equation, times: Fraction) -> None:
    """Subtract a multiple of another equation in place, and drop coefficients that become 0."""
    for unknown, factor in other.items():
        rest = row.get(unknown, Fraction(0)) - times * factor
        if rest:
            row[unknown] = rest
        else:
            row.pop(unknown, None)


def matrix_of(equations: Sequence[Equation], unknowns: int) -> FloatArray:
    """Coefficients of equations in floats, shape (R, U)."""
    return np.array([[float(row.get(k, 0)) for k in range(unknowns)] for row in equations]).reshape(-1, unknowns)


def vertex(
    goal: Equation, rows: Sequence[Equation], equal: Sequence[Equation], unknowns: int, tight: float, **options: Any
) -> list[Fraction] | None:
    """Maximise a goal over rows >= 0 and equations, in rationals; None if there is no optimum, or no rationals confirm it.

    HiGHS finds a vertex in floats, by ``options`` of ``linprog``; equations that it meets within ``tight`` are solved exactly.
    """
    from scipy.optimize import linprog

    lower = matrix_of(rows, unknowns)
    found = linprog(
        -matrix_of([goal], unknowns)[0],
        A_ub=-lower,
        b_ub=np.zeros(len(rows)),
        A_eq=matrix_of(equal, unknowns),
        b_eq=[float(row.get(RIGHT, 0)) for row in equal],
        **options,
    )
    if found.status != _OPTIMAL:
        return None
    # The rows that the vertex meets, and the unknowns that are 0 there, determine it exactly.
    met = [row for row, slack in zip(rows, lower @ found.x, strict=True) if row and slack < tight]
    zero: list[Equation] = [{k: Fraction(1)} for k, value in enumerate(found.x) if value < tight]
    exact = solution([*equal, *zero, *met], unknowns)
    if exact is None or min(exact) < 0 or any(value_of(row, exact) < 0 for row in rows):
        return None
    return exact


def value_of(equation: Equation, unknowns: Sequence[Fraction]) -> Fraction:
    """Left-hand side of an equation."""
    return sum((factor * unknowns[k] for k, factor in equation.items() if k != RIGHT), Fraction(0))


Proof = TypeVar("Proof")
_EVERY = 50
"""Programs between two reports."""


def counting(budget: Budget, progress: ProgressCallback | None) -> Callable[[int], None]:
    """Return what counts programs, reports their number now and then, and raises ``Stopped`` at a limit."""

    def tick(programs: int) -> None:
        budget.tick(programs)
        if programs and progress is not None and budget.nodes % _EVERY == 0:
            progress(Progress(budget.elapsed_s, None, None, budget.nodes, "proof"))

    return tick


def within_limits(
    limits: Limits | None, progress: ProgressCallback | None, search: Callable[[Callable[[int], None]], Proof]
) -> tuple[Proof, int]:
    """Run a search that reports its programs to the function that it gets; return its proof and the number of programs."""
    budget = Budget(limits)
    try:
        return search(counting(budget, progress)), budget.nodes
    except Stopped as stopped:
        done = f"found a {stopped} after {budget.nodes} linear programs"
        raise UsageError(f"limits: {done}, allowed: more, the proof is not done") from None


Place = tuple[int, int]
Multipliers = dict[str, Fraction]
# short fractions first: they keep certificates small
_DENOMINATORS = (100, 10**4, 10**6)
_ZERO, _MET = 1e-12, 1e-7  # of a multiplier, and of an equation, in floats


@dataclass(frozen=True, eq=False)
class Answer:
    """An optimum in floats, infinite if the program is unbounded; costs in the order of the places, and y of every row."""

    value: float
    table: FloatArray | None
    duals: Mapping[str, float]


class Programs:
    """Linear programs that share their variables, the places (job, count), and the rows of the class of tables."""

    def __init__(self, places: Sequence[Place], always: Rows) -> None:
        self._index = {place: index for index, place in enumerate(places)}
        self._always = always
        self._matrix = self.matrix(always.values())

    def matrix(self, rows: Collection[Row]) -> FloatArray:
        """Coefficients, shape (R, V), each row scaled to a largest coefficient of 1."""
        matrix = np.zeros((len(rows), len(self._index)))
        for index, row in enumerate(rows):
            largest = max(map(abs, row.values()))
            for place, coefficient in row.items():
                matrix[index, self._index[place]] = coefficient / largest
        return matrix

    def worst(self, final: Sequence[Place], best: Sequence[Place], rows: Rows) -> Answer:
        """Solve one program; ``SolverError``: HiGHS gives no answer."""
        from scipy.optimize import linprog

        added = self.matrix(rows.values())
        lower = np.concatenate((self._matrix, added))
        held_at, best_at = (np.zeros(len(self._index)) for _ in range(2))
        held_at[[self._index[place] for place in final]] = 1.0
        best_at[[self._index[place] for place in best]] = 1.0
        found = linprog(
            *(-held_at, -lower, np.zeros(len(lower)), best_at[None], [1.0]), method="highs", options={"presolve": False}
        )
        if found.status == _UNBOUNDED:
            return Answer(np.inf, None, {})
        if found.status != _OPTIMAL:
            raise SolverError(f"a program of a proof: {found.message}")
        every = {**self._always, **rows}
        # Rows were scaled to a largest coefficient of 1, so their multipliers are scaled back.
        scaled = {
            name: -float(dual) / max(map(abs, row.values()))
            for (name, row), dual in zip(every.items(), found.ineqlin.marginals, strict=True)
            if dual
        }
        return Answer(-float(found.fun), found.x, scaled)

    def holds(self, table: FloatArray, rows: Rows) -> bool:
        """Whether a table satisfies further rows up to rounding."""
        return bool(np.all(self.matrix(rows.values()) @ table >= -1e-9))


def multipliers(
    final: Collection[Place],
    best: Collection[Place],
    rows: Rows,
    duals: Mapping[str, float],
    most: Fraction | None = None,
) -> tuple[Fraction, Multipliers] | None:
    """Return m and y in rationals, made from y in floats; None if they prove no m, or none up to ``most``.

    If ``most`` is given, y is rounded to short fractions first. If these do not prove it, or if the least m
    is asked for (None), the equations that y meets in floats are solved exactly.
    """
    if most is not None:
        for largest in _DENOMINATORS:
            y = {name: Fraction(dual).limit_denominator(largest) for name, dual in duals.items()}
            ratio = _proven(final, best, rows, y)
            if ratio is not None and ratio <= most:
                return ratio, {name: dual for name, dual in y.items() if dual}
    exact = _solved(final, best, rows, duals)
    ratio = None if exact is None else _proven(final, best, rows, exact)
    if exact is None or ratio is None or (most is not None and ratio > most):
        return None
    return ratio, {name: dual for name, dual in exact.items() if dual}


def _proven(final: Collection[Place], best: Collection[Place], rows: Rows, y: Multipliers) -> Fraction | None:
    """Return the least m that y proves; None if it proves none."""
    if min(y.values(), default=0) < 0:
        return None
    total = _total(final, rows, y)
    if any(value > 0 for place, value in total.items() if place not in best):
        return None
    return max(total.get(place, Fraction(0)) for place in best)


def _total(final: Collection[Place], rows: Rows, y: Multipliers) -> dict[Place, Fraction]:
    """Coefficients of c(held) + y A c."""
    total = dict.fromkeys(final, Fraction(1))
    for name, dual in y.items():
        for place, coefficient in rows[name].items():
            total[place] = total.get(place, Fraction(0)) + dual * coefficient
    return total


def _solved(
    final: Collection[Place], best: Collection[Place], rows: Rows, duals: Mapping[str, float]
) -> Multipliers | None:
    """Solve  held + y A = m best  for m and the nonzero y, at the places where the floats meet it."""
    used = [name for name, dual in duals.items() if dual > _ZERO]
    columns: dict[Place, Equation] = {place: {RIGHT: Fraction(-1)} for place in final}
    for index, name in enumerate(used):
        for place, coefficient in rows[name].items():
            columns.setdefault(place, {})[index] = Fraction(coefficient)
    # what each equation lacks in floats: those that are met are solved exactly
    slack = {
        place: float(column.get(RIGHT, 0)) * -1
        + sum(duals[used[k]] * float(c) for k, c in column.items() if k != RIGHT)
        for place, column in columns.items()
    }
    ratio = max(slack.get(place, 0.0) for place in best)
    for place in best:
        columns.setdefault(place, {})[len(used)] = Fraction(-1)
        slack[place] = slack.get(place, 0.0) - ratio
    met = [column for place, column in columns.items() if column and abs(slack[place]) < _MET]
    found = solution(met, len(used) + 1)
    return None if found is None else dict(zip(used, found, strict=False))


@dataclass(frozen=True, eq=False)
class Leaf:
    """A tail, its rows beyond those of the class, and the answer of its program."""

    tail: Tail
    rows: Rows
    answer: Answer

    @property
    def final(self) -> list[Place]:
        """Places of the counts at the end."""
        return [(job, present) for job, (present, _, _) in enumerate(self.tail.end)]

    @property
    def best(self) -> list[Place]:
        """Places of the allocation that may be best."""
        return [(job, best) for job, (_, _, best) in enumerate(self.tail.end)]


@dataclass(frozen=True, eq=False)
class Tree:
    """The supremum (None: unbounded), a whole run of that ratio, and tails whose multipliers prove that no run has a larger one.

    The tails cover all runs; there are none if the ratio is unbounded.
    """

    supremum: Fraction | None
    worst: Leaf
    leaves: list[tuple[Tail, Multipliers]]


def search(setting: Setting, tick: Callable[[int], None]) -> Tree:
    """Find the supremum of a setting; calls ``tick`` with 1 for every program, and with 0 while it lists ends.

    ``SolverError``: HiGHS gives no answer, or one that no rationals confirm.
    """
    places = [(job, number) for job in range(setting.jobs) for number in setting.counts]
    always = class_rows(setting)
    programs = Programs(places, always)
    order = count()
    waiting: list[tuple[float, int, int, Tail | Leaf]] = [
        (-np.inf, 0, next(order), Tail.at(end)) for end in ends(setting, lambda: tick(0))
    ]
    done: list[tuple[Tail, Multipliers]] = []
    supremum: Fraction | None = None

    def solve(tail: Tail, rows: Rows) -> Leaf:
        tick(1)
        leaf = Leaf(tail, rows, Answer(np.inf, None, {}))
        return Leaf(tail, rows, programs.worst(leaf.final, leaf.best, rows))

    def push(leaf: Leaf) -> None:
        heapq.heappush(waiting, (-leaf.answer.value, -len(leaf.tail.steps), next(order), leaf))

    worst: Leaf | None = None
    while waiting:
        item = heapq.heappop(waiting)[-1]
        # ends come first: nothing bounds the ratio of their runs yet
        if isinstance(item, Tail):
            push(solve(item, end_rows(setting, item.end)))
            continue
        # the first whole run has the largest value of all tails: its value is the supremum
        if item.answer.value < np.inf and (item.tail.whole or worst is not None):
            proof = multipliers(item.final, item.best, {**always, **item.rows}, item.answer.duals, supremum)
            if proof is not None:
                if worst is None:
                    worst, supremum = item, proof[0]
                done.append((item.tail, proof[1]))
                continue
            if item.tail.whole:
                raise SolverError(f"no rational multipliers for a program of value {item.answer.value!r}")
        elif item.tail.whole:
            return Tree(None, item, [])
        for tail in item.tail.before(setting):
            added = last_rows(setting, tail)
            rows = {**item.rows, **added}
            table = item.answer.table
            # the optimal table satisfies the new rows, so it is optimal for the longer tail, too
            if table is not None and programs.holds(table, added):
                push(Leaf(tail, rows, item.answer))
            else:
                push(solve(tail, rows))
    assert worst is not None
    return Tree(supremum, worst, done)
