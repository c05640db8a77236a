"""Job-worker markets: deferred acceptance over categories, and sampled markets.

*Categories* are vectors (n_1 .. n_S) of how many workers each job gets, min_i <= n_i <= most_i and sum_i n_i <= K, as idle
workers can be best. Whether the types can serve a category is the market's question.

*The matching market.* Inside a category every job is n_i unit buyers, who bid for workers until each has one it wants.
Only the abstract of Liu, Wang, Huang, Pan (TPDS 2024) was available: the ascending prices are those of Demange, Gale and
Sotomayor (``algorithms.resource_market`` has the symbols), and the valuations are our reconstruction. "Ours": in no paper.

*The sampled market* is the market of some categories, drawn at random. The number of draws that is enough
(``algorithms.count_vectors``) guarantees a rank, not how much longer jobs take than in the best category.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from dlsched.algorithms.count_vectors import (
    Sizes,
    Table,
    completions,
    composition_at,
    compositions,
    draw_below,
    draws_needed,
)
from dlsched.algorithms.resource_market import Market, ascending_market
from dlsched.core.arguments import require_seed
from dlsched.core.arrays import dot
from dlsched.core.elementary import exp, float_power
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, Floats, arrays, infeasible, placement
from dlsched.matching_placement.heuristics import improve
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.solution import Placement

_NOISE = 0.15  # of a guided draw: standard deviation of the logarithm of a share,
_STRAY = 0.1  # of a job's spot on the line, in its length,
_LIKING = 4  # power of how much better a job uses a type than others do,
_ASIDE = 0.25  # and part of the draws that set workers aside


def category_table(arrays: Arrays) -> Table:
    """Return the table of ``algorithms.count_vectors.completions``; its first row ends with the number of categories.

    Cost: O(S K) additions of integers of up to S log2 K bits.
    """
    return completions(arrays.least.tolist(), arrays.most.tolist(), int(arrays.stock.sum()))


def categories(arrays: Arrays) -> Iterator[Sizes]:
    """Yield every category in lexicographic order; O(S) for each."""
    return compositions(arrays.least.tolist(), arrays.most.tolist(), int(arrays.stock.sum()))


def draw_category(arrays: Arrays, generator: "np.random.Generator", table: Table) -> Sizes:
    """Draw a category, all equally likely, from ``category_table``; cost O(S + K). UsageError: there is none."""
    count = table[0][-1]
    if count == 0:
        raise UsageError("no category: the smallest sizes do not fit")
    return composition_at(arrays.least.tolist(), table, draw_below(count, generator))


def draw_guided(arrays: Arrays, generator: "np.random.Generator") -> Sizes:
    """Draw a category near the square root rule, independently of the draws before; ours.

    On n workers of one type J_i = t + (w_i / rho - t) / n with t = 2 T_i D_i / r, so for given sum n_i the sum of times
    is least at n_i proportional to a_i = sqrt(w_i / rho - t), and at n_i = min_i where w_i / rho < t.

    1. Put the workers on a line, type after type in random order; in a quarter of the draws take out some at random, of
       which the number is drawn too.
    2. Order the jobs by the middle of the line, weighted by how much better than other jobs they use what stands there,
       and at random by a tenth of the line.
    3. In this order they take the next workers until they have their share of the remaining speed, in proportion to
       a_i e^(0.15 N(0, 1)) among the jobs to come: a_i^2 = w_i / rhobar_i - sigma_g 2 T_i D_i / r_g at the type g that
       is next, of speed sigma_g (the mean of rho_ig / rhobar_i over the jobs it can serve). The last worker is taken
       with the probability of the part needed; min_i, most_i and what the others need at least are kept.

    Cost: O(S G + K log K) beside the law's S sums over the jobs to come. Of an instance that is not infeasible.
    """
    # a_i^2 by job and type, at speeds relative to the mean rate of the job
    allowed = arrays.rates > 0
    mean = dot(arrays.rates, arrays.stock) / (dot(allowed, arrays.stock))
    relative = arrays.rates / mean[:, None]
    speed = relative.sum(axis=0) / np.maximum(1, allowed.sum(axis=0))
    square = (arrays.work / mean)[:, None] - arrays.traffic[:, None] * (speed / arrays.bandwidth)
    pull = exp(_NOISE * generator.standard_normal(arrays.jobs))[:, None] * np.sqrt(np.maximum(0.0, square))
    # step 1: the line; step 2: where each job stands on it
    order = generator.permutation(arrays.types)
    line, least = np.repeat(order, arrays.stock[order]), int(arrays.least.sum())
    middle = np.empty(arrays.types)
    middle[order] = np.cumsum(arrays.stock[order]) - arrays.stock[order] / 2
    liking = float_power(np.divide(relative, speed, out=np.zeros_like(relative), where=allowed), _LIKING) * arrays.stock
    stand = dot(liking, middle) / liking.sum(axis=1) + _STRAY * len(line) * generator.standard_normal(arrays.jobs)
    spare = len(line) - least
    if generator.random() < _ASIDE:
        spare = int(generator.integers(spare + 1))
        line = line[np.sort(generator.permutation(len(line))[: spare + least])]
    # step 3: speed passed at each position; jobs take workers until their share of the speed to come
    passed = np.append(0.0, np.cumsum(speed[line]))
    sizes, index, to_come = arrays.least.copy(), 0, np.ones(arrays.jobs, dtype=bool)
    for job in np.argsort(stand).tolist():
        together = float(pull[to_come, line[index]].sum())
        share = pull[job, line[index]] / together if together > 0 else 0.0
        goal = passed[index] + share * (passed[-1] - passed[index])
        end = min(int(np.searchsorted(passed, goal, side="right")) - 1, len(line) - 1)
        end += int(generator.random() * (passed[end + 1] - passed[end]) < goal - passed[end])
        low = int(arrays.least[job])
        sizes[job] = max(low, min(end - index, int(arrays.most[job]), low + spare))
        spare -= int(sizes[job]) - low
        index += int(sizes[job])
        to_come[job] = False
    return tuple(sizes.tolist())


SCALE = 1000  # largest difference between two values of a job, as an integer
ROUNDS = 3  # number of times that values are made anew at the rates that the market gave
MOST_CATEGORIES = 20_000  # ``market`` refuses instances with more


def market_placement(
    data: Arrays, sizes: Counts | Sizes, *, rounds: int = ROUNDS, tick: Tick = no_tick
) -> tuple[Counts, tuple[int, ...]] | None:
    """Place one category by the market; return counts (S, G) and the first prices, or None when it cannot be served.

    1. Values: those of ``linear_values`` at the reference rates Rbar_i = n_i times the mean rate of the workers that can
       serve i; as integers, the largest is ``SCALE``. Rounding costs at most sum n_i / SCALE of the largest value.
    2. ``rounds`` times more, ours: half way from the reference rates to those just assigned. The best placement by the
       true objective is kept.

    Cost: 1 + rounds markets. Guarantee: none; even in a category the true objective is not a sum of values of workers.
    """
    allowed = data.rates > 0
    count = np.asarray(sizes, dtype=np.int64)
    if (count > (usable := dot(allowed, data.stock))).any():
        return None
    reference = count * (dot(data.rates, data.stock) / usable)
    markets: list[Market] = []
    # the first market at the reference rates, later ones half way to the rates that the last one gave
    for _ in range(rounds + 1):
        values = linear_values(data, count, reference)
        largest = float(values.max())
        whole = np.rint(SCALE * (values / largest) if largest > 0 else values).astype(np.int64)
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
    """Placement of every category that can be served, shape (S, G); errors as ``market``. ``within`` is called in markets."""
    if next(islice(categories(data), MOST_CATEGORIES, None), None) is not None:
        raise UsageError(
            f"more than {MOST_CATEGORIES:,} categories, allowed: up to {MOST_CATEGORIES:,}; use sampled-market"
        )
    for sizes in categories(data):
        tick()
        outcome = market_placement(data, sizes, tick=within)
        if outcome is not None:
            yield outcome[0]


Law = Callable[[Arrays, "np.random.Generator", Table], Sizes]
"""Draws a category, independently of the draws before; the table is that of ``category_table``."""

DRAWS = draws_needed(0.01, 0.01)  # a category of the best hundredth, with probability 0.99
LARGEST_TABLE = 250_000
"""Largest jobs times workers for uniform draws, whose table needs memory; beyond it all draws are guided."""

LAWS: tuple[Law, ...] = (draw_category, lambda data, generator, table: draw_guided(data, generator))
"""The two laws: all categories alike, and categories near the square root rule."""


def sample_counts(
    data: Arrays,
    *,
    generator: "np.random.Generator",
    draws: int = DRAWS,
    laws: Sequence[Law] = LAWS,
    tick: Tick = no_tick,
    within: Tick = no_tick,
) -> Iterator[Counts]:
    """Draw categories of a feasible instance, the laws taking turns, and yield the market's placement of each, shape (S, G).

    The smallest sizes are placed before the first draw, so there is a placement of every feasible instance. If there are no
    more categories than ``draws``, all are taken instead, each once. ``tick`` is called before every draw, ``within`` often
    within a market; both may raise to stop. UsageError: ``draws`` < 1.

    Cost: ``market_placement`` for every category that was not drawn before, O(S K) additions for the law.
    """
    if draws < 1:
        raise UsageError(where="draws", found=draws, allowed="an integer >= 1")
    # a category drawn again has the same placement
    seen: set[Sizes] = set()
    for sizes in _chain(data, draws, generator, tick, laws):
        if sizes in seen:
            continue
        seen.add(sizes)
        outcome = market_placement(data, sizes, tick=within)
        if outcome is not None:
            yield outcome[0]


def _chain(
    data: Arrays, draws: int, generator: "np.random.Generator", tick: Tick, laws: Sequence[Law]
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
