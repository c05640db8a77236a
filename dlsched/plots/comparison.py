"""Comparison of methods over instances: ratios to the optimum with intervals, and performance profiles."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Literal, get_args

from dlsched.core.arguments import renamed
from dlsched.plots.figure import (
    DASHES,
    FAINT,
    HUES,
    NARROW_IN,
    PAGE_IN,
    canvas,
    equal_names,
    headline,
    labels,
    require_width,
    set_ticks,
    short,
    text_size,
    ticks,
)
from dlsched.statistics.samples import performance_profile

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Transform

Ratios = Mapping[str, Sequence[float | None]]  # by method, one an instance
Looks = Mapping[str, tuple[str, object]]  # by method, its colour and dashes
LOG_BEYOND = 4.0  # the axis is logarithmic if the largest factor is above this
DIGITS = 6  # factors that agree in these digits are equal, as an objective that meets a bound equals it


def equal_curves(ratios: Ratios) -> list[list[str]]:
    """Group the methods of equal profile, best group first: the one with the least area above its curve."""
    groups: dict[object, list[str]] = {}
    for method, of_method in ratios.items():
        groups.setdefault(performance_profile(_rounded(of_method)), []).append(method)
    end = 2.0 * max((ratio for row in ratios.values() for ratio in row if ratio is not None), default=1.0)

    def above(group: list[str]) -> float:
        return math.fsum(math.log(end if ratio is None else max(ratio, 1.0)) for ratio in ratios[group[0]])

    return sorted(groups.values(), key=above)


def hues(groups: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return the colour of every method: a hue for each group of equal curves, then grey."""
    return {
        method: HUES[index] if index < len(HUES) else FAINT for index, group in enumerate(groups) for method in group
    }


def draw_profiles(
    axes: "Axes", ratios: Ratios, groups: Sequence[Sequence[str]], *, wider: float = 0.6, looks: Looks | None = None
) -> None:
    """Draw a step curve for each group; ``looks``: colours and dashes by first method, None: those of their places."""
    profiles = [performance_profile(_rounded(ratios[group[0]])) for group in groups]
    end = axis_from_one(axes, max(taus[-1] for taus, _ in profiles), "factor τ of the best known")
    colours = hues(groups)
    of = min(len(groups), len(HUES))
    # The best curve is the widest and lies below the others, so that overlapping ones can all be seen.
    for index, (group, (taus, fractions)) in enumerate(zip(groups, profiles, strict=True)):
        own = index < of
        colour, dash = looks[group[0]] if looks else (colours[group[0]], DASHES[index] if own else "-")
        axes.step(
            [*taus, end],
            [*fractions, fractions[-1]],
            linestyle=dash,
            where="post",
            color=colour,
            lw=1.2 + wider * (of - 1 - index) if own else 0.7,
            clip_on=False,
            solid_capstyle="butt",
            zorder=3 if own else 2,
        )
    axes.set_ylim(0, 1.03)
    axes.set_ylabel("fraction of instances within τ")
    axes.set_title("Performance profile")
    axes.grid()
    axes.set_axisbelow(True)


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


def _rounded(ratios: Sequence[float | None]) -> list[float | None]:
    return [None if ratio is None else round(ratio, DIGITS) for ratio in ratios]


Kind = Literal["exact", "heuristic", "foreign"]
MARKERS: dict[Kind, str] = {"exact": "o", "heuristic": "s", "foreign": "D"}
ROUNDING = 1e-6  # a ratio this far under 1 is a solver's rounding; further under it is an error
COLUMNS = (38, 72)  # points from the axes to the right ends of the figures beside them
RATIO = "ratio to the optimum"  # the name of its axis where objectives of several kinds share it
QUARTILES_FROM = 4  # answers from which the middle half of them is marked


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


PointRows = Mapping[str, Mapping[str, Point]]  # method -> instance -> point


