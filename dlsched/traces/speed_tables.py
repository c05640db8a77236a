"""Public tables of speeds as instances of ring_allocation: one job a table."""

from collections.abc import Callable, Sequence
from functools import partial

from dlsched.cluster.published import PublishedSpeed
from dlsched.core.errors import InputError
from dlsched.ring_allocation import Instance
from dlsched.traces.speedups import read_adaptdl_speeds, read_gavel_speeds, read_pcs_speedups


def _import_speeds(
    source: str,
    read: Callable[[str], tuple[list[PublishedSpeed], list[str]]],
    path: str,
    *,
    gpus: int | None = None,
    epochs: float = 100.0,
) -> tuple[Instance, list[str]]:
    """Read tables of speeds as an instance of ring_allocation: one job a table."""
    speeds, audit = read(path)
    if not speeds:
        raise InputError(where=path, found="no table of speeds", allowed="at least one")
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


import_pcs = partial(_import_speeds, "pcs", read_pcs_speedups)
import_gavel_speeds = partial(_import_speeds, "gavel-speeds", read_gavel_speeds)
import_adaptdl = partial(_import_speeds, "adaptdl", read_adaptdl_speeds)
