"""Functions, classes and policies of a session, a notebook's cell or a script: as text that other processes make them of again.

They have no module that could be imported, so cloudpickle, which Dask uses for the same, writes them by value with all that
they refer to in the session. What they import stays a reference.
"""

import hashlib
import io
import sys
from collections import ChainMap
from collections.abc import Callable, Mapping
from types import CodeType
from typing import ClassVar, TypeGuard

from dlsched.core.errors import UsageError
from dlsched.core.files import Json
from dlsched.core.imports import needing
from dlsched.own_methods import NEED_OF_CLOUDPICKLE, PICKLED

OF_SESSION = ", a function of the session"
"""Follows the name of a function of a session in the text of a plan."""


def is_of_session(thing: object) -> TypeGuard[Callable[..., object]]:
    """Whether something callable is that of no imported module by its name: other processes cannot import it."""
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", "")
    return callable(thing) and (module == "__main__" or getattr(sys.modules.get(str(module)), name, None) is not thing)


def without_code(held: Mapping[str, Json]) -> dict[str, Json]:
    """Replace functions and instances of a session by their names, in a plan that is written for people."""
    return {key: _named(value) for key, value in held.items()}


def _named(value: Json) -> Json:
    if isinstance(value, str) and value.startswith(PICKLED):
        return f"{value.rpartition(':')[2]}{OF_SESSION}"
    if isinstance(value, dict):
        inline = value.get("instance")
        return {"instance": inline.get("name")} if isinstance(inline, dict) else without_code(value)
    return [_named(each) for each in value] if isinstance(value, list) else value


def hash_of_session_code(thing: Callable[..., object]) -> str:
    """Hash a function or class of the session with all that it refers to there; lines and files do not count."""
    with needing(NEED_OF_CLOUDPICKLE, "dask", UsageError):
        import cloudpickle

    class Stable(cloudpickle.Pickler):  # type: ignore[misc]
        dispatch_table: ClassVar = ChainMap({CodeType: _without_lines}, cloudpickle.Pickler.dispatch_table)

    content = io.BytesIO()
    Stable(content).dump(thing)
    tracked = cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_CLASS  # random names, one a class and session
    found = content.getvalue()
    for name in tracked.values():
        found = found.replace(name.encode(), b"")
    return hashlib.sha256(found).hexdigest()


def _without_lines(code: CodeType) -> tuple[object, ...]:
    """Reduce code to what it does."""
    names = ("co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_flags", "co_argcount")
    more = ("co_kwonlyargcount", "co_posonlyargcount", "co_exceptiontable")
    return tuple, ([getattr(code, name) for name in (*names, *more)],)
