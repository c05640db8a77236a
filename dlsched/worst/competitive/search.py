"""The supremum of a policy's ratio: runs, orders of events of the optimum, and multipliers that bound the ratio.

*Runs.* All runs of a policy form a tree.
A node is reached by a path: the events so far, and the signs of the forms that were split on. There the run
is played again, from its start, on linear forms. It ends in a form that the path does not decide, in the
events that may come next, or with the last job: then works and arrivals are sums of lengths alone.

*Optimum.*
Without restarts only the time that a schedule spends on each allocation in each interval between two events
matters. So for one order of arrivals and ends the least flow time is a linear program.

*Multipliers* are found by HiGHS in floats, and confirmed in rationals.
A run of the policy and the first events of an optimal stream are given. For r, u, h >= 0 and g with

    p_k + sum_i h_i row_ik <= sum_j u_j W_jk + sum_j g_j A_jk                        for every interval k of the run
    sum_j u_j s_j(v_j) + sum of g_j over jobs to come <= r (number of jobs present)  for every interval and allocation
    u_j s_j(C) <= r, sum of g_i over jobs i >= j to come <= 0                        for what follows the given events

flow(policy) <= sum_j u_j w_j + sum_j g_j a_j <= r flow(optimum). The least such r is sought.
"""

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import count

import numpy as np

from dlsched.core.arrays import FloatArray
from dlsched.core.errors import SolverError
from dlsched.elastic_stream.simulation.view import Policy
from dlsched.worst.competitive.stream import Coefficients, ExactView, Facts, Form, Run, Speeds, Undecided, common
from dlsched.worst.proving.branch_and_bound import RIGHT, Equation, matrix_of, solution, value_of

ARRIVAL = "arrival"
Step = tuple[str, Coefficients | None]
"""An event by name, without a form; or ``positive`` or ``negative`` and the form that was split on."""


@dataclass(frozen=True, eq=False)
class Whole:
    """A run to its end: its path, jobs present in each interval; works, arrivals and rows >= 0 in lengths of intervals."""

    path: tuple[Step, ...]
    present: tuple[int, ...]
    works: tuple[Coefficients, ...]
    arrivals: tuple[Coefficients, ...]
    rows: tuple[Coefficients, ...]


class Unbounded(Exception):  # noqa: N818  an answer: the ratio has no bound
    """Jobs wait for ever after the events of a path, or as long as an arrival is put off."""

    def __init__(self, path: Sequence[Step]) -> None:
        super().__init__(", ".join(name for name, form in path if form is None))


def runs(policy: Callable[[], Policy], tables: Sequence[Speeds], tick: Callable[[], None]) -> Iterator[Whole]:
    """Yield all runs of a policy on jobs of these tables, in order of arrival.

    ``TypeError``: its decisions are not linear; ``Unbounded``: it lets jobs wait for ever.
    """
    waiting: list[tuple[Step, ...]] = [((ARRIVAL, None),)]
    while waiting:
        tick()
        path = waiting.pop()
        found = _played(policy, tables, path)
        if isinstance(found, Whole):
            yield found
        else:
            waiting += [(*path, step) for step in reversed(found)]


