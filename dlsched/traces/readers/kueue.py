"""Kueue: what ``kubectl get workloads -A -o json`` prints, of API versions v1beta1 and v1beta2."""

import math
from collections.abc import Collection
from pathlib import Path
from typing import Final

from dlsched.core.files import Json
from dlsched.traces.queue.cells import Damaged, devices, share_of
from dlsched.traces.queue.queue import Audit, Queue, QueuedJob
from dlsched.traces.queue.timestamps import Moments
from dlsched.traces.readers.kubernetes_lists import Listing, read_listed
from dlsched.traces.readers.kubernetes_objects import (
    GPU,
    amount_of,
    at,
    count_at,
    gpu_names,
    gpu_names_of,
    gpus_of,
    id_of,
    list_at,
    note_others,
    pod_request,
    text_at,
)

PAST: Final = ("accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds")
"""Fields with the seconds of earlier admissions; v1beta1 misspells its name."""


def read_kueue(
    path: Path, *, states: Collection[str] | None = None, ended_only: bool = True, gpu_resource: str = GPU
) -> Queue:
    """Read the workloads of a cluster.

    A workload comes when it was created, starts when it was last admitted, and ends when it is finished. Its user is the
    namespace, its group the local queue. Its state is the reason of the condition Finished, else Admitted, QuotaReserved,
    Evicted or Pending. ``minCount`` gives the fewest GPUs.

    Parameters
    ----------
    path
        The file.
    states
        Keep workloads in these states only; None: all.
    ended_only
        Leave out workloads that run or wait.
    gpu_resource
        Name of the resource that is a GPU, or a pattern such as ``*/gpu``. MIG profiles of its vendor are read beside it.

    Raises
    ------
    InputError
        No list of workloads, or no job is left.
    """
    said = "The users are the namespaces, as workloads have none; GPUs are held from admission to the end."
    return read_listed(
        *("kueue", path, "Workload", "kueue.x-k8s.io", _job, said),
        states=states,
        ended_only=ended_only,
        gpu_resource=gpu_resource,
    )


def _job(item: Json, place: int, listing: Listing) -> tuple[QueuedJob, bool]:
    resource, moments, audit = listing
    sets = list_at(item, "spec", "podSets")
    assigned = {
        text_at(each, "name") or "main": each for each in list_at(item, "status", "admission", "podSetAssignments")
    }
    held, parts, least, cpus, kinds = 0, 0.0, 0.0, 0.0, set()
    for each in sets:
        template = at(each, "template")
        given = assigned.get(text_at(each, "name") or "main")
        asked = count_at(each, "count")
        count = count_at(given, "count")
        count = (1 if asked is None else asked) if count is None else count
        usage = at(given, "resourceUsage")
        used = {name: amount_of(usage, name) for name in gpu_names(usage, resource)}
        if not sum(used.values()):
            used = {name: count * pod_request(template, name) for name in gpu_names_of(template, resource)}
        amount = gpus_of(used, count)
        fewest = count_at(each, "minCount")
        held, parts = held + amount.gpus, parts + amount.parts
        least += amount.gpus if fewest is None or not count else amount.gpus / count * min(fewest, count)
        cpus += amount_of(usage, "cpu") or count * pod_request(template, "cpu")
        flavors = at(given, "flavors")
        if amount.gpus and isinstance(flavors, dict):
            kinds |= {text_at(flavors, name) for name in gpu_names(flavors, resource)}
    note_others((at(each, "template") for each in sets), resource, audit, place)
    gpus = devices(held)
    fewest_gpus = math.ceil(least)
    state, start_s, end_s = _ran(item, moments, place, audit)
    created_s = moments.read(text_at(item, "metadata", "creationTimestamp"), "creationTimestamp")
    limit = count_at(item, "spec", "maximumExecutionTimeSeconds")
    job = QueuedJob(
        id_of(item),
        text_at(item, "metadata", "namespace"),
        text_at(item, "spec", "queueName"),
        math.nan if created_s is None else created_s,
        start_s,
        end_s,
        None,
        gpus,
        share_of(parts, gpus) if gpus else 1.0,
        least_gpus=max(fewest_gpus, 1) if fewest_gpus < gpus else None,
        cpus=cpus,
        gpu_type="|".join(sorted(kinds)) if len(kinds) == 1 else "",
        state=state,
        limit_s=None if limit is None else float(limit),
        line=place,
        priority=_priority(item),
        partition=text_at(item, "spec", "queueName"),
    )
    return job, end_s is not None


def _priority(item: Json) -> float | None:
    found = at(item, "spec", "priority")
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int):
        raise Damaged("objects whose spec.priority is no integer, left out", found)
    return float(found)


def _ran(item: Json, moments: Moments, place: int, audit: Audit) -> tuple[str, float | None, float | None]:
    """Return state, start and end from the conditions.

    Newer versions clear the admission of a finished workload (kueue #8188); the time at which its pods were
    ready remains.
    """
    conditions = {text_at(each, "type"): each for each in list_at(item, "status", "conditions")}

    def since(kind: str) -> float | None:
        condition = conditions.get(kind)
        if text_at(condition, "status") != "True":
            return None
        return moments.read(text_at(condition, "lastTransitionTime"), "lastTransitionTime")

    admitted_s, end_s = since("Admitted"), since("Finished")
    if any((count_at(item, "status", name) or 0) > 0 for name in PAST):
        audit.note("workloads that were evicted and admitted again, of which the last time counts", place)
    if end_s is None:
        words = [word for word in ("Admitted", "QuotaReserved", "Evicted") if since(word) is not None]
        return (words or ["Pending"])[0], admitted_s, None
    start_s = admitted_s
    if start_s is None:
        start_s = since("PodsReady")
        if start_s is not None:
            audit.note(
                "finished workloads whose admission was cleared, taken to start when their pods were ready", place
            )
        elif "Admitted" in conditions:
            raise Damaged("finished workloads that no longer say when they were admitted, left out")
    return text_at(conditions["Finished"], "reason") or "Finished", start_s, end_s
