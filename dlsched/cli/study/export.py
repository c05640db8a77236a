"""``dlsched study export``: the rows or the tables of a study, for other programs and for papers."""

from typing import Annotated

import typer

from dlsched.cli.options import OutPath
from dlsched.cli.study.show import STORE_HELP, opened
from dlsched.study.reports.export import FORMATS, export


def run(
    store: Annotated[str, typer.Argument(metavar="STORE", help=STORE_HELP)],
    format: Annotated[str, typer.Option("--format", metavar="F", help=f"{', '.join(FORMATS)}.")] = "csv",
    out: OutPath = None,
) -> int:
    """Write rows (csv, parquet, json) or tables (latex, markdown) of a study."""
    with opened(store) as study:
        export(study.each_row(), format, out or "-", limit_s=study.about.limits.time_s)
    return 0
