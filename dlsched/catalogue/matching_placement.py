"""Names of matching_placement: its methods, presets and options."""

from dlsched.catalogue.families import ListedFamily, ListedMethod, Option, by_name
from dlsched.catalogue.solvers import able

_WARM, _SOON = "heuristics:warm", "heuristics:offer_soon"

LISTED = ListedFamily(
    name="matching_placement",
    methods=(
        ListedMethod("exact", "exact", "exact:run_exact", warm=_WARM),
        ListedMethod("columns", "exact", "exact:run_columns", warm=_WARM),
        ListedMethod("dp", "exact", "exact:run_dp", warm=_WARM, require="exact:require_dp"),
        ListedMethod(
            "milp",
            "exact",
            "exact:run_milp",
            solvers=able("integer milp"),
            warm=_WARM,
            require="exact:require_milp",
        ),
        ListedMethod(
            "assignment",
            "exact",
            "exact:run_assignment",
            solvers=able("milp"),
            warm=_WARM,
            require="formulations.assignment:require_assignment",
        ),
        ListedMethod(
            "minlp",
            "exact",
            "exact:run_minlp",
            solvers=able("minlp"),
            warm=_WARM,
            require="formulations.assignment:require_minlp",
        ),
        ListedMethod("beam", "heuristic", "methods:run_beam", warm=_SOON),
        ListedMethod(
            "local-search",
            "heuristic",
            function="heuristics:local_search",
            guarantee="heuristics:MARGINAL",
        ),
        ListedMethod("marginal", "heuristic", function="heuristics:marginal", guarantee="heuristics:MARGINAL"),
        ListedMethod("market", "heuristic", "methods:run_market", warm=_SOON),
        ListedMethod("sampled-market", "heuristic", "methods:run_sampled_market", seeded=True, warm=_SOON),
        ListedMethod("equal", "heuristic", function="heuristics:equal"),
        ListedMethod("fastest-first", "heuristic", "methods:run_fastest_first"),
        ListedMethod("configuration-lp", "bound", function="bounds:configuration_lp"),
        ListedMethod("lagrange", "bound", function="bounds:lagrange"),
        ListedMethod("relaxation", "bound", function="bounds:relaxation"),
    ),
    presets={
        "few-types": "2 to 4 types of workers",
        "many-types": "8 to 10 types of workers",
        "distinct-workers": "every worker a type of its own",
        "compute-only": "few types, jobs that exchange nothing",
        "communication-heavy": "few types on slow and fast networks, large gradients",
        "published-rates": "published models and rates on K80, P100, T4, V100 and A100",
    },
    formulations={
        "milp": "formulations.milp:build_milp",
        "priced": "exact:PRICED",
        "assignment": "formulations.assignment:build_assignment",
    },
    options=by_name(
        Option("types", int, "N", "Number of types of workers, but for published-rates; default: by preset"),
        Option("objective", str, "NAME", "What is optimised; matching: mean, max_rho, alpha_fair"),
        Option("alpha", float, "A", "Of alpha_fair: the larger, the more the slowest jobs count"),
    ),
    space=by_name(
        Option("objective", str, "X", "As `generate` takes them"),
        Option("alpha", float, "X", "As `generate` takes them"),
        Option(
            "limited",
            bool,
            "",
            "Whether jobs may have a smallest and a largest number of workers, and types that cannot serve them; in presets "
            "they do",
            negated=True,
        ),
    ),
)
