"""ring_allocation: how many GPUs each ring all-reduce job gets (Capes et al. 2018, arXiv 1908.08082, abstract read only)."""

import numpy as np

from dlsched.catalogue.ring_allocation import LISTED
from dlsched.core.family import Family
from dlsched.core.objective import Objective
from dlsched.core.status import Sense
from dlsched.ring_allocation.bounds import lagrange, relaxation
from dlsched.ring_allocation.checker import check, infeasible, objective
from dlsched.ring_allocation.generator import example, generate
from dlsched.ring_allocation.heuristics import doubling, equal, fixed, hull, marginal
from dlsched.ring_allocation.instance import Instance, Job
from dlsched.ring_allocation.solution import Allocation
from dlsched.statistics.samples import fairness

__all__ = [
    "Allocation",
    "Instance",
    "Job",
    "check",
    "doubling",
    "equal",
    "example",
    "figures",
    "fixed",
    "generate",
    "hull",
    "lagrange",
    "marginal",
    "objective",
    "relaxation",
    "solve",
]


def figures(instance: Instance, allocation: Allocation) -> dict[str, float]:
    """Finish-time fairness of a feasible allocation: ``max_rho``, ``mean_rho`` and ``jain_index`` of rho.

    rho_j is the remaining time of job j on its count, restart included, over that on the fastest allowed count of at most
    max(its smallest, C / J), without one: a fair share of the GPUs, all of the time. Jobs without epochs are omitted.

    Source: Mahajan et al., Themis, NSDI 2020.
    """
    arrays, share = instance.arrays, instance.gpus // len(instance.jobs)
    remaining = arrays.seconds_left(allocation.gpus)
    assert remaining is not None
    fair_s = np.empty(len(instance.jobs))
    fair_s[arrays.tables] = arrays.fastest_s(share)
    fair_s[arrays.laws] = [instance.jobs[index].fair_time_s(share) for index in arrays.laws.tolist()]
    shares_s = arrays.epochs * fair_s
    with np.errstate(over="ignore"):
        ratios = np.divide(remaining[1], shares_s, out=np.full(len(shares_s), np.inf), where=shares_s > 0)
    return fairness(ratios[arrays.epochs > 0].tolist())


_OBJECTIVE = Objective(
    name="",
    sense=Sense.MINIMIZE,
    unit="weighted seconds, summed over jobs",
    value=objective,
    quantity="weighted sum of remaining times",
)

FAMILY = Family(
    **LISTED.stated(),
    summary="how many GPUs each ring all-reduce job gets",
    objectives=[_OBJECTIVE],
    infeasible=infeasible,
    best_bound="lagrange",
    gpus=lambda instance: instance.gpus,
    figures=figures,
)

solve = FAMILY.solve
