"""The outcome of a comparison: its rows, as text, as HTML, as a data frame and as a figure."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from dlsched.comparison.points import axis_of, points_of
from dlsched.comparison.rows import Compared
from dlsched.comparison.tables import Table, data_of, remarks_of, tables_of
from dlsched.core.errors import UsageError
from dlsched.core.files import path_of
from dlsched.core.imports import needing
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import printable, several

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Comparison:
    """Methods on instances, compared with the best that is proven.

    Parameters
    ----------
    rows
        One for each method on each instance, and each answer from elsewhere.
    instances
        The instances; ``index`` of a row counts them from 0.
    interrupted
        Whether Ctrl-C ended it before all was done.
    """

    rows: tuple[Compared, ...]
    instances: tuple[InstanceFile, ...] = ()
    interrupted: bool = False

    @property
    def tables(self) -> list[Table]:
        """The tables of texts: answers, further figures, and a summary of several instances."""
        return tables_of(self.rows)

    @property
    def remarks(self) -> list[str]:
        """What readers of the tables should know."""
        cut = ["interrupted; the rows are what was done"] if self.interrupted else []
        return [*remarks_of(self.instances), *cut]

    @property
    def wrong(self) -> list[str]:
        """What contradicts a proof, a checker or what an instance calls known; empty when nothing does."""
        return list(dict.fromkeys(row.wrong for row in self.rows if row.wrong))

    def frame(self) -> "pd.DataFrame":
        """Return the rows as a data frame of pandas, the further figures as columns.

        Raises
        ------
        SolverMissingError
            Pandas is not installed.
        """
        with needing("a data frame needs pandas", "frames"):
            import pandas as pd

        return pd.DataFrame(
            [entry | dict(row.figures) for entry, row in zip(data_of(self.rows), self.rows, strict=True)]
        )

    def plot(self, path: str | os.PathLike[str] | None = None, *, width_in: float = 7.0) -> "Figure":
        """Draw ratios and a profile; return the figure of Matplotlib, which is also written if there is a ``path``.

        Raises
        ------
        UsageError
            There is nothing to draw, or the width or the suffix of the path is none.
        SolverMissingError
            Matplotlib is not installed.
        """
        from dlsched.plots.comparison import comparison_figure

        rows = [row for row in self.rows if row.kind != "bound"]
        times = Counter(instance.name for instance in self.instances)
        named = [
            row if times[row.instance] < 2 else replace(row, instance=f"{row.instance} [{row.index}]") for row in rows
        ]
        try:
            target, axis = None if path is None else path_of(path), axis_of(self.instances)
            return comparison_figure(points_of(named), target, width_in=width_in, **axis)
        except ValueError as error:
            raise UsageError(f"plot: {error}") from None

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        """Say in one line how much was compared."""
        methods = len({row.label for row in self.rows})
        cut = ", interrupted" if self.interrupted else ""
        return f"Comparison({several(len(self.instances), 'instance')}, {several(methods, 'method')}{cut})"

    def __str__(self) -> str:
        """Return the tables and the remarks as text."""
        return "\n\n".join([*map(_text, self.tables), *self.remarks])

    def _repr_html_(self) -> str:
        """Return the same for notebooks."""
        said = (f"<p>{escape(printable(remark))}</p>" for remark in self.remarks)
        return "".join([*map(_html, self.tables), *said])


def _text(table: Table) -> str:
    rows: Sequence[Sequence[str]] = [table.columns, *(tuple(map(printable, row)) for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = [name in table.right for name in table.columns]
    lines = [
        "   ".join(
            cell.rjust(width) if last else cell.ljust(width)
            for cell, width, last in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def _html(table: Table) -> str:
    right = [name in table.right for name in table.columns]

    def row(cells: Sequence[str], tag: str) -> str:
        entries = (
            f'<{tag} style="text-align:{"right" if last else "left"}">{escape(printable(cell))}</{tag}>'
            for cell, last in zip(cells, right, strict=True)
        )
        return f"<tr>{''.join(entries)}</tr>"

    body = "".join(row(cells, "td") for cells in table.rows)
    return f"<table><thead>{row(table.columns, 'th')}</thead><tbody>{body}</tbody></table>"
