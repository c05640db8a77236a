"""What the study ``placement_heuristics`` found: gaps to the optimum against two bars, and times over those of ``exact``."""

from collections.abc import Mapping, Sequence

import numpy as np
from cases import cases

from dlsched.core.arrays import FloatArray
from dlsched.core.quantities import per_cent
from dlsched.study import Study
from dlsched.study.reports.export import markdown_table
from dlsched.study.rows import Row

BARS = {"sampled-market": 0.0204, "beam": 0.005}
COLUMNS = "method, answers, mean gap, median, largest, largest on, optimal, time / exact, Jain"


def gap_of(row: Row) -> float | None:
    """Objective / optimum - 1, to a millionth."""
    return None if row.ratio is None else abs(round(row.ratio - 1, 6))


def mean_and_largest(gaps: FloatArray) -> str:
    """In per cent, over the answers."""
    found = gaps[~np.isnan(gaps)]
    return f"{per_cent(found.mean())} % ({per_cent(found.max())} %)" if len(found) else "-"


def words(rows: Sequence[Row], study: Study) -> Mapping[str, object]:
    """What the page asks for."""
    del study
    proven = [row for row in rows if row.reference_kind == "optimum"]
    sets = {"generated": [row for row in proven if row.preset], "shipped": [row for row in proven if not row.preset]}
    presets = cases(sets["generated"], gap_of)
    names = next(iter(presets.values()))
    by_preset = [[name, *(mean_and_largest(each[name]) for each in presets.values())] for name in names]
    return {
        "bars": "\n".join(_bar(name, what, held) for what, held in sets.items() for name in BARS),
        "unproven": len({row.instance for row in rows if row.reference_kind != "optimum"}),
        "presets": markdown_table(["method", *presets], by_preset),
        **{what: _quality(held) for what, held in sets.items()},
    }


def _bar(method: str, what: str, rows: Sequence[Row]) -> str:
    gaps = np.array([gap_of(row) for row in rows if row.method == method and row.ratio is not None])
    return (
        f"- `{method}` is {per_cent(gaps.mean())} % from the optimum on average and {per_cent(gaps.max())} % at worst on {what} "
        f"instances; the bar, {per_cent(BARS[method])} % on average, is {'kept' if gaps.mean() <= BARS[method] else 'missed'}."
    )


def _quality(rows: Sequence[Row]) -> str:
    figures = (gap_of, lambda row: row.time_s, lambda row: row.figures.get("jain_index"))
    gaps, times_s, jain = (cases(rows, figure, lambda row: "all")["all"] for figure in figures)
    names = list(dict.fromkeys(row.instance for row in rows))
    table = []
    for method, each in gaps.items():
        answered = ~np.isnan(each)
        gap, ratio = each[answered], (times_s[method] / times_s["exact"])[answered]
        table.append(
            [
                *(method, f"{len(gap)} of {len(each)}"),
                *(f"{per_cent(float(figure))} %" for figure in (gap.mean(), np.median(gap), gap.max())),
                names[int(np.nanargmax(each))] if gap.max() else "-",
                *(f"{(gap <= 1e-6).mean():.0%}", f"{np.median(ratio):.3g}", f"{np.nanmean(jain[method]):.3f}"),
            ]
        )
    return (
        f"`exact` takes {np.median(times_s['exact']):.3f} s in the median and {times_s['exact'].max():.2f} s at most.\n\n"
        + markdown_table(COLUMNS.split(", "), table)
    )
