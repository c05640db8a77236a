"""Names that are known before anything is imported: those of the families, and what shells complete.

A family is a name in ``FAMILIES`` and a package of that name with a record, ``FAMILY``. Importing it takes longer than a
shell may wait; so what is asked of dlsched's own stands here once more, and a test holds it equal to their records.
"""

from importlib import import_module
from typing import TYPE_CHECKING

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

SOLVERS = ("highs", "cbc", "scip", "cpsat")
SOURCES = ("pcs", "gavel-speeds", "adaptdl", "philly", "gavel", "philly-gangs", "gavel-gangs", "tiresias")


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
    record: AnyFamily = import_module(f"dlsched.{family}").FAMILY
    return record
