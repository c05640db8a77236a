"""Every source that ``dlsched import`` reads: what it is, what reads it, and the options, which plans and ``whatif`` take too.

Public tables of speeds become ring_allocation. Queues, which are what workload managers and public traces record, become
whatever family can be made of one. The job traces that simulators use have importers of their own too.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dlsched.catalogue.families import Option, Value, by_name, load

if TYPE_CHECKING:
    from dlsched.core.instance import InstanceFile
    from dlsched.traces.queue import Queue
    from dlsched.traces.readers.simulators import Clock


_LASTING = ("srpt_mapping", "elastic_stream", "ring_embedding")
_MOMENTARY = ("ring_allocation", "matching_placement", "async_sgd")
_ANY = (*_LASTING, *_MOMENTARY)
"""Families whose instances are made of queues: of what happens in a window, or of one moment."""
_SIZED = ("elastic_stream", "ring_allocation")
_TOLD = ("srpt_mapping", "elastic_stream", *_MOMENTARY)
"""Those whose jobs change their size as they run; those that may take users at their word."""

_GROUPS = {"any": _ANY, "lasting": _LASTING, "momentary": _MOMENTARY, "sized": _SIZED, "told": _TOLD}
_KINDS: Mapping[str, type[Value]] = {"int": int, "float": float, "str": str, "bool": bool}


def _option(name: str, kind: str, choices: Sequence[str] = (), makes: Sequence[str] = (), **texts: str) -> Option:
    """An option as ``sources.json`` has it: its type by name, and families by the name of their group."""
    families = tuple(family for group in makes for family in _GROUPS.get(group, (group,)))
    texts = {"metavar": ""} | texts
    return Option(name, _KINDS[kind], choices=tuple(choices), makes=families, negated=False, **texts)


_STATED = json.loads(Path(__file__).with_name("sources.json").read_text(encoding="utf-8"))
OPTIONS = by_name(*(_option(name, **fields) for name, fields in _STATED.items()))
SLICES = OPTIONS["slices"].choices
"""What becomes of jobs on parts of GPUs; the first is the default."""

OF_EVALUATIONS = ("gpus_of_node", "communication", "scaling")
"""Options of the making of instances of a queue that an evaluation takes."""
READING_OPTIONS = ("states", "slices", "nodes", "jobs", "map", "delimiter", "time_zone", "gpu_resource")
"""Those with which the file of a queue is read, whatever becomes of it."""

MAKING = tuple(option.python for option in OPTIONS.values() if option.makes)
"""What instances of any family take that are made of a queue, as Python has them."""


def of_queues(*names: str) -> list[Option]:
    """Return options as commands take them that read nothing but queues."""
    options = [OPTIONS[name] for name in names]
    return [replace(option, words=option.alone, of="") if option.alone else option for option in options]


_SPEEDS = ("gpus", "epochs")
_TRACE = ("gpus", "restart_s", "from_", "to")
_GANG_TRACE = ("gpus", "from_", "to")


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of file that ``dlsched import`` reads: its name on the command line, and what it is.

    ``reader``, ``reader_options``: the target of what reads it as a queue, and the options of that; empty: it is not read so.
    ``importer``, ``options``, ``family``: the target of its own importer, its options, and the family of its instances; empty: it
    is only read as a queue. ``times``: target of the times of a trace that has one.
    """

    name: str
    words: str
    reader: str = ""
    reader_options: tuple[str, ...] = ()
    importer: str = ""
    options: tuple[str, ...] = ()
    family: str = ""
    times: str = ""

    @property
    def read(self) -> "Callable[..., Queue]":
        """The function that reads a file as a queue."""
        read: Callable[..., Queue] = load(self.reader)
        return read

    @property
    def build(self) -> "Callable[..., tuple[InstanceFile, list[str]]] | None":
        """The importer of its own."""
        return load(self.importer) if self.importer else None

    @property
    def clock(self) -> "Clock | None":
        """The times of a trace that has an importer of its own."""
        return load(self.times) if self.times else None

    def queued(self, family: object) -> bool:
        """Whether an instance of that family, None: of none in particular, is made of the file's queue."""
        return bool(self.reader) and (not self.importer or family not in (None, self.family))

    @property
    def timed(self) -> bool:
        """Whether it has times, by which it can be cut into windows."""
        return bool(self.times or self.reader)

    @property
    def reading(self) -> tuple[str, ...]:
        """Options with which it is read as a queue."""
        return ("states", "slices", *self.reader_options) if self.reader else ()

    def takes(self, family: object) -> tuple[str, ...]:
        """Options that it takes for an instance of that family, as Python has them."""
        if not self.reader:
            return self.options
        if not self.queued(family):
            return (*self.options, "family")
        return ("family", "from_", "to", *self.reading, *MAKING)


