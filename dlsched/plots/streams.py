"""Streams of malleable jobs: the units that each job holds over time, and how long the jobs take from their arrival.

Times are seconds; the axes show them in s, min, h or days. Whatever is left out or averaged is said in the figure.
"""

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dlsched.plots.comparison import COLOURS, DASHES, UNDATED, require_format

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import SubFigure

Vector = NDArray[np.float64]
PANELS = 6  # methods drawn, at most
OWN_COLOURS = 40  # jobs with a colour of their own, at most
STEPS = 2000  # of a step function that is drawn, at most; more are averaged
OUTLINED = 400  # moments under which the areas of the jobs are told apart by a line too
LOG_BEYOND = 20  # largest over least flow time from which their axis is logarithmic
OTHER_GREY = "0.75"
HUES = COLOURS[:-1]  # of areas: without black, whose tints would be the grey of the other jobs
TIME_UNITS = (("days", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0))


@dataclass(frozen=True)
class StreamRow:
    """What one method made of a stream.

    `periods` are (start in s, end in s, units held) by job, `flow_times_s` the seconds from arrival to end of each job.
    """

    method: str
    periods: Mapping[str, Sequence[tuple[float, float, int]]]
    flow_times_s: Sequence[float]

    def __post_init__(self) -> None:
        if not len(self.flow_times_s):
            raise ValueError(f"flow_times_s: found none for {self.method}, allowed: one a job, at least one")
        for flow_s in self.flow_times_s:
            if not 0 <= flow_s < math.inf:
                raise ValueError(f"flow_times_s: found {flow_s} for {self.method}, allowed: finite, >= 0")

    @property
    def mean_flow_s(self) -> float:
        """Mean flow time in seconds."""
        return math.fsum(self.flow_times_s) / len(self.flow_times_s)


def least_mean_flow(rows: Sequence[StreamRow], most: int = PANELS) -> list[StreamRow]:
    """Return the `most` rows of least mean flow time in the order given; of equal ones the first."""
    best = sorted(range(len(rows)), key=lambda place: rows[place].mean_flow_s)[:most]
    return [rows[place] for place in sorted(best)]


def largest_jobs(rows: Sequence[StreamRow], most: int = OWN_COLOURS) -> list[str]:
    """Return the `most` jobs that hold the most unit-seconds over all rows, in the order in which they first appear."""
    unit_seconds: dict[str, float] = {}
    for row in rows:
        for job, held in row.periods.items():
            unit_seconds[job] = unit_seconds.get(job, 0.0) + sum((end - start) * units for start, end, units in held)
    largest = {*sorted(unit_seconds, key=lambda job: -unit_seconds[job])[:most]}
    return [job for job in unit_seconds if job in largest]


def step_edges(moments: Vector, most: int = STEPS) -> Vector:
    """Return the ascending moments; where they bound more than `most` steps, the bounds of as many equal steps."""
    return moments if len(moments) <= most + 1 else np.linspace(moments[0], moments[-1], most + 1)


def held_units(periods: Sequence[tuple[float, float, int]] | Vector, edges: Sequence[float] | Vector) -> Vector:
    """Return the units that the periods hold together, averaged over the time between each two edges, which ascend.

    >>> held_units([(0, 4, 2), (3, 5, 4)], [0, 2, 4, 6])
    array([2., 4., 2.])
    """
    table, edges = np.asarray(periods, float).reshape(-1, 3), np.asarray(edges, float)
    times = np.clip(table[:, :2].T.ravel(), edges[0], edges[-1])
    moments, place = np.unique(np.concatenate((edges, times)), return_inverse=True)
    change = np.concatenate((np.zeros(len(edges)), table[:, 2], -table[:, 2]))
    area = np.cumsum(np.bincount(place, change))[:-1] * np.diff(moments)
    sums: Vector = np.add.reduceat(area, np.searchsorted(moments, edges[:-1]))
    return sums / np.diff(edges)


