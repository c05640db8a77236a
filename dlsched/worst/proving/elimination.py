"""Systems of linear equations, solved in rationals by Gaussian elimination."""

from collections.abc import Sequence
from fractions import Fraction

Equation = dict[int, Fraction]
"""Coefficients by unknown; the key ``RIGHT`` holds the right-hand side."""
RIGHT = -1


def solution(equations: Sequence[Equation], unknowns: int) -> list[Fraction] | None:
    """Return the unique solution of a system; None if it has no solution, or several.

    Parameters
    ----------
    equations
        Sparse equations.
    unknowns
        Number of unknowns, which are 0 .. unknowns - 1.

    >>> solution([{0: Fraction(2), RIGHT: Fraction(1)}, {0: Fraction(1), 1: Fraction(1), RIGHT: Fraction(1)}], 2)
    [Fraction(1, 2), Fraction(1, 2)]
    """
    waiting = [{k: factor for k, factor in equation.items() if factor} for equation in equations]
    waiting = [equation for equation in waiting if equation]
    solved: list[tuple[int, Equation]] = []
    while waiting:
        row = min(waiting, key=len)  # sparse ones first, so that the others stay sparse
        waiting.remove(row)
        pivot = max(row)
        if pivot == RIGHT:
            return None
        solved.append((pivot, row))
        for other in waiting:
            if pivot in other:
                _subtract(other, row, other[pivot] / row[pivot])
        waiting = [other for other in waiting if other]
    if len(solved) < unknowns:
        return None
    values: dict[int, Fraction] = {}
    for pivot, row in reversed(solved):
        known = sum((factor * values[k] for k, factor in row.items() if k not in (pivot, RIGHT)), Fraction(0))
        values[pivot] = (row.get(RIGHT, Fraction(0)) - known) / row[pivot]
    return [values[k] for k in range(unknowns)]


def _subtract(row: Equation, other: Equation, times: Fraction) -> None:
    """Subtract a multiple of another equation in place, and drop coefficients that become 0."""
    for unknown, factor in other.items():
        left = row.get(unknown, Fraction(0)) - times * factor
        if left:
            row[unknown] = left
        else:
            row.pop(unknown, None)
