"""``dlsched study plan``, ``run`` and ``check``: estimate, run and recompute the cells of a study."""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from dlsched.cli.options import AsJson, Engine, Scheduler, Workers, names_in
from dlsched.cli.output import print_json, print_table
from dlsched.cli.study_results import STORE_HELP
from dlsched.core.messages import printable, several
from dlsched.core.quantities import duration
from dlsched.results.verification import Verification
from dlsched.study.checking import check
from dlsched.study.leader import StudyProgress, store_of
from dlsched.study.leader import run as run_study
from dlsched.study.plans.plan import Plan
from dlsched.study.plans.plan_file import read_plan
from dlsched.study.rows import Row
from dlsched.study.store.reading import NAMED, row_words
from dlsched.study.store.store import LARGEST_SOLUTION
from dlsched.study.study import Study
from dlsched.study.trial import JOBS, try_out

PLAN_HELP = "The plan of a study, TOML."
EVERY_S = 60.0
"""Seconds between two lines of progress where nobody watches."""
INCOMPLETE = 5
"""Exit code: interrupted, with cells left."""
FAILED = 8
"""Exit code: every cell has a row, and some of them failed."""


def run(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help=PLAN_HELP)],
    store: Annotated[
        str | None, typer.Option("-s", "--store", metavar="STORE", help="Store of the results; beside the plan.")
    ] = None,
    workers: Workers = None,
    engine: Engine = "local",
    scheduler: Scheduler = None,
    retry: Annotated[
        str | None, typer.Option(metavar="A,B", help="Run cells of these statuses again: timeout,killed,error ...")
    ] = None,
) -> int:
    """Run what has not run yet of a study, check every answer, and keep every result in one file.

    Ctrl-C ends it with what has ended; the same command goes on. Where cells failed it ends with 8, also when nothing is left.
    """
    path = store_of(plan) if store is None else Path(store)
    study = run_watched(plan, path, Path(plan).stem, workers, engine=engine, scheduler=scheduler, retry=names_in(retry))
    if study is None:
        return INCOMPLETE
    with study:
        about, failed = study.about, study.failed
        failures = f"; {several(failed, 'cell')} failed, `dlsched study show` says why" if failed else ""
        print(
            f"{printable(about.name)}: {about.ended} cells of {about.instances} instances are in {printable(str(path))}{failures}"
        )
    return FAILED if failed else 0


def run_watched(
    plan: Plan | str,
    store: Path,
    title: str,
    workers: int | None,
    *,
    engine: str = "local",
    scheduler: str | None = None,
    retry: Sequence[str] = (),
    largest_solution: int = LARGEST_SOLUTION,
) -> Study | None:
    """Run a study and show its progress under a title; None after Ctrl-C, which is said."""
    with progress_shown(title) as progress:
        try:
            return run_study(
                *(plan, store),
                workers=workers,
                engine=engine,
                scheduler=scheduler,
                retry=retry,
                progress=progress,
                largest_solution=largest_solution,
            )
        except KeyboardInterrupt:
            remaining = " before any cell ran" if progress.left is None else f"; {progress.left} cells are left"
            print(f"dlsched: interrupted{remaining}, the same command goes on", file=sys.stderr)
            return None


class Shown:
    """Shows the progress of a study, and knows how many cells are left; None: it has not begun."""

    def __init__(self, show: Callable[[StudyProgress], None]) -> None:
        self._show = show
        self.left: int | None = None

    def __call__(self, now: StudyProgress) -> None:
        """Show where the study stands."""
        self.left = now.cells - now.ended
        self._show(now)


@contextmanager
def progress_shown(title: str) -> Iterator[Shown]:
    """Show progress on standard error: a bar on a terminal, else a line a minute."""
    if not sys.stderr.isatty():
        yield Shown(_lines())
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(printable(title), total=None, rate="")
        began: list[tuple[float, int]] = []

        def show(now: StudyProgress) -> None:
            began[:] = began or [(time.monotonic(), now.ended)]
            since, first = began[0]
            rate = (now.ended - first) / max(time.monotonic() - since, 0.1)
            speed = f"{rate:.3g} a second" + (f", {now.failed} failed" if now.failed else "")
            bar.update(task, completed=now.ended, total=now.cells, rate=speed)

        yield Shown(show)


def _lines() -> Callable[[StudyProgress], None]:
    last = time.monotonic()

    def show(now: StudyProgress) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY_S:
            last = time.monotonic()
            failed = f", {now.failed} failed" if now.failed else ""
            print(f"dlsched: {now.ended} of {now.cells} cells{failed}", file=sys.stderr, flush=True)

    return show


LINES = 100
"""Lines of the table: kinds of instances."""


