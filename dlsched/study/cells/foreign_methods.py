"""Users' methods in a plan: run in separate processes, their answers judged here."""

import os
import shutil
import tempfile
from functools import partial

from dlsched.core.errors import PolicyError
from dlsched.core.family import AnyFamily, AnyMethod, Method
from dlsched.core.files import json_text
from dlsched.core.instance import InstanceFile
from dlsched.core.result import Solution
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.processes.descendants import kill_descendants, newest_process
from dlsched.processes.memory import resident
from dlsched.processes.usage import Meter, Usage
from dlsched.results.answers import judge, status_of_error
from dlsched.solvers import child
from dlsched.study.cells.cell import Cell
from dlsched.study.cells.commands import printed
from dlsched.study.cells.functions import Caller
from dlsched.study.cells.outcome import CellEnded

STOPPED = {str(each): each for each in TerminationStatus if each.name in ("TIME_LIMIT", "NODE_LIMIT", "MEMORY_LIMIT")}
"""Statuses with which a user's method may end without an answer and without being at fault."""

IDLE = 0.25
"""Share of a cell's memory that idle processes of other functions may hold together while the cell runs."""


class ForeignMethods:
    """Runs methods that are not dlsched's own, and removes their processes and files afterwards.

    Parameters
    ----------
    folder
        For temporary files.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._callers: dict[tuple[str, str], Caller] = {}
        self._folders: dict[tuple[str, str], str] = {}
        self.usage = Usage()
        """Time and memory of the last run, as far as they are known; the caller resets this when a cell
        begins."""

    def make_room(self, cell: Cell) -> None:
        """End idle processes of other functions, least recently used first, until their memory is small."""
        idle = {name: caller.pid for name, caller in self._callers.items() if name != _name(cell)}
        most = IDLE * cell.limits.memory_gib * (1 << 30)
        if sum(resident(pid, shared=True) for pid in idle.values()) <= most:
            return  # the quick estimate is never below what they hold
        held = {name: resident(pid, shared=False) for name, pid in idle.items()}
        for name in idle:
            if sum(held.values()) <= most:
                return
            del held[name]
            self._drop(name)

    def prepare(self, cell: Cell) -> None:
        """Start the process of a function and import it there, unless it runs already or none is needed."""
        name = _name(cell)
        if cell.method.kind != "python" or (name in self._callers and os.path.isdir(self._folders[name])):
            return
        self._drop(name)  # its process is new, or something removed its folder
        self._folders[name] = self._fresh_folder("function")
        self._callers[name] = Caller(cell.recipe.family, cell.method, self._folders[name])

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

    def _call(
        self, family: AnyFamily, cell: Cell, instance: InstanceFile, search: Search[Solution]
    ) -> TerminationStatus:
        caller = self._callers[_name(cell)] = self._callers.pop(_name(cell))  # now last: most recently used
        try:
            self.usage = Usage()
            answer = caller.call(instance, cell.limits.inner, cell.seed)
        finally:
            if not caller.clean:
                self._drop(_name(cell))
        self.usage = answer.usage
        if answer.solution is not None:
            return _judged(answer.solution, family, cell, instance, search)
        if answer.status in STOPPED:
            search.say(answer.message)
            return STOPPED[answer.status]
        if answer.status == TerminationStatus.NO_SOLUTION:
            return TerminationStatus.NO_SOLUTION
        status = answer.status if answer.status in ("rejected", "memory") else "error"
        raise CellEnded(status, answer.message or f"it was {answer.status}")

    def _command(
        self, family: AnyFamily, cell: Cell, instance: InstanceFile, search: Search[Solution]
    ) -> TerminationStatus:
        folder = self._fresh_folder("command")
        path = os.path.join(folder, "instance.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(json_text(instance.as_data()))
        meter = Meter()
        try:
            claim = printed(tuple(cell.method.what), path, folder)
        finally:
            self.usage = meter.usage()
            shutil.rmtree(folder, ignore_errors=True)  # the end of the study removes what this cannot
        return _judged(claim, family, cell, instance, search)

    def _fresh_folder(self, name: str) -> str:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)  # a method may have removed it
        return tempfile.mkdtemp(prefix=f"{name}-", dir=self._folder)

    def _drop(self, name: tuple[str, str]) -> None:
        caller, folder = self._callers.pop(name, None), self._folders.pop(name, None)
        if caller is not None:
            caller.stop()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _name(cell: Cell) -> tuple[str, str]:
    return cell.recipe.family, cell.method.label


def _judged(
    answer: object, family: AnyFamily, cell: Cell, instance: InstanceFile, search: Search[Solution]
) -> TerminationStatus:
    try:
        return judge(answer, family, instance, search, cell.method.label)
    except PolicyError as error:
        raise CellEnded(*status_of_error(error)) from None
