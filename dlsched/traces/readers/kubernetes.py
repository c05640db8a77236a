"""Jobs of Kubernetes, of lists of objects that kubectl get -o json prints: workloads of Kueue and jobs of Volcano.

Kueue's API versions are v1beta1 and v1beta2 of kueue.x-k8s.io, Volcano's is batch.volcano.sh/v1alpha1.
"""

import fnmatch
import functools
import json
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple

from dlsched.core.errors import InputError
from dlsched.core.files import Json
from dlsched.core.messages import shown
from dlsched.traces.cells import Damaged, Moments, devices, go_duration, share_of
from dlsched.traces.gpu_counts import part_of, profile_in
from dlsched.traces.job_rules import QueueCollector
from dlsched.traces.queue import Audit, Queue, QueuedJob
from dlsched.traces.readers.text_tables import open_text

GPU: Final = "nvidia.com/gpu"
QUEUES: Final = ("ClusterQueue", "LocalQueue", "Cohort")


def read_objects(path: Path) -> Json:
    """Parse a JSON file; InputError: it is empty, not JSON, cut off, or nested too deeply."""
    try:
        with open_text(path) as file:
            text = file.read()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: found bytes that are no text ({error.reason} at byte {error.start:,})") from None
    if not text.strip():
        raise InputError(where=str(path), found="an empty file", allowed="JSON")
    try:
        found: Json = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{path}, {where}: found JSON that breaks off or is wrong ({error.msg})") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: found JSON that cannot be read ({error})") from None
    return found


def items(
    path: Path, kind: str, group: str, audit: Audit, beside: list[Json] | None = None
) -> Iterator[tuple[int, Json]]:
    """Yield place and object for each object of a kind, in a list or alone; notes others. InputError: no list of objects."""
    found = read_objects(path)
    listed = at(found, "items")
    if listed is None and at(found, "kind") == kind:
        listed = [found]
    if not isinstance(listed, list):
        raise InputError(
            where=f"{path}: items", found=shown(listed), allowed="a list, as kubectl get -o json prints it"
        )
    for place, item in enumerate(listed, 1):
        version = at(item, "apiVersion")
        if beside is not None and at(item, "kind") in QUEUES and str(version).partition("/")[0] == group:
            beside.append(item)
            continue
        if at(item, "kind") != kind or not isinstance(version, str) or version.partition("/")[0] != group:
            audit.note(f"objects that are no {kind} of {group}, left out", place, at(item, "kind"))
            continue
        yield place, item


def at(value: Json, *path: str) -> Json:
    """Return the value at a path; None if there is none, or a step of the path is no object."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def text_at(value: Json, *path: str) -> str:
    """The text at a path, with lone surrogates as ``?``; empty if there is none. Damaged: something else stands there."""
    found = at(value, *path)
    if isinstance(found, str):
        return found if found.isascii() else found.encode("utf-8", "replace").decode("utf-8")
    if found is None:
        return ""
    raise Damaged(f"objects whose {'.'.join(path)} is not text, left out", found)


def list_at(value: Json, *path: str) -> list[Json]:
    """Return the list at a path; empty if there is none; errors as ``text_at``."""
    found = at(value, *path)
    if found is None or isinstance(found, list):
        return found or []
    raise Damaged(f"objects whose {'.'.join(path)} is not a list, left out", found)


def count_at(value: Json, *path: str) -> int | None:
    """Return the integer >= 0 at a path; None if there is none; errors as ``text_at``."""
    found = at(value, *path)
    if found is None:
        return None
    if isinstance(found, int) and not isinstance(found, bool) and 0 <= found <= 10**9:
        return found
    raise Damaged(f"objects whose {'.'.join(path)} is not a count, left out", found)


def id_of(item: Json) -> str:
    """``namespace/name``; errors as ``text_at``."""
    name = text_at(item, "metadata", "name")
    if not name:
        raise Damaged("objects without a name, left out")
    return f"{text_at(item, 'metadata', 'namespace') or 'default'}/{name}"


_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]{1,18}\.?[0-9]{0,18}|\.[0-9]{1,18}))(?:[eE]([+-]?[0-9]{1,2})|([numkMGTPE]|[KMGTPE]i))?"
)
_SUFFIX: Final = {
    **{suffix: 1e-9 * 1000.0**power for power, suffix in enumerate(("n", "u", "m"))},
    **{suffix: 1000.0**power for power, suffix in enumerate(("", "k", "M", "G", "T", "P", "E"))},
    **{suffix: 1024.0**power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)},
}


def quantity(value: Json) -> float:
    """Read a quantity of Kubernetes, as ``500m`` or ``2Ki``; Damaged: anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e18:
        return float(value)
    found = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise Damaged("objects with a quantity that cannot be read, left out", value)
    return float(f"{found[1]}e{found[2] or 0}") * _SUFFIX[found[3] or ""]


