"""Figure of streams of malleable jobs: the units that each job holds over time, and the flow times.

Times are seconds; the axes show them in s, min, h or days. A period of a job after its first begins with a pause.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dlsched.core.arguments import renamed
from dlsched.plots.figure import PAGE_IN
from dlsched.plots.timeline import STEPS, Box, Scene, Vector, draw_timelines, require_flows

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

PANELS = 6  # drawn, at most
APART = 400  # below this number of moments each job without a colour has its own place
OUTLINED = 120  # below this number of moments lines separate the areas of the jobs
HATCHED = 40  # up to this number of pauses each is hatched in place; more are ticks at the bottom


@dataclass(frozen=True)
class StreamRow:
    """What one method made of a stream.

    `periods` are (start in s, end in s, units held) by job, `flow_times_s` the seconds from arrival to end of each job,
    `restart_s` the seconds at the start of each period but the first of a job in which it does nothing.
    """

    method: str
    periods: Mapping[str, Sequence[tuple[float, float, int]]]
    flow_times_s: Sequence[float]
    restart_s: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_flows(self.method, self.flow_times_s)

    def held(self) -> dict[str, Vector]:
        """Periods by job, one a line."""
        return {job: np.array(table, float).reshape(-1, 3) for job, table in self.periods.items()}

    def pauses(self) -> dict[str, Vector]:
        """(start in s, end in s, units held) of the pauses by job, one a line."""
        pauses = {}
        for job, table in self.held().items():
            table = table[1:].copy()
            table[:, 1] = np.minimum(table[:, 0] + self.restart_s.get(job, 0.0), table[:, 1])
            pauses[job] = table
        return pauses


def step_edges(moments: Vector, most: int = STEPS) -> Vector:
    """Return the ascending moments; where they bound more than `most` steps, the bounds of as many equal steps."""
    return moments if len(moments) <= most + 1 else np.linspace(moments[0], moments[-1], most + 1)


def held_units(periods: Sequence[tuple[float, float, int]] | Vector, edges: Sequence[float] | Vector) -> Vector:
    """Return the units that the periods hold together, averaged over the time between each two edges, which ascend."""
    table, edges = np.asarray(periods, float).reshape(-1, 3), np.asarray(edges, float)
    # Units change where a period begins or ends; their integral between two edges over the time is the mean.
    times = np.clip(table[:, :2].T.ravel(), edges[0], edges[-1])
    moments, index = np.unique(np.concatenate((edges, times)), return_inverse=True)
    change = np.concatenate((np.zeros(len(edges)), table[:, 2], -table[:, 2]))
    area = np.cumsum(np.bincount(index, change))[:-1] * np.diff(moments)
    sums: Vector = np.add.reduceat(area, np.searchsorted(moments, edges[:-1]))
    return sums / np.diff(edges)


@renamed(width_in="width")
def draw_streams(
    rows: Sequence[StreamRow],
    path: Path | str,
    *,
    units: int,
    arrivals_s: Mapping[str, float] | None = None,
    title: str | None = None,
    width: float = PAGE_IN,
) -> Path:
    """Draw the units held over time (left) and the distributions of flow times (right) to `path`, and return it.

    Methods of equal streams share a panel; the 6 panels of least mean flow time are drawn. The 6 jobs that hold the most have
    colours.

    Raises
    ------
    ValueError
        Another suffix, no rows, two for one method, or no units.
    """
    if units < 1:
        raise ValueError(f"units: found {units}, allowed: at least 1")
    marks: set[str] = set()  # what the panels turn out to show
    averaged = any(len(_moments(row)) > STEPS + 1 for row in rows)

    def paint(axes: "Axes", row: StreamRow, scene: Scene) -> Iterable[Box]:
        boxes = _draw_units(axes, row, scene, marks)
        axes.axhline(units, color="black", lw=0.8, clip_on=False)
        axes.set_ylim(0, units)
        levels = [0, units] if units % 2 else [0, units // 2, units]
        axes.set_yticks(levels, [f"{level:,}" for level in levels])
        axes.set_ylabel("units held")
        return boxes

    def key(scene: Scene) -> "Iterable[Artist]":
        return _key(units, marks, averaged)

    return draw_timelines(
        rows,
        path,
        arrivals_s=arrivals_s or {},
        arrival="arrival",
        paint=paint,
        key=key,
        panel_in=0.72,
        most=PANELS,
        title=title,
        width_in=width,
    )


def _moments(row: StreamRow) -> Vector:
    """Every time at which something changes, ascending."""
    times = [table[:, :2].ravel() for table in (*row.held().values(), *row.pauses().values())]
    return np.unique(np.concatenate(times)) if times else np.zeros(0)


def _draw_units(axes: "Axes", row: StreamRow, scene: Scene, marks: set[str]) -> list[Box]:
    """Stack the jobs, the grey ones lowest; return where they lie."""
    edges = step_edges(_moments(row))
    if len(edges) < 2:
        return []
    periods, pauses = row.held(), row.pauses()
    few = len(edges) < APART
    rest = [job for job in periods if job not in scene.colours]
    layers = (
        [(job, periods[job]) for job in rest]
        if few
        else [("", np.concatenate([periods[job] for job in rest]))] * bool(rest)
    )
    layers += [(job, periods[job]) for job in scene.colours if job in periods]
    hatched = few and sum(map(len, pauses.values())) <= HATCHED
    below = np.zeros(len(edges) - 1)
    x = scene.x(edges)
    boxes: list[Box] = []
    # Stack layer on layer: each lies on the sum of the layers below it.
    for job, table in layers:
        units = held_units(table, edges)
        above = np.where(units > 0, below + units, np.nan)  # nothing is drawn where it is not a number
        colour = scene.colour(job)
        axes.stairs(
            above, x, baseline=below, fill=True, fc=colour, ec="white", lw=0.4 if len(edges) < OUTLINED else 0.0
        )
        if hatched and len(pauses[job]):
            idle = np.where(held_units(pauses[job], edges) > 0, above, np.nan)
            marks |= {"pause"} if not np.isnan(idle).all() else set()
            axes.stairs(idle, x, baseline=below, fill=True, fc="none", ec="black", hatch="//////", lw=0.0)
            at = np.searchsorted(edges, pauses[job][:, 0])
            axes.vlines(x[at], below[at], above[at], color="black", lw=0.6, zorder=3)
        if few and (job in scene.colours or len(edges) < OUTLINED):
            boxes += _boxes(job, x, below, above)
        below = below + units
    if any(map(len, pauses.values())):
        marks.add("restart")
    if not hatched:
        starts = np.concatenate([table[:, 0] for table in pauses.values()])
        span = scene.last_s - scene.first_s
        positions = np.unique(np.round((starts - scene.first_s) / span * STEPS) / STEPS) * scene.x(scene.last_s)
        axes.vlines(positions, 0, 0.07, color="black", lw=0.4, transform=axes.get_xaxis_transform(), zorder=3)
    return boxes


def _boxes(job: str, x: Vector, below: Vector, above: Vector) -> list[Box]:
    """Return the rectangles of one layer, each as wide as the layer keeps its height."""
    boxes: list[Box] = []
    # Neighbours of equal height are one rectangle, in which a name may fit.
    for left, right, bottom, top in zip(x[:-1], x[1:], below, above, strict=True):
        if np.isnan(top):
            continue
        last = boxes[-1] if boxes else None
        if last is not None and (last.right, last.bottom, last.top) == (left, bottom, top):
            boxes[-1] = last._replace(right=right)
        else:
            boxes.append(Box(job, left, right, bottom, top))
    return boxes


def _key(units: int, marks: set[str], averaged: bool) -> "Iterable[Artist]":
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    yield Line2D([], [], color="black", lw=0.8, label=f"capacity: {units:,}")
    if "restart" in marks:
        yield Line2D([], [], ls="none", marker="|", ms=7, color="black", label="restart")
    if "pause" in marks:
        yield Patch(fc="white", ec="black", hatch="//////", lw=0.0, label="pause of a restart")
    if averaged:
        yield Line2D([], [], ls="none", label=f"means over {STEPS:,} steps")
