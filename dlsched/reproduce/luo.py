"""A-SRPT (Luo et al., INFOCOM 2025, arXiv 2501.05563) and other policies on the Philly trace."""

from collections.abc import Sequence

from dlsched.reproduce.entry import Entry, Trace
from dlsched.reproduce.findings import Findings, Mark, Panel, Series
from dlsched.statistics.estimate import Estimate
from dlsched.study.rows import Row

NAMES = {
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
    for (instance, gpus), of in clusters.items():
        hours = {row.method: flow_h for row in of if (flow_h := _flow_h(row)) is not None}
        waits = {row.method: row.figures["mean_wait_s"] / 3600 for row in of if "mean_wait_s" in row.figures}
        bound_h = _bound_h(of)
        jobs = next((row.jobs for row in of if row.jobs), 0)
        series = [
            Series("mean flow time", [Mark(NAMES[m], Estimate(hours[m])) for m in NAMES if m in hours], kin="flow"),
            Series("of which waiting", [Mark(NAMES[m], Estimate(waits[m])) for m in NAMES if m in waits], kin="wait"),
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
        lines += _conclusions(gpus, hours, bound_h)
    return Findings(panels, [], "paper", "mean flow time, h", lines)


def _arrivals(row: Row) -> str:
    """Return when the jobs of a part of a trace arrive, as its source says after the name of the file."""
    _, begins, ends = row.source.rpartition(" [")
    return f", arrivals [{ends}" if begins else ""


def _flow_h(row: Row) -> float | None:
    seconds = row.figures.get("mean_flow_s")
    return None if seconds is None or row.method not in NAMES else seconds / 3600


def _bound_h(rows: Sequence[Row]) -> float | None:
    """Bound on the mean flow time: objective and bound are sums of completion times, whose constant is that of the flows."""
    bounds = [row.bound for row in rows if row.bound is not None]
    answers = [row for row in rows if row.objective is not None and row.jobs and "mean_flow_s" in row.figures]
    if not bounds or not answers:
        return None
    one = min(answers, key=lambda row: row.objective or 0.0)
    assert one.objective is not None and one.jobs is not None
    return (one.figures["mean_flow_s"] - (one.objective - max(bounds)) / one.jobs) / 3600


def _conclusions(gpus: int | None, hours: dict[str, float], bound_h: float | None) -> list[str]:
    if "a-srpt" not in hours:
        return []
    order = sorted(hours, key=lambda method: hours[method])
    best = order[0]
    lines = [
        f"{gpus} GPUs: best is {NAMES[best]} with {hours[best]:.2f} h"
        + ("" if not bound_h else f", at most {hours[best] / bound_h:.2f} times the best schedule")
        + f"; A-SRPT is number {order.index('a-srpt') + 1} of {len(order)} with {hours['a-srpt']:.2f} h."
    ]
    beside = [
        f"{hours['a-srpt'] / hours[method]:.2f} times {NAMES[method]}"
        for method in ("a-srpt-backfill", "a-srpt-compact", "least-work", "fifo")
        if hours.get(method)
    ]
    return lines + ([f"{gpus} GPUs: the mean flow time of A-SRPT is {', '.join(beside)}."] if beside else [])


PHILLY = Entry(
    "a-srpt-philly",
    "Luo et al., INFOCOM 2025 (A-SRPT), arXiv 2501.05563; the abstract alone was available",
    "A-SRPT and other policies on the Philly trace",
    "nothing: the abstract states no number",
    (
        "The abstract says that A-SRPT is provably competitive, and that testbed experiments and simulations verify it; it "
        "states no number. Queue, dispatch, the sizes of the virtual jobs, waiting for a better placement and Heavy-Edge are "
        "our reconstruction.",
        "The trace names no model and has no status: models are chosen by the GPUs of a job, an assumption of ours, and jobs "
        "that failed count as done after their duration. Servers of 8 GPUs and their networks are choices of ours. Predictions "
        "are perfect.",
    ),
    philly,
    ({"gpus": 480, "from": "2017-10-09", "to": "2017-10-16"},),
    150,
    15,
    Trace("philly_jobs.csv", "github.com/petuum/adaptdl, branch osdi21-artifact"),
    ({"jobs": 10000, "gpus": 480},),
    "jobs are drawn instead, 93 in 100 on one GPU, lengths by four quantiles of the trace's, more work than the cluster can do "
    "while they arrive.",
)
