"""The meaning of async_sgd: how long the jobs take on an allocation, and which rules it breaks.

minimise sum_j batches_j / X_j(n_j),   X_j(n) mini-batches a second on n nodes (``throughput``)

``capacity``   sum_j n_j <= N
``choice``     1 <= n_j <= max_nodes_j, one count for every job
"""

import math

from dlsched.async_sgd.instance import Instance, Job
from dlsched.async_sgd.solution import Allocation
from dlsched.async_sgd.throughput import batches_per_s
from dlsched.core.errors import UsageError
from dlsched.core.messages import shown
from dlsched.core.violation import Violation

_LARGEST = 2**1000  # a larger excess has no float


def objective(instance: Instance, allocation: Allocation) -> float:
    """Seconds that the jobs take, summed over the jobs; rounded once in the sum.

    Raises
    ------
    UsageError
        A job has no count, one that it does not allow, or more nodes than there are: then there is no time.
    """
    broken = _broken_choices(instance, allocation)
    if broken:
        raise UsageError(f"no objective: {broken[0]}")
    if max(allocation.nodes.values()) > instance.nodes:  # what is allowed may be too many to add up
        raise UsageError(f"no objective: a job has more nodes than the {instance.nodes} there are")
    return math.fsum(job_time_s(job, allocation.nodes[job.id]) for job in instance.jobs)


def job_time_s(job: Job, nodes: int) -> float:
    """Seconds that one job takes on that many nodes."""
    return job.batches / batches_per_s(job, nodes)


def figures(instance: Instance, allocation: Allocation) -> dict[str, float]:
    """Nodes that work, and the examples a second of all jobs together."""
    return {
        "nodes": float(sum(allocation.nodes.values())),
        "examples_per_s": math.fsum(
            job.batch_examples * batches_per_s(job, allocation.nodes[job.id]) for job in instance.jobs
        ),
    }


def check(instance: Instance, allocation: Allocation) -> list[Violation]:
    """Return every broken rule; an empty list means feasible."""
    violations = _broken_choices(instance, allocation)
    used = sum(count for count in allocation.nodes.values() if _whole(count))
    if used > instance.nodes:
        message = f"{shown(used)} nodes are given, the cluster has {instance.nodes}"
        violations.append(Violation("capacity", amount=float(min(used - instance.nodes, _LARGEST)), message=message))
    return violations


def _whole(count: object) -> bool:
    return isinstance(count, int) and not isinstance(count, bool)


def _broken_choices(instance: Instance, allocation: Allocation) -> list[Violation]:
    violations = []
    for place, job in enumerate(instance.jobs):
        count = allocation.nodes.get(job.id)
        if count is None:
            violations.append(Violation("choice", job.id, message="the job has no count"))
        elif not _whole(count) or count not in instance.counts(place):
            violations.append(Violation("choice", job.id, message=f"{shown(count)} nodes is no allowed count"))
    for name in allocation.nodes:
        if name not in instance.index:
            violations.append(Violation("choice", name, message="there is no such job"))
    return violations


def infeasible(instance: Instance) -> str | None:
    """Return a sentence that proves by counting that no allocation exists, or None."""
    jobs = len(instance.jobs)
    return None if jobs <= instance.nodes else f"{jobs} jobs need a node each, the cluster has {instance.nodes}"
