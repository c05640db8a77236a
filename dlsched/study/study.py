"""A study as users hold it: its rows, figures, reports, exports and plots, and its summary when it is printed."""

import html
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dlsched.core.errors import UsageError
from dlsched.core.files import Json, json_text
from dlsched.core.imports import needing
from dlsched.core.messages import printable, several
from dlsched.core.status import TerminationStatus
from dlsched.own_methods import PICKLED
from dlsched.study.cells.foreign_methods import INSTANCE
from dlsched.study.figures.groups import has_failed
from dlsched.study.figures.sentence import Summary
from dlsched.study.figures.summary import sentence, summarise
from dlsched.study.plans.plan import CellLimits
from dlsched.study.recipes import DrawnRecipe
from dlsched.study.reports.content import Content
from dlsched.study.reports.export import export as write_export
from dlsched.study.reports.plot import plot as draw
from dlsched.study.reports.plot import require_plot
from dlsched.study.rows import COLUMNS, Row, without_reference
from dlsched.study.store.reading import StudyReader

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


FORMS = ("html", "markdown")


def report(store: str | os.PathLike[str], path: str | os.PathLike[str], form: str = "html") -> None:
    """Write the report of a study.

    Parameters
    ----------
    store
        Path of the study's store.
    path
        Path of the report (``-``: standard output).
    form
        ``html``, a page that opens anywhere without a network, or ``markdown``.

    Raises
    ------
    InputError
        The store cannot be read, or the report cannot be written.
    UsageError
        The form is unknown.
    SolverMissingError
        A package that the page needs is not installed.
    """
    require_form(form)
    with StudyReader(store) as study:
        write_open(study, path, form)


def require_form(form: str) -> None:
    """Raise a UsageError for an unknown form, before anything is read."""
    if form not in FORMS:
        raise UsageError(where="format", found=repr(form), allowed=", ".join(FORMS))


def write_open(study: StudyReader, path: str | os.PathLike[str], form: str = "html") -> None:
    """Write the report of a study that is open; arguments and errors as those of ``report``."""
    content = content_of(study)
    if form == "html":
        from dlsched.study.reports.page import write_report

        write_report(content, path)
    else:
        from dlsched.study.reports.markdown_page import write_page

        write_page(content, path)


def content_of(study: StudyReader) -> Content:
    """Collect the content of a report of an open study; worst instances are made again on demand."""
    about = study.about
    groups = summarise(without_reference(study.rows(), about.reference), about.limits.time_s)

    def evidence(row: Row) -> tuple[str, str]:
        return json_text(study.instance(row.key).as_data()), command_of(study, row)

    return Content(
        about.name,
        sentence(groups),
        groups,
        evidence,
        about.plan,
        _limits_words(about.limits),
        environment_words(about.environment),
        reference=about.reference or "",
    )


def command_of(study: StudyReader, row: Row) -> str:
    """Return the command line that repeats a row, or the call that draws its instance; empty for neither.

    Windows of traces have no instance file; the command line takes no functions with parameters or of a notebook.
    """
    recipe, method, seed = study.made_by(row.key)
    if isinstance(recipe, DrawnRecipe):
        return recipe.call()
    written = recipe.written()
    if written is None:
        return ""
    path, command = written
    first = f"{command}\n" if command else ""
    if method["kind"] == "command":
        return first + shlex.join(word.replace(INSTANCE, path) for word in _words(method["what"]))
    if method["kind"] == "python" and (method["parameters"] or _words(method["what"])[0].startswith(PICKLED)):
        return ""
    name = ":".join(_words(method["what"])) if method["kind"] == "python" else str(method["what"])
    solver = f" --solver {method['solver']}" if method["solver"] else ""
    return f"{first}dlsched solve {shlex.quote(path)} --method {shlex.quote(name)}{solver}" + (
        f" --seed {seed}" if seed else ""
    )


def _words(what: Json) -> list[str]:
    return [str(word) for word in what] if isinstance(what, list) else [str(what)]


def _limits_words(limits: CellLimits) -> dict[str, str]:
    words = {"time": f"{limits.time_s:g} s a cell", "memory": f"{limits.memory_gib:g} GiB a cell"}
    if limits.nodes is not None:
        words["nodes"] = f"{limits.nodes:,} a cell"
    return words | {"threads": str(limits.threads)}


def environment_words(environment: Mapping[str, Json]) -> dict[str, str]:
    """Write versions and the machine for a report, by name."""
    versions, machine = environment["versions"], environment["machine"]
    assert isinstance(versions, dict) and isinstance(machine, dict)
    said = {name: str(value) for name, value in versions.items()}
    return said | {"machine": f"{machine['system']} {machine['machine']}, {machine['processors']} processors"}


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
