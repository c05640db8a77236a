"""Verifier of values of games: in rationals, without a solver, and without code of the search.

*Not more.* The plan is played on each history: its total flow time is at most ``at_most`` times the optimum.

*Not less.* The two sets of cells of a branch conflict cell by cell. At a leaf the rows that :mod:`dlsched.worst.competitive.game`
has, times their multipliers, add up to at most 1 for the ratio, at most 0 for a second in any cell that is left, and at
least ``at_least`` on the right.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, islice, product

from dlsched.core.errors import InputError
from dlsched.worst.certificates import Item, fraction, fractions, listed, mapped, whole
from dlsched.worst.competitive.grid import Cell, Grid, History

MOST_JOBS, MOST_UNITS, MOST_HISTORIES = 3, 8, 2000


@dataclass(frozen=True)
class VerifiedGame:
    """What is confirmed: the ends of the interval, and the numbers of histories played and of leaves."""

    at_least: Fraction
    at_most: Fraction
    histories: int
    leaves: int


def verify(data: Mapping[str, Item]) -> VerifiedGame:
    """Verify the certificate of a game, ``Game.as_data()``.

    Raises
    ------
    InputError
        The certificate cannot be read.
    ValueError
        The certificate does not prove what it states.
    """
    if data.get("kind") != "game":
        raise InputError(where="kind", found=repr(data.get("kind")), allowed="game")
    speeds = tuple(fractions(row, "speeds") for row in listed(data.get("speeds"), "speeds"))
    works, releases = (fractions(data.get(name), name) for name in ("works", "releases"))
    grid = Grid(speeds, whole(data.get("jobs"), "jobs", MOST_JOBS), works, releases, data.get("clairvoyant") is True)
    ascending = all(list(each) == sorted(set(each)) and each for each in (works, releases))
    lengths = {len(row) for row in speeds}
    if not ascending or works[0] <= 0 or len(lengths) != 1 or not 1 <= max(lengths) <= MOST_UNITS:
        raise InputError(
            where="works, releases, speeds", found="others", allowed="ascending, works > 0, as many speeds each"
        )
    if any(row[0] <= 0 or list(row) != sorted(row) for row in speeds):
        raise InputError(where="speeds", found="other speeds", allowed="positive ones that do not fall")
    at_least, at_most = (fraction(data.get(name), name) for name in ("at_least", "at_most"))
    plan = {}
    for entry in listed(data.get("plan"), "plan"):
        pieces = [listed(piece, "pieces", 2) for piece in listed(mapped(entry, "plan").get("pieces"), "pieces")]
        held = [[whole(each, "units", MOST_UNITS, 0) for each in listed(units, "units")] for _, units in pieces]
        seconds = [fraction(each, "seconds") for each, _ in pieces]
        plan[_tuples(entry.get("cell"))] = list(zip(seconds, held, strict=True))
    histories = list(islice(grid.histories(), MOST_HISTORIES + 1))
    if len(histories) > MOST_HISTORIES:
        raise InputError(where="works, releases", found="more histories", allowed=f"at most {MOST_HISTORIES}")
    for history in histories:
        if grid.flow(plan, history) > at_most * grid.optimum(history):
            raise ValueError(f"plan: exceeds {at_most} on {history}")
    # no policy is better than the optimum
    leaves = 0 if at_least == 1 else _Tree(grid, at_least).check(mapped(data.get("tree"), "tree"), frozenset())
    return VerifiedGame(at_least, at_most, len(histories), leaves)


class _Tree:
    """A tree of branches whose leaves have multipliers that prove a ratio."""

    def __init__(self, grid: Grid, ratio: Fraction) -> None:
        self.grid, self.ratio, self.histories = grid, ratio, set(grid.histories())

    def check(self, node: Mapping[str, Item], without: frozenset[Item]) -> int:
        """Check a tree of branches; return its leaves."""
        if "rows" in node:
            self._leaf(listed(node["rows"], "rows"), without)
            return 1
        parts = [mapped(each, "parts") for each in listed(node.get("parts"), "parts", 2)]
        sides = [[_tuples(cell) for cell in listed(part.get("without"), "without")] for part in parts]
        if not all(_conflict(one, other) for one, other in product(*sides)):
            raise ValueError("parts: some of their cells do not conflict")
        return sum(
            self.check(mapped(part.get("then"), "then"), without | set(side))
            for part, side in zip(parts, sides, strict=True)
        )

    def _leaf(self, rows: Sequence[Item], without: frozenset[Item]) -> None:
        """Check the multipliers of a leaf, without some cells; ValueError where they prove less."""
        ratio, right, total = Fraction(0), Fraction(0), defaultdict[Item, Fraction](Fraction)
        by: defaultdict[History, list[tuple[str, tuple[int, ...], Fraction]]] = defaultdict(list)
        for row in rows:
            of = tuple(whole(each, "of") for each in listed(mapped(row, "rows").get("of"), "of"))
            by[_tuples(row.get("history"))].append((row.get("kind"), of, fraction(row.get("multiplier"), "multiplier")))
        for history, factors in by.items():
            if history not in self.histories or any(y < 0 and kind != "window" for kind, _, y in factors):
                raise ValueError("rows: another history, or a multiplier below 0")
            if not {(kind, of) for kind, of, _ in factors} <= set(self._rows(history)):
                raise ValueError("rows: some that are none of the game's")
            ratio += sum(y * self.grid.optimum(history) for kind, _, y in factors if kind == "flow")
            right += sum(y * self._right(history, kind, of) for kind, of, y in factors)
            for cell, stages, units, speeds in self._columns(history):
                if cell not in without:
                    of_cell = (
                        y * self._coefficient(history, kind, of, cell, stages, speeds) for kind, of, y in factors
                    )
                    total[cell, units] += sum(of_cell)
        if ratio > 1 or right < self.ratio or any(each > 0 for each in total.values()):
            raise ValueError(f"rows: prove less than {self.ratio}")

    def _rows(self, history: History) -> Iterator[tuple[str, tuple[int, ...]]]:
        """All rows of a history."""
        yield "flow", ()
        yield from (("window", (window,)) for window in range(history[0][0], len(self.grid.releases) - 1))
        stages = [(i, a) for i, (*_, work) in enumerate(history) for a, _ in enumerate(self.grid.ends(work))]
        yield from (("work", each) for each in stages)
        yield from (("pair", one + other) for one, other in product(stages, repeat=2) if one[0] != other[0])

    def _columns(self, history: History) -> Iterator[tuple[Cell, tuple[int, ...], tuple[int, ...], list[Fraction]]]:
        """Cells of a history that not each best policy avoids, stages done, allocations, and each job's speed."""
        grid = self.grid
        for window in range(history[0][0], len(grid.releases)):
            for stages in product(*(range(1 + len(grid.ends(work)) * (k <= window)) for k, _, work in history)):
                pairs = combinations(zip(history, stages, strict=True), 2)
                if any(self._ahead(i, j) and before < 1 <= after for (i, before), (j, after) in pairs):
                    continue
                cell = grid.cell(history, window, stages)
                for units in grid.allocations(cell):
                    held = [*units, *[0] * (len(history) - len(units))]
                    yield cell, stages, units, [grid.speed(job[1], m) for job, m in zip(history, held, strict=True)]

    def _ahead(self, first: tuple[int, int, int], second: tuple[int, int, int]) -> bool:
        """Whether the first of two jobs in order of arrival has no more left, or looks the same and is named before."""
        return first[1] == second[1] and (first[2] <= second[2] if self.grid.clairvoyant else first[0] == second[0])

    def _right(self, history: History, kind: str, of: Sequence[int]) -> Fraction:
        if kind == "work":
            return self.grid.stages(history[of[0]][2])[of[1]]
        if kind == "window":
            return self.grid.releases[of[0] + 1] - self.grid.releases[of[0]]
        return Fraction(kind == "pair")

    def _coefficient(
        self,
        history: History,
        kind: str,
        of: Sequence[int],
        cell: Cell,
        stages: Sequence[int],
        speeds: Sequence[Fraction],
    ) -> Fraction:
        """Coefficient of a second in a row."""

        def part(job: int, stage: int) -> Fraction:
            doing = speeds[job] and stages[job] == stage
            return speeds[job] / self.grid.stages(history[job][2])[stage] if doing else Fraction(0)

        if kind == "flow":
            return Fraction(-sum(not known[4] for known in cell[1]))
        if kind == "work":
            return speeds[of[0]] if stages[of[0]] == of[1] else Fraction(0)
        if kind == "window":
            return Fraction(cell[0] == of[0])
        i, a, j, b = of
        return part(i, a) * (stages[j] <= b) + part(j, b) * (stages[i] <= a)


def _tuples(data: Item) -> Item:
    return tuple(map(_tuples, data)) if isinstance(data, list | tuple) else data


def _conflict(one: Item, other: Item) -> bool:
    """Whether cells have a history in common, in which neither can come before the other."""
    first = min(one[0], other[0])
    mine, its = ([job for job in cell[1] if job[0] <= first] for cell in (one, other))
    before, after = one[0] < other[0], other[0] < one[0]
    for a, b in zip(mine, its, strict=False):
        # of what has ended all stages are known; of two that have not, the later one may follow from the earlier
        if a[:3] != b[:3] or (a[4] and b[4] and a[3] != b[3]) or (a[4] != b[4] and (a[3] > b[3]) != a[4]):
            return False
        before, after = before or a[3] < b[3], after or a[3] > b[3]
    return len(mine) == len(its) and before and after
