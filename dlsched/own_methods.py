"""Methods of the user's own, by where they stand: ``file.py:function``, ``package.module:Policy``.

A function of an instance returns a solution of its family, or the data of one as result files hold it, or None where it
finds none; if it has a parameter ``tick``, it is handed a function to call in long loops, which ends it at a limit. A class
without arguments, or a function of an instance, may also return a policy: an object with ``decide``, which is simulated.
The checker judges every answer.
"""

import contextlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from dlsched.core.budget import Stopped
from dlsched.core.errors import InputError, PolicyError, UsageError
from dlsched.core.family import AnyFamily, AnyMethod, Method, Run
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import printable
from dlsched.core.result import Solution
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus


def method_named(family: AnyFamily, text: str) -> AnyMethod:
    """Return a method of the family by its name, or one of the user's own where a colon says so.

    Raises
    ------
    UsageError
        There is none, or the user's own cannot be imported.
    """
    return find_method_of_user(family, text) if ":" in text else family.method(text)


def find_method_of_user(family: AnyFamily, text: str) -> AnyMethod:
    """Import what ``text`` names, as a heuristic.

    Raises
    ------
    UsageError
        It is not there, cannot be called, or its module raises an error; the message says in which line.
    """
    home, _, name = text.rpartition(":")
    with _errors_of(text, home):
        module = _module(home)
    thing = getattr(module, name, None)
    if not callable(thing):
        raise UsageError(f"method: found {text!r}, allowed: a function or class that stands in {printable(home)}")
    return Method("_".join(text.split()), "heuristic", _runner(family, text, thing, module.__file__ or home))


def _module(home: str) -> ModuleType:
    if not home.endswith(".py"):
        with _searching(os.getcwd()):
            return import_module(home)
    spec = spec_from_file_location(f"own methods of {home}", home)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    with _searching(os.path.dirname(os.path.abspath(home))):
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _searching(folder: str) -> Iterator[None]:
    """Let modules of a folder be imported."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _runner(family: AnyFamily, text: str, thing: Callable[..., object], file: str) -> Run[InstanceFile, Solution]:
    def run(instance: InstanceFile, search: Search[Solution]) -> TerminationStatus:
        with _errors_of(text, file):
            answer = _called(thing, instance, search)
            if hasattr(answer, "decide"):
                answer = _simulated(family, instance, answer, search, text)
            if answer is None:
                return TerminationStatus.NO_SOLUTION
            data: object = answer.as_data() if hasattr(answer, "as_data") else answer
        solution = _read(family, instance, data, text)
        violations = search.violations(solution)
        if violations:
            raise PolicyError(f"{text}: its answer breaks {violations[0]}")
        search.offer(solution, source=text)
        return TerminationStatus.FEASIBLE

    return run


def _called(thing: Callable[..., object], instance: InstanceFile, search: Search[Solution]) -> object:
    if inspect.isclass(thing):
        return thing()
    takes_tick = "tick" in inspect.signature(thing).parameters
    return thing(instance, tick=search.tick) if takes_tick else thing(instance)


def _simulated(
    family: AnyFamily, instance: InstanceFile, policy: object, search: Search[Solution], text: str
) -> Solution:
    if family.simulate is None:
        raise UsageError(f"{text}: found a policy, allowed in {family.name}: a function from an instance to a solution")

    def step(progress: str) -> None:
        search.tick()
        search.report(progress)

    solution: Solution = family.simulate(instance, policy, step=step)
    return solution


def _read(family: AnyFamily, instance: InstanceFile, data: object, text: str) -> Solution:
    """Read an answer as that of a result file; so nothing but a solution passes."""
    if isinstance(data, dict) and "solution" in data:
        data = data["solution"]
    try:
        solution: Solution = family.read_solution(data, instance)
    except InputError as error:
        raise PolicyError(f"{text}: its answer: {error}") from None
    return solution


@contextlib.contextmanager
def _errors_of(text: str, file: str) -> Iterator[None]:
    """Say what the user's code raises, and where; what it prints goes to standard error."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (Stopped, PolicyError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, UsageError) and str(error).startswith(text):
            raise
        raise UsageError(f"{text}: {_where(error, file)}{type(error).__name__}: {printable(str(error))}") from None


def _where(error: BaseException, file: str) -> str:
    """File and line of the user's code in which the error arose; of others' code where it is not in a call."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{printable(os.path.basename(error.filename))}, line {error.lineno}: "
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen")]
    own = [frame for frame in frames if os.path.realpath(frame.filename) == os.path.realpath(file)]
    if not own and len(frames) > 1 and frames[-1].filename != __file__:
        own = frames
    return f"{printable(os.path.basename(own[-1].filename))}, line {own[-1].lineno}: " if own else ""
