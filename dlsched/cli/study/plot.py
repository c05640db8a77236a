"""``dlsched study plot``: figures of a study for papers."""

from typing import Annotated

import typer

from dlsched.cli.study.show import STORE_HELP
from dlsched.core.messages import printable
from dlsched.plots.figure import COLUMN_IN
from dlsched.study.reports.plot import FORMATS, KINDS, require_plot, write_plot
from dlsched.study.study import Study


def run(
    store: Annotated[str, typer.Argument(metavar="STORE", help=STORE_HELP)],
    out: Annotated[
        str,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help=f"Where the figure goes; its name ends with {', '.join(FORMATS)}.",
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
        write_plot(study.plot(what, width, group), out, width)
    print(f"plot: {printable(out)}")
    return 0
