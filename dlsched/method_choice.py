"""The choice of a method: what users name or hand over, as a method of a family.

Under a time limit a method of the user's own runs in a contained process, which is killed at the limit.
"""

import functools
import itertools
import os
import re
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import TypeAlias

from dlsched.core.arguments import Decider, callable_of, file_of, kind_of
from dlsched.core.errors import UsageError
from dlsched.core.family import AnyFamily, AnyMethod, Method
from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits
from dlsched.core.result import Solution
from dlsched.core.search import Search
from dlsched.core.status import TerminationStatus
from dlsched.families import FAMILIES, require_own
from dlsched.own_methods import find_method_of_user, handed, import_of_user, runner, session_text
from dlsched.results.answers import judge
from dlsched.solvers.child import FUNCTION, OutOfTime, call

GRACE_S = 0.1
"""Seconds past its limit after which a function is killed; within them, one that calls ``tick`` ends by itself."""

_Asked: TypeAlias = tuple[str, str, str, str, int]
"""Family, name, what the process imports, folder, and a number, so that it imports anew what is imported anew here."""

_numbers = itertools.count()


MethodLike: TypeAlias = str | AnyMethod | Callable[..., object] | Decider
"""A method of a family: its name, ``file.py:function``, a record, a function, a policy class, or a policy."""


def method_of(family: AnyFamily, method: MethodLike) -> AnyMethod:
    """Return what is meant by a method, whichever way it is given; see the module.

    Raises
    ------
    UsageError
        There is no such method, or it is nothing that answers.
    """
    if isinstance(method, Method):
        require_own(family, method)
        return method
    if isinstance(method, str):
        return method_named(family, method)
    thing = callable_of(method)
    kind = kind_of(thing)
    own = getattr(kind, "__qualname__", type(kind).__qualname__).rpartition(".")[2]
    home = getattr(kind, "__module__", None) or type(kind).__module__
    text = f"{home}:{re.sub(r'[^0-9A-Za-z_]+', '', own) or 'function'}"
    run = runner(family, text, thing, {}, file_of(kind), given=True)
    return _stoppable(family, Method(text, "heuristic", run, seeded="seed" in handed(thing)), text, thing)


def method_named(family: AnyFamily, text: str) -> AnyMethod:
    """Return a method of the family by its name, or one of the user's own if the name has a colon.

    Raises
    ------
    UsageError
        There is no such method, or the user's own cannot be imported.
    """
    return _stoppable(family, find_method_of_user(family, text), text) if ":" in text else family.method(text)


def _stoppable(
    family: AnyFamily, method: AnyMethod, text: str, thing: Callable[..., object] | None = None
) -> AnyMethod:
    """Have a method run in a process of its own whenever the time is limited.

    Parameters
    ----------
    family, method
        The family of the instances, and the method as it runs here.
    text
        Its name, for messages.
    thing
        What it calls, which cloudpickle sends to the process; None: what the process imports by ``text``.
    """
    folder, number = os.getcwd(), next(_numbers)

    def run(instance: InstanceFile, search: Search[Solution]) -> TerminationStatus:
        limits = search.budget.limits
        if limits.time_s is None:
            return method.run(instance, search)
        search.tick()
        in_process = functools.partial(call, of=FUNCTION, waiting=lambda: search.report(f"{text} runs"))
        try:
            asked: _Asked = (family.name, text, text if thing is None else session_text(thing), folder, number)
            in_process(f"{__name__}:prepare", asked, time_s=None)
        except UsageError as error:
            search.say(f"ran without a limit: {error.found or error}")
            return method.run(instance, search)
        began = perf_counter()
        try:
            status, message, answer, search.called_s = in_process(
                f"{__name__}:solve", asked, instance, limits, search.seed, time_s=limits.time_s, grace_s=GRACE_S
            )
        except OutOfTime:
            search.called_s = perf_counter() - began
            search.say(f"killed at its limit of {limits.time_s:g} s")
            return TerminationStatus.TIME_LIMIT
        search.say(message)
        return TerminationStatus(status) if answer is None else judge(answer, family, instance, search, text)

    return replace(method, run=run)


def prepare(asked: _Asked) -> None:
    """Import a method in the process, before its time begins."""
    _imported(asked)


def solve(asked: _Asked, instance: InstanceFile, limits: Limits, seed: int) -> tuple[str, str, Json, float]:
    """Run a method in the process; return status, message, the data of its solution, and the seconds of its call."""
    result = FAMILIES[asked[0]].solve(instance, method=_imported(asked), limits=limits, seed=seed)
    answer = None if result.solution is None else result.solution.as_data()
    return str(result.status), result.message, answer, result.runtime_s


@functools.lru_cache(maxsize=16)
def _imported(asked: _Asked) -> AnyMethod:
    family, text, imported, folder, _ = asked
    thing, file = import_of_user(imported, folder)
    return Method(text, "heuristic", runner(FAMILIES[family], text, thing, {}, file))
