"""The pods of a production cluster of Alibaba, gpu-v2023: ``openb_pod_list_*.csv``, and its nodes."""

import math
from collections.abc import Collection
from pathlib import Path
from typing import Final

from dlsched.core.errors import InputError
from dlsched.core.messages import shown
from dlsched.traces.queue.cells import MISSING, Damaged, devices, number, share_of
from dlsched.traces.queue.job_rules import QueueCollector
from dlsched.traces.queue.queue import Audit, Queue, QueuedJob, QueueNode
from dlsched.traces.queue.timestamps import Moments
from dlsched.traces.readers.text_tables import open_table, require, whole_rows

PODS: Final = (
    *("name", "cpu_milli", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase"),
    *("creation_time", "deletion_time", "scheduled_time"),
)
NODES: Final = ("sn", "cpu_milli", "gpu", "model")
NODE_LIST: Final = "openb_node_list_gpu_node.csv"


def read_openb(
    path: Path, *, states: Collection[str] | None = None, ended_only: bool = True, nodes: Path | None = None
) -> Queue:
    """Read the pods, each a job, from when it was scheduled to when it was deleted.

    A pod that was deleted at the end of the trace (its latest deletion) counts as not ended. ``gpu_milli``
    is its part of each GPU. The group is the class of service; the trace has no users.

    Parameters
    ----------
    path
        The list of pods.
    states
        Keep pods in these phases only: Succeeded, Failed, Running, Pending; None: all.
    ended_only
        Leave out pods that had not ended with the trace.
    nodes
        The list of nodes; None: ``openb_node_list_gpu_node.csv`` of the same folder, if it exists.

    Raises
    ------
    InputError
        No list of pods or nodes, or no job is left.
    """
    table = open_table(path, PODS)
    require(table, *((name,) for name in PODS if name not in ("cpu_milli", "gpu_spec", "qos")))
    audit, moments = Audit(), Moments()
    jobs = []
    for line, cells in table.rows(PODS, audit):
        try:
            jobs.append(_pod(cells, line, moments))
        except Damaged as damage:
            audit.note(damage.reason, line, damage.found)
    end_s = max((job.end_s for job in jobs if job.end_s is not None), default=None)
    kept = QueueCollector("openb", path, audit, states, ended_only)
    for job in jobs:
        kept.add(job, ended=job.end_s is not None and not (job.state in ("Running", "Pending") and job.end_s == end_s))
    beside = path.with_name(NODE_LIST)
    listed = nodes or (beside if beside.is_file() else None)
    said = [
        "The trace has no users.",
        "Pods in phase Running ended when they were deleted, save those deleted at the end of the trace.",
        *moments.sentences(),
    ]
    if listed is None:
        said.append(f"No list of nodes: {NODE_LIST} is not beside the file.")
    return kept.queue(said, dated=moments.dated, nodes=() if listed is None else _nodes(listed))


def _pod(cells: tuple[str, ...], line: int, moments: Moments) -> QueuedJob:
    name, cpu_milli, num_gpu, gpu_milli, gpu_spec, qos, phase, created, deleted, scheduled = map(str.strip, cells)
    gpus, milli = number(num_gpu, "num_gpu") or 0.0, number(gpu_milli, "gpu_milli")
    if milli is not None and gpus and not 0 < milli <= 1000:
        raise Damaged("entries whose gpu_milli is not above 0 and at most 1000, left out", gpu_milli)
    if not name:
        raise Damaged("entries without a name, left out")
    whole = devices(gpus)
    created_s = moments.read(created, "creation_time")
    return QueuedJob(
        name,
        "",
        qos,
        math.nan if created_s is None else created_s,
        moments.read(scheduled, "scheduled_time"),
        moments.read(deleted, "deletion_time"),
        None,
        whole,
        share_of(gpus if milli is None else gpus * milli / 1000, whole) if whole else 1.0,
        cpus=(number(cpu_milli, "cpu_milli") or 0.0) / 1000,
        gpu_type="" if gpu_spec.casefold() in MISSING else gpu_spec,
        state=phase,
        line=line,
    )


def _nodes(path: Path) -> tuple[QueueNode, ...]:
    table = open_table(path, NODES)
    require(table, ("sn",), ("gpu",))
    nodes = []
    for line, (name, cpu_milli, gpu, model) in whole_rows(table, NODES):
        try:
            gpus, cpus = devices(number(gpu, "gpu") or 0.0), number(cpu_milli, "cpu_milli")
        except Damaged as damage:
            raise InputError(where=f"{path}, line {line}", found=shown(damage.found), allowed="a number") from None
        kind = model.strip()
        nodes.append(QueueNode(name.strip(), gpus, "" if kind.casefold() in MISSING else kind, (cpus or 0.0) / 1000))
    return tuple(nodes)
