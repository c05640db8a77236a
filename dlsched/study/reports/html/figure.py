"""What a plot of the page is: the lines for Plotly, the tables that hold its numbers, the words around it.

Why Plotly rather than Vega-Lite: the Python package carries its JavaScript, so that a page which fetches nothing needs
no second package and no converter.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from dlsched.core.files import Json
from dlsched.plots.palette import FAINT, HUES
from dlsched.plots.words import ticks
from dlsched.study.reports.html.tables import Table
from dlsched.study.reports.html.words import KEY, for_plotly, labels

LOG_FROM = 3.0
"""Largest over least from which an axis is logarithmic."""
DASHES = ("solid", "7px,4px", "2px,3px", "7px,3px,2px,3px", "11px,3px", "11px,3px,2px,3px")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")


@dataclass(frozen=True, slots=True)
class Look:
    """How a method looks in every plot: the first six have a hue, a dash and a mark of their own, the others are grey."""

    label: str
    colour: str
    dash: str
    symbol: str

    @property
    def strokes(self) -> str:
        """Its dash in the key of the plots."""
        return "" if self.dash == "solid" else self.dash.replace("px", "").replace(",", " ")

    @property
    def text(self) -> str:
        """The label as Plotly is given it."""
        return for_plotly(self.label)


def looks(methods: Sequence[str]) -> dict[str, Look]:
    """Give every method of a study its look."""
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
class Figure:
    """One plot.

    Parameters
    ----------
    title, says
        Its head, and what it shows in a sentence or two.
    height
        In pixels.
    traces, layout
        For Plotly, what is the same for all plots left out.
    names
        Texts that the dots of the traces name by index: hover text of an instance.
    tables
        Every number that is drawn.
    missing
        Why nothing is drawn, where nothing is.
    """

    title: str
    says: str = ""
    height: int = 320
    traces: list[Json] = field(default_factory=list)
    layout: dict[str, Json] = field(default_factory=dict)
    names: list[Json] = field(default_factory=list)
    tables: Sequence[Table] = ()
    missing: str = ""

    @property
    def spec(self) -> dict[str, Json]:
        """What the page's script draws."""
        return {"traces": self.traces, "layout": {**self.layout, "height": self.height}, "names": self.names}


def axis(low: float, high: float, title: str, margin: float = 0.03, ending: str = "") -> dict[str, Json]:
    """An axis that holds the numbers from low to high, logarithmic where they are far apart; ``ending`` follows ticks."""
    found: dict[str, Json] = {"title": {"text": title}}
    if low > 0 and high >= LOG_FROM * low:
        bottom, top = math.log10(low), math.log10(high)
        edge = margin * (top - bottom)
        marks = ticks(low * 10**-edge, high * 10**edge)
        found |= {
            "type": "log",
            "range": [bottom - edge, top + edge],
            "tickvals": list(marks),
            "ticktext": [f"{mark:g}{ending}" for mark in marks],
            "title": {"text": f"{title} (log scale)"},
        }
        return found
    edge = margin * (high - low) if high > low else 0.05 * abs(high) or 1.0
    return found | {"range": [low - edge, high + edge], "nticks": 6, "ticksuffix": ending}


def not_drawn(figures: Sequence[Figure]) -> str:
    """Say which plots are missing, and why; empty where none is."""
    reasons: dict[str, list[str]] = {}
    for figure in figures:
        if figure.missing:
            reasons.setdefault(figure.missing, []).append(figure.title.lower())
    return "; ".join(f"{' and '.join(titles)}: not drawn, {reason}" for reason, titles in reasons.items()).capitalize()
