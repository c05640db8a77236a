"""Bounds for more jobs by a mixed-integer program: doubling and marginal gain on convex tables, steps in order.

====================  =====================================================================================
code                  mathematics
====================  =====================================================================================
``c``                 c_j(n), a table of the class whose optimum is at most 1
``h``                 cost of job j at the end, at most c_j(n) for every count n that it has reached
``w``                 cost of job j in the best allocation, at least c_j(n) for the count n chosen there
``taken``             step s of job j is taken; its steps are taken one after the other
``chosen``            the count of job j in the best allocation
``at``                position of a step in the order, if it is taken
``before``            steps of two jobs are both taken, the first, which saves no less per unit, first
``late``              step t is never taken, and does not fit any more when step s of another job is
====================  =====================================================================================

Savings fall along the counts, so the rows compare the steps that are taken, in their order, and each of them
with every step that another job could have taken instead, unless that step came too late to fit. Since no
speed is super-linear, c_j(n) <= m / n with the largest count m.

The bound is that of HiGHS in floats, not a proof in rationals.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise, permutations, product

import numpy as np

from dlsched.core.errors import SolverError, UsageError
from dlsched.worst.proving.runs import Setting, class_rows

Step = tuple[int, int, int]
"""Job, count before the step, count after it."""
Name = tuple[object, ...]


@dataclass(frozen=True)
class Bounded:
    """How bad a method is, as computed by HiGHS.

    Parameters
    ----------
    ratio
        Ratio of the worst run that HiGHS found.
    bound
        Upper bound of the ratio of any run, in floats; equal to ``ratio`` within HiGHS's tolerances, unless
        time ran out.
    """

    ratio: float
    bound: float


class _Program:
    """Rows ``lower <= sum of factors <= upper`` over named variables."""

    def __init__(self) -> None:
        self.index: dict[Name, int] = {}
        self.most: list[float] = []
        self.rows: list[tuple[dict[Name, float], float]] = []

    def variable(self, name: Name, most: float) -> None:
        self.index[name] = len(self.most)
        self.most.append(most)

    def at_least(self, right: float, *terms: tuple[float, Name]) -> None:
        """Add sum factor x variable >= right."""
        row: dict[Name, float] = {}
        for factor, name in terms:
            row[name] = row.get(name, 0.0) + factor
        self.rows.append((row, right))

    def maximum(self, goal: Iterable[Name], time_s: float | None) -> Bounded:
        """Maximise the sum of ``goal``; variables other than costs are binary. SolverError: HiGHS has no answer."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import lil_array

        matrix = lil_array((len(self.rows), len(self.most)))
        for k, (row, _) in enumerate(self.rows):
            for name, factor in row.items():
                matrix[k, self.index[name]] = factor
        cost = np.zeros(len(self.most))
        cost[[self.index[name] for name in goal]] = -1.0
        found = milp(
            cost,
            integrality=np.array([name[0] not in ("c", "h", "w", "at") for name in self.index]),
            bounds=Bounds(0, np.array(self.most)),
            constraints=LinearConstraint(matrix.tocsr(), np.array([right for _, right in self.rows]), np.inf),
            options={} if time_s is None else {"time_limit": time_s},
        )
        if found.x is None:
            raise SolverError(f"the program of orders: {found.message}")
        return Bounded(-float(found.fun), -float(found.mip_dual_bound))


def bound_by_order(
    method: str, *, jobs: int, gpus: int, counts: str = "powers", tables: str = "convex", time_s: float | None = None
) -> Bounded:
    """Bound how bad a method of ``ring_allocation`` can be, in floats, by one mixed-integer program.

    Parameters
    ----------
    method
        ``doubling`` or ``marginal``.
    jobs, gpus, counts, tables
        As in ``prove``, but ``tables`` only ``convex``.
    time_s
        Seconds after which HiGHS stops; ``bound`` is then above ``ratio``.

    Raises
    ------
    UsageError
        The method is another one, or the class of tables is.
    SolverError
        HiGHS has no answer.
    """
    setting = Setting("ring_allocation", method, jobs, gpus, tables, counts)
    if method == "hull" or tables != "convex":
        raise UsageError(where="method and tables", found=f"{method}, {tables}", allowed="doubling or marginal, convex")
    program = _Program()
    steps = [(job, low, high) for job in range(jobs) for low, high in pairwise(setting.reachable)]
    _costs(program, setting)
    _run(program, setting, steps)
    for first, second in permutations(steps, 2):
        if first[0] != second[0]:
            _compare(program, setting, steps, first, second)
    return program.maximum([("h", job) for job in range(jobs)], time_s)


