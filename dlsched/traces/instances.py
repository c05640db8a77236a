"""The files that ``dlsched import`` reads.

Public tables of speeds become ring_allocation; job traces become elastic_stream or, with exactly the GPUs that users asked
for, srpt_mapping.
"""

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlsched.cluster.published import PublishedSpeed
from dlsched.core.errors import DlschedError, InputError, UsageError
from dlsched.core.instance import InstanceFile
from dlsched.ring_allocation import Instance
from dlsched.traces.clocks import GAVEL, PHILLY, TIRESIAS, Clock
from dlsched.traces.gang_traces import import_gavel_gangs, import_philly_gangs, import_tiresias
from dlsched.traces.gavel import import_gavel
from dlsched.traces.philly import import_philly
from dlsched.traces.speedups import read_adaptdl_speeds, read_gavel_speeds, read_pcs_speedups

SPEED_OPTIONS = ("gpus", "epochs")
TRACE_OPTIONS = ("gpus", "restart_s", "from_", "to")
GANG_OPTIONS = ("gpus", "from_", "to")


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of public file that ``dlsched import`` reads: what it is, the options it takes, and its importer.

    ``clock``: the times of a trace; None: it has none.
    """

    words: str
    options: tuple[str, ...]
    build: Callable[..., tuple[InstanceFile, list[str]]]
    clock: Clock | None = None


def import_instance(
    source: str,
    path: str,
    *,
    gpus: int | None = None,
    epochs: float | None = None,
    max_gpus: int | None = None,
    gpu_type: str | None = None,
    restart_s: float | None = None,
    from_: str | None = None,
    to: str | None = None,
) -> tuple[InstanceFile, list[str]]:
    """Read a public file as an instance, and the audit of what was dropped, repaired or assumed.

    Parameters
    ----------
    source
        A key of ``SOURCES``; each names the options that it takes.
    path
        The file or folder.
    gpus
        GPUs of the cluster, of gangs a multiple of 8; None: of tables four times the smallest counts together, of traces
        the average demand.
    epochs
        Epochs that every job of a table has left; None: 100, as the files do not say.
    max_gpus
        Largest count to which a job of philly may grow; None: what its user asked for.
    gpu_type
        GPUs on which gavel's jobs run: V100 (None), P100 or K80.
    restart_s
        Seconds that a restart costs every job of a stream; None: 0.
    from_, to
        Keep the jobs of a trace that arrive from ``from_`` on and before ``to``: ISO dates or times for Philly's,
        seconds for the others.

    Raises
    ------
    UsageError
        An unknown source, an option that it does not take, or a value out of range.
    InputError
        The file cannot be read, is malformed, or holds no table or job.
    """
    if source not in SOURCES:
        raise UsageError(f"source: found {source!r}, allowed: {', '.join(SOURCES)}")
    options: dict[str, Any] = {
        "gpus": gpus,
        "epochs": epochs,
        "max_gpus": max_gpus,
        "gpu_type": gpu_type,
        "restart_s": restart_s,
        "from_": from_,
        "to": to,
    }
    given = {name: value for name, value in options.items() if value is not None}
    for name, value in given.items():
        if name not in SOURCES[source].options:
            raise UsageError(f"{name.rstrip('_')}: found {value!r}, allowed: no such option for source {source}")
        if name in ("gpus", "max_gpus") and value < 1:
            raise UsageError(f"{name}: found {value}, allowed: an integer >= 1")
        if name in ("epochs", "restart_s") and not 0 <= value < math.inf:
            raise UsageError(f"{name}: found {value}, allowed: a number >= 0")
    with _errors_of(path):
        return SOURCES[source].build(path, **given)


def arrivals_of(source: str, path: str) -> list[float]:
    """Read when the jobs of a trace arrive, in seconds on its own clock and in the order of the file.

    Raises
    ------
    UsageError
        The source has no times.
    InputError
        The file cannot be read or is malformed.
    """
    clock = SOURCES[source].clock
    if clock is None:
        raise UsageError(f"source: found {source!r}, which has no times, allowed: a trace")
    with _errors_of(path):
        return clock.arrivals(Path(path))


@contextlib.contextmanager
def _errors_of(path: str) -> Iterator[None]:
    """Say of what cannot be read which file it stands in."""
    try:
        yield
    except DlschedError:
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(str(error)) from None
    except OverflowError:
        raise InputError(f"{path}: found times that add up to no float, allowed: finite ones") from None


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
    return {source: Source(words, SPEED_OPTIONS, functools.partial(_import_speeds, source, read))}


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
        PHILLY,
    ),
    "gavel": Source("a job trace of Gavel (.trace)", (*TRACE_OPTIONS, "gpu_type"), import_gavel, GAVEL),
    "philly-gangs": Source("philly_jobs.csv of AdaptDL, as gangs", GANG_OPTIONS, import_philly_gangs, PHILLY),
    "gavel-gangs": Source("a job trace of Gavel (.trace), as gangs", GANG_OPTIONS, import_gavel_gangs, GAVEL),
    "tiresias": Source("tiresias_60_jobs.csv of Tiresias, as gangs", GANG_OPTIONS, import_tiresias, TIRESIAS),
}
