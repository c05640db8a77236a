"""Branch and bound over the last steps of runs: finds the largest ratio, and proves that none is larger.

The search takes the tail whose program has the largest value first, and splits it by the step before it.
When it takes a whole run, the value of this run is the supremum, and the tails still waiting are the leaves
of the proof. If the program of a whole run is unbounded, so is the method's ratio.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np

from dlsched.core.errors import SolverError
from dlsched.worst.proving.programs import Answer, Multipliers, Place, Programs, multipliers
from dlsched.worst.proving.runs import Rows, Tail, class_rows, end_rows, ends, last_rows
from dlsched.worst.proving.setting import Setting


@dataclass(frozen=True, eq=False)
class Leaf:
    """A tail, its rows beyond those of the class, and the answer of its program."""

    tail: Tail
    rows: Rows
    answer: Answer

    @property
    def held(self) -> list[Place]:
        """Places of the counts at the end."""
        return [(job, held) for job, (held, _, _) in enumerate(self.tail.end)]

    @property
    def best(self) -> list[Place]:
        """Places of the allocation that may be best."""
        return [(job, best) for job, (_, _, best) in enumerate(self.tail.end)]


@dataclass(frozen=True, eq=False)
class Tree:
    """Result of a search.

    Parameters
    ----------
    supremum
        Supremum of the ratio; None: unbounded.
    worst
        A whole run of that ratio.
    leaves
        Tails that cover all runs, with multipliers which prove that none has a larger ratio; none if
        unbounded.
    programs
        Number of linear programs solved.
    """

    supremum: Fraction | None
    worst: Leaf
    leaves: list[tuple[Tail, Multipliers]]
    programs: int


def search(setting: Setting, tick: Callable[[int], None]) -> Tree:
    """Find the supremum of a setting; calls ``tick`` with 1 for every program, and with 0 while it lists ends.

    Raises
    ------
    UsageError
        Too many ends of runs to list them.
    SolverError
        HiGHS gives no answer, or one that no rationals confirm.
    """
    places = [(job, number) for job in range(setting.jobs) for number in setting.counts]
    always = class_rows(setting)
    programs = Programs(places, always)
    solved, order = count(), count()
    waiting: list[tuple[float, int, int, Tail | Leaf]] = []
    for end in ends(setting, lambda: tick(0)):
        waiting.append((-np.inf, 0, next(order), Tail.at(end)))
    done: list[tuple[Tail, Multipliers]] = []
    supremum: Fraction | None = None

    def solve(tail: Tail, rows: Rows) -> Leaf:
        tick(1)
        next(solved)
        leaf = Leaf(tail, rows, Answer(np.inf, None, {}))
        return Leaf(tail, rows, programs.worst(leaf.held, leaf.best, rows))

    def push(leaf: Leaf) -> None:
        heapq.heappush(waiting, (-leaf.answer.value, -len(leaf.tail.steps), next(order), leaf))

    worst: Leaf | None = None
    while waiting:
        item = heapq.heappop(waiting)[-1]
        if isinstance(item, Tail):
            push(solve(item, end_rows(setting, item.end)))
            continue
        if item.answer.value < np.inf and (item.tail.whole or worst is not None):
            proof = multipliers(item.held, item.best, {**always, **item.rows}, item.answer.duals, supremum)
            if proof is not None:
                if worst is None:
                    worst, supremum = item, proof[0]
                done.append((item.tail, proof[1]))
                continue
            if item.tail.whole:
                raise SolverError(f"no rational multipliers for a program of value {item.answer.value!r}")
        elif item.tail.whole:
            return Tree(None, item, [], next(solved))
        for tail in item.tail.before(setting):
            added = last_rows(setting, tail)
            rows = {**item.rows, **added}
            table = item.answer.table
            if table is not None and programs.holds(table, added):
                push(Leaf(tail, rows, item.answer))
            else:
                push(solve(tail, rows))
    assert worst is not None
    return Tree(supremum, worst, done, next(solved))