def _costs(program: _Program, setting: Setting) -> None:
    """Add the tables, the best allocation, and the jobs' costs in it and at the end of the run."""
    most = setting.counts[-1]
    for job, count in product(range(setting.jobs), setting.counts):
        program.variable(("c", job, count), most / count)
        program.variable(("chosen", job, count), 1)
    for row in class_rows(setting).values():
        program.at_least(0, *((float(factor), ("c", *place)) for place, factor in row.items()))
    for job in range(setting.jobs):
        program.variable(("h", job), most)
        program.variable(("w", job), 1)
        program.at_least(1, *((1, ("chosen", job, count)) for count in setting.counts))
        for count in setting.counts:
            large = most / count
            program.at_least(-large, (1, ("w", job)), (-1, ("c", job, count)), (-large, ("chosen", job, count)))
    every = list(product(range(setting.jobs), setting.counts))
    program.at_least(-setting.gpus, *((-count, ("chosen", job, count)) for job, count in every))
    program.at_least(-1, *((-1, ("w", job)) for job in range(setting.jobs)))


def _run(program: _Program, setting: Setting, steps: list[Step]) -> None:
    """Add rows that choose the steps taken, such that no further step fits at the end."""
    most = setting.counts[-1]
    for step in steps:
        program.variable(("taken", *step), 1)
        program.variable(("at", *step), len(steps))
    units = [(high - low, ("taken", job, low, high)) for job, low, high in steps]
    spare = setting.gpus - setting.jobs
    program.at_least(-spare, *((-added, name) for added, name in units))
    for job in range(setting.jobs):
        program.at_least(0, (1, ("c", job, 1)), (-1, ("h", job)))
    for job, low, high in steps:
        taken = ("taken", job, low, high)
        program.at_least(-most, (1, ("c", job, high)), (-1, ("h", job)), (-most, taken))
        earlier = [step for step in steps if step[0] == job and step[2] == low]
        for step in earlier:
            program.at_least(0, (1, ("taken", *step)), (-1, taken))
            program.at_least(1, (1, ("at", job, low, high)), (-1, ("at", *step)))
        # the run ends only when no next step fits
        needed = spare + 1 - (high - low)  # units taken beside it, where it is the next one and does not fit
        missing = [(-needed, ("taken", *step)) for step in earlier]
        program.at_least(needed * (1 - len(earlier)), *units, (needed, taken), *missing)


def _compare(program: _Program, setting: Setting, steps: list[Step], first: Step, second: Step) -> None:
    """Add rows on steps of two jobs: their order if both are taken, why the first was preferred if only it is."""
    before, after = ("before", first, second), ("before", second, first)
    late = ("late", first, second)
    for name in (before, late):
        program.variable(name, 1)
    if before in program.index and after in program.index:
        taken = (-1.0, ("taken", *first)), (-1.0, ("taken", *second))
        program.at_least(-1, (1, before), (1, after), *taken)
        program.at_least(-1, (-1, before), (-1, after))
    program.at_least(0, (1, ("taken", *first)), (-1, before))
    program.at_least(0, (1, ("taken", *second)), (-1, before))
    program.at_least(-len(steps), (1, ("at", *second)), (-1, ("at", *first)), (-len(steps) - 1, before))
    less = _less(first, second)
    # big-M: switches the comparison off where the order is the other
    large = setting.counts[-1] / second[1] / (second[2] - second[1])  # no saving per unit of the second is larger
    program.at_least(-large, *less, (-large, before))
    only_first = (-large, ("taken", *first)), (large, ("taken", *second))
    program.at_least(-large, *less, (large, late), *only_first)
    added = [(step[2] - step[1], ("before", step, first)) for step in steps if step[0] != first[0]]
    needed = setting.gpus + 1 - (second[2] - second[1]) - (setting.jobs - 1) - first[1]
    program.at_least(0, *added, (-needed, late))
    for step in steps:
        # what comes after a step of the first job comes after those before it
        if step[0] == first[0] and step[2] == first[1]:
            program.at_least(0, (1, ("before", step, second)), (-1, before))


def _less(first: Step, second: Step) -> list[tuple[float, Name]]:
    """Saving per unit of the first step minus that of the second."""
    (i, a, b), (j, c, d) = first, second
    one, other = 1 / (b - a), 1 / (d - c)
    return [(one, ("c", i, a)), (-one, ("c", i, b)), (-other, ("c", j, c)), (other, ("c", j, d))]
