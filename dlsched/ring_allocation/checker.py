"""The meaning of ring_allocation: what an allocation costs, and which rules it breaks.

minimise sum_j cost_j(w_j),  cost_j(w) = omega_j (Q_j tau_j(w) + rho_j [current_j is given and w != current_j])

The rules are ``capacity`` and ``choice`` of ``allocation.counts``, in GPUs.
"""

import math

from dlsched.allocation.counts import broken_rules, require_choices
from dlsched.core.result import Violation
from dlsched.ring_allocation.instance import Instance, Job
from dlsched.ring_allocation.solution import Allocation


def objective(instance: Instance, allocation: Allocation) -> float:
    """Weighted remaining seconds of the jobs, restarts included; rounded once per job and once in the sum.

    Raises
    ------
    UsageError
        A job has no count, or one that it does not allow: then there is no time.
    """
    remaining = instance.arrays.seconds_left(allocation.gpus)
    if remaining is None:
        require_choices(instance, allocation.gpus, "GPUs")
    assert remaining is not None
    return math.fsum((instance.arrays.weights * remaining[1]).tolist())


def job_cost(job: Job, gpus: int) -> float:
    """Weighted remaining seconds of one job on an allowed count of GPUs."""
    return job.weight * seconds_left(job, gpus)


def seconds_left(job: Job, gpus: int) -> float:
    """Remaining seconds of one job on an allowed count of GPUs, restart included."""
    changed = job.current_gpus is not None and gpus != job.current_gpus
    return job.epochs * job.speed.epoch_time_s(gpus) + (job.restart_s if changed else 0.0)


def check(instance: Instance, allocation: Allocation) -> list[Violation]:
    """Return every broken rule; an empty list means feasible."""
    remaining = instance.arrays.seconds_left(allocation.gpus)
    # the arrays decide for all jobs at once; only a broken rule needs its job
    if remaining is not None and sum(remaining[0].tolist()) <= instance.gpus:
        return []
    return broken_rules(instance, allocation.gpus, "GPUs")


def infeasible(instance: Instance) -> str | None:
    """Return a sentence that proves by counting that no allocation exists, or None."""
    needed = instance.minimum_gpus
    if needed <= instance.gpus:
        return None
    return f"the smallest counts add up to {needed} GPUs, the cluster has {instance.gpus}"