def _played(policy: Callable[[], Policy], tables: Sequence[Speeds], path: tuple[Step, ...]) -> Whole | list[Step]:
    """Play a path; return the whole run, or the steps that may follow."""
    jobs = len(tables)
    # works of the jobs, and lengths between their 2 J events
    size = jobs + 2 * jobs - 1
    facts = Facts()

    def variable(index: int) -> Form:
        return Form(tuple(Fraction(int(k == index)) for k in range(size)), facts)

    zero = Form((Fraction(0),) * size, facts)
    works = [variable(job) for job in range(jobs)]
    run = Run(policy(), ExactView(len(tables[0]), zero), zero)
    present, ended = list[int](), dict[int, Coefficients]()
    arrivals, rows = list[Form](), list[Coefficients]()
    for at, (name, form) in enumerate(path):
        if form is not None:
            continue
        if at:
            run.wait(variable(jobs + len(present)))
            present.append(len(run.view.present))
        if name == ARRIVAL:
            job = len(arrivals)
            arrivals.append(form_of(run.view.now_s))
            run.admit(job, tables[job], works[job] / common(tables[job]))
        else:
            job = int(name.split()[1])
            # the work done until the end is the job's work: solves for it in lengths
            spent = (works[job] / common(tables[job]) - run.view.present[job].remaining) * common(tables[job])
            ended[job] = form_of(spent).coefficients
            run.end(job)
        splits = _splits(path[at + 1 :])
        # rows of the path, splits after this event, and what jobs have left
        rows += splits
        facts.positive[:] = [*rows, *(form_of(each.remaining).coefficients for each in run.view.present.values())]
        try:
            running = run.decide()
        except Undecided:
            assert at + 1 + len(splits) == len(path)
        if facts.undecided is not None:  # a policy may have caught it
            form = facts.undecided.form
            return [("positive", form), ("negative", form)]
        if at + 1 + len(splits) == len(path) and (run.view.present or len(arrivals) < jobs):
            more = [ARRIVAL] if len(arrivals) < jobs else []
            if not more and not running:
                raise Unbounded(path)
            return [(event, None) for event in (*more, *(f"end {job}" for job in running))]
    lengths = [ended[job][jobs:] for job in range(jobs)]

    def in_lengths(form: Coefficients) -> Coefficients:
        return tuple(
            form[jobs + k] + sum((form[job] * lengths[job][k] for job in range(jobs)), Fraction(0))
            for k in range(2 * jobs - 1)
        )

    return Whole(
        path,
        tuple(present),
        tuple(lengths),
        tuple(each.coefficients[jobs:] for each in arrivals),
        tuple(in_lengths(row) for row in rows),
    )


def form_of(number: object) -> Form:
    """Return a number that has to be a form."""
    assert isinstance(number, Form)
    return number


def _splits(path: Sequence[Step]) -> list[Coefficients]:
    """The rows of the splits that come before the next event."""
    rows = []
    for name, form in path:
        if form is None:
            break
        rows.append(form if name == "positive" else tuple(-each for each in form))
    return rows


Allocation = tuple[int, ...]
"""Units by job."""


@dataclass(frozen=True)
class Prefix:
    """The first events of an optimal stream of so many jobs: -1 for the next arrival, or the job that ends."""

    jobs: int
    events: tuple[int, ...] = (-1,)

    @property
    def whole(self) -> bool:
        """Whether all jobs have ended."""
        return len(self.events) == 2 * self.jobs

    @property
    def arrived(self) -> int:
        """Number of jobs that have arrived."""
        return self.events.count(-1)

    @property
    def present(self) -> tuple[int, ...]:
        """Jobs that have arrived and not ended."""
        return tuple(job for job in range(self.arrived) if job not in self.events)

    def longer(self) -> "Iterator[Prefix]":
        """Yield the prefixes of one event more."""
        for event in (*((-1,) if self.arrived < self.jobs else ()), *self.present):
            yield Prefix(self.jobs, (*self.events, event))

    def intervals(self) -> "list[Prefix]":
        """The intervals between its events, each named by the prefix before it."""
        return [Prefix(self.jobs, self.events[: k + 1]) for k in range(len(self.events) - 1)]


def allocations(tables: Sequence[Speeds], present: tuple[int, ...]) -> list[Allocation]:
    """Divisions of all units among the jobs present; units by job, 0 for the others."""
    divided = _divisions(len(tables[0]), len(present))
    return [tuple(dict(zip(present, row, strict=True)).get(job, 0) for job in range(len(tables))) for row in divided]


def speed(table: Speeds, units: int) -> Fraction:
    """Speed on some units, 0 on none."""
    return table[units - 1] if units else Fraction(0)


@cache
def _divisions(units: int, jobs: int) -> list[tuple[int, ...]]:
    if jobs == 0:
        return [()]
    if jobs == 1:
        return [(units,)]
    return [(first, *rest) for first in range(units + 1) for rest in _divisions(units - first, jobs - 1)]


