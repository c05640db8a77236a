"""Figures of the page of a study: ratios, performance profiles, and gaps and times against the size of instances."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dlsched.core.status import Sense
from dlsched.core.verdict import Reference, verdict
from dlsched.families import FAMILIES
from dlsched.plots.comparison import GOLDEN, QUARTILES_FROM
from dlsched.statistics.samples import Steps, performance_profile
from dlsched.study.reports.content import Trial, chosen
from dlsched.study.reports.page_parts import (
    BOTTOM,
    GREY,
    NOTHING,
    TOP,
    Axis,
    Cell,
    Column,
    Figure,
    Look,
    Table,
    Trace,
    axis,
    digits,
    drawn,
    finite,
    labels,
    name_cell,
    plotted_cell,
)
from dlsched.study.rows import Row

BAND, DOTS, BAR = 0.34, 0.04, -0.24
"""Layout within a row of height 1: height and middle of the band of dots, and position of the bar."""
SYMBOLS = {"optimum": "o", "bound": "o", "answer": "+"}
SAYS = {
    "optimum": "A full dot is a ratio to a proven optimum.",
    "bound": "A hollow dot rests on a bound: the true ratio is at most what it shows (≤).",
    "answer": "A cross is a ratio to the answer of the plan's reference method, which need not be the best.",
}
QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)


def distribution(trials: Sequence[Trial], looks: Mapping[str, Look], room: int, what: str) -> Figure:
    """Draw the ratios of all methods; `room` is the largest number of instances in the plot."""
    title = "Ratios"
    answered = {
        method: [ratio for row in of_method(trials, method) if (ratio := finite(row.ratio)) is not None]
        for method in looks
    }
    if not any(answered.values()):
        return Figure(title, missing="no answer has a ratio")
    shown, selection = chosen(trials, list(looks), room)
    traces: list[Trace] = []
    notes: dict[float, str] = {}
    kinds: set[str] = set()
    # A row for each method: its dots by kind of reference, the bar of its middle half below.
    for index, (method, look) in enumerate(looks.items()):
        if len(answered[method]) >= QUARTILES_FROM:
            traces += _bar(answered[method], BAR - index)
        rows = [trial.rows.get(method) for trial in shown]
        dots = [(at, row) for at, row in enumerate(rows) if row is not None and finite(row.ratio) is not None]
        for kind in SYMBOLS:
            of_kind = [(at, row) for at, row in dots if row.reference_kind == kind]
            if of_kind:
                kinds.add(kind)
                traces.append(_dots_trace(of_kind, look, kind, index))
        notes[0.40 - index] = look.label if answered[method] else f"{look.label}: no ratio"
    everything = [ratio for of in answered.values() for ratio in of]
    low, high = min(*everything, 1.0), max(everything)
    says = " ".join([*(SAYS[kind] for kind in SYMBOLS if kind in kinds), "Bar: middle half; line: median.", selection])
    return Figure(
        title,
        says.strip(),
        TOP + BOTTOM + 58 * len(looks),
        traces,
        axis(low, high, what),
        Axis("", 0.5 - len(looks), 0.55, bare=True),
        notes,
        (_summary(answered, looks), _instances(shown, looks)),
    )


def of_method(trials: Sequence[Trial], method: str) -> list[Row]:
    """Rows of one method."""
    return [trial.rows[method] for trial in trials if method in trial.rows]


def _dots_trace(dots: Sequence[tuple[int, Row]], look: Look, kind: str, index: int) -> Trace:
    spread = [(0.5 + at * GOLDEN) % 1 - 0.5 for at, _ in dots]
    return Trace(
        [drawn(row.ratio) for _, row in dots if row.ratio is not None],
        [round(DOTS + BAND * each - index, 3) for each in spread],
        look.colour,
        look.label,
        symbol=SYMBOLS[kind],
        size=5.0,
        hollow=[kind == "bound"] * len(dots),
        alpha=0.7,
    )


def _bar(ratios: Sequence[float], y: float) -> list[Trace]:
    """The middle half as a bar, the median as a line across it."""
    low, middle, high = (drawn(float(value)) for value in np.quantile(ratios, (0.25, 0.5, 0.75)))
    return [
        Trace([low, high], [y, y], GREY, dash=(), width=4.0),
        Trace([middle, middle], [y - 0.07, y + 0.07], GREY, dash=()),
    ]


def _summary(answered: Mapping[str, Sequence[float]], looks: Mapping[str, Look]) -> Table:
    rows = []
    for method, ratios in answered.items():
        values = np.quantile(ratios, QUANTILES).tolist() if ratios else [None] * len(QUANTILES)
        cells = map(plotted_cell, values)
        rows.append([name_cell(method, looks[method].label), Cell(str(len(ratios))), *cells])
    heads = ("ratios", "least", "quarter", "median", "three quarters", "95 %", "worst")
    return Table(
        "Quantiles of the ratios, of all instances",
        [Column("method", numbers=False), *(Column(head) for head in heads)],
        rows,
    )


def _instances(shown: Sequence[Trial], looks: Mapping[str, Look]) -> Table:
    label = labels(trial.name for trial in shown)
    rows = []
    for trial in shown:
        cells = [name_cell(trial.name, label[trial.name]), Cell(trial.about)]
        for method in looks:
            row = trial.rows.get(method)
            if row is None or finite(row.ratio) is not None:
                cells.append(NOTHING if row is None else plotted_cell(row.ratio, row.at_most))
            else:
                cells.append(Cell(row.status))
        rows.append(cells)
    columns = [Column("instance", numbers=False), Column("what it is", numbers=False)]
    return Table("Ratio of every dot", [*columns, *(Column(look.label) for look in looks.values())], rows)


STEPS = 60  # largest number of points of a curve


def profile(trials: Sequence[Trial], looks: Mapping[str, Look], family: str) -> Figure:
    """Draw the profiles of all methods; factors are objectives relative to the best of any method."""
    title = "Performance profile"
    if len(looks) < 2:
        return Figure(title, missing="one method alone is compared with no other")
    factors = factors_of_best(trials, list(looks), family)
    everything = [value for of in factors.values() for value in of if value is not None]
    if not everything:
        return Figure(title, missing="there is no answer")
    taus = grid(everything)
    end = max(drawn(1 + 1.06 * (taus[-1] - 1)), 1.05)
    rows = []
    # Rounded to the digits that are drawn, so that smaller differences count as equal.
    rounded = {method: [None if value is None else drawn(value) for value in of] for method, of in factors.items()}
    shares = {method: _at(performance_profile(of), taus) for method, of in rounded.items()}
    traces = [
        Trace([*taus, end], [*shares[method], shares[method][-1]], look.colour, look.label, dash=look.dash, steps=True)
        for method, look in looks.items()
    ]
    # The table holds the points of the curves, the last repeated at the end of the axis.
    for at, tau in enumerate([*taus, end]):
        cells = [shares[method][min(at, len(taus) - 1)] for method in looks]
        rows.append([Cell(digits(tau), order=tau), *map(plotted_cell, cells)])
    says = (
        "The higher, the better: the share of instances on which an answer is within a factor of the best that any method "
        "found; without an answer it never is (Dolan and Moré 2002)."
    )
    columns = [Column("factor τ"), *(Column(look.label) for look in looks.values())]
    return Figure(
        title,
        says,
        traces=traces,
        x=axis(1.0, end, "factor τ of the best answer", margin=0.0),
        y=Axis("instances within τ", 0.0, 1.02, marks={step / 5: f"{20 * step} %" for step in range(6)}),
        tables=(Table("Share of instances within τ", columns, rows),),
    )


def factors_of_best(trials: Sequence[Trial], methods: Sequence[str], family: str) -> dict[str, list[float | None]]:
    """Return each answer's factor to the best of its instance, by method; between objectives where no answer has a ratio."""
    of_family = FAMILIES[family].sense if family in FAMILIES else Sense.MINIMIZE
    factors: dict[str, list[float | None]] = {method: [] for method in methods}
    # Ratios where any answer has one, else objectives; the best of either is 1 for all methods.
    for trial in trials:
        rated = any(row.ratio is not None for row in trial.rows.values())
        own_sense = next((Sense(row.sense) for row in trial.rows.values() if row.sense), of_family)
        sense = Sense.MINIMIZE if rated else own_sense
        values = {method: finite(row.ratio if rated else row.objective) for method, row in trial.rows.items()}
        known = [value for value in values.values() if value is not None]
        best = None if not known else Reference((min if sense is Sense.MINIMIZE else max)(known), "answer", sense)
        for method in methods:
            factors[method].append(finite(verdict(values.get(method), best).ratio))
    return factors


