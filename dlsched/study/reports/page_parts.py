"""Parts of HTML pages: tables as data, and figures, drawn as SVG by Matplotlib, with tables of the numbers.

Texts stay texts in the SVG, and colours of axes are set by the styles of the page, so that figures follow it in the dark.
Names may be hostile: hold markup, control characters or letters that change the direction of a line, or be very long.
Characters that are not printable are escaped; Jinja2, and Matplotlib in figures, escape the rest.
"""

import io
import json
import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from dlsched.core.messages import cut, printable, told_apart
from dlsched.core.quantities import duration, ratio
from dlsched.plots.figure import FAINT, HUES, UNDATED, styled, ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawn


CELL, KEY = 60, 36  # largest number of characters of a name in a table, and in a plot


def block(text: str) -> str:
    """Write text of several lines; invisible characters become JSON escapes, so that JSON stays the same."""
    return "".join(letter if letter.isprintable() or letter == "\n" else json.dumps(letter)[1:-1] for letter in text)


def short(text: str, longest: int = CELL) -> str:
    """Cut text in the middle where it is longer than that."""
    return cut(printable(text), longest)


def labels(names: Iterable[str], longest: int = CELL) -> dict[str, str]:
    """Return a short label for every name; equal labels are numbered.

    >>> labels(["abcde", "abXde"], 4)
    {'abcde': 'ab…e', 'abXde': 'ab…e (2)'}
    """
    return told_apart({name: short(name, longest) for name in names})


def digits(value: float) -> str:
    """Write a number of a plot with six digits: tables show this text, plots draw the rounded number."""
    return f"{value:.6g}"


def drawn(value: float) -> float:
    """Return the number rounded as by `digits`."""
    return float(digits(value))


def span(values: Iterable[int | None]) -> str:
    """Write the least and the largest of numbers, as in ``10–20`` or ``5``; empty without any."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def finite(value: float | None) -> float | None:
    """Return a finite number, None for others."""
    return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its text, and the key for sorting, if that is not the text; cells that are no numbers come last.

    ``whole``: the whole text, if ``text`` is a part of it; ``note``: small text below; ``link``: id of a part of the page.
    """

    text: str
    order: float | None = None
    whole: str = ""
    note: str = ""
    link: str = ""


NOTHING = Cell("–")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its heading, the meaning of that, and whether it holds numbers."""

    head: str
    means: str = ""
    numbers: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Cells in rows; the first of each row names it."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]


def name_cell(name: str, label: str) -> Cell:
    """A cell with a name, shown as `label`."""
    text = printable(name)
    return Cell(label, whole=text if text != label else "")


def plotted_cell(value: float | None, at_most: bool = False) -> Cell:
    """A cell with a number of a plot, as it is drawn; a dash without a number."""
    return NOTHING if value is None else number_cell(drawn(value), digits(value), at_most)


def number_cell(value: float | None, text: str, at_most: bool = False, note: str = "") -> Cell:
    """A cell with a number, with a sign if the true one may be less; a dash without a number."""
    if value is None:
        return NOTHING
    plain = not at_most and not note and "," not in text and "<" not in text
    return Cell(f"≤ {text}" if at_most else text, order=None if plain else value, note=note)


def ratio_cell(value: float | None, at_most: bool = False) -> Cell:
    """A cell with a ratio; a dash without one."""
    return number_cell(value, ratio(value), at_most)


def time_cell(seconds: float | None, note: str = "") -> Cell:
    """A cell with a time in a unit that fits it; a dash without one."""
    return NOTHING if seconds is None else Cell(duration(seconds), order=seconds, note=note)


def count_cell(count: int) -> Cell:
    """A cell with a count."""
    return Cell(f"{count:,}", order=count)


LOG_FROM = 3.0  # ratio of largest to least value from which an axis is logarithmic
DASHES: tuple[tuple[float, ...], ...] = ((), (7, 4), (2, 3), (7, 3, 2, 3), (11, 3), (11, 3, 2, 3))
SYMBOLS = ("o", "s", "D", "^", "X", "*")
GREY = "#808080"
WIDTH = 420  # pixels of a figure at its own size, which suits a telephone; the page makes it as wide as its column
LEFT, RIGHT, TOP, BOTTOM = 60, 14, 8, 42  # pixels around the axes, for their texts


@dataclass(frozen=True, slots=True)
class Look:
    """Style of a method in every plot: the first six have their own hue, dash and mark, others are grey."""

    label: str
    colour: str
    dash: tuple[float, ...]
    symbol: str

    @property
    def strokes(self) -> str:
        """Its dash pattern in the legend."""
        return " ".join(f"{length:g}" for length in self.dash)


def looks(methods: Sequence[str]) -> dict[str, Look]:
    """Assign a style to every method of a study."""
    shown = labels(methods, KEY)
    return {
        method: Look(
            shown[method],
            HUES[index] if index < len(HUES) else FAINT,
            DASHES[index % len(DASHES)],
            SYMBOLS[index % len(SYMBOLS)],
        )
        for index, method in enumerate(methods)
    }


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from low to high: ``marks`` are its ticks (None: chosen here), and ``ending`` follows each; bare: no ticks."""

    title: str
    low: float
    high: float
    log: bool = False
    marks: Mapping[float, str] | None = None
    ending: str = ""
    bare: bool = False


