"""Schedulers: the sampled market of Liu et al. (IEEE TPDS 2024), and A-SRPT of Luo et al. (INFOCOM 2025, arXiv 2501.05563)."""

from collections.abc import Mapping, Sequence

from dlsched.core import quantities
from dlsched.reproduce.findings import Beside, Findings, Mark, Panel, Series
from dlsched.statistics.inference import Estimate, bootstrap_mean
from dlsched.study.rows import Row

REPORTED = 2.04  # per cent above the optimum
FLOOR = 0.01  # per cent: what is less is drawn there
SAMPLED = "sampled-market"
MARKETS = {
    SAMPLED: "sampled market (the paper's)",
    "beam": "beam (ours)",
    "local-search": "local search",
    "marginal": "marginal gain",
    "equal": "equal shares",
    "fastest-first": "fastest first",
}


Gaps = Mapping[str, Sequence[tuple[str, str, float]]]
"""For each method, the name of every instance whose optimum is proven, its preset, and the gap in per cent."""


def sampling(rows: Sequence[Row]) -> Findings:
    """Gaps of the markets to the proven optimum, beside the reported one."""
    gaps, panel, lines = above_optimum(rows, MARKETS, (f"the abstract: {REPORTED} %", REPORTED))
    mean = bootstrap_mean([gap for _, _, gap in gaps[SAMPLED]])
    presets = list(dict.fromkeys(preset for _, preset, _ in gaps[SAMPLED]))
    by_preset = {preset: [gap for _, of, gap in gaps[SAMPLED] if of == preset] for preset in presets}
    beside = [Beside("sampled market, all instances", mean, REPORTED)]
    beside += [Beside(f"sampled market, {preset}", bootstrap_mean(of), REPORTED) for preset, of in by_preset.items()]
    if mean is not None:
        verdict = "within" if _within(mean.value) else "beyond"
        above = [preset for preset, values in by_preset.items() if not _within(sum(values) / len(values))]
        lines.append(
            f"On average the sampled market is {verdict} {REPORTED} % of the optimum here"
            + (f", though not on {', '.join(above)}." if above and verdict == "within" else ".")
        )
    return Findings([panel], beside, "the abstract", "gap to the optimum, %", [*lines, *left_out(rows)])


def above_optimum(
    rows: Sequence[Row], names: Mapping[str, str], level: tuple[str, float] | None = None
) -> tuple[Gaps, Panel, list[str]]:
    """Gaps of methods to the proven optimum, drawn as a dot an instance, and a sentence for each method."""
    gaps: dict[str, list[tuple[str, str, float]]] = {method: [] for method in names}
    for row in rows:
        if row.method in names and row.ratio is not None and row.reference_kind == "optimum":
            gaps[row.method].append((row.instance, row.preset, 100 * max(0.0, row.ratio - 1)))
    means = {method: bootstrap_mean([gap for _, _, gap in of]) for method, of in gaps.items()}
    series = [
        Series(
            "instance",
            [Mark(names[method], Estimate(gap), name) for method, of in gaps.items() for name, _, gap in of],
            kin="instance",
            cloud=True,
        ),
        Series("mean", [Mark(names[method], mean) for method, mean in means.items() if mean is not None], kin="mean"),
    ]
    lines = []
    # A sentence for each method: mean and worst gap, and how many instances it left without an answer or a proof.
    for method, of in gaps.items():
        asked = sum(row.method == method for row in rows)
        if not of:
            continue
        name, _, worst = max(of, key=lambda each: each[2])
        on_average = quantities.mean(means[method])
        line = names[method][0].upper() + names[method][1:]
        line += f": {on_average} % above the optimum on average, {worst:.2f} % at worst"
        line += f" ({name})" if worst > 0 else ""
        lines.append(line + (f", no answer or no proof to {asked - len(of)} of {asked}." if asked > len(of) else "."))
    panel = Panel(
        "Gap to the optimum",
        "Mean completion time above the proven optimum; small: an instance, large: the mean with its 95 % interval. "
        f"What is below {FLOOR} % is drawn there.",
        "method",
        "gap to the optimum, %",
        series,
        level,
        FLOOR,
    )
    return gaps, panel, lines


def left_out(rows: Sequence[Row]) -> list[str]:
    """Say how many instances have no proven optimum, if any."""
    unproven = {row.instance for row in rows if row.reference_kind != "optimum"}
    return [f"Instances left out, as no optimum was proven: {len(unproven)}."] if unproven else []


