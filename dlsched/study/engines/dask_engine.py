"""The Dask engine: sends batches of cells to workers, each of whose threads keeps a process that runs them.

A solver that holds the interpreter in the worker's own process would make it miss its heartbeat; nor has Dask limits.
"""

import contextlib
import os
import pickle
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING

from dlsched.core.errors import DlschedError, InputError, SolverError
from dlsched.processes.dask_client import connected
from dlsched.study.cells.cell import Cell, Outcome, versions
from dlsched.study.engines.local import Pace, Supervisor, drive

if TYPE_CHECKING:
    from distributed import Client, Future


IDLE_S = 60.0
"""Seconds after which an idle process is ended: the study may be over, or its leader dead."""


class _ThreadState(threading.local):
    """State of a thread between batches."""

    supervisor: Supervisor | None = None
    folder = ""
    timer: threading.Timer | None = None


_state = _ThreadState()


def run_batch(pickled: bytes, folder: str, expected: Mapping[str, str]) -> list[Outcome]:
    """Run pickled cells one after another, in a worker; stop when Dask no longer wants the batch.

    ``InputError``: the worker's versions are not the ``expected`` ones, which are part of the keys, or it lacks the plan's folder
    for methods of the user's own. ``SolverError``: no process can be started.
    """
    _require(expected)
    cells: list[Cell] = pickle.loads(pickled)
    if not os.path.isdir(folder):
        # Only code of the user's own needs the plan's folder.
        if any(cell.method.foreign for cell in cells):
            raise InputError(
                where=f"worker {_name()}: the plan's folder",
                found=f"no {folder}",
                allowed="one on a file system that workers share",
            )
        folder = tempfile.gettempdir()
    supervisor = _supervisor(folder)
    try:
        return [outcome for some in drive([supervisor], iter(cells), _wanted()) for outcome in some]
    except BaseException:
        supervisor.stop()
        raise
    finally:
        _state.timer = threading.Timer(IDLE_S, supervisor.stop)
        _state.timer.daemon = True
        _state.timer.start()


def _require(expected: Mapping[str, str]) -> None:
    installed = versions()
    for name in sorted(installed.keys() | expected.keys()):
        if installed.get(name) != expected.get(name):
            raise InputError(
                where=f"worker {_name()}: {name}",
                found=installed.get(name, "none"),
                allowed=f"{expected.get(name, 'none')}, as where the study is led",
            )


def _supervisor(folder: str) -> Supervisor:
    """Return the supervisor of this thread, a new one if the folder changed."""
    if _state.timer is not None:
        _state.timer.cancel()
        _state.timer.join()  # it may be stopping the supervisor right now
    if _state.supervisor is None or _state.folder != folder:
        if _state.supervisor is not None:
            _state.supervisor.stop()
        _state.supervisor, _state.folder = Supervisor(folder), folder
    return _state.supervisor


def _wanted() -> Callable[[], bool]:
    """Return a function that says whether Dask still wants the batch that this thread runs."""
    from distributed import get_worker
    from distributed.worker import thread_state

    tasks, key = get_worker().state.tasks, thread_state.key

    def wanted() -> bool:
        task = tasks.get(key)
        return task is not None and task.state in ("executing", "long-running")

    return wanted


def _name() -> str:
    from distributed import get_worker

    return str(get_worker().address)


BATCH_S = 1.0
"""Seconds of work in a batch: each task costs Dask's scheduler hundreds of microseconds."""
WINDOW = 2
"""Batches in flight for each thread of the cluster: one that runs, and one that waits."""
DEATHS = 3
"""Deaths of workers that ran only this cell, after which the cell counts as killed."""
LOST = "the cluster's scheduler was lost; what has ended is kept: run the study again to go on"
ALL_DIED = (
    "every worker of the Dask cluster died again and again, and ended nothing meanwhile; "
    "what has ended is kept: run the study again to go on"
)
LOOK_S = 0.05
"""Seconds between two checks for ended batches and for live workers."""


def run(
    cells: Iterator[Cell], workers: int, folder: str, scheduler: str | None = None
) -> Generator[list[Outcome], None, None]:
    """Run cells on a Dask cluster; yield outcomes as they arrive, in any order; closing the generator ends running cells.

    Without a ``scheduler``, a cluster of ``workers`` on this machine runs them. ``SolverMissingError``: Dask is not installed.
    ``InputError``: no scheduler answers, or as `run_batch`. ``SolverError``: it was lost, or workers cannot run cells.
    """
    with contextlib.ExitStack() as stack:
        client, hopeless = connected(stack, workers, scheduler)
        try:
            yield from _Batches(client, os.path.abspath(folder), hopeless).outcomes(cells)
        except (OSError, TimeoutError):  # Dask lost its connections; we raise other errors
            raise SolverError(LOST) from None
        finally:
            if client.status == "running":
                with contextlib.suppress(OSError, TimeoutError):
                    client.cancel(list(client.futures.values()), force=True)


class _Batches:
    """Submits batches, a few for each thread of the cluster, and collects their outcomes."""

    def __init__(self, client: "Client", folder: str, hopeless: Callable[[], bool]) -> None:
        self._client, self._folder, self._hopeless = client, folder, hopeless
        self._batches: dict[str, list[Cell]] = {}
        self._suspects: deque[Cell] = deque()
        """Cells whose workers died. Any of them may be the cause, or none: Dask also blames waiting tasks."""
        self._deaths: Counter[str] = Counter()
        self._alone = False

    def outcomes(self, cells: Iterator[Cell]) -> Generator[list[Outcome], None, None]:
        """Yield lists of outcomes as batches end."""
        import distributed

        pace = Pace(BATCH_S)
        completed = distributed.as_completed(loop=self._client.loop, with_results=True, raise_errors=False)
        # Keep a few batches on each thread; while cells are suspected of killing workers, only one of them runs at a time.
        while True:
            threads = sum(self._client.nthreads().values()) if self._client.status == "running" else 0
            while not self._suspects and len(self._batches) < WINDOW * max(1, threads):
                batch = list(islice(cells, pace.cells))
                if not batch:
                    break
                completed.add(self._submit(batch))
            if self._suspects and not self._batches:  # alone, so that no other cell can be the cause
                completed.add(self._submit([self._suspects.popleft()], alone=True))
            if not self._batches:
                return
            if not completed.has_ready():
                if self._hopeless():
                    raise SolverError(ALL_DIED)
                time.sleep(LOOK_S)
                continue
            ended = self._result_of(*next(completed))
            if ended:
                pace.learn(ended)
                yield ended

    def _submit(self, batch: list[Cell], *, alone: bool = False) -> "Future":
        # Cells travel as bytes, which the worker unpickles only after it has compared versions.
        future = self._client.submit(
            run_batch, pickle.dumps(batch), self._folder, versions(), pure=False, retries=0, key=None
        )
        self._batches[future.key], self._alone = batch, alone
        return future

    def _result_of(self, future: "Future", result: object) -> list[Outcome]:
        """Return the outcomes of a batch that ended."""
        from distributed.scheduler import KilledWorker

        batch, status = self._batches.pop(future.key), future.status
        future.release()
        if isinstance(result, list):  # even if its worker died since
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
        """Handle the death of a batch's workers: its cells become suspects; one that ran alone is killed."""
        if self._alone:
            (cell,) = batch
            self._deaths[cell.key] += deaths
            count = self._deaths[cell.key]
            if count >= DEATHS:
                return [Outcome(cell.key, "killed", f"its worker died {count} times, with nothing else on it")]
        self._suspects.extend(batch)
        return []
