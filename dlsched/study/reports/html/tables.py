"""Tables of the page as data: cells, each with its text and its key for sorting."""

from collections.abc import Sequence
from dataclasses import dataclass

from dlsched.core.messages import printable


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Parameters
    ----------
    text
        Text that is shown.
    order
        Key for sorting, if that is not the text; cells that are no numbers come last.
    whole
        The whole text, if ``text`` is a part of it.
    note
        Small text below.
    link
        Id of the part of the page to which it links.
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


def number_cell(value: float | None, text: str, at_most: bool = False, note: str = "") -> Cell:
    """A cell with a number, with a sign if the true one may be less; a dash without a number."""
    if value is None:
        return NOTHING
    plain = not at_most and not note and "," not in text and "<" not in text
    return Cell(f"≤ {text}" if at_most else text, order=None if plain else value, note=note)
