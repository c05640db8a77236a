"""Reports of studies: takes their content from a store, and writes it as HTML or Markdown."""

import os
import shlex
from collections.abc import Mapping

from dlsched.core.errors import UsageError
from dlsched.core.files import Json, json_text
from dlsched.own_methods import PICKLED
from dlsched.study.cells.foreign_methods import INSTANCE
from dlsched.study.figures.summary import sentence, summarise
from dlsched.study.plans.plan import CellLimits
from dlsched.study.recipes.drawn import DrawnRecipe
from dlsched.study.references import without_reference
from dlsched.study.reports.content import Content
from dlsched.study.rows import Row
from dlsched.study.store.reading import StudyReader

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

    There is none for windows of traces, which have no instance file, and for functions with parameters or of a
    notebook, which the command line does not take.
    """
    recipe, method, seed = study.made_by(row.key)
    if isinstance(recipe, DrawnRecipe):
        return recipe.call()
    written = recipe.written()
    if written is None:
        return ""
    path, first = written.path, f"{written.command}\n" if written.command else ""
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
