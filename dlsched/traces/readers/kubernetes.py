"""Objects that ``kubectl get -o json`` prints: lists of them, their fields, and what their pods ask for."""

import fnmatch
import functools
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Final, NamedTuple

from dlsched.core.errors import InputError
from dlsched.core.files import Json
from dlsched.core.messages import shown
from dlsched.traces.cells import Damaged, Moments, devices
from dlsched.traces.gpu_counts import part_of
from dlsched.traces.job_rules import QueueCollector
from dlsched.traces.queue import Audit, Queue, QueuedJob
from dlsched.traces.readers.text_tables import encoding_of

GPU: Final = "nvidia.com/gpu"


def read_objects(path: Path) -> Json:
    """Parse a JSON file; InputError: it is empty, not JSON, cut off, or nested too deeply."""
    try:
        text = path.read_text(encoding=encoding_of(path))
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


def items(path: Path, kind: str, group: str, audit: Audit) -> Iterator[tuple[int, Json]]:
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
    raise Damaged(f"objects whose {'.'.join(path)} is no text, left out", found)


def list_at(value: Json, *path: str) -> list[Json]:
    """Return the list at a path; empty if there is none; errors as ``text_at``."""
    found = at(value, *path)
    if found is None or isinstance(found, list):
        return found or []
    raise Damaged(f"objects whose {'.'.join(path)} is no list, left out", found)


def count_at(value: Json, *path: str) -> int | None:
    """Return the integer >= 0 at a path; None if there is none; errors as ``text_at``."""
    found = at(value, *path)
    if found is None:
        return None
    if isinstance(found, int) and not isinstance(found, bool) and 0 <= found <= 10**9:
        return found
    raise Damaged(f"objects whose {'.'.join(path)} is no count, left out", found)


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


def read_listed(kind: Kind, path: Path, states: Collection[str] | None, ended_only: bool, gpu_resource: str) -> Queue:
    """Read a list of objects; InputError: it is none, or no job is left."""
    listing = Listing(gpu_resource, Moments(), Audit("object"))
    kept = QueueCollector(kind.source, path, listing.audit, states, ended_only, attempts=True)
    for place, item in items(path, kind.name, kind.group, listing.audit):
        try:
            found, ended = kind.job(item, place, listing)
            kept.add(found, ended=ended)
        except Damaged as damage:
            listing.audit.note(damage.reason, place, damage.found)
    return kept.queue([kind.assumption, *listing.moments.sentences()], dated=True)
