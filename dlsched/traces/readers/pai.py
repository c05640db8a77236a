"""Alibaba's PAI cluster, gpu-v2020: tables of tasks and jobs, which have no header (NSDI 2022)."""

import math
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dlsched.core.errors import InputError
from dlsched.core.messages import shown
from dlsched.traces.queue.cells import MISSING, Damaged, devices, number, share_of
from dlsched.traces.queue.job_rules import QueueCollector
from dlsched.traces.queue.queue import Audit, Queue, QueuedJob, QueueNode
from dlsched.traces.queue.timestamps import Moments
from dlsched.traces.readers.text_tables import Table, first_line, whole_rows

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
    the table of jobs.

    Parameters
    ----------
    path
        ``pai_task_table.csv``, or the folder in which it is.
    states
        Keep jobs of these only: Terminated (which is success), Failed, Running, Waiting; None: all.
    ended_only
        Leave out jobs that run or wait.
    jobs
        ``pai_job_table.csv``; None: that of the same folder. Without it jobs come when they start, and have no users.
    nodes
        ``pai_machine_spec.csv``; None: that of the same folder, where it is there.

    Raises
    ------
    InputError
        No such tables, or no job is left.
    """
    tasks = path / TASKS_FILE if path.is_dir() else path
    audit, moments = Audit(), Moments()
    found = _tasks(tasks, moments, audit)
    listed = jobs or _beside(tasks, JOBS_FILE)
    said = [*moments.sentences()]
    if listed is None:
        said.append(f"Jobs come when they start and have no users: {JOBS_FILE} is not beside the file.")
    else:
        said += _add_jobs(listed, found, moments)
    kept = QueueCollector("pai", tasks, audit, states, ended_only)
    for name, job in found.items():
        try:
            kept.add(_queued(name, job, audit), ended=job.state not in OPEN)
        except Damaged as damage:
            audit.note(damage.reason, job.line, damage.found)
    machines = nodes or _beside(tasks, MACHINES_FILE)
    return kept.queue(said, dated=moments.dated, nodes=() if machines is None else _machines(machines))


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
                raise Damaged("tasks with less than no instances or GPUs, left out", f"{instances}, {gpu}")
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
            audit.note("jobs whose start_time cannot be read, taken to come when they start", line, damage.found)
    return [f"In {path.name}: {sentence}" for sentence in audit.sentences()]


def _queued(name: str, job: _Job, audit: Audit) -> QueuedJob:
    if job.gpus > 10**6:
        raise Damaged("jobs with an impossible number of GPUs, left out", job.gpus)
    gpus = devices(job.gpus)
    start_s = None if math.isinf(job.start_s) else job.start_s
    end_s = None if math.isinf(job.end_s) else job.end_s
    job.state = job.state or job.task_state
    submit_s = start_s if job.submit_s is None else job.submit_s
    if job.state not in OPEN and end_s is not None and job.endless:
        audit.note("ended jobs with tasks that do not say when they ended, of which the others count", job.line)
    return QueuedJob(
        name,
        job.user,
        "",
        math.nan if submit_s is None else submit_s,
        start_s,
        None if job.state in OPEN else end_s,
        None,
        gpus,
        share_of(job.parts, gpus) if gpus else 1.0,
        cpus=job.cpus,
        gpu_type=next(iter(job.kinds)) if job.kinds and len(job.kinds) == 1 else "",
        state=job.state,
        line=job.line,
    )


def _machines(path: Path) -> tuple[QueueNode, ...]:
    """Machines that have GPUs."""
    nodes = []
    for line, (name, kind, cpus, _, gpus) in whole_rows(_open(path, MACHINE), MACHINE):
        try:
            count, cores = number(gpus, "cap_gpu") or 0.0, number(cpus, "cap_cpu") or 0.0
        except Damaged as damage:
            raise InputError(where=f"{path}, line {line}", found=shown(damage.found), allowed="a number") from None
        if count:
            nodes.append(QueueNode(name.strip(), int(count), kind.strip(), cores))
    return tuple(nodes)