def pod_request(template: Json, resource: str) -> float:
    """Return a pod's request of a resource, whose name may be a pattern such as ``*/gpu``.

    The request is the sum over the containers, or that of the largest init container if it is larger; init
    containers that keep running count as containers.
    """
    running = sum(_asks(each, resource) for each in list_at(template, "spec", "containers"))
    before = list_at(template, "spec", "initContainers")
    stay = sum(_asks(each, resource) for each in before if at(each, "restartPolicy") == "Always")
    first = max((_asks(each, resource) for each in before if at(each, "restartPolicy") != "Always"), default=0.0)
    return stay + max(running, first)


def _asks(container: Json, resource: str) -> float:
    """The amount of a resource; a container without requests asks for its limits."""
    limits, requests = at(container, "resources", "limits"), at(container, "resources", "requests")
    return amount_of(
        {**(limits if isinstance(limits, dict) else {}), **(requests if isinstance(requests, dict) else {})}, resource
    )


def amount_of(resources: Json, resource: str) -> float:
    """The amount of a resource, or of all whose names fit the pattern; Damaged: it is no quantity, or below 0."""
    if not isinstance(resources, dict):
        return 0.0
    amounts = [quantity(value) for name, value in resources.items() if fits(name, resource)]
    if any(amount < 0 for amount in amounts):
        raise Damaged("objects with a quantity below 0, left out", min(amounts))
    return sum(amounts)


def fits(name: str, resource: str) -> bool:
    """Whether a name equals the resource, or fits it as a pattern."""
    return name == resource or _pattern(resource)(name) is not None


@functools.cache
def _pattern(resource: str) -> Callable[[str], object]:
    return re.compile(fnmatch.translate(resource)).match


def gpu_names(resources: Json, resource: str) -> set[str]:
    """Return the names of resources that are GPUs, or slices of GPUs of the same vendor."""
    vendor = resource.rpartition("/")[0]
    return {
        name
        for name in (resources if isinstance(resources, dict) else ())
        if fits(name, resource) or (vendor and "/mig-" in name and fits(name, f"{vendor}/*"))
    }


def gpu_names_of(template: Json, resource: str) -> set[str]:
    """Return the ``gpu_names`` of all containers of a pod."""
    return {
        name
        for kind in ("containers", "initContainers")
        for container in list_at(template, "spec", kind)
        for asked in ("limits", "requests")
        for name in gpu_names(at(container, "resources", asked), resource)
    }


def gpus_of(amounts: Mapping[str, float], pods: int) -> tuple[int, float]:
    """GPUs of pods that are alike, each part of one on a GPU of its own, and the parts added up.

    ``amounts``: of resources of all of them by name.

    >>> gpus_of({"nvidia.com/mig-1g.5gb": 14.0}, 7), gpus_of({"nvidia.com/gpu": 1.0}, 2)
    ((14, 2.0), (2, 1.0))
    """
    gpus = sum(pods * devices(amount / pods) for amount in amounts.values()) if pods else 0
    return gpus, float(sum(part_of(name) * Fraction(amount) for name, amount in amounts.items()))


