"""Names that are known before anything is imported: those of the families, and what shells complete.

A family is a name in ``FAMILIES`` and a package of that name with a record, ``FAMILY``. Importing it takes longer than a
shell may wait; so what is asked of dlsched's own stands here once more, and a test holds it equal to their records.
"""

from importlib import import_module
from typing import TYPE_CHECKING, cast

from dlsched.catalogue import solvers

if TYPE_CHECKING:
    from dlsched.core.family import AnyFamily

FAMILIES = (
    "ring_allocation",
    "elastic_stream",
    "matching_placement",
    "srpt_mapping",
    "ring_embedding",
    "async_sgd",
)

_METHODS: dict[str, tuple[str, ...]] = {
    "ring_allocation": (
        "exact",
        "dp",
        "milp",
        "minlp",
        "doubling",
        "marginal",
        "fixed",
        "equal",
        "hull",
        "lagrange",
        "lp",
        "knapsack",
    ),
    "elastic_stream": (
        "exact",
        "milp",
        "doubling",
        "marginal",
        "fixed",
        "equal",
        "exploratory",
        "myopic",
        "weighted",
        "priced",
        "fifo-fastest",
        "fifo-knee",
        "srpt-fixed",
        "srpt-fastest",
        "srpt-knee",
        "srpt-equal",
        "srpt-marginal",
        "sjf-fixed",
        "sjf-fastest",
        "sjf-knee",
        "sjf-equal",
        "sjf-marginal",
        "las-fixed",
        "las-fastest",
        "las-knee",
        "las-equal",
        "las-marginal",
        "efficiency-fixed",
        "efficiency-fastest",
        "efficiency-knee",
        "efficiency-equal",
        "efficiency-marginal",
        "plan",
        "bound",
        "area",
        "length",
        "prices",
        "fifo-fixed",
        "fifo-equal",
        "fifo-marginal",
    ),
    "matching_placement": (
        "exact",
        "columns",
        "dp",
        "milp",
        "assignment",
        "minlp",
        "beam",
        "local-search",
        "marginal",
        "market",
        "sampled-market",
        "equal",
        "fastest-first",
        "configuration-lp",
        "relaxation",
    ),
    "srpt_mapping": (
        "exact",
        "intervals",
        "milp",
        "a-srpt",
        "a-srpt-strict",
        "a-srpt-backfill",
        "a-srpt-compact",
        "shortest-first",
        "shortest-backfill",
        "least-work",
        "work-backfill",
        "work-compact",
        "work-patient",
        "fifo",
        "fifo-backfill",
        "annealing",
        "plan",
        "bound",
        "prices",
        "machine",
        "length",
    ),
    "ring_embedding": (
        "exact",
        "milp",
        "arc",
        "circuit",
        "plan",
        "slot-greedy",
        "gadget",
        "density",
        "fifo",
        "las",
        "drf",
        "bound",
        "columns",
        "horizon",
        "aggregated",
    ),
    "async_sgd": ("exact", "knapsack", "milp", "marginal", "knee", "proportional", "equal", "fixed", "lagrange", "lp"),
}
"""Of each family: exact methods, heuristics, bounds; further names of some at the end."""

_PRESETS: dict[str, tuple[str, ...]] = {
    "ring_allocation": ("mixed", "table", "concave", "adversarial"),
    "elastic_stream": ("poisson", "bursts", "daynight", "resnet110", "search", "slots"),
    "matching_placement": (
        "few-types",
        "many-types",
        "distinct-workers",
        "compute-only",
        "communication-heavy",
        "published-rates",
    ),
    "srpt_mapping": (
        "mixed",
        "communication-heavy",
        "data-parallel",
        "single-gpu",
        "published",
        "recurring",
        "uneven-servers",
    ),
    "ring_embedding": (
        "paper",
        "paper-sqrt",
        "paper-log",
        "slot",
        "small",
        "mixed",
        "general",
        "fat-tree",
        "energy",
        "paper-energy",
        "paper-alpha1",
        "paper-alpha2",
        "paper-loss",
        "fair",
    ),
    "async_sgd": ("published", "network", "update", "compute", "mixed", "equal"),
}
"""Kinds of random instances."""

_FORMULATIONS: dict[str, tuple[str, ...]] = {
    "ring_allocation": ("milp",),
    "elastic_stream": ("milp",),
    "matching_placement": ("milp", "assignment"),
    "srpt_mapping": ("milp",),
    "ring_embedding": ("arc", "span"),
    "async_sgd": ("milp",),
}
"""Linear models, for ``dlsched export``."""

_OPTIONS: dict[str, dict[str, tuple[type, str, str]]] = {
    "ring_allocation": {},
    "elastic_stream": {
        "load": (float, "X", "Work that arrives over capacity; streams and gangs."),
        "tick": (float, "S", "Seconds between decisions; streams only."),
        "weights": (str, "A,B,C", "Weights of which each job gets one; streams only."),
    },
    "matching_placement": {
        "objective": (str, "NAME", "What is optimised; matching: mean, max_rho, alpha_fair."),
        "alpha": (float, "A", "Of alpha_fair: the larger, the more the slowest jobs count."),
    },
    "srpt_mapping": {"load": (float, "X", "Work that arrives over capacity; streams and gangs.")},
    "ring_embedding": {
        "servers": (int, "N", "Servers of the network; rings only."),
        "slots": (int, "N", "Slots of time; rings only."),
        "alpha": (float, "A", "Alpha of alpha-fair utilities; rings, matching."),
        "energy_price": (float, "P", "Price of a kWh, in utility; rings only."),
    },
    "async_sgd": {
        "nodes": (int, "N", "Nodes of the cluster; asynchronous SGD."),
        "max_nodes": (int, "N", "Most nodes of a job; asynchronous SGD."),
    },
}
"""Options of ``dlsched generate`` that not every family takes."""

