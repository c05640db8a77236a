"""A reproduction as one HTML page: conclusions, figures (dots with intervals, the paper's hollow), and tables of all numbers."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from dlsched.core.files import write_text
from dlsched.core.messages import printable
from dlsched.core.quantities import percent, short
from dlsched.plots.comparison import GOLDEN
from dlsched.reproduce.entries import Entry
from dlsched.reproduce.findings import Beside, Findings, Mark, Panel, Series
from dlsched.study.reports.page import embedded
from dlsched.study.reports.page_parts import (
    GREY,
    NOTHING,
    Axis,
    Cell,
    Column,
    Figure,
    Look,
    Table,
    Trace,
    axis,
    drawn,
    looks,
    number_cell,
    plotted_cell,
)
from dlsched.study.store.reading import About

TOP, BAND, STEP = 0.20, 0.54, 0.2
"""Of the marks of a category, whose height is 1 and whose name stands above them: upper end, and greatest height of all and of
one series."""
APART = 0.012  # distance of marks side by side, as a share of the width of the axis
HOLLOW = (3, 3)


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a figure's key: look of a series, and its outline in a square of 12, empty for a line."""

    label: str
    colour: str
    strokes: str
    outline: str
    hollow: bool
    joined: bool


OUTLINES = {
    "o": "M6 1.5a4.5 4.5 0 1 0 .01 0z",
    "s": "M2 2h8v8h-8z",
    "D": "M6 .8l5.2 5.2l-5.2 5.2l-5.2 -5.2z",
    "^": "M6 1l5 9h-10z",
    "X": "M2 3.4l1.4 -1.4l2.6 2.6l2.6 -2.6l1.4 1.4l-2.6 2.6l2.6 2.6l-1.4 1.4l-2.6 -2.6l-2.6 2.6l-1.4 -1.4l2.6 -2.6z",
    "*": "M6 .8l1.5 3.4l3.7 .4l-2.8 2.5l.8 3.7l-3.2 -1.9l-3.2 1.9l.8 -3.7l-2.8 -2.5l3.7 -.4z",
}
"""Of ``figure.SYMBOLS``."""


class Drawing(NamedTuple):
    """A figure with its key."""

    figure: Figure
    key: Sequence[Key]


def drawing_of(panel: Panel) -> Drawing:
    """Draw a panel."""
    of_kin = looks(list(dict.fromkeys(each.kin or each.label for each in panel.series)))
    styled = [(each, of_kin[each.kin or each.label]) for each in panel.series if each.marks]
    joined = not panel.categories
    figure = (_along if joined else _down)(panel, styled)
    key = []
    for each, look in styled:
        hollow, line = each.whose != "ours", joined and each.whose != "earlier"
        strokes = replace(look, dash=HOLLOW).strokes if hollow else look.strokes
        key.append(Key(each.label, look.colour, strokes, OUTLINES[look.symbol], hollow, line))
    if panel.level is not None:
        key.append(Key(panel.level[0], GREY, "6 3", "", False, True))
    return Drawing(figure, key)


def beside_table(findings: Findings) -> Table | None:
    """Return a table of our numbers beside theirs; None if they state none."""
    if not findings.beside:
        return None
    columns = [Column(findings.quantity, numbers=False), Column("ours", "mean with its 95 % interval")]
    columns.append(Column(findings.source))
    if any(each.difference is not None for each in findings.beside):
        columns.append(Column("ours over theirs"))
    return Table("Intervals of 95 % below ours", columns, [_beside(each)[: len(columns)] for each in findings.beside])


def _beside(each: Beside) -> list[Cell]:
    theirs = Cell(each.words) if each.theirs is None else number_cell(each.theirs, f"{each.theirs:,g}")
    ours = NOTHING
    if each.ours is not None:
        ends = ", ".join(short(end) for end in (each.ours.low, each.ours.high) if end is not None)
        ours = number_cell(each.ours.value, short(each.ours.value), note=ends and f"[{ends}]")
    return [Cell(each.what), ours, theirs, number_cell(each.difference, percent(each.difference, signed=True))]


def _ends(marks: Sequence[Mark]) -> list[float]:
    estimates = [mark.estimate for mark in marks]
    return [value for each in estimates for value in (each.value, each.low, each.high) if value is not None]


def _drawn_at(panel: Panel, value: float | None, otherwise: float) -> float:
    value = otherwise if value is None else value
    return drawn(value if panel.floor is None else max(value, panel.floor))


def _trace(panel: Panel, each: Series, look: Look, at: list[float], sideways: bool) -> Trace:
    marks = [mark.estimate for mark in each.marks]
    values = [_drawn_at(panel, mark.value, mark.value) for mark in marks]
    ends = [
        (value - _drawn_at(panel, mark.low, mark.value), _drawn_at(panel, mark.high, mark.value) - value)
        for mark, value in zip(marks, values, strict=True)
        if any(other.low is not None for other in marks)
    ]
    hollow = each.whose != "ours"
    return Trace(
        values if sideways else at,
        at if sideways else values,
        look.colour,
        each.label,
        dash=None if sideways or each.whose == "earlier" else HOLLOW if hollow else look.dash,
        width=1.8,
        symbol=look.symbol,
        size=5.0 if each.cloud else 8.0,
        hollow=[hollow] * len(values),
        alpha=0.55 if each.cloud else 1.0,
        below=[below for below, _ in ends],
        above=[above for _, above in ends],
        sideways=sideways,
    )


