"""What the study ``heavy_edge`` found: the ratios of two rules, and how long proofs took."""

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np
from cases import cases, compared, shown
from studies.heavy_edge import cases as drawn

from dlsched.study import Study
from dlsched.study.reports.export import markdown_table
from dlsched.study.rows import Row

RULES = ("Heavy-Edge", "compact")
COLUMNS = ("rule, servers", "cases", "is the best", "mean ratio", "median", "75 %", "90 %", "99 %", "worst")


def words(rows: Sequence[Row], study: Study) -> Mapping[str, object]:
    """What the page asks for."""
    ratios = cases([row for row in rows if row.method in RULES and row.ratio is not None], lambda row: row.ratio)
    ratios["all"] = {rule: np.concatenate([each[rule] for each in ratios.values()]) for rule in RULES}
    proofs = {row.instance: row.time_s or 0.0 for row in rows if row.method == "best" and row.objective is not None}
    times = {row.instance: row.time_s or 0.0 for row in rows if row.method == RULES[0]}
    large = [seconds for name, seconds in proofs.items() if _is_large(name)]
    worst = max((row for row in rows if row.method == RULES[0]), key=lambda row: row.ratio or 0.0)
    instance = study.instance(worst.key)
    table = []
    for kind, each in ratios.items():
        for rule, found in each.items():
            cuts = [f"{cut:.3f}" for cut in (found.mean(), *np.quantile(found, [0.5, 0.75, 0.9, 0.99, 1.0]))]
            table.append([f"{rule}, {kind}", str(len(found)), f"{(found <= 1 + 1e-6).mean():.0%}", *cuts])
    mine, other = (ratios["all"][rule] for rule in RULES)
    return {
        "rules": markdown_table(COLUMNS, table),
        "verdict": compared(mine, other),
        "less": shown(mine - other, "+"),
        "proven": len(proofs),
        "cases": len(times),
        "large": len(large),
        "median": median(large),
        "most": max(large),
        "slower": median(seconds / times[name] for name, seconds in proofs.items()),
        "worst": worst.ratio or 0.0,
        "replicas": ", ".join(str(stage.replicas) for stage in instance.jobs[0].stages),
        "free": instance.source,
        "kind": worst.preset,
        "case": worst.instance,
    }


def _is_large(name: str) -> bool:
    each = drawn()[int(name.removeprefix("case-"))]
    return len(each.sizes) == 16 and sum(stage["replicas"] for stage in each.stages) == 32
