r"""The best that any policy can do on a grid: the value of the game between adversary and policy.

*Game.* At each moment of the grid the adversary lets jobs arrive, n at most in all, each with a work of the grid. The policy
divides its time as it likes and knows the past only: of a job its work from the arrival on (clairvoyant), or only whether it
has ended. The value is the least r such that some policy has flow(h) <= r optimum(h) for each history h of arrivals and works.

*Program.* A job has stages, one to each work that may be its own; clairvoyant, it has one. A cell is what the policy knows:
window k between two moments, arrivals, each job's stage, who has ended. The seconds x >= 0 of a cell and an allocation are
the same for all histories of the cell. Over the cells of a history, with multipliers >= 0 but for ``window``:

==========  ===================================================================================
``flow``    r optimum - seconds x unfinished jobs >= 0; the multiplier is the history's weight
``work``    work of job i in stage a >= its length
``pair``    part of (i, a) done while j is in stages <= b, plus part of (j, b) while i is <= a, >= 1
``window``  seconds of window k = its length; the last window is open
==========  ===================================================================================

Policies keep ``pair``: of two stages one ends first, and all of it is done while the other is not over.

*Branching.* Two cells of a history conflict if each has, by window and stages, something before the other: no policy visits both.
A solution without conflicts is a policy, each history's cells in order. Else two sets whose cells all conflict with the other
set's make two branches: one without the one, one without the other. The first arrivals part the game into games of their own.

*Equal jobs.* Of two jobs with equal speeds one ends its first stage first in some best policy: if works are known, the earlier
one if it has no more work; else, if they arrive together, the one named first: names are exchanged where both have equally
much left.

*Ends.* The upper end is the plan's, played in rationals; the lower one is by rational multipliers of each leaf.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, count, islice, product
from typing import TypeAlias

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray
from dlsched.core.display import Brief
from dlsched.core.errors import SolverError, UsageError
from dlsched.core.limits import Budget, Limits, Stopped
from dlsched.worst.competitive.grid import Cell, Grid, History, Pieces, Plan
from dlsched.worst.competitive.strategy import Strategy
from dlsched.worst.proving.branch_and_bound import RIGHT, Equation, solution, value_of

MOST_JOBS, MOST_HISTORIES = 3, 2000
_CLOSE, _MET, _SPREAD = 1e-9, 1e-8, 1e-3
_OPTIMAL, _SHORT = 0, (10**3, 10**5, 10**7)

Tree: TypeAlias = dict[str, object]
Name: TypeAlias = tuple[str, tuple[int, ...]]
"""A row of a history: its kind, and jobs with their stages, or the window."""


def conflict(one: Cell, other: Cell) -> bool:
    """Whether two cells have a history in common, in which each has something before the other."""
    (k, jobs), (later, others) = sorted((one, other), key=lambda cell: cell[0])
    others = tuple(each for each in others if each[0] <= k)
    if [each[:3] for each in jobs] != [each[:3] for each in others]:
        return False
    pairs = [(a[3:], b[3:]) for a, b in zip(jobs, others, strict=True)]
    # who has ended has no stage more
    if any(a != b and ((a[1] and a[0] <= b[0]) or (b[1] and b[0] <= a[0])) for a, b in pairs):
        return False
    return any(a > b for a, b in pairs) and (k < later or any(a < b for a, b in pairs))


def late(cell: Cell) -> bool:
    """Whether some best policy avoids a cell: a job is in its first stage, and one that cannot be ahead is not."""
    return any(
        before[1] == after[1]
        and not before[3]
        and after[3]
        and (before[0] == after[0] if before[2] is None or after[2] is None else before[2] <= after[2])
        for before, after in combinations(cell[1], 2)
    )


def _rationals(met: Sequence[Equation], near: FloatArray) -> Iterator[list[Fraction]]:
    """Yield rationals near a vertex in floats: those that solve the equations it meets, and some with short denominators."""
    exact = solution(met, len(near))
    yield from [] if exact is None else [exact]
    yield from ([Fraction(each).limit_denominator(most) for each in near.tolist()] for most in _SHORT)


def _after(done: tuple[int, ...], job: int) -> tuple[int, ...]:
    return (*done[:job], done[job] + 1, *done[job + 1 :])


@dataclass(eq=False)
class _Node:
    """Cells that are left, a bound and its multipliers in floats, seconds by cell; branches, and the cells each loses."""

    allowed: BoolArray
    bound: float
    y: FloatArray
    seconds: FloatArray
    parts: list[tuple[list[int], "_Node"]] = field(default_factory=list)


class _Subgame:
    """The histories that begin alike, whose optima are given: program, search, and what both ends are proven by."""

    def __init__(self, grid: Grid, histories: Sequence[History], optima: Sequence[Fraction]) -> None:
        self.grid, self.histories, self.optima = grid, histories, optima
        self.plan: Plan = {}
        self.upper = self._ratio({})
        self.most = 2 * self.upper  # more than the value
        self.cells: dict[Cell, int] = {}
        self.columns: list[tuple[int, Sequence[int]]] = []
        self.paths: list[dict[tuple[int, tuple[int, ...]], int]] = []
        rows: dict[frozenset[tuple[int, Fraction]], tuple[int, Name]] = {}
        of: dict[int, range] = {}  # columns by cell
        for number, history in enumerate(histories):
            stages = [grid.stages(work) for *_, work in history]
            found: defaultdict[Name, Equation] = defaultdict(dict)
            found["flow", ()][0] = optima[number]
            self.paths.append({})
            for window in range(history[0][0], len(grid.releases)):
                steps = [range(1 + len(each) * (job[0] <= window)) for each, job in zip(stages, history, strict=True)]
                for done in product(*steps):
                    cell = grid.cell(history, window, done)
                    if late(cell):
                        continue
                    index = self.paths[-1][window, done] = self.cells.setdefault(cell, len(self.cells))
                    if index not in of:
                        self.columns += [(index, units) for units in grid.allocations(cell)]
                        of[index] = range(sum(map(len, of.values())) + 1, len(self.columns) + 1)
                    for column in of[index]:
                        units = [*self.columns[column - 1][1], *[0] * (len(history) - len(cell[1]))]
                        rates = [grid.speed(table, held) for (_, table, _), held in zip(history, units, strict=True)]
                        for name, factor in self._terms(history, stages, window, done, rates):
                            found[name][column] = found[name].get(column, Fraction(0)) + factor
            for name, row in found.items():
                row[RIGHT] = self._right(name, stages)
                rows.setdefault(frozenset(row.items()), (number, name))
        self.rows: dict[tuple[int, Name], Equation] = {name: dict(row) for row, name in rows.items()}
        self._make_arrays()

    def _terms(
        self,
        history: History,
        stages: Sequence[Sequence[Fraction]],
        window: int,
        done: Sequence[int],
        rates: list[Fraction],
    ) -> Iterator[tuple[Name, Fraction]]:
        """Coefficients of a second in a cell of a history, by row; some rows come twice."""
        here = [j for j, job in enumerate(history) if job[0] <= window and done[j] < len(stages[j])]
        yield ("flow", ()), Fraction(-len(here))
        if window + 1 < len(self.grid.releases):
            yield ("window", (window,)), Fraction(1)
        for i in here:
            if rates[i]:
                stage = done[i]
                yield ("work", (i, stage)), rates[i]
                for j in range(len(history)):
                    for b in range(done[j], len(stages[j]) if j != i else 0):
                        name = (i, stage, j, b) if i < j else (j, b, i, stage)
                        yield ("pair", name), rates[i] / stages[i][stage]

    def _right(self, name: Name, stages: Sequence[Sequence[Fraction]]) -> Fraction:
        kind, of = name
        if kind == "work":
            return stages[of[0]][of[1]]
        if kind == "window":
            return self.grid.releases[of[0] + 1] - self.grid.releases[of[0]]
        return Fraction(kind == "pair")

    def _make_arrays(self) -> None:
        """Matrix, right sides and costs in floats; a last column meets all rows at once, so that no branch is infeasible."""
        from scipy.sparse import csr_array

        triples = [(i, k, float(a)) for i, row in enumerate(self.rows.values()) for k, a in row.items() if k != RIGHT]
        self.right = np.array([float(row[RIGHT]) for row in self.rows.values()])
        triples += [(i, len(self.columns) + 1, right) for i, right in enumerate(self.right.tolist()) if right]
        i, k, a = map(np.array, zip(*triples, strict=True))
        self.matrix = csr_array((a, (i, k)), shape=(len(self.rows), len(self.columns) + 2))
        kinds = np.array([kind for _, (kind, _) in self.rows])
        self.equal, self.of_cell = kinds == "window", np.array([index for index, _ in self.columns])
        self.costs = np.zeros(len(self.columns) + 2)
        self.costs[[0, -1]] = 1.0, float(self.most)
        flows = self.matrix[kinds == "flow"].toarray() / np.array([[float(each)] for each in self.optima])
        self.ratios = np.append(0.0, -flows.mean(axis=0)[1:])  # mean of the histories' ratios
        cells = list(self.cells)
        self.conflicts = np.array([[conflict(a, b) for b in cells] for a in cells])

    def _solve(self, allowed: BoolArray, spread: float = 0.0) -> tuple[float, FloatArray, FloatArray]:
        """Minimise r, and ``spread`` of the mean ratio; return the value, unknowns and multipliers of rows."""
        from scipy.optimize import linprog

        upper = np.where(np.concatenate(([True], allowed[self.of_cell], [True])), np.inf, 0.0)
        signs = np.where(self.equal, 1.0, -1.0)
        matrix, right = self.matrix * signs[:, None], self.right * signs
        found = linprog(
            self.costs + spread * self.ratios,
            *(matrix[~self.equal], right[~self.equal], matrix[self.equal], right[self.equal]),
            bounds=np.stack((np.zeros(len(upper)), upper), axis=1),
            method="highs-ds",
            options={"presolve": False},
        )
        if found.status != _OPTIMAL:
            raise SolverError(f"a program of a game: {found.message}")
        y = np.zeros(len(signs))
        y[~self.equal], y[self.equal] = -found.ineqlin.marginals, found.eqlin.marginals
        return float(found.fun), found.x, y

    def _node(self, allowed: BoolArray) -> _Node:
        value, x, y = self._solve(allowed)
        return _Node(allowed, value, y, self._seconds(x))

    def _seconds(self, x: FloatArray) -> FloatArray:
        return np.bincount(self.of_cell, x[1:-1], len(self.cells)).astype(np.float64)

    def search(self, budget: Budget, enough: Fraction) -> _Node:
        """Search until both ends meet, or the upper one is ``enough``; return the root, whose leaves hold the lower end."""
        order = count()
        root = self._node(np.ones(len(self.cells), dtype=np.bool_))
        waiting = [(root.bound, next(order), root)]
        while waiting and waiting[0][0] < float(self.upper) * (1 - _CLOSE) and self.upper > enough:
            node = waiting[0][-1]
            try:
                budget.tick(1)
            except Stopped:
                break
            heapq.heappop(waiting)
            sides = self._sides(node)
            self._improve(node, spread=bool(sides))
            for side in sides:
                allowed = node.allowed.copy()
                allowed[side] = False
                node.parts.append((side, self._node(allowed)))
                below = node.parts[-1][1]
                below.bound = max(below.bound, node.bound)
                heapq.heappush(waiting, (below.bound, next(order), below))
        return root

    def _improve(self, node: _Node, *, spread: bool) -> None:
        """Make a policy near the node's solution, or near one of a smaller mean ratio, and keep it if it is better."""
        seconds = self._seconds(self._solve(node.allowed, _SPREAD)[1]) if spread else node.seconds
        _, x, _ = self._solve(self._chains(seconds))
        if x[0] < float(self.upper) * (1 - _CLOSE):
            self._keep(x)

    def _keep(self, x: FloatArray) -> None:
        """Take a solution without conflicts for a plan, in rationals if those near it solve the rows that it meets."""
        used = np.flatnonzero(x[:-1] > _CLOSE).tolist()
        slack = self.matrix @ x - self.right
        met = [row for row, rest in zip(self.rows.values(), slack.tolist(), strict=True) if abs(rest) < _MET]
        place = {column: k for k, column in enumerate(used)} | {RIGHT: RIGHT}
        rows = [{place[k]: a for k, a in row.items() if k in place} for row in met]
        for values in _rationals(rows, x[used]):
            plan: defaultdict[Cell, list[tuple[Fraction, Sequence[int]]]] = defaultdict(list)
            cells = list(self.cells)
            for column, value in zip(used, values, strict=True):
                if column:
                    index, units = self.columns[column - 1]
                    plan[cells[index]].append((value, units))
            ratio = self._ratio(plan)
            if ratio < self.upper:
                self.upper, self.plan = ratio, plan

    def _ratio(self, plan: Plan) -> Fraction:
        return max(self.grid.flow(plan, each) / best for each, best in zip(self.histories, self.optima, strict=True))

    def _chains(self, seconds: FloatArray) -> BoolArray:
        """Cells that policies near a solution visit: in each, next ends the stage in which the history is for the least time."""
        allowed = np.zeros(len(self.cells), dtype=np.bool_)
        following: dict[int, int | None] = {}
        for history, path in zip(self.histories, self.paths, strict=True):
            window, done, last = history[0][0], (0,) * len(history), len(self.grid.releases) - 1
            while True:
                index = path[window, done]
                allowed[index] = True
                if index not in following:
                    spent = [(each, seconds[cell]) for (k, each), cell in path.items() if k == window]
                    spent = [(each, s) for each, s in spent if all(map(int.__ge__, each, done))]
                    open_ = [j for j, job in enumerate(list(self.cells)[index][1]) if not job[-1]]
                    open_ = [j for j in open_ if (window, _after(done, j)) in path]
                    times = {j: sum(s for each, s in spent if each[j] == done[j]) for j in open_}
                    first = min(open_, key=lambda j: (times[j], j), default=None)
                    ends = first is not None and (
                        window == last or times[first] < sum(s for _, s in spent) * (1 - _MET)
                    )
                    following[index] = first if ends else None
                job = following[index]
                if job is not None:
                    done = _after(done, job)
                elif window < last:
                    window += 1
                else:
                    break
        return allowed

    def _sides(self, node: _Node) -> list[list[int]]:
        """Two sets of cells that conflict, around the pair of the solution that shares most time; none if it has no conflict."""
        used = np.flatnonzero(node.seconds > _MET)
        shared = np.minimum.outer(node.seconds[used], node.seconds[used]) * self.conflicts[np.ix_(used, used)]
        if not shared.any():
            return []
        i, j = (int(used[k]) for k in np.unravel_index(int(shared.argmax()), shared.shape))
        sides = [[i], [j]]
        while True:
            # whoever leaves most others to choose from comes next
            free = [self.conflicts[other].all(axis=0) for other in reversed(sides)]
            scores = [np.where(mine, self.conflicts[:, its].sum(axis=1), -1) for mine, its in (free, free[::-1])]
            for side, score in zip(sides, scores, strict=True):
                score[side] = -1
            best = int(scores[1].max() > scores[0].max())
            if scores[best].max() < 0:
                return sides
            sides[best].append(int(scores[best].argmax()))

    def lower(self, node: _Node) -> tuple[Fraction, Tree]:
        """The least bound of the leaves below a node in rationals, and the certificate. SolverError: no rationals confirm one."""
        if node.parts:
            below = [(side, *self.lower(child)) for side, child in node.parts]
            cells = list(self.cells)
            parts = [{"without": [cells[index] for index in side], "then": tree} for side, _, tree in below]
            return min(bound for _, bound, _ in below), {"parts": parts}
        used = [(k, name) for k, name in enumerate(self.rows) if abs(node.y[k]) > _CLOSE]
        columns: dict[int, Equation] = {0: {RIGHT: Fraction(1)}}
        for place, (_, name) in enumerate(used):
            for column, factor in self.rows[name].items():
                if column <= 0 or node.allowed[self.of_cell[column - 1]]:
                    columns.setdefault(column, {})[place] = factor
        right = columns.pop(RIGHT)
        columns[len(self.columns) + 1] = right | {RIGHT: self.most}
        floats = node.y[[k for k, _ in used]]
        slack = [value_of(column, floats.tolist()) - float(column.get(RIGHT, 0)) for column in columns.values()]
        met = [column for column, rest in zip(columns.values(), slack, strict=True) if abs(rest) < _MET]
        kinds = [kind for _, (_, (kind, _)) in used]
        proven = [
            (value_of(right, exact), exact)
            for exact in _rationals(met, floats)
            if all(value >= 0 or kind == "window" for value, kind in zip(exact, kinds, strict=True))
            and all(value_of(column, exact) <= column.get(RIGHT, 0) for column in columns.values())
        ]
        if not proven:
            raise SolverError(f"no rationals confirm a bound of {node.bound!r}")
        bound, exact = max(proven)
        rows = [
            {"kind": kind, "history": self.histories[number], "of": of, "multiplier": str(value)}
            for value, (_, (number, (kind, of))) in zip(exact, used, strict=True)
        ]
        return bound, {"rows": rows}


