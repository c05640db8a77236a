"""Local search by moves and swaps of single workers, on counts of types."""

import numpy as np

from dlsched.algorithms.resource_market import Exchanges
from dlsched.core.limits import Tick, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, Floats, arrays, placement
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.heuristics.initial import initial
from dlsched.matching_placement.heuristics.marginal import greedy
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.solution import Placement

_GAIN = 1e-12  # relative; a smaller improvement is rounding
_POWERS = (4.0, 16.0, 64.0)


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

    For the largest ratio, the sums of powers of the ratios are lowered one after the other, and the best is
    kept.

    A step takes a worker of one type (or none) from a job and gives it one of another type (or none); what it gives up
    goes to the idle, or in exchange to the job that the new one came from. That is every move of a worker to another
    job, to or from the idle, and every swap of two workers of two jobs, or of a job and the idle.

    Cost of a step: O(G^2), and O(G) for each job that holds a type which one of the two changed jobs held or
    holds. Memory: that of ``Exchanges``. ``tick`` is called before every job and every step; it may raise to
    stop.
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
    if out < len(counts):
        counts[out] -= 1
    if into < len(counts):
        counts[into] += 1


def _changes(data: Arrays, job: int, counts: Counts) -> tuple[list[int], Floats]:
    """Types that a job may give up (G: none), and the change of its cost when it gets each type, or none, instead."""
    kinds = data.types
    outs = [*np.flatnonzero(counts).tolist(), kinds]
    base = np.tile(counts, (len(outs), 1))
    base[np.arange(len(outs) - 1), outs[:-1]] -= 1
    changed = np.full((len(outs), kinds + 1), np.inf)
    able = data.able(job)
    changed[:, able] = data.cost_with_more(job, base)[:, able]
    some = base.any(axis=1)
    changed[some, kinds] = data.cost(job, base[some])
    size = base.sum(axis=1)[:, None] + np.append(np.ones(kinds, dtype=np.int64), 0)
    changed[(size < data.least[job]) | (size > data.most[job])] = np.inf
    changed -= data.cost(job, counts)
    changed[-1, kinds] = np.inf  # nothing out, nothing in
    changed[np.arange(len(outs) - 1), outs[:-1]] = np.inf
    return outs, changed
