"""What the study ``prices`` found: gaps between the best streams and the bounds, by group, against what was wanted."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean

from dlsched.core.gap import gap, ratio
from dlsched.core.messages import listed
from dlsched.study import Study
from dlsched.study.figures.summary import instance_of
from dlsched.study.reports.export import markdown_table
from dlsched.study.rows import Row

SHIPPED, GENERATED = "shipped, any time", "generated, any time"
SHIPPED_TICKS, GENERATED_TICKS = "shipped, ticks", "generated, ticks"
BARS = {SHIPPED: (0.04, 0.10), GENERATED: (0.06, None), SHIPPED_TICKS: (0.02, None), GENERATED_TICKS: (0.03, None)}
"""At most: mean and worst gap; of streams with ticks, mean gap between `prices` and the optimum."""
SIMPLE = ("area", "length")
GAPS = "instance; best stream, mean flow in s; by; bound, s; by; gap; gap of area and length"
PROVEN = "streams; with a proven optimum; gap of prices: mean; worst; gap of area and length: mean; worst"


@dataclass(frozen=True, slots=True)
class Stream:
    """What the methods made of an instance: objectives and bounds by method, and the optimum where one of them proves it."""

    name: str
    group: str
    flows_s: Mapping[str, float]
    bounds_s: Mapping[str, float]
    optimum_s: float | None

    @property
    def best_s(self) -> float:
        """Mean flow time of the best stream known."""
        return min(self.flows_s.values())

    @property
    def bound_s(self) -> float:
        """The most that any method proves."""
        return max(self.bounds_s.values())

    @property
    def simple_s(self) -> float:
        """The larger of area and length."""
        return max(self.bounds_s[name] for name in SIMPLE)

    @property
    def left(self) -> float:
        """Gap between the best stream and the bound."""
        return max(0.0, gap(self.best_s, self.bound_s) or 0.0)


def words(rows: Sequence[Row], study: Study) -> Mapping[str, object]:
    """What the page asks for."""
    streams = [_stream(list(held), study) for _, held in groupby(rows, instance_of)]
    by_group = {group: [each for each in streams if each.group == group] for group in BARS}
    any_time = {group: by_group[group] for group in (SHIPPED, GENERATED)}
    ticked = {group: by_group[group] for group in (SHIPPED_TICKS, GENERATED_TICKS)}
    return {
        "verdicts": "\n".join(
            [_gaps_verdict(group, held) for group, held in any_time.items()]
            + [_proven_verdict(group, held) for group, held in ticked.items()]
        ),
        "shipped": markdown_table(GAPS.split("; "), map(_cells, any_time[SHIPPED])),
        "generated": markdown_table(GAPS.split("; "), map(_cells, any_time[GENERATED])),
        "proven": markdown_table(PROVEN.split("; "), [_proven_cells(group, held) for group, held in ticked.items()]),
        "ratios": _ratios({group: held for group, held in by_group.items() if held}),
        "stopped": _stopped(rows),
    }


def _stream(rows: Sequence[Row], study: Study) -> Stream:
    """Put the rows of one instance together; what comes of a file is shipped."""
    first = rows[0]
    ticks = study.instance(first.key).tick_s is not None
    shipped = first.seed is None and first.source.endswith(".json")
    group = (SHIPPED_TICKS if ticks else SHIPPED) if shipped else (GENERATED_TICKS if ticks else GENERATED)
    return Stream(
        first.instance,
        group,
        {row.method: row.objective for row in rows if row.objective is not None},
        {row.method: row.bound for row in rows if row.bound is not None},
        next((row.objective for row in rows if row.status == "optimal"), None),
    )


def _percent(value: float) -> str:
    return "0 %" if value < 5e-7 else "under 0.01 %" if value < 5e-5 else f"{100 * value:.2f} %"


def _kept(value: float, most: float) -> str:
    return f"at most {100 * most:g} % wanted: {'yes' if value <= most else 'NO'}"


def _gaps_verdict(group: str, streams: Sequence[Stream]) -> str:
    if not streams:
        return f"- {group}: none."
    mean_bar, worst_bar = BARS[group]
    left = [each.left for each in streams]
    worst = max(streams, key=lambda each: each.left)
    open_ = [each for each in left if each > 1e-6]
    before = [gap(each.best_s, each.simple_s) or 0.0 for each in streams]
    said = f"- {group}, {len(streams)} streams: mean gap {_percent(fmean(left))} ({_kept(fmean(left), mean_bar)})"
    if len(open_) < len(left):
        said += f", {_percent(fmean(open_)) if open_ else '-'} without the {len(left) - len(open_)} of gap 0"
    said += f"; worst {_percent(worst.left)}, {worst.name}"
    said += "" if worst_bar is None else f" ({_kept(worst.left, worst_bar)})"
    return f"{said}. By area and length alone: mean {_percent(fmean(before))}, worst {_percent(max(before))}."


def _proven_verdict(group: str, streams: Sequence[Stream]) -> str:
    found = [_to_optimum(each, "prices") for each in streams if each.optimum_s is not None]
    if not found:
        return f"- {group}: no proven optima."
    said = (
        f"{_percent(fmean(found))} in the mean ({_kept(fmean(found), BARS[group][0])}), {_percent(max(found))} at most"
    )
    return f"- {group}, {len(found)} streams with a proven optimum: `prices` alone lies {said} below it."


def _to_optimum(stream: Stream, *methods: str) -> float:
    """Gap between the proven optimum and the best of some bounds; all of it where none of them has one."""
    bounds = [stream.bounds_s[name] for name in methods if name in stream.bounds_s]
    return max(0.0, gap(stream.optimum_s, max(bounds)) or 0.0) if bounds else 1.0


def _reach(values: Mapping[str, float], best: float) -> str:
    """The simplest method that attains the best value: policies and single bounds before what is made of them."""
    names = [name for name, value in values.items() if math.isclose(value, best, rel_tol=1e-9)]
    return (
        names[-1] if set(names) <= {"exact", "plan"} else next(name for name in names if name not in ("exact", "plan"))
    )


def _cells(stream: Stream) -> list[str]:
    return [
        stream.name,
        *(f"{stream.best_s:,.1f}", _reach(stream.flows_s, stream.best_s)),
        *(f"{stream.bound_s:,.1f}", _reach(stream.bounds_s, stream.bound_s)),
        *(_percent(stream.left), _percent(gap(stream.best_s, stream.simple_s) or 0.0)),
    ]


def _proven_cells(group: str, streams: Sequence[Stream]) -> list[str]:
    proven = [each for each in streams if each.optimum_s is not None]
    cells = [f"{group}: {len(streams)}", str(len(proven))]
    for methods in (("prices",), SIMPLE):
        found = [_to_optimum(each, *methods) for each in proven]
        cells += [_percent(fmean(found)), _percent(max(found))] if found else ["-", "-"]
    return cells


def _ratios(groups: Mapping[str, Sequence[Stream]]) -> str:
    """Mean and worst ratio to the bound by method; the optimum is a bound where it is proven."""
    names = list(dict.fromkeys(name for held in groups.values() for each in held for name in each.flows_s))
    table = []
    for name in names:
        cells = [name]
        for held in groups.values():
            found = [
                value
                for each in held
                if name in each.flows_s and (value := ratio(each.flows_s[name], each.bound_s)) is not None
            ]
            missing = "" if len(found) == len(held) else f" (on {len(found)})"
            cells.append(f"{fmean(found):.3f}, {max(found):.3f}{missing}" if found else "-")
        table.append(cells)
    return markdown_table(["method", *groups], table)


def _stopped(rows: Sequence[Row]) -> str:
    """Runs that a limit ended, which show what was reached by then."""
    names = sorted({f"{row.method} on {row.instance}" for row in rows if row.status.endswith("_limit")})
    return (
        f"Ended by their limit, with what they had by then: {listed(names)}."
        if names
        else "No run was ended by a limit."
    )
