"""Heuristics that answer at once: equal shares, and the fastest workers job by job.

None means that the heuristic leaves a job below its smallest number of workers. Ties go to the job, and the
type, that stands first.
"""

import numpy as np

from dlsched.core.limits import Tick, no_tick
from dlsched.matching_placement.arrays import arrays, placement
from dlsched.matching_placement.feasibility import infeasible
from dlsched.matching_placement.heuristics.initial import smallest, take_fastest
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.solution import Placement


def equal(instance: Instance, *, tick: Tick = no_tick) -> Placement | None:
    """Deal the workers out, type by type, each to the job that has fewest of those that it can serve.

    Guarantee: none. Cost: O(K S). ``tick`` is called for every worker; it may raise to stop.
    """
    data = arrays(instance)
    counts = np.zeros((data.jobs, data.types), dtype=np.int64)
    size = counts.sum(axis=1)
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
    share = int(data.stock.sum()) // data.jobs
    wanted = np.minimum(np.maximum(share, data.least), data.most)
    counts = take_fastest(data, wanted, np.arange(data.jobs))
    return placement(instance, counts) if (counts.sum(axis=1) >= data.least).all() else None


def soon(instance: Instance) -> Placement | None:
    """Answer as soon as possible: ``fastest_first``, or where that fails the smallest sizes with whichever workers fit.

    Finds an answer whenever one exists; stopped methods hold it. Guarantee: none. Cost: O(S G log G) and a
    maximum flow.
    """
    if infeasible(instance) is not None:
        return None
    return fastest_first(instance) or placement(instance, smallest(arrays(instance)))
