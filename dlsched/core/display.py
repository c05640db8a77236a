"""How objects show themselves: ``repr`` in a few lines, tables of texts, and cells that a spreadsheet does not run."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from itertools import islice
from typing import TYPE_CHECKING

from dlsched.core.messages import cut, printable

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

LONGEST = 500
"""Characters of a ``repr``."""

_ROOM = 300  # characters after which no further entry of a list or an object is shown
_ENTRIES = (20, 4, 2)  # of a list or an object that are shown, by how deep it stands
_ROWS = 10


def brief(value: object, depth: int = 0) -> str:
    """Write a value as ``repr`` does, but of text, lists and objects the beginning, and how many entries there are."""
    if isinstance(value, Mapping):
        opening, closing = "{", "}"
    elif isinstance(value, list):
        opening, closing = "[", "]"
    elif type(value) is tuple:
        opening, closing = "(", ",)" if len(value) == 1 else ")"
    else:
        return cut(repr(value), LONGEST)
    most, entries, length = _ENTRIES[min(depth, len(_ENTRIES) - 1)], list[str](), 0
    # Stops at a number of entries or of characters, whichever comes first
    for entry in islice(value.items() if isinstance(value, Mapping) else value, most):
        key, content = entry if isinstance(value, Mapping) else (None, entry)
        text = brief(content, depth + 1)
        entries.append(f"{brief(key)}: {text}" if isinstance(value, Mapping) else text)
        length += len(entries[-1]) + 2
        if length > _ROOM:
            break
    if len(value) > len(entries):
        entries.append(f"… {len(value):,} in all")
    return cut(f"{opening}{', '.join(entries)}{closing}", LONGEST)


def table(facts: Mapping[str, str]) -> str:
    """Write facts as a table, for notebooks."""
    rows = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in facts.items())
    return f"<table>{''.join(rows)}</table>"


class Summarised:
    """Base of what shows itself by the facts that a person wants to know first: a line each, and a table for notebooks."""

    __slots__ = ()

    def _summary(self) -> dict[str, str]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self._summary().items())

    def _repr_html_(self) -> str:
        return table(self._summary())


class Brief:
    """Base of dataclasses, made with ``repr=False``, that may hold much: a short ``repr``, and a table for notebooks."""

    __slots__ = ()

    def _shown(self) -> dict[str, object]:
        """Fields that are shown, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.repr}  # type: ignore[arg-type]

    def __repr__(self) -> str:
        """Return the name of the class and the fields, of long ones the beginning."""
        shown = ", ".join(f"{name}={brief(value)}" for name, value in self._shown().items())
        return cut(f"{type(self).__name__}({shown})", LONGEST)

    def _repr_html_(self) -> str:
        """Return a table; of a single object its entries, else the fields."""
        shown = self._shown()
        name, only = next(iter(shown.items())) if len(shown) == 1 else ("", None)
        if not isinstance(only, Mapping):
            return table({type(self).__name__: ""} | {each: brief(value) for each, value in shown.items()})
        facts = {type(self).__name__: f"{name} of {len(only):,}"}
        for key, value in islice(only.items(), _ROWS):
            facts[printable(str(key))] = brief(value, 1)
        if len(only) > _ROWS:
            facts["…"] = f"{len(only) - _ROWS:,} more"
        return table(facts)


def csv_text(value: object) -> object:
    """Escape a cell of text: spreadsheets take a cell that begins with = + - @ for a formula.

    >>> csv_text("=1+1"), csv_text("-"), csv_text(-2.5)
    ("'=1+1", '-', -2.5)
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if value[:1] in tuple("=+-@\t\r") and value != "-" else text


def write_csv(stream: "SupportsWrite[str]", columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a table as CSV: missing values are empty, text is escaped by ``csv_text``."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(csv_text, row) for row in rows)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts: names of columns, rows, columns aligned to the right, and whether equal first entries are a group."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str] = ()
    grouped: bool = True

    def text(self, *, between: int = 3, ruled: bool = True) -> str:
        """Write it in columns of equal width; ``between``: spaces between them, ``ruled``: with a line below the head."""
        rows = [tuple(map(printable, row)) for row in (self.columns, *self.rows)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        right = [name in self.right for name in self.columns]
        lines = [
            (" " * between)
            .join(
                cell.rjust(width) if last else cell.ljust(width)
                for cell, width, last in zip(row, widths, right, strict=True)
            )
            .rstrip()
            for row in rows
        ]
        return "\n".join([lines[0], *(["-" * max(map(len, lines))] if ruled else []), *lines[1:]])

    def html(self) -> str:
        """Write it for a notebook."""
        right = [name in self.right for name in self.columns]

        def row(cells: Sequence[str], tag: str) -> str:
            entries = (
                f'<{tag} style="text-align:{"right" if last else "left"}">{escape(printable(cell))}</{tag}>'
                for cell, last in zip(cells, right, strict=True)
            )
            return f"<tr>{''.join(entries)}</tr>"

        body = "".join(row(cells, "td") for cells in self.rows)
        return f"<table><thead>{row(self.columns, 'th')}</thead><tbody>{body}</tbody></table>"
