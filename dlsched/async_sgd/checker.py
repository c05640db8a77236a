"""The meaning of async_sgd: how long the jobs take on an allocation, and which rules it breaks.

minimise sum_j batches_j / X_j(n_j),   X_j(n) mini-batches a second on n nodes (``queueing.throughput``)

The rules are ``capacity`` and ``choice`` of ``allocation.counts``, in nodes.
"""

import math
from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

import numpy as np

from dlsched.allocation.counts import broken_rules, require_choices
from dlsched.async_sgd.instance import Instance, Job
from dlsched.async_sgd.solution import Allocation
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.core.result import Violation
from dlsched.queueing.network import network_of
from dlsched.queueing.throughput import throughput_of

ArrayT = TypeVar("ArrayT", bound=IntArray | FloatArray | None)

_MANY = 32  # jobs that are faster together than one by one
_SOON = 64  # nodes up to which they go together


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
    if _plain(instance, allocation) is None:
        require_choices(instance, allocation.nodes, "nodes")
    if _nodes(instance, allocation).max() > instance.nodes:  # counts up to 2**53 are allowed, whose times nobody needs
        raise UsageError(f"no objective: a job has more nodes than the {instance.nodes} there are")
    return math.fsum((instance.batches / _rates(instance, allocation)).tolist())


def _remembered(compute: Callable[[Instance, Allocation], ArrayT]) -> Callable[[Instance, Allocation], ArrayT]:
    """Compute an array of an allocation, which is immutable, once as long as no other is looked at."""

    @wraps(compute)
    def call(instance: Instance, allocation: Allocation) -> ArrayT:
        nodes, found = instance.judged.get(compute.__name__, (None, None))
        if nodes is not allocation.nodes:
            found = compute(instance, allocation)
            instance.judged[compute.__name__] = allocation.nodes, found
        return cast(ArrayT, found)

    return call


@_remembered
def _plain(instance: Instance, allocation: Allocation) -> IntArray | None:
    """The counts of all jobs, in their order, where all are there and allowed; None: this needs a closer look."""
    if tuple(allocation.nodes) != tuple(instance.index) or set(map(type, allocation.nodes.values())) != {int}:
        return None
    try:
        nodes = np.array(list(allocation.nodes.values()), dtype=np.int64)
    except OverflowError:
        return None
    return nodes if ((nodes >= 1) & (nodes <= instance.most_nodes)).all() else None


def _nodes(instance: Instance, allocation: Allocation) -> IntArray:
    """The counts of all jobs in the order of the instance; every job has one."""
    nodes = _plain(instance, allocation)
    return np.array([allocation.nodes[job.id] for job in instance.jobs], dtype=np.int64) if nodes is None else nodes


@_remembered
def _rates(instance: Instance, allocation: Allocation) -> FloatArray:
    """Mini-batches a second of every job on its count of nodes, shape (J,); the same figures as ``batches_per_s``.

    The recursion of ``queueing.throughput`` for many jobs at once, node by node; those on more than ``_SOON`` go one by one.
    """
    nodes = _nodes(instance, allocation)
    if len(nodes) < _MANY:
        return np.array([batches_per_s(job, count) for job, count in zip(instance.jobs, nodes.tolist(), strict=True)])
    compute_s, moved, bandwidth, update_s, shards = map(
        instance.column, ("compute_s", "parameter_bytes", "bandwidth_bytes_per_s", "update_s", "shards")
    )
    half = instance.half_duplex
    each_s = moved / bandwidth / shards
    demands, copies = (
        (np.where(half, 2 * each_s, each_s), update_s / shards),
        (np.where(half, shards, 2 * shards), shards),
    )
    busiest_s = np.maximum(*demands)
    # jobs whose count is not reached yet, and how many wait at their links and at their servers
    rates, open_, queues = np.zeros(len(nodes)), np.flatnonzero(nodes <= _SOON), np.zeros((2, len(nodes)))
    for count in range(1, _SOON + 1):
        links_s, servers_s = (
            demand[open_] * (1.0 + queue[open_]) for demand, queue in zip(demands, queues, strict=True)
        )
        value = count / (compute_s[open_] + copies[0][open_] * links_s + copies[1][open_] * servers_s)
        queues[:, open_] = links_s * value, servers_s * value
        rates[open_] = value
        # a station that is full to the last bits: further nodes change nothing
        open_ = open_[(nodes[open_] > count) & (value * busiest_s[open_] < 1 - 2.0**-52)]
        if not len(open_):
            break
    for index in np.flatnonzero(nodes > _SOON).tolist():
        rates[index] = batches_per_s(instance.job(index), int(nodes[index]))
    return rates


def job_time_s(job: Job, nodes: int) -> float:
    """Seconds that one job takes on that many nodes."""
    return job.batches / batches_per_s(job, nodes)


def figures(instance: Instance, allocation: Allocation) -> dict[str, float]:
    """Nodes that work, and the examples a second of all jobs together."""
    examples_per_s = instance.column("batch_examples") * _rates(instance, allocation)
    return {
        "nodes": float(sum(_nodes(instance, allocation).tolist())),
        "examples_per_s": math.fsum(examples_per_s.tolist()),
    }


def check(instance: Instance, allocation: Allocation) -> list[Violation]:
    """Return every broken rule; an empty list means feasible."""
    nodes = _plain(instance, allocation)
    if nodes is not None and sum(nodes.tolist()) <= instance.nodes:
        return []
    return broken_rules(instance, allocation.nodes, "nodes")


def infeasible(instance: Instance) -> str | None:
    """Return a sentence that proves by counting that no allocation exists, or None."""
    jobs = len(instance.index)
    return None if jobs <= instance.nodes else f"{jobs} jobs need a node each, the cluster has {instance.nodes}"
