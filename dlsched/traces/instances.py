"""Conversion to instances of the files that ``dlsched import`` reads, and of queues to the families."""

import contextlib
import inspect
import math
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from dlsched.catalogue.families import Value
from dlsched.catalogue.sources import READING, SOURCES
from dlsched.core.errors import DlschedError, InputError, UsageError
from dlsched.core.instance import InstanceFile
from dlsched.traces.makers.async_sgd import async_of
from dlsched.traces.makers.elastic_stream import stream_of
from dlsched.traces.makers.matching_placement import placement_of
from dlsched.traces.makers.ring_allocation import allocation_of
from dlsched.traces.makers.ring_embedding import rings_of
from dlsched.traces.makers.srpt_mapping import gangs_of
from dlsched.traces.queue import Queue, queue_window
from dlsched.traces.selection import ImportedInstance
from dlsched.traces.slicing import require_parting, treated

DEFAULT = "srpt_mapping"

MAKERS: Mapping[str, Callable[..., ImportedInstance]] = {
    "srpt_mapping": gangs_of,
    "elastic_stream": stream_of,
    "ring_embedding": rings_of,
    "ring_allocation": allocation_of,
    "matching_placement": placement_of,
    "async_sgd": async_of,
}
"""Functions that make an instance of a queue, by family; their keyword arguments are its options in the catalogue."""

MOMENTARY = frozenset(family for family, make in MAKERS.items() if "at" in inspect.signature(make).parameters)
"""Families whose instances show the queue at one moment, for which running and waiting jobs are read too."""


def options_of(family: str) -> tuple[str, ...]:
    """Names of the options that a family takes; UsageError: no instances of it are made of queues."""
    if family not in MAKERS:
        raise UsageError(where="family", found=repr(family), allowed=", ".join(MAKERS))
    return tuple(name for name in inspect.signature(MAKERS[family]).parameters if name != "queue")


def instance_from(queue: Queue, family: str = DEFAULT, **options: object) -> ImportedInstance:
    """Make an instance of a queue, with ``options`` of the family of which None and False mean the default."""
    allowed = options_of(family)
    stated = {name: value for name, value in options.items() if value is not None and value is not False}
    _require_taken(stated, allowed, f"family {family}")
    require_parting(queue, family)
    return MAKERS[family](queue, **stated)


def import_instance(source: str, path: str, **options: Value | None) -> tuple[InstanceFile, list[str]]:
    """Read a file as an instance, and the audit of what was dropped, repaired or assumed.

    Parameters
    ----------
    source, path
        A key of ``SOURCES``, each of which names the options that it takes, None being the default; and the file or folder
        (``-``: standard input).
    gpus
        GPUs of the cluster, of gangs that are not made of a queue a multiple of 8; None: of tables four times the smallest
        counts together, of queues the nodes that the trace lists or the most GPUs in use at once, else the average demand.
    epochs, restart_s
        Epochs that every job of a table has left (None: 100), and seconds that a restart costs a job of a stream (None: 0).
    max_gpus
        Largest count to which a job may grow, of philly and by published scaling; None: what its user asked for.
    gpu_type
        GPUs on which gavel's jobs run: V100 (None), P100 or K80.
    from_, to
        Keep the jobs of a trace that arrive from ``from_`` on and before ``to``: ISO dates or times where the trace has such,
        seconds otherwise.
    family
        Of a trace: a key of ``MAKERS``; None: that of the source's own importer, of queues srpt_mapping.
    states, slices
        Of a queue: the states of the jobs to keep, parted by commas (None: all), and what becomes of jobs on parts of GPUs:
        ``leave-out``, ``whole`` or ``parts``; None: ``parts`` in srpt_mapping, else ``leave-out``.
    nodes, jobs, columns, delimiter, time_zone, gpu_resource
        Of some readers of queues, see there.
    gpus_of_node, carried, estimates, communication, scaling
        Of a queue: see ``gangs_of`` and ``stream_of``, and the other makers for theirs.

    Raises
    ------
    UsageError
        An unknown source, an option that it does not take, or a value out of range.
    InputError
        The file cannot be read, is malformed, or holds no table or job.
    """
    stated = _stated(source, options)
    if SOURCES[source].queued(stated.get("family")):
        made = import_made(source, path, **options)
        return made.instance, made.audit
    build = SOURCES[source].build
    assert build is not None
    with _errors_of(path), _on_disk(path) as file:
        return build(file, **{name: value for name, value in stated.items() if name != "family"})


def import_made(source: str, path: str, queue: Queue | None = None, /, **options: Value | None) -> ImportedInstance:
    """Read a queue as an instance, with what really happened; ``queue``: the file as it was read before, else None.

    Raises
    ------
    UsageError, InputError
        As ``import_instance``; also for a source that is not read as a queue with that family.
    """
    stated: dict[str, object] = dict(_stated(source, options))
    family = str(stated.pop("family", DEFAULT))
    if not SOURCES[source].queued(options.get("family")):
        raise UsageError(
            where="source", found=repr(source), allowed="a source that is read as a queue, or another family"
        )
    allowed = options_of(family)
    # What the reader takes is no matter of the maker.
    for name in SOURCES[source].reading:
        stated.pop(name, None)
    # A window is written in the queue's own clock, so that it is read only when the queue is.
    ends = {name: stated.pop(name, None) for name in ("from_", "to")}
    _require_taken(stated, allowed, f"family {family}")
    if any(value is not None for value in ends.values()) and "window" not in allowed:
        raise UsageError(where=("from", "to"), found="a window", allowed=f"no such option for family {family}")
    if queue is None:
        queue = read_queue(source, path, family not in MOMENTARY, **{**options, "family": family})
    if "window" in allowed:
        stated["window"] = queue_window(queue, *(None if end is None else str(end) for end in ends.values()))
    with _errors_of(path):
        return instance_from(queue, family, **stated)


