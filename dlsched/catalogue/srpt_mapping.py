"""Names of srpt_mapping: its methods, presets and options."""

from dlsched.catalogue.families import ListedFamily, ListedMethod, Option, by_name
from dlsched.catalogue.solvers import able

_WARM = "exact:warm"
_BUSY = "heuristics:BUSY"


def _policy(name: str, function: str, guarantee: str = "", module: str = "heuristics") -> ListedMethod:
    return ListedMethod(name, "heuristic", function=f"{module}:{function}", guarantee=guarantee)


def _of_slices(name: str, searched: str = "shares") -> ListedMethod:
    run = f"methods:run_{name.replace('-', '_')}"
    own = {"slicing": searched}
    return ListedMethod(
        name, "heuristic", run, guarantee=_BUSY, require="slices:require_slices", for_some=True, searched=own
    )


LISTED = ListedFamily(
    name="srpt_mapping",
    methods=(
        ListedMethod("exact", "exact", "exact:run_exact", seeded=True, warm=_WARM),
        ListedMethod("intervals", "exact", "methods:run_intervals", solvers=able("intervals"), warm=_WARM),
        ListedMethod(
            "milp",
            "exact",
            "methods:run_milp",
            solvers=able("milp"),
            warm=_WARM,
            require="formulations.milp:require_few_pairs",
        ),
        _policy("a-srpt", "a_srpt"),
        _policy("a-srpt-strict", "a_srpt_strict", "heuristics:STRICT"),
        _policy("a-srpt-backfill", "a_srpt_backfill"),
        _policy("a-srpt-compact", "a_srpt_compact"),
        _policy("shortest-first", "shortest_first", _BUSY),
        _policy("shortest-backfill", "shortest_backfill", _BUSY),
        _policy("least-work", "least_work_first", _BUSY),
        _policy("work-backfill", "work_backfill", _BUSY),
        _policy("work-compact", "work_compact", _BUSY),
        _policy("work-patient", "work_patient"),
        _policy("fifo", "fifo", _BUSY),
        _policy("fifo-backfill", "fifo_backfill", _BUSY),
        _policy("easy", "easy", module="reservations"),
        _policy("conservative", "conservative", module="reservations"),
        _of_slices("first-fit", "A100-40GB"),
        _of_slices("best-fit"),
        _of_slices("dot-product"),
        _of_slices("fgd", "A100-40GB"),
        ListedMethod("annealing", "heuristic", "methods:run_annealing", seeded=True),
        ListedMethod("plan", "heuristic", "methods:run_plan", seeded=True, require="planning:require_few_jobs"),
        ListedMethod("bound", "bound", "methods:run_bound"),
        ListedMethod("packing", "bound", "methods:run_packing", require="bounds:require_few"),
        ListedMethod("prices", "bound", "methods:run_prices"),
        ListedMethod("machine", "bound", function="bounds:machine"),
        ListedMethod("length", "bound", function="bounds:length"),
    ),
    presets={
        "mixed": "chains of 1 to 4 stages on 1 to 16 GPUs",
        "communication-heavy": "large activations and parameters, slow network cards",
        "data-parallel": "one stage, replicas in powers of two",
        "single-gpu": "nearly all jobs on one GPU, heavy-tailed lengths",
        "published": "published models as pipelines with replicas",
        "recurring": "groups of like jobs, wrong predictions",
        "uneven-servers": "servers of 1, 2, 4 and 8 GPUs",
        "shared": "shares of GPUs, and whole ones",
        "openb": "shares and whole GPUs as in Alibaba's trace openb",
        "mig": "MIG profiles of an A100",
    },
    formulations={"milp": "formulations.milp:build_milp"},
    options=by_name(
        Option("load", float, "X", "Work that arrives over capacity", "streams and gangs"),
        Option("placement", str, "X", "`any` servers, or as few as can be, `consolidated`", "gangs"),
    ),
    space=by_name(
        Option(
            "prediction_error",
            float,
            "X",
            "Predictions are between the true numbers divided by it and times it; 1: they are true",
        ),
        Option(
            "sends",
            bool,
            "",
            "Whether jobs send bytes. False: it does not matter where they run, only when; one server holds all GPUs",
            negated=True,
        ),
        Option("slicing", str, "X", "Jobs take slices of GPUs, `shares`, or of a geometry such as `A100-40GB`"),
    ),
)
