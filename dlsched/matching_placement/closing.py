"""Closing the gap that column generation leaves: the search of every placement within a slack of the bound.

Let p >= 0, u_i = min_c (J_i(c) + p c) and L = sum_i u_i - sum_g p_g s_g. A placement c_1 .. c_S costs exactly

    L + sum_i (J_i(c_i) + p c_i - u_i) + sum_g p_g (workers of g left idle)

and every term is >= 0. So one that costs at most L + slack uses only configurations whose own term is at most the
slack; ``Pricing.cheap`` lists those, and a dynamic program over the jobs, with workers taken and slack spent as its
label, finds the cheapest of them or proves that there is none: then L + slack is a bound. The slack grows until a
placement is found or it reaches the incumbent's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dlsched.matching_placement.arrays import Arrays, Counts, Floats
from dlsched.matching_placement.columns import Prices
from dlsched.matching_placement.configurations import run_lengths
from dlsched.matching_placement.pricing import CELLS, Priced, Pricing, TooMany

FIRST_SLACK = 1e-5
"""Of the bound: the slack that is tried first; every next one is ``GROWTH`` times as large, up to the incumbent's."""
GROWTH = 8
WIDTH = 1000
"""Labels that the beam search keeps."""
_ROUNDING = 1e-12  # relative to all times and prices that add up to a slack
_BRANCHES = 100  # configurations that a label is extended by in a full beam
_BEAM_CELLS = 2_000_000  # of one job's pricing in a beam search


@dataclass(frozen=True, slots=True, eq=False)
class Closed:
    """How the search ended.

    Parameters
    ----------
    counts
        An optimal placement, shape (S, G); None when the incumbent is optimal or the search gave up.
    bound
        Proven, seconds in all.
    left
        Where the search gave up: the slack that had too many labels, else None.
    """

    counts: Counts | None
    bound: float
    left: float | None


def close_gap(
    arrays: Arrays,
    prices: Prices,
    upper: float,
    *,
    tick: Callable[[], None],
    proven: Callable[[float], None],
) -> Closed:
    """Find a placement that costs less than ``upper``, the cheapest there is, or prove that there is none.

    Parameters
    ----------
    arrays, prices
        The instance, and what column generation proved.
    upper
        Seconds in all of the incumbent.
    tick
        Called before every job of every stage; it may raise to stop.
    proven
        Called with every better bound.
    """
    bound = prices.bound
    for slack in slacks(bound, upper):
        try:
            columns = columns_within(arrays, prices, slack, tick)
            found = cheapest_within(arrays, prices, columns, slack + _room(arrays, prices), tick=tick)
        except TooMany:
            return Closed(None, bound, slack)
        if found is not None:
            return Closed(found, arrays.total(found), None)
        bound = beyond_slack(arrays, prices, slack)
        proven(bound)
    return Closed(None, upper, None)


def beyond_slack(arrays: Arrays, prices: Prices, slack: float) -> float:
    """Seconds in all that a placement costs at least when its slack is more than ``slack``."""
    return prices.bound + slack - _room(arrays, prices)


def _room(arrays: Arrays, prices: Prices) -> float:
    """Seconds by which rounding may change a slack."""
    return _ROUNDING * float(prices.least.sum() + prices.prices @ arrays.stock)


def slacks(bound: float, upper: float) -> Iterator[float]:
    """Slacks to try in turn; the last is that of the incumbent."""
    gap = max(0.0, upper - bound)
    slack = FIRST_SLACK * max(bound, 1e-3 * upper)
    while slack < gap:
        yield slack
        slack *= GROWTH
    yield gap


def columns_within(
    arrays: Arrays, prices: Prices, slack: float, tick: Callable[[], None] | None = None
) -> list[Priced]:
    """List every job's configurations that a placement of cost at most L + slack can use; ``TooMany`` as ``Pricing.cheap``."""
    threshold = prices.least + slack + _room(arrays, prices)
    return [Pricing(arrays, job).cheap(prices.prices, threshold[job], tick=tick) for job in range(arrays.jobs)]


