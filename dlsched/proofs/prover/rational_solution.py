"""Solves sparse systems of linear equations in rationals, by elimination from the shortest equation on."""

import heapq
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from dlsched.core.budget import Tick, no_tick

Equation = tuple[Mapping[int, int], Fraction]
"""Whole coefficients by unknown, and the right side."""

_MOST_BITS = 20_000
"""Numbers of more bits end the elimination: it is hopeless."""


def solution_of(
    equations: Sequence[Equation], unknowns: Sequence[int], tick: Tick = no_tick
) -> dict[int, Fraction] | None:
    """Return the values of the unknowns; None: none or several, or numbers that are too long."""
    rows: list[dict[int, Fraction]] = [{j: Fraction(a) for j, a in terms.items() if a} for terms, _ in equations]
    right = [side for _, side in equations]
    users: defaultdict[int, set[int]] = defaultdict(set)
    for i, row in enumerate(rows):
        for j in row:
            users[j].add(i)
    queue = [(len(row), i) for i, row in enumerate(rows)]
    heapq.heapify(queue)
    done = [False] * len(rows)
    pivots: list[tuple[int, int]] = []
    while queue:
        size, i = heapq.heappop(queue)
        if done[i] or size != len(rows[i]):
            continue
        done[i] = True
        tick()
        row = rows[i]
        if not row:
            if right[i]:
                return None
            continue
        pivot = min(row, key=lambda j: (len(users[j]), j))
        value = row[pivot]
        if value.numerator.bit_length() > _MOST_BITS:
            return None
        pivots.append((i, pivot))
        for j in row:
            users[j].discard(i)
        for other in list(users[pivot]):
            target = rows[other]
            factor = target.pop(pivot) / value
            users[pivot].discard(other)
            for j, a in row.items():
                if j != pivot:
                    changed = target.get(j, Fraction(0)) - factor * a
                    if changed:
                        target[j] = changed
                        users[j].add(other)
                    elif j in target:
                        del target[j]
                        users[j].discard(other)
            right[other] -= factor * right[i]
            heapq.heappush(queue, (len(target), other))
    if len(pivots) < len(unknowns):
        return None
    values: dict[int, Fraction] = {}
    for i, pivot in reversed(pivots):
        row = rows[i]
        rest = right[i] - sum((a * values[j] for j, a in row.items() if j != pivot), Fraction(0))
        values[pivot] = rest / row[pivot]
    return values