@dataclass(frozen=True, slots=True)
class Trace:
    """Points of a plot, with marks, with a line through them, or both.

    ``dash`` and ``width`` (pixels) are of the line, None: no line; ``symbol``, ``size``, ``hollow`` (by point) and ``alpha`` of
    the marks, empty: none. ``below`` and ``above``: lengths of an interval around each point, along x if ``sideways``.
    """

    x: Sequence[float]
    y: Sequence[float]
    colour: str
    name: str = ""
    dash: tuple[float, ...] | None = None
    width: float = 2.0
    steps: bool = False
    symbol: str = ""
    size: float = 7.0
    hollow: Sequence[bool] = ()
    alpha: float = 1.0
    below: Sequence[float] = ()
    above: Sequence[float] = ()
    sideways: bool = False

    def draw(self, axes: "Axes") -> None:
        """Draw it."""
        if self.dash is not None:
            (line,) = axes.plot(self.x, self.y, linestyle=(0, self.dash) if self.dash else "-", lw=self.width)
            line.set(color=self.colour, drawstyle="steps-post" if self.steps else "default", clip_on=False)
        if self.above:
            ends = [self.below, self.above]
            x_ends, y_ends = (ends, None) if self.sideways else (None, ends)
            bars = axes.errorbar(self.x, self.y, xerr=x_ends, yerr=y_ends, fmt="none", ecolor=self.colour)
            bars[2][0].set(linewidth=1.5, alpha=0.7 * self.alpha, clip_on=False)
        # Full marks and hollow ones are two series, as Matplotlib fills a series one way.
        for hollow in (False, True) if self.symbol else ():
            points = [at for at, each in enumerate(self.hollow or [False] * len(self.x)) if each == hollow]
            if points:
                (marks,) = axes.plot(
                    [self.x[at] for at in points], [self.y[at] for at in points], self.symbol, ls="none"
                )
                marks.set(color=self.colour, markersize=self.size, alpha=self.alpha, clip_on=False)
                marks.set(markeredgewidth=1.3 if hollow or self.symbol == "+" else 0.0)
                if hollow:
                    marks.set(markerfacecolor="none")