SOLVERS = tuple(solvers.SOLVERS)
SOURCES = (
    *("pcs", "gavel-speeds", "adaptdl", "philly", "gavel", "philly-gangs", "gavel-gangs", "tiresias"),
    *("slurm", "kueue", "volcano", "openb", "pai", "acme", "helios", "philly-raw", "csv"),
)

QUEUES = ("philly", "gavel", "tiresias", *SOURCES[8:])
"""Sources of queues, which ``dlsched whatif`` reads."""

SLICES = ("leave-out", "whole")
"""What becomes of jobs on parts of GPUs."""

IMPORT_OPTIONS: dict[str, tuple[type, str, str]] = {
    "gpus": (int, "N", "GPUs of the cluster."),
    "epochs": (float, "X", "Epochs that every job has left; tables, 100."),
    "max_gpus": (int, "N", "GPUs to which a job may grow; philly, published scaling."),
    "gpu_type": (str, "TYPE", "V100, P100 or K80; gavel, V100."),
    "restart": (float, "S", "Seconds that a restart costs; streams, 0."),
    "from": (str, "T", "Arrivals from here on; traces."),
    "to": (str, "T", "Arrivals before it; date or seconds."),
    "family": (str, "FAMILY", "Family of the instance; traces and queues."),
    "states": (str, "A,B", "Keep the jobs in these states; queues, all."),
    "slices": (str, "HOW", "leave-out or whole: jobs on parts of GPUs; queues, leave-out."),
    "estimates": (bool, "", "Policies see the users' limits, not the lengths; queues."),
    "carried": (bool, "", "With the jobs that had not ended at --from; queues."),
    "gpus_of_node": (int, "N", "GPUs of a server; queues, 8."),
    "communication": (str, "HOW", "none or published stages; srpt_mapping, none."),
    "scaling": (str, "HOW", "own, published or asynchronous; elastic_stream, own; ring_allocation, published."),
    "at": (str, "T", "The moment, date or seconds; ring_allocation, matching_placement, async_sgd, the latest."),
    "pinned": (bool, "", "Jobs that run keep their GPUs; ring_allocation."),
    "slot": (float, "S", "Seconds of a slot; ring_embedding, 3600."),
    "utility": (str, "KIND", "capped, sqrt or log; ring_embedding, capped."),
    "sizes": (str, "HOW", "trace, or drawn as in paper, paper-sqrt, paper-log; ring_embedding, trace."),
    "seed": (int, "N", "Seed of what is drawn; ring_embedding, 0."),
    "bandwidth": (float, "B/S", "Of every ring, 1.25e9, or worker, 1.25e10; ring_embedding, matching_placement."),
    "server_link": (float, "B/S", "From servers to their racks; ring_embedding, 1.25e10."),
    "rack_link": (float, "B/S", "From racks to the core; ring_embedding, 5e10."),
    "rack": (int, "N", "Servers of a rack; ring_embedding, 8."),
    "gradient": (float, "BYTES", "That rings exchange; matching_placement, 0."),
    "network": (int, "GBIT/S", "Of parameter servers, 1, 10 or 25; async_sgd and streams of it, 10."),
    "nodes": (str, "FILE", "List of nodes; openb, pai, philly-raw."),
    "jobs": (str, "FILE", "Table of jobs; pai."),
    "map": (str, "KEY=COLUMN,...", "Which column is what; csv."),
    "delimiter": (str, "SIGN", "What parts the cells; slurm, csv."),
    "gpu_resource": (str, "NAME", "What a GPU is called; kueue, volcano."),
}
"""Options of ``dlsched import`` and of the traces of plans: type, placeholder, words."""

_ARGUMENTS = {
    **{"restart": "restart_s", "from": "from_", "map": "columns", "slot": "slot_s", "network": "network_gbit"},
    **{"bandwidth": "bandwidth_bytes_per_s", "gradient": "gradient_bytes", "rack": "servers_of_rack"},
    **{"server_link": "server_bytes_per_s", "rack_link": "rack_bytes_per_s"},
}


def import_argument(option: str) -> str:
    """Name of an option of ``dlsched import`` in Python."""
    return _ARGUMENTS.get(option, option)


def methods(family: str) -> tuple[str, ...]:
    """Methods of a family and further names of some."""
    record = None if family in _METHODS else record_of(family)
    return _METHODS[family] if record is None else (*record.methods, *record.aliases)


def presets(family: str) -> tuple[str, ...]:
    """Kinds of random instances of a family."""
    return _PRESETS[family] if family in _PRESETS else tuple(record_of(family).presets)


def formulations(family: str) -> tuple[str, ...]:
    """Linear models of a family."""
    return _FORMULATIONS[family] if family in _FORMULATIONS else tuple(record_of(family).formulations)


def options(family: str) -> dict[str, tuple[type, str, str]]:
    """Options of a family's own for ``dlsched generate``."""
    return _OPTIONS[family] if family in _OPTIONS else dict(record_of(family).options)


def record_of(family: str) -> "AnyFamily":
    """Import a family and return its record."""
    return cast("AnyFamily", import_module(f"dlsched.{family}").FAMILY)
