"""The sampled market: the market of some categories instead of all, drawn at random.

The number of draws that is enough (``algorithms.compositions``) guarantees a rank, not a completion time: it does
not tell how much longer the jobs take in the last category of the best part than in the best one.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dlsched.algorithms.compositions import Sizes, Table, draws_needed
from dlsched.core.arguments import require_seed
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, arrays, placement
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.heuristics.local_search import improve
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.markets.categories import categories, category_table, draw_category, draw_guided
from dlsched.matching_placement.markets.placing import market_placement
from dlsched.matching_placement.solution import Placement

Law = Callable[[Arrays, np.random.Generator, Table], Sizes]
"""Draws a category, independently of the draws before; the table is that of ``category_table``."""

DRAWS = draws_needed(0.01, 0.01)
LARGEST_TABLE = 250_000
"""Largest jobs times workers for uniform draws, whose table needs memory; beyond it all draws are guided."""

LAWS: tuple[Law, ...] = (draw_category, lambda data, generator, table: draw_guided(data, generator))
"""The two laws: all categories alike, and categories near the square root rule."""


def sample_counts(
    data: Arrays,
    *,
    generator: np.random.Generator,
    draws: int = DRAWS,
    laws: Sequence[Law] = LAWS,
    tick: Tick = no_tick,
    within: Tick = no_tick,
) -> Iterator[Counts]:
    """Draw categories of a feasible instance, the laws taking turns, and yield the market's placement of each, shape (S, G).

    The smallest sizes are placed before the first draw, so there is a placement of every feasible instance.

    Parameters
    ----------
    draws
        Number of draws; if there are no more categories than that, all are taken instead, each once.
    tick
        Called before every draw; what it raises ends the search.
    within
        Called often within a market; it may raise too.

    Cost: ``market_placement`` for every category that was not drawn before, O(S K) additions for the law.

    Raises
    ------
    UsageError
        ``draws`` < 1.
    """
    if draws < 1:
        raise UsageError(where="draws", found=draws, allowed="an integer >= 1")
    seen: set[Sizes] = set()
    for sizes in _chain(data, draws, generator, tick, laws):
        if sizes in seen:
            continue
        seen.add(sizes)
        outcome = market_placement(data, sizes, tick=within)
        if outcome is not None:
            yield outcome[0]


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
    part 0.01 of the law (half uniform, half ours: ``draw_guided``), by rank, not by completion time.
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
    require_seed(seed)
    if infeasible(instance) is not None:
        return None
    data, generator = arrays(instance), np.random.default_rng(seed)
    best = min(sample_counts(data, draws=DRAWS if draws is None else draws, generator=generator), key=data.total)
    if polish:
        best = min(best, improve(data, best), key=data.total)
    return placement(instance, best)
