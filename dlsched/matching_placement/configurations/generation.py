"""Column generation: the linear program over configurations, priced exactly, and the bound that its prices prove.

    min sum_ic J_i(c) x_ic,   sum_c x_ic = 1 for every job,   sum_ic c_g x_ic <= s_g for every type

has more columns than can be listed. A few are held (``columns.Master``); their prices p_g of the types and u_i of the jobs
say which join: the configurations with J_i(c) + p c < u_i. One that takes longer than all jobs of the incumbent is in no
better placement and never joins; so costs, in parts of the incumbent's, are at most 1. For any p >= 0 the optimum is at least

    L(p) = sum_i min_c (J_i(c) + p c) - sum_g p_g s_g

(Lagrange: a placement keeps the stock, so the terms with p add up to no more than 0), and when no column joins, L(p) is the
LP's value. ``Pricing.guess`` is quick and decides which prices are tried; ``Pricing.cheap`` proves L(p).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dlsched.columns.master import Master, Optimum
from dlsched.columns.slack import TooMany
from dlsched.columns.smoothing import Smoothing
from dlsched.core.budget import Budget, Tick, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, Floats
from dlsched.matching_placement.configurations.pricing import Priced, Pricing

CLOSE = 1e-9
"""Relative difference of the LP and its bound at which the prices are good enough."""
_NOTHING = 1e-12  # of the incumbent's total; a column that saves less is not looked for
_TOLERANCE = 1e-9  # HiGHS', of reduced costs in parts of the incumbent's total
_ROUNDS = 5000
_PROVE_EVERY = 50  # rounds, so that a limit finds a bound


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """What column generation proved.

    Parameters
    ----------
    prices
        p_g of every type, shape (G,).
    least
        min_c (J_i(c) + p c) of every job, shape (S,), or less where ``exact`` is False.
    bound
        sum_i least_i - sum_g p_g s_g, seconds in all.
    exact
        Whether the pricing could list all labels of every job.
    """

    prices: Floats
    least: Floats
    bound: float
    exact: bool


def generate_columns(
    arrays: Arrays,
    start: Counts,
    *,
    tick: Tick = no_tick,
    step: Tick = no_tick,
    budget: Budget | None = None,
    proven: Callable[[Prices], None] | None = None,
) -> Prices:
    """Return prices whose bound is the linear program's value, up to ``CLOSE``.

    Parameters
    ----------
    arrays
        A feasible instance.
    start
        A placement, shape (S, G): the first columns.
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
    pricing = [Pricing(arrays, job) for job in range(arrays.jobs)]
    pool, smoothing = _Pool(arrays, arrays.total(start)), Smoothing()
    for job, counts in enumerate(start):
        pool.add(job, counts)
    best: Prices | None = None
    for turn in range(1, _ROUNDS + 1):
        optimum = pool.master.solve(budget.left.time_s)
        if best is not None and optimum.value - best.bound <= CLOSE * optimum.value:
            break
        joined = False
        for trial in smoothing.trials(optimum.prices):
            step()
            guesses = [_guess(each, trial, tick) for each in pricing]
            smoothing.keep(trial, sum(float(each.values[0]) for each in guesses) - float(trial @ arrays.stock))
            joined = pool.join(guesses, optimum)
            if joined:
                break
        if joined and turn % _PROVE_EVERY:
            continue
        at = optimum.prices if not joined or smoothing.center is None else smoothing.center
        found = [_cheapest(each, at, tick) for each in pricing]
        least = np.array([value for value, _ in found])
        bound = float(least.sum()) - float(at @ arrays.stock)
        if best is None or bound > best.bound:
            best = Prices(at, least, bound, all(priced is not None for _, priced in found))
            if proven is not None:
                proven(best)
        listed = [guess if priced is None else priced for guess, (_, priced) in zip(guesses, found, strict=True)]
        if not pool.join(listed, optimum) and not joined:
            break
    assert best is not None
    return best


class _Pool:
    """The configurations held so far, of no more seconds than the incumbent's: ``upper``."""

    def __init__(self, arrays: Arrays, upper: float) -> None:
        self._arrays, self._upper = arrays, upper
        self._longest = upper * (1 + CLOSE)  # the incumbent's own are among them
        self.master = Master(arrays.stock, np.ones(arrays.jobs), unit=self._longest, tolerance=_TOLERANCE)

    def add(self, job: int, counts: Counts) -> bool:
        """Hold a configuration of shape (G,); False when it is held already, or takes too long."""
        time = float(self._arrays.times(job, counts))
        if time > self._longest:
            return False
        kinds = np.flatnonzero(counts)
        rows, values = [*kinds.tolist(), self._arrays.types + job], [*counts[kinds].astype(float).tolist(), 1.0]
        return self.master.add((job, counts.tobytes()), time, rows, values)

    def join(self, found: Sequence[Priced], optimum: Optimum) -> bool:
        """Hold the configurations that the linear program would use; say whether there were any."""
        joined = False
        for job, (each, dual) in enumerate(zip(found, optimum.duals, strict=True)):
            reduced = self._arrays.times(job, each.counts) + each.counts @ optimum.prices
            for counts in each.counts[reduced < dual - CLOSE * abs(dual) - _NOTHING * self._upper]:
                joined |= self.add(job, counts)
        return joined


def _guess(pricing: Pricing, prices: Floats, tick: Tick) -> Priced:
    tick()
    return pricing.guess(prices)


def _cheapest(pricing: Pricing, prices: Floats, tick: Tick) -> tuple[float, Priced | None]:
    """Least value of a job and the configurations that have it; a lower bound and None where labels are too many."""
    least_known = float(pricing.guess(prices).values[0])  # so what is listed is never empty
    try:
        found = pricing.cheap(prices, least_known, tick=tick)
    except TooMany:
        return pricing.floor(prices), None
    return float(found.values[0]), found
