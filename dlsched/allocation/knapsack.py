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
   Where states are many, or pairs of one regret, some pairs and states come first (a beam): proven is what is found when
   its excess is less than the grain above the threshold that is done with, as where savings follow the counts closely.
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

from dlsched.allocation.core_pairs import Core
from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.lagrange import Frontier, best_price
from dlsched.allocation.reduction import on_grid, within
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.budget import Tick, no_tick

_FIRST_CORE = 48  # pairs of the first core; small enough to cost less than the passes before it
_GROWTH = 4
_STATES = 2**17  # states after a job beyond which some of them are looked at first
_SKETCHES = 4  # looks at some of the states, as long as each finds something better
_NEXT = 8  # counts of a job that are tried to fill what is left over
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
    base, originals = chosen, np.arange(table.pairs)  # originals: the pairs of ``small``, in the table
    while _untamed(small, base):
        keep = within(small, base)
        tamer = _largest(small.costs[keep]) < _TAMER * _largest(small.costs)
        small, originals, base = small.subset(keep), originals[keep], np.cumsum(keep)[base] - 1
        if not tamer:
            break
        frontier = _frontier(small, room, tick)
        base = _completed(small, room, frontier)
        tick()
    filled, excess = _filled(small, room, frontier.price, base)
    if excess < frontier.price * (room - int(small.counts[base].sum())):
        found(originals[filled], price)
    core = Core.around(small, room, frontier.price, base, filled, excess)
    threshold, size = -1.0, _FIRST_CORE

    def better(pairs: IntArray) -> None:
        found(originals[pairs], price)

    while core.may_improve(threshold):
        proven, threshold = threshold, core.next_threshold(threshold, size)
        near = core.needed(threshold)
        few = len(near) <= _GROWTH * size
        if not (few and core.combine(near, step, tick, better, enough=_STATES)):
            _look(core, near, size, proven, step, tick, better)
            if core.may_improve(proven):
                core.combine(near, step, tick, better)
        size *= _GROWTH
    return Choice(originals[core.chosen], price)


def _look(
    core: Core, near: IntArray, size: int, proven: float, step: Tick, tick: Tick, better: Callable[[IntArray], None]
) -> None:
    """Look at some of the states of some pairs, as long as that helps: what is found may be proven without the others."""
    held = np.inf
    for lot in range(_SKETCHES):
        if not core.may_improve(proven) or core.best >= held:
            break
        held = core.best
        core.combine(core.sketch(near, size, lot), step, tick, better, most=_STATES)


def _untamed(table: CostTable, base: IntArray) -> bool:
    """Whether the pairs that matter, of which the base is part, may have far smaller costs than others."""
    return _largest(table.costs[base]) < _TAMER * _largest(table.costs)


def _largest(costs: FloatArray) -> float:
    return float(max(costs.max(), -costs.min()))


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


def _filled(table: CostTable, capacity: int, price: float, base: IntArray) -> tuple[IntArray, float]:
    """Fill what the base leaves over with the one job that makes most of it, at one of its next counts; and the excess then."""
    slack = capacity - int(table.counts[base].sum())
    best, pair, job = price * slack, -1, -1
    for further in range(1, min(slack, _NEXT) + 1):
        jobs = np.flatnonzero(base + further <= table.last)
        pairs, from_pairs = base[jobs] + further, base[jobs]
        shifts = table.counts[pairs] - table.counts[from_pairs]
        values = table.costs[pairs] - table.costs[from_pairs] + price * shifts
        excesses = np.where(shifts <= slack, np.maximum(values, 0.0) + price * (slack - shifts), np.inf)
        least = int(np.argmin(excesses)) if len(jobs) else -1
        if least >= 0 and excesses[least] < best:
            best, pair, job = float(excesses[least]), int(pairs[least]), int(jobs[least])
    filled = base.copy()
    if job >= 0:
        filled[job] = pair
    return filled, best
