"""What the study ``grid`` found: the best orders and sizings, and what each does, by paired comparisons."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
from cases import Cases, alike, cases, differs, interval, shown

from dlsched import async_sgd
from dlsched.core.arrays import FloatArray
from dlsched.core.messages import listed
from dlsched.elastic_stream.heuristics import SIZINGS
from dlsched.elastic_stream.policies import ORDERS
from dlsched.study import Study
from dlsched.study.reports.export import markdown_table
from dlsched.study.rows import Row

NAMES = [f"{order}-{sizing}" for sizing in SIZINGS for order in ORDERS]
OUTSIDE = ("priced", "weighted")
"""Policies that are no cells of the grid."""
RIGID, SHARED = ("fixed", "fastest", "knee"), ("equal", "marginal")
NODES = 16
Pairs = Sequence[tuple[str, str]]


def words(rows: Sequence[Row], study: Study) -> Mapping[str, object]:
    """What the page asks for."""
    every = cases([row for row in rows if row.method != "bound"], lambda row: (row.objective or np.nan) / 3600)
    hours = {case: {name: each[name] for name in NAMES} for case, each in every.items()}
    bounds = {case: each["bound"] for case, each in cases(rows, lambda row: (row.reference or 0) / 3600).items()}
    sets = {case: alike([each]) for case, each in hours.items()}
    late = {case: each for case, each in hours.items() if "none" in case}
    early = {case: each for case, each in hours.items() if case not in late}
    srpt = {kind: [(f"srpt-{sizing}", f"fifo-{sizing}") for sizing in kind] for kind in (RIGID, SHARED)}
    known = [(f"srpt-{sizing}", f"sjf-{sizing}") for sizing in RIGID]
    best = [f"{np.mean(each[sets[case][0][0]] / bounds[case]):.2f} ({case})" for case, each in hours.items()]
    means = [
        [name, *(_shown(each[name]) + " *" * (name in sets[case][0]) for case, each in hours.items())] for name in NAMES
    ]
    means += [[name, *(_shown(each[name]) for each in every.values())] for name in OUTSIDE]
    jobs = [job for size in sorted({(row.jobs or 0, row.seed or 0) for row in rows}) for job in _drawn(*size).jobs]
    rates = async_sgd.throughputs([async_sgd.network_of(job) for job in jobs], NODES)
    alone_h = np.array([job.batches * job.cycle_s for job in jobs]) / 3600
    return {
        "alone": alone_h.mean(),
        "alone_median": np.median(alone_h),
        "gains": np.percentile(rates[-1] / rates[0], [0, 10, 50, 90, 100]).tolist(),
        "marginal_rigid": _counted(hours, [(f"{o}-marginal", f"{o}-{sizing}") for o in ORDERS for sizing in RIGID]),
        "marginal_equal": _counted(hours, [(f"{o}-marginal", f"{o}-equal") for o in ORDERS]),
        "srpt_rigid": _counted(hours, srpt[RIGID]),
        "srpt_shared": _counted(hours, srpt[SHARED]),
        "fifo_rigid": _times(hours, srpt[RIGID]),
        "fifo_shared": _times(hours, srpt[SHARED]),
        "known": _counted(late, known),
        "unknown": _counted(early, known),
        "served": _times(dict([list(late.items())[-1]]), [("srpt-knee", "las-knee")])[0],
        "served_early": _times(dict([list(early.items())[-1]]), [("srpt-knee", "las-knee")])[0],
        "best": listed(best),
        "outside": " ".join(_outside(name, every, sets, bounds) for name in OUTSIDE),
        "means": markdown_table(["cell", *hours], [*means, ["bound", *map(_shown, bounds.values())]]),
        "winners": _winners(hours, sets),
        "orders": _against(hours, lambda order, sizing: f"srpt-{sizing}"),
        "sizings": _against(hours, lambda order, sizing: f"{order}-marginal"),
    }


def _drawn(jobs: int, seed: int) -> async_sgd.Instance:
    return async_sgd.generate(preset="published", jobs=jobs, nodes=NODES, seed=seed)


def _shown(values: FloatArray, sign: str = "") -> str:
    """Mean and interval in words, to two digits of the latter, and no more than tenths."""
    mean, half = interval(values)
    if abs(mean) + half < 0.05:
        return "under 0.05" if values.round(6).any() else "0"
    digits = 0 if half == 0 else min(1, max(0, 1 - math.floor(math.log10(half))))
    return shown(values, sign, digits)


def _counted(hours: Cases, pairs: Pairs) -> str:
    far = [each[name] - each[other] for each in hours.values() for name, other in pairs]
    better, worse = (sum(differs(x) and sign * x.mean() > 0 for x in far) for sign in (-1, 1))
    return f"better in {better} and worse in {worse} of {len(far)} comparisons"


def _times(hours: Cases, pairs: Pairs) -> tuple[float, float]:
    """The least and the largest mean of the second over that of the first."""
    found = [float(each[other].mean() / each[name].mean()) for each in hours.values() for name, other in pairs]
    return min(found), max(found)


def _outside(
    name: str, every: Cases, sets: Mapping[Hashable, list[list[str]]], bounds: Mapping[Hashable, FloatArray]
) -> str:
    """How a policy outside the grid compares with the best cell of each case, and with the bound."""
    far = [each[name] - each[sets[case][0][0]] for case, each in every.items()]
    better, worse = (sum(differs(x) and sign * x.mean() > 0 for x in far) for sign in (-1, 1))
    over = [float(np.mean(each[name] / bounds[case])) for case, each in every.items()]
    return (
        f"Against the best cell of each case `{name}` is better in {better} and worse in {worse} of {len(far)} cases; it "
        f"takes at most {min(over):.2f} to {max(over):.2f} times the best schedule in hindsight."
    )


def _winners(hours: Cases, sets: Mapping[str, list[list[str]]]) -> str:
    table = []
    for case, (best, *others) in sets.items():
        beyond = [hours[case][names[0]] - hours[case][best[0]] for names in others]
        same = [" = ".join(names) for names, far in zip(others, beyond, strict=True) if not differs(far, len(others))]
        table.append([case, *map(" = ".join, (best, others[0])), _shown(beyond[0], "+"), "; ".join(same) or "none"])
    return markdown_table(["case", "best", "next", "next less best, h", "not told from the best"], table, numbers=False)


def _against(hours: Cases, base: Callable[[str, str], str]) -> str:
    table = []
    for name, other in ((name, base(*name.split("-"))) for name in NAMES):
        if name != other:
            far = [each[name] - each[other] for each in hours.values()]
            table.append([name, *(_shown(x, "+") + " *" * (differs(x) and bool(x.round(6).any())) for x in far)])
    return markdown_table(["cell", *hours], table)
