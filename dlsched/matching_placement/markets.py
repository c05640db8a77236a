"""The matching market: inside a category every job is n_i unit buyers, who bid for workers until each has one it wants.

The ascending prices are those of Demange, Gale and Sotomayor (1986). The body of the paper (Liu, Wang, Huang, Pan, TPDS
2024 [abstract]) was not available to us: the valuations are our reconstruction; what is said to be ours is in no paper.

===================  =============================================================================
code                 mathematics
===================  =============================================================================
``values``           v_ig, what a worker of type g is worth to one unit buyer of job i, an integer
``allowed``          whether type g can serve job i
``sizes``            n_i
``stock``            s_g
``prices, counts``   p_g, of every worker of type g; how many buyers of job i have one
===================  =============================================================================

Job i demands the types g that maximise v_ig - p_g. *Types with multiplicities change nothing*: the buyers of a job have
one demand set, and workers of a type have equal prices at the start; if equal, they are in the same demand sets, so
alternating paths reach all or none of them, and they are raised together.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from dlsched.core.errors import UsageError
from dlsched.matching_placement.arrays import Arrays, Counts, Floats, arrays, placement
from dlsched.matching_placement.categories import Sizes, categories
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.solution import Placement

SCALE = 1000  # what the largest difference between two values of a job becomes
ROUNDS = 3  # how often values are made anew at the rates that the market gave
MOST_CATEGORIES = 20_000  # more are refused by ``market``


@dataclass(frozen=True, slots=True, eq=False)
class Market:
    """Where prices end; ``counts`` has shape (S, G), ``prices`` (G,), and ``rounds`` is how often prices rose by 1."""

    counts: Counts
    prices: tuple[int, ...]
    rounds: int


def ascending_market(
    values: Counts,
    allowed: npt.NDArray[np.bool_],
    sizes: Counts | Sizes,
    stock: Counts,
    *,
    tick: Callable[[], None] | None = None,
) -> Market | None:
    """Raise prices from 0 until every buyer has a worker of its demand set; None when the types cannot serve all.

    While a buyer has none, take the workers that alternating paths reach from it. If one is free, augment; else the
    jobs reached demand nothing but the reached workers and have one buyer too many (a set of over-demanded workers), so
    raise the prices of these by 1. None is returned when those jobs can use no other worker: Hall's condition fails.

    *Many raises at once*: the jobs reached demand only reached workers, all dearer by the same, so the next raise is of
    the same set until one of them demands another type: after as many as the least difference of surplus. *A path is
    used as often as it can be*: it stays one until its buyers, its free workers or what a job gives up run out.

    Optimal: sum x_ig v_ig is the largest of all assignments of n_i workers to each job i. In the dual, minimise
    sum_i n_i u_i + sum_g s_g p_g with u_i + p_g >= v_ig and p_g >= 0, take u_i = max_g v_ig - p_g. Complementary
    slackness: x_ig > 0 only in demand sets; p_g > 0 only where all s_g are used, as only fully matched types are raised
    and what is matched stays matched.

    Least: no clearing prices q are lower anywhere. Else take the first raise that passes q, of the set Z, and T, those
    of Z with p = q. At q, jobs that demanded some of T demand only T; those that hold T are such, and so is the last
    job before T on a path from the unmatched buyer, with a buyer outside T: more buyers than T has workers.

    Cost: at most sum n_i augmentations (in practice a few for each job and type) of O(S G^2); ``tick`` is called for each,
    and may raise to stop.
    """
    value: list[list[int]] = values.tolist()
    able = [np.flatnonzero(row).tolist() for row in allowed]
    free: list[int] = stock.tolist()
    prices = [0] * len(free)
    held = [[0] * len(free) for _ in value]
    rounds = 0
    for root, size in enumerate(np.asarray(sizes).tolist()):
        wanted = size
        while wanted:
            if tick is not None:
                tick()
            found = _find_path(root, value, able, held, free, prices)
            if found is None:
                return None
            path, raises = found
            rounds += raises
            gives = [(job, kind) for (_, job), (kind, _) in pairwise(path)]
            amount = min(wanted, free[path[0][0]], *(held[job][kind] for job, kind in gives))
            for kind, job in path:
                held[job][kind] += amount
            for job, kind in gives:
                held[job][kind] -= amount
            free[path[0][0]] -= amount
            wanted -= amount
    return Market(np.array(held, dtype=np.int64), tuple(prices), rounds)


def _find_path(
    root: int, value: list[list[int]], able: list[list[int]], held: list[list[int]], free: list[int], prices: list[int]
) -> tuple[list[tuple[int, int]], int] | None:
    """Raise ``prices`` until a path reaches a free worker; return it, and by how much they rose.

    The path lists (type, job that takes one) from the free type to ``root``; a job gives up one of the type that comes
    next. ``short`` is by how much a type outside misses the demand sets of the jobs reached.
    """
    taker, short, wanter = dict[int, int](), dict[int, int](), dict[int, int]()
    gives, fresh, rise = {root: -1}, [root], 0
    while True:
        for job in fresh:
            most = max((value[job][kind] - prices[kind] for kind in able[job]), default=0)
            for kind in able[job]:
                gap = most - value[job][kind] + prices[kind]
                if kind not in taker and (kind not in short or gap < short[kind]):
                    short[kind], wanter[kind] = gap, job
        if not short:
            return None
        kind = min(short, key=lambda each: (short[each], free[each] == 0, each))
        raises = short.pop(kind)
        rise += raises
        for each in taker:
            prices[each] += raises
        short = {each: gap - raises for each, gap in short.items()}
        taker[kind] = wanter[kind]
        if free[kind]:
            break
        fresh = [job for job, row in enumerate(held) if row[kind] and job not in gives]
        gives.update(dict.fromkeys(fresh, kind))
    path = [(kind, taker[kind])]
    while path[-1][1] != root:
        kind = gives[path[-1][1]]
        path.append((kind, taker[kind]))
    return path, rise


def market_placement(
    data: Arrays,
    sizes: Counts | Sizes,
    *,
    scale: int = SCALE,
    rounds: int = ROUNDS,
    tick: Callable[[], None] | None = None,
) -> tuple[Counts, tuple[int, ...]] | None:
    """Place one category by the market; return counts (S, G) and the first prices, or None when it cannot be served.

    1. Values: those of ``linear_values`` at the reference rates Rbar_i = n_i times the mean rate of the workers that can
       serve i; as integers, the largest is ``scale``. Rounding costs at most sum n_i / scale of the largest value.
    2. ``rounds`` times more, ours: half way from the reference rates to those just assigned. The best placement by the
       true objective is kept.

    Cost: 1 + rounds markets. Guarantee: none; even in a category the true objective is no sum of values of workers.
    Raises ``UsageError`` where ``scale`` < 1 or ``rounds`` < 0.
    """
    if scale < 1 or rounds < 0:
        raise UsageError(f"scale, rounds: found {scale}, {rounds}, allowed: integers >= 1 and >= 0")
    allowed = data.rates > 0
    count = np.asarray(sizes, dtype=np.int64)
    if (count > (usable := allowed @ data.stock)).any():
        return None
    reference = count * (data.rates @ data.stock / usable)
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


def all_markets(
    data: Arrays, *, tick: Callable[[], None] | None = None, within: Callable[[], None] | None = None
) -> Iterator[Counts]:
    """Placement of every category that can be served, shape (S, G) each; errors as ``market``.

    ``tick`` is called before every category, ``within`` often within its market; both may raise to stop.
    """
    if next(islice(categories(data), MOST_CATEGORIES, None), None) is not None:
        raise UsageError(
            f"more than {MOST_CATEGORIES:,} categories, allowed: up to {MOST_CATEGORIES:,}; use sampled-market"
        )
    for sizes in categories(data):
        if tick is not None:
            tick()
        outcome = market_placement(data, sizes, tick=within)
        if outcome is not None:
            yield outcome[0]