def _within(gap: float) -> bool:
    """Whether a gap is at most the reported one, to the digits that the abstract states."""
    return round(gap, 2) <= REPORTED


POLICIES = {
    "a-srpt": "A-SRPT",
    "a-srpt-backfill": "A-SRPT, backfill",
    "a-srpt-compact": "A-SRPT, compact",
    "shortest-first": "shortest first",
    "shortest-backfill": "shortest first, backfill",
    "least-work": "least work",
    "work-backfill": "least work, backfill",
    "work-compact": "least work, compact",
    "work-patient": "least work, patient",
    "fifo": "order of arrival",
    "fifo-backfill": "order of arrival, backfill",
}
LEAST = "the bound: no schedule is below"


def philly(rows: Sequence[Row]) -> Findings:
    """Mean flow time of every policy, a panel for each size of the cluster."""
    clusters: dict[tuple[str, int | None], list[Row]] = {}
    for row in rows:
        clusters.setdefault((row.instance, row.gpus), []).append(row)
    panels, lines = [], []
    # A panel for each cluster; flow times and waits in hours, and the bound as a line.
    for (instance, gpus), of in clusters.items():
        flows = [row for row in of if row.method in POLICIES and "mean_flow_s" in row.figures]
        hours = {row.method: row.figures["mean_flow_s"] / 3600 for row in flows}
        waits = {row.method: row.figures["mean_wait_s"] / 3600 for row in of if "mean_wait_s" in row.figures}
        bound_h = _bound_h(of)
        jobs = next((row.jobs for row in of if row.jobs), 0)
        series = [
            Series(
                "mean flow time", [Mark(POLICIES[m], Estimate(hours[m])) for m in POLICIES if m in hours], kin="flow"
            ),
            Series(
                "of which waiting", [Mark(POLICIES[m], Estimate(waits[m])) for m in POLICIES if m in waits], kin="wait"
            ),
        ]
        panels.append(
            Panel(
                f"{gpus} GPUs",
                f"{jobs:,} jobs ({instance}{_arrivals(of[0])}), all known to their length."
                + (
                    ""
                    if bound_h is None
                    else f" The bound: no schedule has less than {bound_h:.2f} h of mean flow time."
                ),
                "policy",
                "hours, mean of the jobs",
                series,
                None if bound_h is None else (LEAST, bound_h),
            )
        )
        lines += _policy_conclusions(gpus, hours, bound_h)
    return Findings(panels, [], "paper", "mean flow time, h", lines)


def _arrivals(row: Row) -> str:
    """Return when the jobs of a part of a trace arrive, as its source says after the name of the file."""
    _, begins, ends = row.source.rpartition(" [")
    return f", arrivals [{ends}" if begins else ""


def _bound_h(rows: Sequence[Row]) -> float | None:
    """Bound on the mean flow time: objective and bound are sums of completion times, whose constant is that of the flows."""
    bounds = [row.bound for row in rows if row.bound is not None]
    answers = [row for row in rows if row.objective is not None and row.jobs and "mean_flow_s" in row.figures]
    if not bounds or not answers:
        return None
    one = min(answers, key=lambda row: row.objective or 0.0)
    assert one.objective is not None and one.jobs is not None
    return (one.figures["mean_flow_s"] - (one.objective - max(bounds)) / one.jobs) / 3600


def _policy_conclusions(gpus: int | None, hours: dict[str, float], bound_h: float | None) -> list[str]:
    if "a-srpt" not in hours:
        return []
    order = sorted(hours, key=lambda method: hours[method])
    best = order[0]
    lines = [
        f"{gpus} GPUs: best is {POLICIES[best]} with {hours[best]:.2f} h"
        + ("" if not bound_h else f", at most {hours[best] / bound_h:.2f} times the best schedule")
        + f"; A-SRPT is number {order.index('a-srpt') + 1} of {len(order)} with {hours['a-srpt']:.2f} h."
    ]
    beside = [
        f"{hours['a-srpt'] / hours[method]:.2f} times {POLICIES[method]}"
        for method in ("a-srpt-backfill", "a-srpt-compact", "least-work", "fifo")
        if hours.get(method)
    ]
    return lines + ([f"{gpus} GPUs: the mean flow time of A-SRPT is {', '.join(beside)}."] if beside else [])
