"""What the study ``gangs`` found: every policy on each cluster, and what waiting for a better placement is worth."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from dlsched.core.messages import listed
from dlsched.study import Study
from dlsched.study.reports.export import markdown_table
from dlsched.study.rows import Row
from dlsched.traces import import_philly_gangs

BAR_S = 60.0
PLANS = Path(__file__).parents[1] / "studies"
POLICIES = "policy; seconds; total completion time, 1e9 s; / bound; mean flow, h; / bound's; mean wait, h"


def words(rows: Sequence[Row], study: Study) -> Mapping[str, object]:
    """What the page asks for."""
    del study
    tables, best = [], []
    for gpus, held in groupby(rows, key=lambda row: row.gpus or 0):
        bound, *answers = held
        policies = [row for row in answers if "," not in row.method]
        least = min(answers, key=lambda row: row.ratio or 0.0)
        best.append(f"`{least.method}` on {gpus} GPUs, {least.ratio:.3f} times")
        tables += [
            f"## {gpus // 8} servers\n",
            f"{bound.jobs:,} jobs on {gpus} GPUs. Bound: {(bound.bound or 0) / 1e9:.3f}e9 s of total completion time, "
            f"{_bound_flow_h(answers[0]):.2f} h of mean flow; computed in {bound.cpu_s:.0f} s.\n",
            markdown_table(POLICIES.split("; "), map(_cells, policies)),
            f"## Waiting for a better placement, {gpus // 8} servers\n",
            _waiting([row for row in answers if "," in row.method]),
        ]
    slowest_s = max(row.cpu_s or 0.0 for row in rows if row.objective is not None)
    file = PLANS / rows[0].source.partition(" [")[0]
    return {
        "audit": " ".join(import_philly_gangs(str(file), gpus=rows[0].gpus)[1]),
        "slowest": slowest_s,
        "bar": BAR_S,
        "kept": "yes" if slowest_s <= BAR_S else "NO",
        "best": listed(best),
        "tables": "\n".join(tables).strip(),
    }


def _bound_flow_h(row: Row) -> float:
    """Mean flow of the bound: the ratio of a row is that of flow times, as releases are no policy's doing."""
    return row.figures["mean_flow_s"] / 3600 / (row.ratio or 1.0)


def _cells(row: Row) -> list[str]:
    flow_h, wait_h = (row.figures[name] / 3600 for name in ("mean_flow_s", "mean_wait_s"))
    total_s, bound_s = row.objective or 0.0, row.reference or 1.0
    return [
        *(row.method, f"{row.cpu_s:.1f}", f"{total_s / 1e9:.3f}", f"{total_s / bound_s:.5f}"),
        *(f"{flow_h:.2f}", f"{row.ratio:.3f}", f"{wait_h:.2f}"),
    ]


def _waiting(rows: Sequence[Row]) -> str:
    patient: dict[str, dict[str, str]] = {}
    for row in rows:
        policy, _, patience = row.method.rpartition(", ")
        patient.setdefault(policy, {})[patience] = f"{row.figures['mean_flow_s'] / 3600:.2f}"
    columns = next(iter(patient.values()))
    return markdown_table(["policy", *columns], ([policy, *cells.values()] for policy, cells in patient.items()))
