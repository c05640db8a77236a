"""The core of a knapsack: the pairs that may improve on a base, and the best choice found among them; see ``knapsack``."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dlsched.algorithms.sums import Move, Trail
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.passes import within_reach
from dlsched.allocation.reduction import grain, least_and_room
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.budget import Tick

_ROUNDING = 1e-13  # of the largest term of a regret; a choice better by less than this is not looked for


@dataclass(slots=True, eq=False)
class Core:
    """Pairs that may improve on the base, and the best choice found so far."""

    base: IntArray
    chosen: IntArray
    price: float
    slack: int
    best: float  # excess of the chosen pairs
    gain: float  # a better choice is better by at least that, or by no more than rounding
    jobs: IntArray  # of the pairs below, ascending
    pairs: IntArray
    shifts: IntArray
    regrets: FloatArray

    @classmethod
    def around(
        cls, table: CostTable, capacity: int, price: float, base: IntArray, chosen: IntArray, best: float
    ) -> "Core":
        """Keep the pairs other than the base whose regret is below the ``best`` excess held, unless they are too dear."""
        slack = capacity - int(table.counts[base].sum())
        pairs, jobs = within_reach(table.starts, table.counts, table.costs, price, base, best)
        least, most = least_and_room(table, chosen)
        keep = (table.costs[pairs] - least[jobs] <= most) | (pairs == base[jobs]) | (pairs == chosen[jobs])
        pairs, jobs = pairs[keep], jobs[keep]
        dearer = table.costs[pairs] - table.costs[base[jobs]]
        larger = price * (table.counts[pairs] - table.counts[base[jobs]])
        values = dearer + larger
        noise = _ROUNDING * float((np.abs(dearer) + np.abs(larger)).max(initial=0.0))
        other = pairs != base[jobs]
        pairs, jobs, values = pairs[other], jobs[other], values[other]
        moved = np.flatnonzero(chosen != base)  # what is held has to be on the grid of what is better
        costs = table.costs[np.concatenate((pairs, chosen[moved]))]
        gain = max(noise, grain(costs, table.costs[np.concatenate((base[jobs], base[moved]))]) - noise)
        shifts = table.counts[pairs] - table.counts[base[jobs]]
        regrets = np.maximum(values, 0.0)
        return cls(base, chosen, price, slack, best, gain, jobs, pairs, shifts, regrets)

    def may_improve(self, threshold: float) -> bool:
        """Whether a better choice may exist, given that none is without a regret above the threshold."""
        return self.best - self.gain > max(threshold, 0.0)

    def next_threshold(self, threshold: float, more: int) -> float:
        """Return a threshold that admits about ``more`` further pairs, at most the best excess."""
        above = self.regrets[self.regrets > threshold]
        if len(above) <= more:
            return self.best
        return min(self.best, float(np.partition(above, more)[more]))

    def combine(
        self,
        keep: IntArray,
        step: Tick,
        tick: Tick,
        found: Callable[[IntArray], None],
        *,
        enough: int | None = None,
        most: int | None = None,
    ) -> bool:
        """Find the best choice among pairs, given by position, and keep it if it is better than the one held.

        Stopped on the way, it keeps what it has, unless that takes as long again. With ``enough`` it gives up at more states, and
        says so by False; with ``most`` it goes on with so many.
        """
        keep = self._in_turn(keep)
        if not len(keep):
            return True
        moves, begins = self._moves(keep)
        trail = Trail(moves, self.price, self.slack, tick, most=most, reach=int(np.abs(self.shifts[keep]).max()))
        best: tuple[int, int] | None = None  # number of jobs and state of the best sum
        whole = True
        try:
            for depth in range(1, len(moves) + 1):
                step()
                states = trail.advance(self.best - self.gain)
                if not len(states.shifts):
                    break
                excesses = states.regrets + self.price * (self.slack - states.shifts)
                excesses[states.shifts > self.slack] = np.inf
                state = int(np.argmin(excesses))
                if excesses[state] < self.best:
                    self.best, best = float(excesses[state]), (depth, state)
                if enough is not None and len(states.shifts) > enough:
                    whole = False
                    break
        except BaseException as stopped:
            if best and (trail.whole or isinstance(stopped, MemoryError)):
                found(self._taken(keep, begins, trail.way(*best)))
            raise
        if best:
            self.chosen = self._taken(keep, begins, trail.way(*best))
            found(self.chosen)
        return whole

    def sketch(self, keep: IntArray, size: int, seed: int) -> IntArray:
        """At most ``size`` of these pairs, ascending: of many jobs the few of least regret, ties drawn by lot."""
        lot = np.random.default_rng(seed).random(len(keep))
        order = np.lexsort((lot, self.regrets[keep]))
        order = order[np.argsort(self.jobs[keep][order], kind="stable")]
        ordered = self.jobs[keep][order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        few = order[rank < max(2, size // len(np.unique(ordered)))]
        return np.sort(keep[few[np.lexsort((lot[few], self.regrets[keep][few]))][:size]])

    def _taken(self, keep: IntArray, begins: list[int], options: list[int]) -> IntArray:
        """Return the base with the options taken by the first jobs of the core."""
        chosen = self.base.copy()
        for begin, option in zip(begins, options, strict=False):
            if option:
                pair = keep[begin + option - 1]
                chosen[self.jobs[pair]] = self.pairs[pair]
        return chosen

    def _moves(self, keep: IntArray) -> tuple[list[Move], list[int]]:
        """The jobs of the pairs to combine, in their order, and where the pairs of each begin."""
        starts = np.flatnonzero(np.diff(self.jobs[keep], prepend=-1) != 0)
        ends = np.append(starts[1:], len(keep))
        shifts, regrets = self.shifts[keep], self.regrets[keep]
        low = np.cumsum(np.minimum(np.minimum.reduceat(shifts, starts), 0)[::-1])[::-1]
        high = np.cumsum(np.maximum(np.maximum.reduceat(shifts, starts), 0)[::-1])[::-1]
        moves = [
            Move(
                np.concatenate(([0], shifts[begin:end])),
                np.concatenate(([0.0], regrets[begin:end])),
                low_left,
                high_left,
            )
            for begin, end, low_left, high_left in zip(
                starts.tolist(), ends.tolist(), [*low[1:].tolist(), 0], [*high[1:].tolist(), 0], strict=True
            )
        ]
        return moves, starts.tolist()

    def _in_turn(self, keep: IntArray) -> IntArray:
        """Order pairs (given by job) so that jobs that can grow and jobs that only shrink alternate, least regret first.

        Sums then stay near 0, where choices that fill the capacity are met early.
        """
        starts = np.flatnonzero(np.diff(self.jobs[keep], prepend=-1) != 0)
        if len(starts) < 2:
            return keep
        grows = np.maximum.reduceat(self.shifts[keep], starts) > 0
        turn = np.empty(len(starts), dtype=np.int64)
        order = np.argsort(np.minimum.reduceat(self.regrets[keep], starts), kind="stable")
        for kind in (order[grows[order]], order[~grows[order]]):
            turn[kind] = np.arange(len(kind))
        job_turn = np.lexsort((grows, turn))
        rank = np.empty(len(starts), dtype=np.int64)
        rank[job_turn] = np.arange(len(starts))
        lengths = np.diff(np.append(starts, len(keep)))
        return keep[np.argsort(np.repeat(rank, lengths), kind="stable")]

    def needed(self, threshold: float) -> IntArray:
        """Positions of the pairs to combine, ascending: regret <= threshold, and among the K least of their shift."""
        keep = np.flatnonzero(self.regrets <= threshold)
        if not len(keep):
            return keep
        shifts = self.shifts[keep]
        up, down = max(0, int(shifts.max())), max(0, -int(shifts.min()))
        most = (
            up + down - 1 + max(self.slack + down, up + int(min(threshold / self.price, float(self.slack + down + up))))
        )
        if most >= len(keep):
            return keep
        order = np.lexsort((self.regrets[keep], shifts))
        ordered = shifts[order]
        rank = np.arange(len(order)) - np.searchsorted(ordered, ordered)
        return np.sort(keep[order[rank < most]])
