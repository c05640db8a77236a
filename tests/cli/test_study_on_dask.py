"""``dlsched study run --engine dask`` as a user sees it: workers that are killed while they start, and Ctrl-C."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from conftest import Ended

from dlsched.study.study import Study

pytest.importorskip("distributed")

PLAN = """
format = "dlsched/study/1"
[[instances]]
family = "ring_allocation"
jobs = 3
gpus = 8
seeds = "0:6"
[[methods]]
name = "doubling"
[[methods]]
name = "slow"
python = "slow.py:slow"
"""
SLOW = """
import os, time

def slow(instance):
    while not os.path.exists("go") and instance.name.endswith("seed3"):
        time.sleep(0.01)
    return {"gpus": {job.id: 1 for job in instance.jobs}}
"""
COMMAND = [sys.executable, "-m", "dlsched", "study", "run", "p.toml", "--engine", "dask", "--workers", "2"]
ALL_DIED = (
    "dlsched: every worker of the Dask cluster died again and again, and ended nothing meanwhile; "
    "what has ended is kept: run the study again to go on\n"
)
GONE_S = 30.0
"""Seconds within which nothing is left of a program that has ended."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plan's folder, in which the command line works, and one for temporary files below it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "p.toml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    return tmp_path


@contextmanager
def running() -> Iterator[subprocess.Popen[str]]:
    """Run the study in a session of its own, as a terminal's."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it, and so would it
    try:
        with subprocess.Popen(
            COMMAND, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            yield process
    finally:
        signal.signal(signal.SIGINT, handler)


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Processes of Dask's workers, however young."""
    found = []
    try:
        for each in psutil.Process(process.pid).children(recursive=True):
            if "spawn_main" in " ".join(each.cmdline()):
                found.append(each)
    except psutil.Error:
        pass  # one ended while we looked
    return found


def kill_new(process: subprocess.Popen[str], most: int) -> int:
    """Kill workers' processes as soon as they are there, until so many are dead or the program has ended."""
    killed: set[int] = set()
    while process.poll() is None and len(killed) < most:
        for each in workers_of(process):
            if each.pid not in killed and len(killed) < most:
                each.kill()
                killed.add(each.pid)
        time.sleep(0.005)
    return len(killed)


def objectives(folder: Path) -> list[float | None]:
    """Objectives of the rows in the store."""
    with Study(folder / "p.study.sqlite") as study:
        return [row.objective for row in study.rows()]


@pytest.mark.long
def test_workers_that_are_killed_while_they_start(folder: Path) -> None:
    """Two of them, at once when they appear: they are started again, and all cells run."""
    (folder / "go").touch()
    with running() as process:
        assert kill_new(process, 2) == 2
        out, err = process.communicate()
    assert (process.returncode, out, err) == (0, "p: 12 cells of 6 instances are in p.study.sqlite\n", "")
    assert len(objectives(folder)) == 12 and None not in objectives(folder)


DYING = """
import os

from dlsched.study.engines import dask_engine

with open(os.environ["STARTS"], "a") as file:
    print(os.getpid(), file=file)
"""
"""What a worker's process does as it is started; Dask reads it twice in a process."""
DEATHS = {
    "before it comes up": "os.kill(os.getpid(), 9)\n",
    "as soon as it has work": "dask_engine.run_batch = lambda *_: os.kill(os.getpid(), 9)\n",
}


@pytest.mark.long
@pytest.mark.parametrize("when", DEATHS)
def test_workers_that_die_at_every_start(
    when: str, folder: Path, cli: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is started seven times and no more, then it is said, and the same command goes on."""
    (folder / "go").touch()
    (folder / "dying.py").write_text(DYING + DEATHS[when], encoding="utf-8")
    with monkeypatch.context() as dying:
        dying.setenv("STARTS", str(folder / "starts"))
        dying.setenv("DASK_DISTRIBUTED__WORKER__PRELOAD", str([str(folder / "dying.py")]))
        with running() as process:
            out, err = process.communicate()
    assert (process.returncode, out, err) == (1, "", ALL_DIED)
    assert len(set((folder / "starts").read_text().split())) == 14
    goes_on(folder, cli)


@pytest.mark.long
def test_workers_that_are_killed_at_every_start(folder: Path, cli: Callable[..., Ended]) -> None:
    """From outside, as they appear, before or after they come up: as if they died of themselves. No cell can end meanwhile."""
    (folder / "slow.py").write_text(SLOW.replace("seed3", ""), encoding="utf-8")
    (folder / "p.toml").write_text(PLAN.replace('[[methods]]\nname = "doubling"\n', ""), encoding="utf-8")
    with running() as process:
        assert kill_new(process, 1000) == 14
        out, err = process.communicate()
    assert (process.returncode, out, err) == (1, "", ALL_DIED)
    (folder / "go").touch()
    goes_on(folder, cli)


def goes_on(folder: Path, cli: Callable[..., Ended]) -> None:
    """Run the rest of a study in which nothing has ended, save that cells may be taken for those that kill their workers."""
    killed = objectives(folder)
    assert set(killed) <= {None}
    assert cli("study", "run", "p.toml", "--workers", "1", "--retry", "killed").code == 0
    found = objectives(folder)
    assert len(found) == (12 if "doubling" in (folder / "p.toml").read_text() else 6) and None not in found


@pytest.mark.long
@pytest.mark.parametrize("of_all", [False, True], ids=["to the leader", "of a terminal"])
def test_ctrl_c(of_all: bool, folder: Path, cli: Callable[..., Ended]) -> None:
    """Exit code 5 in one line; what had ended is kept, no process and no file is left, and the same command goes on."""
    with running() as process:
        while not (folder / "p.study.sqlite").exists() or len(ended(folder)) < 4:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        started = psutil.Process(process.pid).children(recursive=True)
        if of_all:
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    kept = ended(folder)
    assert (process.returncode, out) == (5, "")
    assert err == f"dlsched: interrupted; {12 - len(kept)} cells are left, the same command goes on\n"
    assert 4 <= len(kept) < 12
    assert psutil.wait_procs(started, timeout=GONE_S)[1] == []
    ends = time.monotonic() + GONE_S
    while list((folder / "temporary").iterdir()) and time.monotonic() < ends:
        time.sleep(0.05)
    assert list((folder / "temporary").iterdir()) == []
    (folder / "go").touch()
    assert cli("study", "run", "p.toml", "--engine", "local", "--workers", "1").code == 0
    assert kept.items() <= ended(folder).items() and len(ended(folder)) == 12


@pytest.mark.long
def test_ctrl_c_when_every_cell_has_ended(folder: Path) -> None:
    """Nothing is left to be interrupted: exit code 0, and the cluster has gone."""
    (folder / "go").touch()
    with running() as process:
        while not (folder / "p.study.sqlite").exists() or len(ended(folder)) < 12:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        started = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err) == (0, "p: 12 cells of 6 instances are in p.study.sqlite\n", "")
    assert psutil.wait_procs(started, timeout=GONE_S)[1] == []


def ended(folder: Path) -> dict[str, float | None]:
    """Seconds of each cell that has a row, which tell a row from one of another run."""
    database = sqlite3.connect(f"{(folder / 'p.study.sqlite').as_uri()}?mode=ro", uri=True)
    try:
        return dict(database.execute("SELECT key, time_s FROM result JOIN cell ON cell.id = cell").fetchall())
    except sqlite3.OperationalError:  # it is being made
        return {}
    finally:
        database.close()
