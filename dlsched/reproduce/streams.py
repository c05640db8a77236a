"""Streams of malleable jobs: policies of Capes et al. 2018 (arXiv 1908.08082) and of Lin et al. (MASCOTS 2018)."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from dlsched.core.messages import listed
from dlsched.core.quantities import mean
from dlsched.reproduce.findings import Beside, Findings, Mark, Panel, Series, marks_of, mean_of, stated
from dlsched.statistics.inference import Estimate
from dlsched.study.rows import Row

GAPS_S = {206: 250, 114: 500, 44: 1000}  # mean seconds between arrivals by the jobs of a stream
COUNTS = (8, 4, 2, 1)
EARLIER = {
    "doubling": (6.6, 2.3, 1.4),
    "fixed-8": (10.8, 2.9, 1.3),
    "fixed-4": (8.0, 2.4, 2.1),
    "fixed-2": (7.6, 3.7, 3.6),
    "fixed-1": (8.1, 6.1, 6.1),
}
"""Rounded mean hours of our earlier simulation, in the order of ``GAPS_S``."""
NAMES = {
    "doubling": "doubling",
    **{f"fixed-{units}": f"fixed, {units} unit{'s' * (units > 1)}" for units in COUNTS},
    "exploratory": "exploratory",
}
HALVED = 2.0  # the abstract: "more than halving of average job time on some workload patterns"
FOUND = "found"
PATTERN = {"mix": "", "arrivals": "", "units": "d", "load": "g"}
"""Arguments that make a pattern, and how each is written."""


def _hours(rows: Sequence[Row], method: str, jobs: int) -> dict[int | None, float]:
    """Mean flow time by seed."""
    return {
        row.seed: row.objective / 3600
        for row in rows
        if row.method == method and row.jobs == jobs and row.objective is not None
    }


def trend(rows: Sequence[Row]) -> Findings:
    """Mean flow time over the time between arrivals."""
    hours = {(method, jobs): _hours(rows, method, jobs) for method in NAMES for jobs in GAPS_S}
    series = [
        Series(name, marks_of((gap_s, hours[method, jobs].values()) for jobs, gap_s in GAPS_S.items()), kin=method)
        for method, name in NAMES.items()
    ]
    series += [
        stated(f"{NAMES[method]}: earlier", zip(GAPS_S.values(), values, strict=True), "earlier", method)
        for method, values in EARLIER.items()
    ]
    beside = [
        Beside(f"{NAMES[method]}, a job every {gap_s} s", mean_of(hours[method, jobs].values()), value)
        for method, values in EARLIER.items()
        for (jobs, gap_s), value in zip(GAPS_S.items(), values, strict=True)
    ]
    lines = [line for jobs, gap_s in GAPS_S.items() if (line := _verdict(hours, jobs, gap_s))]
    away = [abs(round(each.ours.value, 1) - each.theirs) for each in beside if each.ours and each.theirs is not None]
    if away:
        lines.append(
            f"Of {len(away)} earlier means {sum(each < 0.05 for each in away)} agree to the digit printed; the largest "
            f"difference is {max(away):.1f} h."
        )
    return Findings(
        [
            Panel(
                "Mean flow time",
                "Mean of the seeds with its 95 % interval. Earlier: a simulation of ours, before dlsched, on streams of its own.",
                "mean time between arrivals, s",
                "mean flow time, h",
                series,
            )
        ],
        beside,
        "earlier simulation",
        "mean flow time, h",
        lines,
    )


def _verdict(hours: dict[tuple[str, int], dict[int | None, float]], jobs: int, gap_s: int) -> str:
    fixed = {units: hours[f"fixed-{units}", jobs] for units in COUNTS if hours[f"fixed-{units}", jobs]}
    doubling = hours["doubling", jobs]
    if not fixed or not doubling:
        return ""
    best = min(fixed, key=lambda units: fmean(fixed[units].values()))
    difference = mean_of(value - doubling[seed] for seed, value in fixed[best].items() if seed in doubling)
    verdict = "no difference that the seeds show"
    if difference is not None and difference.sign:
        verdict = f"doubling is {'better' if difference.sign > 0 else 'worse'}"
    return (
        f"Every {gap_s} s: the best fixed allocation is {best} unit{'s' * (best > 1)}; it takes {mean(difference)} h more than "
        f"doubling: {verdict}."
    )


def pattern_of(row: Row) -> str:
    """Return the arguments of ``streams.pattern`` that identify the pattern of a row's stream, in words."""
    return "/".join(f"{row.arguments[name]:{form}}" for name, form in PATTERN.items())


