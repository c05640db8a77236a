"""Names of async_sgd: its methods, presets and options."""

from dlsched.catalogue.families import ListedFamily, ListedMethod, Option, by_name
from dlsched.catalogue.solvers import able

_WARM = "methods:warm"

LISTED = ListedFamily(
    name="async_sgd",
    methods=(
        ListedMethod("exact", "exact", "methods:run_exact", warm=_WARM),
        ListedMethod("knapsack", "exact", "methods:run_knapsack", warm=_WARM),
        ListedMethod("milp", "exact", "methods:run_milp", solvers=able("integer milp"), warm=_WARM),
        ListedMethod("marginal", "heuristic", function="heuristics:marginal", guarantee="heuristics:MARGINAL"),
        ListedMethod("knee", "heuristic", function="heuristics:knee"),
        ListedMethod("proportional", "heuristic", function="heuristics:proportional"),
        ListedMethod("equal", "heuristic", function="heuristics:equal"),
        ListedMethod("fixed", "heuristic", function="heuristics:fixed"),
        ListedMethod("lagrange", "bound", "methods:run_lagrange"),
        ListedMethod("lp", "bound", "methods:run_lp", solvers=able("multipliers")),
    ),
    presets={
        "published": "published models on links of 1, 10 or 25 Gbit/s",
        "network": "few workers fill the servers' links",
        "update": "few workers keep the servers' updates busy",
        "compute": "throughput nearly in proportion to the workers",
        "mixed": "figures over orders of magnitude, shards, half duplex",
        "equal": "copies of one job",
    },
    formulations={"milp": "formulations:build_milp"},
    options=by_name(
        Option("nodes", int, "N", "Nodes of the cluster", "asynchronous SGD"),
        Option("max_nodes", int, "N", "Most nodes of a job", "asynchronous SGD"),
    ),
    space=by_name(),
)
