"""Search over all choices within a slack of a Lagrangian bound, which closes the gap of column generation.

A choice has one column of every group i; column c costs J_i(c) and takes c_g of the s_g units of resource g.
Let p >= 0, u_i = min_c (J_i(c) + p c) and L = sum_i u_i - sum_g p_g s_g. A choice c_1 .. c_S costs exactly

    L + sum_i (J_i(c_i) + p c_i - u_i) + sum_g p_g (idle units of g)

and every term is >= 0. So one that costs at most L + slack uses only columns whose own term, their excess, is at most the
slack. The family's pricing lists these columns (``Pricing``). A dynamic program over the groups, with resources taken and
slack spent as its label, finds the cheapest choice of them or proves that there is none: then L + slack is a bound. The slack
grows until a choice is found or the slack reaches the incumbent's.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from dlsched.algorithms.count_vectors import Counts, Floats, run_lengths
from dlsched.core.arrays import dot
from dlsched.core.limits import Tick, TooMany, no_tick

CELLS = 60_000_000
"""Largest number of numbers in the labels at any time, one a resource and some more each; about 500 MB."""
LABELS = 5_000_000
"""Largest number of labels in all; some seconds. With more, an integer program is faster."""
FIRST = 1e-5
"""First slack, as a share of the bound; every next one is ``GROWTH`` times as large, up to the
incumbent's."""
GROWTH = 8
_ROUNDING = 1e-12  # relative to all costs and prices that add up to a slack
_BRANCHES = 100  # columns that a label is extended by in a full beam


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Columns of a group by rising value: their counts, shape (N, G), and J_i(c) + p c of each, shape (N,)."""

    counts: Counts
    values: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Prices:
    """Prices p_g of every resource, shape (G,), and the bound that they prove; ``stock`` is s_g.

    ``least``: u_i = min_c (J_i(c) + p c) of every group, or a lower bound if it is not known, shape (S,).
    """

    stock: Counts
    prices: Floats
    least: Floats

    @property
    def bound(self) -> float:
        """L, a lower bound on the cost of every choice."""
        return float(self.least.sum()) - float(dot(self.prices, self.stock))

    @property
    def room(self) -> float:
        """By how much rounding may change a slack."""
        return _ROUNDING * float(self.least.sum() + dot(self.prices, self.stock))

    def beyond(self, slack: float) -> float:
        """Return a lower bound on the cost of a choice whose slack is more than ``slack``."""
        return self.bound + slack - self.room


def slacks(bound: float, upper: float) -> Iterator[float]:
    """Yield slacks to try; the last is that of an incumbent of cost ``upper``, the only one if that is <= 0."""
    gap = max(0.0, upper - bound)
    slack = FIRST * max(bound, 1e-3 * upper)
    while 0 < slack < gap:
        yield slack
        slack *= GROWTH
    yield gap


def cheapest_within(
    groups: Sequence[Listed], prices: Prices, slack: float, *, width: int | None = None, tick: Tick = no_tick
) -> Counts | None:
    """Return the counts of the cheapest choice that costs at most L + slack, shape (S, G), or None.

    With a ``width`` only that number of labels of least cost stays at every group: a beam search, which may miss it.
    ``TooMany``: the labels of some group would have more than ``CELLS`` numbers, or those of all be more than ``LABELS``.
    """
    stock = prices.stock
    order = sorted(range(len(groups)), key=lambda index: len(groups[index].values))
    if not len(groups[order[0]].values):
        return None
    fewest = np.array([groups[index].counts.min(axis=0) for index in order])
    most = np.array([groups[index].counts.max(axis=0) for index in order])
    taken = np.zeros((1, len(stock)), dtype=np.int64)
    spent = np.zeros(1)
    trail: list[tuple[Counts, Counts]] = []
    labels = 0
    for after, index in enumerate(order, 1):
        tick()
        # Extend every label by the columns whose excess still fits the slack; they ascend, so these are a prefix.
        excess = groups[index].values - prices.least[index]
        ways = np.searchsorted(excess, slack - spent, side="right")
        if width is not None:
            ways = np.minimum(ways, max(1, _BRANCHES * width // len(spent)))
        else:
            labels += int(ways.sum())
            if labels > LABELS or int(ways.sum()) * (len(stock) + 10) > CELLS:
                raise TooMany
        parent = np.repeat(np.arange(len(spent)), ways)
        column = run_lengths(ways)
        spent = spent[parent] + excess[column]
        taken = taken[parent] + groups[index].counts[column]
        rest = stock - taken
        # A label survives if the fewest units of later groups fit, and the price of units that must stay idle does too.
        fits = (rest >= fewest[after:].sum(axis=0)).all(axis=1)
        idle = dot(np.maximum(rest - most[after:].sum(axis=0), 0), prices.prices)
        surviving = np.flatnonzero(fits & (spent + idle <= slack))
        surviving = surviving[_first_of_each(taken[surviving], spent[surviving], stock)]
        if width is not None and len(surviving) > width:
            surviving = surviving[np.argpartition((spent + idle)[surviving], width)[:width]]
        taken, spent = taken[surviving], spent[surviving]
        trail.append((parent[surviving], column[surviving]))
        if not len(surviving):
            return None
    # The trail back: which column and which label of the group before.
    label = int(np.argmin(spent + dot(stock - taken, prices.prices)))
    chosen = np.zeros((len(groups), len(stock)), dtype=np.int64)
    for index, (parents, columns) in zip(reversed(order), reversed(trail), strict=True):
        chosen[index] = groups[index].counts[columns[label]]
        label = int(parents[label])
    return chosen


def _first_of_each(taken: Counts, spent: Floats, stock: Counts) -> Counts:
    """Return positions of the labels that spent least among those that took the same."""
    if not len(spent):
        return np.zeros(0, dtype=np.int64)
    words = _words(taken, stock)
    order = np.lexsort((spent, *words))
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any([word[order][1:] != word[order][:-1] for word in words], axis=0)
    return order[new]


def _words(taken: Counts, stock: Counts) -> list[Counts]:
    """Count vectors in mixed radix, in as many 62-bit words as they need."""
    # As many kinds as fit into 62 bits share a word.
    cuts, product = [0], 1
    for kind, radix in enumerate((stock + 1).tolist()):
        if product * radix > 2**62:
            cuts.append(kind)
            product = 1
        product *= radix
    words = []
    for begin, end in pairwise([*cuts, len(stock)]):
        word = np.zeros(len(taken), dtype=np.int64)
        for kind in range(begin, end):
            word = word * (int(stock[kind]) + 1) + taken[:, kind]
        words.append(word)
    return words


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """Bounds and columns of a quick pricing.

    ``floor`` and ``known``, shape (S,): bounds of u_i = min_c (J_i(c) + p c) of every group from below and above.
    Columns no dearer than the known ones of their groups: ``group`` and ``values`` (upper bounds), shape (N,), ``counts``.
    """

    floor: Floats
    known: Floats
    group: Counts
    values: Floats
    counts: Counts


class Pricing(Protocol):
    """The columns of every group, vectors of counts, at prices p of what they take."""

    @property
    def groups(self) -> int:
        """S."""

    def costs(self, group: Counts, counts: Counts) -> Floats:
        """J(c) of columns of groups, shapes (N,) and (N, G)."""

    def guess(self, prices: Floats, known: Floats, tick: Tick = no_tick) -> Priced:
        """Bound the least J(c) + p c of every group quickly; ``known``, shape (S,): values of known columns."""

    def cheap(
        self, prices: Floats, thresholds: Floats, *, cells: int | None = None, tick: Tick = no_tick
    ) -> list[Listed | None]:
        """All columns of every group with J(c) + p c at most its threshold; none where that is below 0; None: too many labels."""


WIDTH = 1000
"""Number of labels that the beam search keeps."""
_BEAM_CELLS = 2_000_000  # cells of one group's pricing in a beam search


@dataclass(frozen=True, slots=True, eq=False)
class Closed:
    """How the search ended: ``counts`` of each group in an optimal choice, shape (S, G), or None.

    None: the incumbent is optimal or, where ``left`` is the slack that had too many labels, the search gave up.
    """

    counts: Counts | None
    left: float | None = None


def close_gap(pricing: Pricing, prices: Prices, upper: float, *, tick: Tick, proven: Callable[[float], None]) -> Closed:
    """Find the cheapest choice that costs less than ``upper``, the incumbent's cost, or prove that there is none.

    ``tick`` is called before every group of every stage and may raise to stop; ``proven`` with every better bound.
    """
    for slack in slacks(prices.bound, upper):
        try:
            listed = columns_within(pricing, prices, slack, tick)
            choice = cheapest_within(listed, prices, slack + prices.room, tick=tick)
        except TooMany:
            return Closed(None, slack)
        if choice is not None:
            return Closed(choice)
        proven(prices.beyond(slack))
    return Closed(None)


def columns_within(pricing: Pricing, prices: Prices, slack: float, tick: Tick = no_tick) -> list[Listed]:
    """List every group's columns that a choice of cost at most L + slack can use; ``TooMany`` as ``Pricing.cheap``."""
    threshold = prices.least + slack + prices.room
    listed = [each for each in pricing.cheap(prices.prices, threshold, tick=tick) if each is not None]
    if len(listed) < pricing.groups:
        raise TooMany
    return listed