def draw_streams(rows: Sequence[StreamRow], path: Path | str, *, units: int, title: str | None = None) -> Path:
    """Draw the units held over time (left) and the distributions of flow times (right) to `path`, and return it.

    The suffix of `path` chooses the format: .png, .svg or .pdf. Equal rows give equal bytes. Of more than 6 methods
    those of least mean flow time are drawn; of more than 40 jobs those that hold the most have colours of their own.

    Raises
    ------
    ValueError
        Another suffix, no rows, two for one method, or no units.
    ImportError
        Matplotlib is not installed.
    """
    path = Path(path)
    require_format(path)
    if not rows:
        raise ValueError("rows: found none, allowed: at least one")
    if units < 1:
        raise ValueError(f"units: found {units}, allowed: at least 1")
    if len({row.method for row in rows}) < len(rows):
        twice = Counter(row.method for row in rows).most_common(1)[0][0]
        raise ValueError(f"rows: found two for method {twice!r}, allowed: one")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need Matplotlib: pip install 'dlsched[plots]'") from None

    drawn = least_mean_flow(rows)
    # The context gives equal files equal element names, and is undone on leaving.
    with matplotlib.rc_context({"svg.hashsalt": "dlsched", "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(12, max(4.4, 1.5 + 1.3 * len(drawn))), layout="constrained")
        left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.7, 1))[0]
        _draw_units(left, drawn, units, of=len(rows))
        _draw_flows(right, drawn)
        if title is not None:
            figure.suptitle(title, parse_math=False)
        suffix = path.suffix.lower()
        figure.savefig(path, format=suffix[1:], dpi=150, metadata=UNDATED[suffix])
    return path