def read_queue(source: str, path: str, ended_only: bool = True, /, **options: Value | None) -> Queue:
    """Read a file as a queue; of ``options`` those of reading count, with ``states`` parted by commas, others are not looked at.

    ``ended_only``: leave out jobs that run or wait. ``family``: that for which it is read, which decides what ``slices`` are.

    Raises
    ------
    UsageError
        The source is not read as a queue, does not take an option of reading, or one is out of range.
    InputError
        As ``import_instance``.
    """
    entry = SOURCES.get(source)
    if entry is None or not entry.reader:
        queues = ", ".join(name for name, each in SOURCES.items() if each.reader)
        raise UsageError(where="source", found=repr(source), allowed=queues)
    stated = {name: options[name] for name in READING if options.get(name) is not None}
    _require_taken(stated, entry.reading, f"source {source}")
    arguments: dict[str, object] = dict(stated)
    slices = arguments.pop("slices", None)
    if "states" in stated:
        arguments["states"] = tuple(word.strip() for word in str(stated["states"]).split(",") if word.strip())
    # Further files are paths; all other options are values.
    arguments |= {name: Path(str(stated[name])) for name in ("nodes", "jobs") if name in stated}
    if source == "csv" and "columns" not in stated:
        raise UsageError(
            where="map", found="nothing", allowed="which column is what, such as arrival=submit,gpus=n,duration=run_s"
        )
    with _errors_of(path), _on_disk(path) as file:
        read = entry.read(Path(file), ended_only=ended_only, **arguments)
        queue = treated(read, None if slices is None else str(slices), options.get("family"))
    return queue if file == path else replace(queue, path=Path(file).name)


def _stated(source: str, options: Mapping[str, Value | None]) -> dict[str, Value | None]:
    """The options that are not left out, having been looked at."""
    if source not in SOURCES:
        raise UsageError(where="source", found=repr(source), allowed=", ".join(SOURCES))
    entry, family = SOURCES[source], options.get("family")
    stated: dict[str, Value | None] = {
        name: value for name, value in options.items() if value is not None and value is not False
    }
    _require_taken(stated, entry.takes(family), f"source {source}")
    for name, value in stated.items():
        if name in ("gpus", "max_gpus", "gpus_of_node") and not (isinstance(value, int) and value >= 1):
            raise UsageError(where=name, found=value, allowed="an integer >= 1")
        if name in ("epochs", "restart_s") and not (isinstance(value, int | float) and 0 <= value < math.inf):
            raise UsageError(where=name, found=value, allowed="a number >= 0")
    if family is not None and family not in (*MAKERS, entry.family):
        raise UsageError(where="family", found=repr(family), allowed=", ".join(MAKERS))
    return stated


def _require_taken(stated: Mapping[str, object], taken: Collection[str], owner: str) -> None:
    """Refuse options that a source or family does not take."""
    for name, value in stated.items():
        if name not in taken:
            raise UsageError(where=name.rstrip("_"), found=repr(value), allowed=f"no such option for {owner}")


def arrivals_of(source: str, path: str) -> list[float]:
    """Read when the jobs of a trace arrive, in seconds on its own clock and in the order of the file.

    Raises
    ------
    UsageError
        The source has no times.
    InputError
        The file cannot be read or is malformed.
    """
    entry = SOURCES[source]
    clock = entry.clock
    if entry.reader and clock is None:
        return [job.submit_s for job in read_queue(source, path).jobs]
    if clock is None:
        raise UsageError(where="source", found=f"{source!r}, which has no times", allowed="a trace")
    with _errors_of(path):
        return clock.arrivals(Path(path))


@contextlib.contextmanager
def _on_disk(path: str) -> Iterator[str]:
    """The path; of ``-`` that of a copy of standard input, as readers go over a file more than once."""
    if path != "-":
        yield path
        return
    if sys.stdin is None:
        raise InputError("standard input: cannot be read: it is closed")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "standard input"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield str(copy)


@contextlib.contextmanager
def _errors_of(path: str) -> Iterator[None]:
    """Name the file in errors about unreadable contents."""
    try:
        yield
    except DlschedError:
        raise
    except OSError as error:
        raise InputError(f"{error.filename or path}: cannot be read: {error.strerror or error}") from None
    except (EOFError, zlib.error) as error:
        raise InputError(f"{path}: cannot be unpacked: {error}") from None
    except ValueError as error:
        raise InputError(str(error)) from None
    except OverflowError:
        raise InputError(where=path, found="times that add up to no float", allowed="finite ones") from None
