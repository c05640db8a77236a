"""Findings of a reproduction as plain data: figures, the paper's numbers beside ours, and conclusions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from dlsched.statistics.inference import Estimate, student_mean

Whose = Literal["ours", "paper", "earlier"]
"""Source of numbers: dlsched now, the paper, or an earlier simulation by dlsched's authors."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A number of a figure at a position (a number, or a category); ``name``: what it is of, for the table."""

    at: float | str
    estimate: Estimate
    name: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Marks that belong together; series of one ``kin`` differ in their source only, such as ours and the paper's."""

    label: str
    marks: Sequence[Mark]
    whose: Whose = "ours"
    kin: str = ""
    cloud: bool = False  # whether its marks show single instances or patterns, and are drawn small


@dataclass(frozen=True, slots=True)
class Panel:
    """A figure: labels ``x`` of positions and ``y`` of numbers, and series of marks.

    Categories stand one below the other, with the numbers to the right; marks at numbers are joined by lines. ``level``: label
    and value of a number that the paper states for all, drawn as a line. ``floor``: least number that is drawn, if a
    logarithmic axis needs one; smaller numbers are drawn there.
    """

    title: str
    says: str
    x: str
    y: str
    series: Sequence[Series]
    level: tuple[str, float] | None = None
    floor: float | None = None

    @property
    def categories(self) -> list[str]:
        """Categories in the order in which they appear; none if the marks stand at numbers."""
        return list(dict.fromkeys(mark.at for each in self.series for mark in each.marks if isinstance(mark.at, str)))


@dataclass(frozen=True, slots=True)
class Beside:
    """A number of ours beside one from another source: ``theirs`` as stated, or ``words`` instead, such as "more than 2"."""

    what: str
    ours: Estimate | None
    theirs: float | None = None
    words: str = ""

    @property
    def difference(self) -> float | None:
        """Ours over theirs, minus 1; None if either is missing."""
        return None if self.ours is None or not self.theirs else self.ours.value / self.theirs - 1


@dataclass(frozen=True, slots=True)
class Findings:
    """Findings of a reproduction: figures, numbers of ours beside those of ``source``, and conclusions, computed."""

    panels: Sequence[Panel]
    beside: Sequence[Beside]
    source: str
    quantity: str
    conclusions: Sequence[str]


def mean_of(values: Iterable[float]) -> Estimate | None:
    """Mean with Student's interval, as means over streams and drawn instances have it."""
    return student_mean(list(values))


def stated(label: str, numbers: Iterable[tuple[float | str, float]], whose: Whose, kin: str) -> Series:
    """Make a series of the numbers that another source states; they have no intervals."""
    return Series(label, [Mark(at, Estimate(number)) for at, number in numbers], whose, kin)


def marks_of(pairs: Iterable[tuple[float | str, Iterable[float]]]) -> list[Mark]:
    """Make marks at the means of values; no mark if there is no value."""
    means = [(at, mean_of(values)) for at, values in pairs]
    return [Mark(at, estimate) for at, estimate in means if estimate is not None]
