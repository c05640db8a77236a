"""The heuristics of matching_placement, their guarantees, and the first solutions of a search.

None means that the heuristic leaves a job below its smallest number of workers. Ties go to the job, and the
type, that stands first.
"""

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from dlsched.algorithms.count_vectors import all_vectors
from dlsched.algorithms.resource_market import Exchanges, transport
from dlsched.columns.generation import generate
from dlsched.columns.slack import WIDTH, cheapest_within, search_beam
from dlsched.core.errors import UsageError
from dlsched.core.family import Guarantee
from dlsched.core.limits import Budget, Tick, TooMany, no_tick
from dlsched.core.search import Search
from dlsched.matching_placement.arrays import Arrays, Counts, Floats, arrays, counts_of, infeasible, placement
from dlsched.matching_placement.configurations.pricing import first_pool, first_prices
from dlsched.matching_placement.configurations.thresholds import bound_by_thresholds, by_beam, lower
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.objectives import MEAN, objective_of
from dlsched.matching_placement.solution import Placement

LARGEST = 1_000_000
"""Largest matrix of the assignment, seats by workers: measured .1 s, during which no tick is called."""
MANY_PAIRS = 20_000
"""Jobs times types above which exact methods begin with prices and ``rounding``: single steps take too long."""


def initial(arrays: Arrays) -> Counts:
    """Return min_i workers for every job, shape (S, G), of a feasible instance.

    Minimises sum_ig T_i Pi_i / (min_i^2 rho_ig) c_ig with sum_g c_ig = min_i and sum_i c_ig <= s_g. A job's term is its
    compute time on one type, and an upper bound of it on several types (the harmonic mean is below the mean); it is divided
    by J_i(equal share) if the objective is made of such ratios. Beyond ``LARGEST`` pairs of seat and worker, jobs take their
    fastest free workers, those with the most samples first, or, if that leaves some short, those of ``smallest``.

    Cost: that of an assignment of n = sum_i min_i seats, O(n^2 K) at worst.
    """
    from scipy.optimize import linear_sum_assignment

    seats, offered = int(arrays.least.sum()), np.minimum(arrays.stock, int(arrays.least.sum()))
    if seats * int(offered.sum()) > LARGEST:
        counts = take_fastest(arrays, arrays.least, np.argsort(-arrays.work, kind="stable"))
        return counts if (counts.sum(axis=1) == arrays.least).all() else smallest(arrays)
    # the assignment of seats to workers; costs are scaled to at most 1
    kinds = np.repeat(np.arange(arrays.types), offered)
    jobs = np.repeat(np.arange(arrays.jobs), arrays.least)
    work = arrays.work / arrays.costs.equal
    with np.errstate(divide="ignore"):
        cost = work[:, None] / (arrays.rates * arrays.least.astype(np.float64)[:, None] ** 2)
    seat, worker = linear_sum_assignment((cost / cost[arrays.rates > 0].max())[jobs][:, kinds])
    counts = np.zeros((arrays.jobs, arrays.types), dtype=np.int64)
    np.add.at(counts, (jobs[seat], kinds[worker]), 1)
    return counts


def take_fastest(arrays: Arrays, wanted: Counts, order: Counts) -> Counts:
    """Let jobs take, one after the other, up to ``wanted`` free workers, those that are fastest for them; shape (S, G)."""
    idle = arrays.stock.copy()
    counts = np.zeros((arrays.jobs, arrays.types), dtype=np.int64)
    for job in order.tolist():
        fast = np.argsort(-arrays.rates[job], kind="stable")
        fast = fast[arrays.rates[job, fast] > 0]
        # workers up to each type, and by difference those of each
        upto = np.minimum(np.cumsum(idle[fast]), wanted[job])
        counts[job, fast] = np.diff(upto, prepend=0)
        idle -= counts[job]
    return counts


def smallest(arrays: Arrays) -> Counts:
    """Return min_i workers for every job, whichever can serve it, shape (S, G), of a feasible instance; soon found."""
    return transport(arrays.rates > 0, arrays.least, arrays.stock)


def equal(instance: Instance, *, tick: Tick = no_tick) -> Placement | None:
    """Deal the workers out, type by type, each to the job that has fewest of those that it can serve.

    Guarantee: none. Cost: O(K S). ``tick`` is called for every worker; it may raise to stop.
    """
    data = arrays(instance)
    counts = np.zeros((data.jobs, data.types), dtype=np.int64)
    size = counts.sum(axis=1)
    # workers type by type; a job takes one if it can use it and has room
    for kind, stock in enumerate(data.stock.tolist()):
        for _ in range(stock):
            tick()
            takes = (data.rates[:, kind] > 0) & (size < data.most)
            if not takes.any():
                break
            job = int(np.argmin(np.where(takes, size, np.iinfo(np.int64).max)))
            counts[job, kind] += 1
            size[job] += 1
    return placement(instance, counts) if (size >= data.least).all() else None