def patterns(rows: Sequence[Row]) -> Findings:
    """Compare mean flow times: fixed allocations over doubling, one dot per pattern."""
    # Ratios to doubling by pattern, stream and method: the plan's reference method is doubling.
    streams: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        if row.ratio is not None and row.method != "doubling":
            pattern = pattern_of(row)
            streams.setdefault(pattern, {}).setdefault(row.instance, {})[row.method] = row.ratio
    counts = sorted(
        {int(method.partition("-")[2]) for of in streams.values() for each in of.values() for method in each}
    )
    readings = {f"{count} unit{'s' * (count > 1)} a job": [f"fifo-{count}"] for count in counts}
    readings["best count in hindsight"] = [f"fifo-{count}" for count in counts]
    readings["best count and order"] = [f"{order}-{count}" for order in ("fifo", "srpt") for count in counts]
    dots: dict[str, dict[str, list[float]]] = {reading: {} for reading in readings}
    for reading, methods in readings.items():
        for pattern, of in streams.items():
            least = [
                min(each[m] for m in methods if m in each) for each in of.values() if any(m in each for m in methods)
            ]
            dots[reading][pattern] = least
    grid = [pattern for pattern in streams if not pattern.startswith(f"{FOUND}/")]
    searched = [pattern for pattern in streams if pattern.startswith(f"{FOUND}/")]
    series = [
        Series(
            "pattern of the grid",
            [
                Mark(reading, Estimate(fmean(of[pattern])), pattern)
                for reading, of in dots.items()
                for pattern in grid
                if of[pattern]
            ],
            kin="grid",
            cloud=True,
        ),
        Series(
            "pattern that was searched for",
            marks_of(
                (reading, [value for pattern in searched for value in of[pattern]]) for reading, of in dots.items()
            ),
            kin="found",
        ),
    ]
    beside: list[Beside] = []
    lines: list[str] = []
    # On how many patterns is the time more than halved, if the abstract meant this fixed allocation?
    for reading, patterns_of in dots.items():
        means = {pattern: fmean(values) for pattern, values in patterns_of.items() if values and pattern in grid}
        fresh = mean_of(value for pattern in searched for value in patterns_of[pattern])
        if means:
            most = max(means, key=lambda pattern: means[pattern])
            beside.append(Beside(f"{reading}, largest of the grid", Estimate(means[most]), None, "more than 2 on some"))
            hits = sum(value > HALVED for value in means.values())
            words = f"more than halved on {hits} of {len(means)} patterns, at most {means[most]:.2f} times ({most})"
            lines.append(f"{reading.capitalize()}: {words}.")
        if fresh is not None:
            beside.append(Beside(f"{reading}, the searched pattern", fresh, None, "more than 2 on some"))
    halving = [reading for reading, of in dots.items() if any(v and fmean(v) > HALVED for v in of.values())]
    if streams:
        lines.append(
            f"The claim, more than halving on some patterns, holds here against {listed(halving)}."
            if halving
            else "The claim, more than halving on some patterns, is not met on these patterns."
        )
    return Findings(
        [
            Panel(
                "Fixed allocations over doubling",
                "Mean flow time of a fixed allocation over that of doubling, mean of the streams; a dot a pattern. Right of the "
                "line doubling more than halves it; below 1 it is worse. In hindsight: the best for every single stream.",
                "fixed allocation",
                "mean flow time over doubling's",
                series,
                ("the abstract: halved", HALVED),
            )
        ],
        beside,
        "the abstract",
        "mean flow time over that of doubling",
        lines,
    )


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

Case = tuple[str, str]  # load, and whether jobs end early: arguments of ``streams.async_jobs``, in words
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
    return Findings(panels, [], "paper", "mean flow time, h", _grid_conclusions(flows))


def _grid_conclusions(flows: Flows) -> list[str]:
    lines = []
    # The best policy of each case, and how far it is from the bound on the same streams.
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
        difference = mean_of(value - other[seed] for seed, value in of.get(first, {}).items() if seed in other)
        if difference is not None and difference.low is not None:
            signs.append(difference.sign)
    return signs


def _counted(comparisons: Sequence[Sequence[int]]) -> str:
    every = [sign for signs in comparisons for sign in signs]
    return f"better in {every.count(-1)} and worse in {every.count(1)} of {len(every)} comparisons"
