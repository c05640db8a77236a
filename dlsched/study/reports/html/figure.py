"""Figures of the page: traces and layout for Plotly, tables with the numbers, and the texts around them.

Plotly rather than Vega-Lite, because its Python package contains the JavaScript: a page that fetches nothing
needs no second package and no converter.
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
"""Ratio of largest to least value from which an axis is logarithmic."""
DASHES = ("solid", "7px,4px", "2px,3px", "7px,3px,2px,3px", "11px,3px", "11px,3px,2px,3px")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")


@dataclass(frozen=True, slots=True)
class Look:
    """Style of a method in every plot: the first six have their own hue, dash and mark, others are grey."""

    label: str
    colour: str
    dash: str
    symbol: str

    @property
    def strokes(self) -> str:
        """Its dash pattern in the legend."""
        return "" if self.dash == "solid" else self.dash.replace("px", "").replace(",", " ")

    @property
    def text(self) -> str:
        """The label, escaped for Plotly."""
        return for_plotly(self.label)


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
class Figure:
    """One plot.

    Parameters
    ----------
    title, says
        Its heading, and a sentence or two on what it shows.
    height
        In pixels.
    traces, layout
        Traces and layout for Plotly, without what all plots share.
    names
        Hover texts of instances; the dots of traces refer to them by index.
    tables
        Tables with every number that is drawn.
    missing
        Reason why nothing is drawn; empty if something is.
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
        """The data that the page's script draws."""
        return {"traces": self.traces, "layout": {**self.layout, "height": self.height}, "names": self.names}


def axis(low: float, high: float, title: str, margin: float = 0.03, ending: str = "") -> dict[str, Json]:
    """An axis from low to high, logarithmic if these are far apart; ``ending`` follows the ticks."""
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
    """Write which plots are missing, and why; empty if none is."""
    reasons: dict[str, list[str]] = {}
    for figure in figures:
        if figure.missing:
            reasons.setdefault(figure.missing, []).append(figure.title.lower())
    return "; ".join(f"{' and '.join(titles)}: not drawn, {reason}" for reason, titles in reasons.items()).capitalize()
