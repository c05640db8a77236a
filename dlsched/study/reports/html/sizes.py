"""Plots of gaps and times against the size of instances: median, 5 % and 95 % quantiles of each size."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dlsched.study.reports.html.distribution import of_method
from dlsched.study.reports.html.figure import Axis, Figure, Look, Trace, axis
from dlsched.study.reports.html.matrix import Trial
from dlsched.study.reports.html.tables import Cell, Column, Table, name_cell, number_cell
from dlsched.study.reports.html.words import digits, drawn, finite
from dlsched.study.rows import Row

MOST = 8
"""Largest number of sizes that are drawn; if there are more, neighbours are merged."""
SHIFT = 0.09
"""Shift between methods drawn side by side, as a share of the distance of two sizes."""
APART = 1.5
"""Ratio of largest to least number of GPUs from which GPUs serve as size."""
LEAST_S = 1e-5
"""Seconds below which clocks cannot distinguish times."""
RANGE = (0.05, 0.5, 0.95)


@dataclass(frozen=True, slots=True)
class Bin:
    """Sizes that are merged and drawn at ``at``, their geometric mean."""

    low: int
    high: int
    at: float

    @property
    def text(self) -> str:
        """Its sizes."""
        return f"{self.low:,}" if self.low == self.high else f"{self.low:,}–{self.high:,}"


@dataclass(frozen=True, slots=True)
class Point:
    """Quantiles of the instances of a bin."""

    bin: Bin
    low: float
    middle: float
    high: float
    at_most: bool
    count: int

    @property
    def cells(self) -> list[Cell]:
        """Its line in the table, the method left out."""
        numbers = [number_cell(q, digits(q), self.at_most) for q in (self.low, self.middle, self.high)]
        return [Cell(self.bin.text, order=self.bin.at), Cell(str(self.count)), *numbers]


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity that is drawn against the size."""

    title: str
    axis: str
    caption: str
    noun: str
    value: Callable[[Row], float | None]


def _gap(row: Row) -> float | None:
    gap = finite(row.gap)
    return None if gap is None else 100 * gap


def _time(row: Row) -> float | None:
    time = finite(row.time_s)
    return None if time is None else max(time, LEAST_S)


GAP = Measure("Gap against size", "gap to the reference, %", "Gap in percent, by size", "gap", _gap)
TIME = Measure("Time against size", "time of a cell, s", "Seconds, by size", "time", _time)


def against_size(found: Sequence[Trial], looks: Mapping[str, Look]) -> list[Figure]:
    """Draw the gaps and the times against the size."""
    word, size = size_of(found)
    bins = bins_of([number for trial in found if (number := size(_first(trial))) is not None and number > 0])
    if len(bins) < 2:
        what = f"all instances have {bins[0].text} {word}" if bins else "no instance says its size"
        return [Figure(each.title, missing=what) for each in (GAP, TIME)]
    return [_figure(found, looks, bins, size, word, measure) for measure in (GAP, TIME)]


def _first(trial: Trial) -> Row:
    return next(iter(trial.rows.values()))


def size_of(found: Sequence[Trial]) -> tuple[str, Callable[[Row], int | None]]:
    """Choose the size: the number of jobs, or of GPUs if all have the same jobs and GPUs differ enough."""
    jobs = {row.jobs for trial in found if (row := _first(trial)).jobs is not None}
    gpus = [row.gpus for trial in found if (row := _first(trial)).gpus is not None]
    if len(jobs) < 2 and gpus and max(gpus) >= APART * min(gpus):
        return "GPUs", lambda row: row.gpus
    return "jobs", lambda row: row.jobs


