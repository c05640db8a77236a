"""The plot of ratios: a row for each method, a dot for each instance, the middle half and the median below the dots."""

from collections.abc import Mapping, Sequence

import numpy as np

from dlsched.core.files import Json
from dlsched.study.reports.html.figure import Figure, Look, axis
from dlsched.study.reports.html.matrix import Trial, chosen
from dlsched.study.reports.html.tables import NOTHING, Cell, Column, Table, name_cell, number_cell
from dlsched.study.reports.html.words import digits, drawn, finite, for_plotly, labels
from dlsched.study.rows import Row

GOLDEN = 0.618034
"""Golden-ratio step: its multiples modulo 1 spread any number of dots evenly over the height of a row."""
BAND, DOTS, BAR = 0.34, 0.04, -0.24
"""Layout within a row of height 1: height and middle of the band of dots, and position of the bar."""
SYMBOLS = {"optimum": "circle", "bound": "circle-open", "answer": "cross-thin-open"}
SAYS = {
    "optimum": "A full dot is a ratio to a proven optimum.",
    "bound": "A hollow dot rests on a bound: the true ratio is at most what it shows (≤).",
    "answer": "A cross is a ratio to the answer of the plan's reference method, which need not be the best.",
}
QUARTILES_FROM = 4
"""Least number of answers for which the middle half is marked."""
QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.95, 1.0)
BARE = {"showgrid": False, "zeroline": False, "showticklabels": False, "fixedrange": True}


def distribution(found: Sequence[Trial], looks: Mapping[str, Look], room: int) -> Figure:
    """Draw the ratios of all methods; `room` is the largest number of instances in the plot."""
    title = "Ratios"
    ratios = {
        method: [row.ratio for row in of_method(found, method) if finite(row.ratio) is not None] for method in looks
    }
    answered = {method: [ratio for ratio in of if ratio is not None] for method, of in ratios.items()}
    if not any(answered.values()):
        return Figure(title, missing="no answer has a ratio")
    shown, selection = chosen(found, list(looks), room)
    order = list(looks)
    traces: list[Json] = []
    annotations: list[Json] = []
    kinds: set[str] = set()
    for index, method in enumerate(order):
        look = looks[method]
        if len(answered[method]) >= QUARTILES_FROM:
            traces += _bar(answered[method], BAR - index)
        dots = _dots(shown, method)
        for kind in SYMBOLS:
            of_kind = [(at, row) for at, row in dots if row.reference_kind == kind]
            if of_kind:
                kinds.add(kind)
                traces.append(_trace(of_kind, look, kind, index))
        text = look.text if answered[method] else f"{look.text}: no ratio"
        annotations.append(
            {
                "text": text,
                "x": 0,
                "xref": "paper",
                "y": 0.40 - index,
                "xanchor": "left",
                "yanchor": "middle",
                "showarrow": False,
            }
        )
    everything = [ratio for of in answered.values() for ratio in of]
    low, high = min(*everything, 1.0), max(everything)
    layout: dict[str, Json] = {
        "xaxis": axis(low, high, "ratio to the reference"),
        "yaxis": {**BARE, "range": [0.5 - len(order), 0.55]},
        "annotations": annotations,
    }
    says = " ".join([*(SAYS[kind] for kind in SYMBOLS if kind in kinds), "Bar: middle half; line: median.", selection])
    tables = (_summary(answered, looks), _instances(shown, looks))
    names: list[Json] = [for_plotly(label) for label in _hover(shown)]
    return Figure(title, says.strip(), 70 + 58 * len(order), traces, layout, names, tables)


def of_method(found: Sequence[Trial], method: str) -> list[Row]:
    """Rows of one method."""
    return [trial.rows[method] for trial in found if method in trial.rows]


def _hover(shown: Sequence[Trial]) -> list[str]:
    label = labels(trial.name for trial in shown)
    return [f"{label[trial.name]} ({trial.about})" if trial.about else label[trial.name] for trial in shown]


def _dots(shown: Sequence[Trial], method: str) -> list[tuple[int, Row]]:
    return [
        (at, row)
        for at, trial in enumerate(shown)
        if (row := trial.rows.get(method)) is not None and finite(row.ratio) is not None
    ]


def _trace(dots: Sequence[tuple[int, Row]], look: Look, kind: str, index: int) -> Json:
    spread = [(0.5 + at * GOLDEN) % 1 - 0.5 for at, _ in dots]
    return {
        "type": "scatter", "mode": "markers", "name": look.text,
        "x": [drawn(row.ratio) for _, row in dots if row.ratio is not None],
        "y": [round(DOTS + BAND * each - index, 3) for each in spread],
        "marker": {
            "color": look.colour, "symbol": SYMBOLS[kind], "size": 6, "opacity": 0.7,
            "line": {"width": 1.2 if kind != "optimum" else 0, "color": look.colour},
        },
        "index": [at for at, _ in dots],
        "sign": "≤ " if kind == "bound" else "",
    }  # fmt: skip


def _bar(ratios: Sequence[float], y: float) -> list[Json]:
    """The middle half as a bar, the median as a line across it."""
    low, middle, high = (drawn(float(value)) for value in np.quantile(ratios, (0.25, 0.5, 0.75)))
    grey: dict[str, Json] = {"color": "#808080"}
    common: dict[str, Json] = {"type": "scatter", "mode": "lines", "hoverinfo": "skip"}
    return [
        {**common, "x": [low, high], "y": [y, y], "line": {**grey, "width": 4}},
        {**common, "x": [middle, middle], "y": [y - 0.07, y + 0.07], "line": {**grey, "width": 2}},
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
