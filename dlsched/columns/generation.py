"""Column generation for programs in which each group takes one vector of counts, within a stock.

    min sum_ic J_i(c) x_ic,   sum_c x_ic = 1 for every group,   sum_ic c_g x_ic <= s_g for every resource

has more columns than can be listed. A few are held (``Master``); their prices p_g of the resources and u_i of the groups say
which join: those with J_i(c) + p c < u_i. One that costs more than all of the incumbent is in no better choice and never
joins; so costs, in parts of the incumbent's, are at most 1. For any p >= 0 the optimum is at least

    L(p) = sum_i min_c (J_i(c) + p c) - sum_g p_g s_g

(Lagrange: a choice keeps the stock, so the terms with p add up to no more than 0), and when no column joins, L(p) is the
program's value. ``Pricing.guess`` is quick and decides which prices are tried; ``Pricing.cheap`` proves L(p).
"""

from collections.abc import Callable, Sequence

import numpy as np

from dlsched.algorithms.count_vectors import Counts, Floats
from dlsched.columns.master import Master, Optimum
from dlsched.columns.pricing import Pricing
from dlsched.columns.slack import Listed, Prices
from dlsched.columns.smoothing import Smoothing
from dlsched.core.budget import Budget, Tick, TooMany, no_tick

CLOSE = 1e-9
"""Relative difference of the program and its bound at which the prices are good enough."""
_NOTHING = 1e-12  # of the incumbent's total; a column that saves less is not looked for
_TOLERANCE = 1e-9  # HiGHS', of reduced costs in parts of the incumbent's total
_ROUNDS = 5000
_PROVE_EVERY = 50  # rounds, so that a limit finds a bound


def generate(
    pricing: Sequence[Pricing],
    stock: Counts,
    start: Counts,
    upper: float,
    *,
    tick: Tick = no_tick,
    step: Tick = no_tick,
    budget: Budget | None = None,
    proven: Callable[[Prices], None] | None = None,
) -> Prices:
    """Return prices whose bound is the program's value, up to ``CLOSE``.

    Parameters
    ----------
    pricing, stock
        Of every group, and s_g.
    start, upper
        A choice, shape (S, G), which are the first columns, and what it costs.
    tick
        Called often; it may raise to stop.
    step
        Called in every round; it may raise too.
    budget
        What linear programs may use; ``Stopped`` is raised when one takes more.
    proven
        Called with every better bound.
    """
    budget = budget or Budget()
    pool, smoothing = _Pool(pricing, stock, upper), Smoothing()
    for group, counts in enumerate(start):
        pool.add(group, counts)
    best: Prices | None = None
    for turn in range(1, _ROUNDS + 1):
        optimum = pool.master.solve(budget.left.time_s)
        if best is not None and optimum.value - best.bound <= CLOSE * optimum.value:
            break
        joined = False
        for trial in smoothing.trials(optimum.prices):
            step()
            guesses = [_guess(each, trial, tick) for each in pricing]
            smoothing.keep(trial, sum(float(each.values[0]) for each in guesses) - float(trial @ stock))
            joined = pool.join(guesses, optimum)
            if joined:
                break
        if joined and turn % _PROVE_EVERY:
            continue
        at = optimum.prices if not joined or smoothing.center is None else smoothing.center
        found = [_cheapest(each, at, tick) for each in pricing]
        least = np.array([value for value, _ in found])
        reached = Prices(stock, at, least, all(listed is not None for _, listed in found))
        if best is None or reached.bound > best.bound:
            best = reached
            if proven is not None:
                proven(best)
        all_listed = [guess if listed is None else listed for guess, (_, listed) in zip(guesses, found, strict=True)]
        if not pool.join(all_listed, optimum) and not joined:
            break
    assert best is not None
    return best


class _Pool:
    """The columns held so far, none of which costs more than all of the incumbent: ``upper``."""

    def __init__(self, pricing: Sequence[Pricing], stock: Counts, upper: float) -> None:
        self._pricing, self._upper, self._resources = pricing, upper, len(stock)
        self._dearest = upper * (1 + CLOSE)  # the incumbent's own are among them
        self.master = Master(stock, np.ones(len(pricing)), unit=self._dearest, tolerance=_TOLERANCE)

    def add(self, group: int, counts: Counts) -> bool:
        """Hold a column of shape (G,); False when it is held already, or costs too much."""
        cost = float(self._pricing[group].costs(counts))
        if cost > self._dearest:
            return False
        taken = np.flatnonzero(counts)
        rows, values = [*taken.tolist(), self._resources + group], [*counts[taken].astype(float).tolist(), 1.0]
        return self.master.add((group, counts.tobytes()), cost, rows, values)

    def join(self, found: Sequence[Listed], optimum: Optimum) -> bool:
        """Hold the columns that the linear program would use; say whether there were any."""
        joined = False
        for group, (each, dual) in enumerate(zip(found, optimum.duals, strict=True)):
            reduced = self._pricing[group].costs(each.counts) + each.counts @ optimum.prices
            for counts in each.counts[reduced < dual - CLOSE * abs(dual) - _NOTHING * self._upper]:
                joined |= self.add(group, counts)
        return joined


def _guess(pricing: Pricing, prices: Floats, tick: Tick) -> Listed:
    tick()
    return pricing.guess(prices)


def _cheapest(pricing: Pricing, prices: Floats, tick: Tick) -> tuple[float, Listed | None]:
    """Least value of a group and the columns that have it; a lower bound and None where labels are too many."""
    least_known = float(pricing.guess(prices).values[0])  # so what is listed is never empty
    try:
        found = pricing.cheap(prices, least_known, tick=tick)
    except TooMany:
        return pricing.floor(prices), None
    return float(found.values[0]), found
