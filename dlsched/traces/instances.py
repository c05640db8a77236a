"""Instances from public measurements: one job a published table, with the audit in ``source``."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dlsched.cluster.published import PublishedSpeed
from dlsched.core.errors import InputError, UsageError
from dlsched.ring_allocation import Instance
from dlsched.traces.speedups import read_adaptdl_speeds, read_gavel_speeds, read_pcs_speedups


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of public file that ``dlsched import`` reads: what it is, and its reader."""

    words: str
    read: Callable[[str], tuple[list[PublishedSpeed], list[str]]]


SOURCES: Mapping[str, Source] = {
    "pcs": Source("dnn_speedups.csv of PCS: microseconds per iteration", read_pcs_speedups),
    "gavel-speeds": Source("a throughput table of Gavel (JSON): steps per second", read_gavel_speeds),
    "adaptdl": Source("a folder of AdaptDL's CSV files: step times on T4 nodes", read_adaptdl_speeds),
}


def import_instance(source: str, path: str, *, gpus: int | None = None, epochs: float = 100.0) -> tuple[Any, list[str]]:
    """Read a public file as an instance of ring_allocation, and the audit of what was dropped, repaired or assumed.

    Parameters
    ----------
    source
        A key of ``SOURCES``.
    path
        The file or folder.
    gpus
        GPUs of the cluster; None: four times the smallest counts together.
    epochs
        Epochs that every job has left; the files do not say.

    Raises
    ------
    UsageError
        An unknown source, or a number out of range.
    InputError
        The file cannot be read, is malformed, or holds no table.
    """
    if source not in SOURCES:
        raise UsageError(f"source: found {source!r}, allowed: {', '.join(SOURCES)}")
    if gpus is not None and gpus < 1:
        raise UsageError(f"gpus: found {gpus}, allowed: an integer >= 1")
    if not 0 <= epochs < math.inf:
        raise UsageError(f"epochs: found {epochs}, allowed: a number >= 0")
    try:
        speeds, audit = SOURCES[source].read(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(str(error)) from None
    if not speeds:
        raise InputError(f"{path}: found no table of speeds, allowed: at least one")
    audit = [*audit, f"Every job is given {epochs:g} epochs and weight 1: the file does not say."]
    total = gpus if gpus is not None else 4 * sum(speed.counts[0] for speed in speeds)
    if gpus is None:
        audit.append(f"The cluster is given {total} GPUs, four times the smallest counts together.")
    jobs = [
        {"id": name, "epochs": epochs, "epoch_time_s": dict(zip(speed.counts, speed.epoch_time_s, strict=True))}
        for name, speed in zip(_ids(speeds), speeds, strict=True)
    ]
    heads = sorted({speed.source.split(":")[0] for speed in speeds})
    text = f"imported from {'; '.join(heads)}. Audit: {' '.join(audit)}"
    return Instance(name=f"{source}-{len(jobs)}x{total}", source=text, gpus=total, jobs=jobs), audit


def _ids(speeds: Sequence[PublishedSpeed]) -> list[str]:
    """Model, GPU type and batch, as plain words, numbered where they repeat."""
    seen: dict[str, int] = {}
    ids = []
    for speed in speeds:
        words = f"{speed.model}_{speed.gpu or 'gpu'}_{speed.batch_samples}"
        name = "".join(letter if letter.isalnum() else "_" for letter in words)
        seen[name] = seen.get(name, 0) + 1
        ids.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return ids
