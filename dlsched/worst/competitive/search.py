"""The supremum of a policy's ratio: the largest bound over all runs, and orders of the optimum that matter."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from dlsched.core.arrays import FloatArray
from dlsched.core.errors import SolverError
from dlsched.elastic_stream.simulation.view import Policy
from dlsched.worst.competitive.optimum import Prefix
from dlsched.worst.competitive.programs import Multipliers, Programs
from dlsched.worst.competitive.runs import Whole, runs
from dlsched.worst.competitive.stream import Speeds

Leaf = tuple[Whole, Prefix, Multipliers]


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found.

    Parameters
    ----------
    supremum
        The supremum.
    worst
        A run, and an order of the optimum, of that bound.
    leaves
        Runs, first events of the optimum, and multipliers which prove that no ratio is larger.
    """

    supremum: Fraction
    worst: tuple[Whole, Prefix]
    leaves: list[Leaf]


def search(policy: Callable[[], Policy], tables: Sequence[Speeds], tick: Callable[[int], None]) -> Found:
    """Find the supremum for jobs of these tables, in order of arrival.

    Raises
    ------
    SolverError
        HiGHS gives no answer, or one that no rationals confirm.
    TypeError
        The policy does with its numbers what is not linear.
    """
    programs, order = Programs(tables), count()
    waiting: list[tuple[float, int, int, Whole, Prefix, FloatArray]] = []

    def push(run: Whole, prefix: Prefix) -> None:
        tick(1)
        value, near = programs.bound(run, prefix)
        if near is None:
            for longer in prefix.longer():
                push(run, longer)
        else:
            heapq.heappush(waiting, (-value, -len(prefix.events), next(order), run, prefix, near))

    for run in runs(policy, tables, lambda: tick(0)):
        push(run, Prefix(len(tables)))
    leaves: list[Leaf] = []
    supremum, worst = Fraction(0), None
    while waiting:
        negated, _, _, run, prefix, near = heapq.heappop(waiting)
        if worst is None and prefix.whole:
            found = programs.least(run, prefix, near)
            if found is None:
                raise SolverError(f"no rationals confirm a bound of {-negated!r}")
            supremum, worst = found[0], (run, prefix)
        if worst is not None:
            multipliers = programs.proving(run, prefix, near, supremum)
            if multipliers is not None:
                leaves.append((run, prefix, multipliers))
                continue
            if prefix.whole:
                raise SolverError(f"no rationals confirm a bound of {-negated!r} by {supremum}")
        for longer in prefix.longer():
            push(run, longer)
    assert worst is not None
    return Found(supremum, worst, leaves)
