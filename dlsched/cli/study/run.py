"""``dlsched study run``: what has not run yet of a study."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from dlsched.core.messages import printable, several
from dlsched.study.leader import StudyProgress, store_of
from dlsched.study.leader import run as run_study
from dlsched.study.plans.plan import Plan
from dlsched.study.store import LARGEST_SOLUTION
from dlsched.study.study import Study

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
        str | None, typer.Option("-s", "--store", metavar="STORE", help="Where results are kept; beside the plan.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", help="Processes that solve; by default one for each processor.")
    ] = None,
    engine: Annotated[str, typer.Option(metavar="E", help="local, or dask.")] = "local",
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Of the scheduler of a Dask cluster; else one is started here."),
    ] = None,
    retry: Annotated[
        str | None, typer.Option(metavar="A,B", help="Run cells of these statuses again: timeout,killed,error ...")
    ] = None,
) -> int:
    """Run what has not run yet of a study, check every answer, and keep every result in one file.

    Ctrl-C ends it with what has ended; the same command goes on. Where cells failed it ends with 8, also when nothing is left.
    """
    path = store_of(plan) if store is None else Path(store)
    statuses = [status.strip() for status in (retry or "").split(",") if status.strip()]
    study = run_watched(plan, path, Path(plan).stem, workers, engine=engine, scheduler=scheduler, retry=statuses)
    if study is None:
        return INCOMPLETE
    with study:
        about, failed = study.about, study.failed
        said = f"; {several(failed, 'cell')} failed, `dlsched study show` says why" if failed else ""
        print(
            f"{printable(about.name)}: {about.ended} cells of {about.instances} instances are in {printable(str(path))}{said}"
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
    latest: list[StudyProgress] = []
    with progress_shown(title) as shown:

        def progress(now: StudyProgress) -> None:
            latest[:] = [now]
            shown(now)

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
            left = f"; {latest[0].cells - latest[0].ended} cells are left" if latest else " before any cell ran"
            print(f"dlsched: interrupted{left}, the same command goes on", file=sys.stderr)
            return None


@contextmanager
def progress_shown(title: str) -> Iterator[Callable[[StudyProgress], None]]:
    """Show progress on standard error: a bar on a terminal, else a line a minute."""
    if not sys.stderr.isatty():
        yield _lines()
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
            said = f"{rate:.3g} a second" + (f", {now.failed} failed" if now.failed else "")
            bar.update(task, completed=now.ended, total=now.cells, rate=said)

        yield show


def _lines() -> Callable[[StudyProgress], None]:
    last = time.monotonic()

    def show(now: StudyProgress) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY_S:
            last = time.monotonic()
            failed = f", {now.failed} failed" if now.failed else ""
            print(f"dlsched: {now.ended} of {now.cells} cells{failed}", file=sys.stderr, flush=True)

    return show
