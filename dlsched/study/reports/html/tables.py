"""Tables as data: cells with what they are sorted by."""

from collections.abc import Sequence
from dataclasses import dataclass

from dlsched.core.messages import printable


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Parameters
    ----------
    text
        What it shows.
    order
        What it is sorted by where that is not the text; what is no number comes last.
    whole
        The whole text where ``text`` is a part of it.
    note
        Small words below it.
    link
        Id of the part of the page that it leads to.
    """

    text: str
    order: float | None = None
    whole: str = ""
    note: str = ""
    link: str = ""


NOTHING = Cell("–")


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its head, what that means, and whether it holds numbers."""

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
    """A name, cut as `label`."""
    text = printable(name)
    return Cell(label, whole=text if text != label else "")


def number_cell(value: float | None, text: str, at_most: bool = False, note: str = "") -> Cell:
    """A number, with a sign where the true one may be less; a dash without."""
    if value is None:
        return NOTHING
    plain = not at_most and not note and "," not in text and "<" not in text
    return Cell(f"≤ {text}" if at_most else text, order=None if plain else value, note=note)
