"""Timelines, a panel for each method: who holds what when, with arrivals, beside the distribution of flow times."""

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dlsched.core.quantities import short, time_unit
from dlsched.plots.figure import (
    FAINT,
    HUES,
    NARROW_IN,
    OTHERS,
    canvas,
    equal_names,
    headline,
    ink_on,
    labels,
    legend_below,
    set_ticks,
    settle,
    text_size,
    ticks,
)

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec


Vector = NDArray[np.float64]
LOG_BEYOND = 20  # the axis is logarithmic from this ratio of the largest to the least flow time
STEPS = 2000  # largest number of steps of a step function


class Flows(Protocol):
    """What one method made of an instance, to be drawn over time."""

    @property
    def method(self) -> str:
        """Name of the method."""

    @property
    def flow_times_s(self) -> Sequence[float]:
        """Seconds from arrival to end of each job."""

    def held(self) -> dict[str, Vector]:
        """(start in s, end in s, amount held, ...) by job, one line a period."""


def require_flows(method: str, flow_times_s: Sequence[float]) -> None:
    """Refuse flow times that are missing, negative or not numbers (ValueError)."""
    if not len(flow_times_s):
        raise ValueError(f"flow_times_s: found none for {method}, allowed: one a job, at least one")
    for flow_s in flow_times_s:
        if not 0 <= flow_s < math.inf:
            raise ValueError(f"flow_times_s: found {flow_s} for {method}, allowed: finite, >= 0")


def mean_flow_s(row: Flows) -> float:
    """Mean flow time in seconds."""
    return math.fsum(row.flow_times_s) / len(row.flow_times_s)


def draw_flows(panels: "Sequence[Axes]", rows: Sequence[Flows], break_: str) -> None:
    """Draw in each panel the fraction of jobs within each flow time: its method black, the others grey."""
    flows = [np.sort(np.asarray(row.flow_times_s, float)) for row in rows]
    unit, unit_s = time_unit(max(map(mean_flow_s, rows)))
    largest = max(float(times[-1]) for times in flows) / unit_s
    least = min((float(times[times > 0][0]) / unit_s for times in flows if times[-1] > 0), default=0.0)
    start, end = 0.0, 1.05 * largest or 1.0
    if logarithmic := largest > LOG_BEYOND * least > 0:
        # A flow time of 0, or of rounding errors only, counts at the left end.
        start, end = max(least / 1.1, largest / 1e6), 1.1 * largest
        panels[-1].set_xscale("log")
        marks = ticks(start, end)
        set_ticks(panels[-1].xaxis, marks)
    curves = []
    # Steps at ranks that are evenly spread, all of them where there are few; both ends are always there.
    for times in flows:
        ranks = np.unique(np.linspace(0, len(times) - 1, STEPS + 1).round().astype(int))
        x = np.concatenate(([start], np.maximum(times[ranks] / unit_s, start), [end]))
        curves.append((x, np.concatenate(([0.0], (ranks + 1) / len(times), [1.0]))))
    # The curves of the other methods in every panel, so that panels can be compared.
    for axes, row, own in zip(panels, rows, curves, strict=True):
        for curve in curves:
            if curve is not own:
                axes.step(*curve, where="post", color=FAINT, lw=0.6, alpha=0.6)
        axes.step(*own, where="post", color="black", lw=1.1)
        axes.set_ylim(0, 1.04)
        axes.set_yticks([0, 1])
        axes.set_ylabel("fraction\nof jobs")
        axes.set_title(f"mean {short(mean_flow_s(row) / unit_s)} {unit}")
    panels[-1].set_xlim(start, end)
    panels[-1].set_xlabel(f"flow time{break_}({unit}, log scale)" if logarithmic else f"flow time ({unit})")


TimesT = TypeVar("TimesT", float, Vector)

SAME = 1e-6  # share of the time shown: panels that differ by less are equal
MOST_NARROW = 4  # panels in a narrow figure
LINED = 12  # jobs up to which a dotted line marks every arrival in every panel too


class Box(NamedTuple):
    """A rectangle of one job in a panel, in the units of its axes."""

    job: str
    left: float
    right: float
    bottom: float
    top: float


@dataclass(frozen=True)
class Scene:
    """Settings shared by all panels: colours and labels of jobs, and positions of seconds."""

    colours: Mapping[str, str]
    labels: Mapping[str, str]
    first_s: float
    last_s: float
    unit: str
    unit_s: float

    def colour(self, job: str) -> str:
        """Colour of the job: its own, or that of the others."""
        return self.colours.get(job, OTHERS)

    def x(self, time_s: TimesT) -> TimesT:
        """Position of a time, or of an array of times."""
        return (time_s - self.first_s) / self.unit_s


AnyFlows = TypeVar("AnyFlows", bound=Flows)


def require_rows(methods: Sequence[str]) -> None:
    """Refuse no rows, and two for one method (ValueError)."""
    if not methods:
        raise ValueError("rows: found none, allowed: at least one")
    if len(set(methods)) < len(methods):
        twice = Counter(methods).most_common(1)[0][0]
        raise ValueError(f"rows: found two for method {twice!r}, allowed: one")


