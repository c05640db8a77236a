"""Ratios of methods, a row each, and curves of shares of instances, performance profiles among them; both in one figure.

Comparisons draw them here, and studies in their figures for papers.
"""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from dlsched.core.arguments import renamed
from dlsched.core.messages import several
from dlsched.plots.figure import (
    DASHES,
    FAINT,
    HUES,
    PAGE_IN,
    Part,
    draw_parts,
    equal_names,
    labels,
    require_format,
    require_width,
    set_ticks,
    ticks,
    write_figure,
)
from dlsched.statistics.samples import Steps, median, steps

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase


Values = Mapping[str, Sequence[float | None]]  # by method, one an instance; None where it has none
Kind = Literal["exact", "heuristic", "foreign"]
MARKERS: dict[Kind | None, str] = {None: "o", "exact": "o", "heuristic": "s", "foreign": "D"}
STYLE_MARKERS = ("o", "s", "D", "^", "v", "P")
LONGEST = 18  # characters of a method's name, which is half of a narrow column


@dataclass(frozen=True, slots=True)
class Style:
    """Colour, dashes and mark of a method, which differ in grey, too; the first six have their own."""

    label: str
    colour: str
    dash: object
    marker: str
    own: bool


def styles_of(groups: Sequence[Sequence[str]]) -> dict[str, Style]:
    """Assign a style to each group of methods, with the label of each method; groups after the sixth are grey."""
    shown = labels((method for group in groups for method in group), LONGEST)
    return {
        method: Style(
            shown[method],
            HUES[index] if index < len(HUES) else FAINT,
            DASHES[index] if index < len(DASHES) else "-",
            STYLE_MARKERS[index] if index < len(STYLE_MARKERS) else ".",
            index < len(HUES),
        )
        for index, group in enumerate(groups)
        for method in group
    }


def axis_from_one(axes: "Axes", largest: float, name: str, margin: float = 0.0) -> float:
    """Let the x axis of factors begin at 1, logarithmic and labelled so if it is long; return its end."""
    end = max(1 + 1.05 * (largest - 1), 1.05)
    if end > LOG_BEYOND:
        end = 1.05 * largest
        axes.set_xscale("log")
        marks = ticks(1, end)
        set_ticks(axes.xaxis, marks)
        axes.set_xlim(end**-margin, end)
        name += " (log scale)"
    else:
        axes.ticklabel_format(axis="x", useOffset=False, style="plain")
        axes.set_xlim(1 - margin * (end - 1), end)
    axes.set_xlabel(textwrap.fill(name, 50))
    return end


LOG_BEYOND = 4.0  # the axis is logarithmic if the largest factor is above this
GOLDEN = 0.618034  # golden-ratio step: its multiples modulo 1 spread any number of dots evenly over the height of a row
DOTS = 60  # answers of a method up to which each has a dot
QUARTILES_FROM = 4  # answers from which the middle half is marked
BINS = 48  # bars of a density: a column of a paper is some 200 points wide, so that each has four


class Dot(NamedTuple):
    """Ratio of an answer, whether the true one may be less, and the kind of its method, if marks distinguish kinds."""

    ratio: float
    at_most: bool
    kind: Kind | None = None


def ratios_height_in(methods: int) -> float:
    """Inches of a part with so many rows of ratios."""
    return 0.55 + 0.21 * max(methods, 2)


def draw_ratios(
    figure: "FigureBase", rows: Mapping[str, Sequence[Dot]], styles: Mapping[str, Style], name: str,
    missing: Mapping[str, str],
) -> "list[Artist]":  # fmt: skip
    """Draw a row a method, the first on top, and return the key of the marks.

    ``name`` is that of the axis; ``missing`` says by method what it has no ratio of, and is empty where it has all.
    """
    axes: Axes = figure.subplots()
    ratios = {method: [dot.ratio for dot in row] for method, row in rows.items()}
    everything = [ratio for row in ratios.values() for ratio in row]
    axis_from_one(axes, max(everything, default=1.0), name, 0.03)
    axes.set_xlim(left=min(*everything, *axes.get_xlim()))
    dense = max(map(len, rows.values())) > DOTS
    # Dots or a density, quantiles below them, what is missing at the right.
    for y, (method, row) in enumerate(rows.items()):
        colour = styles[method].colour
        if dense and row:
            _draw_density(axes, ratios[method], y, colour)
        for index, dot in enumerate(() if dense else row):
            at = y + 0.34 * ((0.5 + index * GOLDEN) % 1 - 0.5) - 0.12
            face, marker = "white" if dot.at_most else colour, MARKERS[dot.kind]
            axes.plot(dot.ratio, at, marker, ms=2.6, mfc=face, mec=colour, mew=0.6, zorder=3, clip_on=False)
        _draw_quantiles(axes, ratios[method], y, worst=dense)
        axes.annotate(
            missing[method], (1.0, y), (2, 0), xycoords=axes.get_yaxis_transform(), textcoords="offset points",
            va="center", ha="left", annotation_clip=False,
        )  # fmt: skip
    axes.set_yticks(range(len(rows)), [styles[method].label for method in rows])
    axes.set_ylim(max(len(rows), 2) - 0.45, -0.55)
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    return _ratios_key(rows, dense)


