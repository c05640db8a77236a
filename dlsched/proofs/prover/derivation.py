"""The lines of a proof in the format VIPR 1.0: the model, the range, the best point, and the derivation.

A derivation is made of cuts and a tree of cases. All lines are yielded in their order, so a proof need not fit into memory.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from dlsched.core.files import packed, whole_file
from dlsched.proofs.prover.cases import Case
from dlsched.proofs.prover.cuts import SplitCut
from dlsched.proofs.prover.dual_bounds import DualBound, Multipliers, nothing, proven
from dlsched.proofs.prover.exact_model import ExactModel
from dlsched.proofs.prover.search import Point

_LINES_OF_A_CUT = 5  # two sides, each an assumption and what follows from it, and their union


def number(value: int, unit: int) -> str:
    """Write ``value`` / ``unit`` reduced."""
    return str(Fraction(value, unit))


class Derivation:
    """Lines that prove ``objective >= lower`` (of a minimum), or, with None, that there is no point.

    The added rows of the model ``exact`` derive from ``cuts``; every leaf of the tree of cases ``root`` has multipliers that
    prove as much. With a ``step`` the last lines round the bound up to its next multiple.
    """

    def __init__(
        self,
        exact: ExactModel,
        cuts: Sequence[SplitCut],
        root: Case,
        lower: Fraction | None,
        step: Fraction | None = None,
    ) -> None:
        self.exact, self.cuts, self.lower = exact, cuts, lower
        self.step = step if lower is not None and step is not None and (lower / step).denominator != 1 else None
        self.turn = -1 if exact.sign < 0 else 1
        self._used = needed_cuts(exact, cuts, root.leaves())
        self._end = exact.rows
        self._lasts: dict[int, int] = {}
        """By line the last one that uses it."""
        for k in self._used:
            self._place_cut(k)
        self._cases = list(self._ordered(root))
        """Every line of the tree: a case that is assumed, closed by multipliers, or joined from its two cases."""
        self.leaves = sum(kind == "leaf" for kind, _, _ in self._cases)

    def count(self) -> int:
        """Return the number of lines."""
        return self._end - self.exact.rows + (2 if self.step is not None else 0)

    @property
    def proven(self) -> Fraction | None:
        """What the last line proves, of a minimum."""
        if self.step is None or self.lower is None:
            return self.lower
        return self.step * -((-self.lower) // self.step)

    def _use(self, multipliers: Multipliers, place: int) -> None:
        for k in _cuts_in(self.exact, multipliers):
            row = self.exact.at_least[self.exact.own + k]
            assert row is not None
            self._lasts[row] = place

    def _place_cut(self, k: int) -> None:
        first = self._end
        cut = self.cuts[k]
        self._use(cut.up[0], first + 1)
        self._use(cut.down[0], first + 3)
        self._end = first + _LINES_OF_A_CUT
        self._lasts.update((place, self._end - 1) for place in range(first, self._end - 1))
        self.exact.at_least[self.exact.own + k] = self._end - 1

    def _ordered(self, root: Case) -> Iterator[tuple[str, Case, tuple[int, int]]]:
        """Yield the lines of the tree, and number them: of a join, the lines of its two cases."""
        # depth first: a case with children comes back at each stage, to assume the next child or to join both results
        stack: list[tuple[Case, int]] = [(root.proven_as(), 0)]
        results: list[int] = []
        opened: list[int] = []
        while stack:
            case, stage = stack.pop()
            place = self._end
            self._end += 1
            if case.children is not None and stage < len(case.children):
                child = case.children[stage]
                opened.append(place)
                stack += [(case, stage + 1), (child.proven_as(), 0)]
                yield "assumption", child, (-1, -1)
                continue
            if case.children is None:
                if case.proof is not None:
                    self._use(case.proof, place)
                yield "leaf", case, (-1, -1)
            else:
                two, one = results.pop(), results.pop()
                self._lasts.update(dict.fromkeys((one, two, opened.pop(), opened.pop()), place))
                yield "join", case, (one, two)
            results.append(place)
        if self.step is not None:
            self._lasts[results[0]] = self._end

    def lines(self) -> Iterator[str]:
        """Yield the lines, without ends."""
        place = self.exact.rows
        for k in self._used:
            yield from self._cut_lines(self.cuts[k], place)
            place += _LINES_OF_A_CUT
        places: dict[Case, int] = {}
        """Where assumptions stand."""
        absurd: set[int] = set()
        """Lines that state a contradiction."""
        # an assumption is one bound, a leaf the sum of its multipliers, a join what holds in both of its cases
        for kind, case, (one, two) in self._cases:
            if kind == "assumption":
                places[case] = place
                text = f"{'G' if case.rising else 'L'} {case.value} 1 {case.column} 1 {{ asm }}"
            elif kind == "leaf":
                text = self._leaf(case, places)
                if case.proof is not None and not case.proof.costs:
                    absurd.add(place)
            else:
                assert case.children is not None
                low, high = (places.pop(child) for child in case.children)
                if one in absurd and two in absurd:
                    absurd.add(place)
                what = self._absurdity(1, 1) if place in absurd else self._claim()
                absurd -= {one, two}
                text = f"{what} {{ uns {one} {low} {two} {high} }}"
            yield f"{kind[0]}{place} {text} {self._lasts.get(place, -1)}"
            place += 1
        yield from self._rounding(place)

    def _cut_lines(self, cut: SplitCut, place: int) -> Iterator[str]:
        """Yield the five lines of a cut."""
        exact = self.exact
        pi = " ".join(f"{j} {value}" for j, value in sorted(cut.split.items()))
        row = " ".join(f"{j} {number(a, 1 << exact.scale)}" for j, a in zip(cut.columns, cut.values, strict=True))
        what = f"G {number(cut.side, 1 << exact.sides)} {len(cut.columns)} {row}"
        for rising in (True, False):
            at = place if rising else place + 2
            multipliers, assumed = cut.up if rising else cut.down
            bound = cut.proven(exact, rising=rising)
            assert bound is not None
            assert bound.bound * (1 << exact.sides) >= cut.side
            terms = self._terms(multipliers, bound, {}, 1)
            if assumed:
                terms[at] = number(assumed, multipliers.unit)
            side = f"G {cut.below + 1}" if rising else f"L {cut.below}"
            yield f"s{at} {side} {len(cut.split)} {pi} {{ asm }} {self._lasts[at]}"
            yield f"d{at + 1} {what} {_combination(terms)} {self._lasts[at + 1]}"
        last = self._lasts.get(place + 4, -1)
        yield f"k{place + 4} {what} {{ uns {place + 1} {place} {place + 3} {place + 2} }} {last}"

    def _terms(
        self, multipliers: Multipliers, found: DualBound, assumed: Mapping[tuple[int, bool], int], turn: int
    ) -> dict[int, str]:
        """Return by line the multiplier with which it enters a sum."""
        exact = self.exact
        terms: dict[int, str] = {}
        for i, y in zip(multipliers.rows.tolist(), multipliers.values, strict=True):
            row = exact.at_least[i] if y > 0 else exact.at_most[i]
            assert row is not None
            terms[row] = number(turn * y, multipliers.unit)
        for j, d in found.reduced.items():
            bound = assumed.get((j, d > 0), (exact.lower_rows if d > 0 else exact.upper_rows)[j])
            assert bound is not None
            terms[bound] = number(turn * d, found.scale)
        return terms

    def _leaf(self, case: Case, places: dict[Case, int]) -> str:
        """Return what the multipliers of a leaf prove, and how."""
        multipliers = case.proof or nothing()
        bound = proven(self.exact, multipliers, case.narrowed(self.exact))
        assert bound is not None
        assumed = {side: places[each] for side, each in case.assumptions().items() if each in places}
        what = self._claim() if multipliers.costs else self._absurdity(bound.value, bound.unit)
        if multipliers.costs:
            assert self.lower is not None
            assert bound.bound >= self.lower
        return f"{what} {_combination(self._terms(multipliers, bound, assumed, self.turn))}"

    def _claim(self) -> str:
        if self.lower is None:
            return self._absurdity(1, 1)
        return f"L {-self.lower} OBJ" if self.turn < 0 else f"G {self.lower} OBJ"

    def _absurdity(self, value: int, unit: int) -> str:
        return f"L {number(-value, unit)} 0" if self.turn < 0 else f"G {number(value, unit)} 0"

    def _rounding(self, place: int) -> Iterator[str]:
        """Yield the lines that round the bound to a multiple of the step."""
        if self.step is None or self.proven is None:
            return
        sense = "L" if self.turn < 0 else "G"
        unit = self.turn * self.exact.coefficient(1) / self.step
        listed = [f"{j} {cost * unit}" for j, cost in enumerate(self.exact.costs) if cost]
        times = self.turn * self.proven / self.step
        what = " ".join((sense, str(times), str(len(listed)), *listed))
        yield f"r{place} {what} {{ rnd 1 {place - 1} {1 / self.step} }} {place + 1}"
        yield f"b{place + 1} {sense} {self.turn * self.proven} OBJ {{ lin 1 {place} {self.step} }} -1"


def needed_cuts(exact: ExactModel, cuts: Sequence[SplitCut], leaves: Iterable[Case]) -> list[int]:
    """Return the cuts that leaves use, and those from which these derive."""
    needed: set[int] = set()
    for case in leaves:
        if case.proof is not None:
            needed |= _cuts_in(exact, case.proof)
    todo = list(needed)
    while todo:
        cut = cuts[todo.pop()]
        new = (_cuts_in(exact, cut.up[0]) | _cuts_in(exact, cut.down[0])) - needed
        needed |= new
        todo += new
    return sorted(needed)


def _cuts_in(exact: ExactModel, multipliers: Multipliers) -> set[int]:
    return {i - exact.own for i in multipliers.rows.tolist() if i >= exact.own}


def _combination(terms: Mapping[int, str]) -> str:
    """Write a sum of lines as the reason of a line."""
    listed = [f"{row} {value}" for row, value in sorted(terms.items())]
    return " ".join(("{ lin", str(len(listed)), *listed, "}"))


def write_lines(lines: Iterable[bytes], path: str | os.PathLike[str]) -> None:
    """Write lines, with their ends, to a file that appears whole or not at all; compressed if its name ends with ``.gz``.

    InputError: the file cannot be written.
    """
    with whole_file(path) as stream, packed(stream, path) as file:
        file.writelines(lines)


def proof_lines(
    exact: ExactModel,
    comments: Mapping[str, str],
    point: Point | None,
    derivation: Derivation | None,
    *,
    infeasible: bool = False,
    problem: Iterable[str] | None = None,
) -> Iterator[str]:
    """Yield the lines of a proof, from its comments by key on.

    ``point``: the best known; ``derivation``: of a bound, or, if ``infeasible``, of there being no point; None: nothing is
    proven. ``problem``: the lines of ``problem_lines``, where they are at hand.
    """
    for key, text in comments.items():
        yield f"% {key}: {re.sub(r'[^ -~]', '?', text)}"  # on one line, in ASCII
    yield from problem_lines(exact) if problem is None else problem
    lower = None if derivation is None else derivation.proven
    upper = None if point is None else exact.objective(point)
    if infeasible:
        yield "RTP infeas"
    else:
        low, high = (lower, upper) if exact.sign > 0 else (_minus(upper), _minus(lower))
        yield f"RTP range {'-inf' if low is None else low} {'inf' if high is None else high}"
    yield f"SOL {0 if point is None else 1}"
    if point is not None:
        used = [f"{j} {value}" for j, value in enumerate(point) if value]
        yield " ".join(("best", str(len(used)), *used))
    yield f"DER {0 if derivation is None else derivation.count()}"
    if derivation is not None:
        yield from derivation.lines()


def problem_lines(exact: ExactModel) -> Iterator[str]:
    """Yield the lines of the problem."""
    model = exact.model
    yield "VER 1.0"
    yield f"VAR {exact.variables}"
    yield " ".join(_word(name, "x") for name in model.names)
    whole = [str(j) for j, integer in enumerate(exact.integer) if integer]
    yield f"INT {len(whole)}"
    yield " ".join(whole)
    yield f"OBJ {'max' if exact.sign < 0 else 'min'}"
    yield _terms(((j, exact.sign * cost) for j, cost in enumerate(exact.costs)), exact.scale)
    yield from _constraints(exact)


def _constraints(exact: ExactModel) -> Iterator[str]:
    """Yield the rows: the bounds of the variables first."""
    yield f"CON {exact.rows} {exact.bounds}"
    unit = 1 << exact.sides
    for j in range(exact.variables):
        for name, sense, bound in (("l", "G", exact.lower[j]), ("u", "L", exact.upper[j])):
            if bound is not None:
                yield f"{name}_{j} {sense} {number(bound, unit)} 1 {j} 1"
    for i, name in enumerate(exact.model.row_names[: exact.own]):
        low, high, word = exact.row_lower[i], exact.row_upper[i], _word(name, f"r_{i}")
        terms = _terms(zip(exact.columns[i], exact.values[i], strict=True), exact.scale)
        if low is not None and low == high:
            yield f"{word} E {number(low, unit)} {terms}"
            continue
        if low is not None:
            yield f"{word} G {number(low, unit)} {terms}"
        if high is not None:
            yield f"{word if low is None else word + '_u'} L {number(high, unit)} {terms}"


def _terms(pairs: Iterable[tuple[int, int]], power: int) -> str:
    """Write pairs of an index and a whole number, in units of 2**-power."""
    unit = 1 << power
    listed = [f"{j} {number(value, unit)}" for j, value in pairs if value]
    return " ".join((str(len(listed)), *listed))


def _minus(value: Fraction | None) -> Fraction | None:
    return None if value is None else -value


def _word(name: str, instead: str) -> str:
    """Make a name fit a word of the format."""
    word = re.sub(r"[^!-~]", "_", name)
    return "_" + word if word.startswith("%") else word or instead
