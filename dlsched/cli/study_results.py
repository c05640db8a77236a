"""``dlsched study show``, ``report``, ``plot`` and ``export``: the results of a study as tables, a page, figures and files."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from dlsched.cli.options import AsJson, OutPath, names_in
from dlsched.cli.output import print_json, print_table
from dlsched.core.files import require_writable
from dlsched.core.messages import printable
from dlsched.plots.figure import COLUMN_IN, write_figure
from dlsched.study.figures.sentence import sentence
from dlsched.study.figures.summary import summarise
from dlsched.study.figures.tables import KEYS, NUMBERS, note_of, overview, remarks, table, title
from dlsched.study.reports.export import FORMATS, require_columns
from dlsched.study.reports.plot import FORMATS as PLOT_FORMATS
from dlsched.study.reports.plot import KINDS, require_plot
from dlsched.study.rows import Row
from dlsched.study.study import FORMS, Study, require_form

STORE_HELP = "The store of a study."
LONGEST_REASON = 100


def run_show(
    store: Annotated[str, typer.Argument(metavar="STORE", help=STORE_HELP)],
    brief: Annotated[bool, typer.Option("--brief", help="One line for each family and preset.")] = False,
    as_json: AsJson = False,
) -> int:
    """Show the figures of a study: a table for each family and preset, a line for each method."""
    with Study(store) as study:
        about, rows = study.about, study.rows()
    if as_json:
        print_json([row.as_data() for row in rows])
        return 0
    groups = summarise(rows, about.limits.time_s)
    if brief:
        print_table(*overview(groups), right=NUMBERS)
        count, cells = sum(len(group.failed) for group in groups), sum(len(group.rows) for group in groups)
        if count:
            print(f"{count:,} of {cells:,} cells have no answer; without --brief the reasons are listed.")
    else:
        print(f"{printable(sentence(groups))}\n")
        for group in groups:
            columns, lines = table(group)
            print(printable(title(group)))
            print_table(columns, lines, right=columns[1:])
        print(f"{note_of(groups)}\n")
        _print_failures([row for group in groups for row in group.failed])
    for remark in remarks(groups):
        print(remark)
    if about.ended < about.cells:
        print(f"{about.cells - about.ended} of {about.cells} cells have not run yet.")
    return 0


def _print_failures(failed: Sequence[Row]) -> None:
    """One line for each method and way to fail: how often, and the reason that is said most often."""
    reasons: dict[tuple[str, str, str], Counter[str]] = {}
    for row in failed:
        reasons.setdefault((row.family, row.method, row.status), Counter())[row.message] += 1
    if reasons:
        cells = [
            (family, method, status, str(messages.total()), messages.most_common(1)[0][0][:LONGEST_REASON])
            for (family, method, status), messages in reasons.items()
        ]
        print_table(("family", "method", "ended as", "cells", "most often because"), cells, right=("cells",))


def run_report(
    store: Annotated[str, typer.Argument(metavar="STORE", help=STORE_HELP)],
    out: Annotated[str, typer.Option("-o", "--out", metavar="FILE", help="Where the report goes.")],
    form: Annotated[str, typer.Option("--format", metavar="F", help=f"{' or '.join(FORMS)}.")] = "html",
) -> int:
    """Write a study as one page that opens anywhere: figures, plots, worst instances, failures."""
    require_writable(out)
    require_form(form)
    with Study(store) as study:
        study.report(out, form)
    if out != "-":
        print(f"report: {printable(out)}")
    return 0


def run_plot(
    store: Annotated[str, typer.Argument(metavar="STORE", help=STORE_HELP)],
    out: Annotated[
        str,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help=f"Where the figure goes; its name ends with {', '.join(PLOT_FORMATS)}.",
        ),
    ],
    what: Annotated[str, typer.Option(metavar="W", help=f"{', '.join(KINDS)}.")] = "ratios",
    width: Annotated[float, typer.Option(metavar="INCHES", help="Width; a column of a paper has 3.3.")] = COLUMN_IN,
    group: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help='Only groups of that name: a family, a preset, or "family, preset"; again for further groups.',
        ),
    ] = None,
) -> int:
    """Draw a figure of a study: a panel for each family and preset, readable at the width of a column."""
    require_plot(what, width, out)
    with Study(store) as study:
        write_figure(study.plot(what, width, group), out, width)
    print(f"plot: {printable(out)}")
    return 0


def run_export(
    store: Annotated[str, typer.Argument(metavar="STORE", help=STORE_HELP)],
    format: Annotated[str, typer.Option("--format", metavar="F", help=f"{', '.join(FORMATS)}.")] = "csv",
    out: OutPath = None,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help=f"Columns of rows, or of tables: {', '.join(KEYS)}; all. By default all; in LaTeX those that fit.",
        ),
    ] = None,
) -> int:
    """Write rows (csv, parquet, json) or tables (latex, markdown) of a study."""
    names = None if columns is None else names_in(columns)
    require_columns(format, names)
    with Study(store) as study:
        study.export(format, out or "-", columns=names)
    return 0
