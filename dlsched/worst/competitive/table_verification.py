"""Verifier of proofs for all concave tables of speeds: the trees of ``tree_verification`` on simplices of tables.

Tables that are multiples of each other have the same ratios. So all concave ones that do not fall are between the corners
min(m, k) / k, k = 1, ..., C. A cell of the proof is cut on an edge of its simplex, at a new corner, into two; or it has a
tree. Coefficients in the tree are polynomials in the speeds, and, in splits, in the weights x of the corners. With speeds
sum_i x_i corner_i and sum_i x_i = 1 they become polynomials of one degree in x: if no coefficient is below 0, they are >= 0 on
the simplex, and above 0 off the faces on which they are 0. On such faces the policy may decide otherwise: they are cells
of their own, in ``ties``.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, count, product

from dlsched.core.errors import InputError
from dlsched.worst.certificates import Item, fraction, fractions, listed, mapped, whole
from dlsched.worst.competitive.claims import Claim
from dlsched.worst.competitive.replay import OfTable, Vector
from dlsched.worst.competitive.tree_verification import Cover, Open, Signs, positive

MOST_UNITS, MOST_JOBS, MOST_DEPTH, MOST_DEGREE = 4, 2, 100, 4
Table = tuple[Fraction, ...]
Exponents = tuple[int, ...]


def cover_concave(claim: Claim) -> int:
    """Check all cells; return the number of leaves. ValueError where one does not prove what is stated."""
    if claim.units > MOST_UNITS or claim.jobs > MOST_JOBS or len(claim.proof) != 1:
        allowed = f"at most {MOST_UNITS} units and {MOST_JOBS} jobs, one cell"
        raise InputError(where="speeds", found="concave", allowed=f"with {allowed}")
    units = range(1, claim.units + 1)
    corners = [tuple(Fraction(min(m, k), k) for m in units) for k in units]
    return _cell(claim, corners, mapped(claim.proof[0], "proof"), count(1), 0)


def _cell(claim: Claim, corners: list[Table], node: Mapping[str, Item], nodes: Iterator[int], depth: int) -> int:
    if depth > MOST_DEPTH:
        raise InputError(where="proof", found="deeper cells", allowed=f"at most {MOST_DEPTH}")
    if "edge" in node:
        first, second = (whole(each, "edge", len(corners) - 1, 0) for each in listed(node["edge"], "edge", 2))
        share = fraction(node.get("at"), "at")
        if first == second or not 0 < share < 1:
            raise ValueError(f"edge: from {first} to {second} at {share} is no cut")
        new = tuple(a + share * (b - a) for a, b in zip(corners[first], corners[second], strict=True))
        parts = listed(node.get("parts"), "parts", 2)
        return sum(
            _cell(
                claim,
                [new if at == gone else each for at, each in enumerate(corners)],
                mapped(part, "parts"),
                nodes,
                depth + 1,
            )
            for gone, part in zip((second, first), parts, strict=True)
        )
    tree = mapped(node.get("tree"), "tree")
    if len(corners) == 1:
        return Cover(claim, [(corners[0], Fraction(1))] * claim.jobs, nodes).run([], tree)
    cover = _TableCover(claim, corners, nodes)
    leaves = cover.run([], tree)
    proven = set()
    for entry in listed(node.get("ties", []), "ties"):
        face = tuple(
            whole(each, "face", len(corners) - 1, 0) for each in listed(mapped(entry, "ties").get("face"), "face")
        )
        proven.add(face)
        faced = [corners[each] for each in face]
        if not 0 < len({*face}) == len(face) < len(corners):
            raise ValueError(f"ties: {list(face)} is no face")
        leaves += _cell(claim, faced, mapped(entry.get("cell"), "ties"), nodes, depth + 1)
    ties = cover.tables_between.ties
    missing = sorted(face for face in ties - proven if not any({*face} < {*other} for other in ties))
    if missing:
        raise ValueError(f"ties: without the faces {missing}, on which the policy may decide otherwise")
    return leaves


class _Between:
    """All tables between some corners; exponents are of speeds, then of the corners' weights."""

    def __init__(self, corners: Sequence[Table]) -> None:
        self.corners, self.units, self.many = corners, len(corners[0]), len(corners)
        self.width = self.units + self.many
        self.ties = set[tuple[int, ...]]()
        self._known: dict[Exponents, dict[Exponents, Fraction]] = {}

    def power(self, at: int, over: int = 1) -> OfTable:
        """A speed or a weight."""
        return OfTable({tuple(over * (k == at) for k in range(self.width)): Fraction(1)}, self)

    def sign(self, number: OfTable) -> int:
        """Sign of a number on all tables but those of ``ties``; ValueError: it has none."""
        (found,) = self.vectors([(number,)])
        self.note(found)
        if min(found) < 0 < max(found):
            raise ValueError("proof: the policy decides by the table otherwise than the proof")
        return int(max(found) > 0) - int(min(found) < 0)

    def note(self, vector: Vector, size: int = 1) -> None:
        """Keep the largest faces on which a vector is 0."""
        degree = next(each for each in count() if len(_monomials(self.many, each)) == len(vector) // size)
        rows = {at: vector[k * size : (k + 1) * size] for k, at in enumerate(_monomials(self.many, degree))}
        if not any(vector):
            return
        for many in range(self.many - 1, 0, -1):
            for face in combinations(range(self.many), many):
                on_face = (row for at, row in rows.items() if all(k in face or not each for k, each in enumerate(at)))
                if not any(map(any, on_face)) and not any({*face} < {*each} for each in self.ties):
                    self.ties.add(face)

    def vectors(self, forms: Sequence[Vector]) -> list[Vector]:
        """Coefficients of positive multiples of forms, by monomial of the weights, in one degree."""
        found = [self._in_weights(form) for form in forms]
        degree = max(sum(next(iter(each), ())) for row in found for each in row) if any(any(r) for r in found) else 0
        return [
            tuple(
                each.get(at, Fraction(0)) for at in _monomials(self.many, degree) for each in self._raised(row, degree)
            )
            for row in found
        ]

    def _in_weights(self, form: Vector) -> list[dict[Exponents, Fraction]]:
        """Entries as polynomials, after divisions by speeds are multiplied away from all of them."""
        entries = [each if isinstance(each, OfTable) else OfTable({(0,) * self.width: each}, self) for each in form]
        exponents = [at for each in entries for at in each.terms]
        low = [min([0, *(at[k] for at in exponents)]) for k in range(self.width)]
        shifted = [
            {tuple(a - b for a, b in zip(at, low, strict=True)): factor for at, factor in each.terms.items()}
            for each in entries
        ]
        degree = max([sum(at) for each in shifted for at in each], default=0)
        return [self._polynomial(each, degree) for each in shifted]

    def _polynomial(self, terms: Mapping[Exponents, Fraction], degree: int) -> dict[Exponents, Fraction]:
        total: dict[Exponents, Fraction] = {}
        for at, factor in terms.items():
            for key, value in self._raised([self._product(at)], degree)[0].items():
                total[key] = total.get(key, Fraction(0)) + factor * value
        return total

    def _product(self, at: Exponents) -> dict[Exponents, Fraction]:
        """A product of speeds and weights as a polynomial in the weights."""
        if at not in self._known:
            found: dict[Exponents, Fraction] = {(0,) * self.many: Fraction(1)}
            for k, power in enumerate(at):
                for _ in range(power):
                    factors = [
                        row[k] if k < self.units else Fraction(k - self.units == i)
                        for i, row in enumerate(self.corners)
                    ]
                    found = _times(found, factors)
            self._known[at] = found
        return self._known[at]

    def _raised(self, row: Sequence[dict[Exponents, Fraction]], degree: int) -> list[dict[Exponents, Fraction]]:
        raised = []
        for each in row:
            lower = each
            while lower and sum(next(iter(lower))) < degree:
                lower = _times(lower, [Fraction(1)] * self.many)
            raised.append(lower)
        return raised


def _monomials(many: int, degree: int) -> list[Exponents]:
    return [each for each in product(range(degree + 1), repeat=many) if sum(each) == degree]


def _times(polynomial: Mapping[Exponents, Fraction], factors: Sequence[Fraction]) -> dict[Exponents, Fraction]:
    """Multiply by a linear form of the weights."""
    found: dict[Exponents, Fraction] = {}
    for (at, value), (k, factor) in product(polynomial.items(), enumerate(factors)):
        key = tuple(each + (i == k) for i, each in enumerate(at))
        found[key] = found.get(key, Fraction(0)) + value * factor
    return found


class _TableSigns(Signs):
    """Signs of forms on all tables of a simplex."""

    def __init__(self, tables: _Between) -> None:
        super().__init__([])
        self.tables = tables

    def __call__(self, form: Vector) -> int:
        """Return 1, 0 or -1; raises ``Open`` where the sign does not follow."""
        if self.zero(form):
            return 0
        vector, *known = self.tables.vectors([form, *self.known])
        if positive(vector, known):
            return 1
        if positive(tuple(-each for each in vector), known):
            return -1
        self.undecided = True
        raise Open

    def zero(self, form: Vector) -> bool:
        """Whether a form is 0, on all tables but those of the ties."""
        (vector,) = self.tables.vectors([form])
        self.tables.note(vector, len(form))
        return not any(vector)


class _TableCover(Cover):
    """The tree of a simplex of tables."""

    def __init__(self, claim: Claim, corners: Sequence[Table], nodes: Iterator[int]) -> None:
        self.tables_between = between = _Between(corners)
        speeds: Item = [between.power(k) for k in range(claim.units)]
        super().__init__(claim, [(speeds, Fraction(1))] * claim.jobs, nodes)
        self.corners = [(corner,) * claim.jobs for corner in corners]

    def signs(self) -> Signs:
        """Signs for one run."""
        return _TableSigns(self.tables_between)

    def coefficient(self, value: Item) -> Item:
        """Read a coefficient of a split: a polynomial in the weights, by monomial."""
        if value == "0":
            return Fraction(0)
        factors = fractions(value, "split")
        degrees = {len(_monomials(len(self.corners), d)): d for d in range(MOST_DEGREE + 1)}
        if len(factors) not in degrees:
            raise InputError(where="split", found=f"{len(factors)} coefficients", allowed=f"one of {[*degrees]}")
        order = _monomials(len(self.corners), degrees[len(factors)])
        none = (0,) * self.claim.units
        return OfTable({(*none, *at): each for at, each in zip(order, factors, strict=True)}, self.tables_between)

    def exceeds(self, left: Item, right: Item) -> bool:
        """Whether a row is not shown to hold on all tables."""
        (row,) = self.tables_between.vectors([(left - right,)])
        return any(each > 0 for each in row)
