"""Cells on a Dask cluster, which is started once: the same outcomes as here, whatever becomes of workers."""

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from clusters import two_workers

from dlsched import InputError, SolverError, SolverMissingError
from dlsched.processes import dask_client
from dlsched.study.cells.cell import Cell, Outcome, versions
from dlsched.study.engines import dask_engine
from study.cells_at_hand import ROOMY, cell, function, functions, lives, marked, named, run, said
from study.engines.test_local import mixed

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a cluster of two workers."""
    with two_workers(allowed_failures=0) as cluster:  # by default three, and each takes seconds
        yield cluster.scheduler_address


def on_cluster(cells: list[Cell], scheduler: str | None, folder: Path) -> list[Outcome]:
    """What comes of cells, in their order."""
    return run(cells, 2, folder, partial(dask_engine.run, scheduler=scheduler))


def test_a_cluster_gives_the_same(scheduler: str, tmp_path: Path):
    """As processes here."""
    cells = mixed(tmp_path)
    assert list(map(said, on_cluster(cells, scheduler, tmp_path))) == list(map(said, run(cells, 2, tmp_path)))


def test_a_run_that_is_closed(scheduler: str, tmp_path: Path):
    """Ends what hangs on the workers, and the next run is served."""
    own = functions(tmp_path)
    cells = [cell(named("equal")), *(cell(function(own, "hangs"), seed) for seed in range(2))]
    running = dask_engine.run(iter(cells), 2, str(tmp_path), scheduler)
    assert [outcome.status for outcome in next(running)] == ["feasible"]
    marked(own)
    running.close()
    while any(map(lives, marked(own))):
        time.sleep(0.01)  # a worker notices when it looks
    assert [outcome.status for outcome in on_cluster([cell(named("exact"))], scheduler, tmp_path)] == ["optimal"]


def test_another_version_is_refused(scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """With the package, what was found and what is allowed: it is part of the keys of cells."""
    monkeypatch.setattr(dask_engine, "versions", lambda: versions() | {"numpy": "0.1"})
    with pytest.raises(InputError, match=rf"^worker tcp://\S+: numpy: found {versions()['numpy']}, allowed: 0\.1, as"):
        on_cluster([cell(named("exact"))], scheduler, tmp_path)


def test_a_folder_that_workers_lack(scheduler: str, tmp_path: Path):
    """Is needed by methods of one's own only."""
    assert on_cluster([cell(named("exact"))], scheduler, tmp_path / "nosuch")[0].status == "optimal"
    with pytest.raises(InputError, match=r"the plan's folder: found no \S+nosuch, allowed: one on a file system"):
        on_cluster([cell(function(functions(tmp_path), "good"))], scheduler, tmp_path / "nosuch")


def test_no_such_scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Is said, and what is allowed."""
    monkeypatch.setattr(dask_client, "CONNECT_S", 0.3)
    for address in ("tcp://127.0.0.1:1", "nonsense://here", "no address"):
        with pytest.raises(InputError, match=rf"^scheduler: found none that answers at '{address}'"):
            on_cluster([cell(named("exact"))], address, tmp_path)


def test_without_dask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What to install is said."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SolverMissingError, match=r"pip install 'dlsched\[dask\]'"):
        on_cluster([cell(named("exact"))], None, tmp_path)


def test_a_process_without_cells_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nobody may ever come back to it."""
    monkeypatch.setattr(dask_engine, "_wanted", lambda: lambda: True)
    monkeypatch.setattr(dask_engine, "IDLE_S", 0.0)
    monkeypatch.setattr(dask_engine, "_name", lambda: "w")
    outcomes = dask_engine.run_batch(pickle.dumps([cell(named("exact"), limits=ROOMY)]), str(tmp_path), versions())
    assert [outcome.status for outcome in outcomes] == ["optimal"]
    assert dask_engine._state.timer is not None
    dask_engine._state.timer.join()
    assert dask_engine._state.supervisor is not None
    assert not dask_engine._state.supervisor.alive


@pytest.mark.long
def test_a_cell_that_kills_its_worker(scheduler: str, tmp_path: Path):
    """Ends as killed, after its batch was split; those of its batch end well."""
    own = functions(tmp_path)
    cells = [cell(named("exact"), seed) for seed in range(6)]
    cells.insert(3, cell(function(own, "kills_its_worker")))
    found = on_cluster(cells, scheduler, tmp_path)
    killed = found.pop(3)
    assert (killed.status, killed.message) == ("killed", "its worker died 3 times, with nothing else on it")
    assert {outcome.status for outcome in found} == {"optimal"}


CLUSTER = """
import logging, sys, distributed
if __name__ == "__main__":
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL, memory_limit=0
    )
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


def test_a_lost_scheduler(tmp_path: Path):
    """Is said; what had ended was given, and what ran there is gone with its workers."""
    own = functions(tmp_path)
    (tmp_path / "cluster.py").write_text(CLUSTER)
    cluster = subprocess.Popen(
        [sys.executable, str(tmp_path / "cluster.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with cluster:
        assert cluster.stdout is not None
        address = cluster.stdout.readline().strip()
        cells = [cell(named("equal")), cell(function(own, "hangs"))]
        running = dask_engine.run(iter(cells), 1, str(tmp_path), address)
        assert [outcome.status for outcome in next(running)] == ["feasible"]
        (pid,) = marked(own)
        cluster.kill()
        with pytest.raises(SolverError, match=r"scheduler was lost; what has ended is kept"):
            next(running)
    while lives(pid):
        time.sleep(0.01)


def test_ctrl_c_while_a_cluster_is_closed(monkeypatch: pytest.MonkeyPatch):
    """It is closed whole, and Ctrl-C is raised then: Dask waits ten seconds for one that is left half closed."""
    from dlsched.processes.dask_cluster import cluster_here

    class Pressed(distributed.LocalCluster):
        async def _close(self):
            if not pressed:
                pressed.append(self)
                os.kill(os.getpid(), signal.SIGINT)
                await asyncio.sleep(0.2)
            await super()._close()

    pressed: list[object] = []
    monkeypatch.setattr(distributed, "LocalCluster", Pressed)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), cluster_here(1) as cluster:
            pass
    finally:
        signal.signal(signal.SIGINT, handler)
    assert pressed == [cluster] and cluster.status == distributed.core.Status.closed
