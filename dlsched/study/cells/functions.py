"""Callers of a plan's functions and policies, each with a process that keeps imports between calls."""

import contextlib
import json
import math
import os
import pickle
import signal
import time
from dataclasses import dataclass

from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits
from dlsched.processes.descendants import death, die_with
from dlsched.processes.frames import Frames
from dlsched.processes.messages import short
from dlsched.processes.streams import LARGEST_ANSWER, LOOK_S, Tail, gather
from dlsched.processes.usage import Usage
from dlsched.study.cells.function_server import Call, serve_calls
from dlsched.study.cells.outcome import CellEnded
from dlsched.study.plans.plan import PlannedMethod

CLOSED_S = 1.0
"""Seconds within which a process has to end after it closed all its pipes."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a function's process to a call.

    The caller checks the solution. Seconds, processor seconds and memory are as the process measured them
    around the call of the function.
    """

    status: str
    message: str
    solution: dict[str, Json] | None
    usage: Usage


class Caller:
    """A process that calls one function.

    Parameters
    ----------
    family, method
        The family of the instances, and the method to call.
    folder
        For its temporary files.
    """

    def __init__(self, family: str, method: PlannedMethod, folder: str) -> None:
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        self._out, out = os.pipe()
        self._err, err = os.pipe()
        myself = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, 0)
            die_with(myself)
            os.environ["TMPDIR"] = folder
            os.dup2(out, 1)
            os.dup2(err, 2)
            _close_all_but(0, 1, 2, requests, answers)
            serve_calls(family, method, requests, answers)
        for pipe in (requests, answers, out, err):
            os.close(pipe)
        self._instance: InstanceFile | None = None
        self._code: int | None = None
        self.clean = True
        self._frames = Frames(LARGEST_ANSWER)
        self._said: list[bytes] = []
        self._printed = Tail(), Tail()
        try:
            self._heard()  # its word that it is ready, or nothing: then the first call says why
        except BaseException:
            self.stop()
            raise

    def call(self, instance: InstanceFile, limits: Limits, seed: int) -> Answer:
        """Call the function and wait for its answer.

        Raises
        ------
        CellEnded
            The process died, or its answer cannot be read.
        """
        new = instance is not self._instance
        self._instance = instance
        with contextlib.suppress(BrokenPipeError), os.fdopen(os.dup(self._requests), "wb") as asking:
            pickle.dump(Call(instance if new else None, limits, seed), asking)
        self.clean = False
        said = self._heard()
        if said is None:
            status, words = self._death()
            out, err = self._printed
            raise CellEnded(status, err.last_line or out.last_line or words if status == "error" else words)
        self._printed = Tail(), Tail()
        answer, self.clean = _read(said)
        return answer

    def stop(self) -> None:
        """Kill it."""
        if self._code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        for pipe in (self._requests, self._answers, self._out, self._err):
            os.close(pipe)

    def _heard(self) -> bytes | None:
        """Wait for the next frame from the process; None: it ended, or closed its pipes, without one."""
        out, err = self._printed

        def hear(arrived: bytes) -> None:
            self._said.extend(self._frames.feed(arrived))

        try:
            gather(
                {self._answers: hear, self._out: out.feed, self._err: err.feed},
                lambda: bool(self._said) or self._ended(),
            )
        except ValueError as error:
            raise CellEnded("error", f"its answer cannot be read: {error}") from None
        return self._said.pop(0) if self._said else None

    def _ended(self) -> bool:
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code is not None

    def _death(self) -> tuple[str, str]:
        """Return how the process ended; kill it if it closed all its pipes and still runs."""
        ends = time.monotonic() + CLOSED_S
        while not self._ended() and time.monotonic() < ends:
            time.sleep(LOOK_S / 10)
        if not self._ended():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self._code = 1
            return "error", "it closed all its pipes"
        assert self._code is not None
        return death(self._code)


def _close_all_but(*kept: int) -> None:
    """Close all other descriptors that the fork inherited, so that the function cannot write to them."""
    for pipe in range(max(kept)):
        if pipe not in kept:
            with contextlib.suppress(OSError):
                os.close(pipe)
    os.closerange(max(kept) + 1, os.sysconf("SC_OPEN_MAX"))


def _read(said: bytes) -> tuple[Answer, bool]:
    """Read the answer of a process, and whether the call left its state unchanged."""
    try:
        data = json.loads(said)
        status, message, solution = data["status"], data["message"], data["solution"]
        figures = [data["time_s"], data["cpu_s"], data["memory_mib"]]
        clean = data["clean"] is True
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CellEnded("error", "its answer cannot be read: found no answer to a call") from None
    words = isinstance(status, str) and isinstance(message, str) and isinstance(solution, dict | None)
    numbers = all(isinstance(each, float | int) and each >= 0 and math.isfinite(each) for each in figures)
    if not words or not numbers:
        raise CellEnded("error", "its answer cannot be read: found no answer to a call")
    return Answer(status, short(message), solution, Usage(*figures)), clean
