"""Column generation for programs in which each group takes one vector of counts, within a stock.

    min sum_ic J_i(c) x_ic,   sum_c x_ic = 1 for every group,   sum_ic c_g x_ic <= s_g for every resource

has more columns than can be listed. The restricted master has a few (``Master``); its prices p_g of the resources and
u_i of the groups say which columns join: those with J_i(c) + p c < u_i. A column that costs more than the
whole incumbent is in no better choice and never joins; so costs, as parts of the incumbent's, are at most 1.
For any p >= 0 the optimum is at least

    L(p) = sum_i min_c (J_i(c) + p c) - sum_g p_g s_g

(Lagrange: a choice keeps the stock, so the terms with p add up to no more than 0), and when no column joins,
L(p) is the program's value. ``Pricing.guess`` bounds the minima at all prices tried, so the first prices
already give a bound; ``Pricing.cheap`` finds the minima themselves if that decides which columns join. Dual prices swing
with few columns, so prices between them and the best are tried first (Wentges 1997).

A master, in general, is: minimise sum_c cost_c x_c,  rows 0 .. M - 1: A x <= ``most``,  rows M, M + 1 ..: A x = ``exactly``,
x >= 0. Columns and rows keep the order in which they came; the same columns added in the same order give the same optimum.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dlsched.algorithms.count_vectors import Counts, Floats
from dlsched.columns.slack import Listed, Priced, Prices, Pricing
from dlsched.core.arrays import dot
from dlsched.core.limits import Budget, Tick, no_tick
from dlsched.core.status import Sense
from dlsched.solvers.lp import linear_program

if TYPE_CHECKING:
    from scipy.sparse import csc_array


CLOSE = 1e-9
"""Relative difference of the program and its bound at which the prices are good enough."""
_NOTHING = 1e-12  # part of the incumbent's total; columns that save less are not searched
_TOLERANCE = 1e-9  # HiGHS', of reduced costs in parts of the incumbent's total
_ROUNDS = 5000  # at most
_PART = 0.9  # share of the best prices in those that are tried
_VAGUE = 0.5  # share of a possible gain due to unknown least values, from which these are found exactly
_JOINING = 8  # columns of a group that join in a round
_SURE = 1e-12  # relative difference of the bounds of a group's least value at which the value is known


def generate(
    pool: "Pool",
    *,
    guess: Floats | None = None,
    known: Prices | None = None,
    close: float = CLOSE,
    tick: Tick = no_tick,
    step: Tick = no_tick,
    budget: Budget | None = None,
    proven: Callable[[Prices], None] | None = None,
) -> Prices:
    """Return prices whose bound is the program's value, up to a relative difference of ``close``.

    ``pool``: the first columns, among them those of some choice; pricing adds more. ``guess``: prices, shape (G,), of which some
    multiple by a power of two may be good. ``known``: prices of an earlier call with the same pool, from which this call goes on.
    ``tick`` is called often and ``step`` in every round; both may raise to stop. ``proven`` is called with every better bound.
    """
    budget = budget or Budget()
    pricing, stock, smoothing = pool.pricing, pool.stock, Smoothing(part=_PART)
    best = known
    if known is not None:
        smoothing.keep(known.prices, known.bound)

    def keep(reached: Prices) -> None:
        nonlocal best
        smoothing.keep(reached.prices, reached.bound)
        if best is None or reached.bound > best.bound:
            best = reached
            if proven is not None:
                proven(best)

    def price(trial: Floats) -> Priced:
        step()
        priced = pricing.guess(trial, pool.known(trial), tick)
        keep(Prices(stock, trial, priced.floor))
        return priced

    def settle(priced: Priced, trial: Floats) -> Priced:
        listed = _least(pricing, priced, trial, tick)
        keep(Prices(stock, trial, listed.floor))
        return listed

    def vague(priced: Priced, trial: Floats) -> bool:
        """Whether prices may prove more, mostly because the least values are not known exactly."""
        most = float(priced.known.sum()) - float(dot(trial, stock))
        return best is not None and float((priced.known - priced.floor).sum()) > _VAGUE * (most - best.bound) > 0

    if guess is not None:
        _double(guess, price, pool, stock)
    for _ in range(_ROUNDS):
        optimum = pool.master.solve(budget.left.time_s)
        if best is not None and optimum.value - best.bound <= close * optimum.value:
            break
        # Smoothed prices first; only if no trial brings a column is the program solved at these prices.
        for trial in smoothing.trials(optimum.prices):
            priced = price(trial)
            joined = pool.join(priced, optimum)
            if vague(priced, trial):
                joined |= pool.join(settle(priced, trial), optimum)
            if joined:
                break
        else:
            if not pool.join(settle(priced, optimum.prices), optimum):
                break
    assert best is not None
    return best


def _double(guess: Floats, price: Callable[[Floats], Priced], pool: "Pool", stock: Counts) -> None:
    """Add the columns at the guessed prices, which are doubled or halved as long as they prove more."""

    def bound(power: int) -> float:
        trial = guess * 2.0**power
        priced = price(trial)
        pool.join(priced, None)
        return float(priced.floor.sum() - dot(trial, stock))

    middle, up, down = bound(0), bound(1), bound(-1)
    power, way, last = (1, 1, up) if up > down else (-1, -1, down)
    while last > middle:
        middle, power = last, power + way
        last = bound(power)


def _least(pricing: Pricing, priced: Priced, prices: Floats, tick: Tick) -> Priced:
    """Compute the least values that bounds do not determine, and their columns; the values become floors."""
    least = priced.floor.copy()
    unsure = priced.floor < priced.known * (1 - _SURE)
    listed = pricing.cheap(prices, np.where(unsure, priced.known, -1.0), tick=tick)
    columns = []
    for group in np.flatnonzero(unsure).tolist():
        each = listed[group]
        if each is None:
            continue
        least[group] = priced.known[group]
        if len(each.values):
            least[group] = min(least[group], float(each.values[0]))
            columns.append((np.full(len(each.values), group), each.values, each.counts))
    if not columns:
        columns = [(priced.group[:0], priced.values[:0], priced.counts[:0])]
    taken, values, counts = (np.concatenate([each[part] for each in columns]) for part in range(3))
    return Priced(least, priced.known, taken, values, counts)


class Smoothing:
    """The best known prices, and the bound that they prove: the largest of a program whose ``sense`` is to minimise.

    ``guess``: prices without a known bound, tried before all others. ``part``: share of the best prices in the trials.
    """

    def __init__(self, sense: Sense = Sense.MINIMIZE, guess: Floats | None = None, *, part: float = 0.5) -> None:
        self._sense, self._part, self._guess = sense, part, guess
        self.center = guess
        self.bound = -np.inf if sense is Sense.MINIMIZE else np.inf

    def between(self, prices: Floats) -> Floats:
        """Prices between the best known, if any, and these."""
        return prices if self.center is None else self._part * self.center + (1 - self._part) * prices

    def trials(self, prices: Floats) -> Iterator[Floats]:
        """Yield prices to try until one brings a column: a guess, those between, and at last ``prices`` themselves."""
        if self._guess is not None:
            guess, self._guess = self._guess, None
            yield guess
        if self.center is not None:
            yield self.between(prices)
        yield prices

    def keep(self, prices: Floats, bound: float) -> bool:
        """Keep prices as the best known if their bound is the best; return whether it is."""
        if not self._sense.better(self.bound, bound):
            return False
        self.bound, self.center = bound, prices
        return True


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """The optimum over the known columns: objective ``value``, and ``weights`` x in the order of the columns.

    ``prices`` >= 0 of the rows ``most``: by how much the value falls if the right-hand side grows by one. ``duals`` of
    the equalities: by how much it rises.
    """

    value: float
    weights: Floats
    prices: Floats
    duals: Floats


class Master:
    """The known columns, each under a key, and their linear program.

    ``most`` and ``exactly``: right-hand sides of the rows <=, and of the equalities after them; ``unit``: divisor of
    the costs for the solver; ``tolerance``: HiGHS' feasibility tolerances, None for its default.
    """

    def __init__(
        self, most: npt.ArrayLike, exactly: npt.ArrayLike = (), *, unit: float = 1.0, tolerance: float | None = None
    ) -> None:
        self._most, self._exactly = np.asarray(most, dtype=np.float64), np.asarray(exactly, dtype=np.float64)
        self._unit, self._tolerance = unit, tolerance
        self._keys: set[Hashable] = set()
        self._costs: list[float] = []
        self._rows: list[int] = []
        self._values: list[float] = []
        self._ends = [0]

    def __len__(self) -> int:
        """Number of known columns."""
        return len(self._costs)

    def __contains__(self, key: Hashable) -> bool:
        """Whether the column of that key is known."""
        return key in self._keys

    def add(self, key: Hashable, cost: float, rows: Sequence[int], values: Sequence[float]) -> bool:
        """Add a column with its entries by row; return False if its key is known already."""
        if key in self._keys:
            return False
        self._keys.add(key)
        self._costs.append(cost)
        self._rows += rows
        self._values += values
        self._ends.append(len(self._rows))
        return True

    @property
    def costs(self) -> Floats:
        """Costs of the known columns, in ``unit``."""
        return np.array(self._costs) / self._unit

    def matrix(self) -> "csc_array":
        """A, rows by known columns."""
        from scipy.sparse import csc_array

        shape = len(self._most) + len(self._exactly), len(self)
        return csc_array((self._values, self._rows, self._ends), shape=shape)

    def solve(self, time_s: float | None = None) -> Optimum:
        """Solve the linear program over the known columns; errors as ``linear_program``."""
        matrix, first = self.matrix().tocsr(), len(self._most)
        answer = linear_program(
            self.costs,
            a_ub=matrix[:first],
            b_ub=self._most,
            a_eq=matrix[first:],
            b_eq=self._exactly,
            tolerance=self._tolerance,
            time_s=time_s,
        )
        return Optimum(
            value=answer.objective * self._unit,
            weights=answer.x,
            # Marginals of rows <= are <= 0 in SciPy; rounding may leave a tiny positive one.
            prices=np.maximum(0.0, -answer.upper) * self._unit,
            duals=answer.equal * self._unit,
        )


class Pool:
    """The known columns, none of which costs more than all of the incumbent.

    ``stock``: s_g; ``start``, shape (S, G), and ``upper``: the incumbent, whose columns are the first, and its cost.
    """

    def __init__(self, pricing: Pricing, stock: Counts, start: Counts, upper: float) -> None:
        self.pricing, self.stock, self._upper = pricing, stock, upper
        self._dearest = upper * (1 + CLOSE)  # the incumbent's own are among them
        self._group, self._costs = np.zeros(0, dtype=np.int64), np.zeros(0)
        self._counts = np.zeros((0, len(stock)), dtype=np.int64)
        self.master = Master(stock, np.ones(pricing.groups), unit=self._dearest, tolerance=_TOLERANCE)
        self.add(np.arange(len(start)), start)

    def known(self, prices: Floats) -> Floats:
        """Return the least value of every group's known columns at some prices."""
        least = np.full(self.pricing.groups, np.inf)
        np.minimum.at(least, self._group, self._costs + dot(self._counts, prices))
        return least

    def listed(self, prices: Prices, slack: float = np.inf) -> list[Listed]:
        """Known columns of every group that exceed its least value by at most ``slack``, cheapest first."""
        values = self._costs + dot(self._counts, prices.prices)
        near = np.flatnonzero(values - prices.least[self._group] <= slack)
        order = near[np.lexsort((values[near], self._group[near]))]
        cuts = np.searchsorted(self._group[order], np.arange(self.pricing.groups + 1)).tolist()
        return [Listed(self._counts[order[a:b]], values[order[a:b]]) for a, b in pairwise(cuts)]

    def add(self, group: Counts, counts: Counts) -> bool:
        """Add columns of groups, shapes (N,) and (N, G); return whether some are new and cheap enough."""
        costs = self.pricing.costs(group, counts)
        fresh = []
        for index in np.flatnonzero(costs <= self._dearest).tolist():
            row = counts[index]
            taken = np.flatnonzero(row)
            rows, values = (
                [*taken.tolist(), len(self.stock) + int(group[index])],
                [*row[taken].astype(float).tolist(), 1.0],
            )
            if self.master.add((int(group[index]), row.tobytes()), float(costs[index]), rows, values):
                fresh.append(index)
        self._group = np.concatenate((self._group, group[fresh]))
        self._costs = np.concatenate((self._costs, costs[fresh]))
        self._counts = np.concatenate((self._counts, counts[fresh]))
        return bool(fresh)

    def join(self, priced: Priced, optimum: Optimum | None) -> bool:
        """Add the columns that the linear program (None: all) would use, a few of each group; return whether there were any."""
        group, counts, worth = priced.group, priced.counts, priced.values
        if optimum is not None:
            dual = optimum.duals[group]
            worth = self.pricing.costs(group, counts) + dot(counts, optimum.prices) - dual
            gainful = np.flatnonzero(worth < -CLOSE * np.abs(dual) - _NOTHING * self._upper)
            group, counts, worth = group[gainful], counts[gainful], worth[gainful]
        # The ``_JOINING`` best columns of every group, in one sort.
        order = np.lexsort((worth, group))
        group, counts = group[order], counts[order]
        first = np.searchsorted(group, group, side="left")
        few = np.arange(len(group)) - first < _JOINING
        return self.add(group[few], counts[few])
