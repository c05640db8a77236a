"""The problem, the solutions and the derivation of a proof in VIPR, line by line, against a linear model."""

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from dlsched.proofs.checker.rows import LARGEST, Row, Rows, row_of, whole
from dlsched.proofs.checker.words import Number, Words
from dlsched.solvers.linear import LinearModel

SENSES = {b"L": -1, b"E": 0, b"G": 1}


class Proven(NamedTuple):
    """``lower <= optimum <= upper`` of a model's objective without its constant (None: open), and the best solution."""

    lower: Fraction | None
    upper: Fraction | None
    infeasible: bool
    cases: int
    values: Mapping[str, Fraction] | None


class Line(NamedTuple):
    """A row, the lines that it assumes, whether it is an assumption itself, and how many numbers are kept for it."""

    row: Row
    assumes: frozenset[int] = frozenset()
    assumed: bool = False
    kept: int = 0


def check_derivation(words: Words, model: LinearModel) -> Proven:
    """Read a proof to its end: InputError for no proof file or too much work, ProofError for what is not so."""
    rows = Rows(words, model)
    _compare(words, rows)
    words.next(b"RTP")
    infeasible = words.next(b"range", b"infeas") == b"infeas"
    ends = [None if infeasible or (word := words.next()) == none else words.number(word) for none in (b"-inf", b"inf")]
    dual, primal = (None if end is None else Fraction(*end) for end in ends[:: rows.sign])
    (best, values), proof = _solutions(words, rows), Derivation(words, rows)
    words.next(b"DER")
    for index in range(len(rows), len(rows) + words.index()):
        proof.read(index)
    words.end()
    if dual is not None and (proof.bound is None or rows.sign * (proof.bound - dual) < 0):
        raise words.false("no line without assumptions, written with OBJ, proves the bound of the range")
    if primal is not None and (best is None or rows.sign * (primal - best) < 0):
        raise words.false("no solution reaches the range")
    if infeasible and (not proof.absurd or best is not None):
        raise words.false("no line without assumptions is absurd" if best is None else "infeasible, with a solution")
    lower, upper = (dual, best)[:: rows.sign]
    return Proven(lower, upper, infeasible, proof.splits + 1, values)


def _compare(words: Words, rows: Rows) -> None:
    """Compare all sections up to the rows with the model."""
    model, variables, integers = rows.model, len(rows.integer), [j for j, found in enumerate(rows.integer) if found]
    for word in (b"VER", b"1.0", b"VAR"):
        words.next(word)
    if words.index() != variables or any(name.encode() != words.next() for name in model.names):
        raise words.false("the model has other variables")
    words.next(b"INT")
    if words.index() != len(integers) or any(j != words.index() for j in integers):
        raise words.false("the model has other integer variables")
    words.next(b"OBJ")
    if words.next(b"min", b"max") != (b"min" if rows.sign > 0 else b"max"):
        raise words.false(f"the model is to {model.sense}")
    if row_of(words, 0, (0, 1), *words.pairs(variables)) != rows.objective:
        raise words.false("the model has another objective")
    words.next(b"CON")
    if (words.index(), words.index()) != (len(rows), len(rows.bounds)):
        raise words.false(f"the model has {len(rows)} rows, {len(rows.bounds)} of them bounds")
    for index in range(len(rows)):
        if _row(words, rows) != rows[index]:
            raise words.false(f"row {index} of the model is another one")


def _row(words: Words, rows: Rows) -> Row:
    """Read a row; the left side of one that is written with the word OBJ is that of the objective itself."""
    if words.next().startswith(b"%"):
        raise words.wrong("a comment", "none after the head of the file")
    sense, side, word = SENSES[words.next(*SENSES)], words.number(), words.next()
    if word == b"OBJ":
        return rows.objective._replace(sense=sense, side=side)
    return row_of(words, sense, side, *words.pairs(len(rows.integer), word))


