"""Numbers of runs on all tables of speeds of a simplex at once: polynomials in the weights of its corners.

A table is sum_i x_i corner_i with x >= 0 of sum 1. Polynomials have one degree, so that one without coefficients
below 0 is >= 0 on all tables, and is 0 on faces of the simplex alone. One table has no weights, and degree 0.

====================  =====================================================================================
code                  mathematics
====================  =====================================================================================
``Polynomials``       several polynomials of one degree: the vector of their coefficients, by monomial of x
``Varying``           polynomials times powers of speeds: one, a number of the table; or coefficients of a form
``ties``              faces, as corners, on which numbers that were compared are equal
====================  =====================================================================================
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import factorial, lcm, prod
from operator import add

from dlsched.worst.competitive.stream import Facts, Number, Quotient, Speeds, constant_of, sign_beside

Monomial = tuple[int, ...]
Polynomials = dict[Monomial, tuple[Fraction, ...]]


@cache
def monomials(variables: int, degree: int) -> tuple[Monomial, ...]:
    """Exponents of all monomials of a degree."""
    return tuple(each for each in product(range(degree + 1), repeat=variables) if sum(each) == degree)


def degree_of(polynomials: Polynomials) -> int:
    """Their degree."""
    return sum(next(iter(polynomials)))


def multiplied(many: Polynomials, one: Polynomials) -> Polynomials:
    """Multiply polynomials by one."""
    found: Polynomials = {}
    for (left, row), (right, (factor,)) in product(many.items(), one.items()):
        at = tuple(map(add, left, right))
        scaled = tuple(factor * each for each in row)
        found[at] = tuple(map(add, found[at], scaled)) if at in found else scaled
    return found


def raised(many: Polynomials, degree: int) -> Polynomials:
    """Write polynomials in a larger degree: the weights add up to 1."""
    while degree_of(many) < degree:
        variables = len(next(iter(many)))
        many = multiplied(many, dict.fromkeys(monomials(variables, 1), (Fraction(1),)))
    return many


def added(one: Polynomials, other: Polynomials) -> Polynomials:
    """Add as many polynomials."""
    degree = max(degree_of(one), degree_of(other))
    one, other = raised(one, degree), raised(other, degree)
    zero = (Fraction(0),) * len(next(iter(one.values())))
    return {
        at: tuple(map(add, one.get(at, zero), other.get(at, zero))) for at in monomials(len(next(iter(one))), degree)
    }


def flat(many: Polynomials, degree: int = 0) -> tuple[Fraction, ...]:
    """All coefficients, monomial by monomial, of at least a degree."""
    many = raised(many, degree)
    zero = (Fraction(0),) * len(next(iter(many.values())))
    order = monomials(len(next(iter(many))), degree_of(many))
    return tuple(each for at in order for each in many.get(at, zero))


def unflat(numbers: Sequence[Fraction | int], size: int, variables: int) -> Polynomials:
    """Return so many polynomials from all their coefficients."""
    degree = 0
    while len(monomials(variables, degree)) * size < len(numbers):
        degree += 1
    rows = [tuple(map(Fraction, numbers[at : at + size])) for at in range(0, len(numbers), size)]
    return dict(zip(monomials(variables, degree), rows, strict=True))


Rows = list[tuple[Fraction, ...]]


def in_lengths(
    variables: int, jobs: int, many: Sequence[int], works: Rows, others: Rows
) -> tuple[tuple[int, ...], Rows, Rows]:
    """Return jobs present, works and other forms by length of an interval and monomial, works replaced by their sums of lengths.

    What holds for each of these coefficients holds on all tables.
    """
    size = 3 * jobs - 1
    ended = [{at: row[jobs:] for at, row in unflat(each, size, variables).items()} for each in works]
    found = []
    for other in others:
        form = unflat(other, size, variables)
        total = {at: row[jobs:] for at, row in form.items()}
        for job in range(jobs):
            total = added(total, multiplied(ended[job], {at: (row[job],) for at, row in form.items()}))
        found.append(total)
    degree = max(map(degree_of, [*ended, *found]))
    powers = [factorial(degree) // prod(map(factorial, at)) for at in monomials(variables, degree)]
    present = tuple(each * power for power in powers for each in many)
    return present, [flat(each, degree) for each in ended], [flat(each, degree) for each in found]


class Cut(BaseException):
    """A number of the table that is > 0 on some tables of the simplex and < 0 on others: its polynomial."""

    def __init__(self, polynomial: Polynomials) -> None:
        super().__init__(polynomial)
        self.polynomial = polynomial


class Simplex:
    """All tables between some corners, two or more."""

    def __init__(self, corners: Sequence[Speeds]) -> None:
        self.corners, self.size = tuple(corners), len(corners)
        self.ties = set[tuple[int, ...]]()
        self.speeds: list[Polynomials] = [
            {at: (corner[m],) for at, corner in zip(monomials(self.size, 1)[::-1], corners, strict=True)}
            for m in range(len(corners[0]))
        ]

    def note(self, polynomials: Polynomials) -> None:
        """Keep the largest faces on which these polynomials are 0."""
        for many in range(self.size - 1, 0, -1):
            for face in combinations(range(self.size), many):
                others = set(range(self.size)).difference(face)
                zero = not any(any(row) for at, row in polynomials.items() if not any(at[each] for each in others))
                if zero and not any({*face} < {*each} for each in self.ties):
                    self.ties.add(face)


class TableFacts(Facts):
    """Forms that are > 0 on a path, for all tables of a simplex but those of its ``ties``; ``cut``: where one fails."""

    def __init__(self, simplex: Simplex, size: int) -> None:
        super().__init__()
        self.simplex, self.size = simplex, size
        self.cut: Cut | None = None

    def form(self, numbers: Sequence[int]) -> "Varying":
        """A form, the same on all tables."""
        return Varying({(0,) * self.simplex.size: tuple(map(Fraction, numbers))}, self._powers(), self)

    def times(self) -> dict[int, "Varying"]:
        """Seconds per unit of work, by units."""
        one: Polynomials = {(0,) * self.simplex.size: (Fraction(1),)}
        units = range(1, len(self.simplex.speeds) + 1)
        return {each: Varying(one, self._powers(each), self) for each in units}

    def _powers(self, over: int = 0) -> tuple[int, ...]:
        return tuple(-int(units == over) for units in range(1, len(self.simplex.speeds) + 1))

    def decided(self, number: "Varying") -> int:
        """Sign of a number, without the powers of speeds."""
        terms = number.terms
        if not any(map(any, terms.values())):
            return 0
        numbers = flat(terms)
        if not number.of_table:
            degree = max(degree_of(terms), *(degree_of(self._read(each)) for each in self.positive), 0)
            self.positive[:] = [tuple(map(int, flat(self._read(each), degree))) for each in self.positive]
            numbers = flat(terms, degree)
        elif min(numbers) < 0 < max(numbers):
            self.cut = self.cut or Cut(terms)
            raise self.cut
        below = lcm(*(each.denominator for each in numbers))
        self.simplex.note(terms)
        return self.sign(tuple(int(each * below) for each in numbers), below)

    def _read(self, numbers: Sequence[int]) -> Polynomials:
        return unflat(numbers, self.size, self.simplex.size)


class Varying(Number):
    """Polynomials times powers of speeds: a number of the table, or coefficients of a form."""

    __slots__ = ("facts", "powers", "terms")

    def __init__(self, terms: Polynomials, powers: tuple[int, ...], facts: TableFacts) -> None:
        self.terms, self.powers, self.facts = terms, powers, facts

    @property
    def of_table(self) -> bool:
        """Whether it is a number of the table."""
        return len(next(iter(self.terms.values()))) == 1

    @property
    def coefficients(self) -> tuple[Fraction, ...]:
        """Coefficients of a form without divisions by speeds."""
        assert min(self.powers) >= 0
        return flat(self._over((0,) * len(self.powers)))

    @property
    def numbers(self) -> tuple[int, ...]:
        """A multiple of the coefficients, in whole numbers."""
        numbers = self.coefficients
        below = lcm(*(each.denominator for each in numbers))
        return tuple(int(each * below) for each in numbers)

    def _over(self, powers: Sequence[int]) -> Polynomials:
        """The polynomials beside smaller powers."""
        terms = self.terms
        for speed, mine, least in zip(self.facts.simplex.speeds, self.powers, powers, strict=True):
            for _ in range(mine - least):
                terms = multiplied(terms, speed)
        return terms

    def _against(self, other: object) -> int:
        if isinstance(other, Varying) or self.of_table:
            return self.facts.decided(self - other)
        beside = sign_beside(other)
        return self.facts.decided(self) or beside

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Varying):
            return self.of_table and self._against(other) == 0
        difference = self - other
        if difference.of_table:
            return self.facts.decided(difference) == 0
        self.facts.simplex.note(difference.terms)
        return not difference

    # what is equal depends on the path of the run, so there is no hash
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return any(map(any, self.terms.values()))

    def __add__(self, other: object) -> "Varying":
        if not isinstance(other, Varying):
            constant = constant_of(other)
            if constant and not self.of_table:
                raise TypeError(f"a time plus {other!r}, which is no multiple of a time")
            return self + self.facts.form([1]) * constant if constant else self
        if self.of_table != other.of_table:
            raise TypeError("a time plus a number that is no multiple of a time")
        powers = tuple(map(min, self.powers, other.powers))
        return Varying(added(self._over(powers), other._over(powers)), powers, self.facts)

    def __mul__(self, other: object) -> "Varying":
        if not isinstance(other, Varying):
            factor = constant_of(other)
            scaled = {at: tuple(factor * each for each in row) for at, row in self.terms.items()}
            return Varying(scaled, self.powers, self.facts)
        if not other.of_table:
            if not self.of_table:
                raise TypeError("a product or quotient of two times, which is not linear")
            return other * self
        return Varying(multiplied(self.terms, other.terms), tuple(map(add, self.powers, other.powers)), self.facts)

    def __truediv__(self, other: object) -> "Varying":
        return self * (1 / other if isinstance(other, Varying) else 1 / constant_of(other))

    def __rtruediv__(self, other: object) -> "Varying | Quotient":
        if not self.of_table or degree_of(self.terms):
            raise TypeError("a quotient by a sum of times or of speeds")
        ((at, (factor,)),) = self.terms.items()
        return Varying({at: (constant_of(other) / factor,)}, tuple(-each for each in self.powers), self.facts)
