"""The heuristics of matching_placement: plain functions from an instance to a placement; the market's stand in ``markets``.

None means that no placement exists, or for ``equal`` and ``fastest_first`` that their way leaves a job below its
smallest number of workers. Ties go to the job, and the type, that stands first. ``tick`` is called often where something can
take long; it may raise to stop.
"""

from collections.abc import Callable

import numpy as np

from dlsched.core.errors import UsageError
from dlsched.matching_placement.arrays import Arrays, Counts, arrays, placement
from dlsched.matching_placement.closing import WIDTH, search_beam
from dlsched.matching_placement.columns import generate_columns
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.moves import improve
from dlsched.matching_placement.seeds import seeds, smallest, take_fastest
from dlsched.matching_placement.solution import Placement

Tick = Callable[[], None]


def equal(instance: Instance, *, tick: Tick | None = None) -> Placement | None:
    """Deal the workers out, type by type, each to the job that has fewest of those that it can serve.

    Guarantee: none. Cost: O(K S).
    """
    data = arrays(instance)
    counts = np.zeros((data.jobs, data.types), dtype=np.int64)
    size = counts.sum(axis=1)
    for kind, stock in enumerate(data.stock.tolist()):
        for _ in range(stock):
            if tick is not None:
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
    share = int(data.stock.sum()) // data.jobs
    wanted = np.minimum(np.maximum(share, data.least), data.most)
    counts = take_fastest(data, wanted, np.arange(data.jobs))
    return placement(instance, counts) if (counts.sum(axis=1) >= data.least).all() else None


def soon(instance: Instance) -> Placement | None:
    """Answer as soon as possible: ``fastest_first``, or where that fails the smallest sizes with whichever workers fit.

    Always an answer where one exists; what a stopped method holds. Guarantee: none. Cost: O(S G log G) and a maximum flow.
    """
    if infeasible(instance) is not None:
        return None
    return fastest_first(instance) or placement(instance, smallest(arrays(instance)))


def marginal(instance: Instance, *, tick: Tick | None = None) -> Placement | None:
    """Give every job its seeds, then one worker at a time to the job whose completion time it lowers most; idle if none.

    1. Seeds: min_i workers of every job, by ``seeds.seeds``.
    2. Among all jobs and types with a free worker take the pair with the largest J_i(c_i) - J_i(c_i + e_g); stop when
       none is positive.
    3. Give it; go to 2.

    Guarantee: with gradient_bytes 0, min_workers 1 and no max_workers, the sum of completion times falls by at least
    half of what any completion of the same seeds can make it fall: sum_i w_i / R_i(seed) - w_i / R_i is monotone and
    submodular in the set of (worker, job) pairs, since 1 / R is convex and falling, "each worker to one job" is a
    partition matroid, and there greedy reaches half (Fisher, Nemhauser, Wolsey 1978). Else none.
    Cost: O(K (G + S G)) beside the seeds.
    """
    if infeasible(instance) is not None:
        return None
    data = arrays(instance)
    return placement(instance, greedy(data, seeds(data), tick=tick))


def greedy(data: Arrays, counts: Counts, *, tick: Tick | None = None) -> Counts:
    """Steps 2 and 3 of ``marginal`` from a placement, shape (S, G)."""
    counts = counts.copy()
    idle = data.stock - counts.sum(axis=0)
    gain = np.array([_gains(data, job, counts[job]) for job in range(data.jobs)])
    while True:
        if tick is not None:
            tick()
        open_gain = np.where(idle > 0, gain, -np.inf)
        job, kind = np.unravel_index(int(np.argmax(open_gain)), gain.shape)
        if not open_gain[job, kind] > 0:
            return counts
        counts[job, kind] += 1
        idle[kind] -= 1
        gain[job] = _gains(data, int(job), counts[job])


def _gains(data: Arrays, job: int, counts: Counts) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """What one more worker of each type saves the job; shape (G,)."""
    if counts.sum() >= data.most[job]:
        return np.full(data.types, -np.inf)
    gains = data.times(job, counts) - data.times_with_more(job, counts)
    gains[data.rates[job] == 0] = -np.inf
    return gains


def local_search(instance: Instance, *, tick: Tick | None = None) -> Placement | None:
    """Take the best move or swap of single workers again and again until none helps, starting from ``marginal``.

    Guarantee: none better than that of ``marginal``, which it never ends above. Cost: ``moves.improve``.
    """
    if infeasible(instance) is not None:
        return None
    data = arrays(instance)
    return placement(instance, best_local(data, tick=tick))


def best_local(data: Arrays, *, tick: Tick | None = None) -> Counts:
    """Counts of ``local_search``, shape (S, G), for a feasible instance."""
    return improve(data, greedy(data, seeds(data), tick=tick), tick=tick)


def beam(
    instance: Instance,
    *,
    width: int = WIDTH,
    tick: Tick | None = None,
    left: Callable[[], float | None] | None = None,
) -> Placement | None:
    """Search the placements near the linear programming bound job by job, keeping the ``width`` most promising at each.

    1. ``local_search``; prices of the types by column generation (``columns``).
    2. A beam search over the configurations of small reduced cost, of larger if nothing is found
       (``closing.search_beam``).
    3. Local search from what it found; the better of both.

    Guarantee: none better than that of ``marginal``; ours, from no paper. Cost: that of ``configuration_lp`` and
    O(S width N) labels for N configurations of a job. ``left`` as in ``generate_columns``.

    Raises
    ------
    UsageError
        ``width`` < 1.
    """
    if width < 1:
        raise UsageError(f"width: found {width}, allowed: an integer >= 1")
    if infeasible(instance) is not None:
        return None
    data = arrays(instance)
    start = best_local(data, tick=tick)
    prices = generate_columns(data, start, tick=tick, left=left)
    found = search_beam(data, prices, data.total(start), width=width, tick=tick)
    if found is not None:
        start = min(start, improve(data, found, tick=tick), key=data.total)
    return placement(instance, start)
