"""Cost tables: the cost of each allowed count of units for each job; every algorithm of this room takes one.

=================  =======================================================================
code               mathematics
=================  =======================================================================
``starts``         pairs of job j are p = starts[j] .. starts[j + 1] - 1; shape (J + 1,)
``counts[p]``      units, strictly increasing within a job, >= 1; shape (P,)
``costs[p]``       cost of that count, finite; shape (P,); for the greedy algorithms exact numbers too, as objects
``least``          least cost of every job; shape (J,)
``largest``        largest cost in size
=================  =======================================================================
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.core.budget import Tick, no_tick


@dataclass(frozen=True, slots=True, eq=False)
class CostTable:
    """Pairs (count, cost) of every job, job after job, in flat arrays.

    ValueError: shapes that do not fit, a job without a pair, counts that do not increase, a cost that is not finite.

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
        """Tabulate costs at the ascending counts of every job; ``cost`` gets a job's position and its counts.

        ``tick`` is called for every job.
        """
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
