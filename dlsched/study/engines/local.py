"""The local engine: runs cells in processes of this machine, each under a supervisor that enforces limits from outside.

No code that runs in a cell is trusted to keep limits: a method may hang in native code, fork, or write anywhere.
"""

import os
import pickle
import selectors
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from dlsched.core.errors import SolverError
from dlsched.processes.contained import Contained
from dlsched.processes.streams import Frames, Tail
from dlsched.processes.usage import MemoryLimit
from dlsched.processes.warden import death
from dlsched.study.cells.cell import BEGUN, MAKING, READY, Cell, Facts, Outcome, outcome_from
from dlsched.study.recipes import LAST, Recipe

START_S = 120.0
"""Seconds within which a process has to report that it is ready."""
STARTS = 3
"""Attempts to start a process that is killed before it is ready."""
SERVE = "dlsched.study.cells.runner:serve"
_READ = 1 << 20
"""Largest number of bytes that one read takes from a pipe."""
_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Supervisor:
    """Supervises one process and the cells that were assigned to it; ``folder``, the plan's, is its working directory."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._process: Contained | None = None
        self._cells: deque[Cell] = deque()
        self._facts: Facts | None = None
        self._sent: Recipe = LAST
        self._begun = False
        self._starts = 0

    @property
    def idle(self) -> bool:
        """Whether no cell is assigned."""
        return not self._cells

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return self._process is not None

    def register(self, selector: selectors.BaseSelector) -> None:
        """Register the pipes of the process, which has to be alive, with a selector."""
        selector.register(self._outcomes, selectors.EVENT_READ)
        if self._printed is not None:
            selector.register(self._printed, selectors.EVENT_READ)
        if self._unsent:
            selector.register(self._tasks, selectors.EVENT_WRITE)

    def assign(self, cells: Sequence[Cell]) -> None:
        """Assign cells to the process, and start it if there is none; only when idle. ``SolverError``: it cannot be started."""
        self._cells.extend(cells)
        if self._process is None:
            self._start()
        before: list[Recipe] = [self._sent, *(cell.recipe for cell in cells)]
        self._sent = before.pop()
        sent = [
            replace(each, recipe=LAST) if each.recipe == last else each
            for each, last in zip(cells, before, strict=True)
        ]
        self._unsent = memoryview(pickle.dumps(sent))
        self._since = time.monotonic()
        self._memory.begin()
        self._send()

    def give_up(self) -> list[Cell]:
        """Return the cells that had not begun when the process ended."""
        remaining = list(self._cells)
        self._cells.clear()
        return remaining

    def due_s(self) -> float:
        """Seconds, >= 0, until ``outcomes`` has to be called again."""
        return max(0.0, min(self._deadline(), self._memory.due) - time.monotonic())

    def outcomes(self) -> list[Outcome]:
        """Return the outcomes since the last call; ``SolverError``: the process does not become ready."""
        self._send()
        ended = self._arrived()
        if self._process is not None and self._cells:
            limits = self._cells[0].limits
            if time.monotonic() >= self._deadline():
                if not self._ready:
                    self.stop()
                    raise SolverError(f"no process for cells comes up in {START_S:g} s")
                late = f"killed {limits.grace_s:g} s after its limit of {limits.time_s:g} s"
                ended.append(self._ended("timeout", late))
            elif self._memory.exceeded(limits.memory_gib):
                ended.append(self._ended("memory", f"killed at more than {limits.memory_gib:g} GiB"))
        return ended

    def stop(self) -> None:
        """Kill the process and everything it started."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.end()
        for pipe in (self._tasks, self._outcomes):
            os.close(pipe)

    def _start(self) -> None:
        its_tasks, self._tasks = os.pipe()
        self._outcomes, its_outcomes = os.pipe()
        # Hash order and threads of BLAS must not differ between processes: equal cells give equal rows.
        environment = {"PYTHONHASHSEED": "0"} | dict.fromkeys(_ONE_THREAD, "1")
        try:
            self._process = Contained(
                SERVE, [its_tasks, its_outcomes], environment=environment, cwd=self._folder, captured=True
            )
        except OSError as error:
            for pipe in (self._tasks, self._outcomes):
                os.close(pipe)
            raise SolverError(f"no process for cells can be started in {self._folder or '.'}: {error}") from None
        finally:
            os.close(its_tasks)
            os.close(its_outcomes)
        self._printed: int | None = self._process.stderr
        # One loop serves all processes, so that no pipe may block it.
        for pipe in (self._tasks, self._outcomes, self._printed):
            os.set_blocking(pipe, False)
        self._frames, self._tail, self._unsent = Frames(), Tail(), memoryview(b"")
        self._memory = MemoryLimit(self._process.pid)
        self._ready, self._facts, self._sent = False, None, LAST

    def _send(self) -> None:
        """Write as much of the cells as the pipe accepts, without blocking: the process may hang."""
        while self._process is not None and self._unsent:
            try:
                self._unsent = self._unsent[os.write(self._tasks, self._unsent) :] or memoryview(b"")
            except BlockingIOError:
                return
            except BrokenPipeError:  # it died, and closed its pipe of outcomes
                self._unsent = memoryview(b"")

    def _deadline(self) -> float:
        if not self._cells:
            return float("inf")
        limits = self._cells[0].limits
        return self._since + (limits.time_s + limits.grace_s if self._ready else START_S)

    def _arrived(self) -> list[Outcome]:
        """Read the pipes of a live process; report its end, and anything that is no outcome."""
        self._read_printed()
        ended: list[Outcome] = []
        # Read until the pipe is empty: frames may be cut anywhere, and the process may stop in the middle of one.
        while self._process is not None:
            try:
                arrived = os.read(self._outcomes, _READ)
            except BlockingIOError:
                break
            try:
                contents = self._frames.feed(arrived)
                ended += [outcome for content in contents for outcome in self._outcomes_in(content)]
            except ValueError as error:
                ended += self._died(f"wrote on dlsched's own pipe: {error}")
                break
            if not arrived:
                ended += self._died(None)
        return ended

    def _read_printed(self) -> None:
        """Read what the process prints; only the last line is kept, for messages."""
        while self._printed is not None:
            try:
                arrived = os.read(self._printed, _READ)
            except BlockingIOError:
                return
            self._tail.feed(arrived)
            if not arrived:
                self._printed = None

    def _outcomes_in(self, content: bytes) -> list[Outcome]:
        """Read a frame: any sign of life restarts the cell's time; return the outcome of a cell that ended."""
        self._since = time.monotonic()
        self._memory.begin()
        if content == READY:
            self._ready, self._starts = True, 0
            return []
        outcome = outcome_from(content)
        # Cells run in their order: an outcome of another key does not come from this work.
        if not self._cells or outcome.key != self._cells[0].key:
            raise ValueError("found the outcome of a cell that does not run")
        if outcome.status in (BEGUN, MAKING):
            self._facts = outcome.facts or self._facts
            self._begun = outcome.status == BEGUN
            return []
        self._begun = False
        self._cells.popleft()
        return [self._with_facts(outcome)]

    def _with_facts(self, outcome: Outcome) -> Outcome:
        facts, self._facts = self._facts, None
        return outcome if facts is None else replace(outcome, facts=facts)

    def _died(self, why: str | None) -> list[Outcome]:
        """Report that the process ended, or has to end: its first cell, if it has one, ends with it."""
        assert self._process is not None
        code = None
        if why is None:
            code = self._process.wait()
            self._read_printed()
        self.stop()
        if not self._cells:
            return []
        status, words = ("error", why or "closed dlsched's own pipe") if code is None else death(code)
        if not self._ready:
            self._starts += 1
            if status == "error" or self._starts >= STARTS:
                raise SolverError(f"no process for cells comes up: {self._tail.last_line or words}")
            return []  # somebody killed it; another process gets the cells
        return [self._ended(status, self._tail.last_line or words if status == "error" else words)]

    def _ended(self, status: str, message: str) -> Outcome:
        """Kill the process, and return this outcome of its first cell."""
        self.stop()
        begun, self._begun = self._begun, False
        cell = self._cells.popleft()
        message += "" if begun or cell.method.kind == "search" else ", before its method began"
        return self._with_facts(Outcome(cell.key, status, message))