def largest_jobs(rows: Sequence[Flows], most: int = len(HUES)) -> list[str]:
    """Return the `most` jobs that hold the most unit-seconds over all rows, in the order in which they first appear."""
    unit_seconds: dict[str, float] = {}
    for row in rows:
        for job, table in row.held().items():
            unit_seconds[job] = unit_seconds.get(job, 0.0) + float(((table[:, 1] - table[:, 0]) * table[:, 2]).sum())
    largest = {*sorted(unit_seconds, key=lambda job: -unit_seconds[job])[:most]}
    return [job for job in unit_seconds if job in largest]


def equal_rows(rows: Sequence[AnyFlows], span_s: float) -> list[list[AnyFlows]]:
    """Group the rows that hold the same at the same times; the groups in order of mean flow time."""
    groups: list[tuple[dict[str, Vector], list[AnyFlows]]] = []
    # A row joins the first group that holds the same at the same times.
    for row in rows:
        periods = row.held()
        for other, group in groups:
            slack_s = SAME * span_s
            if periods.keys() == other.keys() and all(_equal(periods[job], other[job], slack_s) for job in periods):
                group.append(row)
                break
        else:
            groups.append((periods, [row]))
    return sorted((group for _, group in groups), key=lambda group: mean_flow_s(group[0]))


def _equal(first: Vector, second: Vector, slack_s: float) -> bool:
    """Whether two tables of periods hold the same amounts at times that differ by no more than the slack."""
    return (
        first.shape == second.shape
        and bool((np.abs(first[:, :2] - second[:, :2]) <= slack_s).all())
        and np.array_equal(first[:, 2:], second[:, 2:])
    )


def draw_timelines(
    rows: Sequence[AnyFlows],
    path: Path | str,
    *,
    arrivals_s: Mapping[str, float],
    arrival: str,
    paint: Callable[["Axes", AnyFlows, Scene], Iterable[Box]],
    key: Callable[[Scene], "Iterable[Artist]"],
    panel_in: float,
    most: int,
    title: str | None,
    width_in: float,
) -> Path:
    """Draw the rows to `path`, at most `most` panels of `panel_in` inches, those of least mean flow time; return `path`.

    `paint` draws one row and returns where the names of jobs may stand; `key` explains what it drew; an `arrival` is
    what the family calls it.
    """
    require_rows([row.method for row in rows])
    narrow = width_in < NARROW_IN
    most = min(most, MOST_NARROW) if narrow else most
    first_s, last_s = _span(rows, arrivals_s)
    groups = equal_rows(rows, last_s - first_s)
    drawn = [group[0] for group in groups[:most]]
    first_s, last_s = _span(drawn, arrivals_s)
    jobs = list(dict.fromkeys([*arrivals_s, *(job for row in drawn for job in row.held())]))
    scene = Scene(
        dict(zip(largest_jobs(drawn), HUES, strict=False)), labels(jobs), first_s, last_s, *time_unit(last_s - first_s)
    )
    names = [
        equal_names([row.method for row in group], int(width_in * (7 if narrow else 9))) for group in groups[:most]
    ]
    headings_in = sum(0.06 + 0.125 * (name.count("\n") + 1) for name in names)
    levels = _levels(scene, arrivals_s, width_in)
    strip = 0.02 + 0.08 * max(levels.values(), default=0) + (0.14 if arrivals_s else 0.0)
    notes = []
    if len(jobs) > len(scene.colours):
        notes.append(f"The {len(scene.colours)} jobs that hold the most have colours; all others are grey.")
    if len(groups) > most:
        notes.append(
            f"Of longer mean flow time and not drawn: {len(rows) - sum(map(len, groups[:most]))} of {len(rows)} methods."
        )
    height_in = len(drawn) * (panel_in + 0.1) + headings_in + strip + (1.7 if narrow else 1.3)
    with canvas(path, width_in, height_in) as figure:
        heights = [strip, *[panel_in] * len(drawn)]
        grid = figure.add_gridspec(len(heights), 2, width_ratios=(1.7, 1), height_ratios=heights)
        panels = _panels(figure, [grid[index + 1, 0] for index in range(len(drawn))])
        boxes = [[*paint(axes, row, scene)] for axes, row in zip(panels, drawn, strict=True)]
        for axes, name in zip(panels, names, strict=True):
            axes.set_title(name)
        panels[-1].set_xlim(0, scene.x(last_s))
        panels[-1].ticklabel_format(axis="x", useOffset=False, style="plain")
        since = f" since the first {arrival}" if arrivals_s else ""
        panels[-1].set_xlabel(f"time{since} ({scene.unit})")
        if arrivals_s:
            above = figure.add_subplot(grid[0, 0], sharex=panels[-1])
            _mark_arrivals(above, panels, scene, arrivals_s, levels, arrival)
        draw_flows(_panels(figure, [grid[index + 1, 1] for index in range(len(drawn))]), drawn, "\n" if narrow else " ")
        note = "\n".join(textwrap.fill(note, 52 if narrow else 110) for note in notes) or None
        entries = [*_job_key(scene, jobs, drawn), *key(scene)]
        legend_below(figure, entries, 2 if narrow else 4, note, handlelength=1.4, columnspacing=1.2)
        headline(figure, title)
        settle(figure)
        for axes, of_panel in zip(panels, boxes, strict=True):
            _name_jobs(axes, of_panel, scene, text_size(width_in) - 1)
    return Path(path)