def note_others(templates: Iterator[Json], resource: str, audit: Audit, place: int) -> None:
    """Note GPUs of other names, which are not counted."""
    for template in templates:
        for container in list_at(template, "spec", "containers"):
            for kind in ("limits", "requests"):
                named = at(container, "resources", kind)
                for name in named if isinstance(named, dict) else ():
                    if ("gpu" in name.rpartition("/")[2] or "/mig-" in name) and name not in gpu_names(named, resource):
                        audit.note(
                            f"objects that ask for GPUs of another name than {resource}, not counted", place, name
                        )
                        return


class Listing(NamedTuple):
    """Context for the reader of an object: the name of the GPU resource, the times read so far, and the audit."""

    resource: str
    moments: Moments
    audit: Audit


class Kind(NamedTuple):
    """A kind of objects that are jobs, how one is read, with its place, and what is assumed of all."""

    source: str
    name: str
    group: str
    job: Callable[[Json, int, Listing], tuple[QueuedJob, bool]]
    assumption: str


def read_listed(
    kind: Kind,
    path: Path,
    states: Collection[str] | None,
    ended_only: bool,
    gpu_resource: str,
    beside: list[Json] | None = None,
) -> Queue:
    """Read a list of objects; InputError: it is none, or no job is left."""
    listing = Listing(gpu_resource, Moments(), Audit("object"))
    kept = QueueCollector(kind.source, path, listing.audit, states, ended_only, attempts=True)
    for place, item in items(path, kind.name, kind.group, listing.audit, beside):
        try:
            found, ended = kind.job(item, place, listing)
            kept.add(found, ended=ended)
        except Damaged as damage:
            listing.audit.note(damage.reason, place, damage.found)
    return kept.queue([kind.assumption, *listing.moments.sentences()], dated=True)


# Fields with the seconds of earlier admissions, of which v1beta1 misspells the name
PAST: Final = ("accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds")


def _workload(item: Json, place: int, listing: Listing) -> tuple[QueuedJob, bool]:
    resource, moments, audit = listing
    sets = list_at(item, "spec", "podSets")
    assigned = {
        text_at(each, "name") or "main": each for each in list_at(item, "status", "admission", "podSetAssignments")
    }
    total, parts, least, cpus, kinds, names = 0, 0.0, 0.0, 0.0, set(), set[str]()
    # The admission says what a set of pods holds; without one it is what the template asks for.
    for each in sets:
        template = at(each, "template")
        assignment = assigned.get(text_at(each, "name") or "main")
        asked = count_at(each, "count")
        count = count_at(assignment, "count")
        count = (1 if asked is None else asked) if count is None else count
        usage = at(assignment, "resourceUsage")
        used = {name: amount_of(usage, name) for name in gpu_names(usage, resource)}
        if not sum(used.values()):
            used = {name: count * pod_request(template, name) for name in gpu_names_of(template, resource)}
        held, shares = gpus_of(used, count)
        names |= {name for name, amount in used.items() if amount}
        fewest = count_at(each, "minCount")
        total, parts = total + held, parts + shares
        least += held if fewest is None or not count else held / count * min(fewest, count)
        cpus += amount_of(usage, "cpu") or count * pod_request(template, "cpu")
        flavors = at(assignment, "flavors")
        if held and isinstance(flavors, dict):
            kinds |= {text_at(flavors, name) for name in gpu_names(flavors, resource)}
    note_others((at(each, "template") for each in sets), resource, audit, place)
    gpus = devices(total)
    fewest_gpus = math.ceil(least)
    state, start_s, end_s = _admitted(item, moments, place, audit)
    created_s = moments.arrival(text_at(item, "metadata", "creationTimestamp"), "creationTimestamp")
    limit = count_at(item, "spec", "maximumExecutionTimeSeconds")
    job = QueuedJob(
        id_of(item),
        text_at(item, "metadata", "namespace"),
        text_at(item, "spec", "queueName"),
        created_s,
        start_s,
        end_s,
        None,
        gpus,
        share_of(parts, gpus),
        least_gpus=max(fewest_gpus, 1) if fewest_gpus < gpus else None,
        cpus=cpus,
        gpu_type="|".join(sorted(kinds)) if len(kinds) == 1 else "",
        state=state,
        limit_s=None if limit is None else float(limit),
        line=place,
        priority=_priority(item),
        partition=text_at(item, "status", "admission", "clusterQueue") or text_at(item, "spec", "queueName"),
        qos=text_at(item, "spec", "priorityClassName") or str(at(item, "spec", "priority") or ""),
        profile=_profile_of(names),
    )
    return job, end_s is not None