def search_beam(
    pricing: Pricing, prices: Prices, upper: float, *, width: int = WIDTH, tick: Tick = no_tick
) -> Counts | None:
    """Return a choice that costs less than ``upper``, shape (S, G), or None: ``close_gap`` with few labels and columns.

    Once a group has ``width`` columns within a slack, or too many to list, its list stays at larger slacks.
    """
    few: list[Listed | None] = [None] * pricing.groups
    full = np.zeros(pricing.groups, dtype=bool)
    for slack in slacks(prices.bound, upper):
        # A negative threshold skips the groups whose lists are full.
        upto = np.where(full, -1.0, prices.least + slack + prices.room)
        for index, listed in enumerate(pricing.cheap(prices.prices, upto, cells=_BEAM_CELLS, tick=tick)):
            if full[index]:
                continue
            full[index] = listed is None or len(listed.values) >= width
            if listed is not None:
                few[index] = Listed(listed.counts[:width], listed.values[:width])
        groups = [each for each in few if each is not None]
        if len(groups) < pricing.groups:
            return None
        ended = bool(full.all())  # all lists are full, so go to the largest slack
        choice = cheapest_within(groups, prices, upper - prices.bound if ended else slack, width=width, tick=tick)
        if choice is not None or ended:
            return choice
    return None
