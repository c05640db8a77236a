"""Column generation: the linear program over configurations, priced exactly, and the bound that its prices prove.

    min sum_ic J_i(c) x_ic,   sum_c x_ic = 1 for every job,   sum_ic c_g x_ic <= s_g for every type

has more columns than can be listed. A few are held; their LP gives prices p_g of the types and u_i of the jobs, and the
configurations with J_i(c) + p c < u_i join. One that takes longer than all jobs of the incumbent is in no better placement
and never joins; so costs, in parts of the incumbent's, are at most 1. For any p >= 0 the optimum is at least

    L(p) = sum_i min_c (J_i(c) + p c) - sum_g p_g s_g

(Lagrange: a placement keeps the stock, so the terms with p add up to no more than 0), and when no column joins, L(p)
is the LP's value. Prices are smoothed towards the best known (Wentges 1997), which keeps them from swinging.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dlsched.matching_placement.arrays import Arrays, Counts, Floats
from dlsched.matching_placement.pricing import Priced, Pricing, TooMany
from dlsched.solvers.lp import linear_program

CLOSE = 1e-9
"""Relative difference of the LP and its bound at which the prices are good enough."""
_NOTHING = 1e-12  # of the incumbent's total; a column that saves less is not looked for
_TOLERANCE = 1e-9  # HiGHS', of reduced costs in parts of the incumbent's total
_SMOOTH = 0.5
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


class Pool:
    """The configurations held so far and their linear program."""

    def __init__(self, arrays: Arrays, upper: float) -> None:
        self._arrays, self._upper = arrays, upper * (1 + CLOSE)  # the incumbent's own are among them
        self._jobs: list[int] = []
        self._counts: list[Counts] = []
        self._times: list[float] = []
        self._known: set[tuple[int, bytes]] = set()

    def add(self, job: int, counts: Counts) -> bool:
        """Hold a configuration of shape (G,); False when it is held already, or takes longer than ``upper``."""
        key = job, counts.tobytes()
        time = float(self._arrays.times(job, counts))
        if key in self._known or time > self._upper:
            return False
        self._known.add(key)
        self._jobs.append(job)
        self._counts.append(counts)
        self._times.append(time)
        return True

    def solve(self, time_s: float | None = None) -> tuple[Floats, Floats, float]:
        """Solve the linear program; return prices (G,), job prices (S,) and the value.

        Raises
        ------
        SolverError
            HiGHS finds no optimum; the pool holds a placement, so there is one.
        Stopped
            The time is up.
        """
        from scipy.sparse import csr_array

        one = csr_array((np.ones(len(self._times)), (self._jobs, np.arange(len(self._times)))))
        answer = linear_program(
            np.array(self._times) / self._upper,
            a_ub=csr_array(np.array(self._counts, dtype=np.float64).T),
            b_ub=self._arrays.stock,
            a_eq=one,
            b_eq=np.ones(self._arrays.jobs),
            tolerance=_TOLERANCE,
            time_s=time_s,
        )
        return -answer.upper * self._upper, answer.equal * self._upper, answer.objective * self._upper


def generate_columns(
    arrays: Arrays,
    start: Counts,
    *,
    tick: Callable[[], None] | None = None,
    step: Callable[[], None] | None = None,
    left: Callable[[], float | None] | None = None,
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
    left
        Seconds that a linear program may take, None: as many as it needs; ``Stopped`` is raised when it takes more.
    proven
        Called with every better bound.
    """
    pricing = [Pricing(arrays, job) for job in range(arrays.jobs)]
    upper = arrays.total(start)
    pool = Pool(arrays, upper)
    for job, counts in enumerate(start):
        pool.add(job, counts)
    center: Floats | None = None
    guessed = -np.inf
    best: Prices | None = None
    for turn in range(1, _ROUNDS + 1):
        prices, duals, value = pool.solve(None if left is None else left())
        if best is not None and value - best.bound <= CLOSE * value:
            break
        smooth = prices if center is None else _SMOOTH * center + (1 - _SMOOTH) * prices
        joined = False
        for trial in (smooth, prices):
            if step is not None:
                step()
            guesses = [_guess(each, trial, tick) for each in pricing]
            reached = sum(float(each.values[0]) for each in guesses) - float(trial @ arrays.stock)
            if reached > guessed:
                guessed, center = reached, trial
            joined = _join(pool, guesses, prices, duals, arrays, upper)
            if joined or trial is prices or center is None:
                break
        if joined and turn % _PROVE_EVERY:
            continue
        at = prices if not joined or center is None else center
        found = [_cheapest(each, at, tick) for each in pricing]
        least = np.array([value for value, _ in found])
        bound = float(least.sum()) - float(at @ arrays.stock)
        if best is None or bound > best.bound:
            best = Prices(at, least, bound, all(priced is not None for _, priced in found))
            if proven is not None:
                proven(best)
        listed = [guess if priced is None else priced for guess, (_, priced) in zip(guesses, found, strict=True)]
        if not _join(pool, listed, prices, duals, arrays, upper) and not joined:
            break
    assert best is not None
    return best


def _guess(pricing: Pricing, prices: Floats, tick: Callable[[], None] | None) -> Priced:
    if tick is not None:
        tick()
    return pricing.guess(prices)


def _cheapest(pricing: Pricing, prices: Floats, tick: Callable[[], None] | None) -> tuple[float, Priced | None]:
    """Least value of a job and the configurations that have it; a lower bound and None where labels are too many."""
    try:
        found = pricing.cheap(
            prices, float(pricing.guess(prices).values[0]), tick=tick
        )  # never empty: it finds the guess
    except TooMany:
        return pricing.floor(prices), None
    return float(found.values[0]), found


def _join(pool: Pool, found: list[Priced], prices: Floats, duals: Floats, arrays: Arrays, upper: float) -> bool:
    """Hold the configurations that the linear program would use; say whether there were any."""
    joined = False
    for job, each in enumerate(found):
        reduced = arrays.times(job, each.counts) + each.counts @ prices
        for counts in each.counts[reduced < duals[job] - CLOSE * abs(duals[job]) - _NOTHING * upper]:
            joined |= pool.add(job, counts)
    return joined