def _draw_density(axes: "Axes", ratios: Sequence[float], y: float, colour: str) -> None:
    """Fill the share of instances by ratio, above the line of quantiles, as the axis has them."""
    log = axes.get_xscale() == "log"
    left, right = axes.get_xlim()
    edges = np.geomspace(left, right, BINS + 1) if log else np.linspace(left, right, BINS + 1)
    counts, _ = np.histogram(np.clip(ratios, left, right), edges)
    heights = np.sqrt(counts / counts.max()) * 0.5
    axes.stairs(y + 0.2 - heights, edges, baseline=y + 0.2, fill=True, fc=colour, ec="none", alpha=0.55, zorder=2)


def _draw_quantiles(axes: "Axes", ratios: Sequence[float], y: float, *, worst: bool) -> None:
    """Below the dots or the density: the median, of enough answers the middle half and 5 % to 95 %; ``worst``: a cross there."""
    if len(ratios) > 1:
        axes.vlines(np.median(ratios), y + 0.1, y + 0.42, color="black", lw=1.1, zorder=4)
    if len(ratios) < QUARTILES_FROM:
        return
    least, low, high, most = np.quantile(ratios, (0.05, 0.25, 0.75, 0.95))
    axes.hlines(y + 0.26, least, most, color="black", lw=0.7, zorder=3)
    axes.hlines(y + 0.26, low, high, color="black", lw=2.2, zorder=3)
    if worst:
        axes.plot(max(ratios), y + 0.26, "x", ms=3, mew=0.7, color="black", zorder=4, clip_on=False)