def search_beam(
    arrays: Arrays, prices: Prices, upper: float, *, width: int = WIDTH, tick: Callable[[], None] | None = None
) -> Counts | None:
    """Return a placement that costs less than ``upper``, shape (S, G), or None: ``close_gap`` with few labels and columns.

    A job whose configurations within a slack are more than ``width``, or too many to list, keeps those it has.
    """
    pricing = [Pricing(arrays, job) for job in range(arrays.jobs)]
    few: list[Priced] = [each.guess(prices.prices) for each in pricing]
    full = [False] * arrays.jobs
    for slack in slacks(prices.bound, upper):
        for job, each in enumerate(pricing):
            if full[job]:
                continue
            try:
                listed = each.cheap(prices.prices, prices.least[job] + slack, cells=_BEAM_CELLS, tick=tick)
            except TooMany:
                full[job] = True
                continue
            full[job] = len(listed.values) >= width
            few[job] = Priced(listed.counts[:width], listed.values[:width])
        found = cheapest_within(arrays, prices, few, slack, width=width, tick=tick)
        if found is not None:
            return found
    return None


def cheapest_within(
    arrays: Arrays,
    prices: Prices,
    columns: list[Priced],
    slack: float,
    *,
    tick: Callable[[], None] | None = None,
    width: int | None = None,
) -> Counts | None:
    """Return the cheapest placement of these columns that costs at most L + slack, shape (S, G), or None.

    With a ``width`` only so many labels of least cost are kept at every job: a beam search, which may miss it.

    Raises
    ------
    TooMany
        The labels of some job would have more than ``CELLS`` numbers.
    """
    order = sorted(range(arrays.jobs), key=lambda job: len(columns[job].values))
    if not len(columns[order[0]].values):
        return None
    fewest = np.array([columns[job].counts.min(axis=0) for job in order])
    most = np.array([columns[job].counts.max(axis=0) for job in order])
    taken = np.zeros((1, arrays.types), dtype=np.int64)
    spent = np.zeros(1)
    trail: list[tuple[Counts, Counts]] = []
    for place, job in enumerate(order):
        if tick is not None:
            tick()
        extra = columns[job].values - prices.least[job]
        ways = np.searchsorted(extra, slack - spent, side="right")
        if width is not None:
            ways = np.minimum(ways, max(1, _BRANCHES * width // len(spent)))
        elif int(ways.sum()) * (arrays.types + 10) > CELLS:
            raise TooMany
        parent = np.repeat(np.arange(len(spent)), ways)
        column = run_lengths(ways)
        spent = spent[parent] + extra[column]
        taken = taken[parent] + columns[job].counts[column]
        left = arrays.stock - taken
        fits = (left >= fewest[place + 1 :].sum(axis=0)).all(axis=1)
        idle = np.maximum(left - most[place + 1 :].sum(axis=0), 0) @ prices.prices
        kept = np.flatnonzero(fits & (spent + idle <= slack))
        kept = kept[_first_of_each(taken[kept], spent[kept], arrays.stock)]
        if width is not None and len(kept) > width:
            kept = kept[np.argpartition((spent + idle)[kept], width)[:width]]
        taken, spent = taken[kept], spent[kept]
        trail.append((parent[kept], column[kept]))
        if not len(kept):
            return None
    label = int(np.argmin(spent + (arrays.stock - taken) @ prices.prices))
    chosen = np.zeros((arrays.jobs, arrays.types), dtype=np.int64)
    for job, (parents, taken_columns) in zip(reversed(order), reversed(trail), strict=True):
        chosen[job] = columns[job].counts[taken_columns[label]]
        label = int(parents[label])
    return chosen


def _first_of_each(taken: Counts, spent: Floats, stock: Counts) -> Counts:
    """Positions of the labels that spent least among those that took the same workers."""
    if not len(spent):
        return np.zeros(0, dtype=np.int64)
    words = _words(taken, stock)
    order = np.lexsort((spent, *words))
    new = np.ones(len(order), dtype=bool)
    new[1:] = np.any([word[order][1:] != word[order][:-1] for word in words], axis=0)
    first: Counts = order[new]
    return first


def _words(taken: Counts, stock: Counts) -> list[Counts]:
    """Count vectors in mixed radix, in as many 62-bit words as they need."""
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
