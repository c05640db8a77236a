"""Shared part of the readers that make a queue of Kubernetes objects, as listed by ``kubectl get -o json``."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from dlsched.core.files import Json
from dlsched.traces.queue.cells import Damaged
from dlsched.traces.queue.job_rules import QueueCollector
from dlsched.traces.queue.queue import Audit, Queue, QueuedJob
from dlsched.traces.queue.timestamps import Moments
from dlsched.traces.readers.kubernetes_objects import items


class Listing(NamedTuple):
    """Context for the reader of an object: the name of the GPU resource, the times read so far, and the audit."""

    resource: str
    moments: Moments
    audit: Audit


def read_listed(
    source: str,
    path: Path,
    kind: str,
    group: str,
    job: Callable[[Json, int, Listing], tuple[QueuedJob, bool]],
    said: str,
    *,
    states: Collection[str] | None,
    ended_only: bool,
    gpu_resource: str,
) -> Queue:
    """Read a list of objects.

    Parameters
    ----------
    source, path
        As ``Queue`` has them.
    kind, group
        Kind and group of the objects; others are noted and left out.
    job
        Maps an object and its place to its job, and whether that has ended; may raise ``Damaged``.
    said
        Sentences of the audit on what is assumed for all jobs.
    states, ended_only
        As every reader has them.
    gpu_resource
        Name of the resource that is a GPU, or a pattern such as ``*/gpu``.

    Raises
    ------
    InputError
        No list of objects, or no job is left.
    """
    listing = Listing(gpu_resource, Moments(), Audit("object"))
    kept = QueueCollector(source, path, listing.audit, states, ended_only, attempts=True)
    for place, item in items(path, kind, group, listing.audit):
        try:
            found, ended = job(item, place, listing)
            kept.add(found, ended=ended)
        except Damaged as damage:
            listing.audit.note(damage.reason, place, damage.found)
    return kept.queue([said, *listing.moments.sentences()], dated=True)
