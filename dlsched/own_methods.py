"""Methods of the user's own: functions and policies, or their location, ``file.py:function``, ``package.module:Policy``.

A function of an instance returns a solution or its data, or None; with the parameter ``tick`` it gets a function for long
loops, which ends it at a limit, with ``seed`` the run's. A class, or such a function, may also give a policy, an object with
``decide``, which is simulated. The checker judges every answer; ``dlsched.solving`` kills a function that passes its time limit.
"""

import base64
import contextlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from time import perf_counter
from types import ModuleType

from dlsched.core.arguments import file_of, kind_of
from dlsched.core.errors import PolicyError, UsageError
from dlsched.core.family import AnyFamily, AnyMethod, Method, Run
from dlsched.core.files import Json
from dlsched.core.imports import needing
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Stopped
from dlsched.core.messages import Refused, printable
from dlsched.core.part import plain
from dlsched.core.result import Solution, SolutionT
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus


def find_method_of_user(
    family: AnyFamily, text: str, parameters: Mapping[str, Json] | None = None, folder: str | None = None
) -> AnyMethod:
    """Import what ``text`` names, ``file.py:name`` or ``package.module:name``, as a heuristic on the instances of a family.

    ``folder`` is searched first (None: the current one). UsageError: it does not exist, cannot be called, does not take one of
    the ``parameters``, or its module raises; the message says in which line.
    """
    thing, file = import_of_user(text, folder)
    try:
        require_parameters(thing, parameters or {})
    except Refused as error:
        raise UsageError(f"{error.where[0]}: {error}", where=text) from None
    run = runner(family, text, thing, parameters or {}, file)
    return Method("_".join(text.split()), "heuristic", run, seeded="seed" in handed(thing))


PICKLED = "pickled:"
"""Begins the text of a function of a session, which cloudpickle wrote in base64."""
NEED_OF_CLOUDPICKLE = "a function of a notebook or a script needs cloudpickle to reach other processes"


def import_of_user(text: str, folder: str | None = None) -> tuple[Callable[..., object], str]:
    """Import what ``text`` names, and return it with the file in which its module stands; see ``find_method_of_user``."""
    home, _, name = text.rpartition(":")
    if home.startswith(PICKLED):
        return _unpickled(home, name, os.getcwd() if folder is None else folder)
    with errors_of_user(text, home):
        module = _module(home, os.getcwd() if folder is None else folder)
    thing = getattr(module, name, None)
    if not callable(thing):
        raise UsageError(
            where="method", found=repr(text), allowed=f"a function or class that stands in {printable(home)}"
        )
    return thing, getattr(module, "__file__", None) or home


def session_text(thing: Callable[..., object]) -> str:
    """Write a function or class of the session as ``pickled:...:name``; UsageError: no cloudpickle, or what it cannot pickle."""
    with needing(NEED_OF_CLOUDPICKLE, "dask", UsageError):
        import cloudpickle
    kind = kind_of(thing)
    name = re.sub(r"\W+", "_", getattr(kind, "__qualname__", type(kind).__name__)).strip("_")
    try:
        content = cloudpickle.dumps(thing)
    except Exception as error:  # whatever objects that the function refers to raise
        raise UsageError(
            where="methods",
            found=f"{name}, which cannot be handed to another process ({printable(str(error))})",
            allowed="a function that refers to data, functions and modules",
        ) from None
    return f"{PICKLED}{base64.b64encode(content).decode()}:{name}"


def _unpickled(home: str, name: str, folder: str) -> tuple[Callable[..., object], str]:
    """Make a function of a session anew, and return it with the file or cell that defined it."""
    with needing(NEED_OF_CLOUDPICKLE, "dask", UsageError):
        import cloudpickle
    with errors_of_user(name, ""), _searching(folder):
        thing: Callable[..., object] = cloudpickle.loads(base64.b64decode(home.removeprefix(PICKLED)))
    return thing, file_of(thing)


def call_of_user(text: str, file: str, thing: Callable[..., object], arguments: Mapping[str, Json]) -> object:
    """Call what ``import_of_user`` returned with arguments by name; UsageError: what it raises, and where."""
    with errors_of_user(text, file):
        return thing(**arguments)


