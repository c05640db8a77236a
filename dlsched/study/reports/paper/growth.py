"""Gap and time against the size of the instances: the median of a size, from 5 % to 95 %."""

from itertools import pairwise
from typing import TYPE_CHECKING

from dlsched.core.messages import several
from dlsched.plots.palette import FAINT
from dlsched.plots.words import ticks
from dlsched.study.reports.html.sizes import GAP, SHIFT, TIME, Bin, bins_of, points_of, size_of
from dlsched.study.reports.paper.panel import Panel

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase


def missing(panel: Panel) -> str:
    """Why nothing can be drawn; empty if something can."""
    word, bins = _bins(panel)
    if len(bins) > 1:
        return ""
    return f"all instances have {bins[0].text} {word}" if bins else "no instance says its size"


def height_in(panel: Panel) -> float:
    """Height of the panel, without its key."""
    del panel
    return 2.7


def _bins(panel: Panel) -> tuple[str, list[Bin]]:
    word, size = size_of(panel.found)
    sizes = [size(next(iter(trial.rows.values()))) for trial in panel.found]
    return word, bins_of([number for number in sizes if number is not None and number > 0])


def draw(figure: "FigureBase", panel: Panel) -> "list[Artist]":
    """Draw the gaps above the times, and return the key."""
    from matplotlib.lines import Line2D

    word, bins = _bins(panel)
    _, size = size_of(panel.found)
    distance = min(later.at / earlier.at for earlier, later in pairwise(bins))
    first, second = figure.subplots(2, 1, sharex=True)
    count = len(panel.methods)
    for measure, axes in ((GAP, first), (TIME, second)):
        lows, highs = [], []
        for index, method in enumerate(panel.methods):
            style = panel.styles[method]
            points = points_of(panel.rows(method), bins, size, measure)
            side = distance ** (SHIFT * (index - (count - 1) / 2) / max(1.0, count / 6))
            x = [point.bin.at * side for point in points]
            width = 1.0 if style.own else 0.6
            if style.own:
                axes.vlines(x, [p.low for p in points], [p.high for p in points], color=style.colour, lw=0.7, zorder=2)
            lows += [point.low for point in points]
            highs += [point.high for point in points]
            axes.plot(x, [p.middle for p in points], color=style.colour, ls=style.dash, lw=width, zorder=3)
            for at, point in zip(x, points, strict=True):
                face = "white" if point.at_most else style.colour
                axes.plot(
                    at, point.middle, style.marker, ms=3.2, mfc=face, mec=style.colour, mew=0.7, zorder=4, clip_on=False
                )
        if measure is TIME:
            _seconds(axes, min(lows, default=1.0), max(highs, default=1.0))
        else:
            axes.set_ylim(-0.03 * max(*highs, 0.01), 1.06 * max(*highs, 0.01))
            axes.set_ylabel("gap, %")
        axes.grid()
        axes.set_axisbelow(True)
    edge = (bins[1].at / bins[0].at) ** 0.4
    second.set_xscale("log")
    second.set_xlim(bins[0].at / edge, bins[-1].at * edge)
    second.set_xticks([each.at for each in bins], [each.text for each in bins])
    second.set_xticks([], minor=True)
    second.set_xlabel(f"{word} (log scale)")
    if len(bins) > 5:
        second.tick_params(axis="x", rotation=90)
    first.tick_params(axis="x", labelbottom=False)
    figure.align_ylabels([first, second])
    shown = [panel.styles[method] for method in panel.methods if panel.styles[method].own]
    key: list[Artist] = [
        Line2D([], [], color=each.colour, ls=each.dash, marker=each.marker, ms=3.2, lw=1.0, label=each.label)
        for each in shown
    ]
    if count > len(shown):
        key.append(
            Line2D([], [], color=FAINT, marker=".", ms=3.2, lw=0.6, label=several(count - len(shown), "other method"))
        )
    if any(row.at_most for row in panel.group.rows):
        key.append(Line2D([], [], marker="o", ls="none", ms=3.2, mfc="white", mec="0.3", label="at most (bounds)"))
    return key


def _seconds(axes: "Axes", low: float, high: float) -> None:
    axes.set_yscale("log")
    axes.set_ylim(low / 1.5, high * 1.5)
    marks = ticks(low / 1.5, high * 1.5)[:: max(1, len(ticks(low / 1.5, high * 1.5)) // 4)]
    axes.set_yticks(marks, [f"{mark:g}" for mark in marks])
    axes.set_yticks([], minor=True)
    axes.set_ylabel("time, s")
