"""``dlsched study check``: every row of a study computed anew, without believing the store."""

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from dlsched.cli.options import AsJson
from dlsched.cli.output import print_json, print_table
from dlsched.cli.study.run import INCOMPLETE, progress_shown
from dlsched.cli.study.show import STORE_HELP
from dlsched.core.messages import printable
from dlsched.results.verification import Verification
from dlsched.study.checking import check
from dlsched.study.leader import StudyProgress
from dlsched.study.rows import Row
from dlsched.study.store.reading import NAMED, row_words

NOTE = (
    "verified: rows whose answer is feasible by the checker, or whose bound is proven by a certificate, in exact arithmetic; "
    "recomputed: whose instance, key, objective, figures and status are as computed anew; claimed: whose bound goes beyond the "
    "certificate, or that ended without an answer. Times, memory, messages and the name of the method are claimed of every row."
)


COLUMNS = ("rows", "verified", "recomputed", "claimed", "contradicted")
FALSE = 7
"""Exit code: a row is false."""


def run(
    store: Annotated[str, typer.Argument(metavar="STORE", help=STORE_HELP)],
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes that compute; by default one for each processor.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Run dlsched's own methods again, too: they have to end as their rows say.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Compute every row of a study anew from its instance, solution and certificate; exit 7 where one is false.

    Ctrl-C ends it with what was computed.
    """
    found: list[tuple[Row, Verification]] = []
    latest: list[StudyProgress] = []
    interrupted = False
    with progress_shown(f"check {Path(store).name}") as show:

        def progress(now: StudyProgress) -> None:
            latest[:] = [now]
            show(now)

        try:
            check(
                store,
                take=lambda row, each: found.append((row, each)),
                workers=workers,
                again=again,
                progress=progress,
            )
        except KeyboardInterrupt:
            interrupted = True
    found.sort(key=lambda pair: pair[0].instance_id)
    if as_json:
        print_json([_data(row, each) for row, each in found])
    else:
        _print_table(found)
    if interrupted:
        left = latest[0].cells - latest[0].ended if latest else None
        of = "rows" if left is None else f"{left:,} rows"
        print(f"dlsched: interrupted; {of} were not computed anew", file=sys.stderr)
    if not all(each for _, each in found):
        return FALSE
    return INCOMPLETE if interrupted else 0


def _data(row: Row, found: Verification) -> dict[str, object]:
    names = ("key", "instance", "method", "seed", "status")
    return {name: getattr(row, name) for name in names} | found.as_data()


def _print_table(found: list[tuple[Row, Verification]]) -> None:
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row, each in found:
        of = counts.setdefault((row.family, row.method), Counter())
        of.update(name for name in COLUMNS if name == "rows" or _is(name, row, each))
    cells = [(*names, *(f"{of[name]:,}" for name in COLUMNS)) for names, of in counts.items()]
    print_table(("family", "method", *COLUMNS), cells, right=COLUMNS)
    print(f"{NOTE}\n")
    false = [(row, each) for row, each in found if not each]
    for row, each in false[:NAMED]:
        print(f"FAILED  {row_words(row.method, row.instance, row.seed)}: {printable('; '.join(each.failures))}")
    if len(false) > NAMED:
        print(f"FAILED  and {len(false) - NAMED:,} more rows")


def _is(name: str, row: Row, found: Verification) -> bool:
    if name == "contradicted":
        return bool(found.failures)
    if name == "claimed":
        return not found.failures and (found.claimed_bound is not None or not found.verified)
    return not found.failures and bool(found.verified if name == "verified" else found.recomputed)
