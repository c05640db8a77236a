"""A reproduction as one self-contained HTML page: conclusions, figures, the paper's numbers, and what differs."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from dlsched.core.files import write_text
from dlsched.reproduce.drawing import beside_table, drawing_of
from dlsched.reproduce.entry import Entry
from dlsched.reproduce.findings import Findings
from dlsched.study.reports.html.embedding import embedded
from dlsched.study.store.reading import About

TEMPLATES = Path(__file__).parent / "templates"
WHOSE = {"paper": "the paper's", "earlier": "those of an earlier simulation of ours"}


def write_page(
    path: str | os.PathLike[str],
    entry: Entry,
    findings: Findings,
    about: About,
    *,
    differs: Sequence[str],
    environment: Mapping[str, str],
    command: str,
    quick: bool,
) -> None:
    """Write the page (``-``: standard output); equal arguments give equal bytes.

    Parameters
    ----------
    path
        Path of the file.
    entry, findings, about
        The reproduction, its findings, and what its store records.
    differs
        What differs from the paper, a paragraph each.
    environment
        Versions and the machine, by name.
    command
        The command that produces the page again.
    quick
        Whether the reproduction ran at the smaller size.

    Raises
    ------
    SolverMissingError
        Jinja2 or Matplotlib is not installed.
    InputError
        The file cannot be written.
    """
    whose = {each.whose for panel in findings.panels for each in panel.series if each.marks}
    text = embedded(
        "reproduction.html",
        folder=TEMPLATES,
        entry=entry,
        findings=findings,
        about=about,
        drawings=[drawing_of(panel) for panel in findings.panels],
        beside=beside_table(findings),
        differs=differs,
        environment=environment,
        command=command,
        quick=quick,
        hollow=" and ".join(words for one, words in WHOSE.items() if one in whose),
    )
    write_text(path, text)
