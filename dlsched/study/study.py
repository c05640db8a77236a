"""A study as users hold it: its rows, figures, report, exports and plots, and what it says of itself when it is printed."""

import html
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dlsched.core.imports import needing
from dlsched.core.messages import printable, several
from dlsched.core.status import TerminationStatus
from dlsched.study.figures.groups import has_failed
from dlsched.study.figures.sentence import Summary
from dlsched.study.figures.summary import summarise
from dlsched.study.references import without_reference
from dlsched.study.reporting import require_form, write_open
from dlsched.study.reports.export import export as write_export
from dlsched.study.reports.plot import plot as draw
from dlsched.study.reports.plot import require_plot
from dlsched.study.rows import COLUMNS
from dlsched.study.store.reading import StudyReader

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SUMMED = 20_000
"""Cells up to which a study that is printed says its figures."""


class Study(StudyReader):
    """A study that ran, whole or in part: a view of its store.

    Parameters
    ----------
    path
        Path of its store.

    Raises
    ------
    InputError
        The store is missing or cannot be read.
    DisagreementError
        Rows contradict themselves or each other.
    """

    @property
    def failed(self) -> int:
        """Number of cells that should have an answer or a bound and have none; see ``Line.failures``."""
        return sum(
            has_failed(row, any(each.status == TerminationStatus.INFEASIBLE for each in rows), row.kind)
            for rows in self.each_instance()
            for row in rows
        )

    def frame(self) -> "pd.DataFrame":
        """The rows as a data frame of pandas, with the columns of the exports."""
        with needing("a data frame needs pandas", "frames"):
            import pandas as pd
        return pd.DataFrame([row.as_data() for row in self.each_row()], columns=list(COLUMNS))

    def summary(self) -> Summary:
        """The figures of the study: prints as ``dlsched study show`` does, and holds the groups with their lines."""
        return Summary(summarise(self.rows(), self.about.limits.time_s))

    def report(self, path: str | os.PathLike[str], form: str = "html") -> None:
        """Write the report, as ``study.report`` does."""
        require_form(form)
        write_open(self, path, form)

    def export(self, form: str, path: str | os.PathLike[str] = "-", *, columns: Sequence[str] | None = None) -> None:
        """Write rows (``csv``, ``json``, ``parquet``) or tables (``latex``, ``markdown``), as ``study.export`` does."""
        write_export(self.each_row(), form, path, limit_s=self.about.limits.time_s, columns=columns)

    def plot(self, what: str = "ratios", width: float = 3.3, group: str | Sequence[str] | None = None) -> "Figure":
        """Draw a figure for a paper, and return it for users to restyle and save.

        Parameters
        ----------
        what
            ``ratios``, ``profile``, ``gaps``, ``growth``, ``time`` or ``matrix``.
        width
            In inches; a column of a paper has 3.3.
        group
            Family, preset, or both with a comma, of the groups to draw, or several of these; None: all, at most six.

        Raises
        ------
        UsageError
            An unknown figure or group, an unusable width, too many groups, or nothing to draw.
        SolverMissingError
            Matplotlib is not installed.
        """
        require_plot(what, width)
        return draw(
            summarise(without_reference(self.rows(), self.about.reference), self.about.limits.time_s),
            what,
            width,
            group,
        )

    def __reduce__(self) -> "tuple[type[Study], tuple[Path]]":
        """Copies and pickles open the store anew."""
        return type(self), (self._opened.path.absolute(),)

    def __dir__(self) -> list[str]:
        return [name for name in (*vars(StudyReader), *vars(Study)) if not name.startswith("_")]

    def __repr__(self) -> str:
        return "\n".join(self._words())

    def _repr_html_(self) -> str:
        head, *said = self._words()
        more = self.summary()._repr_html_() if self._open and self.about.ended <= SUMMED else ""
        return "".join(
            (f"<p><b>{html.escape(head)}</b></p>", more, *(f"<p>{html.escape(words)}</p>" for words in said))
        )

    def _words(self) -> list[str]:
        """Say in a few lines what the study is."""
        path = printable(str(self._opened.path))
        if not self._open:
            return [f"Study in {path}, closed"]
        about = self.about
        cells = several(about.ended, "cell") + ("" if about.ended == about.cells else f" of {about.cells:,}")
        lines = [f"Study {printable(about.name)}: {cells} of {several(about.instances, 'instance')}, in {path}"]
        if about.ended <= SUMMED:
            failed = self.failed
            lines += [self.summary().sentence, *([f"{several(failed, 'cell')} failed."] if failed else [])]
        return lines


def open(path: str | os.PathLike[str]) -> Study:
    """Open the store of a study to read it; see ``Study``."""
    return Study(path)
