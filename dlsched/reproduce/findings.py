"""What a reproduction finds, as plain data: figures, the paper's numbers beside ours, and conclusions in words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from dlsched.statistics.estimate import Estimate
from dlsched.statistics.intervals import student_mean

Whose = Literal["ours", "paper", "earlier"]
"""Who found numbers: dlsched now, the paper, or an earlier simulation of dlsched's authors."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A number of a figure.

    Parameters
    ----------
    at
        Where it stands: a number, or a category.
    estimate
        The number, with its interval where there is one.
    name
        What hovering adds; empty: nothing.
    """

    at: float | str
    estimate: Estimate
    name: str = ""


@dataclass(frozen=True, slots=True)
class Series:
    """Marks of one thing; those of ``kin`` look alike but for whose they are: a method of ours and the paper's of it."""

    label: str
    marks: Sequence[Mark]
    whose: Whose = "ours"
    kin: str = ""
    cloud: bool = False
    """Whether its marks are those of single instances or patterns, drawn small."""


@dataclass(frozen=True, slots=True)
class Panel:
    """A figure.

    Parameters
    ----------
    title, says
        Its head, and what it shows in a sentence or two.
    x, y
        What stands at ``Mark.at``, and what the numbers are. With categories these stand one below the other, the numbers to
        the right.
    series
        Where all marks have a number at ``at``, lines join those of a series.
    level
        A number that the paper states for all, drawn as a line: its label and value.
    floor
        Least number that is drawn, where a logarithmic axis needs one; less is drawn there.
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
        """Categories in the order in which they appear; none where the marks stand at numbers."""
        return list(dict.fromkeys(mark.at for each in self.series for mark in each.marks if isinstance(mark.at, str)))


@dataclass(frozen=True, slots=True)
class Beside:
    """A number of ours beside that of another.

    Parameters
    ----------
    what
        Whose number it is.
    ours
        With its interval; None where there is none.
    theirs
        As stated; None: nothing is stated.
    words
        What is stated instead of a number, such as "more than 2".
    """

    what: str
    ours: Estimate | None
    theirs: float | None = None
    words: str = ""

    @property
    def difference(self) -> float | None:
        """Ours over theirs less 1; None without either."""
        return None if self.ours is None or not self.theirs else self.ours.value / self.theirs - 1


@dataclass(frozen=True, slots=True)
class Findings:
    """A figure anew.

    Parameters
    ----------
    panels
        What is drawn.
    beside
        Numbers of ours beside those of ``source``.
    source
        Whose the others are: the head of their column.
    quantity
        What the numbers are.
    conclusions
        What the figures say, computed from them.
    """

    panels: Sequence[Panel]
    beside: Sequence[Beside]
    source: str
    quantity: str
    conclusions: Sequence[str]


def mean_of(values: Iterable[float]) -> Estimate | None:
    """Mean with Student's interval, as means over streams and drawn instances have it."""
    return student_mean(list(values))


def marks_of(pairs: Iterable[tuple[float | str, Iterable[float]]]) -> list[Mark]:
    """Marks at the means of values; where there is no value, no mark."""
    found = [(at, mean_of(values)) for at, values in pairs]
    return [Mark(at, estimate) for at, estimate in found if estimate is not None]


def said(estimate: Estimate | None, digits: int = 2, ending: str = "") -> str:
    """Write a number with half its interval.

    >>> said(Estimate(1.0, 0.5, 1.5), 1), said(Estimate(0.25)), said(None)
    ('1.0 ± 0.5', '0.25', 'nothing')
    """
    if estimate is None:
        return "nothing"
    value = f"{estimate.value:z,.{digits}f}"
    if estimate.low is None or estimate.high is None:
        return f"{value}{ending}"
    return f"{value} ± {(estimate.high - estimate.low) / 2:,.{digits}f}{ending}"


def short(value: float) -> str:
    """Write a number with three digits, or all before the point.

    >>> short(1463.13), short(0.12345), short(10.01), short(0.0)
    ('1,463', '0.123', '10.0', '0')
    """
    return f"{value:,.0f}" if abs(value) >= 99.95 or value == 0 else f"{value:#.3g}"


def listed(words: Sequence[str]) -> str:
    """Join words.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)
