"""Cost tables: the cost of each allowed count of units for each job, undominated pairs, lower hulls, largest useful counts.

=================  =======================================================================
code               mathematics
=================  =======================================================================
``starts``         pairs of job j are p = starts[j] .. starts[j + 1] - 1; shape (J + 1,)
``counts[p]``      units, strictly increasing within a job, >= 1; shape (P,)
``costs[p]``       cost of that count, finite; shape (P,); for the greedy algorithms exact numbers too, as objects
``least``          least cost of every job; shape (J,)
``largest``        largest cost in size
=================  =======================================================================

A pair is dominated when the same job has a smaller count that costs no more. The hull keeps, of the undominated pairs,
those that minimise cost + price x count for some price >= 0 (Sinha and Zoltners 1979); along it the saving per added
unit never rises. Pairs on a straight line are all kept: one long step in their place may not fit where a short one does.

*Useful counts* of costs hyperbolic / w + linear w + constant, w = 1, 2, ... end at the cheapest, as such a cost is convex or
increasing. A price limits the pairs that many such jobs need to about C in all: let F be the jobs without a charge for
changing their count, and w_j(p) the count that minimises cost_j + p w. If the w_j(p) of F and the smallest counts of all
other jobs add up to more than C, some optimal answer gives no job more than w_j(p), except its current count. *Proof.* If job
j has more (and not its current count), some i in F has less than w_i(p). Move one unit from j to i: j loses at most p
(convexity), i gains at least p. The greedy methods too stay within w_j(p): they exhaust the units on savings above p.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.core.limits import Tick, no_tick


@dataclass(frozen=True, slots=True, eq=False)
class CostTable:
    """Pairs (count, cost) of every job, job after job; ValueError: arrays that are none.

    >>> table = CostTable.from_rows([({1: 9.0, 2: 5.0}), ({1: 4.0})])
    >>> table.jobs, table.pairs, table.minimum_units
    (2, 3, 2)
    """

    starts: IntArray
    counts: IntArray
    costs: FloatArray
    least: FloatArray = field(init=False)
    largest: float = field(init=False)

    def __post_init__(self) -> None:
        if self.starts.ndim != 1 or len(self.starts) < 2 or self.starts[0] != 0 or self.starts[-1] != len(self.counts):
            raise ValueError("starts must run from 0 to the number of pairs")
        if self.counts.shape != self.costs.shape or np.any(np.diff(self.starts) < 1):
            raise ValueError("every job needs at least one pair, every count its cost")
        rises = self.counts[1:] > self.counts[:-1]
        # Between two jobs counts may fall.
        rises[self.starts[1:-1] - 1] = True
        if not rises.all() or np.any(self.counts[self.starts[:-1]] < 1):
            raise ValueError("counts must be at least 1 and increase within a job")
        if self.costs.dtype == object:  # exact numbers: only the algorithm compares them
            object.__setattr__(self, "least", self.costs[:0])
            object.__setattr__(self, "largest", 0.0)
            return
        least = np.minimum.reduceat(self.costs, self.starts[:-1])
        largest = max(float(self.costs.max()), -float(least.min()))
        if not math.isfinite(largest):
            raise ValueError("costs must be finite")
        object.__setattr__(self, "least", least)
        object.__setattr__(self, "largest", largest)

    @classmethod
    def from_rows(cls, rows: Iterable[dict[int, float]]) -> Self:
        """Build the table from one {count: cost} dictionary per job."""
        ordered = [sorted(row.items()) for row in rows]
        starts = np.cumsum([0, *map(len, ordered)], dtype=np.int64)
        flat = [pair for row in ordered for pair in row]
        return cls(
            starts,
            np.array([count for count, _ in flat], dtype=np.int64),
            np.array([cost for _, cost in flat], dtype=np.float64),
        )

    @classmethod
    def from_counts(
        cls,
        counts: Sequence[Sequence[int] | IntArray],
        cost: Callable[[int, IntArray], FloatArray],
        *,
        tick: Tick = no_tick,
    ) -> Self:
        """Tabulate ``cost`` of a job's position and its ascending counts; ``tick`` is called for every job."""
        starts = np.concatenate(([0], np.cumsum([len(row) for row in counts])))
        flat, costs = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
        for job, (row, begin, end) in enumerate(zip(counts, starts[:-1].tolist(), starts[1:].tolist(), strict=True)):
            tick()
            flat[begin:end] = np.arange(row[0], row[-1] + 1) if isinstance(row, range) else row
            costs[begin:end] = cost(job, flat[begin:end])
        return cls(starts, flat, costs)

    @property
    def jobs(self) -> int:
        """Number of jobs, J."""
        return len(self.starts) - 1

    @property
    def pairs(self) -> int:
        """Number of (job, count) pairs, P."""
        return len(self.counts)

    @property
    def first(self) -> IntArray:
        """Index of every job's smallest count; shape (J,)."""
        return self.starts[:-1]

    @property
    def last(self) -> IntArray:
        """Index of every job's largest count; shape (J,)."""
        return self.starts[1:] - 1

    @property
    def lengths(self) -> IntArray:
        """Number of pairs of every job; shape (J,)."""
        return np.diff(self.starts)

    @property
    def minimum_units(self) -> int:
        """Sum of the smallest counts; if it exceeds the capacity, no choice is feasible."""
        return int(self.counts[self.first].sum())

    def subset(self, keep: BoolArray) -> Self:
        """Return the table of the pairs marked in ``keep``, shape (P,); every job must keep one."""
        starts = np.concatenate(([0], np.cumsum(np.add.reduceat(keep.astype(np.int64), self.first))))
        return type(self)(starts, self.counts[keep], self.costs[keep])

    def of_jobs(self, jobs: IntArray) -> Self:
        """Return the table of some jobs, at least one, by position."""
        lengths = self.lengths[jobs]
        ends = np.cumsum(lengths)
        pairs = np.arange(ends[-1]) + np.repeat(self.first[jobs] - (ends - lengths), lengths)
        return type(self)(np.concatenate(([0], ends)), self.counts[pairs], self.costs[pairs])

    def counts_by_id(self, ids: Sequence[str], chosen: IntArray) -> dict[str, int]:
        """Read the ``chosen`` pair indices, one per job, as counts of the jobs of these names."""
        return dict(zip(ids, self.counts[chosen].tolist(), strict=True))

    def total_cost(self, chosen: IntArray | Sequence[int]) -> float:
        """Sum of the costs of the ``chosen`` pair indices, one per job."""
        return float(self.costs[np.asarray(chosen, dtype=np.int64)].sum())


