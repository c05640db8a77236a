"""Figures of studies for papers, drawn with Matplotlib at the width of a column; the numbers are those of the page.

A figure has a panel for each group, which shows ratios to the reference, curves of shares of instances (within a factor of the
best, within a gap, answered within a time), gap and time against size, or a matrix of methods.
"""

import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dlsched.core.errors import SolverMissingError, UsageError
from dlsched.core.files import require_writable
from dlsched.core.gap import MEETING
from dlsched.core.messages import several
from dlsched.plots.comparison import (
    CURVES_HEIGHT_IN,
    Dot,
    Style,
    Values,
    draw_curves,
    draw_profile,
    draw_ratios,
    ratios_height_in,
    styles_of,
)
from dlsched.plots.figure import (
    FAINT,
    HUES,
    SEQUENCE,
    UNDATED,
    Part,
    draw_parts,
    ink_on,
    require_width,
    set_ticks,
    styled,
    text_size,
    ticks,
)
from dlsched.study.figures.summary import Group
from dlsched.study.reports.content import Trial, trials
from dlsched.study.reports.page_figures import GAP, TIME, factors_of_best, of_method, points_of, sizes_of
from dlsched.study.reports.page_parts import finite
from dlsched.study.rows import Row

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase


@dataclass(frozen=True, slots=True)
class Panel:
    """A group, its instances, and its methods in the order of the ranking; without methods that only bound."""

    group: Group
    trials: Sequence[Trial]
    methods: Sequence[str]
    styles: Mapping[str, Style]
    width_in: float

    def rows(self, method: str) -> list[Row]:
        """Rows of a method."""
        return of_method(self.trials, method)

    def dots(self, method: str) -> list[Dot]:
        """Its finite ratios."""
        return [Dot(ratio, row.at_most) for row in self.rows(method) if (ratio := finite(row.ratio)) is not None]


def panels_of(groups: Sequence[Group], width_in: float) -> list[Panel]:
    """Collect what is drawn of groups; a method looks alike in all of them, where all fit into the styles of one."""
    every = dict.fromkeys(line.method for group in groups for line in group.lines if line.kind != "bound")
    exact = {line.method for group in groups for line in group.lines if line.exact}
    order = sorted(every, key=lambda method: method not in exact)
    alike = len(order) <= len(HUES) or all({line.method for line in group.lines} >= set(order) for group in groups)
    return [panel_of(group, width_in, order if alike else None) for group in groups]


def panel_of(group: Group, width_in: float, order: Sequence[str] | None = None) -> Panel:
    """Collect what is drawn of a group; ``order``: of the styles, by default exact methods first, then the ranking."""
    methods = [line.method for line in map(group.line, group.ranking) if line.kind != "bound"]
    if order is None:
        order = sorted(methods, key=lambda method: not group.line(method).exact)
    return Panel(group, trials(group.rows), methods, styles_of([[method] for method in order]), width_in)


def _draw_ratios(figure: "FigureBase", panel: Panel) -> "list[Artist]":
    """Draw the ratios, and return the key of their marks."""
    dots = {method: panel.dots(method) for method in panel.methods}
    failed = {method: panel.group.line(method).failed for method in panel.methods}
    missing = {method: f"{count:,} failed" if count else "" for method, count in failed.items()}
    return draw_ratios(figure, dots, panel.styles, panel.group.ratio, missing)


LINEAR_TO = 20.0  # gaps in per cent up to which their axis is linear
_NEAR = 1.0  # gap in per cent below which an axis of large gaps is linear, as it holds 0


def _missing_pairs(panel: Panel) -> str:
    """Why methods cannot be compared; empty if they can."""
    if len(panel.methods) < 2:
        return "one method alone is compared with no other"
    return "" if any(row.objective is not None for row in panel.group.rows) else "there is no answer"


def _draw_profile(figure: "FigureBase", panel: Panel) -> "list[Artist]":
    """Draw performance profiles, and return their key."""
    factors = factors_of_best(panel.trials, panel.methods, panel.group.family)
    return draw_profile(figure, factors, panel.styles)


def draw_gaps(figure: "FigureBase", panel: Panel) -> "list[Artist]":
    """Draw the share of instances within a gap, and return the key."""
    gaps = _gaps(panel)
    axes: Axes = figure.subplots()
    largest = max(_known(gaps))
    end = max(1.04 * largest, 0.1)
    if end > LINEAR_TO:
        axes.set_xscale("symlog", linthresh=_NEAR, linscale=0.5)
        marks = [0.0, _NEAR, *(mark for mark in ticks(2.0, end) if math.log10(mark).is_integer() or end < 100)]
        set_ticks(axes.xaxis, marks)
    at_most = any(row.at_most for row in panel.group.rows)
    axes.set_xlabel(f"gap to the {'best known bound or optimum' if at_most else 'optimum'}, %")
    return draw_curves(axes, gaps, panel.styles, 0.0, end)


