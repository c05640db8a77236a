"""Solvers run in a child process, so that a time limit holds and Ctrl-C answers at once, whatever the solver does.

HiGHS in SciPy, CBC and SCIP do not stop for Ctrl-C in process, and CBC can overrun its limit; all print on standard
output at times. The child has a process group of its own, no standard output, a folder of its own for temporary files, and
is reused by its thread until it has to be killed. However this program ends, its guard ends the child (see ``guard``).
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
from dataclasses import replace
from multiprocessing.connection import Connection, Pipe
from typing import Any, TypeVar

from dlsched.catalogue.solvers import SOLVERS
from dlsched.core.errors import DlschedError, SolverError
from dlsched.core.imports import import_failure
from dlsched.core.limits import Limits
from dlsched.solvers.guard import Guard

GRACE_S = 0.4
"""Seconds past its limit after which a solver is killed."""


class OutOfTime(Exception):  # noqa: N818  a signal, not an error
    """The child overran its time and was killed."""


class _Child:
    """A running child, the pipe to it and its guard; ended when its thread or the program ends."""

    def __init__(self) -> None:
        mine, its = Pipe()
        paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
        self.owner = os.getpid()  # after a fork it is another process's child
        self.pipe = mine
        self.guard = Guard()
        environment = os.environ | {"PYTHONPATH": paths, "TMPDIR": self.guard.folder}
        environment.pop("PYTHONWARNINGS", None)  # a warning of a solver's package must not keep it from being imported
        code = "from dlsched.solvers import child; child.serve()"
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", code, str(its.fileno()), str(self.owner)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[its.fileno()],
                start_new_session=True,
                env=environment,
            )
            self.guard.watch(self.process.pid)  # from here on; until here, it ends by itself when the pipe closes
        except BaseException:
            mine.close()
            self.guard.dismiss()
            raise
        finally:
            its.close()
        self.farewell = weakref.finalize(self, _end, self.process, mine, self.guard, self.owner)
        _children.add(self)

    @property
    def usable(self) -> bool:
        """Whether it is this process's child and alive."""
        return self.owner == os.getpid() and self.process.poll() is None


HeardT = TypeVar("HeardT")


class _Local(threading.local):
    child: _Child | None = None


_local = _Local()
_children: weakref.WeakSet[_Child] = weakref.WeakSet()


def _after_fork() -> None:
    """Close a parent's pipes in a process that was forked from it, lest they stay open when the parent dies."""
    for child in list(_children):
        child.pipe.close()
        child.guard.forget()
    _children.clear()


os.register_at_fork(after_in_child=_after_fork)


def call(function: str, *arguments: object, time_s: float | None, heard: Callable[[HeardT], None] | None = None) -> Any:
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
        The child died, or the function raised something other than a ``DlschedError`` (those pass).
    KeyboardInterrupt
        The user stopped it; the child is killed first.
    """
    if _local.child is None or not _local.child.usable:
        stop()
        try:
            _local.child = _Child()
        except OSError as error:
            raise SolverError(f"no solver process can be started: {error}") from None
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
    except BaseException:
        stop()  # out of time, Ctrl-C, or an error of the listener: the child's answer would go to the next call
        raise
    if kind == "failed":
        raise content if isinstance(content, DlschedError) else SolverError(str(content))
    return content


def prepared(solver: str, limits: Limits) -> Limits:
    """Have the child import a solver before its time begins to run, and take the seconds of that off its limit."""
    if limits.time_s is None:
        return limits
    began = time.monotonic()
    call(f"{SOLVERS[solver].code}:version", time_s=None)
    return replace(limits, time_s=max(0.0, limits.time_s - (time.monotonic() - began)))


def stop() -> None:
    """Kill this thread's child and everything it started; the next call starts another."""
    child, _local.child = _local.child, None
    if child is not None:
        child.farewell()


def _end(process: "subprocess.Popen[bytes]", pipe: Connection, guard: Guard, owner: int) -> None:
    """Kill a child and what it started, and have its files removed."""
    if owner != os.getpid():
        return
    pipe.close()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    guard.dismiss()


def processes() -> set[int]:
    """Return the processes of this program's children and of their guards."""
    return {pid for child in list(_children) for pid in (child.process.pid, child.guard.process.pid)}


def serve() -> None:
    """Answer calls until the parent goes away; runs in the child."""
    _die_with(parent=int(sys.argv[2]))
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
        except ImportError as error:
            answer = ("failed", import_failure(error))
        except Exception:
            answer = ("failed", traceback.format_exc(limit=-3).strip())
        pipe.send(answer)


def _die_with(parent: int) -> None:
    """On Linux, be killed when the parent's thread ends: a second string to the guard, which may itself be killed."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:  # it has ended already
        os._exit(1)
