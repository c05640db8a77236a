"""Greedy marginal gain: one worker at a time to the job that gains most."""

import numpy as np

from dlsched.core.limits import Tick, no_tick
from dlsched.matching_placement.arrays import Arrays, Counts, Floats, arrays, placement
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.heuristics.initial import initial
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.solution import Placement

_POWER = 16.0  # power of the ratios: a job a tenth above the others comes first


def marginal(instance: Instance, *, tick: Tick = no_tick) -> Placement | None:
    """Give every job its initial workers, then one at a time to the job whose completion time it lowers most; idle if none.

    1. Initial: min_i workers of every job, by ``initial``.
    2. Among all jobs and types with a free worker take the pair with the largest J_i(c_i) - J_i(c_i + e_g); stop when
       none is positive. Ties go to the job, and the type, that stands first.
    3. Give it; go to 2.

    None means that no placement exists. ``tick`` is called for every worker; it may raise to stop.

    Guarantee: with gradient_bytes 0, min_workers 1 and no max_workers, the sum of completion times falls by at least
    half of what any completion of the same initial workers can make it fall: sum_i w_i / R_i(initial) - w_i / R_i is
    monotone and submodular in the set of (worker, job) pairs, since 1 / R is convex and falling, "each worker to one job" is
    a partition matroid, and there greedy reaches half (Fisher, Nemhauser, Wolsey 1978). Else none.
    For other objectives it takes the pair that lowers the costs most (``Arrays.cost``), for the largest
    ratio the pair that lowers the sum of the ratios' powers most. Cost: O(K (G + S G)) beside the initial
    workers.
    """
    if infeasible(instance) is not None:
        return None
    data = arrays(instance)
    return placement(instance, greedy(data, initial(data), tick))


def greedy(data: Arrays, counts: Counts, tick: Tick = no_tick) -> Counts:
    """Steps 2 and 3 of ``marginal`` from a placement, shape (S, G)."""
    if data.bottleneck:
        data = data.softened(_POWER, data.total(counts))
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
