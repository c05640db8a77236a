"""Every source that ``dlsched import`` reads: what it is, its options, and what reads it.

Public tables of speeds become ring_allocation. Queues, which are what workload managers and public traces record, become
whatever family can be made of one. The job traces that simulators use have importers of their own too.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dlsched.cluster.published import PublishedSpeed
from dlsched.core.errors import InputError
from dlsched.core.instance import InstanceFile
from dlsched.ring_allocation import Instance
from dlsched.traces.clocks import GAVEL, PHILLY, TIRESIAS, Clock
from dlsched.traces.gang_traces import import_gavel_gangs, import_philly_gangs, import_tiresias
from dlsched.traces.gavel import import_gavel
from dlsched.traces.philly import import_philly
from dlsched.traces.queues.made import MAKERS, options_of
from dlsched.traces.queues.readers import READERS, Reader
from dlsched.traces.queues.simulated import gavel_queue, tiresias_queue
from dlsched.traces.speedups import read_adaptdl_speeds, read_gavel_speeds, read_pcs_speedups

SPEED_OPTIONS = ("gpus", "epochs")
TRACE_OPTIONS = ("gpus", "restart_s", "from_", "to")
GANG_OPTIONS = ("gpus", "from_", "to")

Option: TypeAlias = str | int | float | None


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of file that ``dlsched import`` reads.

    Parameters
    ----------
    words
        What it is.
    options, build, family
        The importer of its own, its options, and the family of its instances; None and empty: it is only read as a queue.
    clock
        The times of a trace that has such an importer.
    reader
        Reads it as a queue; None: it is none.
    """

    words: str
    options: tuple[str, ...] = ()
    build: Callable[..., tuple[InstanceFile, list[str]]] | None = None
    family: str = ""
    clock: Clock | None = None
    reader: Reader | None = None

    def queued(self, family: Option) -> bool:
        """Whether an instance of that family, None: of none in particular, is made of the file's queue."""
        return self.reader is not None and (self.build is None or family not in (None, self.family))

    @property
    def timed(self) -> bool:
        """Whether it has times, by which it can be cut into windows."""
        return self.clock is not None or self.reader is not None

    def takes(self, family: Option) -> tuple[str, ...]:
        """Options that it takes for an instance of that family."""
        if self.reader is None:
            return self.options
        if not self.queued(family):
            return (*self.options, "family")
        made = (name for each in MAKERS for name in options_of(each) if name != "window")
        return tuple(dict.fromkeys(("family", "from_", "to", "states", "slices", *self.reader.options, *made)))


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


def _speeds(
    source: str, words: str, read: Callable[[str], tuple[list[PublishedSpeed], list[str]]]
) -> dict[str, Source]:
    return {source: Source(words, SPEED_OPTIONS, functools.partial(_import_speeds, source, read), "ring_allocation")}


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


SOURCES: Mapping[str, Source] = {
    **_speeds("pcs", "dnn_speedups.csv of PCS: microseconds per iteration", read_pcs_speedups),
    **_speeds("gavel-speeds", "a throughput table of Gavel (JSON): steps per second", read_gavel_speeds),
    **_speeds("adaptdl", "a folder of AdaptDL's CSV files: step times on T4 nodes", read_adaptdl_speeds),
    "philly": Source(
        "philly_jobs.csv of AdaptDL: jobs of Microsoft's Philly cluster",
        (*TRACE_OPTIONS, "max_gpus"),
        import_philly,
        "elastic_stream",
        PHILLY,
        READERS["philly"],
    ),
    "gavel": Source(
        "a job trace of Gavel (.trace)",
        (*TRACE_OPTIONS, "gpu_type"),
        import_gavel,
        "elastic_stream",
        GAVEL,
        Reader("a job trace of Gavel (.trace)", gavel_queue, ("gpu_type",)),
    ),
    "philly-gangs": Source(
        "philly_jobs.csv of AdaptDL, as gangs", GANG_OPTIONS, import_philly_gangs, "srpt_mapping", PHILLY
    ),
    "gavel-gangs": Source(
        "a job trace of Gavel (.trace), as gangs", GANG_OPTIONS, import_gavel_gangs, "srpt_mapping", GAVEL
    ),
    "tiresias": Source(
        "tiresias_60_jobs.csv of Tiresias, as gangs",
        GANG_OPTIONS,
        import_tiresias,
        "srpt_mapping",
        TIRESIAS,
        Reader("tiresias_60_jobs.csv of Tiresias", tiresias_queue),
    ),
    **{name: Source(reader.words, reader=reader) for name, reader in READERS.items() if name != "philly"},
}
"""What ``dlsched import`` reads, by name."""
