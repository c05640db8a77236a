"""A table as data, and cells that a spreadsheet does not run.

Escaping of CSV cells, so that neither a terminal nor a spreadsheet executes them.

Tables of texts, as they are printed and as notebooks show them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from dlsched.core.messages import printable


def csv_text(value: object) -> object:
    """Escape a cell of text: spreadsheets take a cell that begins with = + - @ for a formula.

    >>> csv_text("=1+1"), csv_text("-"), csv_text(-2.5)
    ("'=1+1", '-', -2.5)
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if value[:1] in tuple("=+-@\t\r") and value != "-" else text


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