def draw_times(figure: "FigureBase", panel: Panel) -> "list[Artist]":
    """Draw the share of instances answered within a time, and return the key."""
    times = _times(panel)
    axes: Axes = figure.subplots()
    known = _known(times)
    begin, end = min(known) / 1.3, max(known) * 1.3
    axes.set_xscale("log")
    set_ticks(axes.xaxis, ticks(begin, end))
    axes.set_xlabel("seconds of a cell (log scale)")
    return draw_curves(axes, times, panel.styles, begin, end)


def _gaps(panel: Panel) -> Values:
    """Gaps in per cent; those below 0, of answers that beat a bound by rounding, are 0."""
    return {
        method: [None if (gap := GAP.value(row)) is None else max(gap, 0.0) for row in panel.rows(method)]
        for method in panel.methods
    }


def _times(panel: Panel) -> Values:
    """Seconds of the cells with an answer."""
    return {
        method: [None if row.objective is None else TIME.value(row) for row in panel.rows(method)]
        for method in panel.methods
    }


def _known(values: Values) -> list[float]:
    return [value for of in values.values() for value in of if value is not None]


def draw_growth(figure: "FigureBase", panel: Panel) -> "list[Artist]":
    """Draw the gaps above the times, and return the key."""
    from matplotlib.lines import Line2D

    sizes = sizes_of(panel.trials)
    bins, word = sizes.bins, sizes.word
    first, second = figure.subplots(2, 1, sharex=True)
    count = len(panel.methods)
    # Methods stand side by side at each size; those with a colour of their own show their range.
    for measure, axes in ((GAP, first), (TIME, second)):
        lows, highs = [], []
        for index, method in enumerate(panel.methods):
            style = panel.styles[method]
            points = points_of(panel.rows(method), sizes, measure)
            x = [point.bin.at * sizes.side(index, count) for point in points]
            width = 1.0 if style.own else 0.6
            if style.own:
                axes.vlines(x, [p.low for p in points], [p.high for p in points], color=style.colour, lw=0.7, zorder=2)
            lows += [point.low for point in points]
            highs += [point.high for point in points]
            axes.plot(x, [p.middle for p in points], color=style.colour, ls=style.dash, lw=width, zorder=3)
            marks = {"ms": 3.2, "mec": style.colour, "mew": 0.7, "zorder": 4, "clip_on": False}
            for at, point in zip(x, points, strict=True):
                axes.plot(at, point.middle, style.marker, mfc="white" if point.at_most else style.colour, **marks)
        if measure is TIME:
            low, high = min(lows, default=1.0) / 1.5, max(highs, default=1.0) * 1.5
            axes.set_yscale("log")
            axes.set_ylim(low, high)
            marks_s = ticks(low, high)
            set_ticks(axes.yaxis, marks_s[:: max(1, len(marks_s) // 4)])
            axes.set_ylabel("time, s")
        else:
            axes.set_ylim(-0.03 * max(*highs, 0.01), 1.06 * max(*highs, 0.01))
            axes.set_ylabel("gap, %")
        axes.grid()
        axes.set_axisbelow(True)
    edge = (bins[1].at / bins[0].at) ** 0.4
    second.set_xscale("log")
    second.set_xlim(bins[0].at / edge, bins[-1].at * edge)
    set_ticks(second.xaxis, [each.at for each in bins], [each.text for each in bins])
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
        others = several(count - len(shown), "other method")
        key.append(Line2D([], [], color=FAINT, marker=".", ms=3.2, lw=0.6, label=others))
    if any(row.at_most for row in panel.group.rows):
        key.append(Line2D([], [], marker="o", ls="none", ms=3.2, mfc="white", mec="0.3", label="at most (bounds)"))
    return key


WRITTEN = 12  # methods up to which every field holds its number


def _height_of_matrix(panel: Panel) -> float:
    """Names of methods stand upright below it."""
    return (
        0.21 * max(len(panel.methods), 3) + 0.5 + 0.055 * max(len(panel.styles[each].label) for each in panel.methods)
    )


def shares(panel: Panel) -> "np.ndarray[tuple[int, int], np.dtype[np.float64]]":
    """Share of instances, of those that one of the two answered, on which the first is better; nan for the same method."""
    factors = factors_of_best(panel.trials, panel.methods, panel.group.family)
    values = np.array([[np.inf if value is None else value for value in factors[method]] for method in panel.methods])
    shares_of_pairs = np.full((len(values), len(values)), np.nan)
    # An instance that neither answered says nothing; an answer is better than none.
    for row, of_row in enumerate(values):
        for column, of_column in enumerate(values):
            tried = np.isfinite(of_row) | np.isfinite(of_column)
            if row != column and tried.any():
                shares_of_pairs[row, column] = (of_row * (1 + MEETING) < of_column)[tried].mean()
    return shares_of_pairs


def draw_matrix(figure: "FigureBase", panel: Panel) -> "list[Artist]":
    """Draw the matrix; it has no key, as every field says its number."""
    import matplotlib
    from matplotlib.colors import to_hex

    axes: Axes = figure.subplots()
    values = shares(panel)
    colours = matplotlib.colormaps[SEQUENCE]
    image = axes.imshow(values, cmap=SEQUENCE, vmin=0.0, vmax=1.0, aspect="auto")
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
    size = max(text_size(panel.width_in) - 0.5, 6)
    for row in range(count):
        for column in range(count):
            if not np.isnan(values[row, column]):
                ink = ink_on(to_hex(colours(values[row, column])))
                text = f"{100 * values[row, column]:.0f}"
                axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=size)
    return []


@dataclass(frozen=True, slots=True)
class Kind:
    """How a figure is drawn: why a group cannot be, empty if it can; its height in inches without its key; and its drawing.

    The drawing returns the key.
    """

    missing: Callable[[Panel], str]
    height_in: Callable[[Panel], float]
    draw: "Callable[[FigureBase, Panel], list[Artist]]"


KINDS: Mapping[str, Kind] = {
    "ratios": Kind(
        lambda panel: "" if any(map(panel.dots, panel.methods)) else "no answer has a ratio",
        lambda panel: ratios_height_in(len(panel.methods)),
        _draw_ratios,
    ),
    "profile": Kind(_missing_pairs, lambda panel: CURVES_HEIGHT_IN, _draw_profile),
    "gaps": Kind(
        lambda panel: "" if _known(_gaps(panel)) else "no answer has a gap", lambda panel: CURVES_HEIGHT_IN, draw_gaps
    ),
    "growth": Kind(lambda panel: sizes_of(panel.trials).missing, lambda panel: 2.7, draw_growth),
    "time": Kind(
        lambda panel: "" if _known(_times(panel)) else "no cell has a time", lambda panel: CURVES_HEIGHT_IN, draw_times
    ),
    "matrix": Kind(_missing_pairs, _height_of_matrix, draw_matrix),
}
"""The figures by name; ``docs/studies.md`` says what each shows."""


FORMATS = (*(suffix[1:] for suffix in UNDATED), "pgf")
MOST = 6  # largest number of groups in a figure


def require_plot(what: str, width_in: float, path: str | None = None) -> None:
    """Refuse an unknown figure or format, or a width at which nothing could be read, before anything is read."""
    if not isinstance(what, str) or what not in KINDS:
        raise UsageError(where="what", found=repr(what), allowed=", ".join(KINDS))
    try:
        require_width(width_in)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if path is None:
        return
    suffix = Path(path).suffix.lower()[1:]
    if suffix not in FORMATS:
        allowed = ", ".join(f".{name}" for name in FORMATS)
        raise UsageError(where="out", found=repr(Path(path).name), allowed=f"a file that ends with {allowed}")
    with styled(width_in):
        import matplotlib

        program = str(matplotlib.rcParams["pgf.texsystem"])
    if suffix == "pgf" and shutil.which(program) is None:
        raise SolverMissingError(
            f"{Path(path).name}: pgf needs LaTeX ({program}), which measures its text and is not installed here; pdf needs none"
        )
    require_writable(path)


def plot(groups: Sequence[Group], what: str, width_in: float, group: str | Sequence[str] | None = None) -> "Figure":
    """Draw a figure of a study's groups, or of those that ``group`` names: families, presets, or both with a comma."""
    require_plot(what, width_in)
    kind = KINDS[what]
    panels = panels_of(_chosen(groups, group), width_in)
    drawn = [panel for panel in panels if not kind.missing(panel)]
    if not drawn:
        reasons = dict.fromkeys(kind.missing(panel) for panel in panels)
        raise UsageError(
            where="what", found=repr(what), allowed=f"another: {'; '.join(reasons) or 'no cell has ended'}"
        )
    if len(drawn) > MOST:
        names = " or ".join(repr(", ".join(panel.group.names)) for panel in drawn[:2])
        raise UsageError(
            where="group", found=f"{len(drawn)} groups", allowed=f"at most {MOST} in a figure; choose some, as {names}"
        )
    return draw_parts([_part(panel, kind, len(drawn) > 1) for panel in drawn], width_in)


def _part(panel: Panel, kind: Kind, named: bool) -> Part:
    """Return the part that shows a panel; ``named``: with a title even if it is of files."""
    title = ", ".join(panel.group.names) if named or panel.group.generated else ""
    return Part(title, kind.height_in(panel), lambda figure: kind.draw(figure, panel))


def _chosen(groups: Sequence[Group], chosen: str | Sequence[str] | None) -> list[Group]:
    """Return the groups of every name, in the order of the study."""
    if not chosen:
        return list(groups)
    names = list(chosen) if isinstance(chosen, list | tuple) else [chosen]
    by_name = {name: [group for group in groups if name in _names(group)] for name in names}
    for name in (name for name, of in by_name.items() if not of):
        allowed = (
            ", ".join(dict.fromkeys(repr(", ".join(group.names)) for group in groups)) or "none: no cell has ended"
        )
        raise UsageError(where="group", found=repr(name), allowed=allowed)
    return [group for group in groups if any(group in of for of in by_name.values())]


def _names(group: Group) -> tuple[str, ...]:
    """Return all that a group goes by."""
    return (*group.names, group.objective, ", ".join(group.names), ", ".join(group.names[:2]))
