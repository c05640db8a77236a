"""Code that runs in workers of a Dask cluster: each thread keeps a process that runs batches of cells."""

import os
import pickle
import tempfile
import threading
from collections.abc import Callable, Mapping

from dlsched.core.errors import InputError
from dlsched.study.cells.cell import Cell, versions
from dlsched.study.cells.outcome import Outcome
from dlsched.study.cells.supervisor import Supervisor
from dlsched.study.engines.local import drive

IDLE_S = 60.0
"""Seconds after which an idle process is ended: the study may be over, or its leader dead."""


class _ThreadState(threading.local):
    """State that a thread keeps between batches."""

    supervisor: Supervisor | None = None
    folder = ""
    timer: threading.Timer | None = None


_state = _ThreadState()


def run_batch(pickled: bytes, folder: str, expected: Mapping[str, str]) -> list[Outcome]:
    """Run cells one after another; stop when Dask no longer wants the batch.

    Parameters
    ----------
    pickled
        The pickled list of cells.
    folder
        Folder of the plan.
    expected
        Versions by name that the worker must have: they are part of the cells' keys.

    Raises
    ------
    InputError
        This worker has other versions, or lacks the folder that the plan's methods need.
    SolverError
        No process can be started.
    """
    _require(expected)
    cells: list[Cell] = pickle.loads(pickled)
    if not os.path.isdir(folder):
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
        _end_when_idle(supervisor)


def _require(expected: Mapping[str, str]) -> None:
    found = versions()
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            raise InputError(
                where=f"worker {_name()}: {name}",
                found=found.get(name, "none"),
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


def _end_when_idle(supervisor: Supervisor) -> None:
    _state.timer = threading.Timer(IDLE_S, supervisor.stop)
    _state.timer.daemon = True
    _state.timer.start()


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
