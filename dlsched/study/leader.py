"""The leader of a study: plans its cells, gives those without a result to an engine, stores the outcomes."""

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dlsched.core.arguments import require_engine
from dlsched.core.errors import UsageError
from dlsched.core.limits import Lines
from dlsched.study.cells.cell import Cell, Outcome, cells_of
from dlsched.study.engines import local
from dlsched.study.plans.plan import CellLimits, Instances, Plan, PlannedLike
from dlsched.study.plans.plan_file import make_plan, read_plan
from dlsched.study.plans.sources import recipes
from dlsched.study.store.reading import require_consistent
from dlsched.study.store.searches import Searches
from dlsched.study.store.store import LARGEST_SOLUTION, Store
from dlsched.study.study import Study

RETRIABLE = (
    "timeout",
    "memory",
    "killed",
    "error",
    "rejected",
    "solver_error",
    "time_limit",
    "node_limit",
    "no_solution",
)


@dataclass(frozen=True, slots=True)
class StudyProgress:
    """Progress of a run: cells and searches for instances in all, those ended, and those that this run ended in vain."""

    cells: int
    ended: int
    failed: int


def store_of(plan: str | os.PathLike[str]) -> Path:
    """Default path of the store of a plan's file."""
    return Path(plan).with_suffix(".study.sqlite")


def run(
    plan: Plan | str | os.PathLike[str] | None = None,
    store: str | os.PathLike[str] | None = None,
    *,
    instances: Instances | None = None,
    methods: Sequence[PlannedLike] | None = None,
    name: str = "study",
    seed: int = 0,
    limits: CellLimits | Mapping[str, object] | None = None,
    reference: str | None = None,
    folder: str | os.PathLike[str] = ".",
    workers: int | None = None,
    engine: str = "local",
    scheduler: str | None = None,
    retry: Sequence[str] = (),
    progress: Callable[[StudyProgress], None] | None = None,
    verbose: bool = False,
    largest_solution: int = LARGEST_SOLUTION,
) -> Study:
    """Run the cells of a study that have no result yet, and return the study; Ctrl-C keeps the ended cells.

    Parameters
    ----------
    plan
        A plan, or the path of its file; None: the plan that ``make_plan`` makes of the following.
    store
        Path of the store, which is created if missing; None: beside the plan's file, and without one a temporary file,
        which goes when Python ends.
    instances, methods, name, seed, limits, reference, folder
        As ``make_plan`` takes them, in the place of a plan.
    workers
        Processes that solve; None: one for each processor.
    engine, scheduler
        ``local``, or ``dask`` with the scheduler's address; without an address, a cluster on this machine.
    retry
        Statuses whose cells run again.
    progress, verbose
        Called after cells ended; whether to print a line a second on standard error.
    largest_solution
        Largest size of a solution that is stored, in bytes of JSON.

    Raises
    ------
    UsageError
        Arguments that cannot be used.
    InputError
        The plan is wrong, or the store cannot be used.
    DisagreementError
        Rows of the store contradict each other.
    KeyboardInterrupt
        Ctrl-C before all cells ended.
    """
    if not isinstance(largest_solution, int) or largest_solution < 0:
        raise UsageError(where="largest solution", found=repr(largest_solution), allowed="a number of bytes >= 0")
    if progress is not None and not callable(progress):
        raise UsageError(where="progress", found=repr(progress), allowed="a function of a StudyProgress")
    require_engine(workers, engine, scheduler)
    for each in retry:
        if each not in RETRIABLE:
            raise UsageError(where="retry", found=repr(each), allowed=", ".join(RETRIABLE))
    if isinstance(plan, str | os.PathLike):
        store = store_of(plan) if store is None else store
        plan = read_plan(plan)
    if plan is None and instances is not None and methods is not None:
        plan = make_plan(
            instances=instances,
            methods=methods,
            name=name,
            seed=seed,
            limits=limits,
            reference=reference,
            folder=folder,
        )
    elif not isinstance(plan, Plan):
        found = "none" if plan is None else type(plan).__name__
        allowed = "a plan, as make_plan returns it, its path, or instances and methods"
        raise UsageError(where="plan", found=found, allowed=allowed)
    else:
        beside = any(each is not None for each in (instances, methods, limits, reference))
        if beside or (name, seed, folder) != ("study", 0, "."):
            found = "a plan beside instances or methods, or their name, seed, limits, reference or folder"
            raise UsageError(where="plan", found=found, allowed="either; the plan has its own")
    if store is None:
        store = Path(tempfile.mkdtemp(prefix="dlsched-"), "study.sqlite")
        atexit.register(shutil.rmtree, store.parent, ignore_errors=True)
    lines = Lines(plan.name, _words) if verbose else None

    def told(now: StudyProgress) -> None:
        for listener in (lines, progress):
            if listener is not None:
                listener(now)

    with Store(store, leading=True, largest_solution=largest_solution) as opened:
        require_consistent(opened)
        try:
            _run(opened, plan, workers or os.cpu_count() or 1, _engine(engine, scheduler), retry, told)
        finally:
            if lines is not None:
                lines.end()
    return Study(store)


def _words(now: StudyProgress) -> str:
    return f"{now.ended:,} of {now.cells:,} cells" + (f", {now.failed:,} failed" if now.failed else "")


def _run(
    store: Store,
    plan: Plan,
    workers: int,
    engine: "Engine",
    retry: Sequence[str],
    progress: Callable[[StudyProgress], None],
) -> None:
    """Run the cells of a plan without a result, in a store that was verified."""
    store.plan(plan, cells_of(plan, recipes(plan)))
    if retry:
        store.forget(retry)
    searches = Searches(store, plan)
    unfinished = searches.remaining()
    (cells, ended), failed = store.counts, 0
    cells += len(unfinished)
    progress(StudyProgress(cells, ended, failed))

    def run_all(waiting: Iterator[Cell], put: Callable[[list[Outcome]], None]) -> None:
        nonlocal ended, failed
        with closing(engine(waiting, workers, str(plan.folder))) as arriving:
            for outcomes in arriving:
                put(outcomes)
                ended += len(outcomes)
                failed += sum(outcome.failed for outcome in outcomes)
                progress(StudyProgress(cells, ended, failed))

    # Searches run first; cells whose instance was not found end as their search did.
    if unfinished:
        run_all(iter(unfinished), searches.put)
        lost = searches.fail()
        ended, failed = ended + lost, failed + lost
    try:
        run_all(searches.waiting(), store.put)
    except KeyboardInterrupt:
        cells, ended = store.counts
        if ended < cells:  # otherwise Ctrl-C came after the last cell ended
            raise


Engine = Callable[[Iterator[Cell], int, str], Generator[list[Outcome], None, None]]


def _engine(engine: str, scheduler: str | None) -> Engine:
    if engine == "local":
        return local.run
    from dlsched.study.engines import dask_engine

    return partial(dask_engine.run, scheduler=scheduler)
