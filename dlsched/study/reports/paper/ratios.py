"""Ratios to the reference, a row for each method: a dot for each instance, or quantiles and their density where dots merge."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dlsched.plots.profile import axis_from_one
from dlsched.study.reports.html.distribution import GOLDEN
from dlsched.study.reports.paper.panel import Panel

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

DOTS = 60
"""Instances up to which each has a dot."""
QUARTILES_FROM = 4
"""Answers from which the middle half is marked."""
BINS = 48


def missing(panel: Panel) -> str:
    """Why nothing can be drawn; empty if something can."""
    return "" if any(map(panel.ratios, panel.methods)) else "no answer has a ratio"


def height_in(panel: Panel) -> float:
    """Height of the panel, without its key."""
    return 0.55 + 0.21 * max(len(panel.methods), 2)


def draw(figure: "FigureBase", panel: Panel) -> "list[Artist]":
    """Draw the rows, and return the key of their marks."""
    axes: Axes = figure.subplots()
    everything = [ratio for method in panel.methods for ratio in panel.ratios(method)]
    axis_from_one(axes, max(everything), panel.group.ratio, 0.03)
    low = min(everything)
    if low < axes.get_xlim()[0]:
        axes.set_xlim(left=low)
    dots = len(panel.found) <= DOTS
    hollow = False
    for y, method in enumerate(panel.methods):
        rows = [row for row in panel.rows(method) if row.ratio is not None and np.isfinite(row.ratio)]
        ratios = [float(row.ratio) for row in rows if row.ratio is not None]
        colour = panel.styles[method].colour
        if dots:
            hollow |= any(row.at_most for row in rows)
            for index, row in enumerate(rows):
                face = "white" if row.at_most else colour
                spread = 0.34 * ((0.5 + index * GOLDEN) % 1 - 0.5) - 0.12
                axes.plot(
                    ratios[index], y + spread, "o", ms=2.6, mfc=face, mec=colour, mew=0.6, zorder=3, clip_on=False
                )
        elif ratios:
            _density(axes, ratios, y, colour)
        _quantiles(axes, ratios, y, worst=not dots)
        failed = panel.group.line(method).failed
        if failed:
            axes.annotate(
                f"{failed:,} failed", (1.0, y), (2, 0), xycoords=axes.get_yaxis_transform(), textcoords="offset points",
                fontsize=panel.size - 1, va="center", ha="left", annotation_clip=False,
            )  # fmt: skip
    axes.set_yticks(range(len(panel.methods)), [panel.styles[method].label for method in panel.methods])
    axes.set_ylim(max(len(panel.methods), 2) - 0.45, -0.55)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    return _key(dots, hollow)


def _density(axes: "Axes", ratios: Sequence[float], y: float, colour: str) -> None:
    """Fill the share of instances by ratio, above the line of quantiles, as the axis has them."""
    log = axes.get_xscale() == "log"
    left, right = axes.get_xlim()
    edges = np.geomspace(left, right, BINS + 1) if log else np.linspace(left, right, BINS + 1)
    counts, _ = np.histogram(np.clip(ratios, left, right), edges)
    heights = np.sqrt(counts / counts.max()) * 0.5
    axes.stairs(y + 0.2 - heights, edges, baseline=y + 0.2, fill=True, fc=colour, ec="none", alpha=0.55, zorder=2)


def _quantiles(axes: "Axes", ratios: Sequence[float], y: float, *, worst: bool) -> None:
    """Below the dots or the density: 5 % to 95 %, the middle half, the median, and where there are no dots the worst."""
    if len(ratios) < QUARTILES_FROM:
        return
    least, low, middle, high, most = np.quantile(ratios, (0.05, 0.25, 0.5, 0.75, 0.95))
    axes.hlines(y + 0.26, least, most, color="black", lw=0.7, zorder=3)
    axes.hlines(y + 0.26, low, high, color="black", lw=2.2, zorder=3)
    axes.vlines(middle, y + 0.1, y + 0.42, color="black", lw=1.1, zorder=4)
    if worst:
        axes.plot(max(ratios), y + 0.26, "x", ms=3, mew=0.7, color="black", zorder=4, clip_on=False)


def _key(dots: bool, hollow: bool) -> "list[Artist]":
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    key: list[Artist] = []
    if dots:
        key.append(Line2D([], [], marker="o", ls="none", ms=2.6, color="0.3", label="an instance"))
        if hollow:
            key.append(Line2D([], [], marker="o", ls="none", ms=2.6, mfc="white", mec="0.3", label="at most (a bound)"))
    else:
        key.append(Patch(fc="0.6", label="density"))
        key.append(Line2D([], [], marker="x", ls="none", ms=3, mew=0.7, label="worst", color="black"))
    key.append(Line2D([], [], marker="|", ls="-", lw=2.2, ms=6, label="median, middle half", color="black"))
    key.append(Line2D([], [], lw=0.7, label="5 % to 95 %", color="black"))
    return key