def fastest_first(instance: Instance) -> Placement | None:
    """Let every job, in order of the file, take the K / S free workers that are fastest for it, rounded down.

    At least min_i, at most max_i. Guarantee: none. Cost: O(S G log G).
    """
    data = arrays(instance)
    counts = _fastest_first(data)
    return placement(instance, counts) if (counts.sum(axis=1) >= data.least).all() else None


def _fastest_first(data: Arrays) -> Counts:
    """Counts of ``fastest_first``, shape (S, G); jobs may be short of workers."""
    share = int(data.stock.sum()) // data.jobs
    wanted = np.minimum(np.maximum(share, data.least), data.most)
    return take_fastest(data, wanted, np.arange(data.jobs))


def soon(instance: Instance) -> Placement | None:
    """``fastest_first``, or where that fails the smallest sizes with whichever workers fit: an answer whenever one exists."""
    if infeasible(instance) is not None:
        return None
    return placement(instance, soon_counts(arrays(instance)))


def soon_counts(data: Arrays) -> Counts:
    """Counts of ``soon``, shape (S, G), for a feasible instance."""
    counts = _fastest_first(data)
    return counts if (counts.sum(axis=1) >= data.least).all() else smallest(data)


POWER = 16.0  # power of the ratios: a job a tenth above the others comes first


def marginal(instance: Instance, *, tick: Tick = no_tick) -> Placement | None:
    """Give every job its initial workers, then one at a time to the job whose completion time it lowers most; idle if none.

    1. Initial: min_i workers of every job, by ``initial``.
    2. Among all jobs and types with a free worker take the pair with the largest J_i(c_i) - J_i(c_i + e_g); stop when
       none is positive. Ties go to the job, and the type, that stands first.
    3. Give it; go to 2.

    None means that no placement exists. ``tick`` is called for every worker; it may raise to stop.

    Guarantee: with gradient_bytes 0, min_workers 1 and no max_workers, the sum of completion times falls by at least half of
    what any completion of the same initial workers can make it fall: sum_i w_i / R_i(initial) - w_i / R_i is monotone and
    submodular in the set of (worker, job) pairs, since 1 / R is convex and falling, "each worker to one job" is a partition
    matroid, and there greedy reaches half (Fisher, Nemhauser, Wolsey 1978). Else none. For other objectives it takes the pair
    that lowers the costs most, for the largest ratio the sum of the ratios' powers. Cost: O(K (G + S G)) beside step 1.
    """
    if infeasible(instance) is not None:
        return None
    data = arrays(instance)
    return placement(instance, greedy(data, initial(data), tick))


def greedy(data: Arrays, counts: Counts, tick: Tick = no_tick) -> Counts:
    """Steps 2 and 3 of ``marginal`` from a placement, shape (S, G)."""
    if data.bottleneck:
        data = data.softened(POWER, data.total(counts))
    # savings of one more worker by job and type; only the job that gets one has new ones
    counts = counts.copy()
    idle = data.stock - counts.sum(axis=0)
    gain = np.array([_gains(data, job, counts[job]) for job in range(data.jobs)])
    while True:
        tick()
        open_gain = np.where(idle > 0, gain, -np.inf)
        job, kind = np.unravel_index(int(np.argmax(open_gain)), gain.shape)
        if not open_gain[job, kind] > 0:
            return counts
        counts[job, kind] += 1
        idle[kind] -= 1
        gain[job] = _gains(data, int(job), counts[job])


def _gains(data: Arrays, job: int, counts: Counts) -> Floats:
    """What one more worker of each type saves the job; shape (G,)."""
    if counts.sum() >= data.most[job]:
        return np.full(data.types, -np.inf)
    gains = data.cost(job, counts) - data.cost_with_more(job, counts)
    gains[data.rates[job] == 0] = -np.inf
    return gains


_GAIN = 1e-12  # relative; a smaller improvement is rounding
_POWERS = (4.0, 16.0, 64.0)  # of the ratios: higher ones come nearer to the largest ratio, but have fewer steps