@dataclass(frozen=True)
class Figure:
    """One plot, ``height`` pixels at a width of ``WIDTH``.

    ``says`` is a sentence or two on what it shows; ``notes`` are texts at its left, by their height on the vertical axis;
    ``tables`` have every number that is drawn. ``missing``: reason why nothing is drawn; empty if something is.
    """

    title: str
    says: str = ""
    height: int = 300
    traces: Sequence[Trace] = ()
    x: Axis = field(default=Axis("", 0.0, 1.0))
    y: Axis = field(default=Axis("", 0.0, 1.0))
    notes: Mapping[float, str] = field(default_factory=dict)
    tables: Sequence[Table] = ()
    missing: str = ""

    @cached_property
    def svg(self) -> str:
        """The plot as an element of a page; equal plots are equal texts."""
        from matplotlib import rcParams
        from matplotlib.figure import Figure as Drawn

        text = io.StringIO()
        with styled(WIDTH / 72), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # letters that the font lacks, but the browser has
            rcParams.update(dict.fromkeys(("font.size", "axes.labelsize", "xtick.labelsize", "ytick.labelsize"), 11))
            rcParams.update(dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color", "grid.color"), GREY))
            rcParams.update({"svg.fonttype": "none", "lines.scale_dashes": False, "grid.alpha": 0.25})
            drawn = Drawn((WIDTH / 72, self.height / 72))
            self._draw(drawn)
            metadata = {**UNDATED[".svg"], **dict.fromkeys(("Creator", "Format", "Type"))}
            drawn.savefig(text, format="svg", transparent=True, metadata=metadata)
        return _slim(text.getvalue())

    def _draw(self, drawn: "Drawn") -> None:
        from matplotlib.ticker import NullLocator

        left = RIGHT if self.y.bare else LEFT
        place = (left / WIDTH, BOTTOM / self.height, 1 - (left + RIGHT) / WIDTH, 1 - (TOP + BOTTOM) / self.height)
        axes = drawn.add_axes(place)
        for trace in self.traces:
            trace.draw(axes)
        for height, text in self.notes.items():
            axes.text(0.0, height, text, transform=axes.get_yaxis_transform(), va="center", gid="note")
        axes.set_axisbelow(True)
        axes.yaxis.set_label_coords((14 - LEFT) / (WIDTH - LEFT - RIGHT), 0.5)
        # Limits, scale and ticks of both axes; a bare one shows nothing.
        for which, one in (("x", self.x), ("y", self.y)):
            axis = getattr(axes, f"{which}axis")
            axes.set(**{f"{which}label": one.title, f"{which}scale": "log" if one.log else "linear"})
            axes.set(**{f"{which}lim": (one.low, one.high)})
            axis.set_minor_locator(NullLocator())
            if one.bare:
                axis.set_visible(False)
                axes.spines["left"].set_visible(False)
            else:
                axis.grid(True)
                if one.marks is not None:
                    axis.set_ticks(list(one.marks), list(one.marks.values()))
                else:
                    axis.set_major_formatter(lambda value, _, ending=one.ending: f"{round(value, 9):g}{ending}")


def _slim(text: str) -> str:
    """Cut what a page does not need from a file of Matplotlib: names, comments, digits, fonts, styles said for each mark."""
    text = _HEADS.sub("", text[text.index("<svg ") :])
    text = re.sub(r"<[^>]*>", lambda tag: _DIGITS.sub(r"\1", _SAID.sub("", tag[0])), text)
    text = text.replace("xlink:href", "href").replace('<g id="note"', '<g class="note"')
    return _MARKS.sub(lambda marks: f"<g{marks[2]}>{marks[1].replace(marks[2], '')}</g>", text)


_HEADS = re.compile(r"<!--.*?-->|<metadata>.*?</metadata>|<style .*?</style>|\n *", re.DOTALL)
_SAID = re.compile(
    r"(?<=^<g) id=\"(?!note)[^\"]*\"| clip-path=\"[^\"]*\"| transform=\"rotate\(-0 [^\"]*\"|font-size[^;]*; font-family[^;]*; "
)
_DIGITS = re.compile(r"(\d+\.\d)\d+")
_MARKS = re.compile(r"<g>((?:<use [^>]*?( style=\"[^>]*?)/>)(?:<use [^>]*?\2/>)*)</g>")


def axis(low: float, high: float, title: str, margin: float = 0.03) -> Axis:
    """An axis from low to high, logarithmic if these are far apart."""
    if low > 0 and high >= LOG_FROM * low:
        edge = (high / low) ** margin
        marks = {mark: f"{mark:g}" for mark in ticks(low / edge, high * edge)}
        return Axis(f"{title} (log scale)", low / edge, high * edge, True, marks)
    edge = margin * (high - low) if high > low else 0.05 * abs(high) or 1.0
    return Axis(title, low - edge, high + edge)


def not_drawn(figures: Sequence[Figure]) -> str:
    """Write which plots are missing, and why; empty if none is."""
    reasons: dict[str, list[str]] = {}
    for figure in figures:
        if figure.missing:
            reasons.setdefault(figure.missing, []).append(figure.title.lower())
    return "; ".join(f"{' and '.join(titles)}: not drawn, {reason}" for reason, titles in reasons.items()).capitalize()
