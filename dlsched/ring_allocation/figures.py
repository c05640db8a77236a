"""Further figures of an allocation, besides its weighted seconds."""

import numpy as np

from dlsched.ring_allocation.instance import Instance
from dlsched.ring_allocation.solution import Allocation
from dlsched.statistics.samples import fairness


def figures(instance: Instance, allocation: Allocation) -> dict[str, float]:
    """Finish-time fairness of a feasible allocation: ``max_rho``, ``mean_rho`` and ``jain_index`` of rho.

    rho_j is the time that job j has left on its count, restart included, over that on the fastest allowed count of at most
    max(its smallest, C / J), without one: a fair share of the GPUs, all of the time. Jobs without epochs are left out.

    Source: Mahajan et al., Themis, NSDI 2020.
    """
    arrays, share = instance.arrays, instance.gpus // len(instance.jobs)
    found = arrays.seconds_left(allocation.gpus)
    assert found is not None
    fair_s = np.empty(len(instance.jobs))
    fair_s[arrays.tables] = arrays.fastest_s(share)
    fair_s[arrays.laws] = [instance.jobs[index].fair_time_s(share) for index in arrays.laws.tolist()]
    shares_s = arrays.epochs * fair_s
    with np.errstate(over="ignore"):
        ratios = np.divide(found[1], shares_s, out=np.full(len(shares_s), np.inf), where=shares_s > 0)
    return fairness(ratios[arrays.epochs > 0].tolist())
