"""The grid of orders and sizings of Lin et al. (MASCOTS 2018), of jobs of asynchronous SGD that arrive over time."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from dlsched.core.quantities import mean
from dlsched.reproduce.entry import Entry
from dlsched.reproduce.findings import Findings, Panel, Series, marks_of, mean_of
from dlsched.study.rows import Row

ORDERS = {
    "fifo": "order of arrival",
    "srpt": "shortest remaining time",
    "sjf": "shortest job",
    "las": "least attained service",
    "efficiency": "efficiency",
}
SIZINGS = {
    "fixed": "8 nodes each",
    "fastest": "all useful nodes",
    "knee": "efficiency of one half",
    "equal": "equal shares",
    "marginal": "marginal gain",
}
GIVEN, SHARED = ("fixed", "fastest", "knee"), ("equal", "marginal")
"""Sizings that ignore other jobs, and sizings that share out the nodes."""
BOUND = "bound"

Case = tuple[str, str]
"""Load, and whether jobs end early: arguments of ``streams.async_jobs``, in words."""
Flows = Mapping[Case, Mapping[str, Mapping[int | None, float]]]
"""Mean flow time in hours, or a bound on it, by case, method and seed."""


def grid(rows: Sequence[Row]) -> Findings:
    """Mean flow times of every order and sizing, a panel for each load, with early ends and without."""
    flows: dict[Case, dict[str, dict[int | None, float]]] = {}
    for row in rows:
        load, ends = f"{row.arguments['load']:g}", str(row.arguments["ends"])
        value = row.bound if row.method == BOUND else row.objective
        if value is not None:
            flows.setdefault((load, ends), {}).setdefault(row.method, {})[row.seed] = value / 3600
    panels = [
        Panel(
            f"Load {load}{', early ends' * (ends == 'early')}",
            "Mean flow time of the streams, mean of the seeds with its 95 % interval"
            + (
                f"; the mean of the bounds, which no schedule beats, is {mean(mean_of(of[BOUND].values()))} h."
                if BOUND in of
                else "."
            ),
            "sizing",
            "mean flow time, h",
            [
                Series(
                    words,
                    marks_of((name, of.get(f"{order}-{sizing}", {}).values()) for sizing, name in SIZINGS.items()),
                    kin=order,
                )
                for order, words in ORDERS.items()
            ],
        )
        for (load, ends), of in flows.items()
    ]
    return Findings(panels, [], "paper", "mean flow time, h", _conclusions(flows))


def _conclusions(flows: Flows) -> list[str]:
    lines = []
    for (load, ends), of in flows.items():
        means = {method: fmean(values.values()) for method, values in of.items() if method != BOUND}
        if not means:
            continue
        best = min(means, key=lambda method: means[method])
        where = f"Load {load}{', early ends' * (ends == 'early')}"
        line = f"{where}: {_named(best, means)} is best on average, {mean(mean_of(of[best].values()))} h"
        if BOUND in of:
            over = mean_of(value / of[BOUND][seed] for seed, value in of[best].items() if of[BOUND].get(seed))
            line += f", at most {mean(over)} times the best schedule in hindsight" if over is not None else ""
        lines.append(f"{line}.")
    sized = [_compared(flows, f"{order}-marginal", f"{order}-{sizing}") for order in ORDERS for sizing in GIVEN]
    ordered = [_compared(flows, f"srpt-{sizing}", f"fifo-{sizing}") for sizing in GIVEN]
    shared = [_compared(flows, f"srpt-{sizing}", f"fifo-{sizing}") for sizing in SHARED]
    lines += [
        f"Sizing: marginal gain against sizes that are given, in the same order, is {_counted(sized)}.",
        f"Order: shortest remaining time against order of arrival is {_counted(ordered)} where sizes are given, and "
        f"{_counted(shared)} where nodes are shared out.",
    ]
    return lines


def _named(method: str, means: Mapping[str, float]) -> str:
    """Order and sizing in words; orders that make no difference are not named."""
    order, _, sizing = method.partition("-")
    alike = [other for other in ORDERS if math.isclose(means.get(f"{other}-{sizing}", 0.0), means[method])]
    return f"{SIZINGS[sizing]} in {'any order' if len(alike) == len(ORDERS) else ORDERS[order]}"


def _compared(flows: Flows, first: str, second: str) -> list[int]:
    """Return for each case -1 if the first is better, 1 if worse, 0 if the interval of paired differences holds 0."""
    signs = []
    for of in flows.values():
        other = of.get(second, {})
        found = mean_of(value - other[seed] for seed, value in of.get(first, {}).items() if seed in other)
        if found is not None and found.low is not None and found.high is not None:
            signs.append((found.low > 0) - (found.high < 0))
    return signs


def _counted(comparisons: Sequence[Sequence[int]]) -> str:
    every = [sign for signs in comparisons for sign in signs]
    return f"better in {every.count(-1)} and worse in {every.count(1)} of {len(every)} comparisons"


GRID = Entry(
    "lin-grid",
    "Lin et al., MASCOTS 2018; the abstract alone was available",
    "orders and sizings of jobs that come and go",
    "nothing: the abstract states no number",
    (
        "No number of the paper is known. The grid of orders and sizings, loads, arrivals and early ends are our reading: "
        "200 jobs with published speeds on 16 nodes, Poisson arrivals, restarts of 10 s; early ends: half of the jobs stop at "
        "5 % of their work, 30 of 100 at a quarter.",
        "Speeds are those of the queueing model, by mean value analysis, not of a cluster. Comparisons count paired "
        "differences by their 95 % intervals, each by itself.",
    ),
    grid,
    ({"seeds": "0:5", "load": [0.5, 1.1]},),
    320,
    30,
)
