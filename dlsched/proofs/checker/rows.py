"""Rows in whole numbers over a common denominator, and the rows of a model in the order of its proof."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf, lcm
from typing import NamedTuple

from dlsched.core.status import Sense
from dlsched.proofs.checker.words import Number, Words
from dlsched.solvers.linear import LinearModel

LONGEST, LARGEST = 2**15, 2**31  # bits of a common denominator, and of all numerators of a row


class Row(NamedTuple):
    """``factors`` x / ``over`` on ascending ``columns``: 1: >=, 0: =, -1: <= ``side``; ``bits``: of all factors."""

    sense: int
    side: Number
    columns: Sequence[int]
    factors: Sequence[int]
    over: int
    bits: int

    @property
    def absurd(self) -> bool:
        """Whether it is 0 >= 1, or as bad."""
        return not self.columns and not self.met(0, 1)

    def met(self, value: int, over: int) -> bool:
        """Whether ``value / over`` for the left side fulfils it."""
        gap = value * self.side[1] - self.side[0] * over
        return gap * self.sense >= 0 if self.sense else gap == 0

    def dominates(self, other: "Row") -> bool:
        """Whether it is absurd, or has the same left side and says no less."""
        alike = self[2:5] == other[2:5] and self.sense in (0, other.sense)
        return self.absurd or (alike and other.met(*self.side))

    def at(self, words: Words, point: Mapping[int, int], over: int) -> tuple[int, int]:
        """Value of its left side at ``point / over``, as a fraction."""
        words.spend(5000 + 100 * len(self.columns) + over.bit_length() * self.bits // 1000)
        terms = zip(self.columns, self.factors, strict=True)
        return sum(factor * point[j] for j, factor in terms if j in point), self.over * over


def whole(words: Words, numbers: Sequence[Number]) -> tuple[list[int], int]:
    """Return numerators over a common denominator; a long one is refused."""
    over = 1
    for other in {number[1] for number in numbers}:
        words.spend(100 + over.bit_length() * other.bit_length() // 1000)
        over = lcm(over, other)
        if over.bit_length() * (1 + len(numbers) * LONGEST // LARGEST) > LONGEST:
            raise words.wrong("a common denominator that is too long", "a shorter one")
    words.spend(100 * len(numbers) + over.bit_length() * sum(n.bit_length() for n, _ in numbers) // 1000)
    return [n * (over // d) for n, d in numbers], over


def row_of(words: Words, sense: int, side: Number, columns: Sequence[int], numbers: Sequence[Number]) -> Row:
    """Make a row of coefficients, at most one for each column."""
    terms = sorted(term for term in zip(columns, numbers, strict=True) if term[1][0])
    factors, over = whole(words, [number for _, number in terms])
    return Row(sense, side, [j for j, _ in terms], factors, over, sum(map(int.bit_length, factors)))


class Rows:
    """The rows of a linear model as its proof lists them: all finite bounds, variable by variable, then the rows."""

    def __init__(self, words: Words, model: LinearModel) -> None:
        self._words, self.model = words, model
        self.sign = -1 if model.sense is Sense.MAXIMIZE else 1
        costs = [cost.as_integer_ratio() for cost in model.costs.tolist()]
        self.objective = row_of(words, 0, (0, 1), range(len(costs)), costs)
        self.integer: list[bool] = model.integer.tolist()
        self.bounds = list(_sides(model.lower.tolist(), model.upper.tolist(), joined=False))
        self._others = list(_sides(model.row_lower.tolist(), model.row_upper.tolist(), joined=True))
        self._made: dict[int, Row] = {}

    def __len__(self) -> int:
        return len(self.bounds) + len(self._others)

    def __getitem__(self, index: int) -> Row:
        if index < len(self.bounds):
            j, sense, side = self.bounds[index]
            return Row(sense, side.as_integer_ratio(), [j], [1], 1, 1)
        i, sense, side = self._others[index - len(self.bounds)]
        if i not in self._made:
            columns, coefficients = self.model.row(i)
            self._made[i] = row_of(self._words, 0, (0, 1), columns, [each.as_integer_ratio() for each in coefficients])
        return self._made[i]._replace(sense=sense, side=side.as_integer_ratio())

    def whole(self, row: Row) -> bool:
        """Whether a row has whole coefficients, on integer variables only."""
        return row.over == 1 and all(self.integer[j] for j in row.columns)


def _sides(lower: list[float], upper: list[float], *, joined: bool) -> Iterator[tuple[int, int, float]]:
    """Yield index, sense and finite sides; those of an equality ``joined``."""
    for index, (low, high) in enumerate(zip(lower, upper, strict=True)):
        both = ((0, low),) if joined and low == high else ((1, low), (-1, high))
        yield from ((index, sense, side) for sense, side in both if abs(side) < inf)
