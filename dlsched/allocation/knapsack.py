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
   multiples of a grain (``lattice``), so a better choice is better by at least that.
3. Expanding core (after Pisinger 1995): pairs with regret <= t are combined by dynamic programming over (shift, regret)
   states. A choice whose excess is at most t uses no other pair, so when the best one found has excess <= t it is
   optimal. Otherwise t grows, at most to the incumbent's excess, which ends the search. Jobs that can grow take turns
   with jobs that can only shrink, so that sums near 0, which fill the capacity, are met early.
   If there are many states, or many pairs of one regret, the jobs are split in two halves whose sums meet
     (``core_sums``), and some pairs and states are searched first (a beam). A choice is proven optimal if
     its excess is less than the grain above the last finished threshold; this happens if savings follow the
     counts closely. If changes of counts and costs lie on a lattice (``lattice``), choices are searched by
     its levels instead, as the lattice tells which excesses are possible.
4. Of the pairs with one shift d only the K of least regret are needed, K = D+ + D- - 1 + max(slack + D-, D+ + t/lambda),
   D+ and D- the largest shifts up and down. *Proof.* Some optimal choice has no set of shifts that adds up to zero
   (undoing it changes no units and adds no regret). Order its shifts so that a prefix sum <= 0 is followed by a positive
   one and a prefix sum > 0 by a negative one while both last: prefix sums lie in -D- + 1 .. D+ and never repeat, so
   these are fewer than D+ + D-. The rest have one sign and add up to at most slack + D- (up) or D+ + t/lambda (down).
   So at most K jobs shift, and one of the K least regrets at d is unused whenever another job shifts by d: exchange.
   The core is therefore bounded by the largest shifts, not by the number of jobs.

Memory: a small multiple of the table's, and at most ``ALLOWED_BYTES`` of ``algorithms.sums`` for the
states (``algorithms.sums``).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dlsched.allocation.cost_table import CostTable
from dlsched.allocation.knapsack_core import Core, search
from dlsched.allocation.lagrange import Frontier, best_price
from dlsched.allocation.reduction import on_grid, within
from dlsched.allocation.relevant_pairs import RelevantPairs
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.limits import Tick, no_tick

_NEXT = 8  # counts of a job that are tried to fill what is left over
_SHARES = (1 / 16, 1.0)  # shares of the slack's price: largest regrets of the pairs tried first and next to fill it
_TAMER = 1e-3  # how much smaller the largest cost must become for the price to be sought again


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """The answer: every job's chosen pair, shape (J,), and the price whose bound is below it by the excess."""

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
    """Choose one pair per job at least total cost, with counts adding up to at most ``capacity``.

    Returns the optimum (up to rounding), or None when even the smallest counts exceed the capacity; ties are
    deterministic. ``found`` is called with every new incumbent (pairs, price), the first one after the price search;
    ``step`` once for every combined job of the core, and ``tick`` repeatedly in between. Cost: the price search plus
    the core; in the worst case the core has as many states per job as dynamic programming. ``MemoryError``: too many
    states for ``ALLOWED_BYTES`` of ``algorithms.sums``, after ``found`` had the incumbent.
    """
    if table.minimum_units > capacity:
        return None
    small, room, unit = on_grid(table, capacity)
    tick()
    relevant = RelevantPairs(small)
    frontier = _frontier(small, room, tick, relevant)
    price = frontier.price if unit <= 1 else _frontier(table, capacity, tick).price
    chosen = _completed(small, room, frontier)
    found(chosen, price)
    if frontier.price == 0.0:
        return Choice(chosen, price)
    # Step 0: drop pairs too dear for a better answer, if those that matter, the base among them, may have far smaller costs
    # than others; if that shrinks the largest cost much, seek the price anew.
    base, originals = chosen, None  # originals: the pairs of ``small``, in the table; None: the same
    while _largest(small.costs[base]) < _TAMER * small.largest:
        keep = within(small, base)
        tamer = _largest(small.costs[keep]) < _TAMER * small.largest
        small, originals, base = small.subset(keep), _named(np.flatnonzero(keep), originals), np.cumsum(keep)[base] - 1
        relevant = RelevantPairs(small)
        if not tamer:
            break
        frontier = _frontier(small, room, tick, relevant)
        base = _completed(small, room, frontier)
        tick()
    # Step 2: a greedy completion of the base, first among pairs of small regret only.
    slack = room - int(small.counts[base].sum())
    for share in _SHARES if slack else (1.0,):
        most = share * (frontier.price * slack)
        near = relevant.near(frontier.price, base, most)
        filled, excess = _filled(small, frontier.price, base, slack, near)
        if excess < most:
            break
    if excess < frontier.price * slack:
        found(_named(filled, originals), price)
    core = Core.around(small, room, frontier.price, base, filled, excess, near)
    search(core, step, tick, lambda pairs: found(_named(pairs, originals), price))
    return Choice(_named(core.chosen, originals), price)


def _named(pairs: IntArray, originals: IntArray | None) -> IntArray:
    return pairs if originals is None else originals[pairs]


def _largest(costs: FloatArray) -> float:
    return float(max(costs.max(), -costs.min()))


def _frontier(table: CostTable, capacity: int, tick: Tick, relevant: RelevantPairs | None = None) -> Frontier:
    frontier = best_price(table, capacity, tick=tick, relevant=relevant)
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


def _filled(
    table: CostTable, price: float, base: IntArray, slack: int, near: tuple[IntArray, IntArray]
) -> tuple[IntArray, float]:
    """Fill the base's slack with one of the next counts of the best job ``near``; return choice and excess."""
    best, filled = price * slack, base.copy()
    pairs, jobs = near
    from_pairs = base[jobs]
    further, shifts = pairs - from_pairs, table.counts[pairs] - table.counts[from_pairs]
    values = table.costs[pairs] - table.costs[from_pairs] + price * shifts
    fit = (further > 0) & (further <= _NEXT) & (shifts <= slack)
    excesses = np.where(fit, np.maximum(values, 0.0) + price * (slack - shifts), np.inf)
    least = float(excesses.min(initial=np.inf))
    if least < best:
        first = min(np.flatnonzero(excesses == least).tolist(), key=lambda index: (further[index], jobs[index]))
        filled[jobs[first]], best = pairs[first], least
    return filled, best
