"""The child process: it is killed when it overruns, replaced when it dies, and never speaks on standard output."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing import Pipe
from pathlib import Path

import pytest

from dlsched.core.errors import SolverError, SolverKilledError, SolverMissingError, UsageError
from dlsched.solvers import child

HERE = "child_functions"


@pytest.fixture(autouse=True)
def functions(tmp_path, monkeypatch):
    """A module of functions that the child can import, and a child of its own for every test."""
    (tmp_path / f"{HERE}.py").write_text(
        "import os, subprocess, sys, tempfile, time\n"
        "from dlsched.core.errors import UsageError\n"
        "def add(a, b): return a + b\n"
        "def pid(): return os.getpid()\n"
        "def sleep(seconds): time.sleep(seconds)\n"
        "def spawn(path):\n"
        "    process = subprocess.Popen(['sleep', '60'])\n"
        "    tempfile.mkstemp()\n"
        "    open(path + '.part', 'w').write(f'{os.getpid()} {process.pid}')\n"
        "    os.rename(path + '.part', path)\n"
        "    time.sleep(60)\n"
        "def die(code): os._exit(code)\n"
        "def be_killed(): os.kill(os.getpid(), 9)\n"
        "def fail(): raise RuntimeError('no luck')\n"
        "def refuse(): raise UsageError('not so')\n"
        "def warn(): import warnings; warnings.warn('soon', FutureWarning); return 'warned'\n"
        "def unpicklable(): return lambda: None\n"
        "def shout(): print('loud', flush=True); os.write(1, b'louder'); return 'said'\n"
        "def count(number, heard):\n"
        "    for value in range(number): heard(value)\n"
        "    return 'counted'\n"
    )
    child.stop()
    monkeypatch.syspath_prepend(tmp_path)
    yield
    child.stop()


def call(name, *arguments, time_s=None, heard=None):
    """Call a function of the module."""
    return child.call(f"{HERE}:{name}", *arguments, time_s=time_s, heard=heard)


def test_values_come_back():
    """Arguments go there, the result comes back, and the same process serves the next call."""
    assert call("add", 2, 3) == 5
    assert call("pid") == call("pid") != os.getpid()


def test_overrunning_is_killed(monkeypatch):
    """A function that takes longer than its limit and the grace is killed, and the next call works."""
    monkeypatch.setattr(child, "GRACE_S", 0.1)
    first = call("pid")
    with pytest.raises(child.OutOfTime):
        call("sleep", 60, time_s=0.1)
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    assert call("pid") != first


def alive(process):
    """Whether a process is there and no zombie."""
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return listed.stdout.strip() != "" and not listed.stdout.startswith("Z")


def gone(processes, folder=None):
    """Wait for processes to end and a folder to be empty; only what stays for ever takes long."""
    for _ in range(500):
        if not any(map(alive, processes)) and (folder is None or not any(folder.iterdir())):
            return True
        time.sleep(0.02)
    return False


def test_what_the_child_started_is_killed_too(tmp_path, monkeypatch):
    """A solver's own program (CBC) goes with the child, and so do their files."""
    monkeypatch.setattr(child, "GRACE_S", 0.1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    call("pid")  # so that starting Python does not count
    path = tmp_path / "pids"
    with pytest.raises(child.OutOfTime):
        call("spawn", str(path), time_s=1.0)
    assert gone(path.read_text().split(), tmp_path / "tmp")


def test_a_dying_child_is_an_error_and_the_next_call_works():
    """The exit code is told; another child starts."""
    with pytest.raises(SolverError, match="ended with code 3") as ended:
        call("die", 3)
    assert not isinstance(ended.value, SolverKilledError)
    with pytest.raises(SolverKilledError, match="ended with code -9"):
        call("be_killed")
    assert call("add", 1, 1) == 2


def test_exceptions():
    """An ordinary exception becomes a SolverError with its traceback; a DlschedError passes as it is; the child lives on."""
    first = call("pid")
    with pytest.raises(SolverError, match="RuntimeError: no luck"):
        call("fail")
    with pytest.raises(UsageError, match="not so"):
        call("refuse")
    assert call("pid") == first


def test_a_result_that_cannot_travel_is_an_error():
    """The child dies of it; the caller gets a SolverError and the next call works."""
    with pytest.raises(SolverError):
        call("unpicklable")
    assert call("add", 1, 1) == 2


def test_messages_on_the_way():
    """They arrive in order, before the result."""
    heard = []
    assert call("count", 5, heard=heard.append) == "counted"
    assert heard == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("error", [UsageError, ValueError, KeyboardInterrupt])
def test_a_listener_that_raises_leaves_no_messages_behind(error):
    """Whatever the listener raises passes to the caller, and the next call gets its own answer, not a late one."""

    def refuse(value):
        raise error("enough")

    with pytest.raises(error):
        call("count", 3, heard=refuse)
    assert call("add", 20, 22) == 42


def test_standard_output_stays_clean(capfd):
    """What a solver prints there, from Python or below it, does not reach the caller's output."""
    assert call("shout") == "said"
    assert capfd.readouterr().out == ""


def test_a_thread_takes_its_child_with_it():
    """A child serves the thread that called it, and ends with it."""
    pids = []
    thread = threading.Thread(target=lambda: pids.append(call("pid")))
    thread.start()
    thread.join()
    assert gone(pids)


def leader(tmp_path, *lines):
    """Start a program that runs lines after importing the child, with a folder ``tmp`` for temporary files."""
    (tmp_path / "tmp").mkdir()
    head = ["import os, signal, sys, threading, time", f"sys.path.insert(0, {str(tmp_path)!r})"]
    head.append("signal.signal(signal.SIGHUP, signal.SIG_DFL)")  # under nohup it would be ignored
    code = "\n".join([*head, "from dlsched.solvers import child", *lines])
    environment = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
    return subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_nothing_outlives_a_program_that_is_killed(number, tmp_path):
    """The child, what it started, and their files: all go, whatever ends the program, in whichever thread it calls."""
    path = tmp_path / "pids"
    program = leader(
        tmp_path,
        f"threading.Thread(target=child.call, args=('{HERE}:spawn', {str(path)!r}), kwargs={{'time_s': None}}).start()",
    )
    while not path.exists():
        time.sleep(0.01)
    program.send_signal(number)
    program.communicate()
    assert gone(path.read_text().split(), tmp_path / "tmp")


def test_a_program_that_is_killed_while_its_child_starts(tmp_path):
    """The child has a call to answer before it has imported anything; it ends all the same."""
    program = leader(
        tmp_path,
        "started = child._Child()",
        "started.pipe.send(('time:sleep', (60,), False))",
        "print(started.contained.pid, flush=True)",
        "os.kill(os.getpid(), signal.SIGKILL)",
    )
    assert gone(program.communicate()[0].split(), tmp_path / "tmp")


def test_a_child_whose_program_is_gone_says_nothing():
    """It was killed while the child started: no traceback on the standard error that they share."""
    mine, its = Pipe()
    mine.close()
    child.serve(os.dup(its.fileno()))
    its.close()


def test_a_fork_of_the_program_does_not_keep_its_child(tmp_path):
    """A process forked from the program lives on; the child does not, and is none of the fork's."""
    program = leader(
        tmp_path,
        f"pid = child.call('{HERE}:pid', time_s=None)",
        "fork = os.fork()",
        "if not fork: child.stop(); os.close(1); time.sleep(60)",
        "print(pid, fork, flush=True)",
        "os.kill(os.getpid(), signal.SIGKILL)",
    )
    pid, fork = program.communicate()[0].split()
    assert gone([pid], tmp_path / "tmp")
    assert alive(fork)
    os.kill(int(fork), signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux only")
def test_without_its_warden_the_child_still_dies_with_its_program(tmp_path):
    """Somebody killed the warden, then the program."""
    program = leader(
        tmp_path,
        f"print(child.call('{HERE}:pid', time_s=None), flush=True)",
        "os.kill(child._local.children['solver'].contained.pid, signal.SIGKILL)",
        "os.kill(os.getpid(), signal.SIGKILL)",
    )
    assert gone(program.communicate()[0].split())


def test_warnings_that_are_errors_do_not_reach_the_child(monkeypatch):
    """The user's ``PYTHONWARNINGS`` is for the user's programs: a solver's package may warn."""
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    assert call("warn") == "warned"


def test_a_package_that_is_missing_is_named():
    """The child cannot import what it is told to: an error that says what to install."""
    with pytest.raises(SolverMissingError, match="pip install no_such_package"):
        child.call("no_such_package:solve", time_s=None)


def test_a_child_that_cannot_be_started_is_an_error(monkeypatch):
    """There is no room for temporary files, say."""
    monkeypatch.setattr(tempfile, "tempdir", str(Path("no", "such", "folder")))
    with pytest.raises(SolverError, match="no solver process can be started"):
        call("pid")
