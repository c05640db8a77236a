"""Cells on a Dask cluster: batches of them run in processes of our own inside its workers, and outcomes come back here.

Cells do not run in a worker's process itself: a solver that keeps the interpreter to itself would make it miss its heartbeat,
and Dask would take the worker for dead; nor could Dask hold a cell to its limits.
"""

import contextlib
import logging
import os
import pickle
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from dlsched.core.errors import DlschedError, InputError, SolverError
from dlsched.core.imports import needing
from dlsched.study.cells.cell import Cell, versions
from dlsched.study.cells.outcome import Outcome
from dlsched.study.engines.dask_worker import run_batch
from dlsched.study.engines.local import Pace

if TYPE_CHECKING:
    from distributed import Client, Future

BATCH_S = 1.0
"""Seconds of work of a batch: a task costs Dask's scheduler hundreds of microseconds."""
WINDOW = 2
"""Batches for each thread of the cluster that are handed out at a time: one that runs, and one that waits."""
DEATHS = 3
"""Deaths of workers that ran a cell and nothing else, after which it counts as killed."""
LOST = "the cluster's scheduler was lost; what has ended is kept: run the study again to go on"
ALL_DIED = (
    "every worker of the Dask cluster died again and again, and ended nothing meanwhile; "
    "what has ended is kept: run the study again to go on"
)
LOOK_S = 0.05
"""Seconds between two looks at what has ended, and who is there."""
CONNECT_S = 20.0
"""Seconds within which a scheduler has to answer."""


def run(
    cells: Iterator[Cell], workers: int, folder: str, scheduler: str | None = None
) -> Generator[list[Outcome], None, None]:
    """Run cells on a Dask cluster; yield outcomes as they come, in no order.

    Closing the generator ends what runs.

    Parameters
    ----------
    cells
        What to run.
    workers
        Of a cluster on this machine, for which no scheduler is named.
    folder
        Of the plan; where methods of its own are run, workers need it under the same path.
    scheduler
        Address of a cluster's scheduler; None: a cluster on this machine is started, and ended with the run.

    Raises
    ------
    SolverMissingError
        Dask is not installed.
    InputError
        There is no such scheduler, or a worker has other versions than this process, or lacks the plan's folder.
    SolverError
        The scheduler was lost, or workers cannot run cells.
    """
    with contextlib.ExitStack() as stack:
        client, hopeless = _connected(stack, workers, scheduler)
        try:
            yield from _Batches(client, os.path.abspath(folder), hopeless).outcomes(cells)
        except (OSError, TimeoutError):  # of Dask's connections; ours are said as errors of dlsched
            raise SolverError(LOST) from None
        finally:
            if client.status == "running":
                with contextlib.suppress(OSError, TimeoutError):
                    client.cancel(list(client.futures.values()), force=True)


def _connected(stack: contextlib.ExitStack, workers: int, scheduler: str | None) -> tuple["Client", Callable[[], bool]]:
    """Connect to a cluster, which is left when the stack is; and return what says that no worker will ever come."""
    with needing("engine dask needs Dask", "dask"):
        import distributed  # noqa: F401  asked for before what needs it
    stack.enter_context(_silence())
    from dlsched.study.engines.dask_cluster import CarefulClient, cluster_here, given_up

    if scheduler is None:
        cluster = stack.enter_context(cluster_here(workers))
        # by its address: a client of the cluster itself waits for its workers, and Ctrl-C meanwhile breaks the cluster
        return stack.enter_context(CarefulClient(cluster.scheduler_address)), partial(given_up, cluster)
    try:
        return stack.enter_context(CarefulClient(scheduler, timeout=CONNECT_S)), lambda: False
    except (OSError, ValueError, TimeoutError) as error:
        said = str(error).split("\n")[0]
        raise InputError(
            where="scheduler", found=f"none that answers at {scheduler!r} ({said})", allowed="a running one"
        ) from None


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """Have Dask print nothing: what matters is said in rows and errors."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client", "distributed.core")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


class _Batches:
    """Hands batches out, a few for each thread of the cluster, and takes outcomes in."""

    def __init__(self, client: "Client", folder: str, hopeless: Callable[[], bool]) -> None:
        self._client, self._folder, self._hopeless = client, folder, hopeless
        self._batches: dict[str, list[Cell]] = {}
        self._suspects: deque[Cell] = deque()
        """Cells whose workers died: any of them may be the one that kills, or none of them, as Dask blames bystanders."""
        self._deaths: Counter[str] = Counter()
        self._alone = False

    def outcomes(self, cells: Iterator[Cell]) -> Generator[list[Outcome], None, None]:
        """Yield what ended."""
        import distributed

        pace = Pace(BATCH_S)
        completed = distributed.as_completed(loop=self._client.loop, with_results=True, raise_errors=False)
        while True:
            threads = sum(self._client.nthreads().values()) if self._client.status == "running" else 0
            while not self._suspects and len(self._batches) < WINDOW * max(1, threads):
                batch = list(islice(cells, pace.cells))
                if not batch:
                    break
                completed.add(self._submit(batch))
            if self._suspects and not self._batches:  # with nobody else there to blame
                completed.add(self._submit([self._suspects.popleft()], alone=True))
            if not self._batches:
                return
            if not completed.has_ready():
                if self._hopeless():
                    raise SolverError(ALL_DIED)
                time.sleep(LOOK_S)
                continue
            found = self._taken(*next(completed))
            if found:
                pace.learn(found)
                yield found

    def _submit(self, batch: list[Cell], *, alone: bool = False) -> "Future":
        # The cells travel as bytes, to be read where the versions are known to be the same.
        future = self._client.submit(
            run_batch, pickle.dumps(batch), self._folder, versions(), pure=False, retries=0, key=None
        )
        self._batches[future.key], self._alone = batch, alone
        return future

    def _taken(self, future: "Future", result: object) -> list[Outcome]:
        """What came of a batch."""
        from distributed.scheduler import KilledWorker

        batch, status = self._batches.pop(future.key), future.status
        future.release()
        if isinstance(result, list):  # whatever became of its worker since
            return result
        error = result[1] if isinstance(result, tuple) else result
        if isinstance(error, KilledWorker):
            return self._killed(batch, error.allowed_failures + 1)
        if isinstance(error, DlschedError):
            raise error
        if status in ("cancelled", "lost"):
            raise SolverError(LOST)
        raise SolverError(f"a worker of the cluster cannot run cells: {type(error).__name__}: {error}")

    def _killed(self, batch: list[Cell], deaths: int) -> list[Outcome]:
        """Workers died that had a batch; its cells are suspects, and one that was alone is convicted in the end."""
        if self._alone:
            (cell,) = batch
            self._deaths[cell.key] += deaths
            if self._deaths[cell.key] >= DEATHS:
                return [
                    Outcome(
                        cell.key, "killed", f"its worker died {self._deaths[cell.key]} times, with nothing else on it"
                    )
                ]
        self._suspects.extend(batch)
        return []