def _panels(figure: "Figure", cells: "Sequence[SubplotSpec]") -> "list[Axes]":
    """Return stacked axes that share their x axis; only the last shows its numbers."""
    first = figure.add_subplot(cells[0])
    panels = [first, *(figure.add_subplot(cell, sharex=first) for cell in cells[1:])]
    for axes in panels[:-1]:
        axes.tick_params(axis="x", labelbottom=False)
    return panels


def _span(rows: Sequence[Flows], arrivals_s: Mapping[str, float]) -> tuple[float, float]:
    """Return the first and last moment of arrivals and rows; a second apart if they would be equal."""
    tables = [table for row in rows for table in row.held().values() if len(table)]
    first_s = min([*arrivals_s.values(), *(float(table[:, 0].min()) for table in tables)], default=0.0)
    last_s = max([*arrivals_s.values(), *(float(table[:, 1].max()) for table in tables)], default=first_s)
    return first_s, last_s if last_s > first_s else first_s + 1.0


def _levels(scene: Scene, arrivals_s: Mapping[str, float], width_in: float) -> dict[str, int]:
    """Return the height of each coloured job's triangle, such that none hides another."""
    apart_s = (scene.last_s - scene.first_s) * 0.11 / width_in
    levels: dict[str, int] = {}
    # A triangle rises to the lowest level at which no earlier one is near.
    for job in sorted((job for job in scene.colours if job in arrivals_s), key=lambda job: arrivals_s[job]):
        near = {levels[other] for other in levels if arrivals_s[job] - arrivals_s[other] < apart_s}
        levels[job] = next(level for level in range(len(near) + 1) if level not in near)
    return levels


def _mark_arrivals(
    axes: "Axes",
    panels: "Sequence[Axes]",
    scene: Scene,
    arrivals_s: Mapping[str, float],
    levels: Mapping[str, int],
    word: str,
) -> None:
    """Draw a triangle for coloured jobs, a tick for others; for few jobs also lines through all panels."""
    axes.axis("off")
    top = max(levels.values(), default=0) + 1.0
    axes.set_ylim(0, top)
    others = np.array([when_s for job, when_s in arrivals_s.items() if job not in scene.colours])
    if len(others):
        positions = np.unique(np.round((others - scene.first_s) / (scene.last_s - scene.first_s) * STEPS) / STEPS)
        axes.vlines(positions * scene.x(scene.last_s), 0.0, 0.7, color=FAINT, lw=0.6, clip_on=False)
    for job, level in levels.items():
        x, colour = scene.x(arrivals_s[job]), scene.colours[job]
        axes.plot(x, level + 0.4, "v", ms=4.5, mfc=colour, mec="black", mew=0.4, clip_on=False, zorder=4)
    axes.set_title(f"{word}s")
    for panel in panels if len(arrivals_s) <= LINED else ():
        for when_s in arrivals_s.values():
            panel.axvline(scene.x(when_s), color="0.35", lw=0.6, ls=(0, (1, 2)), zorder=3)


def _job_key(scene: Scene, jobs: Sequence[str], rows: Sequence[Flows]) -> "Iterable[Artist]":
    """Explain the colours of the jobs, and the black curve."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    for job, colour in scene.colours.items():
        yield Patch(fc=colour, ec="none", label=scene.labels[job])
    if len(jobs) > len(scene.colours):
        yield Patch(fc=OTHERS, ec="none", label=f"other jobs: {len(jobs) - len(scene.colours):,}")
    if len(rows) > 1:
        yield Line2D([], [], color="black", lw=1.1, label="this method")
        yield Line2D([], [], color=FAINT, lw=0.6, label="the others")


def _name_jobs(axes: "Axes", boxes: Sequence[Box], scene: Scene, size: float) -> None:
    """Write the name of each job into its widest box that it fits in."""
    named: set[str] = set()
    scale = 72 / axes.figure.dpi
    # The widest box of a job first; a name stands once, where the letters fit.
    for box in sorted(boxes, key=lambda box: box.left - box.right):
        if box.job in named:
            continue
        (left, bottom), (right, top) = scale * axes.transData.transform([(box.left, box.bottom), (box.right, box.top)])
        if abs(top - bottom) < 1.15 * size or right - left < 3:
            continue
        text = scene.labels[box.job]
        if right - left < (0.62 * len(text) + 0.5) * size:
            continue
        named.add(box.job)
        middle = (box.left + box.right) / 2, (box.bottom + box.top) / 2
        ink = ink_on(scene.colour(box.job))
        axes.text(
            *middle, text, color=ink, size=size, ha="center", va="center", clip_on=True, zorder=5, in_layout=False
        )
