"""A matrix of methods: on which share of the instances the method of the row is better than that of the column."""

from typing import TYPE_CHECKING

import numpy as np

from dlsched.core.tolerance import MEETING
from dlsched.plots.palette import SEQUENCE, ink_on
from dlsched.study.reports.html.profiles import factors_of_best
from dlsched.study.reports.paper.panel import Panel

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

WRITTEN = 12
"""Methods up to which every field holds its number."""


def missing(panel: Panel) -> str:
    """Why nothing can be drawn; empty if something can."""
    if len(panel.methods) < 2:
        return "one method alone is compared with no other"
    return "" if any(row.objective is not None for row in panel.group.rows) else "there is no answer"


def height_in(panel: Panel) -> float:
    """Height of the panel, without its key."""
    return (
        0.21 * max(len(panel.methods), 3) + 0.5 + 0.055 * max(len(panel.styles[each].label) for each in panel.methods)
    )


def shares(panel: Panel) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """Share of instances, of those that one of the two answered, on which the first is better; nan for the same method."""
    factors = factors_of_best(panel.found, panel.methods, panel.group.family)
    values = np.array([[np.inf if value is None else value for value in factors[method]] for method in panel.methods])
    found = np.full((len(values), len(values)), np.nan)
    for row, of_row in enumerate(values):
        for column, of_column in enumerate(values):
            tried = np.isfinite(of_row) | np.isfinite(of_column)
            if row != column and tried.any():
                found[row, column] = (of_row * (1 + MEETING) < of_column)[tried].mean()
    return found


def draw(figure: "FigureBase", panel: Panel) -> "list[Artist]":
    """Draw the matrix; it has no key, as every field says its number."""
    import matplotlib
    from matplotlib.colors import to_hex

    axes: Axes = figure.subplots()
    found = shares(panel)
    colours = matplotlib.colormaps[SEQUENCE]
    image = axes.imshow(found, cmap=SEQUENCE, vmin=0.0, vmax=1.0, aspect="auto")
    names = [panel.styles[method].label for method in panel.methods]
    count = len(names)
    axes.set_xticks(range(count), names, rotation=90)
    axes.set_yticks(range(count), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("better than ..., on % of the instances")
    if count > WRITTEN:
        figure.colorbar(image, ax=axes, label="share of instances")
        return []
    for row in range(count):
        for column in range(count):
            if not np.isnan(found[row, column]):
                ink = ink_on(to_hex(colours(found[row, column])))
                text = f"{100 * found[row, column]:.0f}"
                axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=max(panel.size - 0.5, 6))
    return []
