"""The lines of a derivation in the format VIPR 1.0, from a tree of cases; written as a stream, in the order of the cases."""

from collections.abc import Iterator
from fractions import Fraction

from dlsched.proofs.prover.cases import Case
from dlsched.proofs.prover.dual_bounds import nothing, proven
from dlsched.proofs.prover.exact_model import ExactModel


def number(value: int, unit: int) -> str:
    """Write ``value`` / ``unit`` reduced."""
    return str(Fraction(value, unit))


class Derivation:
    """Lines that prove ``objective >= lower`` (of a minimum), or without ``lower`` that there is no point.

    Parameters
    ----------
    exact, root
        The model and its tree of cases, in which every leaf has multipliers that prove as much.
    lower
        What is proven; None: that there is no point.
    step
        If given, the last lines round the bound up to the next multiple of it.
    """

    def __init__(self, exact: ExactModel, root: Case, lower: Fraction | None, step: Fraction | None = None) -> None:
        self.exact, self.root, self.lower = exact, root, lower
        self.step = step if lower is not None and step is not None and (lower / step).denominator != 1 else None
        self.flip = exact.sign < 0
        self.leaves = 0

    def count(self) -> int:
        """Return the number of lines."""
        return 4 * sum(1 for _ in self.root.leaves()) - 3 + (2 if self.step is not None else 0)

    @property
    def proven(self) -> Fraction | None:
        """What the last line proves, of a minimum."""
        if self.step is None or self.lower is None:
            return self.lower
        return self.step * -((-self.lower) // self.step)

    def lines(self) -> Iterator[str]:
        """Yield the lines, without ends."""
        first = self.exact.rows
        end = first + self.count() - 1
        places: dict[Case, int] = {}
        """Where the assumptions of open cases stand."""
        place = first
        stack: list[tuple[Case, int]] = [(self.root.proven_as(), 0)]
        results: list[tuple[int, bool]] = []
        """Lines that prove finished cases, and whether they state a contradiction."""
        lasts = self._lasts(first, end)
        while stack:
            case, stage = stack.pop()
            if case.children is None:
                text, absurd = self._leaf(case, places)
                yield f"c{place} {text} {lasts[place]}"
                results.append((place, absurd))
                place += 1
                continue
            if stage < 2:
                child = case.children[stage]
                yield f"a{place} {'G' if child.rising else 'L'} {child.value} 1 {child.column} 1 {{ asm }} {lasts[place]}"
                places[child] = place
                place += 1
                stack += [(case, stage + 1), (child.proven_as(), 0)]
                continue
            (two, second), (one, first_absurd) = results.pop(), results.pop()
            absurd = first_absurd and second
            what = self._absurdity(1, 1) if absurd else self._claim()
            low, high = (places.pop(child) for child in case.children)
            yield f"u{place} {what} {{ uns {one} {low} {two} {high} }} {lasts[place]}"
            results.append((place, absurd))
            place += 1
        yield from self._rounding(place)

    def _lasts(self, first: int, end: int) -> dict[int, int]:
        """Return by line the last one that uses it; -1: none does."""
        lasts: dict[int, int] = {}
        place = first
        stack: list[tuple[Case, int]] = [(self.root.proven_as(), 0)]
        results: list[int] = []
        opened: list[int] = []
        while stack:
            case, stage = stack.pop()
            if case.children is not None and stage < 2:
                opened.append(place)
                stack += [(case, stage + 1), (case.children[stage].proven_as(), 0)]
            else:
                if case.children is not None:
                    for used in (results.pop(), results.pop(), opened.pop(), opened.pop()):
                        lasts[used] = place
                lasts[place] = -1
                results.append(place)
            place += 1
        if self.step is not None:
            lasts[place - 1] = place
        return lasts

    def _claim(self) -> str:
        if self.lower is None:
            return self._absurdity(1, 1)
        return f"L {-self.lower} OBJ" if self.flip else f"G {self.lower} OBJ"

    def _absurdity(self, value: int, unit: int) -> str:
        return f"L {number(-value, unit)} 0" if self.flip else f"G {number(value, unit)} 0"

    def _leaf(self, case: Case, places: dict[Case, int]) -> tuple[str, bool]:
        """Return the line of a leaf, and whether it states a contradiction."""
        exact, multipliers = self.exact, case.proof or nothing()
        found = proven(exact, multipliers, case.narrowed(exact))
        assert found is not None
        held = case.assumptions()
        turn = -1 if self.flip else 1
        terms: dict[int, str] = {}
        for i, y in zip(multipliers.rows.tolist(), multipliers.values, strict=True):
            row = exact.at_least[i] if y > 0 else exact.at_most[i]
            assert row is not None
            terms[row] = number(turn * y, multipliers.unit)
        for j, d in found.reduced.items():
            assumed = held.get((j, d > 0))
            bound = (exact.lower_rows if d > 0 else exact.upper_rows)[j] if assumed is None else places[assumed]
            assert bound is not None
            terms[bound] = number(turn * d, found.scale)
        what = self._claim() if multipliers.costs else self._absurdity(found.value, found.unit)
        if multipliers.costs:
            assert self.lower is not None
            assert found.bound >= self.lower
        self.leaves += 1
        listed = " ".join(f"{row} {value}" for row, value in sorted(terms.items()))
        return f"{what} {{ lin {len(terms)} {listed} }}".replace("  ", " "), not multipliers.costs

    def _rounding(self, place: int) -> Iterator[str]:
        """Yield the lines that round the bound to a multiple of the step."""
        if self.step is None or self.lower is None or self.proven is None:
            return
        turn, sense = (-1, "L") if self.flip else (1, "G")
        shares = [
            (j, Fraction(c, 1 << self.exact.scale) / self.step * turn) for j, c in enumerate(self.exact.costs) if c
        ]
        listed = " ".join(f"{j} {share}" for j, share in shares)
        times = turn * self.proven / self.step
        yield f"r{place} {sense} {times} {len(shares)} {listed} {{ rnd 1 {place - 1} {1 / self.step} }} {place + 1}"
        yield f"b{place + 1} {sense} {turn * self.proven} OBJ {{ lin 1 {place} {self.step} }} -1"
