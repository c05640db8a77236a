"""User-defined methods of a plan (functions, policies, programs): run in separate processes, their answers judged here.

A function's process is forked from this one. The caller trusts nothing that it says, and gives it up after a call whose
effects a later call could notice.
"""

import contextlib
import gc
import json
import math
import os
import pickle
import random
import resource
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import NoReturn

from dlsched.core.errors import PolicyError
from dlsched.core.family import AnyFamily, AnyMethod, Method
from dlsched.core.files import Json, json_text
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits
from dlsched.core.messages import printable
from dlsched.core.result import Solution
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.families import FAMILIES
from dlsched.own_methods import find_method_of_user
from dlsched.processes.streams import LARGEST_ANSWER, LOOK_S, Frames, Tail, Whole, gather, short, words_of, write_frame
from dlsched.processes.usage import Meter, Usage, resident
from dlsched.processes.warden import death, die_with, kill_descendants, newest_process
from dlsched.results.answers import UnreadableAnswer, claim_of_text, judge, status_of_error
from dlsched.results.reading import Claim
from dlsched.solvers import child
from dlsched.study.cells.cell import READY, Cell, CellEnded
from dlsched.study.plans.plan import PlannedMethod

# What a function may change of its process and a later call would notice, beside what ``_state`` names itself.
_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_STACK)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD, signal.SIGPIPE, signal.SIGXCPU)


def serve_calls(family: str, method: PlannedMethod, requests: int, answers: int) -> NoReturn:
    """Answer calls until there are no more; runs in a process that was forked for this."""
    owner, folder, spared = os.getpid(), os.getcwd(), frozenset(sys.modules)
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def report(content: bytes) -> None:
        if os.getpid() != owner:
            os._exit(0)  # the function forked, and both came back
        write_frame(answers, content)

    try:
        # Import the modules now, outside the time of a call; each call raises errors of this again.
        with contextlib.suppress(BaseException):
            _method_of(method, FAMILIES[family])
        report(READY)
        instance: InstanceFile | None = None
        calls = os.fdopen(requests, "rb")
        while True:
            sent, limits, seed = pickle.load(calls)
            instance = instance if sent is None else sent  # the last one is not sent again
            assert instance is not None
            before = _state()
            _forget(method, folder, spared)
            answer = _call_function(method, instance, limits, seed)
            with contextlib.suppress(BaseException):  # the function may have closed or replaced them
                sys.stdout.flush()
                sys.stderr.flush()
            answer["clean"] = _state() == before
            report(json.dumps(answer).encode())
    except EOFError:
        os._exit(0)
    except BaseException as error:
        with contextlib.suppress(BaseException):
            os.write(2, f"{type(error).__name__}: {words_of(error)}\n".encode())
        os._exit(1)


def _call_function(method: PlannedMethod, instance: InstanceFile, limits: Limits, seed: int) -> dict[str, Json]:
    import numpy as np

    family = FAMILIES[instance.family]
    # the global random generators, so that code without seeds does not depend on earlier calls
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  the legacy generator is what such code draws from
    depth = sys.getrecursionlimit()
    ended: dict[str, Json]
    meter = Meter()
    try:
        function = _method_of(method, family)
        meter = Meter()  # anew: importing the function is not its time
        result = family.solve(instance, method=function, limits=limits, seed=seed)
        usage = replace(meter.usage(), time_s=result.runtime_s)
        solution = None if result.solution is None else result.solution.as_data()
        ended = {"status": str(result.status), "message": result.message, "solution": solution}
        json.dumps(solution, allow_nan=False)
    except BaseException as error:
        usage = meter.usage()
        status, message = status_of_error(error)
        # without the path of the method, so that rows are the same in any folder
        ended = {"status": status, "message": message.removeprefix(f"{':'.join(method.what)}: "), "solution": None}
    finally:
        sys.setrecursionlimit(depth)
    return ended | asdict(usage)


