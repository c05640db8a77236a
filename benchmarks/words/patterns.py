"""What the study ``patterns`` found: on which patterns a fixed allocation is halved, in three readings of the claim."""

from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
from cases import cases, interval, shown
from studies.patterns import FOUND

from dlsched.core.arrays import FloatArray
from dlsched.study import Study
from dlsched.study.reports.export import markdown_table
from dlsched.study.reproduce.streams import COUNTS, MIXES
from dlsched.study.rows import Row

HALVED = 2.0
COLUMNS = [f"k = {units}" for units in COUNTS]


def words(rows: Sequence[Row], study: Study) -> Mapping[str, object]:
    """What the page asks for."""
    ratios = cases([row for row in rows if row.method.startswith("k = ")], lambda row: row.ratio)
    fifo = {case: np.array([each[name] for name in COLUMNS]) for case, each in ratios.items()}
    strong = {case: found.min(axis=0) for case, found in fifo.items()}
    strongest = {case: np.min(list(each.values()), axis=0) for case, each in ratios.items()}
    grid = [case for case in ratios if "load" in case]
    groups = list(dict.fromkeys(case.rpartition(", ")[0] for case in grid))
    loads = list(dict.fromkeys(case.rpartition(", ")[2] for case in grid))
    weak = {group: np.max([fifo[f"{group}, {load}"].mean(axis=1) for load in loads], axis=0) for group in groups}
    fixed = np.array([fifo[case].mean(axis=1) for case in grid])
    spread = {f"(a) {name}": fixed[:, index] for index, name in enumerate(COLUMNS)} | {
        "(a) the worst of them": fixed.max(axis=1),
        "(b) the best of them in hindsight": np.array([strong[case].mean() for case in grid]),
        "(c) the same in the better of two orders": np.array([strongest[case].mean() for case in grid]),
    }

    over = _over_bound(rows)

    def by_load(values: Mapping[str, FloatArray]) -> str:
        lines = [[group, *(_starred(values[f"{group}, {load}"].mean()) for load in loads)] for group in groups]
        return markdown_table(["mix, arrivals, units", *loads], lines)

    def verdict(values: Mapping[str, FloatArray], case: str) -> str:
        if case not in values:
            return "not run"
        mean, half = interval(values[case])
        said = "found" if mean - half > HALVED else "not certain" if mean > HALVED else "not found"
        return f"halving {said}, {shown(values[case])}"

    fresh = [
        [
            case,
            *(f"{value:.2f}" for value in fifo[case].mean(axis=1)),
            *(shown(strong[case]), f"{strong[case].min():.2f} .. {strong[case].max():.2f}"),
            *(f"{(strong[case] > HALVED).mean():.0%}", shown(strongest[case])),
        ]
        for case in ratios
        if case not in grid
    ]
    most = zip(COLUMNS, fixed.max(axis=0), strict=True)
    return {
        "halved": ", ".join(f"{name} (up to {each:.1f} times)" for name, each in most if each > HALVED) or "none",
        "grid_b": verdict(strong, "best of the grid for (b)"),
        "grid_c": verdict(strongest, "best of the grid for (c)"),
        "climb_b": verdict(strong, "end of the climb for (b)"),
        "climb_c": verdict(strongest, "end of the climb for (c)"),
        "patterns": len(grid),
        "spread": markdown_table(
            ["fixed allocation", "patterns where it is more than halved", "median", "least", "largest"],
            [
                [name, f"{(x > HALVED).mean():.1%}", *(f"{value:.2f}" for value in (np.median(x), x.min(), x.max()))]
                for name, x in spread.items()
            ],
        ),
        "each": markdown_table(
            ["mix, arrivals, units", *COLUMNS], [[group, *map(_starred, weak[group])] for group in groups]
        ),
        "strong": by_load(strong),
        "strongest": by_load(strongest),
        "best_b": max(grid, key=lambda case: strong[case].mean()),
        "best_c": max(grid, key=lambda case: strongest[case].mean()),
        "fresh": markdown_table(
            ["pattern", *COLUMNS, "(b)", "(b), least and largest", "streams with (b) above 2", "(c)"], fresh
        ),
        "hindsight": markdown_table(
            ["pattern", *next(iter(over.values()))],
            [
                [f"{len(grid)} patterns of the grid, mean", *_means([over[case] for case in grid], np.mean)],
                ["the same, largest", *_means([over[case] for case in grid], np.max)],
                *([case, *map(shown, over[case].values())] for case in over if case not in grid),
            ],
        ),
        "found": "\n".join(
            f"- {name}: {mix}, {arrivals}, load {load:.2f}; {MIXES[mix]}."
            for name, (mix, arrivals, load) in FOUND.items()
        ),
    }


def _over_bound(rows: Sequence[Row]) -> dict[Hashable, dict[str, FloatArray]]:
    """By pattern what policies take at most, over the best stream in hindsight."""
    flows = cases(rows, lambda row: row.bound if row.method == "bound" else row.objective)
    found: dict[Hashable, dict[str, FloatArray]] = {}
    for case, each in flows.items():
        bound = each.pop("bound")
        fixed = {name: flow for name, flow in each.items() if name.startswith("k = ")}
        found[case] = {
            "doubling": each["doubling"] / bound,
            "(b)": np.min([fixed[name] for name in COLUMNS], axis=0) / bound,
            "(c)": np.min(list(fixed.values()), axis=0) / bound,
            "priced": each["priced"] / bound,
        }
    return found


def _means(of_cases: Sequence[Mapping[str, FloatArray]], over_cases: Callable[[Sequence[float]], float]) -> list[str]:
    return [f"{over_cases([float(each[name].mean()) for each in of_cases]):.2f}" for name in of_cases[0]]


def _starred(value: float) -> str:
    return f"{value:.2f}" + " *" * bool(value > HALVED)
