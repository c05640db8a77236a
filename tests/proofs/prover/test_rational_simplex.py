"""The simplex method in rationals: against HiGHS on random programs, and where floats see nothing."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from dlsched.proofs.prover.rational_simplex import RationalProgram, Side, rational_optimum
from dlsched.proofs.prover.relaxation import BASIC

HALF = Fraction(1, 2)


def drawn(generator: np.random.Generator) -> RationalProgram:
    """Draw a program of up to five variables in bounds, and up to five rows of every kind, many of them tied."""
    count, rows = int(generator.integers(1, 6)), int(generator.integers(0, 6))

    def limits(free: bool) -> tuple[Side, Side]:
        low = Fraction(int(generator.integers(-3, 3)), 3)
        high = low + int(generator.integers(0, 4))
        kinds: list[tuple[Side, Side]] = [(low, high), (low, None), (None, high), (None, None)]
        return kinds[int(generator.integers(0, 4 if free else 1))]

    return RationalProgram(
        generator.integers(-4, 5, count).tolist(),
        [limits(bool(generator.random() < 0.2)) for _ in range(count)],
        [{j: int(a) for j, a in enumerate(generator.integers(-2, 3, count)) if a} for _ in range(rows)],
        [limits(True) for _ in range(rows)],
    )


def by_highs(program: RationalProgram) -> tuple[int, float]:
    """Return the status of HiGHS and its objective."""
    matrix, right = [], []
    for row, (low, high) in zip(program.rows, program.sides, strict=True):
        terms = [row.get(j, 0) for j in range(len(program.costs))]
        for side, sign in ((low, -1), (high, 1)):
            if side is not None:
                matrix.append([sign * a for a in terms])
                right.append(float(sign * side))
    bounds = [tuple(None if side is None else float(side) for side in each) for each in program.bounds]
    options = {"presolve": False}  # which cannot tell an unbounded program from one without a point
    found = linprog(program.costs, matrix or None, right or None, bounds=bounds, method="highs", options=options)
    return found.status, found.fun


def shown_by(program: RationalProgram, multipliers: dict[int, Fraction], *, costs: bool) -> Fraction:
    """Return what multipliers prove: a bound of the costs, or if above 0 that there is no point."""
    left = [Fraction(cost) if costs else Fraction(0) for cost in program.costs]
    total = Fraction(0)

    def add(value: Fraction, limits: tuple[Side, Side]) -> Fraction:
        if not value:
            return Fraction(0)
        side = limits[0] if value > 0 else limits[1]
        assert side is not None
        return value * side

    for i, value in multipliers.items():
        total += add(value, program.sides[i])
        for j, a in program.rows[i].items():
            left[j] -= value * a
    return total + sum(map(add, left, program.bounds))


@pytest.mark.parametrize("seed", range(200))
def test_it_finds_what_highs_finds_and_proves_it(seed: int) -> None:
    """From the basis of the slacks: an optimum that its multipliers meet, no point as they show, or no end."""
    program = drawn(np.random.default_rng(seed))
    found = rational_optimum(program, program.slacks())
    status, objective = by_highs(program)
    if found is None:
        assert status in (3, 4)
        return
    multipliers = dict(found.multipliers)
    if found.point is None:
        assert status in (2, 4)
        assert shown_by(program, multipliers, costs=False) > 0
        return
    for limits, value in [
        *zip(program.bounds, found.point, strict=True),
        *(
            (sides, sum(a * found.point[j] for j, a in row.items()))
            for row, sides in zip(program.rows, program.sides, strict=True)
        ),
    ]:
        assert (limits[0] is None or value >= limits[0]) and (limits[1] is None or value <= limits[1])
    reached = sum(cost * x for cost, x in zip(program.costs, found.point, strict=True))
    assert float(reached) == pytest.approx(objective, abs=1e-9)
    assert shown_by(program, multipliers, costs=True) == reached


def test_a_basis_that_is_none_is_left() -> None:
    """Two equal rows cannot both hold the two variables: it begins from the slacks. The least of x + y where x + y >= 1/2."""
    row = {0: 1, 1: 1}
    program = RationalProgram([1, 1], [(Fraction(0), None)] * 2, [row, row], [(HALF, None)] * 2)
    found = rational_optimum(program, ([BASIC, BASIC], [0, 0]))
    assert found is not None and found.point is not None
    assert sum(found.point) == HALF


def test_numbers_that_floats_do_not_tell_from_0() -> None:
    """The least of z where z >= 1e-30 x + y and x + y = 1 is at x = 1."""
    tiny = 10**30
    program = RationalProgram(
        [0, 0, 1],
        [(Fraction(0), Fraction(1))] * 2 + [(Fraction(0), None)],
        [{0: 1, 1: 1}, {0: -1, 1: -tiny, 2: tiny}],
        [(Fraction(1), Fraction(1)), (Fraction(0), None)],
    )
    found = rational_optimum(program, ([0, BASIC, 0], [0, BASIC]))
    assert found is not None
    assert found.point == (1, 0, Fraction(1, tiny))
