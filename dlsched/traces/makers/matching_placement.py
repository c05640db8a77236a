"""A queue at one moment as an instance of matching_placement: which job gets which GPUs of which types."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from dlsched.cluster.published import published_rates
from dlsched.core.arguments import require_positive
from dlsched.core.errors import UsageError
from dlsched.matching_placement.instance import Instance
from dlsched.traces.gpu_counts import MOST_GPUS, NIC_BANDWIDTH_BYTES_PER_S, unused
from dlsched.traces.queue import Queue, QueuedJob, QueueNode, counted
from dlsched.traces.selection import ImportedInstance
from dlsched.traces.snapshot import Present, admitted, at_moment, made_of

MODEL: Final = "ResNet-50"  # the published model whose samples per second compare types of GPUs
UNTYPED: Final = "GPU"  # type of GPUs for which the queue names none


def placement_of(
    queue: Queue,
    *,
    gpus: int | None = None,
    at: str | None = None,
    estimates: bool = False,
    bandwidth_bytes_per_s: float = NIC_BANDWIDTH_BYTES_PER_S,
    gradient_bytes: float = 0.0,
) -> ImportedInstance:
    """Make an instance of matching_placement, in which every GPU is a worker and all jobs present start anew.

    A job has rate 1 on the type that it holds or needs, and a batch of as many samples as it has GPUs: on
    these GPUs an iteration computes for a second, and the remaining iterations, exchange included, last as
    long as ``snapshot`` says. On other types rates are in proportion to published ones; a type missing in
    the published tables serves only jobs that name it, or that name no type. Jobs may have fewer GPUs than
    they ask for, down to their stated minimum, else 1.

    ``queue``, ``gpus``, ``at``, ``estimates``: as ``allocation_of``. Workers are the GPUs of the nodes, if the source
    lists nodes, else GPUs of one type. ``bandwidth_bytes_per_s``: bandwidth of every worker. ``gradient_bytes``: bytes
    that every job's ring exchanges in an iteration.
    """
    require_positive(bandwidth_bytes_per_s=bandwidth_bytes_per_s, gradient_bytes=gradient_bytes or 1.0)
    present, total, audit = at_moment(queue, at, gpus, estimates=estimates)
    if total > MOST_GPUS:
        raise UsageError(where="gpus", found=f"{total:,}", allowed=f"up to {MOST_GPUS:,} in matching_placement")
    nodes = _beside(_nodes(queue, [each.job for each in present.jobs], total), present.outside)
    types: Counter[str] = Counter()
    for node in nodes:
        types[node.gpu_type] += node.gpus
    usual = types.most_common(1)[0][0]
    rates = {job.gpu_type: _rates(job, types, usual) for job in (each.job for each in present.jobs)}
    able = tuple(each for each in present.jobs if rates[each.job.gpu_type])
    unknown = "Jobs that name GPU types that are neither in the cluster nor in a table of speeds, left out"
    inside, left_out = admitted(present._replace(jobs=able), total, lambda each: each.job.least_gpus or 1)
    jobs = []
    # Exchange on a ring of n workers: 2 (n - 1) / n times the gradient over each worker's bandwidth.
    for each in inside:
        own = each.job.gpus
        exchange_s = 2 * (own - 1) / own * gradient_bytes / bandwidth_bytes_per_s
        jobs.append(
            {
                "id": each.job.id,
                "iterations": each.left_s / (1 + exchange_s),
                "batch_samples": float(own),
                "gradient_bytes": gradient_bytes,
                "samples_per_s": rates[each.job.gpu_type],
                "min_workers": each.job.least_gpus or 1,
                "max_workers": own,
            }
        )
    workers = [
        {"id": f"{node.id}/{index}", "type": node.gpu_type, "bandwidth_bytes_per_s": bandwidth_bytes_per_s}
        for node in nodes
        for index in range(node.gpus)
    ]
    unnamed = sum(not each.job.gpu_type for each in inside)
    audit += [
        *counted(unknown, len(present.jobs) - len(able)),
        *left_out,
        f"Every GPU is a worker with {bandwidth_bytes_per_s:g} B/s, and every job exchanges {gradient_bytes:g} bytes in an "
        "iteration: choices of ours.",
        "All jobs start anew, those that run too, on as many GPUs as they ask for or fewer.",
        f"A job has rate 1 on its own type of GPU; on others in proportion to the published samples a second of {MODEL}, "
        f"where both are known: {', '.join(_published())}.",
        *counted("Jobs that name no type, assumed to have rate 1 on the most frequent one", unnamed),
    ]
    instance = Instance(name=f"{queue.source}-now-{len(jobs)}x{len(workers)}", workers=workers, jobs=jobs)
    return made_of(queue, instance, inside, audit)


def _nodes(queue: Queue, jobs: Sequence[QueuedJob], gpus: int) -> list[QueueNode]:
    """Return nodes with ``gpus`` GPUs in all: the source's, the last one cut, or one of the jobs' only type."""
    nodes, remaining = [], gpus
    # Nodes in the trace's order as far as the GPUs reach; the last one may be cut.
    for node in queue.nodes:
        if node.gpus and remaining:
            taken_gpus = min(remaining, node.gpus)
            nodes.append(node._replace(gpus=taken_gpus, gpu_type=node.gpu_type or UNTYPED))
            remaining -= taken_gpus
    if remaining:
        # GPUs beyond the listed nodes stand on a node of a new name; without any list they are of the only type named.
        kinds = {job.gpu_type for job in jobs if job.gpu_type and "|" not in job.gpu_type}
        kind = kinds.pop() if len(kinds) == 1 and not nodes else UNTYPED
        nodes.append(QueueNode(unused("more", {node.id for node in nodes}), remaining, kind))
    return nodes


def _beside(nodes: Sequence[QueueNode], outside: Sequence[Present]) -> list[QueueNode]:
    """Return the nodes without the GPUs of jobs left out; jobs on no known node count as on the largest."""
    gpus = {node.id: node.gpus for node in nodes}
    for each in outside:
        name = next((name for name in each.job.nodes if gpus.get(name)), max(gpus, key=gpus.__getitem__))
        gpus[name] = max(0, gpus[name] - 1)
    return [node._replace(gpus=gpus[node.id]) for node in nodes]


def _rates(job: QueuedJob, types: Counter[str], usual: str) -> dict[str, float]:
    """Return samples per second by type of the cluster, as far as known."""
    own = [kind for kind in job.gpu_type.split("|") if kind] or [usual]
    here = [kind for kind in own if kind in types]
    first = published_speed((here or own)[0])
    rates = {}
    for kind in types:
        speed = published_speed(kind)
        if kind in own:
            rates[kind] = 1.0
        elif first is not None and speed is not None:
            rates[kind] = speed / first
        elif not job.gpu_type or kind == UNTYPED:
            rates[kind] = 1.0
    return rates


def published_speed(kind: str) -> float | None:
    """The model's samples per second on the published type whose name ``kind`` contains; None if unknown."""
    for name, speed in _published().items():
        if re.search(rf"(?<![0-9a-z]){name}(?![0-9])", kind, re.IGNORECASE):
            return speed
    return None


def _published() -> dict[str, float]:
    return next(dict(rates.samples_per_s) for rates in published_rates() if rates.model == MODEL)
