"""The best price of jobs that lie in blocks, maybe on other machines: that of ``lagrange.best_price``, to the bit.

What comes back of a block is what its jobs alone decide: a number of units, which is an integer, or the counts between two prices
that its undecided jobs may get. Put side by side in the order of the jobs, these are the arrays with which one process goes on.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

import numpy as np

from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.lagrange import Active, bracket, closed
from dlsched.allocation.relevant_pairs import RelevantPairs
from dlsched.certificates.exact import exact_sum, sum_below
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick
from dlsched.processes.dask_blocks import Blocks

JOBS = 2**13
"""Jobs of a block, whatever the number of workers."""

_Segments = tuple[IntArray, IntArray, FloatArray]
"""Lengths of segments, and the counts and costs of all."""


class JobBlock(ABC):
    """Some jobs of an instance, one after the other from number ``first`` on; answers keep the arrays that the next ones need."""

    first: int

    @property
    @abstractmethod
    def table(self) -> CostTable:
        """Costs of all counts that a best price may need."""

    @abstractmethod
    def below(self, price: float) -> tuple[list[float], Fraction, int]:
        """Return floats, a fraction and units: with price x units their sum is at most that of the least cost + price x count."""

    def __sizeof__(self) -> int:
        """Bytes, roughly, by which Dask decides that a block is better not moved."""
        return 64 * self.table.pairs

    def size(self) -> tuple[int, int]:
        """Return the numbers of jobs, and of pairs of job and count."""
        return self.table.jobs, self.table.pairs

    def sample(self, jobs: IntArray) -> _Segments:
        """Return the pairs of those of the jobs that are here."""
        here = jobs[(jobs >= self.first) & (jobs < self.first + self.table.jobs)]
        if not len(here):
            return here, self.table.counts[:0], self.table.costs[:0]
        part = self.table.of_jobs(here - self.first)
        return part.lengths, part.counts, part.costs

    def units(self, price: float) -> int:
        """Units that the jobs take at a price."""
        return int(self.table.counts[self._chosen(price)].sum())

    def undecided(self, fits: float | None, exceeds: float) -> _Segments:
        """Return the pairs that may be minimisers between two prices; None: from the smallest counts on."""
        low = self.table.first if fits is None else self._chosen(fits)
        active = Active.of(self.table, low, self._chosen(exceeds))
        return np.diff(active.starts), active.counts, active.costs

    @cached_property
    def _relevant(self) -> tuple[RelevantPairs, dict[float, IntArray]]:
        return RelevantPairs(self.table), {}

    def _chosen(self, price: float) -> IntArray:
        relevant, chosen = self._relevant
        if price not in chosen:
            chosen[price] = relevant.cheapest(price, next(reversed(chosen.values()), None))
        return chosen[price]


BlockT = TypeVar("BlockT", bound=JobBlock)


@dataclass(frozen=True)
class _Whole:
    """The table of all blocks, from afar."""

    blocks: Blocks[JobBlock]
    jobs: int
    pairs: int

    def of_jobs(self, jobs: IntArray) -> CostTable:
        """Return the table of some jobs, by position."""
        return _joined(self.blocks.ask(JobBlock.sample, jobs))


def best_price(blocks: Blocks[JobBlock], capacity: int, tick: Tick) -> float:
    """Return the price of ``lagrange.best_price`` of a feasible instance; UsageError: counts add up to over 2^62."""
    whole = _Whole(blocks, *map(sum, zip(*blocks.ask(JobBlock.size), strict=True)))

    def units_at(price: float) -> int:
        units = sum(blocks.ask(JobBlock.units, price))
        if units > 2**62:
            raise UsageError(f"the counts add up to {units} units, allowed: up to 2**62")
        return units

    fits, exceeds, excess = bracket(whole, capacity, units_at, tick)
    if exceeds is None:
        return 0.0
    table = _joined(blocks.ask(JobBlock.undecided, fits, exceeds))
    return closed(table, table.first.copy(), table.last, excess, tick).price


def value_below(blocks: Blocks[JobBlock], price: float, capacity: int) -> float:
    """Return the bound of a price, rounded down."""
    floats, fractions, units = zip(*blocks.ask(JobBlock.below, price), strict=True)
    rest = exact_sum(fractions) + Fraction(price) * (sum(units) - capacity)
    return sum_below([each for some in floats for each in some], rest)


def _joined(parts: list[_Segments]) -> CostTable:
    """Join the pairs of all blocks, in their order."""
    lengths, counts, costs = map(np.concatenate, zip(*parts, strict=True))
    return CostTable(np.concatenate(([0], np.cumsum(lengths))), counts, costs)