_INFEASIBLE = 2
_MET = 1e-7
_DENOMINATORS = (1, 12, 120, 10**4, 10**7)
Row = dict[int, Fraction]
"""Coefficients by unknown: r is 0, then come u, g and h; the row is >= its entry ``RIGHT``."""


@dataclass(frozen=True)
class Multipliers:
    """Multipliers of the jobs' works and arrivals, and of the run's rows, as certificates hold them."""

    work: tuple[Fraction, ...]
    arrival: tuple[Fraction, ...]
    rows: tuple[Fraction, ...]

    def as_data(self) -> dict[str, list[str]]:
        """Return them as text."""
        parts = {"work": self.work, "arrival": self.arrival, "rows": self.rows}
        return {name: [str(each) for each in values] for name, values in parts.items()}


class Programs:
    """Programs of jobs with these tables, in order of arrival."""

    def __init__(self, tables: Sequence[Speeds]) -> None:
        self.tables, self.jobs = tables, len(tables)
        self._blocks: dict[Prefix, list[Row]] = {}
        self._tails: dict[Prefix, list[Row]] = {}

    def rows(self, run: Whole, prefix: Prefix) -> list[Row]:
        """All rows of a program but the signs of its unknowns."""
        rows = []
        # first rows: for each interval of the run
        for k, many in enumerate(run.present):
            row = {1 + j: run.works[j][k] for j in range(self.jobs)}
            row |= {1 + self.jobs + j: run.arrivals[j][k] for j in range(self.jobs)}
            row |= {1 + 2 * self.jobs + i: -each[k] for i, each in enumerate(run.rows)}
            rows.append({at: each for at, each in row.items() if each} | {RIGHT: Fraction(many)})
        for interval in prefix.intervals():
            rows += self._block(interval)
        return rows if prefix.whole else rows + self._tail(prefix)

    def _block(self, interval: Prefix) -> list[Row]:
        if interval not in self._blocks:
            present = interval.present
            later = {1 + self.jobs + j: Fraction(-1) for j in range(interval.arrived, self.jobs)}
            self._blocks[interval] = [
                {0: Fraction(len(present))} | {1 + j: -speed(self.tables[j], v[j]) for j in present if v[j]} | later
                for v in allocations(self.tables, present)
            ]
        return self._blocks[interval]

    def _tail(self, prefix: Prefix) -> list[Row]:
        if prefix not in self._tails:
            # jobs that have not ended, whether they have arrived or not
            open_ = [job for job in range(self.jobs) if job not in prefix.events]
            rows: list[Row] = [{0: Fraction(1), 1 + j: -self.tables[j][-1]} for j in open_]
            for first in range(prefix.arrived, self.jobs):
                rows.append({1 + self.jobs + j: Fraction(-1) for j in range(first, self.jobs)})
            self._tails[prefix] = rows
        return self._tails[prefix]

    def bound(self, run: Whole, prefix: Prefix) -> tuple[float, FloatArray | None]:
        """Return the least r in floats, infinite if there is none, and the unknowns."""
        return self._solved(self.rows(run, prefix), len(run.rows), None)

    def _solved(self, rows: list[Row], splits: int, ratio: float | None) -> tuple[float, FloatArray | None]:
        """Minimise r; or, for a given r, return multipliers far from all rows."""
        from scipy.optimize import linprog

        unknowns = 1 + 2 * self.jobs + splits
        matrix = matrix_of(rows, unknowns + 1)
        right = np.array([float(row.get(RIGHT, 0)) for row in rows])
        cost = np.zeros(unknowns + 1)
        bounds: list[tuple[float | None, float | None]] = [(0, None)] * (unknowns + 1)
        # multipliers of arrivals may have any sign
        bounds[1 + self.jobs : 1 + 2 * self.jobs] = [(0, 0), *[(None, None)] * (self.jobs - 1)]  # the first is at 0
        if ratio is None:
            cost[0], bounds[-1] = 1.0, (0, 0)
        else:
            cost[-1], bounds[0], bounds[-1], matrix[:, -1] = -1.0, (ratio, ratio), (0, 1), -1.0
        found = linprog(cost, A_ub=-matrix, b_ub=-right, bounds=bounds, method="highs-ds")
        if found.status == _INFEASIBLE:
            return np.inf, None
        if found.status != 0:
            raise SolverError(f"a program of a proof: {found.message}")
        return float(found.x[0]), found.x[:unknowns]

    def least(self, run: Whole, prefix: Prefix, near: FloatArray) -> tuple[Fraction, Multipliers] | None:
        """Return the least r, and multipliers that prove it, from an optimum in floats; None if none are confirmed."""
        rows = self._signed(run, prefix, len(near))
        met: list[Equation] = []
        for row in rows:
            slack = sum(float(value) * near[k] for k, value in row.items() if k != RIGHT) - float(row.get(RIGHT, 0))
            if abs(slack) < _MET:
                met.append(row)
        exact = solution(met, len(near))
        return (exact[0], self._parts(exact)) if exact is not None and _holds(rows, exact) else None

    def proving(self, run: Whole, prefix: Prefix, near: FloatArray, ratio: Fraction) -> Multipliers | None:
        """Return multipliers that prove a ratio, near those in floats; None if none are confirmed."""
        found = self.least(run, prefix, near)
        if found is not None and found[0] <= ratio:
            return found[1]
        # multipliers inside the polyhedron survive rounding to short fractions
        _, inner = self._solved(self.rows(run, prefix), len(run.rows), float(ratio))
        rows = self._signed(run, prefix, len(near))
        for floats in (near, *(() if inner is None else (inner,))):
            for largest in _DENOMINATORS:
                exact = [ratio, *(Fraction(float(each)).limit_denominator(largest) for each in floats[1:])]
                if _holds(rows, exact):
                    return self._parts(exact)
        return None

    def _signed(self, run: Whole, prefix: Prefix, unknowns: int) -> list[Row]:
        """All rows of a program; multipliers of arrivals but the first may have any sign."""
        signs: list[Row] = [{k: Fraction(1)} for k in range(unknowns) if not self.jobs + 1 < k <= 2 * self.jobs]
        return self.rows(run, prefix) + signs

    def _parts(self, unknowns: Sequence[Fraction]) -> Multipliers:
        jobs = self.jobs
        return Multipliers(
            *map(tuple, (unknowns[1 : 1 + jobs], unknowns[1 + jobs : 1 + 2 * jobs], unknowns[1 + 2 * jobs :]))
        )


