"""Slices of GPUs: rules that place tasks of Alibaba's trace openb (Weng et al., USENIX ATC 2023), and small instances."""

from collections.abc import Mapping, Sequence

from dlsched.core import quantities
from dlsched.reproduce.findings import Beside, Findings, Panel, Series, marks_of, mean_of, stated
from dlsched.reproduce.schedulers import above_optimum, left_out
from dlsched.study.reproduce.openb import ceiling, draw, prices_of
from dlsched.study.rows import Row

RULES = {"first-fit": "first fit", "best-fit": "best fit", "dot-product": "dot product", "fgd": "FGD"}
PLANNED = {"planned": "knowing all tasks (ours)"}
LEAST = "bound"
BOUND = "no placement leaves less"
REPORTED: Mapping[str, Mapping[str, float]] = {
    "default": {"fgd": 4.77, "best-fit": 7.14, "dot-product": 9.38},
    "gpushare100": {"fgd": 13.36, "best-fit": 15.36},
    "gpuspec33": {"fgd": 12.17, "best-fit": 19.48},
    "multigpu50": {"fgd": 2.91, "best-fit": 4.38},
}
"""Per cent of the GPUs that are not allocated when as many as there are have been asked for, means of seeds 42 to 51 (best fit:
of gpushare100 43 to 51, of gpuspec33 44 to 46; FGD: of gpuspec33 43 to 51): hkust-adsl/kubernetes-scheduler-simulator,
experiments/analysis/expected_results/analysis_allo_discrete.csv."""


def allocation(rows: Sequence[Row]) -> Findings:
    """Share of the GPUs that each rule leaves unallocated, and the least that any placement does, by variant."""
    values: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        variant, part, seed = str(row.arguments["variant"]), row.arguments["part"], row.arguments["seed"]
        assert isinstance(part, int) and isinstance(seed, int) and row.gpus is not None
        of = values.setdefault(variant, {LEAST: []})
        if "allocated_at_last_release" in row.figures:
            of.setdefault(row.method, []).append(100 * (1 - row.figures["allocated_at_last_release"]))
        if row.method == "fgd":
            nodes, tasks = draw(variant, part, seed)
            of[LEAST].append(100 * max(0.0, 1 - float(ceiling(nodes, tasks, prices_of(nodes, tasks))) / row.gpus))
    names = RULES | PLANNED | {LEAST: BOUND}
    series = [
        Series(name, marks_of((variant, of.get(method, [])) for variant, of in values.items()), kin=name)
        for method, name in names.items()
    ]
    for method, name in RULES.items():
        numbers = [(variant, of[method]) for variant, of in REPORTED.items() if variant in values and method in of]
        series.append(stated(f"{name}, the paper's", numbers, "paper", name))
    panel = Panel("GPUs not allocated", SAYS, "variant", "GPUs not allocated, %", series)
    lines, beside = [], []
    # a sentence for each variant: the best rule, FGD, the bound and what is between
    for variant, of in values.items():
        means = {method: mean_of(found) for method, found in of.items()}
        beside += [
            Beside(f"{variant}, {RULES[method]}", means.get(method), number)
            for method, number in REPORTED.get(variant, {}).items()
        ]
        least, fgd, best = means[LEAST], means.get("fgd"), means.get("planned")
        if least is None or fgd is None:
            continue
        above = mean_of(found - low for found, low in zip(of["fgd"], of[LEAST], strict=True))
        lines.append(
            f"{variant}: FGD leaves {quantities.mean(fgd)} % of the GPUs, proven to be at most {quantities.mean(above)} points "
            f"more than any placement, as none leaves less than {quantities.mean(least)} %"
            + (f"; knowing all tasks, {quantities.mean(best)} %." if best else ".")
        )
    return Findings([panel], beside, "the paper's repository", "GPUs not allocated, %", lines)


SAYS = (
    "Share of the GPUs that nobody has when the tasks that have arrived ask for as many as there are; means of the seeds with "
    "their 95 % intervals. Hollow: the means of the paper's repository, with CPUs."
)
POLICIES = RULES | {"fifo-backfill": "order of arrival, backfill", "work-backfill": "least work, backfill"}


def small(rows: Sequence[Row]) -> Findings:
    """Gaps of rules for slices and of plain policies to the proven optimum."""
    _, panel, lines = above_optimum(rows, POLICIES)
    return Findings([panel], [], "paper", "gap to the optimum, %", [*lines, *left_out(rows)])
