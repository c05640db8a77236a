"""Every source that ``dlsched import`` reads: what it is, what reads it, and the options, which plans and ``whatif`` take too.

Public tables of speeds become ring_allocation. Queues, which are what workload managers and public traces record, become
whatever family can be made of one. The job traces that simulators use have importers of their own too.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dlsched.catalogue.families import Option, by_name, load

if TYPE_CHECKING:
    from dlsched.core.instance import InstanceFile
    from dlsched.traces.queue import Queue
    from dlsched.traces.readers.simulators import Clock


SLICES = ("leave-out", "whole")
"""What becomes of jobs on parts of GPUs; the first is the default."""

_LASTING = ("srpt_mapping", "elastic_stream", "ring_embedding")
_MOMENTARY = ("ring_allocation", "matching_placement", "async_sgd")
_ANY = (*_LASTING, *_MOMENTARY)
"""Families whose instances are made of queues: of what happens in a window, or of one moment."""
_GANGS, _RINGS = ("srpt_mapping",), ("ring_embedding",)
_SIZED = ("elastic_stream", "ring_allocation")
_TOLD = ("srpt_mapping", "elastic_stream", *_MOMENTARY)
"""Those whose jobs change their size as they run; those that may take users at their word."""

OPTIONS = by_name(
    Option("gpus", int, "N", "GPUs of the cluster", makes=_ANY),
    Option("epochs", float, "X", "Epochs that every job has left", "tables, 100"),
    Option("max_gpus", int, "N", "GPUs to which a job may grow", "philly, published scaling", makes=_SIZED),
    Option("gpu_type", str, "TYPE", "V100, P100 or K80", "gavel, V100"),
    Option("restart", float, "S", "Seconds that a restart costs", "streams, 0", "restart_s", makes=_SIZED),
    Option("from", str, "T", "Arrivals from here on", "traces", "from_"),
    Option("to", str, "T", "Arrivals before it", "date or seconds"),
    Option("family", str, "FAMILY", "Family of the instance", "traces and queues"),
    Option(
        "states", str, "A,B", "Keep the jobs in these states", "queues, all", alone="Keep the jobs in these states; all"
    ),
    Option(
        "slices",
        str,
        "HOW",
        "leave-out or whole: jobs on parts of GPUs",
        "queues, leave-out",
        choices=SLICES,
        alone="Jobs on parts of GPUs: leave-out, whole; leave-out",
    ),
    Option("estimates", bool, "", "Policies see the users' limits, not the lengths", "queues", makes=_TOLD),
    Option("carried", bool, "", "With the jobs that had not ended at --from", "queues", makes=_LASTING),
    Option("gpus_of_node", int, "N", "GPUs of a server", "queues, 8", makes=_LASTING),
    Option("communication", str, "HOW", "none or published stages", "srpt_mapping, none", makes=_GANGS),
    Option(
        "scaling",
        str,
        "HOW",
        "own, published or asynchronous",
        "elastic_stream, own; ring_allocation, published",
        makes=_SIZED,
    ),
    Option(
        "at",
        str,
        "T",
        "The moment, date or seconds",
        "ring_allocation, matching_placement, async_sgd, the latest",
        makes=_MOMENTARY,
    ),
    Option("pinned", bool, "", "Jobs that run keep their GPUs", "ring_allocation", makes=("ring_allocation",)),
    Option("slot", float, "S", "Seconds of a slot", "ring_embedding, 3600", "slot_s", makes=_RINGS),
    Option("utility", str, "KIND", "capped, sqrt or log", "ring_embedding, capped", makes=_RINGS),
    Option(
        "sizes", str, "HOW", "trace, or drawn as in paper, paper-sqrt, paper-log", "ring_embedding, trace", makes=_RINGS
    ),
    Option("seed", int, "N", "Seed of what is drawn", "ring_embedding, 0", makes=_RINGS),
    Option(
        "bandwidth",
        float,
        "B/S",
        "Of every ring, 1.25e9, or worker, 1.25e10",
        "ring_embedding, matching_placement",
        "bandwidth_bytes_per_s",
        makes=("ring_embedding", "matching_placement"),
    ),
    Option(
        "server_link",
        float,
        "B/S",
        "From servers to their racks",
        "ring_embedding, 1.25e10",
        "server_bytes_per_s",
        makes=_RINGS,
    ),
    Option(
        "rack_link", float, "B/S", "From racks to the core", "ring_embedding, 5e10", "rack_bytes_per_s", makes=_RINGS
    ),
    Option("rack", int, "N", "Servers of a rack", "ring_embedding, 8", "servers_of_rack", makes=_RINGS),
    Option(
        "gradient",
        float,
        "BYTES",
        "That rings exchange",
        "matching_placement, 0",
        "gradient_bytes",
        makes=("matching_placement",),
    ),
    Option(
        "network",
        int,
        "GBIT/S",
        "Of parameter servers, 1, 10 or 25",
        "async_sgd and streams of it, 10",
        "network_gbit",
        makes=("elastic_stream", "async_sgd"),
    ),
    Option("nodes", str, "FILE", "List of nodes", "openb, pai, philly-raw"),
    Option("jobs", str, "FILE", "Table of jobs", "pai"),
    Option("map", str, "KEY=COLUMN,...", "Which column is what", "csv", "columns"),
    Option("delimiter", str, "SIGN", "What parts the cells", "slurm, csv"),
    Option("gpu_resource", str, "NAME", "What a GPU is called", "kueue, volcano"),
)

OF_EVALUATIONS = ("gpus_of_node", "communication", "scaling")
"""Options of the making of instances of a queue that an evaluation takes."""
READING_OPTIONS = ("states", "slices", "nodes", "jobs", "map", "delimiter", "gpu_resource")
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
class Reader:
    """What reads a source as a queue, a target, and the options of its own."""

    target: str
    options: tuple[str, ...] = ()

    @property
    def read(self) -> "Callable[..., Queue]":
        """The function that reads a file."""
        read: Callable[..., Queue] = load(self.target)
        return read


@dataclass(frozen=True, slots=True)
class Source:
    """A kind of file that ``dlsched import`` reads: its name on the command line, and what it is.

    ``reader``: reads it as a queue. ``importer``, ``options``, ``family``: the target of its own importer, its options, and the
    family of its instances; empty: it is only read as a queue. ``times``: target of the times of a trace that has one.
    """

    name: str
    words: str
    reader: Reader | None = None
    importer: str = ""
    options: tuple[str, ...] = ()
    family: str = ""
    times: str = ""

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
        return self.reader is not None and (not self.importer or family not in (None, self.family))

    @property
    def timed(self) -> bool:
        """Whether it has times, by which it can be cut into windows."""
        return bool(self.times) or self.reader is not None

    @property
    def reading(self) -> tuple[str, ...]:
        """Options with which it is read as a queue."""
        return () if self.reader is None else ("states", "slices", *self.reader.options)

    def takes(self, family: object) -> tuple[str, ...]:
        """Options that it takes for an instance of that family, as Python has them."""
        if self.reader is None:
            return self.options
        if not self.queued(family):
            return (*self.options, "family")
        return ("family", "from_", "to", *self.reading, *MAKING)


def _speeds(name: str, words: str, importer: str) -> Source:
    return Source(name, words, None, f"dlsched.traces.speedups:{importer}", _SPEEDS, "ring_allocation")


def _queue(name: str, words: str, target: str, *options: str) -> Source:
    return Source(name, words, Reader(f"dlsched.traces.readers.{target}", options))


_ALL = (
    _speeds("pcs", "dnn_speedups.csv of PCS: microseconds per iteration", "import_pcs"),
    _speeds("gavel-speeds", "a throughput table of Gavel (JSON): steps per second", "import_gavel_speeds"),
    _speeds("adaptdl", "a folder of AdaptDL's CSV files: step times on T4 nodes", "import_adaptdl"),
    Source(
        "philly",
        "philly_jobs.csv of AdaptDL: jobs of Microsoft's Philly cluster",
        Reader("dlsched.traces.readers.columns:read_philly"),
        "dlsched.traces.makers.elastic_stream:import_philly",
        (*_TRACE, "max_gpus"),
        "elastic_stream",
        "dlsched.traces.readers.simulators:PHILLY",
    ),
    Source(
        "gavel",
        "a job trace of Gavel (.trace)",
        Reader("dlsched.traces.readers.simulators:gavel_queue", ("gpu_type",)),
        "dlsched.traces.makers.elastic_stream:import_gavel",
        (*_TRACE, "gpu_type"),
        "elastic_stream",
        "dlsched.traces.readers.simulators:GAVEL",
    ),
    Source(
        "philly-gangs",
        "philly_jobs.csv of AdaptDL, as gangs",
        None,
        "dlsched.traces.makers.srpt_mapping:import_philly_gangs",
        _GANG_TRACE,
        "srpt_mapping",
        "dlsched.traces.readers.simulators:PHILLY",
    ),
    Source(
        "gavel-gangs",
        "a job trace of Gavel (.trace), as gangs",
        None,
        "dlsched.traces.makers.srpt_mapping:import_gavel_gangs",
        _GANG_TRACE,
        "srpt_mapping",
        "dlsched.traces.readers.simulators:GAVEL",
    ),
    Source(
        "tiresias",
        "tiresias_60_jobs.csv of Tiresias, as gangs",
        Reader("dlsched.traces.readers.simulators:tiresias_queue"),
        "dlsched.traces.makers.srpt_mapping:import_tiresias",
        _GANG_TRACE,
        "srpt_mapping",
        "dlsched.traces.readers.simulators:TIRESIAS",
    ),
    _queue("slurm", "sacct -aXP with a header: jobs of Slurm", "slurm:read_slurm", "delimiter"),
    _queue(
        "kueue", "kubectl get workloads -A -o json: workloads of Kueue", "kubernetes_jobs:read_kueue", "gpu_resource"
    ),
    _queue("volcano", "kubectl get vcjob -A -o json: jobs of Volcano", "kubernetes_jobs:read_volcano", "gpu_resource"),
    _queue("openb", "openb_pod_list_*.csv of Alibaba's gpu-v2023", "public_traces:read_openb", "nodes"),
    _queue("pai", "pai_task_table.csv of Alibaba's gpu-v2020", "public_traces:read_pai", "jobs", "nodes"),
    _queue("acme", "trace_seren.csv or trace_kalos.csv of AcmeTrace", "columns:read_acme"),
    _queue("helios", "cluster_log.csv of HeliosData", "columns:read_helios"),
    _queue("philly-raw", "cluster_job_log of Microsoft's Philly", "public_traces:read_philly_raw", "nodes"),
    _queue("csv", "any table of jobs, by a mapping of its columns", "columns:read_csv", "columns", "delimiter"),
)

SOURCES: Mapping[str, Source] = {source.name: source for source in _ALL}
"""What ``dlsched import`` reads, by name."""

READING = tuple(dict.fromkeys(name for source in _ALL for name in source.reading))
"""Options with which any source is read as a queue, as Python has them."""

QUEUES = tuple(source.name for source in _ALL if source.reader is not None)
"""Those that are read as queues, as ``dlsched whatif`` does."""