_ROUNDS = 8  # of passes over all pairs, after which the rest is scanned one by one
_BLOCK = 2**14  # pairs between two ticks
_ROUNDING = 2.0**-49  # relative, of costs: keeps pairs on a straight line in spite of the last bits of floats


def undominated(table: CostTable, *, tick: Tick = no_tick) -> BoolArray:
    """Mark the pairs that no smaller count of their job matches in cost; shape (P,), cost O(P log(longest job))."""
    position = np.arange(table.pairs) - np.repeat(table.first, table.lengths)
    best_before = np.full(table.pairs, np.inf)
    best_before[1:] = np.where(position[1:] > 0, table.costs[:-1], np.inf)
    # Doubling windows: after each round ``best_before`` covers twice as many earlier pairs of the job.
    reach = 1
    while reach < int(position.max(initial=0)) + 1:
        tick()
        further = np.where(position[reach:] >= reach, best_before[:-reach], np.inf)
        best_before[reach:] = np.minimum(best_before[reach:], further)
        reach *= 2
    return table.costs < best_before


def hull(table: CostTable, *, tick: Tick = no_tick) -> BoolArray:
    """Mark the pairs on the lower convex hull of their job, from its smallest count down to its least cost; shape (P,).

    Each round drops in all jobs the undominated pairs on or above the line through their two neighbours: such a pair is no
    corner, whichever neighbours are dropped too. A round costs O(P); convex costs need one, tables a few. As dropping may
    uncover one neighbour after the other, the pairs left after ``_ROUNDS`` rounds are scanned one by one. Then the pairs on the
    lines between corners are added, up to rounding.
    """
    pairs = candidates = np.flatnonzero(undominated(table, tick=tick))
    for _ in range(_ROUNDS):
        tick()
        rows = np.searchsorted(table.starts, pairs, side="right") - 1
        same = rows[:-1] == rows[1:]
        saved = table.costs[pairs[:-1]] - table.costs[pairs[1:]]
        added = np.where(same, table.counts[pairs[1:]] - table.counts[pairs[:-1]], 1)
        # Slopes of consecutive pairs of one job; at a corner the saving per unit must fall strictly.
        slope = saved / added
        keep = np.ones(len(pairs), dtype=bool)
        keep[1:-1] = ~(same[:-1] & same[1:] & (slope[:-1] <= slope[1:]))
        if keep.all():
            break
        pairs = pairs[keep]
    else:
        pairs = _scanned(table, pairs, tick)
    marked = np.zeros(table.pairs, dtype=bool)
    marked[pairs] = True
    marked[_on_lines(table, pairs, candidates[~marked[candidates]])] = True
    return marked


