"""``prove_all_tables``: the supremum of a policy's ratio over all concave tables of speeds, as an interval with a certificate.

Ratios do not depend on the unit of work, so tables have speed 1 on all C units. The concave ones that do not fall are
the simplex with the corners min(m, k) / k, k = 1, ..., C. For given multipliers all rows of a proof are polynomials in the
weights of the corners, mostly linear. So multipliers prove what they do for all tables of a simplex if coefficients
have the right sign, and a simplex whose bound is too large is halved. The lower end is the ratio of a given table.

Where a policy decides by the table, a simplex is cut in two. Where two compared numbers are equal on a face, its tables
are proven again by themselves.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Literal

from dlsched.core.errors import SolverError, UsageError
from dlsched.core.limits import Budget, Limits, ProgressCallback, Stopped
from dlsched.worst.competitive.proven import POLICIES, Setting, Supremum, shown_by, too_early, tree_of
from dlsched.worst.competitive.runs import Unbounded
from dlsched.worst.competitive.search import Found, Search
from dlsched.worst.competitive.stream import Speeds
from dlsched.worst.competitive.tables import Cut, Simplex, degree_of
from dlsched.worst.proving.branch_and_bound import counting

CONCAVE = "concave"
GAP = Fraction(1, 1000)
MOST_UNITS, MOST_JOBS, MOST_HALVINGS = 4, 2, 60
_INSIDE = Fraction(1, 2**12)
"""How far inside a simplex a table is, of the way to the middle: on faces a policy may decide otherwise."""


@dataclass(eq=False)
class Cell:
    """A simplex of tables: with a proof for all of them but those of ``ties``, or cut on an edge into two cells.

    ``cut``: the two corners, and how much of the second its new corner has. Without a proof no bound is known.
    """

    corners: tuple[Speeds, ...]
    depth: int
    found: Found | None = None
    ties: "dict[tuple[int, ...], Cell]" = field(default_factory=dict)
    cut: tuple[int, int, Fraction] | None = None
    parts: "tuple[Cell, ...]" = ()

    def leaves(self) -> "Iterator[Cell]":
        """Yield the cells that are not cut."""
        if not self.parts:
            yield self
        for cell in (*self.parts, *self.ties.values()):
            yield from cell.leaves()

    def as_data(self) -> dict[str, object]:
        """Return it as certificates hold it."""
        if self.cut is not None:
            first, second, share = self.cut
            return {"edge": [first, second], "at": str(share), "parts": [each.as_data() for each in self.parts]}
        assert self.found is not None
        weights = len(self.corners) if len(self.corners) > 1 else 0
        data: dict[str, object] = {"tree": tree_of(self.found.leaves, weights)}
        if self.ties:
            data["ties"] = [{"face": list(face), "cell": cell.as_data()} for face, cell in self.ties.items()]
        return data


@dataclass(frozen=True, kw_only=True, repr=False)
class AllTables(Supremum):
    """The supremum over all concave tables: the worst table found with its instance, and what no ratio of any table exceeds.

    ``supremum`` is None; ``cell``: the proof, None if the limits allowed none.
    """

    cell: Cell | None = field(repr=False)

    @property
    def space(self) -> str:
        """Of what instances it speaks."""
        return "all arrivals and works, with any concave speeds that all jobs have"

    def as_data(self) -> dict[str, object]:
        """Return the certificate, a JSON object that ``dlsched check`` verifies in rationals."""
        data = super().as_data() | {"speeds": CONCAVE}
        return data | {"proof": [] if self.cell is None else [self.cell.as_data()]}


class _Tables:
    """The search over tables."""

    def __init__(self, method: str, jobs: int, budget: Budget, progress: ProgressCallback | None) -> None:
        self.method, self.jobs, self.budget = method, jobs, budget
        self._evaluated = set[Speeds]()
        self.worst: Supremum | None = None
        self._tick = counting(budget, progress)

    @property
    def least(self) -> Fraction:
        """The largest ratio of an instance so far."""
        return Fraction(0) if self.worst is None else self.worst.ratio

    def evaluate(self, table: Speeds) -> None:
        """Find the supremum of a table, with an instance."""
        if table in self._evaluated:
            return
        speeds = tuple(each / table[0] for each in table)
        setting, classes = Setting(self.method, self.jobs, (speeds,)), (0,) * self.jobs
        found = Search(setting.policy, [speeds] * self.jobs, [1] * self.jobs, self._tick).run()
        proof = shown_by(setting, {classes: found}, None, self.budget.nodes)
        self._evaluated.add(table)
        if proof.ratio > self.least:
            self.worst = proof

    def solved(self, corners: tuple[Speeds, ...], depth: int) -> Cell:
        """Return a cell with a bound, as small as the largest ratio known."""
        cell = Cell(corners, depth)
        if depth > MOST_HALVINGS:
            raise SolverError(f"{self.method}: no bound on a simplex of tables cut {depth} times")
        simplex = Simplex(corners) if len(corners) > 1 else None
        search = Search(
            POLICIES[self.method], [corners[0]] * self.jobs, [1] * self.jobs, self._tick, simplex, self.least
        )
        try:
            cell.found = search.run()
        except Cut as cut:
            if degree_of(cut.polynomial) > 1:
                raise UsageError(
                    where="method",
                    found=f"{self.method!r}, which compares products of speeds",
                    allowed="one that does not",
                ) from None
            # the edge on which the number changes its sign, cut where it is 0
            values = [cut.polynomial[tuple(int(k == at) for k in range(len(corners)))][0] for at in range(len(corners))]
            first, second = (values.index(extreme) for extreme in (min(values), max(values)))
            self._cut(cell, first, second, values[first] / (values[first] - values[second]))
        except TypeError as error:  # arithmetic that numbers of the table do not have
            allowed = "a policy whose times are sums of works and lengths times speeds"
            raise UsageError(where="method", found=f"{self.method!r}: {error}", allowed=allowed) from None
        except Unbounded:
            if simplex is None:
                raise
            self.halve(cell)
        else:
            for face in sorted(simplex.ties) if simplex is not None else ():
                cell.ties[face] = self.solved(tuple(corners[each] for each in face), depth + 1)
        return cell

    def halve(self, cell: Cell) -> None:
        """Cut a cell in the middle of its longest edge."""

        def length(edge: tuple[int, int]) -> Fraction:
            one, other = (cell.corners[each] for each in edge)
            return sum(((a - b) * (a - b) for a, b in zip(one, other, strict=True)), Fraction(0))

        first, second = max(combinations(range(len(cell.corners)), 2), key=length)
        self._cut(cell, first, second, Fraction(1, 2))

    def _cut(self, cell: Cell, first: int, second: int, share: Fraction) -> None:
        corners = cell.corners
        new = between(corners[first], corners[second], share)
        halves = [tuple(new if at == gone else each for at, each in enumerate(corners)) for gone in (second, first)]
        parts = tuple(self.solved(each, cell.depth + 1) for each in halves)
        cell.cut, cell.parts, cell.found, cell.ties = (first, second, share), parts, None, {}

    def run(self, units: int, gap: Fraction) -> Iterator[Cell]:
        """Yield the cell of all tables when it has a bound, then after each cut."""
        corners = tuple(tuple(Fraction(min(m, k), k) for m in range(1, units + 1)) for k in range(1, units + 1))
        for corner in corners:
            self.evaluate(corner)
        root = self.solved(corners, 0)
        yield root
        while True:
            cell = max(root.leaves(), key=at_most)
            middle = tuple(sum(row, Fraction(0)) / len(cell.corners) for row in zip(*cell.corners, strict=True))
            for table in (middle, *cell.corners, *(between(each, middle, _INSIDE) for each in cell.corners)):
                if at_most(cell) > self.least * (1 + gap):
                    self.evaluate(table)
            if at_most(cell) <= self.least * (1 + gap):
                return
            self.halve(cell)
            yield root


def between(one: Speeds, other: Speeds, share: Fraction) -> Speeds:
    """Return a table on the way from one to another."""
    return tuple(a + share * (b - a) for a, b in zip(one, other, strict=True))


def at_most(cell: Cell) -> Fraction:
    """What no ratio on a cell that is not cut exceeds."""
    assert cell.found is not None and cell.found.at_most is not None
    return cell.found.at_most


def prove_all_tables(
    method: str,
    *,
    units: int,
    jobs: int = 2,
    gap: Fraction = GAP,
    limits: Limits | None = None,
    progress: ProgressCallback | None = None,
) -> AllTables:
    """Prove how bad a policy of elastic_stream can be on any concave table of speeds that all jobs have.

    ``method``: name of a policy; ``units``, ``jobs``: of the cluster, 1 to 4 and 1 or 2; ``gap``: the upper end is at most
    1 + ``gap`` times the lower one; ``limits``, ``progress`` and errors as in ``prove_policy``.
    """
    if method not in POLICIES:
        raise UsageError(where="method", found=repr(method), allowed=", ".join(POLICIES))
    for name, value, most in (("gpus", units, MOST_UNITS), ("jobs", jobs, MOST_JOBS)):
        if not 1 <= value <= most:
            raise UsageError(where=name, found=value, allowed=f"1 to {most} with all concave tables")
    if not gap > 0:
        raise UsageError(where="gap", found=gap, allowed="a number > 0")
    budget = Budget(limits)
    search = _Tables(method, jobs, budget, progress)
    root: Cell | None = None
    ended: Literal["budget", "limit", "interrupted"] = "budget"
    try:
        for cell in search.run(units, gap):
            root = cell
    except Stopped as stopped:
        ended = "limit"
        if search.worst is None:
            raise too_early(stopped, budget.nodes) from None
    except KeyboardInterrupt:
        ended = "interrupted"
        if search.worst is None:
            raise
    except Unbounded as unbounded:
        raise UsageError(f"{method}: the ratio has no bound: jobs wait after these events: {unbounded}") from None
    worst = search.worst
    assert worst is not None
    fields = {name: getattr(worst, name) for name in ("ratio", "instance", "schedule")}
    return AllTables(
        **fields,
        setting=Setting(method, jobs, worst.setting.speeds),
        supremum=None,
        at_most=None if root is None else max(map(at_most, root.leaves())),
        limit=None,
        programs=budget.nodes,
        trees={},
        ended=ended,
        cell=root,
    )
