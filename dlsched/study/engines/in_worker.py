"""Inside a worker of a Dask cluster: each of its threads keeps a process, in which the cells of a batch run."""

import os
import pickle
import tempfile
import threading
from collections.abc import Callable, Mapping

from dlsched.core.errors import InputError
from dlsched.study.cells.cell import Cell, versions
from dlsched.study.cells.keeper import Keeper
from dlsched.study.cells.outcome import Outcome
from dlsched.study.engines.local import drive

IDLE_S = 60.0
"""Seconds after which a process without cells is ended: the study may be over, or whoever led it dead."""


class _Kept(threading.local):
    """What a thread keeps between batches."""

    keeper: Keeper | None = None
    folder = ""
    timer: threading.Timer | None = None


_kept = _Kept()


def run_batch(pickled: bytes, folder: str, expected: Mapping[str, str]) -> list[Outcome]:
    """Run cells, one after another; what has ended when the batch is no longer wanted is of no use to anyone.

    Parameters
    ----------
    pickled
        The cells.
    folder
        Of the plan.
    expected
        Versions of what decides outcomes: they are part of the cells' keys.

    Raises
    ------
    InputError
        This worker has others, or the plan's methods need a folder that it does not have.
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
    keeper = _keeper(folder)
    try:
        return [outcome for some in drive([keeper], iter(cells), _wanted()) for outcome in some]
    except BaseException:
        keeper.stop()
        raise
    finally:
        _end_when_idle(keeper)


def _require(expected: Mapping[str, str]) -> None:
    found = versions()
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            raise InputError(
                where=f"worker {_name()}: {name}",
                found=found.get(name, "none"),
                allowed=f"{expected.get(name, 'none')}, as where the study is led",
            )


def _keeper(folder: str) -> Keeper:
    """Return the keeper of this thread."""
    if _kept.timer is not None:
        _kept.timer.cancel()
        _kept.timer.join()  # it may be at work
    if _kept.keeper is None or _kept.folder != folder:
        if _kept.keeper is not None:
            _kept.keeper.stop()
        _kept.keeper, _kept.folder = Keeper(folder), folder
    return _kept.keeper


def _end_when_idle(keeper: Keeper) -> None:
    _kept.timer = threading.Timer(IDLE_S, keeper.stop)
    _kept.timer.daemon = True
    _kept.timer.start()


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
