"""What the study ``price_of_fairness`` found: what each goal costs in mean completion time, and what it gives the worst off."""

from collections.abc import Mapping, Sequence

import numpy as np
from cases import cases, shown

from dlsched.core.arrays import FloatArray
from dlsched.study import Study
from dlsched.study.reports.export import markdown_table
from dlsched.study.rows import Row

EXACT, FAIREST, MARKET, MEAN = "exact", "exact, then mean", "sampled-market", "mean"
COLUMNS = "preset; goal; price: mean time over the least; worst price; largest rho; Jain's index of rho; proven"


def words(rows: Sequence[Row], study: Study) -> Mapping[str, object]:
    """What the page asks for."""
    del study
    figures = {
        name: cases(rows, lambda row, of=name: row.figures.get(of), _goal)
        for name in ("mean_completion_s", "max_rho", "jain_index")
    }
    proven = cases(rows, lambda row: float(row.status == "optimal"), _goal)
    presets = list(dict.fromkeys(preset for preset, _ in proven))
    goals = list(dict.fromkeys(goal for _, goal in proven))
    missing = [f"{row.instance} ({row.preset})" for row in rows if row.method == FAIREST and row.objective is None]
    return {
        "missing": f" Left out, as a limit ended them: {', '.join(missing)}." if missing else "",
        "exact": markdown_table(
            COLUMNS.split("; "),
            [
                _cells(preset, goal, FAIREST, figures, proven[preset, goal][EXACT])
                for preset in presets
                for goal in goals
            ],
        ),
        "market": markdown_table(
            COLUMNS.split("; ")[:-1], [_cells(preset, MARKET, MARKET, figures)[:-1] for preset in presets]
        ),
        "prices": "; ".join(
            f"{goal}: {100 * (np.nanmean(np.concatenate([_price(figures, preset, goal) for preset in presets])) - 1):.1f} %"
            for goal in goals
            if goal != MEAN
        ),
    }


def _goal(row: Row) -> tuple[str, str]:
    """Preset and goal of an instance, as its arguments name them: ``few-types, mean``."""
    preset, goal = row.preset.split(", ")
    return preset, goal


def _price(figures: Mapping[str, Mapping[object, Mapping[str, FloatArray]]], preset: str, goal: str) -> FloatArray:
    """Mean completion times over the least ones, which placing for the mean attains."""
    method, case = (MARKET, MEAN) if goal == MARKET else (FAIREST, goal)
    times = figures["mean_completion_s"]
    price: FloatArray = times[preset, case][method] / times[preset, MEAN][EXACT]
    return price


def _cells(
    preset: str,
    goal: str,
    method: str,
    figures: Mapping[str, Mapping[object, Mapping[str, FloatArray]]],
    proven: FloatArray | None = None,
) -> list[str]:
    case = preset, MEAN if goal == MARKET else goal
    price = _price(figures, preset, goal)
    known = np.isfinite(price)
    largest, jain = (figures[name][case][method][known] for name in ("max_rho", "jain_index"))
    return [
        *(preset, goal, shown(price[known], digits=3), f"{price[known].max():.3f}"),
        *(shown(largest), shown(jain, digits=3)),
        "" if proven is None else f"{proven.mean():.0%}",
    ]
