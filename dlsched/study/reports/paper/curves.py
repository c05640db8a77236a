"""Curves of shares of instances: within a factor of the best, within a gap to the reference, answered within a time."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dlsched.core.messages import several
from dlsched.plots.palette import FAINT
from dlsched.plots.profile import draw_profiles, equal_curves
from dlsched.plots.words import equal_names, ticks
from dlsched.study.reports.html.profiles import factors_of_best
from dlsched.study.reports.html.sizes import LEAST_S
from dlsched.study.reports.html.words import finite
from dlsched.study.reports.paper.panel import Panel

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

LINEAR_TO = 20.0
"""Gaps in per cent up to which their axis is linear."""
_NEAR = 1.0
"""Gap in per cent below which an axis of large gaps is linear, as it holds 0."""


def height_in(panel: Panel) -> float:
    """Height of the panel, without its key."""
    del panel
    return 1.7


def missing_profile(panel: Panel) -> str:
    """Why nothing can be drawn; empty if something can."""
    if len(panel.methods) < 2:
        return "one method alone is compared with no other"
    return "" if any(row.objective is not None for row in panel.group.rows) else "there is no answer"


def missing_gaps(panel: Panel) -> str:
    """Why nothing can be drawn; empty if something can."""
    return "" if any(value is not None for of in _gaps(panel).values() for value in of) else "no answer has a gap"


def missing_times(panel: Panel) -> str:
    """Why nothing can be drawn; empty if something can."""
    return "" if any(value is not None for of in _times(panel).values() for value in of) else "no cell has a time"


def draw_profile(figure: "FigureBase", panel: Panel) -> "list[Artist]":
    """Draw performance profiles, and return their key; equal ones share a curve."""
    factors = factors_of_best(panel.found, panel.methods, panel.group.family)
    groups = equal_curves(factors)
    axes: Axes = figure.subplots()
    looks = {method: (style.colour, style.dash) for method, style in panel.styles.items()}
    draw_profiles(axes, factors, groups, wider=0.2, looks=looks)
    axes.set_title("")
    axes.set_ylabel("share of instances")
    return _key(groups, panel)


def draw_gaps(figure: "FigureBase", panel: Panel) -> "list[Artist]":
    """Draw the share of instances within a gap, and return the key."""
    gaps = _gaps(panel)
    axes: Axes = figure.subplots()
    largest = max(value for of in gaps.values() for value in of if value is not None)
    end = max(1.04 * largest, 0.1)
    if end > LINEAR_TO:
        axes.set_xscale("symlog", linthresh=_NEAR, linscale=0.5)
        marks = [0.0, _NEAR, *(mark for mark in ticks(2.0, end) if math.log10(mark).is_integer() or end < 100)]
        axes.set_xticks(marks, [f"{mark:g}" for mark in marks])
        axes.set_xticks([], minor=True)
    at_most = any(row.at_most for row in panel.group.rows)
    axes.set_xlabel(f"gap to the {'best known bound or optimum' if at_most else 'optimum'}, %")
    return _draw(axes, gaps, 0.0, end, panel)


def draw_times(figure: "FigureBase", panel: Panel) -> "list[Artist]":
    """Draw the share of instances answered within a time, and return the key."""
    times = _times(panel)
    axes: Axes = figure.subplots()
    known = [value for of in times.values() for value in of if value is not None]
    begin, end = min(known) / 1.3, max(known) * 1.3
    axes.set_xscale("log")
    marks = ticks(begin, end)
    axes.set_xticks(marks, [f"{mark:g}" for mark in marks])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("seconds of a cell (log scale)")
    return _draw(axes, times, begin, end, panel)


def _gaps(panel: Panel) -> dict[str, list[float | None]]:
    return {
        method: [None if (gap := finite(row.gap)) is None else max(100 * gap, 0.0) for row in panel.rows(method)]
        for method in panel.methods
    }


def _times(panel: Panel) -> dict[str, list[float | None]]:
    """Seconds of the cells with an answer."""
    return {
        method: [
            None if row.objective is None or (time := finite(row.time_s)) is None else max(time, LEAST_S)
            for row in panel.rows(method)
        ]
        for method in panel.methods
    }


def _draw(
    axes: "Axes", values: Mapping[str, Sequence[float | None]], begin: float, end: float, panel: Panel
) -> "list[Artist]":
    """Draw a step curve for each group of methods with equal values, the best first."""
    groups: dict[tuple[float | None, ...], list[str]] = {}
    for method, of in values.items():
        groups.setdefault(tuple(None if value is None else float(f"{value:.6g}") for value in of), []).append(method)
    for of_group, names in groups.items():
        known = sorted(value for value in of_group if value is not None)
        shares = [(rank + 1) / len(of_group) for rank in range(len(known))]
        style = panel.styles[names[0]]
        axes.step(
            [begin, *known, end],
            [0.0, *shares, shares[-1] if shares else 0.0],
            where="post",
            linestyle=style.dash,
            color=style.colour,
            lw=1.3 if style.own else 0.7,
            zorder=3 if style.own else 2,
        )
    axes.set_xlim(begin, end)
    axes.set_ylim(0, 1.03)
    axes.set_ylabel("share of instances")
    axes.grid()
    axes.set_axisbelow(True)
    return _key(list(groups.values()), panel)


def _key(groups: Sequence[Sequence[str]], panel: Panel) -> "list[Artist]":
    """Explain the curves, those of equal methods together."""
    from matplotlib.lines import Line2D

    key: list[Artist] = []
    others = 0
    for group in groups:
        style = panel.styles[group[0]]
        if not style.own:
            others += len(group)
            continue
        name = equal_names([panel.styles[method].label for method in group], int(panel.width_in * 12), 1)
        key.append(Line2D([], [], color=style.colour, ls=style.dash, lw=1.3, label=name))
    if others:
        key.append(Line2D([], [], color=FAINT, lw=0.7, label=several(others, "other method")))
    return key
