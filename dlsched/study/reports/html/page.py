"""The HTML page of a report: builds its sections and fills in the templates."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from dlsched.core.files import write_text
from dlsched.core.messages import printable
from dlsched.study.figures.overview import remarks
from dlsched.study.figures.summary import SHIFT_S, Group
from dlsched.study.reports.content import Content
from dlsched.study.reports.html.distribution import distribution
from dlsched.study.reports.html.embedding import embedded
from dlsched.study.reports.html.figure import Figure, Look, looks, not_drawn
from dlsched.study.reports.html.matrix import trials
from dlsched.study.reports.html.profiles import profile
from dlsched.study.reports.html.sections import (
    Specimen,
    about,
    anchor,
    failures,
    methods_table,
    overview,
    specimens,
    title_of,
)
from dlsched.study.reports.html.sizes import against_size
from dlsched.study.reports.html.tables import Table

DOTS = 4_000
"""Approximate number of dots on the whole page, which keeps the file small."""
FEWEST, MOST = 30, 250
"""Least number of instances that a plot shows, whatever the number of plots."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page: one group of instances."""

    title: str
    anchor: str
    about: str
    looks: Mapping[str, Look]
    methods: Table
    figures: list[Figure]
    not_drawn: str
    specimens: list[Specimen]
    failures: Table | None
    failures_left: str


def write_report(content: Content, path: str | os.PathLike[str]) -> None:
    """Write the report of a study as one HTML file; equal contents give equal bytes.

    Raises
    ------
    SolverMissingError
        Jinja2 or Matplotlib is not installed.
    InputError
        The file cannot be written.
    """
    write_text(path, render(content))


def render(content: Content) -> str:
    """Return the page."""
    sections = [_section(content, group, index) for index, group in enumerate(content.groups)]
    return embedded(
        "page.html",
        content=content,
        sentence=parts_of(content.sentence),
        sections=sections,
        overview=overview(content, looks(content.methods)) if len(sections) > 1 else None,
        remarks=remarks(content.groups),
        cells=sum(len(group.rows) for group in content.groups),
        instances=sum(group.instances for group in content.groups),
        families=list(dict.fromkeys(group.family for group in content.groups)),
        shift_s=SHIFT_S,
    )


def _section(content: Content, group: Group, index: int) -> Section:
    of_all = looks(content.methods)
    here = {line.method: of_all[line.method] for line in group.lines}
    found = trials(group.rows)
    room = max(FEWEST, min(MOST, DOTS // max(1, len(here) * len(content.groups))))
    figures = [
        distribution(found, here, room, group.ratio),
        profile(found, here, group.family),
        *against_size(found, here),
    ]
    kinds, left = failures(group.failed, here)
    return Section(
        title_of(group),
        anchor(index),
        about(group),
        here,
        methods_table(group, here),
        [figure for figure in figures if figure.traces],
        not_drawn(figures),
        specimens(found, here, content.evidence, len(content.groups)),
        kinds,
        left,
    )


def parts_of(sentence: str) -> list[str]:
    """Split a sentence into text and names in turn; names are between backticks; unpaired ones are text.

    >>> parts_of("On 3, `a` is best.")
    ['On 3, ', 'a', ' is best.']
    """
    parts = printable(sentence).split("`")
    return parts if len(parts) % 2 else [printable(sentence)]