def _profile_of(names: Collection[str]) -> str:
    """The MIG profile of a job that asks for resources of these names; empty unless it is one."""
    return profile_in(*names) if len(names) == 1 else ""


def _priority(item: Json) -> float | None:
    found = at(item, "spec", "priority")
    if found is not None and (isinstance(found, bool) or not isinstance(found, int)):
        raise Damaged("objects whose spec.priority is not an integer, left out", found)
    return None if found is None else float(found)


def _admitted(item: Json, moments: Moments, place: int, audit: Audit) -> tuple[str, float | None, float | None]:
    """Return state, start and end from the conditions."""
    conditions = {text_at(each, "type"): each for each in list_at(item, "status", "conditions")}

    def since(kind: str) -> float | None:
        condition = conditions.get(kind)
        if text_at(condition, "status") != "True":
            return None
        return moments.read(text_at(condition, "lastTransitionTime"), "lastTransitionTime")

    admitted_s, end_s = since("Admitted"), since("Finished")
    if any((count_at(item, "status", name) or 0) > 0 for name in PAST):
        audit.note("workloads that were evicted and admitted again, counted from the last admission", place)
    if end_s is None:
        # The state of what has not ended is the furthest condition that holds.
        words = [word for word in ("Admitted", "QuotaReserved", "Evicted") if since(word) is not None]
        return (words or ["Pending"])[0], admitted_s, None
    # Newer versions clear the admission of what has finished (kueue #8188); the pods' readiness stands in for it.
    start_s = admitted_s
    if start_s is None:
        start_s = since("PodsReady")
        if start_s is not None:
            audit.note(
                "finished workloads whose admission was cleared, assumed to start when their pods were ready", place
            )
        elif "Admitted" in conditions:
            raise Damaged("finished workloads without an admission time, left out")
    return text_at(conditions["Finished"], "reason") or "Finished", start_s, end_s


WORKLOADS: Final = Kind(
    *("kueue", "Workload", "kueue.x-k8s.io", _workload),
    "Namespaces stand for users, as workloads name none; a workload uses its GPUs from admission to its end.",
)


ENDED: Final = frozenset({"Completed", "Failed", "Aborted", "Terminated"})


class _Task(NamedTuple):
    """Pods of a task, the fewest that it runs with, and the request of one pod; ``parts``: parts of GPUs, by their ``names``."""

    pods: int
    fewest: int
    gpus: int
    parts: float
    cpus: float
    names: frozenset[str]


def _job(item: Json, place: int, listing: Listing) -> tuple[QueuedJob, bool]:
    resource, moments, audit = listing
    templates = [at(each, "template") for each in list_at(item, "spec", "tasks")]
    note_others(iter(templates), resource, audit, place)
    # GPUs of all pods, and the fewest with which the gang starts.
    tasks = [_task(each, resource) for each in list_at(item, "spec", "tasks")]
    gpus = devices(sum(task.pods * task.gpus for task in tasks))
    least = _least(tasks, count_at(item, "spec", "minAvailable") or 0)
    state = text_at(item, "status", "state", "phase") or "Pending"
    created_s = moments.arrival(text_at(item, "metadata", "creationTimestamp"), "creationTimestamp")
    start_s, end_s = _ran(item, state, created_s, moments, place, audit)
    estimate = text_at(item, "spec", "runningEstimate")
    job = QueuedJob(
        id_of(item),
        text_at(item, "metadata", "namespace"),
        text_at(item, "spec", "queue") or "default",
        created_s,
        start_s,
        end_s,
        None,
        gpus,
        share_of(sum(task.pods * task.parts for task in tasks), gpus),
        least_gpus=max(least, 1) if least < gpus else None,
        cpus=sum(task.pods * task.cpus for task in tasks),
        state=state,
        limit_s=go_duration(estimate) if estimate else None,
        line=place,
        partition=text_at(item, "spec", "queue") or "default",
        qos=text_at(item, "spec", "priorityClassName"),
        profile=_profile_of(frozenset[str]().union(*(task.names for task in tasks))),
    )
    return job, state in ENDED


