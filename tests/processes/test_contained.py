"""What is contained goes, whatever it started and wherever that fled to, when it is ended, or ends, or the program does."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from dlsched.processes.contained import Contained

HERE = "contained_functions"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module of targets, and a folder for temporary files in which nothing is left."""
    (tmp_path / f"{HERE}.py").write_text(
        "import os, subprocess, time\n"
        "def say(pipe, *pids): os.write(pipe, ' '.join(map(str, pids)).encode())\n"
        "def idle(pipe): say(pipe, os.getpid()); time.sleep(600)\n"
        "def ends(pipe): os._exit(3)\n"
        "def fails(pipe): raise ValueError('no luck')\n"
        "def returns(pipe): pass\n"
        "def flees(pipe):\n"
        "    tree = [subprocess.Popen(['sleep', '600'], start_new_session=apart) for apart in (False, True)]\n"
        "    open(os.path.join(os.environ['TMPDIR'], 'left'), 'w').close()\n"
        "    if not os.fork():\n"
        "        os.setsid()\n"
        "        if os.fork(): os._exit(0)\n"
        "        say(pipe, os.getpid(), os.getppid(), *(each.pid for each in tree)); time.sleep(600)\n"
        "    time.sleep(600)\n"
    )
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    until(lambda: not any(folder.iterdir()))


def until(true: Callable[[], bool]) -> None:
    """Wait for what comes soon, if at all."""
    for _ in range(1500):
        if true():
            return
        time.sleep(0.02)
    raise AssertionError("it does not come")


def started(function: str) -> tuple[Contained, list[int]]:
    """One that runs, and the processes that it tells of."""
    reading, writing = os.pipe()
    try:
        contained = Contained(f"{HERE}:{function}", [writing])
    finally:
        os.close(writing)
    try:
        return contained, [int(word) for word in os.read(reading, 100).split()]
    finally:
        os.close(reading)


def test_all_that_it_started_ends_with_it():
    """Its group, another session, and an orphan; before the call is over."""
    contained, pids = started("flees")
    assert len(pids) == 4
    assert contained.alive
    contained.end()
    assert not contained.alive
    until(lambda: not any(psutil.pid_exists(pid) for pid in pids))


@pytest.mark.skipif(sys.platform != "linux", reason="orphans of other sessions are lost elsewhere")
def test_all_that_it_started_ends_when_it_is_killed():
    """The worker is; its warden is its parent, and says so."""
    contained, pids = started("flees")
    worker = psutil.Process(contained.pid).children()[0]
    worker.kill()
    assert contained.wait() == -signal.SIGKILL
    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_codes():
    """Of a process that ends, that returns, and that fails."""
    assert [started(function)[0].wait() for function in ("ends", "returns", "fails")] == [3, 0, 1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_that_ask_it_to_end(number: signal.Signals):
    """Do not end the warden: a terminal's go to all."""
    contained, (worker,) = started("idle")
    os.kill(contained.pid, number)
    if number is signal.SIGINT:
        os.kill(worker, number)
    time.sleep(0.1)
    assert contained.alive
    contained.end()
    until(lambda: not psutil.pid_exists(worker))


@pytest.mark.parametrize("victim", ["warden", "stopped warden"])
def test_somebody_kills_the_warden(victim: str):
    """Or stops it: all ends when it is ended."""
    contained, pids = started("flees")
    os.kill(contained.pid, signal.SIGKILL if victim == "warden" else signal.SIGSTOP)
    contained.end()
    until(lambda: not any(psutil.pid_exists(pid) for pid in pids))


def test_a_folder_alone(temporary: Path):
    """Is there until it is ended."""
    kept = Contained()
    assert Path(kept.folder).parent == temporary
    (Path(kept.folder) / "file").touch()
    assert psutil.Process(kept.pid).children() == []
    kept.end()
    assert not Path(kept.folder).exists()


def test_one_that_is_forgotten_ends():
    """As a thread's does that ends."""
    contained, (worker,) = started("idle")
    del contained
    until(lambda: not psutil.pid_exists(worker))


@pytest.mark.parametrize("before", ["", "os.setsid()"])
def test_a_program_that_is_killed(before: str, tmp_path: Path, temporary: Path):
    """Leaves nothing, also of a folder alone and where there is no terminal."""
    code = (
        f"import os, signal, sys, tempfile; sys.path.insert(0, {str(tmp_path)!r}); {before}\n"
        "from dlsched.processes.contained import Contained\n"
        f"tempfile.tempdir = {str(temporary)!r}\n"
        f"reading, writing = os.pipe(); kept = Contained(), Contained('{HERE}:flees', [writing])\n"
        "print(os.read(reading, 100).decode(), *(each.pid for each in kept), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    program = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    pids = [int(word) for word in program.stdout.split()]
    assert len(pids) == 6, program.stderr
    until(lambda: not any(psutil.pid_exists(pid) for pid in pids))


def test_a_program_that_never_says_begin(temporary: Path):
    """Killed before it made the folder: the warden starts nothing, and removes what is there."""
    folder = temporary / "dlsched-none"
    folder.mkdir()
    code = "from dlsched.processes.warden import main; main()"
    program = [sys.executable, "-c", code, str(folder), f"{HERE}:idle", "1"]
    assert subprocess.run(program, stdin=subprocess.DEVNULL, capture_output=True, check=True).stdout == b""
    assert not folder.exists()


def test_what_cannot_be_started_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """For want of a folder to work in, or for temporary files."""
    with pytest.raises(FileNotFoundError):
        Contained(cwd=str(tmp_path / "nosuch"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nosuch"))
    with pytest.raises(FileNotFoundError):
        Contained()
    assert not [each for each in psutil.Process().children() if str(tmp_path) in " ".join(each.cmdline())]