def _solutions(words: Words, rows: Rows) -> tuple[Fraction | None, Mapping[str, Fraction] | None]:
    """Read the solutions; return the best objective and its values."""
    best: tuple[Fraction | None, Mapping[str, Fraction] | None] = None, None
    words.next(b"SOL")
    for _ in range(words.index()):
        words.next()
        columns, numbers = words.pairs(len(rows.integer))
        factors, over = whole(words, numbers)
        point = dict(zip(columns, factors, strict=True))
        broken = next((i for i in range(len(rows)) if not (row := rows[i]).met(*row.at(words, point, over))), None)
        if broken is not None:
            raise words.false(f"the solution breaks row {broken}")
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
        words, row, sign = self._words, _row(self._words, self._rows), self._rows.sign
        words.spend(10_000)
        words.next(b"{")
        kind, assumes = words.next(b"asm", b"lin", b"rnd", b"uns"), frozenset({index})
        if kind == b"uns":
            assumes = self._unsplit(row, *(words.index(index) for _ in range(4)))
        elif kind != b"asm":
            assumes = self._combined(row, *words.pairs(index), rounded=kind == b"rnd")
        words.next(b"}")
        of_objective = row.factors is self._rows.objective.factors
        if not assumes:
            self.absurd |= row.absurd
            side = Fraction(*row.side)
            if of_objective and row.sense in (0, sign) and (self.bound is None or sign * (side - self.bound) > 0):
                self.bound = side
        last = -1 if (word := words.next()) == b"-1" else words.index(word=word)
        if last == -1 or last > index:
            kept = 8 + len(assumes) + (0 if of_objective else len(row.columns) + row.bits // 512)
            words.hold(kept)
            self._lines[index] = Line(row, assumes, kind == b"asm", kept)
            if last > index:
                self._ending[last].append(index)
        for old in self._ending.pop(index, ()):
            words.hold(-self._lines.pop(old).kept)

    def _line(self, index: int) -> Line:
        if index >= len(self._rows) and index not in self._lines:
            raise self._words.false(f"row {index} was said to be used no later")
        return self._lines[index] if index >= len(self._rows) else Line(self._rows[index])

    def _unsplit(self, row: Row, first: int, one: int, second: int, other: int) -> frozenset[int]:
        """Verify that a row holds in both cases of a split; return what is still assumed."""
        cases = self._line(first), self._line(second)
        low, high = sorted((self._line(one), self._line(other)), key=lambda line: line.row.sense)
        sides = low.row.side[1] == high.row.side[1] == 1 and low.row.side[0] + 1 == high.row.side[0]
        whole_split = sides and low.row[2:5] == high.row[2:5] and self._rows.whole(low.row)
        if not (whole_split and low.assumed and high.assumed and (low.row.sense, high.row.sense) == (-1, 1)):
            raise self._words.false(f"rows {one} and {other} are no two assumptions that split whole numbers")
        if not all(case.row.dominates(row) for case in cases):
            raise self._words.false("the line does not hold in both cases")
        self.splits += 1
        self._words.spend(sum(100 * len(case.assumes) + 100 * len(case.row.columns) for case in cases))
        return (cases[0].assumes - {one}) | (cases[1].assumes - {other})

    def _combined(self, target: Row, indices: list[int], numbers: list[Number], *, rounded: bool) -> frozenset[int]:
        """Verify that a sum of rows, rounded or not, proves a row; return what is assumed."""
        words, total, side, size = self._words, defaultdict[int, int](int), 0, 0
        assumed, senses = set[int](), set[int]()
        used = zip(numbers, (self._line(index).row for index in indices), strict=True)
        factors, over = whole(words, [(n, under * row.over * row.side[1]) for (n, under), row in used])
        for index, factor in zip(indices, factors, strict=True):
            row, assumes, _, _ = self._line(index)
            senses.add(row.sense * ((factor > 0) - (factor < 0)))
            side += factor * row.over * row.side[0]
            factor *= row.side[1]
            size += factor.bit_length() * len(row.columns) + row.bits
            words.spend(1000 + 150 * len(row.columns) + 100 * len(assumes) + factor.bit_length() * row.bits // 1000)
            if size > 4 * LARGEST:
                raise words.wrong("a sum of a gigabyte", "a smaller one")
            for j, coefficient in zip(row.columns, row.factors, strict=True):
                total[j] += factor * coefficient
            assumed.update(assumes)
        if senses >= {-1, 1}:
            raise words.false("the multipliers' signs do not fit the senses of their rows")
        sense, columns = sum(senses), sorted(j for j, value in total.items() if value)
        shares = [divmod(total[j] * target.over, over) for j in columns]
        words.spend(10_000 + 300 * len(columns))
        found = Row(sense, (side, over), columns, [share for share, _ in shares], target.over, 0)
        is_whole = not any(rest for _, rest in shares)
        if rounded and not (sense and is_whole and self._rows.whole(found)):
            raise words.false("the sum cannot be rounded")
        found = found._replace(side=(sense * -(-sense * side // over), 1)) if rounded else found
        if not (is_whole and found.dominates(target)):
            raise words.false("the line does not follow from its sum")
        return frozenset(assumed)