def require_parameters(thing: Callable[..., object], parameters: Mapping[str, Json]) -> None:
    """Refuse, below its name, a parameter that a function or class does not take, or that a run itself hands over."""
    known = _parameters(thing)
    if any(each.kind is each.VAR_KEYWORD for each in known.values()):
        return
    allowed = [name for name, each in known.items() if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)]
    allowed = [name for name in allowed[0 if inspect.isclass(thing) else 1 :] if name not in HANDED]
    for name in parameters:
        if name not in allowed:
            raise Refused("an unknown parameter", f"only {', '.join(allowed)}" if allowed else "none", name)


HANDED = ("tick", "seed")
"""Parameters that a run hands to a function that has them."""


def handed(thing: Callable[..., object]) -> list[str]:
    """Return those of ``HANDED`` that a function or class has."""
    known = _parameters(thing)
    return [name for name in HANDED if name in known]


def _parameters(thing: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    """Return parameters by name; none for compiled code that does not list them."""
    try:
        return inspect.signature(thing).parameters
    except ValueError:
        return {}


def _module(home: str, folder: str) -> ModuleType:
    if not home.endswith(".py"):
        with _searching(folder):
            return import_module(home)
    spec = spec_from_file_location(f"own methods of {home}", os.path.join(folder, home))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    with _searching(os.path.dirname(os.path.abspath(os.path.join(folder, home)))):
        spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _searching(folder: str) -> Iterator[None]:
    """Make modules of a folder importable."""
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def runner(
    family: AnyFamily,
    text: str,
    thing: Callable[..., object],
    parameters: Mapping[str, Json],
    file: str,
    *,
    in_program: bool = False,
) -> Run[InstanceFile, Solution]:
    """Return how a function or policy runs here; ``text`` is its name and ``file`` where it stands, both for messages."""

    def run(instance: InstanceFile, search: Search[Solution]) -> TerminationStatus:
        from dlsched.results.answers import judge  # needed for users' methods alone

        with errors_of_user(text, file, in_program=in_program):
            own = instance.apart()  # Python lets code change what is immutable, and answers are judged by the original
            began = perf_counter()
            try:
                answer = called(thing, own, search, parameters)
                if hasattr(answer, "decide"):
                    answer = _simulated(family, instance, answer, search, text)
            finally:
                search.called_s = perf_counter() - began
            data: object = plain(answer.as_data() if hasattr(answer, "as_data") else answer)
        try:
            return judge(data, family, instance, search, text)
        except PolicyError as error:
            raise type(error)(f"{text}: {error}") from None

    return run


def called(
    thing: Callable[..., object], instance: InstanceFile, search: Search[SolutionT], parameters: Mapping[str, Json]
) -> object:
    """Call a function of an instance, or a class, with what a run hands over and further parameters."""
    arguments = {"tick": search.tick, "seed": search.seed}
    named = {name: arguments[name] for name in handed(thing)} | dict(parameters)
    return thing(**named) if inspect.isclass(thing) else thing(instance, **named)


def _simulated(
    family: AnyFamily, instance: InstanceFile, policy: object, search: Search[Solution], text: str
) -> Solution:
    if family.simulate is None:
        raise UsageError(
            f"found a policy, allowed in {family.name}: a function from an instance to a solution", where=text
        )

    def step(progress: str) -> None:
        search.tick()
        search.report(progress)

    solution: Solution = family.simulate(instance, policy, step=step)
    return solution


@contextlib.contextmanager
def errors_of_user(text: str, file: str, *, in_program: bool = False) -> Iterator[None]:
    """Say what the user's code raises, and where; unless it is ``in_program``, what it prints goes to standard error."""
    try:
        with contextlib.nullcontext() if in_program else contextlib.redirect_stdout(sys.stderr):
            yield
    except (Stopped, PolicyError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        if isinstance(error, UsageError) and error.where == (text,):
            raise
        raised = UsageError(f"{_where(error, file)}{type(error).__name__}: {printable(str(error))}", where=text)
        raise raised from error if in_program else None


def _where(error: BaseException, file: str) -> str:
    """File and line of the user's code that raised the error, or of other code if no call is the user's."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{printable(os.path.basename(error.filename))}, line {error.lineno}: "
    others = ("<frozen", import_module.__code__.co_filename)
    # Frames of the import machinery say nothing about the code of the user.
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(others)]
    own = [frame for frame in frames if os.path.realpath(frame.filename) == os.path.realpath(file)]
    if not own and len(frames) > 1 and frames[-1].filename != __file__:
        own = frames
    if not own:
        return ""
    cell = "ipykernel_" in own[-1].filename  # a cell of a notebook has the name of a temporary file
    return f"{'the cell' if cell else printable(os.path.basename(own[-1].filename))}, line {own[-1].lineno}: "