@dataclass(frozen=True, kw_only=True, repr=False)
class Game(Brief):
    """The value of a game, or an interval that holds it: between ``at_least`` and ``at_most``.

    ``plan``: the strategy that never exceeds ``at_most``; ``optima``: of all histories, total flow times in hindsight; ``tree``:
    what proves ``at_least``; ``nodes``: of the search.
    """

    grid: Grid
    at_least: Fraction
    at_most: Fraction
    plan: Plan = field(repr=False)
    optima: Mapping[History, Fraction] = field(repr=False)
    tree: Tree = field(repr=False)
    nodes: int

    @property
    def value(self) -> Fraction | None:
        """The value; None if only an interval is known."""
        return self.at_least if self.at_least == self.at_most else None

    def as_data(self) -> dict[str, object]:
        """Return the certificate, a JSON object that ``game_verification.verify`` verifies in rationals."""
        grid = self.grid
        plan = [
            {"cell": cell, "pieces": [[str(seconds), [*units]] for seconds, units in pieces]}
            for cell, pieces in self.plan.items()
        ]
        return {
            "kind": "game",
            "family": "elastic_stream",
            "speeds": [[*map(str, table)] for table in grid.speeds],
            "jobs": grid.jobs,
            "works": [*map(str, grid.works)],
            "releases": [*map(str, grid.releases)],
            "clairvoyant": grid.clairvoyant,
            "at_least": str(self.at_least),
            "at_most": str(self.at_most),
            "plan": plan,
            "tree": self.tree,
        }

    def policy(self) -> "Strategy":
        """Return the strategy as a fresh policy, for instances of the grid."""
        return Strategy(self.grid, self.plan)