@renamed(width_in="width")
def draw_comparison(
    points: Sequence[Point], path: Path | str, *, title: str | None = None, width: float = PAGE_IN, ratio: str = RATIO
) -> Path:
    """Draw the ratios and the performance profiles of all methods to `path`, and return it.

    Methods stand in order of their median ratio, those with missing answers after those without. A method without a point for
    an instance has no answer there. Methods of equal profile share a curve; the 6 best curves have colours, the same in both
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
    over_best = {
        method: [
            None if (own := row.get(name)) is None or own.ratio is None else own.ratio / best[name]
            for name in instances
        ]
        for method, row in rows.items()
    }
    groups = equal_curves(over_best)
    narrow = width_in < NARROW_IN
    size = text_size(width_in)
    left_in = 0.55 + 1.9 * size / 72 * max(len(rows), 4)
    names = [equal_names(group, 34 if narrow else 46, 3) for group in groups[: len(HUES)]]
    key_in = 0.16 * (sum(name.count("\n") + 1 for name in names) + 4) * (1.0 if narrow else 0.6)
    height_in = (left_in + 2.2 if narrow else max(left_in, 2.4)) + key_in
    with canvas(path, width_in, height_in) as figure:
        if narrow:
            first, second = figure.subplots(2, 1, height_ratios=(left_in, 2.2))
        else:
            first, second = figure.subplots(1, 2, width_ratios=(1.25, 1))
        _draw_ratios(first, rows, instances, hues(groups), ratio)
        draw_profiles(second, over_best, groups)
        key = [*_curve_key(names, groups), *_key(points, max(map(len, rows.values())))]
        figure.legend(handles=key, loc="outside lower left", ncols=1 if narrow else 2)
        headline(figure, title)
    return figure


def _draw_ratios(
    axes: "Axes", rows: PointRows, instances: Sequence[str], colours: Mapping[str, str], ratio: str
) -> None:
    """One row a method, one mark an instance; below them from the least to the largest, and the middle half."""
    # Ratios within rounding of 1 are drawn at 1.
    ratios = {
        method: [max(point.ratio, 1.0) for point in row.values() if point.ratio is not None]
        for method, row in rows.items()
    }
    order = sorted(
        rows, key=lambda method: (len(instances) - len(ratios[method]), median(ratios[method] or [math.inf]))
    )
    # The usual order is by the median; a method that often has no answer would look good by its answers.
    axis_from_one(axes, max((each for row in ratios.values() for each in row), default=1.0), ratio, 0.03)
    shown = labels(order, 22)
    # A row for each method: range, middle half and median below, a mark for each instance above.
    for y, method in enumerate(order):
        answered, colour = ratios[method], colours[method]
        if len(answered) > 1:
            axes.hlines(y + 0.27, min(answered), max(answered), color="black", lw=0.7, zorder=2)
        if len(answered) >= QUARTILES_FROM:
            low, _, high = quantiles(answered, n=4, method="inclusive")
            axes.hlines(y + 0.27, low, high, color="black", lw=2.4, zorder=2)
        if len(answered) > 1:
            axes.vlines(median(answered), y + 0.1, y + 0.44, color="black", lw=1.2, zorder=4)
        for index, name in enumerate(instances):
            point = rows[method].get(name)
            if point is not None and point.ratio is not None:
                # Multiples of the golden ratio spread any number of instances evenly over the height of the row.
                spread = 0.4 * ((0.5 + index * 0.618034) % 1 - 0.8) if len(instances) > 1 else 0.0
                face, marker = "white" if point.ratio_is_upper_bound else colour, MARKERS[point.kind]
                axes.plot(max(point.ratio, 1.0), y + spread, marker, ms=3.5, mfc=face, mec=colour, mew=0.8, zorder=3)
        _write(axes, y, answered, len(instances))
    # Heads of the two columns of figures right of the axes.
    for right, text in zip(COLUMNS, ("median\ngap", "no\nanswer"), strict=True):
        _beside(axes, text, (1.0, 1.0), (right, 2), "axes fraction", "bottom")
    axes.set_yticks(range(len(order)), [shown[method] for method in order])
    axes.set_ylim(max(len(order), 4) - 0.4, -0.6)  # the first method on top, rows never taller than a quarter
    axes.grid(axis="x")
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.set_title(f"{len(instances)} instances" if len(instances) > 1 else short(instances[0]))


def _write(axes: "Axes", y: int, answered: Sequence[float], instances: int) -> None:
    """Write the median gap and the number of missing answers beside the row."""
    missing = instances - len(answered)
    gap = f"{100 * (1 - 1 / median(answered)):.2g} %" if answered else "–"
    texts = (gap, f"{missing} of {instances}" if missing else "0")
    for right, text, colour in zip(COLUMNS, texts, ("black", "black" if missing else "0.6"), strict=True):
        _beside(axes, text, (1.0, y), (right, 0), axes.get_yaxis_transform(), "center", colour)


def _beside(
    axes: "Axes",
    text: str,
    at: tuple[float, float],
    by: tuple[float, float],
    of: "str | Transform",
    va: Literal["bottom", "center"],
    ink: str = "black",
) -> None:
    """Write right-aligned text so many points away from a place in the coordinates ``of`` the axes."""
    offset = "offset points"
    axes.annotate(text, at, by, xycoords=of, textcoords=offset, fontsize="small", ha="right", va=va, color=ink)


def _best_known_ratio(of_instance: Sequence[Point]) -> float:
    """1 where the optimum is known, even if no method reached it; else the smallest ratio to the bound."""
    answered = [point for point in of_instance if point.ratio is not None]
    if not all(point.ratio_is_upper_bound for point in answered):
        return 1.0
    return min((point.ratio for point in answered if point.ratio is not None), default=1.0)


def _curve_key(names: Sequence[str], groups: Sequence[Sequence[str]]) -> "list[Artist]":
    """Explain the curves: a line for each that has a colour, equal ones together."""
    from matplotlib.lines import Line2D

    key: list[Artist] = [
        Line2D([], [], color=HUES[index], ls=DASHES[index], lw=1.5, label=name) for index, name in enumerate(names)
    ]
    others = sum(map(len, groups[len(names) :]))
    if others:
        key.append(Line2D([], [], color=FAINT, lw=0.7, label=f"{others} other methods"))
    return key


def _key(points: Sequence[Point], most: int) -> "list[Artist]":
    """Explain the marks that occur among the ratios."""
    from matplotlib.lines import Line2D

    kinds = {point.kind for point in points}
    key: list[Artist] = [
        Line2D([], [], marker=MARKERS[kind], mfc="0.4", mec="0.4", ms=3.5, ls="none", label=f"{kind} method")
        for kind in MARKERS
        if kind in kinds
    ]
    if any(point.ratio_is_upper_bound for point in points):
        label = "hollow: at most (compared with a bound)"
        key.append(Line2D([], [], marker="o", mfc="white", mec="0.4", ms=3.5, ls="none", label=label))
    if most > 1:
        label = "median, least to largest"
        key.append(Line2D([], [], marker="|", ls="-", color="black", lw=0.7, ms=7, mew=1.2, label=label))
    if most >= QUARTILES_FROM:
        key.append(Line2D([], [], color="black", lw=2.4, label="middle half of the instances"))
    return key