def run_plan(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help=PLAN_HELP)],
    workers: Workers = None,
) -> int:
    """Say what a study would run, and estimate how long it takes from a few trial cells; no code that it names runs."""
    read = read_plan(plan, run_code=False)
    trial = try_out(read)
    sizes = ((trial.cells, "cell"), (trial.instances, "instance"), (len(read.methods), "method"))
    print(f"{printable(read.name)}: {', '.join(several(number, one) for number, one in sizes)}")
    listed = dict(islice(trial.by_kind.items(), LINES))
    rows = [
        (
            family,
            preset or "-",
            source,
            f"{count:,}",
            ", ".join(method.label for method in read.methods if method.runs_on(family)),
        )
        for (family, preset, source), count in listed.items()
    ]
    print_table(("family", "preset", "source", "instances", "methods"), rows, right=("instances",))
    rest = trial.instances - sum(listed.values())
    if rest:
        print(f"{several(rest, 'instance')} of further presets and sources.")
    if trial.most_jobs:
        print(f"Instances of more than {JOBS:,} jobs are not tried; one has {trial.most_jobs:,}.")
    foreign = sum(method.foreign for method in read.methods)
    if foreign:
        print(
            f"Your own code does not run here: {several(foreign, 'method')} and what they need are not in the estimate."
        )
    processes = workers or os.cpu_count() or 1
    if trial.seconds is not None:
        least = "" if trial.complete else "at least "
        failed = f", {trial.failed} of them without an answer" if trial.failed else ""
        print(
            f"Estimate: {least}{duration(trial.seconds / processes)} with {processes} workers"
            f" ({several(trial.tried, 'cell')} tried{failed})."
        )
    else:
        print("No estimate: no cell was tried.")
    return 0


NOTE = (
    "verified: rows whose answer is feasible by the checker, or whose bound is proven by a certificate, in exact arithmetic; "
    "recomputed: whose instance, key, objective, figures and status are as computed anew; claimed: whose bound goes beyond the "
    "certificate, or that ended without an answer. Times, memory, messages and the name of the method are claimed of every row."
)


COLUMNS = ("rows", "verified", "recomputed", "claimed", "contradicted")
FALSE = 7
"""Exit code: a row is false."""


def run_check(
    store: Annotated[str, typer.Argument(metavar="STORE", help=STORE_HELP)],
    workers: Workers = None,
    again: Annotated[
        bool, typer.Option("--again", help="Run dlsched's own methods again, too: they have to end as their rows say.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Compute every row of a study anew from its instance, solution and certificate; exit 7 where one is false.

    Ctrl-C ends it with what was computed.
    """
    found: list[tuple[Row, Verification]] = []
    interrupted = False
    with progress_shown(f"check {Path(store).name}") as progress:
        try:
            check(store, take=lambda *row: found.append(row), workers=workers, again=again, progress=progress)
        except KeyboardInterrupt:
            interrupted = True
    found.sort(key=lambda pair: pair[0].instance_id)
    if as_json:
        names = ("key", "instance", "method", "seed", "status")
        print_json([{name: getattr(row, name) for name in names} | each.as_data() for row, each in found])
    else:
        _print_table(found)
    if interrupted:
        of = "rows" if progress.left is None else f"{progress.left:,} rows"
        print(f"dlsched: interrupted; {of} were not computed anew", file=sys.stderr)
    if not all(each for _, each in found):
        return FALSE
    return INCOMPLETE if interrupted else 0


def _print_table(found: list[tuple[Row, Verification]]) -> None:
    # How many rows of each family and method are verified, recomputed, claimed, contradicted
    counts: dict[tuple[str, str], Counter[str]] = {}
    for row, each in found:
        of = counts.setdefault((row.family, row.method), Counter())
        of.update(name for name in COLUMNS if name == "rows" or _is(name, each))
    cells = [(*names, *(f"{of[name]:,}" for name in COLUMNS)) for names, of in counts.items()]
    print_table(("family", "method", *COLUMNS), cells, right=COLUMNS)
    print(f"{NOTE}\n")
    false = [(row, each) for row, each in found if not each]
    for row, each in false[:NAMED]:
        print(f"FAILED  {row_words(row.method, row.instance, row.seed)}: {printable('; '.join(each.failures))}")
    if len(false) > NAMED:
        print(f"FAILED  and {len(false) - NAMED:,} more rows")


def _is(name: str, found: Verification) -> bool:
    if name == "contradicted":
        return bool(found.failures)
    if name == "claimed":
        return not found.failures and (found.claimed_bound is not None or not found.verified)
    return not found.failures and bool(found.verified if name == "verified" else found.recomputed)
