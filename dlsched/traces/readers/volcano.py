"""Volcano: what ``kubectl get vcjob -A -o json`` prints (batch.volcano.sh/v1alpha1)."""

import math
import re
from collections.abc import Collection
from pathlib import Path
from typing import Final, NamedTuple

from dlsched.core.files import Json
from dlsched.traces.queue.cells import Damaged, devices, share_of
from dlsched.traces.queue.queue import Audit, Queue, QueuedJob
from dlsched.traces.queue.timestamps import Moments
from dlsched.traces.readers.kubernetes_lists import Listing, read_listed
from dlsched.traces.readers.kubernetes_objects import (
    GPU,
    at,
    count_at,
    gpu_names_of,
    gpus_of,
    id_of,
    list_at,
    note_others,
    pod_request,
    text_at,
)

ENDED: Final = frozenset({"Completed", "Failed", "Aborted", "Terminated"})


class _Task(NamedTuple):
    """Pods of a task, the fewest that it runs with, and the request of one pod; ``parts``: parts of GPUs."""

    pods: int
    fewest: int
    gpus: int
    parts: float
    cpus: float


def read_volcano(
    path: Path, *, states: Collection[str] | None = None, ended_only: bool = True, gpu_resource: str = GPU
) -> Queue:
    """Read the jobs of a cluster.

    A job comes when it was created, starts with its last condition Running, and ends with the transition to its last
    phase. Its user is the namespace, its group the queue, its state the phase. ``minAvailable`` gives the fewest GPUs.
    ``runningDuration`` is not used: Volcano counts it from the creation of the job, so that it includes
    waiting.

    Parameters
    ----------
    path
        The file.
    states
        Keep jobs in these phases only; None: all.
    ended_only
        Leave out jobs that run or wait.
    gpu_resource
        Name of the resource that is a GPU, or a pattern such as ``*/gpu``. MIG profiles of its vendor are read beside it.

    Raises
    ------
    InputError
        No list of jobs, or no job is left.
    """
    said = "The users are the namespaces, as jobs have none."
    return read_listed(
        *("volcano", path, "Job", "batch.volcano.sh", _job, said),
        states=states,
        ended_only=ended_only,
        gpu_resource=gpu_resource,
    )


def _job(item: Json, place: int, listing: Listing) -> tuple[QueuedJob, bool]:
    resource, moments, audit = listing
    templates = [at(each, "template") for each in list_at(item, "spec", "tasks")]
    note_others(iter(templates), resource, audit, place)
    tasks = [_task(each, resource) for each in list_at(item, "spec", "tasks")]
    gpus = devices(sum(task.pods * task.gpus for task in tasks))
    least = _least(tasks, count_at(item, "spec", "minAvailable") or 0)
    state = text_at(item, "status", "state", "phase") or "Pending"
    created_s = moments.read(text_at(item, "metadata", "creationTimestamp"), "creationTimestamp")
    start_s, end_s = _ran(item, state, created_s, moments, place, audit)
    estimate = text_at(item, "spec", "runningEstimate")
    job = QueuedJob(
        id_of(item),
        text_at(item, "metadata", "namespace"),
        text_at(item, "spec", "queue") or "default",
        math.nan if created_s is None else created_s,
        start_s,
        end_s,
        None,
        gpus,
        share_of(sum(task.pods * task.parts for task in tasks), gpus) if gpus else 1.0,
        least_gpus=max(least, 1) if least < gpus else None,
        cpus=sum(task.pods * task.cpus for task in tasks),
        state=state,
        limit_s=go_duration(estimate) if estimate else None,
        line=place,
        partition=text_at(item, "spec", "queue") or "default",
    )
    return job, state in ENDED


def _task(task: Json, resource: str) -> _Task:
    pods, fewest = count_at(task, "replicas"), count_at(task, "minAvailable")
    pods = 1 if pods is None else pods
    template = at(task, "template")
    fewest = pods if fewest is None else min(fewest, pods)
    asked = {name: pod_request(template, name) for name in gpu_names_of(template, resource)}
    return _Task(pods, fewest, *gpus_of(asked, 1), pod_request(template, "cpu"))


def _least(tasks: list[_Task], available: int) -> int:
    """GPUs of the fewest pods with which the gang starts, those with the fewest GPUs first.

    The tasks' minima count only if their sum is at most the job's minimum, as in Volcano's own check.
    """
    pods = sum(task.pods for task in tasks)
    available = min(available or pods, pods)
    fewest = [task.fewest for task in tasks]
    if sum(fewest) > available:
        fewest = [0] * len(tasks)
    spare, gpus = available - sum(fewest), sum(task.gpus * least for task, least in zip(tasks, fewest, strict=True))
    for task, least in sorted(zip(tasks, fewest, strict=True), key=lambda pair: pair[0].gpus):
        more = min(spare, task.pods - least)
        spare, gpus = spare - more, gpus + more * task.gpus
    return gpus


def _ran(
    item: Json, state: str, created_s: float | None, moments: Moments, place: int, audit: Audit
) -> tuple[float | None, float | None]:
    """Return start and end; old versions have no conditions, and record only how long ago the job was created."""
    last_s = moments.read(text_at(item, "status", "state", "lastTransitionTime"), "lastTransitionTime")
    conditions = list_at(item, "status", "conditions")
    runs = [text_at(each, "lastTransitionTime") for each in conditions if text_at(each, "status") == "Running"]
    if len(runs) > 1:
        audit.note("jobs that were restarted, of which the last time counts", place)
    starts = [each for each in (moments.read(text, "lastTransitionTime") for text in runs) if each is not None]
    start_s = max(starts, default=None)
    lasted = text_at(item, "status", "runningDuration")
    if state in ENDED and last_s is None and lasted and created_s is not None:
        last_s = created_s + go_duration(lasted)
    if state in ENDED and not conditions and last_s is not None:
        audit.note("jobs that do not say when they started, taken to start when they came", place)
        start_s = created_s
    if state in ("Running", "Completing") and start_s is None and not conditions:
        start_s = last_s
    return start_s, last_s if state in ENDED else None


_GO = re.compile(r"([0-9]{1,12}(?:\.[0-9]*)?)(h|ms|m|us|µs|ns|s)")
_GO_S: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def go_duration(text: str) -> float:
    """Read a duration as Go writes it, in seconds.

    >>> go_duration("1h2m3.5s")
    3723.5

    Raises
    ------
    Damaged
        Anything else.
    """
    parts = _GO.findall(text)
    if "".join(map("".join, parts)) != text or not parts:
        raise Damaged("objects whose duration cannot be read, left out", text)
    return sum(float(figure) * _GO_S[unit] for figure, unit in parts)
