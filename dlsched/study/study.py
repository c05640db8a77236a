"""A study as users hold it: its rows, figures, reports, exports and plots, and its summary when it is printed."""

import contextlib
import html
import json
import os
import shlex
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import Json, json_text
from dlsched.core.imports import needing
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import printable, several
from dlsched.core.status import TerminationStatus
from dlsched.own_methods import PICKLED
from dlsched.study.cells.foreign_methods import INSTANCE
from dlsched.study.figures.sentence import Summary, sentence
from dlsched.study.figures.summary import has_failed, summarise
from dlsched.study.plans.plan import CellLimits
from dlsched.study.recipes import DrawnRecipe, Recipe, require_data
from dlsched.study.reports.content import Content
from dlsched.study.reports.export import export as write_export
from dlsched.study.reports.plot import plot as draw
from dlsched.study.reports.plot import require_plot
from dlsched.study.rows import COLUMNS, Row, against_reference, without_reference
from dlsched.study.store.reading import About, about_of, require_consistent, rows_by_instance
from dlsched.study.store.searches import found_before
from dlsched.study.store.store import Store
from dlsched.study.store.tables import located, seed_from, unpack

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


FORMS = ("html", "markdown")


def report(store: str | os.PathLike[str], path: str | os.PathLike[str], form: str = "html") -> None:
    """Write the report of a study.

    Parameters
    ----------
    store, path
        Paths of the study's store and of the report (``-``: standard output).
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
    with Study(store) as study:
        study.report(path, form)


def require_form(form: str) -> None:
    """Raise a UsageError for an unknown form, before anything is read."""
    if form not in FORMS:
        raise UsageError(where="format", found=repr(form), allowed=", ".join(FORMS))


def content_of(study: "Study") -> Content:
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


def command_of(study: "Study", row: Row) -> str:
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


class Study:
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

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._opened = Store(path)
        self._open = True
        try:
            require_consistent(self._store)
            _ = self._store.shown  # it has a study
        except BaseException:
            self._store.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        """Close a store that its user did not."""
        with contextlib.suppress(AttributeError, sqlite3.Error):
            self._opened.close()

    def close(self) -> None:
        """Close the store."""
        self._open = False
        self._opened.close()

    @property
    def _store(self) -> Store:
        """The store, which is open."""
        if not self._open:
            raise UsageError(where="study", found="a closed one", allowed="an open one; study.open opens it")
        return self._opened

    @property
    def about(self) -> About:
        """Name, plan, limits, counts and environment of the study."""
        return about_of(self._store)

    def each_row(self) -> Iterator[Row]:
        """Yield the rows in the order of the plan, read on demand."""
        reference = self.about.reference
        for rows, sense, known in rows_by_instance(self._store):
            arguments = self._store.recipe(rows[0].instance_id).arguments
            for row in against_reference(rows, sense, known, reference):
                yield replace(row, arguments=arguments)

    def rows(self) -> list[Row]:
        """The rows in the order of the plan, one for each cell that ended."""
        return list(self.each_row())

    def instance(self, key: str) -> InstanceFile:
        """Return the instance of a cell: by dlsched's generator, or the stored one; no code of a plan is run."""
        path = self._store.path
        (environment,) = self._store.one(
            "SELECT data FROM cell JOIN environment ON environment.id = cell.environment WHERE key = ?", key
        )
        with located(path):
            recipe = found_before(self._store, self.made_by(key)[0], json.loads(environment)["versions"])
            try:
                require_data(recipe)
                return recipe.make()
            except InputError as error:
                raise type(error)(f"{path}: {error}") from None
            except (AssertionError, AttributeError) as error:
                raise ValueError(f"{recipe.source}: found no way to make it ({error!r})") from None

    def solution(self, key: str, hook: Callable[[dict[str, object]], object] | None = None) -> Json:
        """Return the solution of a cell as data, None if it has none or a too large one; ``hook``: as ``unpack`` has it."""
        (packed,) = self._store.one("SELECT solution FROM result JOIN cell ON cell.id = result.cell WHERE key = ?", key)
        with located(self._store.path):
            return unpack(packed, hook)

    def made_by(self, key: str) -> tuple[Recipe, Mapping[str, Json], int]:
        """Return recipe, method as in the plan, and seed of a cell."""
        cell = self._store.one(
            "SELECT cell.instance AS instance, method.data AS method, cell.seed AS seed"
            " FROM cell JOIN method ON method.id = cell.method WHERE key = ?",
            key,
        )
        with located(self._store.path):
            return self._store.recipe(cell["instance"]), json.loads(cell["method"]), seed_from(cell["seed"]) or 0

    @property
    def failed(self) -> int:
        """Number of cells that should have an answer or a bound and have none; see ``Line.failures``."""
        return sum(
            has_failed(row, any(each.status == TerminationStatus.INFEASIBLE for each in rows), row.kind)
            for rows, _, _ in rows_by_instance(self._store)
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
        if form == "html":
            from dlsched.study.reports.page import write_report as write
        else:
            from dlsched.study.reports.markdown_page import write_page as write
        write(content_of(self), path)

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
        return [name for name in vars(Study) if not name.startswith("_")]

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