def _speeds(name: str, words: str, importer: str) -> Source:
    return Source(
        name, words, importer=f"dlsched.traces.speedups:{importer}", options=_SPEEDS, family="ring_allocation"
    )


def _queue(name: str, words: str, target: str, *options: str) -> Source:
    return Source(name, words, f"dlsched.traces.readers.{target}", options)


_ALL = (
    _speeds("pcs", "dnn_speedups.csv of PCS: microseconds per iteration", "import_pcs"),
    _speeds("gavel-speeds", "a throughput table of Gavel (JSON): steps per second", "import_gavel_speeds"),
    _speeds("adaptdl", "a folder of AdaptDL's CSV files: step times on T4 nodes", "import_adaptdl"),
    Source(
        "philly",
        "philly_jobs.csv of AdaptDL: jobs of Microsoft's Philly cluster",
        reader="dlsched.traces.readers.columns:read_philly",
        importer="dlsched.traces.makers.elastic_stream:import_philly",
        options=(*_TRACE, "max_gpus"),
        family="elastic_stream",
        times="dlsched.traces.readers.simulators:PHILLY",
    ),
    Source(
        "gavel",
        "a job trace of Gavel (.trace)",
        reader="dlsched.traces.readers.simulators:gavel_queue",
        reader_options=("gpu_type",),
        importer="dlsched.traces.makers.elastic_stream:import_gavel",
        options=(*_TRACE, "gpu_type"),
        family="elastic_stream",
        times="dlsched.traces.readers.simulators:GAVEL",
    ),
    Source(
        "philly-gangs",
        "philly_jobs.csv of AdaptDL, as gangs",
        importer="dlsched.traces.makers.srpt_mapping:import_philly_gangs",
        options=_GANG_TRACE,
        family="srpt_mapping",
        times="dlsched.traces.readers.simulators:PHILLY",
    ),
    Source(
        "gavel-gangs",
        "a job trace of Gavel (.trace), as gangs",
        importer="dlsched.traces.makers.srpt_mapping:import_gavel_gangs",
        options=_GANG_TRACE,
        family="srpt_mapping",
        times="dlsched.traces.readers.simulators:GAVEL",
    ),
    Source(
        "tiresias",
        "tiresias_60_jobs.csv of Tiresias, as gangs",
        reader="dlsched.traces.readers.simulators:tiresias_queue",
        importer="dlsched.traces.makers.srpt_mapping:import_tiresias",
        options=_GANG_TRACE,
        family="srpt_mapping",
        times="dlsched.traces.readers.simulators:TIRESIAS",
    ),
    _queue("slurm", "sacct -aXP with a header: jobs of Slurm", "slurm:read_slurm", "delimiter", "time_zone", "nodes"),
    _queue("kueue", "kubectl get workloads -A -o json: workloads of Kueue", "quotas:read_kueue", "gpu_resource"),
    _queue("volcano", "kubectl get vcjob -A -o json: jobs of Volcano", "kubernetes:read_volcano", "gpu_resource"),
    _queue("openb", "openb_pod_list_*.csv of Alibaba's gpu-v2023", "public_traces:read_openb", "nodes"),
    _queue("pai", "pai_task_table.csv of Alibaba's gpu-v2020", "public_traces:read_pai", "jobs", "nodes"),
    _queue("acme", "trace_seren.csv or trace_kalos.csv of AcmeTrace", "columns:read_acme"),
    _queue("helios", "cluster_log.csv of HeliosData", "columns:read_helios"),
    _queue("philly-raw", "cluster_job_log of Microsoft's Philly", "public_traces:read_philly_raw", "nodes"),
    _queue(
        "csv", "any table of jobs, by a mapping of its columns", "columns:read_csv", "columns", "delimiter", "time_zone"
    ),
)

SOURCES: Mapping[str, Source] = {source.name: source for source in _ALL}
"""What ``dlsched import`` reads, by name."""

READING = tuple(dict.fromkeys(name for source in _ALL for name in source.reading))
"""Options with which any source is read as a queue, as Python has them."""

QUEUES = tuple(source.name for source in _ALL if source.reader)
"""Those that are read as queues, as ``dlsched whatif`` does."""
