"""The plot of ratios: a row for each method, a dot for each instance, the middle half and the median below the dots."""

from collections.abc import Mapping, Sequence

import numpy as np

from dlsched.study.reports.html.figure import BOTTOM, GREY, TOP, Axis, Figure, Look, Trace, axis
from dlsched.study.reports.html.matrix import Trial, chosen
from dlsched.study.reports.html.tables import NOTHING, Cell, Column, Table, name_cell, number_cell
from dlsched.study.reports.html.words import digits, drawn, finite, labels
from dlsched.study.rows import Row

GOLDEN = 0.618034
"""Golden-ratio step: its multiples modulo 1 spread any number of dots evenly over the height of a row."""
BAND, DOTS, BAR = 0.34, 0.04, -0.24
"""Layout within a row of height 1: height and middle of the band of dots, and position of the bar."""
SYMBOLS = {"optimum": "o", "bound": "o", "answer": "+"}
SAYS = {
    "optimum": "A full dot is a ratio to a proven optimum.",
    "bound": "A hollow dot rests on a bound: the true ratio is at most what it shows (≤).",
    "answer": "A cross is a ratio to the answer of the plan's reference method, which need not be the best.",
}
QUARTILES_FROM = 4
"""Least number of answers for which the middle half is marked."""
QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)


def distribution(found: Sequence[Trial], looks: Mapping[str, Look], room: int, what: str) -> Figure:
    """Draw the ratios of all methods; `room` is the largest number of instances in the plot."""
    title = "Ratios"
    ratios = {
        method: [row.ratio for row in of_method(found, method) if finite(row.ratio) is not None] for method in looks
    }
    answered = {method: [ratio for ratio in of if ratio is not None] for method, of in ratios.items()}
    if not any(answered.values()):
        return Figure(title, missing="no answer has a ratio")
    shown, selection = chosen(found, list(looks), room)
    traces: list[Trace] = []
    notes: dict[float, str] = {}
    kinds: set[str] = set()
    for index, (method, look) in enumerate(looks.items()):
        if len(answered[method]) >= QUARTILES_FROM:
            traces += _bar(answered[method], BAR - index)
        dots = _dots(shown, method)
        for kind in SYMBOLS:
            of_kind = [(at, row) for at, row in dots if row.reference_kind == kind]
            if of_kind:
                kinds.add(kind)
                traces.append(_trace(of_kind, look, kind, index))
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


def of_method(found: Sequence[Trial], method: str) -> list[Row]:
    """Rows of one method."""
    return [trial.rows[method] for trial in found if method in trial.rows]


def _dots(shown: Sequence[Trial], method: str) -> list[tuple[int, Row]]:
    return [
        (at, row)
        for at, trial in enumerate(shown)
        if (row := trial.rows.get(method)) is not None and finite(row.ratio) is not None
    ]


def _trace(dots: Sequence[tuple[int, Row]], look: Look, kind: str, index: int) -> Trace:
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
        values = [float(value) for value in np.quantile(ratios, QUANTILES)] if ratios else [None] * len(QUANTILES)
        cells = [NOTHING if value is None else number_cell(drawn(value), digits(value)) for value in values]
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
            ratio = None if row is None else finite(row.ratio)
            if row is None or ratio is None:
                cells.append(NOTHING if row is None else Cell(row.status))
            else:
                cells.append(number_cell(drawn(ratio), digits(ratio), row.at_most))
        rows.append(cells)
    columns = [Column("instance", numbers=False), Column("what it is", numbers=False)]
    return Table("Ratio of every dot", [*columns, *(Column(look.label) for look in looks.values())], rows)