def grid(factors: Sequence[float]) -> list[float]:
    """Return the factors at which curves step, at most ``STEPS``, the first and the last included."""
    taus = np.unique([1.0, *(drawn(value) for value in factors)])
    if len(taus) > STEPS:
        taus = taus[np.unique(np.linspace(0, len(taus) - 1, STEPS).round().astype(int))]
    return [float(tau) for tau in taus]


def _at(steps: Steps, taus: Sequence[float]) -> list[float]:
    """Share of instances within each of `taus`."""
    ends, shares = steps
    return [drawn(shares[bisect_right(ends, tau) - 1]) for tau in taus]


MOST = 8  # largest number of sizes that are drawn; if there are more, neighbours are merged
SHIFT = 0.09  # shift between methods drawn side by side, as a share of the distance of two sizes
APART = 1.5  # ratio of largest to least number of GPUs from which GPUs serve as size
LEAST_S = 1e-5  # seconds below which clocks cannot distinguish times
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
        numbers = [plotted_cell(q, self.at_most) for q in (self.low, self.middle, self.high)]
        return [Cell(self.bin.text, order=self.bin.at), Cell(str(self.count)), *numbers]


class Measure(NamedTuple):
    """A quantity that is drawn against the size."""

    title: str
    axis: str
    caption: str
    noun: str
    value: Callable[[Row], float | None]