def _task(task: Json, resource: str) -> _Task:
    """A task with its pods, the fewest that it runs with, and what one of them asks for."""
    pods, fewest = count_at(task, "replicas"), count_at(task, "minAvailable")
    pods = 1 if pods is None else pods
    template = at(task, "template")
    fewest = pods if fewest is None else min(fewest, pods)
    asked = {name: pod_request(template, name) for name in gpu_names_of(template, resource)}
    names = frozenset(name for name, amount in asked.items() if amount and pods)
    return _Task(pods, fewest, *gpus_of(asked, 1), pod_request(template, "cpu"), names)


def _least(tasks: list[_Task], available: int) -> int:
    """GPUs of the fewest pods with which the gang starts, those with the fewest GPUs first."""
    pods = sum(task.pods for task in tasks)
    available = min(available or pods, pods)
    fewest = [task.fewest for task in tasks]
    # The tasks' minima count only if their sum is at most the job's minimum, as in Volcano's own check.
    if sum(fewest) > available:
        fewest = [0] * len(tasks)
    # Beyond the tasks' minima the gang is filled with the pods that take the fewest GPUs.
    spare, gpus = available - sum(fewest), sum(task.gpus * least for task, least in zip(tasks, fewest, strict=True))
    for task, least in sorted(zip(tasks, fewest, strict=True), key=lambda pair: pair[0].gpus):
        more = min(spare, task.pods - least)
        spare, gpus = spare - more, gpus + more * task.gpus
    return gpus


def _ran(
    item: Json, state: str, created_s: float, moments: Moments, place: int, audit: Audit
) -> tuple[float | None, float | None]:
    """Return start and end; old versions have no conditions, and record only how long ago the job was created."""
    last_s = moments.read(text_at(item, "status", "state", "lastTransitionTime"), "lastTransitionTime")
    conditions = list_at(item, "status", "conditions")
    # A job that was restarted runs several times, of which the last one counts.
    runs = [text_at(each, "lastTransitionTime") for each in conditions if text_at(each, "status") == "Running"]
    if len(runs) > 1:
        audit.note("jobs that were restarted, counted from the last start", place)
    starts = [each for each in (moments.read(text, "lastTransitionTime") for text in runs) if each is not None]
    start_s = max(starts, default=None)
    # Old versions have no conditions: the end is computed from the creation, and the start taken to be it.
    lasted = text_at(item, "status", "runningDuration")
    if state in ENDED and last_s is None and lasted and not math.isnan(created_s):
        last_s = created_s + go_duration(lasted)
    if state in ENDED and not conditions and last_s is not None:
        audit.note("jobs without a start, assumed to start at their submission", place)
        start_s = None if math.isnan(created_s) else created_s
    if state in ("Running", "Completing") and start_s is None and not conditions:
        start_s = last_s
    return start_s, last_s if state in ENDED else None


JOBS: Final = Kind("volcano", "Job", "batch.volcano.sh", _job, "The users are the namespaces, as jobs have none.")


def read_volcano(
    path: Path, *, states: Collection[str] | None = None, ended_only: bool = True, gpu_resource: str = GPU
) -> Queue:
    """Read the jobs of a cluster.

    A job comes when it was created, starts with its last condition Running, and ends with the transition to its last
    phase. Its user is the namespace, its group the queue, its state the phase. ``minAvailable`` gives the fewest GPUs.
    ``runningDuration`` is not used: Volcano counts it from the creation of the job, so that it includes
    waiting. ``gpu_resource``: as ``read_kueue``.
    """
    return read_listed(JOBS, path, states, ended_only, gpu_resource)
