"""Closing the gap that column generation leaves: the search of every placement within a slack of the bound.

``columns.slack`` has the mathematics: a placement within a slack of the bound uses only configurations whose own excess is
at most the slack. ``Pricing.cheap`` lists those, and ``cheapest_within`` finds the best of them or proves that there is none.
The slack grows until a placement is found or it reaches the incumbent's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dlsched.columns.slack import Group, TooMany, cheapest_within, slacks
from dlsched.core.budget import Tick, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts
from dlsched.matching_placement.configurations.generation import Prices
from dlsched.matching_placement.configurations.pricing import Priced, Pricing

WIDTH = 1000
"""Labels that the beam search keeps."""
_ROUNDING = 1e-12  # relative to all times and prices that add up to a slack
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


def close_gap(arrays: Arrays, prices: Prices, upper: float, *, tick: Tick, proven: Callable[[float], None]) -> Closed:
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
            listed = columns_within(arrays, prices, slack, tick)
            found = cheapest(arrays, prices, listed, slack + _room(arrays, prices), tick=tick)
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


def columns_within(arrays: Arrays, prices: Prices, slack: float, tick: Tick = no_tick) -> list[Priced]:
    """List every job's configurations that a placement of cost at most L + slack can use; ``TooMany`` as ``Pricing.cheap``."""
    threshold = prices.least + slack + _room(arrays, prices)
    return [Pricing(arrays, job).cheap(prices.prices, threshold[job], tick=tick) for job in range(arrays.jobs)]


def search_beam(
    arrays: Arrays, prices: Prices, upper: float, *, width: int = WIDTH, tick: Tick = no_tick
) -> Counts | None:
    """Return a placement that costs less than ``upper``, shape (S, G), or None: ``close_gap`` with few labels and columns.

    A job whose configurations within a slack are more than ``width``, or too many to list, keeps those it has.
    """
    pricing = [Pricing(arrays, job) for job in range(arrays.jobs)]
    few = [each.guess(prices.prices) for each in pricing]
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
        found = cheapest(arrays, prices, few, slack, width=width, tick=tick)
        if found is not None:
            return found
    return None


def cheapest(
    arrays: Arrays,
    prices: Prices,
    listed: Sequence[Priced],
    slack: float,
    *,
    width: int | None = None,
    tick: Tick = no_tick,
) -> Counts | None:
    """Return the cheapest placement of these configurations within a slack, as ``columns.slack.cheapest_within`` does."""
    groups = [Group(each.counts, each.values - least) for each, least in zip(listed, prices.least, strict=True)]
    return cheapest_within(groups, arrays.stock, prices.prices, slack, width=width, tick=tick)
