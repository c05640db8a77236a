"""Search that closes the gap of column generation: over all choices within a slack of the bound (``slack``).

The pricing lists the columns of small excess, and ``cheapest_within`` finds the best choice of these columns
or proves that there is none. The slack grows until a choice is found or the slack reaches the incumbent's.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dlsched.algorithms.count_vectors import Counts
from dlsched.columns.pricing import Pricing
from dlsched.columns.slack import Listed, Prices, cheapest_within, slacks
from dlsched.core.budget import Tick, TooMany, no_tick

WIDTH = 1000
"""Number of labels that the beam search keeps."""
_BEAM_CELLS = 2_000_000  # cells of one group's pricing in a beam search


@dataclass(frozen=True, slots=True, eq=False)
class Closed:
    """How the search ended.

    ``counts`` of each group in an optimal choice, shape (S, G); None: the incumbent is optimal, or the search gave up.
    ``left``: the slack that had too many labels if it gave up; else None.
    """

    counts: Counts | None
    left: float | None = None


def close_gap(pricing: Pricing, prices: Prices, upper: float, *, tick: Tick, proven: Callable[[float], None]) -> Closed:
    """Find the cheapest choice that costs less than ``upper``, the incumbent's cost, or prove that there is none.

    ``prices`` are those that column generation proved; ``tick`` is called before every group of every stage and may
    raise to stop; ``proven`` is called with every better bound.
    """
    for slack in slacks(prices.bound, upper):
        try:
            listed = columns_within(pricing, prices, slack, tick)
            found = cheapest_within(listed, prices, slack + prices.room, tick=tick)
        except TooMany:
            return Closed(None, slack)
        if found is not None:
            return Closed(found)
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
        held = [each for each in few if each is not None]
        if len(held) < pricing.groups:
            return None
        ended = bool(full.all())  # all lists are full, so go to the largest slack
        found = cheapest_within(held, prices, upper - prices.bound if ended else slack, width=width, tick=tick)
        if found is not None or ended:
            return found
    return None