def _level(panel: Panel, low: float, high: float, sideways: bool) -> list[Trace]:
    """Draw a grey line at the paper's number, from end to end of the other axis."""
    if panel.level is None:
        return []
    at, along = [panel.level[1]] * 2, [low, high]
    return [Trace(at if sideways else along, along if sideways else at, GREY, dash=(6, 3), width=1.6)]


def _along(panel: Panel, styled: Sequence[tuple[Series, Look]]) -> Figure:
    """Draw marks at numbers, from left to right; marks at one number stand side by side."""
    places = sorted({float(mark.at) for each, _ in styled for mark in each.marks})
    width = (places[-1] - places[0] if places else 0.0) or 1.0
    low, high = (places[0] - 0.08 * width, places[-1] + 0.08 * width) if places else (0.0, 1.0)
    kin = list(dict.fromkeys(look.label for _, look in styled))
    traces = _level(panel, low, high, sideways=False)
    for each, look in styled:
        shift = (kin.index(look.label) - (len(kin) - 1) / 2) * APART * width
        traces.append(_trace(panel, each, look, [drawn(float(mark.at) + shift) for mark in each.marks], sideways=False))
    top = max(
        [value for each, _ in styled for value in _ends(each.marks)] + ([panel.level[1]] if panel.level else []),
        default=1.0,
    )
    return Figure(
        panel.title,
        panel.says,
        traces=traces,
        x=Axis(panel.x, low, high, marks={place: f"{place:g}" for place in places}),
        y=Axis(panel.y, 0.0, 1.06 * top),
        tables=(_numbers(panel),),
    )


def _down(panel: Panel, styled: Sequence[tuple[Series, Look]]) -> Figure:
    """Draw categories one below the other, with names above their marks, and numbers to the right."""
    tables = (_numbers(panel),)
    panel = replace(panel, floor=_floor(panel))
    categories = panel.categories
    rows = list(dict.fromkeys(look.label for each, look in styled if not each.cloud)) or [""]
    traces = _level(panel, 0.55, 0.5 - len(categories), sideways=True)
    # Clouds first, so that means lie on top; marks of a category are spread over its height, series below each other.
    for each, look in sorted(styled, key=lambda pair: not pair[0].cloud):
        row = rows.index(look.label) if look.label in rows else 0
        step = min(STEP, BAND / len(rows))
        heights = []
        for number, mark in enumerate(each.marks):
            top = TOP - categories.index(str(mark.at))
            inside = (number * GOLDEN) % 1 * BAND if each.cloud else (row + 0.5) * step
            heights.append(drawn(top - inside))
        traces.append(_trace(panel, each, look, heights, sideways=True))
    values = [_drawn_at(panel, value, value) for each, _ in styled for value in _ends(each.marks)]
    values += [panel.level[1]] if panel.level else []
    return Figure(
        panel.title,
        panel.says,
        50 + max(60, 30 + 13 * len(rows)) * len(categories),
        traces,
        axis(min(values, default=0.0), max(values, default=1.0), panel.y),
        Axis("", 0.5 - len(categories), 0.55, bare=True),
        {0.40 - index: printable(name) for index, name in enumerate(categories)},
        tables,
    )


def _floor(panel: Panel) -> float | None:
    """Return the least number that is drawn: intervals may end below 0, which has no logarithm."""
    least = min((mark.estimate.value for each in panel.series for mark in each.marks), default=0.0)
    return least / 2 if panel.floor is None and least > 0 else panel.floor


def _numbers(panel: Panel) -> Table:
    columns = [
        Column("series", numbers=False),
        Column(panel.x, numbers=not panel.categories),
        Column(panel.y),
        Column("from", "lower end of the 95 % interval"),
        Column("to", "upper end"),
    ]
    named = any(mark.name for each in panel.series for mark in each.marks)
    if named:
        columns.append(Column("of", numbers=False))
    rows = [
        [
            Cell(each.label),
            Cell(mark.at if isinstance(mark.at, str) else f"{mark.at:g}"),
            *map(plotted_cell, (mark.estimate.value, mark.estimate.low, mark.estimate.high)),
            *([Cell(mark.name)] if named else []),
        ]
        for each in panel.series
        for mark in each.marks
    ]
    return Table(panel.title, columns, rows)


TEMPLATES = Path(__file__).parent / "templates"
WHOSE = {"paper": "the paper's", "earlier": "those of an earlier simulation of ours"}


def write_page(
    path: str | os.PathLike[str],
    entry: Entry,
    findings: Findings,
    about: About,
    *,
    differs: Sequence[str],
    environment: Mapping[str, str],
    command: str,
    quick: bool,
) -> None:
    """Write the page; ``differs`` has a paragraph for each difference, ``command`` produces the page again."""
    whose = {each.whose for panel in findings.panels for each in panel.series if each.marks}
    text = embedded(
        "reproduction.html",
        folder=TEMPLATES,
        entry=entry,
        findings=findings,
        about=about,
        drawings=[drawing_of(panel) for panel in findings.panels],
        beside=beside_table(findings),
        differs=differs,
        environment=environment,
        command=command,
        quick=quick,
        hollow=" and ".join(words for one, words in WHOSE.items() if one in whose),
    )
    write_text(path, text)