def local_search(instance: Instance, *, tick: Tick = no_tick) -> Placement | None:
    """Take the best move or swap of single workers again and again until none helps, starting from ``marginal``.

    None means that no placement exists. ``tick`` is called at every step; it may raise to stop.
    Guarantee: none better than that of ``marginal``, which it never ends above. Cost: that of ``improve``.
    """
    if infeasible(instance) is not None:
        return None
    return placement(instance, best_local(arrays(instance), tick))


def best_local(data: Arrays, tick: Tick = no_tick) -> Counts:
    """Counts of ``local_search``, shape (S, G), for a feasible instance."""
    return improve(data, greedy(data, initial(data), tick), tick)


def improve(data: Arrays, counts: Counts, tick: Tick = no_tick) -> Counts:
    """Take the best of all steps until none lowers the sum of the costs; ``counts`` has shape (S, G).

    A step takes a worker of one type (or none) from a job and gives it one of another type (or none), in exchange with the
    idle or with another job: every move of a worker and every swap of two. For the largest ratio, the sums of powers of the
    ratios are lowered one after the other; the best is returned. Cost of a step: O(G^2), and O(G) for each job that holds a
    type which one of the two changed jobs held or holds. Memory: that of ``Exchanges``.
    """
    if not data.bottleneck:
        return _lower(data, counts, tick)
    for power in _POWERS:
        counts = min(counts, _lower(data.softened(power, data.total(counts)), counts, tick), key=data.total)
    return counts


def _lower(data: Arrays, counts: Counts, tick: Tick) -> Counts:
    """Lower the sum of the costs."""
    counts = counts.copy()
    idle = data.stock - counts.sum(axis=0)
    # changes of every job's cost by the type out and the type in; a step updates those of the jobs it changes
    exchanges = Exchanges(data.stock, data.jobs)
    for job in range(data.jobs):
        tick()
        exchanges.put(job, *_changes(data, job, counts[job]))
    while True:
        tick()
        value, job, other, out, into = exchanges.best(idle)
        if not value < -_GAIN * data.total(counts):
            return counts
        _step(counts[job], out, into)
        if other >= 0:
            _step(counts[other], into, out)
            exchanges.put(other, *_changes(data, other, counts[other]))
        else:
            _step(idle, into, out)
        exchanges.put(job, *_changes(data, job, counts[job]))


def _step(counts: Counts, out: int, into: int) -> None:
    """Take one worker of a type out and put one of another in; G stands for none."""
    if out < len(counts):
        counts[out] -= 1
    if into < len(counts):
        counts[into] += 1


def _changes(data: Arrays, job: int, counts: Counts) -> tuple[list[int], Floats]:
    """Types that a job may give up (G: none), and the change of its cost when it gets each type, or none, instead."""
    kinds = data.types
    # a row for each type given up, the last for none; a column for each type received, the last for none
    outs = [*np.flatnonzero(counts).tolist(), kinds]
    base = np.tile(counts, (len(outs), 1))
    base[np.arange(len(outs) - 1), outs[:-1]] -= 1
    changed = np.full((len(outs), kinds + 1), np.inf)
    able = data.able(job)
    changed[:, able] = data.cost_with_more(job, base)[:, able]
    some = base.any(axis=1)
    changed[some, kinds] = data.cost(job, base[some])
    # sizes that the job may not have
    size = base.sum(axis=1)[:, None] + np.append(np.ones(kinds, dtype=np.int64), 0)
    changed[(size < data.least[job]) | (size > data.most[job])] = np.inf
    changed -= data.cost(job, counts)
    changed[-1, kinds] = np.inf  # nothing out, nothing in
    changed[np.arange(len(outs) - 1), outs[:-1]] = np.inf
    return outs, changed


