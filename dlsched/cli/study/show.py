"""``dlsched study show``: the figures of a study as tables."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer

from dlsched.cli.options import AsJson
from dlsched.cli.output import print_json, print_table
from dlsched.core.messages import printable
from dlsched.study.figures.groups import Group
from dlsched.study.figures.summary import sentence, summarise
from dlsched.study.figures.tables import NUMBERS, note_of, overview, remarks, table, title
from dlsched.study.rows import Row
from dlsched.study.study import Study

STORE_HELP = "The store of a study."
LONGEST_REASON = 100


def run(
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
        _print_failed(groups)
    else:
        print(f"{printable(sentence(groups))}\n")
        for group in groups:
            columns, cells = table(group)
            print(printable(title(group)))
            print_table(columns, cells, right=columns[1:])
        print(f"{note_of(groups)}\n")
        _print_failures([row for group in groups for row in group.failed])
    for said in remarks(groups):
        print(said)
    if about.ended < about.cells:
        print(f"{about.cells - about.ended} of {about.cells} cells have not run yet.")
    return 0


def _print_failed(groups: Sequence[Group]) -> None:
    count, cells = sum(len(group.failed) for group in groups), sum(len(group.rows) for group in groups)
    if count:
        print(f"{count:,} of {cells:,} cells have no answer; without --brief the reasons are listed.")


def _print_failures(failed: Sequence[Row]) -> None:
    """One line for each method and way to fail: how often, and the reason that is said most often."""
    reasons: dict[tuple[str, str, str], Counter[str]] = {}
    for row in failed:
        reasons.setdefault((row.family, row.method, row.status), Counter())[row.message] += 1
    if reasons:
        cells = [
            (family, method, status, str(said.total()), said.most_common(1)[0][0][:LONGEST_REASON])
            for (family, method, status), said in reasons.items()
        ]
        print_table(("family", "method", "ended as", "cells", "most often because"), cells, right=("cells",))