def _gap(row: Row) -> float | None:
    return None if finite(row.gap) is None or row.gap is None else 100 * row.gap


def _time(row: Row) -> float | None:
    return None if finite(row.time_s) is None or row.time_s is None else max(row.time_s, LEAST_S)


GAP = Measure("Gap against size", "gap to the reference, %", "Gap in percent, by size", "gap", _gap)
TIME = Measure("Time against size", "time of a cell, s", "Seconds, by size", "time", _time)


def against_size(trials: Sequence[Trial], looks: Mapping[str, Look]) -> list[Figure]:
    """Draw the gaps and the times against the size."""
    sizes = sizes_of(trials)
    if sizes.missing:
        return [Figure(each.title, missing=sizes.missing) for each in (GAP, TIME)]
    return [_figure(trials, looks, sizes, measure) for measure in (GAP, TIME)]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The size of instances: what it counts, of which rows, and in which bins."""

    word: str
    of: Callable[[Row], int | None]
    bins: Sequence[Bin]

    @property
    def missing(self) -> str:
        """Why nothing can be drawn against it; empty if something can."""
        if len(self.bins) > 1:
            return ""
        return f"all instances have {self.bins[0].text} {self.word}" if self.bins else "no instance says its size"

    def side(self, index: int, count: int) -> float:
        """Factor that moves one of so many methods aside, so that their marks at a size do not hide each other."""
        distance = min(later.at / earlier.at for earlier, later in pairwise(self.bins))
        return float(distance ** (SHIFT * (index - (count - 1) / 2) / max(1.0, count / 6)))


def sizes_of(trials: Sequence[Trial]) -> Sizes:
    """Choose the size, and its bins: the number of jobs, or of GPUs if all have the same jobs and GPUs differ enough."""
    rows = [next(iter(trial.rows.values())) for trial in trials]
    jobs = [row.jobs for row in rows if row.jobs is not None]
    gpus = [row.gpus for row in rows if row.gpus is not None]
    if len(set(jobs)) < 2 and gpus and max(gpus) >= APART * min(gpus):
        return Sizes("GPUs", lambda row: row.gpus, bins_of([number for number in gpus if number > 0]))
    return Sizes("jobs", lambda row: row.jobs, bins_of([number for number in jobs if number > 0]))


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


def _figure(trials: Sequence[Trial], looks: Mapping[str, Look], sizes: Sizes, measure: Measure) -> Figure:
    traces: list[Trace] = []
    rows = []
    points: list[Point] = []
    # Medians and ranges of each method at each size, side by side.
    for index, (method, look) in enumerate(looks.items()):
        own = points_of(of_method(trials, method), sizes, measure)
        if own:
            traces.append(_medians_trace(own, look, sizes.side(index, len(looks))))
            rows += [[name_cell(method, look.label), *point.cells] for point in own]
            points += own
    if not points:
        return Figure(measure.title, missing=f"no cell has a {measure.noun}")
    low, high = min(point.low for point in points), max(point.high for point in points)
    top, edge = max(high, 0.01), (sizes.bins[1].at / sizes.bins[0].at) ** 0.4
    marks = {each.at: each.text for each in sizes.bins}
    gaps = Axis(measure.axis, min(low, -0.03 * top), 1.06 * top)  # from 0, which a logarithmic axis does not hold
    columns = [Column("method", numbers=False), *map(Column, (sizes.word, "instances", "5 %", "median", "95 %"))]
    return Figure(
        measure.title,
        _says(measure, any(point.at_most for point in points)),
        traces=traces,
        x=Axis(f"{sizes.word} (log scale)", sizes.bins[0].at / edge, sizes.bins[-1].at * edge, True, marks),
        y=axis(low, high, measure.axis, 0.05) if measure is TIME else gaps,
        tables=(Table(measure.caption, columns, rows),),
    )


def points_of(rows: Sequence[Row], sizes: Sizes, measure: Measure) -> list[Point]:
    """Quantiles of one method in each bin that has its rows."""
    points = []
    # Quantiles of the rows in the bin; a gap that rests on any bound is at most that.
    for each in sizes.bins:
        inside = [
            (number, row.at_most)
            for row in rows
            if (at := sizes.of(row)) is not None
            and each.low <= at <= each.high
            and (number := measure.value(row)) is not None
        ]
        if inside:
            low, middle, high = (drawn(float(q)) for q in np.quantile([number for number, _ in inside], RANGE))
            at_most = measure is GAP and any(bound for _, bound in inside)
            points.append(Point(each, low, middle, high, at_most, len(inside)))
    return points


def _medians_trace(points: Sequence[Point], look: Look, side: float) -> Trace:
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


def _says(measure: Measure, hollow: bool) -> str:
    common = "A mark is the median of a size; the line through it goes from 5 % to 95 % of the instances."
    if measure is TIME:
        return f"{common} Cells that were ended from outside have no time and are not in it."
    return common + " A hollow mark rests on bounds, in part at least: the true gap is at most that (≤)." * hollow