def _draw_units(figure: "SubFigure", rows: Sequence[StreamRow], units: int, *, of: int) -> None:
    """One panel a method, the jobs on one another in the order of their colours, and the key."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    own = {job: _tint(place) for place, job in enumerate(largest_jobs(rows))}
    others = len({job for row in rows for job in row.periods}) - len(own)
    tables = [_table(row.periods.values()) for row in rows]
    moments = [np.unique(table[:, :2]) for table in tables]
    first_s = min((float(times[0]) for times in moments if len(times) > 1), default=0.0)
    last_s = max((float(times[-1]) for times in moments if len(times) > 1), default=1.0)
    first_s = min(first_s, 0.0) if first_s < last_s / 20 else first_s
    unit, unit_s = _time_unit(last_s - first_s)
    panels = figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
    for axes, row, times in zip(panels, rows, moments, strict=True):
        rest = _table(held for job, held in row.periods.items() if job not in own)
        layers = [(OTHER_GREY, rest), *((colour, _table([row.periods.get(job, ())])) for job, colour in own.items())]
        edges = step_edges(times)
        below = np.zeros(max(len(edges) - 1, 0))
        line = 0.4 if len(edges) < OUTLINED else 0.0
        for colour, layer in layers:
            if len(layer) and len(edges) > 1:
                held = held_units(layer, edges)
                above = np.where(held > 0, below + held, np.nan)  # nothing is drawn where it is not a number
                axes.stairs(above, edges / unit_s, baseline=below, fill=True, fc=colour, ec="white", lw=line)
                below = below + held
        axes.axhline(units, color="black", lw=0.8, clip_on=False)
        axes.set_ylim(0, units)
        ticks = [0, units] if units % 2 else [0, units // 2, units]
        axes.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
        axes.set_ylabel("units held")
        axes.set_title(textwrap.fill(row.method, 88), loc="left", fontsize="medium", parse_math=False)
    panels[-1].set_xlim(first_s / unit_s, last_s / unit_s)
    panels[-1].ticklabel_format(axis="x", useOffset=False, style="plain")
    panels[-1].set_xlabel(f"time ({unit})")

    key: list[Artist] = [Line2D([], [], color="black", lw=0.8, label=f"capacity: {units:,}")]
    key += [Patch(color=OTHER_GREY, label=f"other jobs: {others:,}")] if others else []
    notes = [f"{len(own)} jobs of most unit-seconds: a colour each" if others else "a colour for each job"]
    notes += [f"means over {STEPS:,} equal steps"] if any(len(times) > STEPS + 1 for times in moments) else []
    notes += [f"{len(rows)} of {of} methods: least mean flow time"] if of > len(rows) else []
    key += [Line2D([], [], ls="none", label=note) for note in notes]
    figure.legend(handles=key, loc="outside lower left", ncols=2, frameon=False, fontsize="small")


def _draw_flows(figure: "SubFigure", rows: Sequence[StreamRow]) -> None:
    """One step curve a method: the fraction of jobs within each flow time."""
    axes = figure.subplots()
    flows = [np.sort(np.asarray(row.flow_times_s, float)) for row in rows]
    unit, unit_s = _time_unit(max(row.mean_flow_s for row in rows))
    largest = max(float(times[-1]) for times in flows) / unit_s
    least = min((float(times[times > 0][0]) / unit_s for times in flows if times[-1] > 0), default=0.0)
    start, end = 0.0, 1.05 * largest or 1.0
    if largest > LOG_BEYOND * least > 0:
        # A flow time of 0 or of nothing but rounding counts at the left end.
        start, end = max(least / 1.1, largest / 1e6), 1.1 * largest
        axes.set_xscale("log")
        ticks = _ticks(start, end)
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
    lines, labels = [], []
    for place, (row, times) in enumerate(zip(rows, flows, strict=True)):
        ranks = np.unique(np.linspace(0, len(times) - 1, STEPS + 1).round().astype(int))
        x = np.concatenate(([start], np.maximum(times[ranks] / unit_s, start), [end]))
        y = np.concatenate(([0.0], (ranks + 1) / len(times), [1.0]))
        lines += axes.step(x, y, DASHES[place % len(DASHES)], where="post", color=COLOURS[place], lw=1.6)
        mean = f"mean\N{NO-BREAK SPACE}{_shown(row.mean_flow_s / unit_s)}\N{NO-BREAK SPACE}{unit}"
        labels.append(textwrap.fill(f"{row.method}: {mean}", 56))
    axes.set_xlim(start, end)
    axes.set_ylim(0, 1.03)
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    axes.set_xlabel(f"flow time ({unit})")
    axes.set_ylabel("fraction of jobs within the flow time")
    axes.set_title("Flow times", loc="left", fontsize="medium")
    legend = figure.legend(lines, labels, loc="outside lower left", frameon=False, fontsize="small")
    for text in legend.get_texts():
        text.set_parse_math(False)


def _table(held: Iterable[Sequence[tuple[float, float, int]]]) -> Vector:
    """Periods of some jobs, one a line."""
    numbers = chain.from_iterable(chain.from_iterable(held))
    return np.fromiter(numbers, float).reshape(-1, 3)


def _tint(place: int) -> tuple[float, ...]:
    """Colour of the job at that place: the next hue, each time they are used up in another mixture with white."""
    from matplotlib.colors import to_rgb

    white = 0.2 + 0.6 * (place // len(HUES) * 0.618034 % 1)
    return tuple(part + white * (1 - part) for part in to_rgb(HUES[place % len(HUES)]))


def _time_unit(span_s: float) -> tuple[str, float]:
    """Name and seconds of the largest unit that the span is at least three of, else of the second."""
    return next(((name, unit_s) for name, unit_s in TIME_UNITS if span_s >= 3 * unit_s), TIME_UNITS[-1])


def _ticks(least: float, largest: float) -> list[float]:
    """Round numbers within the limits of a logarithmic axis, the powers of ten alone where these are many."""
    decades = range(math.floor(math.log10(least)), math.floor(math.log10(largest)) + 1)
    factors = (1, 2, 5) if len(decades) <= 3 else (1,)
    return [f * 10.0**decade for decade in decades for f in factors if least <= f * 10.0**decade <= largest]


def _shown(number: float) -> str:
    """Three digits, or all digits before the point where these are more."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
