"""The matching market: inside a category every job is n_i unit buyers, who bid for workers until each has one it wants.

The body of the paper (Liu, Wang, Huang, Pan, TPDS 2024 [abstract]) was not available to us: the ascending prices are those of
Demange, Gale and Sotomayor (``algorithms.resource_market`` has the symbols), and the valuations are our
reconstruction. Parts called "ours" are in no paper.
"""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from dlsched.algorithms.compositions import Sizes
from dlsched.algorithms.resource_market import Market, ascending_market
from dlsched.core.arrays import dot
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, Floats, arrays, placement
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.markets.categories import categories
from dlsched.matching_placement.solution import Placement

SCALE = 1000  # largest difference between two values of a job, as an integer
ROUNDS = 3  # number of times that values are made anew at the rates that the market gave
MOST_CATEGORIES = 20_000  # ``market`` refuses instances with more


def market_placement(
    data: Arrays,
    sizes: Counts | Sizes,
    *,
    scale: int = SCALE,
    rounds: int = ROUNDS,
    tick: Tick = no_tick,
) -> tuple[Counts, tuple[int, ...]] | None:
    """Place one category by the market; return counts (S, G) and the first prices, or None when it cannot be served.

    1. Values: those of ``linear_values`` at the reference rates Rbar_i = n_i times the mean rate of the workers that can
       serve i; as integers, the largest is ``scale``. Rounding costs at most sum n_i / scale of the largest value.
    2. ``rounds`` times more, ours: half way from the reference rates to those just assigned. The best placement by the
       true objective is kept.

    Cost: 1 + rounds markets. Guarantee: none; even in a category the true objective is not a sum of values of workers.
    Raises ``UsageError`` where ``scale`` < 1 or ``rounds`` < 0.
    """
    if scale < 1 or rounds < 0:
        raise UsageError(where=("scale", "rounds"), found=f"{scale}, {rounds}", allowed="integers >= 1 and >= 0")
    allowed = data.rates > 0
    count = np.asarray(sizes, dtype=np.int64)
    if (count > (usable := dot(allowed, data.stock))).any():
        return None
    reference = count * (dot(data.rates, data.stock) / usable)
    markets: list[Market] = []
    for _ in range(rounds + 1):
        values = linear_values(data, count, reference)
        largest = float(values.max())
        whole = np.rint(scale * (values / largest) if largest > 0 else values).astype(np.int64)
        if (outcome := ascending_market(whole, allowed, count, data.stock, tick=tick)) is None:
            return None
        markets.append(outcome)
        reference = (reference + (outcome.counts * data.rates).sum(axis=1)) / 2
    return min((each.counts for each in markets), key=data.total), markets[0].prices


def linear_values(data: Arrays, sizes: Counts, reference: Floats) -> Floats:
    """Value of a type to a unit buyer of a job, from 0 for the type that is worth least to the job; shape (S, G).

    w_i rho_ig / Rbar_i^2, the slope of -w_i / R_i at the reference rate, less its share of the ring at its own bandwidth,
    2 T_i D_i (n_i - 1) / (n_i^2 r_g): ours, the exact communication where a job's workers have one bandwidth, and the
    same for all types where all have. A constant added to a job's values changes no assignment. Unit: the largest time.
    """
    seconds, ring = data.work / reference, data.traffic[:, None] / data.bandwidth
    unit = max(float(seconds.max()), float(ring.max()))
    share = ((sizes - 1) / sizes / sizes)[:, None]
    values = (seconds / unit)[:, None] * (data.rates / reference[:, None]) - share * (ring / unit)
    allowed = data.rates > 0
    least = np.min(np.where(allowed, values, np.inf), axis=1, keepdims=True)
    return np.where(allowed, values - least, 0.0)


def market(instance: Instance) -> Placement | None:
    """Place every category by the market and return the best by the true objective; None when no placement exists.

    Guarantee: none. Cost: that of ``market_placement`` for every category.

    Raises
    ------
    UsageError
        There are more than 20,000 categories.
    """
    if infeasible(instance) is not None:
        return None
    data = arrays(instance)
    return placement(instance, min(all_markets(data), key=data.total))


def all_markets(data: Arrays, *, tick: Tick = no_tick, within: Tick = no_tick) -> Iterator[Counts]:
    """Placement of every category that can be served, shape (S, G) each; errors as ``market``.

    ``tick`` is called before every category, ``within`` often within its market; both may raise to stop.
    """
    if next(islice(categories(data), MOST_CATEGORIES, None), None) is not None:
        raise UsageError(
            f"more than {MOST_CATEGORIES:,} categories, allowed: up to {MOST_CATEGORIES:,}; use sampled-market"
        )
    for sizes in categories(data):
        tick()
        outcome = market_placement(data, sizes, tick=within)
        if outcome is not None:
            yield outcome[0]
