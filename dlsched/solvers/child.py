"""The child processes in which solvers and users' functions run, so that time limits hold and Ctrl-C works at once.

HiGHS in SciPy, CBC and SCIP ignore Ctrl-C in process, CBC can exceed its limit, and all sometimes print on
standard output. A child has its own process group, no standard output, and its own folder for temporary
files. A thread has one child for solvers and one for functions, and reuses them until they have to be killed.
Nothing of a child survives this program, however it ends (see ``dlsched.processes``).
"""

import contextlib
import importlib
import os
import signal
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection, Pipe
from typing import Any, TypeVar

from dlsched.catalogue.solvers import SOLVERS
from dlsched.core.errors import DlschedError, SolverError, SolverKilledError
from dlsched.core.imports import import_failure
from dlsched.core.limits import Limits
from dlsched.core.status import TerminationStatus
from dlsched.processes.contained import Contained
from dlsched.solvers.outcome import Outcome

SOLVER, FUNCTION = "solver", "function"
"""What a child runs: solvers, or functions of the user, which must not share a process with solvers."""

GRACE_S = 0.4
"""Seconds past its limit after which a solver is killed."""

SILENCE_S = 0.9
"""Silence (s) before a "still running" message."""


class OutOfTime(Exception):  # noqa: N818  a signal, not an error
    """The child overran its time and was killed."""


class _Child:
    """A running child and the pipe to it; ended when its thread or the program ends."""

    def __init__(self) -> None:
        self.pipe, its = Pipe()
        try:
            self.contained = Contained("dlsched.solvers.child:serve", [its.fileno()])
        except BaseException:
            self.pipe.close()
            raise
        finally:
            its.close()
        self.pid: int | None = None
        """Process id of the child itself, which it sends first."""
        _children.add(self)

    @property
    def usable(self) -> bool:
        """Whether it is this process's child, alive, and has sent nothing unasked."""
        return self.contained.alive and not self.pipe.poll()

    def end(self) -> None:
        """Kill it and everything it started."""
        self.pipe.close()
        self.contained.end()


HeardT = TypeVar("HeardT")


class _Local(threading.local):
    def __init__(self) -> None:
        self.children: dict[str, _Child] = {}


_local = _Local()
_children: weakref.WeakSet[_Child] = weakref.WeakSet()


def _after_fork() -> None:
    """Close the parent's pipes in a fork, so that they do not stay open when the parent dies."""
    for child in list(_children):
        child.pipe.close()
    _children.clear()


os.register_at_fork(after_in_child=_after_fork)


def call(
    function: str,
    *arguments: object,
    time_s: float | None,
    heard: Callable[[HeardT], None] | None = None,
    waiting: Callable[[], None] | None = None,
    of: str = SOLVER,
    grace_s: float = GRACE_S,
) -> Any:
    """Call ``module:function(*arguments)`` in the child of kind ``of`` and return its result; both are pickled.

    With ``heard`` the function gets one more argument, a function whose calls are forwarded to ``heard`` here.
    ``waiting`` is called here whenever nothing was heard for ``SILENCE_S``. The child is killed ``grace_s`` after ``time_s``
    (OutOfTime), and on Ctrl-C. SolverError: it died, or the function raised anything but a ``DlschedError``, which passes.
    """
    child = _local.children.get(of)
    if child is None or not child.usable:
        stop(of)
        try:
            child = _local.children[of] = _Child()
        except OSError as error:
            raise SolverError(f"no {of} process can be started: {error}") from None
    pipe = child.pipe
    ends = None if time_s is None else time.monotonic() + time_s + grace_s
    kind, content = "", None
    try:
        pipe.send((function, arguments, heard is not None))
        # until the function's result: reports go to ``heard``, silence to ``waiting``, and the time limit ends it
        while kind not in ("done", "failed"):
            remaining_s = None if ends is None else max(0.0, ends - time.monotonic())
            silent = waiting is not None and (remaining_s is None or remaining_s > SILENCE_S)
            if not pipe.poll(SILENCE_S if silent else remaining_s):
                if not silent:
                    raise OutOfTime
                assert waiting is not None
                waiting()
                continue
            kind, content = pipe.recv()
            if kind == "began":
                child.pid = content
            elif kind == "heard" and heard is not None:
                heard(content)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        code = child.contained.wait()
        stop(of)
        code = -signal.SIGKILL if code is None else code
        error_type = SolverKilledError if code < 0 else SolverError
        raise error_type(f"the {of} process ended with code {code}") from None
    except BaseException:
        stop(of)  # time out, Ctrl-C or an error in ``heard``: else the next call would get this answer
        raise
    if kind == "failed":
        raise content if isinstance(content, DlschedError) else SolverError(str(content))
    return content


def outcome_of(
    solver: str,
    function: str,
    *arguments: object,
    time_s: float | None,
    heard: Callable[[HeardT], None] | None = None,
    waiting: Callable[[], None] | None = None,
) -> Outcome:
    """``call`` for a function that runs a solver: a child that had to be killed reached its time limit."""
    try:
        outcome = call(function, *arguments, time_s=time_s, heard=heard, waiting=waiting)
    except OutOfTime:
        return Outcome(status=TerminationStatus.TIME_LIMIT, solver=SOLVERS[solver].version())
    assert isinstance(outcome, Outcome)
    return outcome


def prepared(solver: str, limits: Limits) -> Limits:
    """Have the child import a solver before the call, and subtract the seconds of that from the limit."""
    if limits.time_s is None:
        return limits
    began = time.monotonic()
    call(f"{SOLVERS[solver].code}:version", time_s=None)
    return replace(limits, time_s=max(0.0, limits.time_s - (time.monotonic() - began)))


def stop(of: str = SOLVER) -> None:
    """Kill this thread's child and everything it started; the next call starts another."""
    child = _local.children.pop(of, None)
    if child is not None:
        child.end()


def processes() -> set[int]:
    """Return the processes of this program's children, and of their wardens."""
    return {child.contained.pid for child in list(_children)} | workers()


def workers() -> set[int]:
    """Return the processes in which solvers run."""
    return {child.pid for child in list(_children) if child.pid is not None}


def serve(descriptor: int) -> None:
    """Answer calls until the parent goes away; runs in the child."""
    pipe: Connection = Connection(descriptor)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        pipe.send(("began", os.getpid()))
        while True:
            pipe.send(_answer(pipe, *pipe.recv()))


def _answer(pipe: Connection, function: str, arguments: tuple[object, ...], listened: bool) -> tuple[str, object]:
    """Call a function; progress that it reports goes into the pipe."""
    module, name = function.split(":")
    try:
        extra = (lambda content: pipe.send(("heard", content)),) if listened else ()
        return "done", getattr(importlib.import_module(module), name)(*arguments, *extra)
    except DlschedError as error:
        return "failed", error
    except ImportError as error:
        return "failed", import_failure(error)
    except Exception:
        return "failed", traceback.format_exc(limit=-3).strip()
