"""The meaning of async_sgd: how long the jobs take on an allocation, and which rules it breaks.

minimise sum_j batches_j / X_j(n_j),   X_j(n) mini-batches a second on n nodes (``queueing.throughput``)

The rules are ``capacity`` and ``choice`` of ``allocation.counts``, in nodes.
"""

import math

from dlsched.allocation.counts import broken_rules, require_choices
from dlsched.async_sgd.instance import Instance, Job
from dlsched.async_sgd.solution import Allocation
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.core.result import Violation
from dlsched.queueing.network import network_of
from dlsched.queueing.throughput import throughput_of


def batches_per_s(job: Job, nodes: int, *, tick: Tick = no_tick) -> float:
    """Mini-batches a second of a job on that many nodes; examples a second are ``batch_examples`` times as many.

    Throughputs of many nodes are remembered for a while. ``tick`` may raise to stop.

    UsageError: ``nodes`` < 1, or more than ``queueing.throughput.MOST`` of which each counts.
    """
    return throughput_of(network_of(job), nodes, name=f"nodes of {job.id!r}", tick=tick)


def objective(instance: Instance, allocation: Allocation) -> float:
    """Seconds that the jobs take, summed over the jobs; rounded once in the sum.

    UsageError: a job has no count, one that it does not allow, or more nodes than there are: then there is no time.
    """
    require_choices(instance, allocation.nodes, "nodes")
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
    return broken_rules(instance, allocation.nodes, "nodes")


def infeasible(instance: Instance) -> str | None:
    """Return a sentence that proves by counting that no allocation exists, or None."""
    jobs = len(instance.jobs)
    return None if jobs <= instance.nodes else f"{jobs} jobs need a node each, the cluster has {instance.nodes}"
