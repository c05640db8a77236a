"""Names of ring_allocation: its methods, presets and options."""

from dlsched.catalogue.families import COUNTS, TABLES, ListedFamily, ListedMethod, by_name
from dlsched.catalogue.solvers import able

_WARM = "methods:warm"

LISTED = ListedFamily(
    name="ring_allocation",
    methods=(
        ListedMethod("exact", "exact", "methods:run_knapsack", warm=_WARM),
        ListedMethod("dp", "exact", "methods:run_dp", warm=_WARM),
        ListedMethod("milp", "exact", "methods:run_milp", solvers=able("integer milp"), warm=_WARM),
        ListedMethod("minlp", "exact", "methods:run_minlp", solvers=able("minlp"), warm=_WARM),
        ListedMethod("doubling", "heuristic", function="heuristics:doubling", guarantee="heuristics:DOUBLING"),
        ListedMethod("marginal", "heuristic", function="heuristics:marginal", guarantee="heuristics:MARGINAL"),
        ListedMethod("fixed", "heuristic", function="heuristics:fixed", guarantee="heuristics:FIXED"),
        ListedMethod("equal", "heuristic", function="heuristics:equal", guarantee="heuristics:EQUAL"),
        ListedMethod("hull", "heuristic", function="heuristics:hull", guarantee="heuristics:HULL"),
        ListedMethod("lagrange", "bound", "methods:run_lagrange", in_blocks=True),
        ListedMethod("lp", "bound", "methods:run_lp", solvers=able("multipliers")),
    ),
    aliases={"knapsack": "exact"},
    presets={
        "mixed": "all-reduce costs with jumps off the powers of two",
        "table": "published measured speeds with random epochs",
        "concave": "speed laws with convex times",
        "adversarial": "tables on which adding one GPU stalls",
    },
    formulations={"milp": "formulations:build_milp"},
    space=by_name(TABLES, COUNTS),
)
