"""Figure of rings slot by slot: how many workers each job has in each slot, for every method.

Rows are jobs, columns slots; the darker, the more workers. A ring on several servers loads the network and has a dot.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dlsched.core.arguments import renamed
from dlsched.core.quantities import short
from dlsched.plots.figure import (
    NARROW_IN,
    PAGE_IN,
    SEQUENCE,
    VERMILLION,
    canvas,
    equal_names,
    headline,
    ink_on,
    labels,
    legend_below,
    settle,
    text_size,
)
from dlsched.plots.timeline import require_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

PANELS = 4  # drawn, at most
MOST_JOBS = 200  # drawn, at most
MOST_COLUMNS = 500  # more slots are averaged
DOT_IN_POINTS = 4.0  # least size of a cell with a dot
ARRIVAL = VERMILLION


@dataclass(frozen=True)
class SlotRow:
    """What one method made of rings: (workers, servers) by job and slot, and the utility of all jobs."""

    method: str
    rings: Mapping[str, Mapping[int, tuple[int, int]]]
    utility: float


def workers_by_slot(rings: Mapping[int, tuple[int, int]], slots: int, columns: int) -> NDArray[np.float64]:
    """Return the workers of a job in equal parts of the slots 1 .. `slots`, the mean where a part has several slots."""
    means = np.zeros(columns)
    for slot, (workers, _) in rings.items():
        # A slot may lie in several columns; each gets the workers times the part of it that the slot covers.
        first, last = (slot - 1) * columns / slots, slot * columns / slots
        for column in range(int(first), min(math.ceil(last), columns)):
            means[column] += workers * (min(last, column + 1) - max(first, column))
    return means


@renamed(width_in="width")
def draw_slots(
    rows: Sequence[SlotRow],
    path: Path | str,
    *,
    slots: int,
    arrivals: Mapping[str, int],
    title: str | None = None,
    width: float = PAGE_IN,
) -> Path:
    """Draw the workers of every job in every slot to `path`, and return it.

    `arrivals` says in which slot each job arrives, from the top. Methods of equal numbers share a panel; the 4 panels of most
    utility are drawn, and in them the 200 jobs of most worker-slots. Beyond 500 slots, means over equal parts are drawn.

    Raises
    ------
    ValueError
        Another suffix, no rows, two for one method, no jobs, or no slots.
    """
    require_rows([row.method for row in rows])
    if not arrivals:
        raise ValueError("arrivals: found none, allowed: one a job, at least one")
    if slots < 1:
        raise ValueError(f"slots: found {slots}, allowed: at least 1")
    groups: list[list[SlotRow]] = []
    for row in rows:
        equal = [group for group in groups if group[0].rings == row.rings]
        equal[0].append(row) if equal else groups.append([row])
    groups = sorted(groups, key=lambda group: -group[0].utility)[:PANELS]
    jobs = _most_served([group[0] for group in groups], list(arrivals))
    narrow = width < NARROW_IN
    across = 1 if narrow or len(groups) == 1 else 2
    down = math.ceil(len(groups) / across)
    letters = int(0.8 * width / across / (0.058 if narrow else 0.07)) - 14  # what a panel is wide, less the utility
    panel_in = min(max(0.13 * len(jobs), 0.5), 2.6 if down > 1 else 5.2)
    # A cell's rough size in points: if cells are too small for a dot, the key has none.
    dotted = min(60 * width / across / slots, 72 * panel_in / len(jobs)) >= DOT_IN_POINTS and any(
        servers > 1 for group in groups for rings in group[0].rings.values() for _, servers in rings.values()
    )
    with canvas(path, width, down * (panel_in + 0.42) + 0.75) as figure:
        panels = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).ravel().tolist()
        for axes in panels[len(groups) :]:
            axes.axis("off")
        columns = min(slots, MOST_COLUMNS)
        tables = [
            np.array([workers_by_slot(group[0].rings.get(job, {}), slots, columns) for job in jobs]) for group in groups
        ]
        most = max(1.0, *(float(table.max()) for table in tables))
        # Cells without workers stay white; all panels share the scale of colours.
        for axes, group, table in zip(panels, groups, tables, strict=False):
            image = axes.imshow(
                np.where(table > 0, table, np.nan),
                cmap=SEQUENCE,
                vmin=0,
                vmax=most,
                aspect="auto",
                interpolation="nearest",
                extent=(0.5, slots + 0.5, len(jobs) - 0.5, -0.5),
            )
            name = equal_names([row.method for row in group], letters)
            axes.set_title(f"{name}: utility {short(group[0].utility)}")
            # A line at the beginning of the slot in which the job of a row arrives.
            y, slots_of_jobs = np.arange(len(jobs)), [arrivals[job] - 0.5 for job in jobs]
            axes.vlines(slots_of_jobs, y - 0.5, y + 0.5, color=ARRIVAL, lw=1.2, zorder=3)
        _label(panels[: len(groups)], jobs, slots, len(arrivals), panel_in, across)
        bar = figure.colorbar(image, ax=panels, fraction=0.05, aspect=30, pad=0.01)
        bar.set_label("workers" if columns == slots else f"workers, means over {slots / columns:g} slots")
        bar.locator = _whole()
        bar.update_ticks()
        _explain(figure, rows, groups, dotted)
        headline(figure, title)
        settle(figure)
        for axes, group in zip(panels, groups, strict=False):
            _write(axes, jobs, group[0], most, text_size(width) - 1.5, dotted)
    return Path(path)


def _most_served(rows: Sequence[SlotRow], jobs: Sequence[str]) -> list[str]:
    """Return the jobs of most worker-slots over the rows, in the order of the file."""
    served = {job: sum(workers for row in rows for workers, _ in row.rings.get(job, {}).values()) for job in jobs}
    largest = {*sorted(jobs, key=lambda job: -served[job])[:MOST_JOBS]}
    return [job for job in jobs if job in largest]


def _whole() -> "MaxNLocator":
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(integer=True, nbins=6, min_n_ticks=1)


def _label(panels: "Sequence[Axes]", jobs: Sequence[str], slots: int, of: int, panel_in: float, across: int) -> None:
    """Name the jobs if each row has room for a name, else say how many there are."""
    for axes in panels:
        axes.xaxis.set_major_locator(_whole())
        axes.set_xlim(0.5, slots + 0.5)
        axes.set_ylim(len(jobs) - 0.5, -0.5)
    first = panels[0]
    if panel_in / len(jobs) >= 0.11:
        shown = labels(jobs, 14)
        first.set_yticks(range(len(jobs)), [shown[job] for job in jobs])
        for axes in panels:
            axes.tick_params(axis="y", length=0)
    else:
        first.set_yticks([])
        what = f"{of:,} jobs" if len(jobs) == of else f"{len(jobs)} of {of:,} jobs: most worker-slots"
        for axes in panels[::across]:
            axes.set_ylabel(f"{what}\nin the file's order")
    for axes in panels[-across:]:
        axes.tick_params(axis="x", labelbottom=True)
        axes.set_xlabel("slot")


def _explain(figure: "Figure", rows: Sequence[SlotRow], groups: Sequence[Sequence[SlotRow]], dotted: bool) -> None:
    from matplotlib.lines import Line2D

    key = [Line2D([], [], ls="none", marker="|", ms=8, mew=1.4, color=ARRIVAL, label="arrival")]
    if dotted:
        key.append(Line2D([], [], ls="none", marker="o", ms=2.5, color="black", label="ring on several servers"))
    left_out = len(rows) - sum(map(len, groups))
    note = f"Of less utility and not drawn: {left_out} of {len(rows)} methods." if left_out else None
    legend_below(figure, key, 2, note, handlelength=1.0)


def _write(axes: "Axes", jobs: Sequence[str], row: SlotRow, most: float, size: float, dotted: bool) -> None:
    """Write the number of workers in every cell with room, and a dot if the ring is on several servers."""
    import matplotlib
    from matplotlib.colors import to_hex

    scale = 72 / axes.figure.dpi
    (left, top), (right, bottom) = scale * axes.transData.transform([(0, 0), (1, 1)])
    wide, high = abs(right - left), abs(bottom - top)
    written = wide >= 1.5 * size and high >= 1.1 * size
    if written:
        axes.hlines(np.arange(len(jobs) - 1) + 0.5, *axes.get_xlim(), color="white", lw=0.6)
        axes.vlines(np.arange(1, axes.get_xlim()[1] - 0.5) + 0.5, len(jobs) - 0.5, -0.5, color="white", lw=0.6)
    colours = matplotlib.colormaps[SEQUENCE]
    # A number where it fits, a dot in the upper right corner (or the middle) of rings on several servers.
    for index, job in enumerate(jobs):
        for slot, (workers, servers) in row.rings.get(job, {}).items():
            ink = ink_on(to_hex(colours(workers / most)))
            if written:
                axes.text(
                    slot, index, f"{workers}", color=ink, size=size, ha="center", va="center_baseline", in_layout=False
                )
            if dotted and servers > 1:
                x = slot + (0.5 - 2.2 / wide if written else 0.0)
                axes.plot(x, index - (0.5 - 2.2 / high if written else 0.0), "o", ms=1.5, color=ink, mew=0)