def _forget(method: PlannedMethod, folder: str, spared: Collection[str]) -> None:
    """Drop the user's modules, except the ``spared`` ones, so that the next call imports them anew without traces of this one."""
    home = method.what[0]
    file = getattr(sys.modules.get(home), "__file__", None)
    names = [home] if home not in spared and str(file).endswith(".py") else []
    for place in (folder, os.path.dirname(home)) if home.endswith(".py") else (folder,):
        names += _loaded_below(place)
    for name in names:
        sys.modules.pop(name, None)


def _loaded_below(folder: str) -> list[str]:
    """Return the loaded modules from Python files below a folder, other than dlsched's and installed ones."""
    standard = os.path.join(os.path.realpath(sysconfig.get_path("stdlib")), "")
    start = os.path.join(os.path.realpath(folder), "")
    names = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name == "__main__" or name.partition(".")[0] == "dlsched" or not isinstance(file, str):
            continue
        path = os.path.realpath(file)
        installed = {"site-packages", "dist-packages"} & set(Path(path).parts)
        if path.startswith(start) and path.endswith(".py") and not installed and not path.startswith(standard):
            names.append(name)
    return names


def _method_of(method: PlannedMethod, family: AnyFamily) -> AnyMethod:
    return find_method_of_user(family, ":".join(method.what), method.parameters)


def _state() -> Mapping[str, object] | None:
    """Process state that a call may change and a later call would notice; None: it cannot be determined."""
    import numpy as np

    umask = os.umask(0o077)
    os.umask(umask)
    try:
        return {
            "folder": os.getcwd(),
            "temporary": os.listdir(os.environ["TMPDIR"]),
            "environment": dict(os.environ),
            "threads": threading.active_count(),
            "collecting": (gc.isenabled(), gc.get_threshold()),
            "path": list(sys.path),
            "streams": (sys.stdin, sys.stdout, sys.stderr),
            "umask": umask,
            "limits": [resource.getrlimit(each) for each in _LIMITS],
            "signals": [signal.getsignal(each) for each in _SIGNALS],
            "timer": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
            "hooks": (sys.gettrace(), sys.getprofile(), sys.excepthook),
            "numpy": np.geterr(),
        }
    except (OSError, KeyError):
        return None  # a folder was removed


INSTANCE = "{instance}"
"""Placeholder in the words of a command for the path of the instance's file."""
CLOSED_S = 1.0
"""Seconds within which a process has to end after it closed all its pipes."""
STOPPED = {str(each): each for each in TerminationStatus if each.name in ("TIME_LIMIT", "NODE_LIMIT", "MEMORY_LIMIT")}
"""Statuses with which a user's method may end without an answer and without being at fault."""
IDLE = 0.25
"""Share of a cell's memory that idle processes of other functions may hold together while the cell runs."""


class Caller:
    """A process that calls one function, and keeps its imports between calls; its files are in a folder of its own."""

    def __init__(self, family: str, method: PlannedMethod, folder: str) -> None:
        self.folder = _fresh_folder(folder, "function")
        # Four pipes: calls to the process, its answers, and what it prints on standard output and error.
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        self._out, out = os.pipe()
        self._err, err = os.pipe()
        myself = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            # A group of its own, its own folder and pipes, and no other descriptor: it can reach nothing of ours.
            os.setpgid(0, 0)
            die_with(myself)
            os.environ["TMPDIR"] = self.folder
            os.dup2(out, 1)
            os.dup2(err, 2)
            _close_all_but(0, 1, 2, requests, answers)
            serve_calls(family, method, requests, answers)
        for pipe in (requests, answers, out, err):
            os.close(pipe)
        self._instance: InstanceFile | None = None
        self._code: int | None = None
        self.clean = True
        """Whether the last call left the process as it was, so that it may serve another."""
        self._frames = Frames(LARGEST_ANSWER)
        self._arrived: list[bytes] = []
        self._printed = Tail(), Tail()
        try:
            self._next_frame()  # its word that it is ready, or nothing: then the first call says why
        except BaseException:
            self.stop()
            raise

    def call(self, instance: InstanceFile, limits: Limits, seed: int) -> tuple[str, str, object, Usage]:
        """Call the function; return status, message, unchecked solution and usage. ``CellEnded``: it died, or wrote no answer."""
        sent = None if instance is self._instance else instance  # the process keeps the last one
        self._instance = instance
        with contextlib.suppress(BrokenPipeError), os.fdopen(os.dup(self._requests), "wb") as requests:
            pickle.dump((sent, limits, seed), requests)
        self.clean = False
        content = self._next_frame()
        if content is None:
            status, words = self._death()
            out, err = self._printed
            raise CellEnded(status, err.last_line or out.last_line or words if status == "error" else words)
        self._printed = Tail(), Tail()
        status, message, solution, usage, self.clean = _answer_from(content)
        return status, message, solution, usage

    def stop(self) -> None:
        """Kill it, and remove its folder."""
        if self._code is None:
            self._kill()
        for pipe in (self._requests, self._answers, self._out, self._err):
            os.close(pipe)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def _next_frame(self) -> bytes | None:
        """Wait for the next frame from the process; None: it ended, or closed its pipes, without one."""
        out, err = self._printed
        try:
            gather(
                {
                    self._answers: lambda content: self._arrived.extend(self._frames.feed(content)),
                    self._out: out.feed,
                    self._err: err.feed,
                },
                lambda: bool(self._arrived) or self._ended(),
            )
        except ValueError as error:
            raise CellEnded("error", f"its answer cannot be read: {error}") from None
        return self._arrived.pop(0) if self._arrived else None

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
        if self._code is None:
            self._kill()
            self._code = 1
            return "error", "it closed all its pipes"
        return death(self._code)


