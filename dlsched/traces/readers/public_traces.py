"""Public traces of clusters: Alibaba's openb (gpu-v2023) and PAI (gpu-v2020, NSDI 2022), Microsoft's Philly (ATC 2019).

openb lists pods (``openb_pod_list_*.csv``) and nodes; PAI has tables of tasks and jobs without a header; Philly's
``cluster_job_log`` is a JSON list of jobs with their attempts.
"""

import math
import sys
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dlsched.core.errors import InputError
from dlsched.core.files import Json
from dlsched.core.messages import shown
from dlsched.traces.cells import MISSING, Damaged, Moments, devices, number, share_of
from dlsched.traces.job_rules import QueueCollector
from dlsched.traces.queue import Audit, Queue, QueuedJob, QueueNode
from dlsched.traces.readers.kubernetes import list_at, read_objects, text_at
from dlsched.traces.readers.text_tables import Table, first_line, open_table, require, whole_rows

PODS: Final = (
    *("name", "cpu_milli", "num_gpu", "gpu_milli", "gpu_spec", "qos", "pod_phase"),
    *("creation_time", "deletion_time", "scheduled_time"),
)
OPENB_NODES: Final = ("sn", "cpu_milli", "gpu", "model")
NODE_LIST: Final = "openb_node_list_gpu_node.csv"


