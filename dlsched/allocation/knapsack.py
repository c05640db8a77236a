"""The multiple-choice knapsack problem, solved to proven optimality: one count a job, least total cost, within capacity.

====================  =====================================================================================
code                  mathematics
====================  =====================================================================================
``price``             lambda, the best price of a unit (``lagrange.best_price``)
``regret[p]``         r_j(w) = cost_j(w) + lambda w - min_w' (cost_j(w') + lambda w') >= 0
``shift[p]``          d = w minus the base count of the job (the base minimises, so its regret is 0)
``slack``             units the base leaves over
``excess``            sum of regrets + lambda (unused units) = total cost - L(lambda), for every feasible choice
``threshold``         t: only pairs with regret <= t are combined
====================  =====================================================================================

0. Counts are divided by what divides all of them (``reduction``); pairs too dear for a better answer are dropped.
1. Price and base (Sinha and Zoltners 1979; by narrowing instead of sorting, see ``lagrange``).
2. The excess of a greedily completed base bounds every regret of a better choice: other pairs are fixed out. Totals are
   multiples of a grain (``reduction.grain``), so a better choice is better by at least that.
3. Expanding core (after Pisinger 1995): pairs with regret <= t are combined by dynamic programming over (shift, regret)
   states. A choice whose excess is at most t uses no other pair, so when the best one found has excess <= t it is
   optimal. Otherwise t grows, at most to the best excess found, which ends the search. Jobs that can grow take turns
   with jobs that can only shrink, so that sums near 0, which fill the capacity, are met early.
4. Of the pairs with one shift d only the K of least regret are needed, K = D+ + D- - 1 + max(slack + D-, D+ + t/lambda),
   D+ and D- the largest shifts up and down. *Proof.* Some optimal choice has no set of shifts that adds up to zero
   (undoing it changes no units and adds no regret). Order its shifts so that a prefix sum <= 0 is followed by a positive
   one and a prefix sum > 0 by a negative one while both last: prefix sums lie in -D- + 1 .. D+ and never repeat, so
   these are fewer than D+ + D-. The rest have one sign and add up to at most slack + D- (up) or D+ + t/lambda (down).
   So at most K jobs shift, and one of the K least regrets at d is unused whenever another job shifts by d: exchange.
   The core is therefore bounded by the largest shifts, not by the number of jobs.

Memory: that of the table some times over, and at most ``ALLOWED_BYTES`` of ``algorithms.memory`` for the states
(``algorithms.sums``).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dlsched.algorithms.sums import Move, Trail
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.lagrange import Frontier, best_price
from dlsched.allocation.reduction import grain, on_grid, within
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.budget import Tick, no_tick

_FIRST_CORE = 48  # pairs of the first core; small enough to cost less than the passes before it
_GROWTH = 4
_ROUNDING = 1e-13  # of the largest term of a regret; a choice better by less than this is not looked for
_TAMER = 1e-3  # how much smaller the largest cost must become for the price to be sought again


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The answer: the chosen pair of every job, shape (J,), and the price that proves all but its last excess."""

    pairs: IntArray
    price: float


def solve_knapsack(
    table: CostTable,
    capacity: int,
    *,
    found: Callable[[IntArray, float], None] = lambda pairs, price: None,
    step: Tick = no_tick,
    tick: Tick = no_tick,
) -> Choice | None:
    """Choose one pair a job, at least total cost, with counts adding up to at most ``capacity``.

    Parameters
    ----------
    table, capacity
        Costs and counts of J jobs, and the units available, C >= 0.
    found
        Called with every better choice (pairs, price), the first one after the price search.
    step
        Called once for every job of the core that is combined.
    tick
        Called again and again in between, for the same.

    Returns
    -------
    The optimum (up to rounding), or None when even the smallest counts exceed the capacity. Ties may go either way,
    but always the same.

    Raises
    ------
    MemoryError
        The core has more states than ``ALLOWED_BYTES`` of ``algorithms.memory`` hold; ``found`` was given the best choice before.

    Notes
    -----
    Cost: the price search plus the core; in the worst case the core holds as many states a job as dynamic programming.
    """
    if table.minimum_units > capacity:
        return None
    small, room, unit = on_grid(table, capacity)
    tick()
    frontier = _frontier(small, room, tick)
    price = frontier.price if unit <= 1 else _frontier(table, capacity, tick).price
    chosen = _completed(small, room, frontier)
    found(chosen, price)
    if frontier.price == 0.0:
        return Choice(chosen, price)
    base, originals, tamer = chosen, np.arange(table.pairs), True  # originals: the pairs of ``small``, in the table
    while tamer:
        keep = within(small, base)
        tamer = _largest(small.costs[keep]) < _TAMER * _largest(small.costs)
        small, originals, base = small.subset(keep), originals[keep], np.cumsum(keep)[base] - 1
        if tamer:
            frontier = _frontier(small, room, tick)
            base = _completed(small, room, frontier)
        tick()
    core = _Core.around(small, room, frontier.price, base)
    threshold, size = -1.0, _FIRST_CORE
    while core.may_improve(threshold):
        threshold = core.next_threshold(threshold, size)
        core.combine(threshold, step, tick, lambda pairs: found(originals[pairs], price))
        size *= _GROWTH
    return Choice(originals[core.chosen], price)


