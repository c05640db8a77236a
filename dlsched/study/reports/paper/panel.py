"""What every kind of figure knows of a group: its methods, best first, their rows by instance, and how they look."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dlsched.plots.figure import text_size
from dlsched.plots.palette import DASHES, FAINT, HUES
from dlsched.plots.words import labels
from dlsched.study.figures.groups import Group
from dlsched.study.reports.html.matrix import Trial, trials
from dlsched.study.reports.html.words import finite
from dlsched.study.rows import Row

MARKERS = ("o", "s", "D", "^", "v", "P")
LONGEST = 18
"""Characters of a method's name."""


@dataclass(frozen=True, slots=True)
class Style:
    """Colour, dashes and mark of a method, which differ in grey, too; the first six have their own."""

    label: str
    colour: str
    dash: object
    marker: str
    own: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """A group, its instances, and its methods in the order of the ranking; without methods that only bound."""

    group: Group
    found: Sequence[Trial]
    methods: Sequence[str]
    styles: Mapping[str, Style]
    width_in: float

    @property
    def size(self) -> float:
        """Size of the text in points."""
        return text_size(self.width_in)

    def rows(self, method: str) -> list[Row]:
        """Rows of a method."""
        return [trial.rows[method] for trial in self.found if method in trial.rows]

    def ratios(self, method: str) -> list[float]:
        """Its finite ratios."""
        return [ratio for row in self.rows(method) if (ratio := finite(row.ratio)) is not None]


def panels_of(groups: Sequence[Group], width_in: float) -> list[Panel]:
    """Collect what is drawn of groups; a method looks alike in all of them, where all fit into the styles of one."""
    every = dict.fromkeys(line.method for group in groups for line in group.lines if line.kind != "bound")
    exact = {line.method for group in groups for line in group.lines if line.exact}
    order = sorted(every, key=lambda method: method not in exact)
    alike = len(order) <= len(HUES) or all({line.method for line in group.lines} >= set(order) for group in groups)
    return [panel_of(group, width_in, order if alike else None) for group in groups]


def panel_of(group: Group, width_in: float, order: Sequence[str] | None = None) -> Panel:
    """Collect what is drawn of a group; ``order``: of the styles, by default exact methods first, then the ranking."""
    methods = [line.method for line in map(group.line, group.ranking) if line.kind != "bound"]
    if order is None:
        order = sorted(methods, key=lambda method: not group.line(method).exact)
    shown = labels(order, LONGEST)
    styles = {
        method: Style(
            shown[method],
            HUES[index] if index < len(HUES) else FAINT,
            DASHES[index] if index < len(DASHES) else "-",
            MARKERS[index] if index < len(MARKERS) else ".",
            index < len(HUES),
        )
        for index, method in enumerate(order)
    }
    return Panel(group, trials(group.rows), methods, styles, width_in)


def width_of_key(names: Sequence[str], width_in: float) -> int:
    """Number of columns of a key in which all names fit."""
    size = text_size(width_in) - 0.5
    column_in = (max(map(len, names)) * 0.6 + 2.2 + 1.8) * size / 72
    return max(1, min(len(names), int(width_in / column_in)))