def _fresh_folder(parent: str, name: str) -> str:
    os.makedirs(parent, mode=0o700, exist_ok=True)  # a method may have removed it
    return tempfile.mkdtemp(prefix=f"{name}-", dir=parent)


def _close_all_but(*spared: int) -> None:
    """Close all other descriptors that the fork inherited, so that the function cannot write to them."""
    # Up to the last spared one singly, and all beyond it in one call.
    for pipe in range(max(spared)):
        if pipe not in spared:
            with contextlib.suppress(OSError):
                os.close(pipe)
    os.closerange(max(spared) + 1, os.sysconf("SC_OPEN_MAX"))


def _answer_from(content: bytes) -> tuple[str, str, object, Usage, bool]:
    """Read status, message, solution, usage and cleanness that a process reports: it may have written anything."""
    try:
        data = json.loads(content)
        status, message, solution = data["status"], data["message"], data["solution"]
        figures = [data["time_s"], data["cpu_s"], data["memory_mib"]]
        clean = data["clean"] is True
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CellEnded("error", "its answer cannot be read: found no answer to a call") from None
    # Types and ranges, as the function may have written this frame itself.
    words = isinstance(status, str) and isinstance(message, str) and isinstance(solution, dict | None)
    numbers = all(isinstance(each, float | int) and each >= 0 and math.isfinite(each) for each in figures)
    if not words or not numbers:
        raise CellEnded("error", "its answer cannot be read: found no answer to a call")
    return status, short(message), solution, Usage(*figures), clean