def solve_game(
    speeds: Sequence[Sequence[Fraction | int | str]],
    jobs: int,
    works: Sequence[Fraction | int | str],
    releases: Sequence[Fraction | int | str],
    *,
    clairvoyant: bool = True,
    limits: Limits | None = None,
) -> Game:
    """Find the value of the game between adversary and policy on a grid, and a strategy that attains it.

    Parameters
    ----------
    speeds
        One or more tables of speeds on 1, 2, ..., C units; a job has any of them.
    jobs
        Most jobs of a history.
    works, releases
        Works > 0, and moments >= 0 in seconds, that the adversary may choose; several jobs may arrive at one moment.
    clairvoyant
        Whether the policy knows a job's work when it arrives.
    limits
        Limits of the search; its nodes are those of branch and bound. Stopped by one, it returns an interval.

    Raises
    ------
    UsageError
        The grid is none, or has too many histories.
    SolverError
        HiGHS gives no answer, or one that no rationals confirm.
    """
    tables = tuple(tuple(Fraction(each) for each in table) for table in speeds)
    if not tables or any(len(t) != len(tables[0]) or not t or t[0] <= 0 or list(t) != sorted(t) for t in tables):
        raise UsageError(where="speeds", found="other tables", allowed="positive ones of one length that do not fall")
    if not 1 <= jobs <= MOST_JOBS:
        raise UsageError(where="jobs", found=jobs, allowed=f"1 to {MOST_JOBS}")
    sizes, moments = (tuple(sorted({Fraction(each) for each in values})) for values in (works, releases))
    grid = Grid(tables, jobs, sizes, moments, clairvoyant)
    if not grid.works or grid.works[0] <= 0 or not grid.releases or grid.releases[0] < 0:
        raise UsageError(where="works, releases", found="others", allowed="works > 0, and moments >= 0")
    histories = list(islice(grid.histories(), MOST_HISTORIES + 1))
    if len(histories) > MOST_HISTORIES:
        raise UsageError(where="grid", found="more histories", allowed=f"at most {MOST_HISTORIES}")
    optima = {history: grid.optimum(history) for history in histories}
    budget = Budget(limits)
    games: defaultdict[Cell, list[History]] = defaultdict(list)
    for history in optima:
        games[grid.cell(history, history[0][0], (0,) * len(history))].append(history)
    at_least, at_most, tree, plan = Fraction(1), Fraction(1), Tree(), dict[Cell, Pieces]()
    for each in sorted(games.values(), key=len, reverse=True):
        game = _Subgame(grid, each, [optima[history] for history in each])
        root = game.search(budget, at_least)
        plan.update(game.plan)
        at_most = max(at_most, game.upper)
        if game.upper > at_least:
            bound, proof = game.lower(root)
            if bound > at_least:
                at_least, tree = bound, proof
    return Game(grid=grid, at_least=at_least, at_most=at_most, plan=plan, optima=optima, tree=tree, nodes=budget.nodes)