def _ratios_key(rows: Mapping[str, Sequence[Dot]], dense: bool) -> "list[Artist]":
    """Explain the marks that occur."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    key: list[Artist] = []
    dots = [dot for row in rows.values() for dot in row]
    if dense:
        key.append(Patch(fc="0.6", label="density"))
        key.append(Line2D([], [], marker="x", ls="none", ms=3, mew=0.7, label="worst", color="black"))
    else:
        for kind in sorted({dot.kind for dot in dots}, key=list(MARKERS).index):
            label = f"{kind} method" if kind else "an instance"
            key.append(Line2D([], [], marker=MARKERS[kind], ls="none", ms=2.6, color="0.3", label=label))
        if any(dot.at_most for dot in dots):
            key.append(Line2D([], [], marker="o", ls="none", ms=2.6, mfc="white", mec="0.3", label="at most (a bound)"))
    most = max(map(len, rows.values()))
    if most >= QUARTILES_FROM:
        key.append(Line2D([], [], marker="|", ls="-", lw=2.2, ms=6, label="median, middle half", color="black"))
        key.append(Line2D([], [], lw=0.7, label="5 % to 95 %", color="black"))
    elif most > 1:
        key.append(Line2D([], [], marker="|", ls="none", ms=6, label="median", color="black"))
    return key


CURVES_HEIGHT_IN = 1.7  # inches of a part with curves


def equal_curves(values: Values, begin: float) -> dict[Steps, list[str]]:
    """Group the methods of equal curves, by the curve: values from ``begin``, and the share of instances up to each."""
    # What differs by less than is drawn is equal.
    curves: dict[Steps, list[str]] = {}
    for method, of in values.items():
        rounded = [None if value is None else float(f"{value:.6g}") for value in of]
        curves.setdefault(steps(rounded, "values", begin), []).append(method)
    return curves


def draw_curves(axes: "Axes", values: Values, styles: Mapping[str, Style], begin: float, end: float) -> "list[Artist]":
    """Draw the share of instances up to each value, a curve for methods of equal shares; return the key of the curves."""
    from matplotlib.lines import Line2D

    curves = equal_curves(values, begin)
    letters = int(12 * axes.figure.bbox.width / axes.figure.dpi)
    key: list[Artist] = []
    others = 0
    # Earlier curves are wider and lie below the others, so that overlapping ones can all be seen.
    for index, ((ends, shares), methods) in enumerate(curves.items()):
        style = styles[methods[0]]
        width = 1.2 + 0.2 * max(len(HUES) - 1 - index, 0) if style.own else 0.7
        (curve,) = axes.step([*ends, end], [*shares, shares[-1]], where="post", lw=width, zorder=3 if style.own else 2)
        curve.set(color=style.colour, linestyle=style.dash)
        if style.own:
            curve.set_label(equal_names([styles[method].label for method in methods], letters))
            key.append(curve)
        else:
            others += len(methods)
    if others:
        key.append(Line2D([], [], color=FAINT, lw=0.7, label=several(others, "other method")))
    axes.set_xlim(begin, end)
    axes.set_ylim(0, 1.03)
    axes.set_ylabel("share of instances")
    axes.grid()
    axes.set_axisbelow(True)
    return key


def draw_profile(figure: "FigureBase", factors: Values, styles: Mapping[str, Style]) -> "list[Artist]":
    """Draw performance profiles of factors of the best, and return their key."""
    axes: Axes = figure.subplots()
    largest = max((factor for of in factors.values() for factor in of if factor is not None), default=1.0)
    end = axis_from_one(axes, largest, "factor τ of the best known")
    return draw_curves(axes, factors, styles, 1.0, end)


ROUNDING = 1e-6  # a ratio this far under 1 is a solver's rounding; further under it is an error
RATIO = "ratio to the optimum"  # the name of its axis where objectives of several kinds share it


@dataclass(frozen=True)
class Point:
    """What one method achieved on one instance.

    `ratio` is objective / optimum (optimum / objective if the objective is maximised), at least 1, or None
    without an answer. With `ratio_is_upper_bound` the optimum is unknown and the objective was compared with
    a bound, so the true ratio is at most this.
    """

    instance: str
    method: str
    kind: Kind
    ratio: float | None
    ratio_is_upper_bound: bool
    runtime_s: float | None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise ValueError(f"kind: found {self.kind!r}, allowed: {', '.join(get_args(Kind))}")
        if self.ratio is not None and not 1 - ROUNDING <= self.ratio < math.inf:
            raise ValueError(f"ratio: found {self.ratio} for {self.method} on {self.instance}, allowed: finite, >= 1")


@renamed(width_in="width")
def draw_comparison(
    points: Sequence[Point], path: Path | str, *, title: str | None = None, width: float = PAGE_IN, ratio: str = RATIO
) -> Path:
    """Draw the ratios and the performance profiles of all methods to `path`, and return it.

    Methods stand in order of their median ratio, those with missing answers after those without. A method without a point for
    an instance has no answer there. Methods of equal profile share a curve; the first 6 curves have colours, the same in both
    halves. ``ratio`` names the axis.

    Raises
    ------
    ValueError
        Another suffix, no points, or two points for one method and instance.
    """
    comparison_figure(points, path, title=title, width_in=width, ratio=ratio)
    return Path(path)


def comparison_figure(
    points: Sequence[Point],
    path: Path | str | None = None,
    *,
    title: str | None = None,
    width_in: float = PAGE_IN,
    ratio: str = RATIO,
) -> "Figure":
    """Draw as ``draw_comparison`` and return the figure; without a ``path`` no file is written."""
    require_width(width_in)
    if path is not None:
        require_format(path)
    rows: dict[str, dict[str, Point]] = {}
    for point in points:
        if point.instance in rows.setdefault(point.method, {}):
            where = f"method {point.method!r} on instance {point.instance!r}"
            raise ValueError(f"points: found two for {where}, allowed: one")
        rows[point.method][point.instance] = point
    if not rows:
        raise ValueError("points: found none, allowed: at least one")
    instances = tuple(dict.fromkeys(point.instance for point in points))
    best = {name: _best_known_ratio([row[name] for row in rows.values() if name in row]) for name in instances}
    # Ratios within rounding of 1 are drawn at 1.
    dots = {
        method: [Dot(max(each.ratio, 1.0), each.ratio_is_upper_bound, each.kind) for each in row.values() if each.ratio]
        for method, row in rows.items()
    }
    # The usual order is by the median; a method that often has no answer would look good by its answers.
    missing = {method: len(instances) - len(row) for method, row in dots.items()}
    order = sorted(dots, key=lambda method: (missing[method], median([dot.ratio for dot in dots[method]]) or math.inf))
    factors = {
        method: [
            None if (own := rows[method].get(name)) is None or own.ratio is None else own.ratio / best[name]
            for name in instances
        ]
        for method in order
    }
    styles = styles_of(list(equal_curves(factors, 1.0).values()))
    ordered = {method: dots[method] for method in order}
    said = {method: f"{count:,} unanswered" if count else "" for method, count in missing.items()}
    parts = [
        Part(
            f"{len(instances)} instances" if len(instances) > 1 else instances[0],
            ratios_height_in(len(rows)),
            lambda part: draw_ratios(part, ordered, styles, ratio, said),
        ),
        Part("Performance profile", CURVES_HEIGHT_IN, lambda part: draw_profile(part, factors, styles)),
    ]
    figure = draw_parts(parts, width_in, title)
    if path is not None:
        write_figure(figure, path, width_in)
    return figure


def _best_known_ratio(of_instance: Sequence[Point]) -> float:
    """1 where the optimum is known, even if no method reached it; else the smallest ratio to the bound."""
    answered = [point for point in of_instance if point.ratio is not None]
    if not all(point.ratio_is_upper_bound for point in answered):
        return 1.0
    return min((point.ratio for point in answered if point.ratio is not None), default=1.0)
