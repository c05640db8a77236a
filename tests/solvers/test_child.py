"""The child process: it is killed when it overruns, replaced when it dies, and never speaks on standard output."""

import os
import subprocess
import sys
import time

import pytest

from dlsched.core.errors import SolverError, UsageError
from dlsched.solvers import child

HERE = "child_functions"


@pytest.fixture(autouse=True)
def functions(tmp_path, monkeypatch):
    """A module of functions that the child can import, and a child of its own for every test."""
    (tmp_path / f"{HERE}.py").write_text(
        "import os, subprocess, sys, time\n"
        "from dlsched.core.errors import UsageError\n"
        "def add(a, b): return a + b\n"
        "def pid(): return os.getpid()\n"
        "def sleep(seconds): time.sleep(seconds)\n"
        "def spawn(path):\n"
        "    process = subprocess.Popen(['sleep', '60'])\n"
        "    open(path, 'w').write(str(process.pid))\n"
        "    time.sleep(60)\n"
        "def die(code): os._exit(code)\n"
        "def fail(): raise RuntimeError('no luck')\n"
        "def refuse(): raise UsageError('not so')\n"
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


def test_what_the_child_started_is_killed_too(tmp_path, monkeypatch):
    """A solver's own program (CBC) goes with the child."""
    monkeypatch.setattr(child, "GRACE_S", 0.1)
    call("pid")  # so that starting Python does not count
    path = tmp_path / "pid"
    with pytest.raises(child.OutOfTime):
        call("spawn", str(path), time_s=1.0)
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", path.read_text()], capture_output=True, text=True, check=False
    ).stdout
    assert state.strip() == "" or state.startswith("Z")


def test_a_dying_child_is_an_error_and_the_next_call_works():
    """The exit code is told; another child starts."""
    with pytest.raises(SolverError, match="ended with code 3"):
        call("die", 3)
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


def test_the_child_dies_with_its_parent(tmp_path):
    """A parent that is killed leaves no child behind (Linux)."""
    if sys.platform != "linux":
        pytest.skip("prctl is Linux only")
    code = (
        "import os, signal, sys\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "from dlsched.solvers import child\n"
        f"print(child.call('{HERE}:pid', time_s=None), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    parent = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    orphan = int(parent.stdout)
    for _ in range(100):
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(orphan)], capture_output=True, text=True, check=False
        ).stdout
        if state.strip() == "" or state.startswith("Z"):
            return
        time.sleep(0.05)
    pytest.fail("the child lives on")