def bins_of(sizes: Sequence[int]) -> list[Bin]:
    """Put each size into a bin of its own; if there are many, merge sizes that are near on a log axis."""
    distinct = sorted(set(sizes))
    if len(distinct) <= MOST:
        return [Bin(size, size, size) for size in distinct]
    edges = np.geomspace(distinct[0], distinct[-1], MOST + 1)[1:-1]
    numbers = np.array(sizes)
    parts = [numbers[np.searchsorted(edges, numbers, side="right") == index] for index in range(MOST)]
    return [
        Bin(int(part.min()), int(part.max()), drawn(float(np.exp(np.log(part).mean())))) for part in parts if len(part)
    ]


def _figure(
    found: Sequence[Trial],
    looks: Mapping[str, Look],
    bins: Sequence[Bin],
    size: Callable[[Row], int | None],
    word: str,
    measure: Measure,
) -> Figure:
    traces: list[Trace] = []
    rows = []
    points: list[Point] = []
    distance = min(later.at / earlier.at for earlier, later in pairwise(bins))
    for index, (method, look) in enumerate(looks.items()):
        own = points_of(of_method(found, method), bins, size, measure)
        if own:
            side = distance ** (SHIFT * (index - (len(looks) - 1) / 2) / max(1.0, len(looks) / 6))
            traces.append(_trace(own, look, side))
            rows += [[name_cell(method, look.label), *point.cells] for point in own]
            points += own
    if not points:
        return Figure(measure.title, missing=f"no cell has a {measure.noun}")
    low, high = min(point.low for point in points), max(point.high for point in points)
    vertical = axis(low, high, measure.axis, 0.05) if measure is TIME else _from_zero(low, high, measure.axis)
    columns = [Column("method", numbers=False), *map(Column, (word, "instances", "5 %", "median", "95 %"))]
    return Figure(
        measure.title,
        _says(measure, any(point.at_most for point in points)),
        traces=traces,
        x=_horizontal(bins, word),
        y=vertical,
        tables=(Table(measure.caption, columns, rows),),
    )


def points_of(
    rows: Sequence[Row], bins: Sequence[Bin], size: Callable[[Row], int | None], measure: Measure
) -> list[Point]:
    """Quantiles of one method in each bin that has its rows."""
    points = []
    for each in bins:
        inside = [
            (number, row.at_most)
            for row in rows
            if (at := size(row)) is not None
            and each.low <= at <= each.high
            and (number := measure.value(row)) is not None
        ]
        if inside:
            low, middle, high = (drawn(float(q)) for q in np.quantile([number for number, _ in inside], RANGE))
            at_most = measure is GAP and any(bound for _, bound in inside)
            points.append(Point(each, low, middle, high, at_most, len(inside)))
    return points


def _trace(points: Sequence[Point], look: Look, side: float) -> Trace:
    """The medians with a line through them, and the ranges around them."""
    return Trace(
        [drawn(point.bin.at * side) for point in points],
        [point.middle for point in points],
        look.colour,
        look.label,
        dash=look.dash,
        width=1.5,
        symbol=look.symbol,
        hollow=[point.at_most for point in points],
        below=[point.middle - point.low for point in points],
        above=[point.high - point.middle for point in points],
    )


def _horizontal(bins: Sequence[Bin], word: str) -> Axis:
    """Sizes on a logarithmic axis, each with its tick."""
    edge = (bins[1].at / bins[0].at) ** 0.4
    marks = {each.at: each.text for each in bins}
    return Axis(f"{word} (log scale)", bins[0].at / edge, bins[-1].at * edge, True, marks)


def _from_zero(low: float, high: float, title: str) -> Axis:
    """A linear axis that holds 0."""
    top = max(high, 0.01)
    return Axis(title, min(low, -0.03 * top), 1.06 * top)


def _says(measure: Measure, hollow: bool) -> str:
    common = "A mark is the median of a size; the line through it goes from 5 % to 95 % of the instances."
    if measure is TIME:
        return f"{common} Cells that were ended from outside have no time and are not in it."
    return common + " A hollow mark rests on bounds, in part at least: the true gap is at most that (≤)." * hollow
