"""The sampled market: the market of some categories instead of all, drawn at random.

How many draws are enough is a matter of rank, not of completion time. Of all categories take the best part, of
probability q under the law that they are drawn from: N independent draws all miss it with probability (1 - q)^N, which
is at most delta from N = ln(delta) / ln(1 - q) on, and so from N = ln(1 / delta) / q. How much longer the
jobs take in the last category of that part than in the best, this does not say. Draws that take turns between two laws
miss it at most as often as draws from their mean, since (1 - q_1)(1 - q_2) <= (1 - (q_1 + q_2) / 2)^2.
"""

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dlsched.algorithms.compositions import Sizes, Table
from dlsched.core.budget import Tick, no_tick
from dlsched.core.errors import UsageError
from dlsched.matching_placement.arrays import Arrays, Counts, arrays, placement
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.heuristics.local_search import improve
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.markets.categories import categories, category_table, draw_category, draw_guided
from dlsched.matching_placement.markets.placing import market_placement
from dlsched.matching_placement.solution import Placement

Law = Callable[[Arrays, np.random.Generator, Table], Sizes]
"""Draws a category, independently of the draws before; the table is that of ``category_table``."""


def draws_needed(q: float, delta: float) -> int:
    """Return the least N with (1 - q)^N <= delta.

    Raises
    ------
    UsageError
        ``q`` or ``delta`` is not between 0 and 1.

    >>> draws_needed(0.01, 0.01)
    459
    """
    for name, value in (("q", q), ("delta", delta)):
        if not 0 < value < 1:
            raise UsageError(f"{name}: found {value}, allowed: a number between 0 and 1")
    return math.ceil(math.log(delta) / math.log1p(-q))


DRAWS = draws_needed(0.01, 0.01)
LARGEST_TABLE = 250_000
"""Jobs times workers, beyond which the table for uniform draws would need too much memory: all draws are guided."""

LAWS: tuple[Law, ...] = (draw_category, lambda data, generator, table: draw_guided(data, generator))
"""All categories alike, and near the square root rule."""


def sample_counts(
    data: Arrays,
    *,
    draws: int = DRAWS,
    generator: np.random.Generator,
    found: Callable[[Counts], object],
    tick: Tick = no_tick,
    within: Tick = no_tick,
    laws: Sequence[Law] = LAWS,
    polish: bool = False,
) -> None:
    """Draw categories of a feasible instance, the laws taking turns, and place each by the market.

    Parameters
    ----------
    draws
        How many; where there are no more categories than that, all are taken instead, each once.
    found
        Called with every placement, shape (S, G), that is better by the true objective than those before. The smallest
        sizes are placed before the first draw, so it is called on every feasible instance.
    tick
        Called before every draw; what it raises ends the search.
    within
        Called often within a market and the improvement at the end; it may raise too.
    polish
        Ours: at the end improve the best placement by ``local_search.improve``.

    Cost: ``market_placement`` for every category that was not drawn before, O(S K) additions for the law.

    Raises
    ------
    UsageError
        ``draws`` < 1.
    """
    if draws < 1:
        raise UsageError(f"draws: found {draws}, allowed: an integer >= 1")
    best, least = None, math.inf
    seen: set[Sizes] = set()
    for sizes in _chain(data, draws, generator, tick, laws):
        if sizes in seen:
            continue
        seen.add(sizes)
        outcome = market_placement(data, sizes, tick=within)
        if outcome is None:
            continue
        total = data.total(outcome[0])
        if total < least:
            best, least = outcome[0], total
            found(best)
    if polish and best is not None:
        better = improve(data, best, within)
        if data.total(better) < least:
            found(better)


def _chain(
    data: Arrays, draws: int, generator: np.random.Generator, tick: Tick, laws: Sequence[Law]
) -> Iterator[Sizes]:
    """The smallest sizes, then a category for every tick."""
    yield tuple(data.least.tolist())
    large = data.jobs * int(data.stock.sum()) > LARGEST_TABLE
    if large:
        laws = LAWS[1:]
    table = [] if large else category_table(data)
    if table and table[0][-1] <= draws:
        for sizes in categories(data):
            tick()
            yield sizes
        return
    for turn in range(draws):
        tick()
        yield laws[turn % len(laws)](data, generator, table)


def sampled_market(
    instance: Instance, *, draws: int | None = None, seed: int = 0, polish: bool = False
) -> Placement | None:
    """Place categories drawn at random, each by the market, and return the best; None when no placement exists.

    Guarantee: with the 459 draws of default, with probability 0.99 as good as the market on some category among the best
    part 0.01 of the law (half uniform, half ours: ``draw_guided``): of rank, not of completion time.
    Cost: ``sample_counts``.

    Parameters
    ----------
    draws
        None: ``draws_needed(0.01, 0.01)``.
    seed
        Of ``numpy.random.default_rng``.
    polish
        Ours: improve the best placement by local search.

    Raises
    ------
    UsageError
        ``draws`` < 1 or ``seed`` < 0.
    """
    if seed < 0:
        raise UsageError(f"seed: found {seed}, allowed: an integer >= 0")
    if infeasible(instance) is not None:
        return None
    data, held = arrays(instance), list[Counts]()
    sample_counts(
        data,
        draws=DRAWS if draws is None else draws,
        generator=np.random.default_rng(seed),
        found=held.append,
        polish=polish,
    )
    return placement(instance, held[-1])