def read_openb(
    path: Path, *, states: Collection[str] | None = None, ended_only: bool = True, nodes: Path | None = None
) -> Queue:
    """Read the pods, each a job, from when it was scheduled to when it was deleted.

    A pod that was deleted at the end of the trace (its latest deletion) counts as not ended. ``gpu_milli`` is its part of
    each GPU. ``gpu_spec`` has the models of its GPUs, one of which it needs. The group is the class of service; the trace has no
    users. ``nodes``: the list of nodes; None:
    ``openb_node_list_gpu_node.csv`` of the same folder, if it exists.
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
    # Pods that were alive at the end of the trace are recorded as deleted then, whatever their phase.
    end_s = max((job.end_s for job in jobs if job.end_s is not None), default=None)
    collector = QueueCollector("openb", path, audit, states, ended_only)
    listed = nodes or _beside(path, NODE_LIST)
    found = _nodes(listed, _open_nodes, OPENB_NODES, _openb_node)
    of_type: Counter[str] = Counter()
    for node in found:
        of_type[node.gpu_type] += node.gpus
    for job in jobs:
        if found and job.gpu_type and sum(of_type[each] for each in {*job.gpu_type.split("|")}) < job.gpus:
            audit.note("pods whose gpu_spec has not so many GPUs on any nodes, left out", job.line, job.gpu_type)
            continue
        collector.add(
            job, ended=job.end_s is not None and not (job.state in ("Running", "Pending") and job.end_s == end_s)
        )
    assumptions = [
        "The trace has no users.",
        "Pods in phase Running ended when they were deleted, save those deleted at the end of the trace.",
        *moments.sentences(),
    ]
    if listed is None:
        assumptions.append(f"No list of nodes: {NODE_LIST} is not beside the file.")
    return replace(collector.queue(assumptions, dated=moments.dated, nodes=found), typed=True)


def _pod(cells: tuple[str, ...], line: int, moments: Moments) -> QueuedJob:
    name, cpu_milli, num_gpu, gpu_milli, gpu_spec, qos, phase, created, deleted, scheduled = map(str.strip, cells)
    # ``gpu_milli`` is the part of each GPU; it counts where the pod asks for GPUs at all.
    gpus, milli = number(num_gpu, "num_gpu") or 0.0, number(gpu_milli, "gpu_milli")
    if milli is not None and gpus and not 0 < milli <= 1000:
        raise Damaged("entries whose gpu_milli is not above 0 and at most 1000, left out", gpu_milli)
    if not name:
        raise Damaged("entries without a name, left out")
    whole = devices(gpus)
    return QueuedJob(
        name,
        "",
        qos,
        moments.arrival(created, "creation_time"),
        moments.read(scheduled, "scheduled_time"),
        moments.read(deleted, "deletion_time"),
        None,
        whole,
        share_of(gpus if milli is None else gpus * milli / 1000, whole),
        cpus=(number(cpu_milli, "cpu_milli") or 0.0) / 1000,
        gpu_type="" if gpu_spec.casefold() in MISSING else gpu_spec,
        state=phase,
        line=line,
    )


def _nodes(
    path: Path | None,
    opened: Callable[[Path, tuple[str, ...]], Table],
    columns: tuple[str, ...],
    node: Callable[..., QueueNode],
) -> tuple[QueueNode, ...]:
    """Read a list of nodes, if there is one, row by row; InputError: a cell is no number."""
    nodes = []
    for line, cells in () if path is None else whole_rows(opened(path, columns), columns):
        try:
            nodes.append(node(*map(str.strip, cells)))
        except Damaged as damage:
            raise InputError(where=f"{path}, line {line}", found=shown(damage.found), allowed="a number") from None
    return tuple(nodes)


def _open_nodes(path: Path, columns: tuple[str, ...]) -> Table:
    table = open_table(path, columns)
    require(table, ("sn",), ("gpu",))
    return table


def _openb_node(name: str, cpu_milli: str, gpu: str, model: str) -> QueueNode:
    gpus, cpus = devices(number(gpu, "gpu") or 0.0), (number(cpu_milli, "cpu_milli") or 0.0) / 1000
    return QueueNode(name, gpus, "" if model.casefold() in MISSING else model, cpus)


TASK: Final = (
    *("job_name", "task_name", "inst_num", "status", "start_time", "end_time"),
    *("plan_cpu", "plan_mem", "plan_gpu", "gpu_type"),
)
JOB: Final = ("job_name", "inst_id", "user", "status", "start_time", "end_time")
MACHINE: Final = ("machine", "gpu_type", "cap_cpu", "cap_mem", "cap_gpu")
TASKS_FILE, JOBS_FILE, MACHINES_FILE = "pai_task_table.csv", "pai_job_table.csv", "pai_machine_spec.csv"
OPEN: Final = frozenset({"Running", "Waiting", "Ready"})


@dataclass(slots=True)
class _Job:
    """Totals over the tasks of a job: their first start, their last end, how many lack an end."""

    line: int
    gpus: float = 0.0
    parts: float = 0.0
    cpus: float = 0.0
    start_s: float = math.inf
    end_s: float = -math.inf
    endless: int = 0
    kinds: set[str] | None = None
    task_state: str = ""
    user: str = ""
    submit_s: float | None = None
    state: str = ""


def read_pai(
    path: Path,
    *,
    states: Collection[str] | None = None,
    ended_only: bool = True,
    jobs: Path | None = None,
    nodes: Path | None = None,
) -> Queue:
    """Read the jobs, each from the start of its first task to the end of its last, on the GPUs of all its instances.

    ``plan_gpu`` is in percent of an instance; what is no whole GPU of one is a slice. A job comes at the ``start_time`` of
    the table of jobs. ``path``: ``pai_task_table.csv``, or the folder in which it is. ``jobs``: ``pai_job_table.csv``;
    None: that of the same folder. Without it jobs come when they start, and have no users. ``nodes``:
    ``pai_machine_spec.csv``; None: that of the same folder, where it is there.
    """
    tasks = path / TASKS_FILE if path.is_dir() else path
    audit, moments = Audit(), Moments()
    found = _tasks(tasks, moments, audit)
    listed = jobs or _beside(tasks, JOBS_FILE)
    assumptions = [*moments.sentences()]
    if listed is None:
        assumptions.append(f"Jobs come when they start and have no users: {JOBS_FILE} is not beside the file.")
    else:
        assumptions += _add_jobs(listed, found, moments)
    collector = QueueCollector("pai", tasks, audit, states, ended_only)
    # A job is the sum of its tasks; one that is damaged is left out as a whole.
    for name, job in found.items():
        try:
            collector.add(_queued(name, job, audit), ended=job.state not in OPEN)
        except Damaged as damage:
            audit.note(damage.reason, job.line, damage.found)
    machines = _nodes(nodes or _beside(tasks, MACHINES_FILE), _open, MACHINE, _machine)
    # Machines without GPUs run no jobs of these.
    with_gpus = tuple(each for each in machines if each.gpus)
    return collector.queue(assumptions, dated=moments.dated, nodes=with_gpus)


def _beside(path: Path, name: str) -> Path | None:
    beside = path.with_name(name)
    return beside if beside.is_file() and beside != path else None


def _open(path: Path, columns: tuple[str, ...]) -> Table:
    """Open a table, which normally has no header but may have one."""
    width = first_line(path).count(",") + 1
    if width != len(columns):
        raise InputError(
            where=f"{path}, line 1",
            found=f"{width} cells parted by commas",
            allowed=f"{len(columns)}: {', '.join(columns)}",
        )
    return Table(path, columns, ",")


def _tasks(path: Path, moments: Moments, audit: Audit) -> dict[str, _Job]:
    found: dict[str, _Job] = {}
    # Totals of a job over its rows; a row is a task with so many instances.
    for line, cells in _open(path, TASK).rows(TASK, audit):
        name, _, instances, status, start, end, cpu, _, gpu, kind = map(str.strip, cells)
        try:
            if not name:
                raise Damaged("entries without a job_name, left out")
            count, percent = number(instances, "inst_num"), number(gpu, "plan_gpu") or 0.0
            count = 1.0 if count is None else count
            begun, over = moments.read(start, "start_time"), moments.read(end, "end_time")
            cores, gpus = (number(cpu, "plan_cpu") or 0.0) / 100, devices(max(0.0, percent) / 100)
            if count < 0 or percent < 0:
                raise Damaged("tasks with a negative number of instances or GPUs, left out", f"{instances}, {gpu}")
        except Damaged as damage:
            audit.note(damage.reason, line, damage.found)
            continue
        job = found.setdefault(name, _Job(line))
        job.gpus += count * gpus
        job.parts += count * percent / 100
        job.cpus += count * cores
        job.start_s = job.start_s if begun is None else min(job.start_s, begun)
        job.end_s = job.end_s if over is None else max(job.end_s, over)
        job.endless += over is None
        if job.task_state not in OPEN:  # a job runs as long as one of its tasks
            job.task_state = sys.intern(status)
        if percent and kind.casefold() not in MISSING:
            job.kinds = {*(job.kinds or ()), sys.intern(kind)}
    return found


def _add_jobs(path: Path, found: dict[str, _Job], moments: Moments) -> list[str]:
    """Take users, states and arrivals from the table of jobs; return sentences on its damaged rows."""
    audit = Audit()
    for line, (name, _, user, status, start, _) in _open(path, JOB).rows(JOB, audit):
        job = found.get(name.strip())
        if job is None:
            continue
        job.user, job.state = sys.intern(user.strip()), sys.intern(status.strip())
        try:
            job.submit_s = moments.read(start, "start_time")
        except Damaged as damage:
            audit.note(
                "jobs whose start_time cannot be read, assumed to be submitted at their start", line, damage.found
            )
    return [f"In {path.name}: {sentence}" for sentence in audit.sentences()]


def _queued(name: str, job: _Job, audit: Audit) -> QueuedJob:
    if job.gpus > 10**6:
        raise Damaged("jobs with an impossible number of GPUs, left out", job.gpus)
    gpus = devices(job.gpus)
    # Infinite where no task states a time: the least and the largest of nothing.
    start_s = None if math.isinf(job.start_s) else job.start_s
    end_s = None if math.isinf(job.end_s) else job.end_s
    job.state = job.state or job.task_state
    submit_s = start_s if job.submit_s is None else job.submit_s
    if job.state not in OPEN and end_s is not None and job.endless:
        audit.note("ended jobs with tasks without an end, counted by their other tasks", job.line)
    return QueuedJob(
        name,
        job.user,
        "",
        math.nan if submit_s is None else submit_s,
        start_s,
        None if job.state in OPEN else end_s,
        None,
        gpus,
        share_of(job.parts, gpus),
        cpus=job.cpus,
        gpu_type=next(iter(job.kinds)) if job.kinds and len(job.kinds) == 1 else "",
        state=job.state,
        line=job.line,
    )


def _machine(name: str, kind: str, cpus: str, _: str, gpus: str) -> QueueNode:
    return QueueNode(name, int(number(gpus, "cap_gpu") or 0.0), kind, number(cpus, "cap_cpu") or 0.0)


PHILLY_MACHINES: Final = "cluster_machine_list"
PHILLY_MACHINE: Final = ("machineId", "number of GPUs", "single GPU mem")


def read_philly_raw(
    path: Path, *, states: Collection[str] | None = None, ended_only: bool = True, nodes: Path | None = None
) -> Queue:
    """Read the jobs, each by its last attempt; the group is the virtual cluster.

    ``nodes``: ``cluster_machine_list``; None: that of the same folder, where it is there.
    """
    found = read_objects(path)
    if not isinstance(found, list):
        raise InputError(where=str(path), found=shown(found), allowed="a list of jobs")
    audit, moments = Audit("object"), Moments()
    collector = QueueCollector("philly-raw", path, audit, states, ended_only)
    for place, item in enumerate(found, 1):
        try:
            job, ended = _job(item, place, moments, audit)
            collector.add(job, ended=ended)
        except Damaged as damage:
            audit.note(damage.reason, place, damage.found)
    listed = _nodes(nodes or _beside(path, PHILLY_MACHINES), open_table, PHILLY_MACHINE, _philly_machine)
    return collector.queue(moments.sentences(), dated=True, nodes=listed)


def _job(item: Json, place: int, moments: Moments, audit: Audit) -> tuple[QueuedJob, bool]:
    attempts = list_at(item, "attempts")
    if not isinstance(item, dict) or not text_at(item, "jobid"):
        raise Damaged("objects that are not jobs, left out", item)
    if not attempts:
        raise Damaged("jobs that never got a GPU, left out")
    if len(attempts) > 1:
        audit.note("jobs with several attempts, counted by the last", place)
    # Earlier attempts failed: only the last one's servers and times count.
    last = attempts[-1]
    gpus_by_node = [(text_at(each, "ip"), len(list_at(each, "gpus"))) for each in list_at(last, "detail")]
    submit_s = moments.arrival(text_at(item, "submitted_time"), "submitted_time")
    end_s = moments.read(text_at(last, "end_time"), "end_time")
    job = QueuedJob(
        text_at(item, "jobid"),
        text_at(item, "user"),
        text_at(item, "vc"),
        submit_s,
        moments.read(text_at(last, "start_time"), "start_time"),
        end_s,
        None,
        sum(count for _, count in gpus_by_node),
        nodes=tuple(name for name, count in gpus_by_node if count and name.casefold() not in MISSING),
        state=text_at(item, "status"),
        line=place,
    )
    if job.start_s is None and end_s is not None and job.gpus:
        raise Damaged("jobs whose last attempt has no start, left out")
    return job, end_s is not None


def _philly_machine(name: str, gpus: str, memory: str) -> QueueNode:
    return QueueNode(name, int(number(gpus, "number of GPUs") or 0.0), memory)