def beam(
    instance: Instance,
    *,
    width: int = WIDTH,
    tick: Tick = no_tick,
    budget: Budget | None = None,
    better: Callable[[Placement], object] = lambda counts: None,
) -> Placement | None:
    """Search the placements near the linear programming bound job by job, keeping the ``width`` most promising at each.

    1. ``local_search``; prices of the types by column generation (``configurations.pricing``).
    2. A beam search over the configurations of small reduced cost, of larger if there is no better placement
       (``columns.slack.search_beam``).
    3. Local search from its result; the better of both.

    For the largest ratio, 2. and 3. are the search of ``configurations.thresholds`` with ``width`` labels, as long as the
    configurations of a threshold can be listed. ``better`` is called with the placement of step 1 and with every better one.

    None means that no placement exists. Guarantee: none better than that of ``marginal``; our own method. Cost: that of
    ``configuration_lp``, whose ``tick`` and ``budget`` it takes, and O(S width N) labels for N configurations of a job.

    Raises
    ------
    UsageError
        ``width`` < 1.
    """
    if width < 1:
        raise UsageError(where="width", found=width, allowed="an integer >= 1")
    if infeasible(instance) is not None:
        return None
    data = arrays(instance)
    start = best_local(data, tick)
    better(placement(instance, start))
    if data.bottleneck:
        start = _lowered(data, start, width, tick, budget, lambda counts: better(placement(instance, counts)))
        return placement(instance, start)
    # prices first; then the pool's own configurations, then all that are near the prices
    pool = first_pool(data, start)
    prices = generate(pool, guess=first_prices(data, data.total(start)), tick=tick, budget=budget)
    slack = data.total(start) - prices.bound
    counts = cheapest_within(pool.listed(prices, slack), prices, slack, width=width, tick=tick) if slack > 0 else None
    if counts is not None:
        start = min(start, improve(data, counts, tick), key=data.total)
        better(placement(instance, start))
    counts = search_beam(pool.pricing, prices, data.total(start), width=width, tick=tick)
    if counts is not None:
        start = min(start, improve(data, counts, tick), key=data.total)
        better(placement(instance, start))
    return placement(instance, start)


def _lowered(
    data: Arrays, start: Counts, width: int, tick: Tick, budget: Budget | None, better: Callable[[Counts], object]
) -> Counts:
    """Lower the largest ratio, as far as configurations are few enough to be listed."""
    improvements = [start]

    def record(counts: Counts) -> None:
        improvements.append(counts)
        better(counts)

    with suppress(TooMany):
        low, _ = bound_by_thresholds(data, data.total(start), tick=tick, budget=budget)
        lower(data, start, low, by_beam(data, width, tick), tick=tick, budget=budget, better=record)
    return improvements[-1]


def warm(instance: Instance, search: Search[Placement]) -> None:
    """Offer quick answers, then the local search's, before anything longer starts."""
    offer_soon(instance, search)
    data = arrays(instance)
    if data.jobs * data.types > MANY_PAIRS:
        return
    counts = greedy(data, initial(data), search.tick)
    search.offer(placement(instance, counts), source="marginal")
    search.offer(placement(instance, improve(data, counts, search.tick)), source="local-search")


def offer_soon(instance: Instance, search: Search[Placement]) -> None:
    """Offer the quickest answer."""
    search.offer(soon(instance), source="fastest-first")


def total_of(instance: Instance, search: Search[Placement]) -> float:
    """Minimised value of the incumbent: the sum of the costs, or the largest cost."""
    return objective_of(instance).total(instance, search)


def total_of_mean(instance: Instance, search: Search[Placement]) -> float:
    """The sum of the times."""
    assert search.objective is not None
    return search.objective * len(instance.jobs)


def total_of_counts(instance: Instance, search: Search[Placement]) -> float:
    """The costs of the counts."""
    return arrays(instance).total(counts_of(instance, search.incumbent))


_LARGEST = 200_000  # bound on the completions that are tried; with 80,000 it takes some hundredths of a second


def applies(instance: Instance) -> bool:
    """No communication, one worker suffices, no largest size; and few enough completions to try."""
    plain = all(job.gradient_bytes == 0 and job.min_workers == 1 and job.max_workers is None for job in instance.jobs)
    return plain and objective_of(instance) is MEAN and (len(instance.jobs) + 1) ** len(instance.workers) <= _LARGEST


def half_of_best_completion(instance: Instance, optimum: float) -> float:
    """Mean of the initial workers' objective and that of their best completion, found by enumeration."""
    del optimum
    data = arrays(instance)
    start = initial(data)
    return (data.total(start) + _least_completion(data, start, 0)) / 2 / data.jobs


def _least_completion(data: Arrays, counts: Counts, kind: int) -> float:
    """Try every way to give the idle workers of types ``kind`` .. to jobs."""
    if kind == data.types:
        return data.total(counts)
    # all shares of this type's idle workers, each followed by all those of the types to come
    able = np.flatnonzero(data.rates[:, kind])
    idle = int(data.stock[kind] - counts[:, kind].sum()) if len(able) else 0
    best = float("inf")
    for shares in all_vectors(np.full(len(able), idle), idle, idle):  # with no communication none is better idle
        trial = counts.copy()
        trial[able, kind] += shares
        best = min(best, _least_completion(data, trial, kind + 1))
    return best


MARGINAL = Guarantee[Instance](
    "without communication, minimum and maximum sizes: at least half of what any completion of the same initial workers saves",
    applies,
    half_of_best_completion,
)
