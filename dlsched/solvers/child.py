"""Solvers run in a child process, so that a time limit holds and Ctrl-C answers at once, whatever the solver does.

HiGHS in SciPy, CBC and SCIP do not stop for Ctrl-C in process, and CBC can overrun its limit; all print on standard
output at times. The child has a process group of its own, no standard output, and is reused by its thread until it has
to be killed.
"""

import contextlib
import importlib
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from typing import Any

from dlsched.core.errors import DlschedError, SolverError

GRACE_S = 1.0
"""Seconds past its limit after which a solver is killed."""


class OutOfTime(Exception):  # noqa: N818  a signal, not an error
    """The child overran its time and was killed."""


class _Child:
    """A running child and the pipe to it; ended when its thread or the program ends."""

    def __init__(self) -> None:
        mine, its = Pipe()
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self.owner = os.getpid()  # after a fork it is another process's child
        self.pipe = mine
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from dlsched.solvers import child; child.serve()", str(its.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[its.fileno()],
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": paths},
        )
        its.close()
        self.farewell = weakref.finalize(self, _farewell, self.process, mine, self.owner)

    @property
    def usable(self) -> bool:
        """Whether it is this process's child and alive."""
        return self.owner == os.getpid() and self.process.poll() is None


class _Local(threading.local):
    child: _Child | None = None


_local = _Local()


def call(function: str, *arguments: Any, time_s: float | None, heard: Callable[[Any], None] | None = None) -> Any:
    """Call ``module:function(*arguments)`` in the child and return what it returns.

    Parameters
    ----------
    function
        A function of an importable module; its arguments and results are pickled. When ``heard`` is given it is passed
        one more argument, a function whose calls arrive at ``heard`` here.
    time_s
        Seconds after which, and after a grace, the child is killed.

    Raises
    ------
    OutOfTime
        It was killed.
    SolverError
        The child died, or the function raised something that is no ``DlschedError`` (those pass).
    KeyboardInterrupt
        The user stopped it; the child is killed first.
    """
    if _local.child is None or not _local.child.usable:
        _local.child = _Child()
    process, pipe = _local.child.process, _local.child.pipe
    ends = None if time_s is None else time.monotonic() + time_s + GRACE_S
    kind, content = "", None
    try:
        pipe.send((function, arguments, heard is not None))
        while kind not in ("done", "failed"):
            if not pipe.poll(None if ends is None else max(0.0, ends - time.monotonic())):
                raise OutOfTime
            kind, content = pipe.recv()
            if kind == "heard" and heard is not None:
                heard(content)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        stop()
        raise SolverError(f"the solver process ended with code {process.returncode}") from None
    except (
        BaseException
    ):  # out of time, Ctrl-C, or an error of the listener: the child's answer would go to the next call
        stop()
        raise
    if kind == "failed":
        raise content if isinstance(content, DlschedError) else SolverError(content)
    return content


def stop() -> None:
    """Kill this thread's child and everything it started; the next call starts another."""
    child, _local.child = _local.child, None
    if child is None or child.owner != os.getpid():
        return
    child.farewell.detach()
    child.pipe.close()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.process.pid, signal.SIGKILL)
    child.process.wait()


def _farewell(process: "subprocess.Popen[bytes]", pipe: Connection, owner: int) -> None:
    """Let an idle child end by itself: it sees the pipe close."""
    if owner != os.getpid():
        return
    pipe.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(5)


def serve() -> None:
    """Answer calls until the parent goes away; runs in the child."""
    _die_with_parent()
    pipe: Connection = Connection(int(sys.argv[1]))
    while True:
        try:
            function, arguments, listened = pipe.recv()
        except (EOFError, ConnectionResetError):
            return
        module, name = function.split(":")
        try:
            extra = (lambda content: pipe.send(("heard", content)),) if listened else ()
            answer = ("done", getattr(importlib.import_module(module), name)(*arguments, *extra))
        except DlschedError as error:
            answer = ("failed", error)
        except Exception:
            answer = ("failed", traceback.format_exc(limit=-3).strip())
        pipe.send(answer)


def _die_with_parent() -> None:
    """On Linux, be killed when the parent is; elsewhere a solver's own time limit has to do."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
