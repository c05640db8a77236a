"""Exact elimination."""

from fractions import Fraction

import pytest

from dlsched.worst.proving.elimination import RIGHT, solution


def equations(*rows: tuple[int, ...]) -> list[dict[int, Fraction]]:
    """Rows of coefficients, the right-hand side last."""
    return [{**{k: Fraction(c) for k, c in enumerate(row[:-1])}, RIGHT: Fraction(row[-1])} for row in rows]


def test_a_system_with_one_solution() -> None:
    """With x + 2 y + z = 8, 3 x - z = 0, y + z = 5, and their sum, by hand: x = 1, y = 2, z = 3."""
    assert solution(equations((1, 2, 1, 8), (3, 0, -1, 0), (0, 1, 1, 5), (4, 3, 1, 13)), 3) == [1, 2, 3]


@pytest.mark.parametrize(
    "rows", [((1, 1, 2),), ((1, 1, 2), (2, 2, 4)), ((1, 1, 2), (1, 1, 3)), ((0, 0, 1), (1, 0, 1), (0, 1, 1)), ()]
)
def test_no_solution_or_many(rows: tuple[tuple[int, ...], ...]) -> None:
    """Both are None."""
    assert solution(equations(*rows), 2) is None


def test_zeros_do_not_matter() -> None:
    """Equations 0 = 0, and coefficients that are 0."""
    assert solution(equations((0, 0, 0), (1, 0, 0), (0, 2, 3)), 2) == [0, Fraction(3, 2)]
