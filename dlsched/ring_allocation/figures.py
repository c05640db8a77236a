"""Further figures of an allocation, besides its weighted seconds."""

from dlsched.ring_allocation.checker import seconds_left
from dlsched.ring_allocation.instance import Instance
from dlsched.ring_allocation.solution import Allocation
from dlsched.statistics.fairness import fairness


def figures(instance: Instance, allocation: Allocation) -> dict[str, float]:
    """Finish-time fairness of a feasible allocation: ``max_rho``, ``mean_rho`` and ``jain_index`` of rho.

    rho_j is the time that job j has left on its count, restart included, over that on the fastest allowed count of at most
    max(its smallest, C / J), without one: a fair share of the GPUs, all of the time. Jobs without epochs are left out.

    Source: Mahajan et al., Themis, NSDI 2020.
    """
    share = instance.gpus // len(instance.jobs)
    return fairness(
        [
            seconds_left(job, allocation.gpus[job.id]) / (job.epochs * job.fair_time_s(share))
            for job in instance.jobs
            if job.epochs
        ]
    )
