"""``dlsched study export``: the rows or the tables of a study, for other programs and for papers."""

from typing import Annotated

import typer

from dlsched.cli.options import OutPath
from dlsched.cli.study.show import STORE_HELP
from dlsched.study.figures.tables import KEYS
from dlsched.study.reports.export import FORMATS, require_columns
from dlsched.study.study import Study


def run(
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
    names = None if columns is None else [name.strip() for name in columns.split(",") if name.strip()]
    require_columns(format, names)
    with Study(store) as study:
        study.export(format, out or "-", columns=names)
    return 0
