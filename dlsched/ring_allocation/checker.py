"""The meaning of ring_allocation: what an allocation costs, and which rules it breaks.

minimise sum_j cost_j(w_j),  cost_j(w) = omega_j (Q_j tau_j(w) + rho_j [current_j is given and w != current_j])

``capacity``   sum_j w_j <= C
``choice``     w_j in W_j, one count for every job
"""

import math

from dlsched.core.errors import UsageError
from dlsched.core.messages import shown
from dlsched.core.violation import Violation
from dlsched.ring_allocation.instance import Instance, Job
from dlsched.ring_allocation.solution import Allocation

_LARGEST = 2**1000  # a larger excess has no float


def objective(instance: Instance, allocation: Allocation) -> float:
    """Weighted seconds that the jobs have left, restarts included; rounded once per job and once in the sum.

    Raises
    ------
    UsageError
        A job has no count, or one that it does not allow: then there is no time.
    """
    broken = _broken_choices(instance, allocation)
    if broken:
        raise UsageError(f"no objective: {broken[0]}")
    return math.fsum(job_cost(job, allocation.gpus[job.id]) for job in instance.jobs)


def job_cost(job: Job, gpus: int) -> float:
    """Weighted seconds that one job has left on an allowed count of GPUs."""
    changed = job.current_gpus is not None and gpus != job.current_gpus
    return job.weight * (job.epochs * job.speed.epoch_time_s(gpus) + (job.restart_s if changed else 0.0))


def check(instance: Instance, allocation: Allocation) -> list[Violation]:
    """Return every broken rule; an empty list means feasible."""
    violations = _broken_choices(instance, allocation)
    used = sum(count for count in allocation.gpus.values() if _whole(count))
    if used > instance.gpus:
        message = f"{shown(used)} GPUs are given, the cluster has {instance.gpus}"
        violations.append(Violation("capacity", amount=float(min(used - instance.gpus, _LARGEST)), message=message))
    return violations


def _whole(count: object) -> bool:
    return isinstance(count, int) and not isinstance(count, bool)


def _broken_choices(instance: Instance, allocation: Allocation) -> list[Violation]:
    violations = []
    for place, job in enumerate(instance.jobs):
        count = allocation.gpus.get(job.id)
        if count is None:
            violations.append(Violation("choice", job.id, message="the job has no count"))
        elif not _whole(count) or count not in (
            instance.counts(place) if job.epoch_time_s is None else job.epoch_time_s
        ):
            violations.append(Violation("choice", job.id, message=f"{shown(count)} GPUs is no allowed count"))
    for name in allocation.gpus:
        if name not in instance.index:
            violations.append(Violation("choice", name, message="there is no such job"))
    return violations


def infeasible(instance: Instance) -> str | None:
    """Return a sentence that proves by counting that no allocation exists, or None."""
    needed = instance.minimum_gpus
    if needed <= instance.gpus:
        return None
    return f"the smallest counts add up to {needed} GPUs, the cluster has {instance.gpus}"
