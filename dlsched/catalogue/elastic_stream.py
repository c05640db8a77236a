"""Names of elastic_stream: its methods, presets and options."""

from dlsched.catalogue.families import COUNTS, TABLES, ListedFamily, ListedMethod, Option, by_name
from dlsched.catalogue.solvers import able

ORDERS = ("fifo", "srpt", "sjf", "las", "efficiency")
"""Who comes first, in the grid of Lin et al."""
SIZINGS = ("fixed", "fastest", "knee", "equal", "marginal")
"""How many units each gets, in that grid."""

_WARM = "exact:offer_quick"
_ALIASES = {f"fifo-{sizing}": sizing for sizing in ("fixed", "equal", "marginal")}
"""Cells of the grid that have a name of their own."""


_PROMISES = {
    **{"doubling": "HALF", "marginal": "ALL", "fixed": "EIGHT", "equal": "HALF", "weighted": "ALL"},
    **{"fastest": "FASTEST", "srpt-fastest": "REMAINING", "sjf-fastest": "SHORTEST"},
}
"""Guarantees by method, or by sizing for all orders."""


def _policy(name: str, function: str = "", **arguments: object) -> ListedMethod:
    promise = _PROMISES.get(name, _PROMISES.get(str(arguments.get("sizing")), ""))
    guarantee, function = promise and f"policies.guarantees:{promise}", f"heuristics:{function or name}"
    return ListedMethod(name, "heuristic", function=function, arguments=arguments, guarantee=guarantee)


def _cell(order: str, sizing: str) -> ListedMethod:
    return _policy(f"{order}-{sizing}", "ordered", order=order, sizing=sizing)


LISTED = ListedFamily(
    name="elastic_stream",
    methods=(
        ListedMethod("exact", "exact", "exact:run_exact", seeded=True, warm=_WARM),
        ListedMethod(
            "milp",
            "exact",
            "exact:run_milp",
            solvers=able("milp"),
            warm=_WARM,
            require="exact:require_milp",
        ),
        *map(_policy, ("doubling", "marginal", "fixed", "equal", "exploratory", "myopic", "weighted", "priced")),
        *(_cell(order, sizing) for order in ORDERS for sizing in SIZINGS if f"{order}-{sizing}" not in _ALIASES),
        ListedMethod("plan", "heuristic", "exact:run_plan", seeded=True, warm=_WARM),
        ListedMethod("bound", "bound", "exact:run_bound"),
        ListedMethod("area", "bound", function="bounds:area"),
        ListedMethod("length", "bound", function="bounds:length"),
        ListedMethod("prices", "bound", "exact:run_prices"),
    ),
    aliases=_ALIASES,
    presets={
        "poisson": "published speeds, Poisson arrivals",
        "bursts": "published speeds, groups of jobs that arrive together",
        "daynight": "published speeds, an arrival rate that rises and falls once a day",
        "resnet110": "identical ResNet-110 jobs, Poisson arrivals",
        "search": "hyperparameter searches: groups of alike jobs of which most are stopped early",
        "slots": "few small jobs that decide at ticks, for exact methods",
    },
    formulations={"milp": "formulations.milp:build_milp"},
    options=by_name(
        Option("load", float, "X", "Work that arrives over capacity", "streams and gangs"),
        Option("tick", float, "S", "Seconds between decisions", "streams only"),
        Option("weights", str, "A,B,C", "Weights of which each job gets one", "streams only"),
    ),
    space=by_name(TABLES, COUNTS, Option("restart", float, "X", "Most seconds of a restart, below 100")),
    suite=(
        {"preset": ("poisson", "bursts", "resnet110"), "jobs": (4,), "gpus": (8,)},
        {"preset": ("slots",), "jobs": (8,), "gpus": (3,)},
    ),
)
