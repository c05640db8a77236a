"""Names of ring_embedding: its methods, presets and options."""

from dlsched.catalogue.families import ListedFamily, ListedMethod, Option, by_name
from dlsched.catalogue.solvers import able

_WARM = "methods:warm"

LISTED = ListedFamily(
    name="ring_embedding",
    methods=(
        ListedMethod("exact", "exact", "methods:run_exact", seeded=True, warm=_WARM),
        ListedMethod("milp", "exact", "methods:run_milp", solvers=able("milp"), warm=_WARM),
        ListedMethod("arc", "exact", "methods:run_arc", solvers=able("milp"), warm=_WARM),
        ListedMethod("circuit", "exact", "methods:run_circuit", solvers=able("circuits"), warm=_WARM),
        ListedMethod("plan", "heuristic", "methods:run_plan"),
        ListedMethod(
            "slot-greedy", "heuristic", "methods:run_slot_greedy", guarantee="heuristics.slot_greedy:HALF", seeded=True
        ),
        ListedMethod("gadget", "heuristic", "methods:run_gadget", seeded=True),
        ListedMethod("density", "heuristic", function="heuristics.baselines:density"),
        ListedMethod("fifo", "heuristic", function="heuristics.baselines:fifo"),
        ListedMethod("las", "heuristic", function="heuristics.baselines:las"),
        ListedMethod("drf", "heuristic", function="heuristics.baselines:drf"),
        ListedMethod("bound", "bound", "methods:run_bound"),
        ListedMethod("columns", "bound", "methods:run_columns"),
        ListedMethod("horizon", "bound", function="objectives:horizon"),
        ListedMethod("aggregated", "bound", function="objectives:aggregated"),
    ),
    presets={
        "paper": "the ranges of GADGET's experiments, sigmoids",
        "paper-sqrt": "the same with square roots",
        "paper-log": "the same with logarithms",
        "slot": "one slot, scarce bandwidth, concave utilities",
        "small": "four jobs, servers and slots, any utility",
        "mixed": "GPUs and CPUs, any utility",
        "general": "no tree: listed paths",
        "fat-tree": "a bundled fat tree, any utility",
        "energy": "power of servers and workers at a price, alpha-fair utilities with alpha = .5",
        "paper-energy": "the paper's sizes with energy at a price, alpha-fair utilities with alpha = .5",
        "paper-alpha1": "the paper's sizes, one alpha-fair utility for all jobs with alpha = 1",
        "paper-alpha2": "the same with alpha = 2",
        "paper-loss": "the paper's sizes, utilities from loss curves",
        "fair": "the least utility counts, one alpha-fair utility for all jobs",
    },
    formulations={
        "arc": "formulations.linear:build_arc",
        "span": "formulations.linear:build_span",
        "vectors": "vectors:VECTORS",
    },
    options=by_name(
        Option("servers", int, "N", "Servers of the network", "rings only"),
        Option("slots", int, "N", "Slots of time", "rings only"),
        Option("alpha", float, "A", "Alpha of alpha-fair utilities", "rings, matching"),
        Option("energy_price", float, "P", "Price of a kWh, in utility", "rings only"),
    ),
    space=by_name(
        Option("servers", int, "X", "The most servers; None: 4"),
        Option("slots", int, "X", "The most slots; None: 4"),
        Option(
            "utility",
            str,
            "X",
            "`sigmoid` (the paper's; by default), `capped`, `sqrt` or `log`; presets have their own",
        ),
    ),
    suite=(
        {
            "preset": ("paper", "paper-sqrt", "paper-log", "paper-alpha1", "paper-alpha2", "paper-loss"),
            "jobs": (6,),
            "servers": (20,),
            "slots": (20,),
        },
        {"preset": ("slot", "small", "fat-tree", "fair"), "jobs": (4,)},
    ),
)
