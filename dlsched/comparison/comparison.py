"""The outcome of a comparison: its rows, as text, as HTML, as a data frame and as a figure."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from dlsched.comparison.points import axis_of, points_of
from dlsched.comparison.rows import Compared
from dlsched.comparison.tables import data_of, details_of, has_summary, remarks_of, summary_of, tables_of
from dlsched.core.errors import UsageError
from dlsched.core.files import path_of
from dlsched.core.imports import needing
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import printable, several
from dlsched.core.renaming import renamed
from dlsched.core.table import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LINES = 60
"""Lines of a comparison that is printed, at most."""


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

    @renamed(width_in="width")
    def plot(self, path: str | os.PathLike[str] | None = None, *, width: float = 7.0) -> "Figure":
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
            return comparison_figure(points_of(named), target, width_in=width, **axis)
        except ValueError as error:
            raise UsageError(f"plot: {error}") from None

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        """Say in one line how much was compared."""
        methods = len({row.method for row in self.rows if row.asked})
        answers = sum(row.kind == "foreign" for row in self.rows)
        counts = [several(len(self.instances), "instance"), several(methods, "method")]
        counts += [f"{several(answers, 'answer')} from elsewhere"] * bool(answers) + ["interrupted"] * self.interrupted
        return f"Comparison({', '.join(counts)})"

    def to_string(self, *, all: bool = False) -> str:
        """Return the summary, the tables and the remarks as text, of many instances the first; ``all``: of all."""
        tables, said = self._told(all)
        return "\n\n".join([*(table.text() for table in tables), *said])

    def __str__(self) -> str:
        """Return the text, 60 lines at most."""
        lines = self.to_string().splitlines()
        left = len(lines) - LINES + 1
        return "\n".join(
            [*lines[: LINES - 1], f"and {left} more lines; to_string(all=True) has all"] if left > 1 else lines
        )

    def _repr_html_(self) -> str:
        """Return the same for notebooks."""
        tables, said = self._told(False)
        return "".join([*(table.html() for table in tables), *(f"<p>{escape(printable(each))}</p>" for each in said)])

    def _told(self, all: bool) -> tuple[list[Table], list[str]]:
        """Return the tables that fit, the summary first, and the remarks below them; ``all``: every table."""
        summary = [summary_of(self.rows)] if has_summary(self.rows) else []
        details, said = details_of(self.rows), self.remarks
        room = LINES + 1 - _lines(summary) - 2 * len(said)
        if all or _lines(details) <= room:
            return [*summary, *details], said
        shown, groups = list[Compared](), [list(group) for _, group in groupby(self.rows, key=lambda row: row.index)]
        while _lines(details_of([*shown, *groups[0]])) <= room - 2:
            shown += groups.pop(0)
        if len(groups) + bool(shown) == 1:  # a single instance: its answers without their figures
            return details[:1], said
        more = f"and {several(len(groups), 'more instance')}; to_string(all=True) has all"
        return [*summary, *(details_of(shown) if shown else [])], [more, *said]


def _lines(tables: Sequence[Table]) -> int:
    """Lines of tables, each with one that is empty below it."""
    return sum(len(table.rows) + 3 for table in tables)