def _largest(costs: FloatArray) -> float:
    return float(np.abs(costs).max())


def _frontier(table: CostTable, capacity: int, tick: Tick) -> Frontier:
    frontier = best_price(table, capacity, tick=tick)
    assert frontier is not None
    return frontier


def _completed(table: CostTable, capacity: int, frontier: Frontier) -> IntArray:
    """Move jobs from the choice that fits to the one that exceeds, in file order, while they fit."""
    chosen = frontier.fits.copy()
    slack = capacity - int(table.counts[chosen].sum())
    for job in np.flatnonzero(frontier.fits != frontier.exceeds):
        more = int(table.counts[frontier.exceeds[job]] - table.counts[chosen[job]])
        if more <= slack:
            chosen[job] = frontier.exceeds[job]
            slack -= more
    return chosen


@dataclass(slots=True, eq=False)
class _Core:
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
    def around(cls, table: CostTable, capacity: int, price: float, base: IntArray) -> "_Core":
        """Keep the pairs other than the base whose regret is below the excess of the base."""
        dearer = table.costs - np.repeat(table.costs[base], table.lengths)
        larger = price * (table.counts - np.repeat(table.counts[base], table.lengths))
        values = dearer + larger
        slack = capacity - int(table.counts[base].sum())
        best = price * slack
        pairs = np.flatnonzero(values < best)
        noise = _ROUNDING * float((np.abs(dearer[pairs]) + np.abs(larger[pairs])).max(initial=0.0))
        jobs = np.searchsorted(table.starts, pairs, side="right") - 1
        other = pairs != base[jobs]
        pairs, jobs = pairs[other], jobs[other]
        gain = max(noise, grain(table.costs[pairs], table.costs[base[jobs]]) - noise)
        shifts = table.counts[pairs] - table.counts[base[jobs]]
        regrets = np.maximum(values[pairs], 0.0)
        return cls(base, base, price, slack, best, gain, jobs, pairs, shifts, regrets)

    def may_improve(self, threshold: float) -> bool:
        """Whether a better choice may exist, given that none is without a regret above the threshold."""
        return self.best - self.gain > max(threshold, 0.0)

    def next_threshold(self, threshold: float, more: int) -> float:
        """Return a threshold that admits about ``more`` further pairs, at most the best excess."""
        above = self.regrets[self.regrets > threshold]
        if len(above) <= more:
            return self.best
        return min(self.best, float(np.partition(above, more)[more]))

    def combine(self, threshold: float, step: Tick, tick: Tick, found: Callable[[IntArray], None]) -> None:
        """Find the best choice among pairs with regret <= ``threshold``, and keep it if it is better than the one held.

        Stopped on the way, it keeps what it has, unless that takes as long again.
        """
        keep = self._in_turn(self._needed(threshold))
        if not len(keep):
            return
        moves, begins = self._moves(keep)
        trail = Trail(moves, self.price, self.slack, tick)
        best: tuple[int, int] | None = None  # number of jobs and state of the best sum
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
        except BaseException as stopped:
            if best and (trail.whole or isinstance(stopped, MemoryError)):
                found(self._taken(keep, begins, trail.way(*best)))
            raise
        if best:
            self.chosen = self._taken(keep, begins, trail.way(*best))
            found(self.chosen)

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

    def _needed(self, threshold: float) -> IntArray:
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
