"""``dlsched methods``: what there is, what it promises, and whether it can run here."""

from dataclasses import asdict
from typing import Annotated

import typer

from dlsched.cli import completion
from dlsched.cli.options import AsJson
from dlsched.cli.output import print_json, print_table
from dlsched.listing import methods

NAME = "methods"


def run(
    family: Annotated[
        str | None,
        typer.Argument(metavar="[FAMILY]", help="One family; all by default.", autocompletion=completion.families),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List exact methods, heuristics and bounds."""
    listed = methods(family)
    if as_json:
        print_json([asdict(entry) for entry in listed])
    else:
        print_table(listed.table.columns, listed.table.rows)
    return 0