def wait(supervisors: Sequence[Supervisor]) -> None:
    """Wait until one of these live supervisors has something to read, or a deadline passes."""
    with selectors.DefaultSelector() as selector:
        for supervisor in supervisors:
            supervisor.register(selector)
        selector.select(min((supervisor.due_s() for supervisor in supervisors), default=0.0))


BATCH_S = 0.25
"""Seconds of work in a batch, so that a process need not wait for more work between short cells."""
LARGEST_BATCH = 256  # cells; those that a process which dies had not begun are handed out again


class Pace:
    """Estimates the number of cells in a batch that lasts ``batch_s`` seconds, from the time of recent cells."""

    def __init__(self, batch_s: float) -> None:
        self._batch_s = self._mean_s = batch_s

    @property
    def cells(self) -> int:
        """Cells of a batch, >= 1."""
        return max(1, min(LARGEST_BATCH, int(self._batch_s / self._mean_s)))

    def learn(self, outcomes: Sequence[Outcome]) -> None:
        """Learn from ended cells; cells that died without figures count as long: batches get short."""
        for outcome in outcomes:
            time_s = self._batch_s if outcome.time_s is None else outcome.time_s + 1e-4
            self._mean_s += 0.05 * (time_s - self._mean_s)  # an exponential mean of about twenty cells


def run(
    cells: Iterator[Cell], workers: int, folder: str, wanted: Callable[[], bool] = lambda: True
) -> Generator[list[Outcome], None, None]:
    """Run cells in ``workers`` >= 1 processes that work in ``folder``, while that is wanted; yield outcomes as they arrive.

    Closing the generator kills the running cells. ``SolverError``: no process can be started.
    """
    supervisors = [Supervisor(folder) for _ in range(workers)]
    try:
        yield from drive(supervisors, cells, wanted)
    finally:
        for supervisor in supervisors:
            supervisor.stop()


def drive(
    supervisors: Sequence[Supervisor], cells: Iterator[Cell], wanted: Callable[[], bool] = lambda: True
) -> Generator[list[Outcome], None, None]:
    """Run cells with these supervisors while ``wanted``; leave the processes running. Errors as ``run``."""
    pace = Pace(BATCH_S)
    again: deque[Cell] = deque()  # cells that had not begun when their process died
    while True:
        # Idle processes get a batch each; cells that another one's death held up come first.
        for supervisor in supervisors:
            if not supervisor.alive:
                again.extend(supervisor.give_up())
            if supervisor.idle:
                few = min(pace.cells, len(again))
                batch = [again.popleft() for _ in range(few)] or list(islice(cells, pace.cells))
                if batch:
                    supervisor.assign(batch)
        busy = [supervisor for supervisor in supervisors if not supervisor.idle]
        if not busy:
            return
        wait([supervisor for supervisor in busy if supervisor.alive])
        if not wanted():
            for supervisor in supervisors:
                supervisor.stop()
                supervisor.give_up()
            return
        ended = [outcome for supervisor in busy for outcome in supervisor.outcomes()]
        if ended:
            pace.learn(ended)
            yield ended
