"""Microsoft's Philly trace as it was published: ``cluster_job_log``, a list of jobs with their attempts (ATC 2019)."""

import math
from collections.abc import Collection
from pathlib import Path
from typing import Final

from dlsched.core.errors import InputError
from dlsched.core.files import Json
from dlsched.core.messages import shown
from dlsched.traces.queue.cells import MISSING, Damaged, number
from dlsched.traces.queue.job_rules import QueueCollector
from dlsched.traces.queue.queue import Audit, Queue, QueuedJob, QueueNode
from dlsched.traces.queue.timestamps import Moments
from dlsched.traces.readers.kubernetes_objects import list_at, read_objects, text_at
from dlsched.traces.readers.text_tables import open_table, whole_rows

MACHINES: Final = "cluster_machine_list"
MACHINE: Final = ("machineId", "number of GPUs", "single GPU mem")


def read_philly_raw(
    path: Path, *, states: Collection[str] | None = None, ended_only: bool = True, nodes: Path | None = None
) -> Queue:
    """Read the jobs, each by its last attempt; the group is the virtual cluster.

    Parameters
    ----------
    path
        ``cluster_job_log``.
    states
        Keep jobs of these only: Pass, Killed, Failed; None: all.
    ended_only
        Leave out jobs that ran or waited when the trace was taken.
    nodes
        ``cluster_machine_list``; None: that of the same folder, where it is there.

    Raises
    ------
    InputError
        No list of jobs, or no job is left.
    """
    found = read_objects(path)
    if not isinstance(found, list):
        raise InputError(where=str(path), found=shown(found), allowed="a list of jobs")
    audit, moments = Audit("object"), Moments()
    kept = QueueCollector("philly-raw", path, audit, states, ended_only)
    for place, item in enumerate(found, 1):
        try:
            job, ended = _job(item, place, moments, audit)
            kept.add(job, ended=ended)
        except Damaged as damage:
            audit.note(damage.reason, place, damage.found)
    beside = path.with_name(MACHINES)
    listed = nodes or (beside if beside.is_file() else None)
    return kept.queue(moments.sentences(), dated=True, nodes=() if listed is None else _machines(listed))


def _job(item: Json, place: int, moments: Moments, audit: Audit) -> tuple[QueuedJob, bool]:
    attempts = list_at(item, "attempts")
    if not isinstance(item, dict) or not text_at(item, "jobid"):
        raise Damaged("objects that are no job, left out", item)
    if not attempts:
        raise Damaged("jobs that were never given a GPU, left out")
    if len(attempts) > 1:
        audit.note("jobs with several attempts, of which the last counts", place)
    last = attempts[-1]
    held = [(text_at(each, "ip"), len(list_at(each, "gpus"))) for each in list_at(last, "detail")]
    submit_s = moments.read(text_at(item, "submitted_time"), "submitted_time")
    end_s = moments.read(text_at(last, "end_time"), "end_time")
    job = QueuedJob(
        text_at(item, "jobid"),
        text_at(item, "user"),
        text_at(item, "vc"),
        math.nan if submit_s is None else submit_s,
        moments.read(text_at(last, "start_time"), "start_time"),
        end_s,
        None,
        sum(count for _, count in held),
        nodes=tuple(name for name, count in held if count and name.casefold() not in MISSING),
        state=text_at(item, "status"),
        line=place,
    )
    if job.start_s is None and end_s is not None and job.gpus:
        raise Damaged("jobs whose last attempt does not say when it started, left out")
    return job, end_s is not None


def _machines(path: Path) -> tuple[QueueNode, ...]:
    table = open_table(path, MACHINE)
    nodes = []
    for line, (name, gpus, memory) in whole_rows(table, MACHINE):
        try:
            count = number(gpus, "number of GPUs") or 0.0
        except Damaged:
            raise InputError(where=f"{path}, line {line}", found=shown(gpus), allowed="a number of GPUs") from None
        nodes.append(QueueNode(name.strip(), int(count), memory.strip()))
    return tuple(nodes)
