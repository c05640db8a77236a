"""Least total flow times of many instances at once, from the vertices of the duals of all orders of events, in floats.

Without ticks and restarts only the seconds x_iv matter that a schedule spends on allocation v in its i-th interval between two
arrivals or ends. For one order of them the dual is

    maximise  sum_j u_j w_j + sum_j G_j b_j   with   sum_{j present} u_j s(v_j) + G_next <= k_i   for each interval and v,

u >= 0, b_j the gap before the arrival of j, G_next that of the next job to come, k_i the number of jobs present. It does not
depend on the instance. Its vertices are found once, by trying all sets of rows; a ray that gains says that the order cannot be.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]
_ZERO = 1e-9
_AT_ONCE = 100_000


def orders(jobs: int) -> Iterator[tuple[int, ...]]:
    """Orders of events: -1 for the next arrival, or the job that ends; the first arrival is at time 0."""

    def after(events: tuple[int, ...], arrived: int, present: frozenset[int]) -> Iterator[tuple[int, ...]]:
        if arrived == jobs and not present:
            yield events
        if arrived < jobs:
            yield from after((*events, -1), arrived + 1, present | {arrived})
        for job in sorted(present):
            yield from after((*events, job), arrived, present - {job})

    yield from after((), 1, frozenset({0}))


def rows_of(speeds: Sequence[float], jobs: int, order: tuple[int, ...]) -> Rows:
    """Rows >= 0 over (u, G, 1): of the intervals of an order, and of u."""
    units, found = len(speeds), dict[tuple[float, ...], None]()
    on = [0.0, *speeds]
    arrived, present = 1, {0}
    for event in order:
        for counts in product(range(units + 1), repeat=len(present)):
            if sum(counts) <= units and (sum(counts) == units or not any(counts)):
                row = [0.0] * (2 * jobs)
                for job, count in zip(sorted(present), counts, strict=True):
                    row[job] = -on[count]
                if arrived < jobs:
                    row[jobs + arrived - 1] = -1.0
                row[-1] = float(len(present))
                found[tuple(row)] = None
        if event < 0:
            present.add(arrived)
            arrived += 1
        else:
            present.discard(event)
    found |= {tuple(float(at == job) for at in range(2 * jobs)): None for job in range(jobs)}
    found[tuple(float(at == 2 * jobs - 1) for at in range(2 * jobs))] = None
    return np.array([*found])


def extreme(rows: Rows) -> tuple[Rows, Rows]:
    """Vertices, and rays, of a cone's slice where the last coordinate is 1: by all sets of one row less than coordinates."""
    size = rows.shape[1]
    sets = np.array([*combinations(range(len(rows)), size - 1)])
    kept: list[Rows] = []
    for start in range(0, len(sets), _AT_ONCE):
        chosen = rows[sets[start : start + _AT_ONCE]]
        # what is orthogonal to all rows of a set, by its minors
        minors = [(-1) ** k * np.linalg.det(np.delete(chosen, k, axis=2)) for k in range(size)]
        normals = np.stack(minors, axis=1)
        most = np.abs(normals).max(axis=1, keepdims=True)
        normals = normals[most[:, 0] > _ZERO] / most[most[:, 0] > _ZERO]
        for each in (normals, -normals):
            kept.append(each[(each @ rows.T >= -_ZERO).all(axis=1)])
    found = np.unique(np.concatenate(kept).round(9), axis=0, return_index=True)[1]
    cone = np.concatenate(kept)[found]
    ends = cone[:, -1] > _ZERO
    return cone[ends, :-1] / cone[ends, -1:], cone[~ends, :-1]


@dataclass(frozen=True, eq=False)
class Optima:
    """Vertices and rays of the duals of all orders, for jobs of one table."""

    jobs: int
    duals: list[tuple[Rows, Rows]]

    @classmethod
    def of(cls, speeds: Sequence[Fraction], jobs: int) -> "Optima":
        """Find them all."""
        on = [float(each) for each in speeds]
        return cls(jobs, [extreme(rows_of(on, jobs, order)) for order in orders(jobs)])

    def flow(self, arrivals: Rows, works: Rows) -> NDArray[np.float64]:
        """Least total flow time of each row of arrivals, which ascend, and works."""
        points = np.concatenate([works, np.diff(arrivals, axis=1)], axis=1)
        largest = points.max(axis=1)
        least = np.full(len(points), np.inf)
        for vertices, rays in self.duals:
            values = (points @ vertices.T).max(axis=1)
            if len(rays):
                values[(points @ rays.T).max(axis=1) > 1e-13 * largest] = np.inf
            least = np.minimum(least, values)
        return least
