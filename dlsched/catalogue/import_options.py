"""Options of ``dlsched import``, of which ``whatif``, ``advise`` and the traces of plans take some."""

from dataclasses import replace

from dlsched.catalogue.declaration import Option, by_name

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
READING = ("states", "slices", "nodes", "jobs", "map", "delimiter", "gpu_resource")
"""Those with which the file of a queue is read, whatever becomes of it."""

MAKING = tuple(option.python for option in OPTIONS.values() if option.makes)
"""What instances of any family take that are made of a queue, as Python has them."""


def of_queues(*names: str) -> list[Option]:
    """Return options as commands take them that read nothing but queues."""
    options = [OPTIONS[name] for name in names]
    return [replace(option, words=option.alone, of="") if option.alone else option for option in options]