def largest_hull_step(table: CostTable) -> float:
    """Largest saving of one step along a hull: what ``greedy.climb_hulls`` can lose (0 without steps)."""
    vertices = np.flatnonzero(hull(table))
    job = np.searchsorted(table.starts, vertices, side="right")
    saved = (table.costs[vertices[:-1]] - table.costs[vertices[1:]])[job[:-1] == job[1:]]
    return float(saved.max(initial=0.0))


def _on_lines(table: CostTable, corners: IntArray, others: IntArray) -> IntArray:
    """Return those of the other pairs, all between two corners of their job, that lie on the line through these."""
    after = np.searchsorted(corners, others)
    low, high = corners[after - 1], corners[after]
    saved, added = table.costs[low] - table.costs[high], table.counts[high] - table.counts[low]
    line = table.costs[low] - saved * ((table.counts[others] - table.counts[low]) / added)
    return others[table.costs[others] - line <= _ROUNDING * table.costs[low]]


def _scanned(table: CostTable, pairs: IntArray, tick: Tick) -> IntArray:
    """Return the corners of the hulls, from undominated ones, by going back from every new pair (Andrew 1979)."""
    rows = (np.searchsorted(table.starts, pairs, side="right") - 1).tolist()
    counts, costs = table.counts[pairs].tolist(), table.costs[pairs].tolist()
    corners: list[int] = []
    slopes: list[float] = []  # slope of the line to each corner from the one before; infinite for the first of a job
    for index, (row, count, cost) in enumerate(zip(rows, counts, costs, strict=True)):
        if index % _BLOCK == 0:
            tick()
        slope = np.inf
        while corners and rows[corners[-1]] == row:
            slope = (costs[corners[-1]] - cost) / (count - counts[corners[-1]])
            if slopes[-1] > slope:
                break
            corners.pop()
            slopes.pop()
        corners.append(index)
        slopes.append(slope)
    return pairs[corners]


_HALVINGS = 60  # the price is then known to 2**-60 of its range


def useful_most(
    hyperbolic: FloatArray, linear: FloatArray, largest: FloatArray, free: BoolArray, spare: int
) -> list[int]:
    """Return w_j(p) of every job for a price p at which demand exceeds the capacity, rounded up generously.

    ``free``: whether in F; ``spare``: the capacity beyond the smallest counts of all jobs. The arrays have shape (J,).
    """
    needed = spare + 3.0 * len(hyperbolic)  # for every job 1 for its smallest count, 2 for rounding
    low, high = 0.0, float(np.max(hyperbolic, initial=0.0))

    def exceeded(price: float) -> bool:
        return float(_demand(hyperbolic, linear, largest, price)[free].sum()) > needed

    # Bisection: ``low`` stays a price at which demand exceeds the capacity, so the theorem holds there.
    if exceeded(low):
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if exceeded(middle) else (low, middle)
    return [int(demand) + 2 for demand in _demand(hyperbolic, linear, largest, low).tolist()]


def _demand(hyperbolic: FloatArray, linear: FloatArray, largest: FloatArray, price: float) -> FloatArray:
    """Real count that minimises hyperbolic / w + (linear + price) w, from 1 to the largest; shape (J,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.sqrt(np.maximum(hyperbolic, 0.0) / (linear + price))
    best[np.maximum(hyperbolic, 0.0) == 0.0] = 1.0
    return np.clip(best, 1.0, largest)
