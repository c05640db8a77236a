"""The problem, the solutions and the derivation of a proof, line by line, against a linear model."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from dlsched.proofs.checker.rows import LARGEST, Row, Rows, row_of, whole
from dlsched.proofs.checker.words import Number, Words
from dlsched.solvers.linear import LinearModel

SENSES = {b"L": -1, b"E": 0, b"G": 1}


@dataclass(frozen=True, slots=True)
class Proven:
    """What a proof proves of a model: ``lower <= optimum <= upper`` of the objective without its constant, None: open.

    ``cases`` are those that it tells apart; ``values`` are the best solution's, by variable, and its objective is a side.
    """

    lower: Fraction | None
    upper: Fraction | None
    infeasible: bool
    cases: int
    values: Mapping[str, Fraction] | None


class Line(NamedTuple):
    """A derived row, the lines that it assumes, whether it is an assumption itself, and the numbers kept for it."""

    row: Row
    assumes: frozenset[int]
    assumed: bool
    kept: int


def check_derivation(words: Words, model: LinearModel) -> Proven:
    """Read a proof to its end; its problem must be the model.

    Raises
    ------
    InputError
        It is no proof file, or takes more work or memory than the limits.
    ProofError
        It states what is not so, or of another model.
    """
    rows = Rows(words, model)
    _compare(words, rows)
    words.expect(b"RTP")
    infeasible = words.expect(b"range", b"infeas") == b"infeas"
    lower, upper = (None, None) if infeasible else (words.number_or(b"-inf"), words.number_or(b"inf"))
    best, values = _solutions(words, rows)
    proof = Derivation(words, rows)
    words.expect(b"DER")
    for index in range(len(rows), len(rows) + words.index()):
        proof.read(index)
    words.end()
    dual, primal = (lower, upper) if rows.sign > 0 else (upper, lower)
    if dual is not None and (proof.bound is None or rows.sign * (proof.bound - Fraction(*dual)) < 0):
        raise words.false("no line without assumptions, written with OBJ, proves the bound of the range")
    if primal is not None and (best is None or rows.sign * (Fraction(*primal) - best) < 0):
        raise words.false("no solution reaches the range")
    if infeasible and (not proof.absurd or best is not None):
        raise words.false("no line without assumptions is absurd" if best is None else "infeasible, with a solution")
    bound = None if dual is None else Fraction(*dual)
    return Proven(*((bound, best) if rows.sign > 0 else (best, bound)), infeasible, proof.splits + 1, values)


def _compare(words: Words, rows: Rows) -> None:
    """Compare all sections up to the rows with the model."""
    model, variables = rows.model, len(rows.integer)
    integers = [j for j, is_integer in enumerate(rows.integer) if is_integer]
    words.expect(b"VER")
    words.expect(b"1.0")
    words.expect(b"VAR")
    if words.index() != variables or any([name.encode()] != words.take(1) for name in model.names):
        raise words.false("the model has other variables")
    words.expect(b"INT")
    if words.index() != len(integers) or any(j != words.index() for j in integers):
        raise words.false("the model has other integer variables")
    words.expect(b"OBJ")
    if (words.expect(b"min", b"max") == b"min") != (rows.sign > 0):
        raise words.false(f"the model is to {model.sense}")
    if row_of(words, 0, (0, 1), *words.pairs(words.index(variables + 1), variables)) != rows.objective:
        raise words.false("the model has another objective")
    words.expect(b"CON")
    if (words.index(), words.index()) != (len(rows), len(rows.bounds)):
        raise words.false(f"the model has {len(rows)} rows, {len(rows.bounds)} of them bounds")
    for index in range(len(rows)):
        if _row(words, rows) != rows[index]:
            raise words.false(f"row {index} of the model is another one")


def _row(words: Words, rows: Rows) -> Row:
    """Read a row; the left side of one that is written with the word OBJ is that of the objective itself."""
    (name,) = words.take(1)
    if name.startswith(b"%"):
        raise words.wrong("a comment", "none after the head of the file")
    sense, side = SENSES[words.expect(*SENSES)], words.number()
    variables = len(rows.integer)
    count = words.index_or(b"OBJ", variables + 1)
    if count is None:
        return rows.objective._replace(sense=sense, side=side)
    return row_of(words, sense, side, *words.pairs(count, variables))


def _solutions(words: Words, rows: Rows) -> tuple[Fraction | None, Mapping[str, Fraction] | None]:
    """Read the solutions; return the best objective and its values."""
    best: tuple[Fraction | None, Mapping[str, Fraction] | None] = None, None
    words.expect(b"SOL")
    for _ in range(words.index()):
        words.take(1)
        columns, numbers = words.pairs(words.index(len(rows.integer) + 1), len(rows.integer))
        factors, over = whole(words, numbers)
        point = dict(zip(columns, factors, strict=True))
        for index in range(len(rows)):
            if not (row := rows[index]).met(*row.at(words, point, over)):
                raise words.false(f"the solution breaks row {index}")
        if any(rows.integer[j] and factor % over for j, factor in point.items()):
            raise words.false("the solution has a fraction on an integer variable")
        objective = Fraction(*rows.objective.at(words, point, over))
        if best[0] is None or rows.sign * (objective - best[0]) < 0:
            best = objective, {rows.model.names[j]: Fraction(factor, over) for j, factor in point.items()}
    return best


class Derivation:
    """The lines that may still be used, and the best that lines without assumptions prove."""

    def __init__(self, words: Words, rows: Rows) -> None:
        self._words, self._rows = words, rows
        self._lines: dict[int, Line] = {}
        self._ending: defaultdict[int, list[int]] = defaultdict(list)
        self.bound: Fraction | None = None
        self.absurd, self.splits = False, 0

    def read(self, index: int) -> None:
        """Read and verify a line, then let go of those that are said to be used no later."""
        words, row = self._words, _row(self._words, self._rows)
        words.expect(b"{")
        kind = words.expect(b"asm", b"lin", b"rnd", b"uns")
        if kind == b"asm":
            assumes = frozenset({index})
        elif kind == b"uns":
            assumes = self._unsplit(row, *(words.index(index) for _ in range(4)))
        else:
            pairs = words.pairs(words.index(index + 1), index)
            assumes = self._combined(row, *pairs, rounded=kind == b"rnd")
        words.expect(b"}")
        last = words.index_or(b"-1")
        of_objective = row.factors is self._rows.objective.factors
        if not assumes:
            self.absurd |= row.absurd
            side, sign = Fraction(*row.side), self._rows.sign
            if of_objective and row.sense in (0, sign) and (self.bound is None or sign * (side - self.bound) > 0):
                self.bound = side
        if last is None or last > index:
            kept = 8 + len(assumes) + (0 if of_objective else len(row.columns) + row.bits // 512)
            self._lines[index] = Line(row, assumes, kind == b"asm", kept)
            words.hold(kept)
            if last is not None:
                self._ending[last].append(index)
        for old in self._ending.pop(index, ()):
            words.hold(-self._lines.pop(old).kept)

    def _line(self, index: int) -> Line:
        if index < len(self._rows):
            return Line(self._rows[index], frozenset(), False, 0)
        if index not in self._lines:
            raise self._words.false(f"row {index} was said to be used no later")
        return self._lines[index]

    def _unsplit(self, row: Row, first: int, one: int, second: int, other: int) -> frozenset[int]:
        """Verify that a row holds in both cases of a split; return what is still assumed."""
        cases, (low, high) = (self._line(first), self._line(second)), (self._line(one), self._line(other))
        if low.row.sense > 0:
            low, high = high, low
        (side, under), (next_side, over) = low.row.side, high.row.side
        whole_sides = under == over == 1 and next_side == side + 1
        split = low.assumed and high.assumed and (low.row.sense, high.row.sense) == (-1, 1) and whole_sides
        if not split or not self._rows.whole(low.row) or low.row[2:5] != high.row[2:5]:
            raise self._words.false(f"rows {one} and {other} are no two assumptions that split whole numbers")
        for case in cases:
            if not case.row.dominates(row):
                raise self._words.false("the line does not hold in both cases")
        self.splits += 1
        self._words.spend(100 * len(cases[0].assumes) + 100 * len(cases[1].assumes))
        return (cases[0].assumes - {one}) | (cases[1].assumes - {other})

    def _combined(self, target: Row, indices: list[int], numbers: list[Number], *, rounded: bool) -> frozenset[int]:
        """Verify that a sum of rows, rounded or not, proves a row; return what is assumed."""
        words, rows = self._words, self._rows
        scales = []
        for index, (_, under) in zip(indices, numbers, strict=True):
            row = self._line(index).row
            scales.append(under * row.over * row.side[1])
        factors, over = whole(words, [(number[0], scale) for number, scale in zip(numbers, scales, strict=True)])
        total: defaultdict[int, int] = defaultdict(int)
        senses, side, size = set(), 0, 0
        assumed: set[int] = set()
        for index, factor in zip(indices, factors, strict=True):
            row, assumes, _, _ = self._line(index)
            senses.add(row.sense if factor > 0 else -row.sense if factor else 0)
            side += factor * row.over * row.side[0]
            if row.side[1] > 1:
                factor *= row.side[1]
            size += (length := factor.bit_length()) * len(row.columns) + row.bits
            words.spend(1000 + 150 * len(row.columns) + length * row.bits // 1000 + 100 * len(assumes))
            if size > 4 * LARGEST:
                raise words.wrong("a sum of a gigabyte", "a smaller one")
            for j, coefficient in zip(row.columns, row.factors, strict=True):
                total[j] += factor * coefficient
            assumed.update(assumes)
        if senses >= {-1, 1}:
            raise words.false("the multipliers' signs do not fit the senses of their rows")
        sense = sum(senses)
        columns = sorted(j for j, value in total.items() if value)
        shares = [divmod(total[j] * target.over, over) for j in columns]
        words.spend(200 * len(columns))
        found = Row(sense, (side, over), columns, [share for share, _ in shares], target.over, 0)
        is_whole = not any(rest for _, rest in shares)
        if rounded:
            if not sense or not is_whole or not rows.whole(found):
                raise words.false("the sum cannot be rounded")
            found = found._replace(side=(sense * -(-sense * side // over), 1))
        if not is_whole or not found.dominates(target):
            raise words.false("the line does not follow from its sum")
        return frozenset(assumed)
