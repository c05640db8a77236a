"""``dlsched reproduce``: a figure of a paper run anew, its numbers beside ours, and what differs."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from dlsched.cli.options import Workers
from dlsched.cli.output import print_table
from dlsched.cli.study_runs import INCOMPLETE, run_watched
from dlsched.core.errors import UsageError
from dlsched.core.files import require_writable
from dlsched.core.messages import printable
from dlsched.core.quantities import percent, short
from dlsched.reproduce.entries import ENTRIES, Entry, differs_of, entry_named, plan_of, unanswered
from dlsched.reproduce.findings import Beside, Findings, Panel
from dlsched.study.study import environment_words


def run(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A name of the list, which is shown without one.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="At a small size, in less than a minute.")] = False,
    out: Annotated[
        str | None, typer.Option("-o", "--out", metavar="FILE.html", help="Write a page with the figures there.")
    ] = None,
    store: Annotated[
        str | None, typer.Option("-s", "--store", metavar="STORE", help="Store of the results; NAME.study.sqlite.")
    ] = None,
    trace: Annotated[
        str | None, typer.Option(metavar="FILE", help="The public file that a reproduction is about.")
    ] = None,
    workers: Workers = None,
) -> int:
    """Run a figure of a paper anew: the figure, the paper's numbers beside ours, and what differs.

    Without a name, the list. Results are kept: Ctrl-C ends it with what has ended, and the same command goes on.
    """
    if name is None:
        if quick or out or store or trace or workers:
            raise UsageError(where="name", found="nothing", allowed=", ".join(ENTRIES))
        _print_list()
        return 0
    entry = entry_named(name)
    if out is not None:
        from dlsched.study.reports.page import require_report

        require_report()
        require_writable(out)
    plan = plan_of(entry, quick=quick, trace=trace)
    path = Path(f"{name}.study.sqlite" if store is None else store)
    study = run_watched(plan, path, name, workers)
    if study is None:
        return INCOMPLETE
    with study:
        about, rows = study.about, study.rows()
    findings = entry.find(rows)
    differs = differs_of(entry, drawn=trace is None)
    missing = unanswered(rows)
    if missing:
        differs.append(f"Cells without an answer: {missing}.")
    output = sys.stderr if out == "-" else sys.stdout
    if out != "-":
        _print_findings(entry, findings, differs)
    if out is not None:
        from dlsched.reproduce.page import write_page

        words = ["dlsched", "reproduce", name, *(["--quick"] if quick else []), *(["--trace", trace] if trace else [])]
        write_page(
            out,
            entry,
            findings,
            about,
            differs=differs,
            environment=environment_words(about.environment),
            command=shlex.join([*words, "-o", f"{name}.html"]),
            quick=quick,
        )
        print(f"page: {printable(out)}", file=output)
    return 0


def _print_list() -> None:
    rows = [
        (each.name, each.paper, each.what, each.comparable, f"{each.seconds}", f"{each.quick_seconds}")
        for each in ENTRIES.values()
    ]
    columns = ("name", "paper", "what", "comparable", "s", "s, quick")
    print_table(columns, rows, right=("s", "s, quick"))
    print("s: seconds on two cores that do nothing else, roughly.")


def _print_findings(entry: Entry, findings: Findings, differs: list[str]) -> None:
    print(f"{entry.what[0].upper()}{entry.what[1:]}. {entry.paper}.\n")
    if findings.beside:
        columns = [findings.quantity, "ours", "95 % interval", findings.source]
        if any(each.difference is not None for each in findings.beside):
            columns.append("ours over theirs")
        rows = [_beside(each)[: len(columns)] for each in findings.beside]
        print_table(columns, rows, right=columns[1:])
    else:
        for panel in findings.panels:
            print(f"{panel.title}: {panel.y}")
            heads = (panel.x, *(each.label for each in panel.series))
            print_table(heads, _lines(panel), right=heads[1:])
    for line in findings.conclusions:
        print(f"- {printable(line)}")
    print("\nWhat differs from the paper:")
    for line in differs:
        print(f"- {printable(line)}")


def _beside(each: Beside) -> tuple[str, ...]:
    ours = "-" if each.ours is None else short(each.ours.value)
    between = "-"
    if each.ours is not None and each.ours.low is not None and each.ours.high is not None:
        between = f"{short(each.ours.low)} to {short(each.ours.high)}"
    theirs = each.words if each.theirs is None else f"{each.theirs:,g}"
    away = percent(each.difference, signed=True)
    return each.what, ours, between, theirs or "-", away


def _lines(panel: Panel) -> list[tuple[str, ...]]:
    """A line for each place where marks stand, a column for each series."""
    places = list(dict.fromkeys(mark.at for each in panel.series for mark in each.marks))
    values = [{mark.at: short(mark.estimate.value) for mark in each.marks} for each in panel.series]
    return [(str(at), *(of.get(at, "-") for of in values)) for at in places]