def _holds(rows: Sequence[Row], unknowns: Sequence[Fraction]) -> bool:
    """Whether unknowns satisfy all rows."""
    return all(value_of(row, unknowns) >= row.get(RIGHT, 0) for row in rows)


Leaf = tuple[Whole, Prefix, Multipliers]


@dataclass(frozen=True, eq=False)
class Node:
    """A run, the first events of the optimum, and the least bound r of its program, with the unknowns in floats."""

    run: Whole
    prefix: Prefix
    bound: float
    near: FloatArray


@dataclass(frozen=True, eq=False)
class Found:
    """The ratio of a run and an order of the optimum, what no ratio exceeds, and leaves that prove that.

    The two are equal where the search ended: the supremum. ``at_most`` is None, without leaves, where it ended too early.
    """

    ratio: Fraction
    at_most: Fraction | None
    worst: tuple[Whole, Prefix]
    leaves: list[Leaf]


_HAIR = 1 + 1e-9
_SHORT = 10**4
"""Denominator of what no ratio exceeds, where a search was stopped: multipliers near it are short."""


class Search:
    """A search for the supremum of a policy for jobs of these tables, in order of arrival; it may be stopped anywhere."""

    def __init__(self, policy: Callable[[], Policy], tables: Sequence[Speeds], tick: Callable[[int], None]) -> None:
        self._policy, self._tables, self._tick = policy, tables, tick
        self._programs, self._order = Programs(tables), count()
        self._waiting: list[tuple[float, int, int, Node]] = []
        self._listed = False  # whether all runs wait
        self._expanded: tuple[Node, list[Node]] | None = None  # a node, while its children replace it
        self._supremum: tuple[Fraction, tuple[Whole, Prefix]] | None = None
        self._leaves: list[Leaf] = []

    def run(self) -> Found:
        """Find the supremum.

        ``SolverError``: HiGHS gives no answer, or one that no rationals confirm; ``TypeError``: the policy's decisions are not
        linear; ``Unbounded``: there is none.
        """
        for run in runs(self._policy, self._tables, lambda: self._tick(0)):
            for node in self._solved(run, Prefix(len(self._tables))):
                self._push(node)
        self._listed = True
        while self._waiting:
            node = self._waiting[0][-1]
            # the heap's first whole order has the largest bound: the supremum
            if self._supremum is None and node.prefix.whole:
                self._supremum = self._exact(node), (node.run, node.prefix)
            leaf = None if self._supremum is None else self._leaf(node, self._supremum[0])
            children = self._children(node) if leaf is None else []
            self._expanded = node, children
            heapq.heappop(self._waiting)
            for child in children:
                self._push(child)
            if leaf is not None:
                self._leaves.append(leaf)
            self._expanded = None
        assert self._supremum is not None
        supremum, worst = self._supremum
        return Found(supremum, supremum, worst, self._leaves)

    def stopped(self) -> Found | None:
        """Return what is proven so far, after ``run`` was interrupted, without a limit; None: nothing is."""
        self._tick = lambda programs: None
        nodes = [node for *_, node in self._waiting]
        if self._expanded is not None:
            parent, children = self._expanded
            nodes = [
                parent,
                *(node for node in nodes if node is not parent and not any(node is each for each in children)),
            ]
        if not nodes:
            return None
        first = max(nodes, key=lambda node: node.bound)
        if self._supremum is None:
            whole = first
            while not whole.prefix.whole:
                whole = max(self._children(whole), key=lambda node: node.bound)
            self._supremum = self._exact(whole), (whole.run, whole.prefix)
        ratio, worst = self._supremum
        if not self._listed:
            return Found(ratio, None, worst, [])
        at_most = max(ratio, Fraction(math.ceil(first.bound * _HAIR * _SHORT), _SHORT))
        leaves = list(self._leaves)
        while nodes:
            node = nodes.pop()
            leaf = self._leaf(node, at_most)
            if leaf is not None:
                leaves.append(leaf)
            else:
                nodes += self._children(node)
        return Found(ratio, at_most, worst, leaves)

    def _leaf(self, node: Node, ratio: Fraction) -> Leaf | None:
        """Return multipliers that prove a ratio; None: longer orders may have some. ``SolverError``: no order is longer."""
        multipliers = self._programs.proving(node.run, node.prefix, node.near, ratio)
        if multipliers is None and node.prefix.whole:
            raise SolverError(f"no rationals confirm a bound of {node.bound!r} by {ratio}")
        return None if multipliers is None else (node.run, node.prefix, multipliers)

    def _exact(self, node: Node) -> Fraction:
        found = self._programs.least(node.run, node.prefix, node.near)
        if found is None:
            raise SolverError(f"no rationals confirm a bound of {node.bound!r}")
        return found[0]

    def _push(self, node: Node) -> None:
        heapq.heappush(self._waiting, (-node.bound, -len(node.prefix.events), next(self._order), node))

    def _children(self, node: Node) -> list[Node]:
        return [child for longer in node.prefix.longer() for child in self._solved(node.run, longer)]

    def _solved(self, run: Whole, prefix: Prefix) -> list[Node]:
        """Return the node of a prefix, or those of longer ones where its program has no bound."""
        self._tick(1)
        bound, near = self._programs.bound(run, prefix)
        if near is not None:
            return [Node(run, prefix, bound, near)]
        if prefix.whole:
            raise Unbounded(run.path)
        return [node for longer in prefix.longer() for node in self._solved(run, longer)]