def run_command(words: Sequence[str], instance: str, folder: str) -> Claim:
    """Run a program on an instance's file; return what it prints. ``CellEnded``: it fails, or prints no answer."""
    out, err = Whole(), Tail()
    filled = [word.replace(INSTANCE, instance) for word in words]
    try:
        process = subprocess.Popen(
            filled,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            process_group=0,
            env=os.environ | {"TMPDIR": folder},
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise CellEnded("error", f"{printable(filled[0])}: cannot be started: {reason or error}") from None
    assert process.stdout is not None and process.stderr is not None
    with process.stdout, process.stderr:
        try:
            gather(
                {process.stdout.fileno(): out.feed, process.stderr.fileno(): err.feed},
                lambda: process.poll() is not None,
            )
        except ValueError as error:
            process.kill()
            raise CellEnded("error", f"standard output: {error}") from None
        finally:
            process.wait()  # it may close its output long before it ends
    if process.returncode:
        status, words_of_death = death(process.returncode)
        last = err.last_line or out.last_line
        raise CellEnded(status, last or words_of_death if status == "error" else words_of_death)
    try:
        return claim_of_text(out.content, "standard output")
    except UnreadableAnswer as error:
        raise CellEnded("error", err.last_line or out.last_line or str(error)) from None


class ForeignMethods:
    """Runs methods that are not dlsched's own, and removes their processes and files (in ``folder``) afterwards."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._callers: dict[tuple[str, str], Caller] = {}
        """Processes by family and label, the most recently used last."""
        self.usage = Usage()
        """Time and memory of the last run, as far as they are known; the caller resets this when a cell begins."""

    def make_room(self, cell: Cell) -> None:
        """End idle processes of other functions, least recently used first, until their memory is small."""
        idle = {name: caller.pid for name, caller in self._callers.items() if name != _name(cell)}
        # A quick estimate first: what is shared between processes counts several times in it.
        most = IDLE * cell.limits.memory_gib * (1 << 30)
        if sum(resident(pid, shared=True) for pid in idle.values()) <= most:
            return  # the quick estimate is never below what they hold
        memory = {name: resident(pid, shared=False) for name, pid in idle.items()}
        for name in idle:
            if sum(memory.values()) <= most:
                return
            del memory[name]
            self._drop(name)

    def prepare(self, cell: Cell) -> None:
        """Start the process of a function and import it there, unless it runs already or none is needed."""
        name = _name(cell)
        if cell.method.kind != "python" or (name in self._callers and os.path.isdir(self._callers[name].folder)):
            return
        self._drop(name)  # something removed its folder
        self._callers[name] = Caller(cell.recipe.family, cell.method, self._folder)

    def method(self, family: AnyFamily, cell: Cell) -> AnyMethod:
        """Return the method of a cell as a ``Method`` that ``solve`` can run."""
        run = self._call if cell.method.kind == "python" else self._command
        return Method(cell.method.label, "heuristic", partial(run, family, cell))

    def clean_up(self, before: object) -> None:
        """Kill processes that a run left behind; ``before`` is the newest process from before the run."""
        if newest_process() != before:
            spared = {caller.pid for caller in self._callers.values()}
            if kill_descendants(spared | child.processes()):
                self.stop()  # functions may depend on processes that were killed

    def stop(self) -> None:
        """Kill everything."""
        for name in list(self._callers):
            self._drop(name)

    def _drop(self, name: tuple[str, str]) -> None:
        caller = self._callers.pop(name, None)
        if caller is not None:
            caller.stop()

    def _call(
        self, family: AnyFamily, cell: Cell, instance: InstanceFile, search: Search[Solution]
    ) -> TerminationStatus:
        caller = self._callers[_name(cell)] = self._callers.pop(_name(cell))  # now last: most recently used
        try:
            self.usage = Usage()
            status, message, solution, self.usage = caller.call(instance, cell.limits.inner, cell.seed)
        finally:
            if not caller.clean:
                self._drop(_name(cell))
        if solution is not None:
            return _judged(solution, family, cell, instance, search)
        if status in STOPPED:
            search.say(message)
            return STOPPED[status]
        if status == TerminationStatus.NO_SOLUTION:
            return TerminationStatus.NO_SOLUTION
        raise CellEnded(status if status in ("rejected", "memory") else "error", message or f"it was {status}")

    def _command(
        self, family: AnyFamily, cell: Cell, instance: InstanceFile, search: Search[Solution]
    ) -> TerminationStatus:
        folder = _fresh_folder(self._folder, "command")
        path = os.path.join(folder, "instance.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(json_text(instance.as_data()))
        meter = Meter()
        try:
            claim = run_command(tuple(cell.method.what), path, folder)
        finally:
            self.usage = meter.usage()
            shutil.rmtree(folder, ignore_errors=True)  # the end of the study removes what this cannot
        return _judged(claim, family, cell, instance, search)


def _name(cell: Cell) -> tuple[str, str]:
    return cell.recipe.family, cell.method.label


def _judged(
    answer: object, family: AnyFamily, cell: Cell, instance: InstanceFile, search: Search[Solution]
) -> TerminationStatus:
    try:
        return judge(answer, family, instance, search, cell.method.label)
    except PolicyError as error:
        raise CellEnded(*status_of_error(error)) from None
