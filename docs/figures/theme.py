"""How figures look on a light and on a dark page: no background, the ink of the page, colours for every kind of vision."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dlsched.plots.figure import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILLION

HUES = (SKY, ORANGE, GREEN, PURPLE, VERMILLION, BLUE)


@dataclass(frozen=True)
class Theme:
    """Colours of text and of what is drawn, by the page's background."""

    ink: str  # text, and what matters
    faint: str  # frames, and what is there for comparison
    ground: str  # of the page, where a shape has to hide what lies beneath


THEMES = {
    "light": Theme(ink="#1f2328", faint="#8b949e", ground="#ffffff"),
    "dark": Theme(ink="#d4d7db", faint="#7d858f", ground="#131416"),
}


def save(draw: Callable[[Theme], Figure], theme: Theme, path: Path) -> None:
    """Draw a figure and write all of it; the same figure is the same file."""
    settings = {
        "axes.edgecolor": theme.faint,
        "axes.labelcolor": theme.ink,
        "axes.linewidth": 0.7,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlecolor": theme.ink,
        "axes.titlelocation": "left",
        "axes.titlesize": 9,
        "font.family": ["DejaVu Sans"],
        "font.size": 9,
        "legend.frameon": False,
        "legend.labelcolor": theme.ink,
        "lines.linewidth": 1.6,
        "svg.hashsalt": "dlsched",
        "text.color": theme.ink,
        "xtick.color": theme.ink,
        "ytick.color": theme.ink,
    }
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "backend": "agg"}), matplotlib.rc_context(settings):
        figure = draw(theme)
        figure.savefig(path, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})


def bare(axes: Axes) -> None:
    """Leave out everything but what is drawn, and keep squares square."""
    axes.set_axis_off()
    axes.set_aspect("equal")
