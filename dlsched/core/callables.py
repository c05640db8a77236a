"""Functions, classes and policies that users hand over as methods: what a run calls, and what defines it."""

import copy
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Protocol

from dlsched.core.errors import UsageError
from dlsched.core.instance import InstanceFile


class Decider(Protocol):
    """A policy: an object with ``decide``, which dlsched simulates."""

    @property
    def decide(self) -> Callable[..., object]:
        """Called at every event; returns the units of each job."""
        ...


def callable_of(method: object) -> Callable[..., object]:
    """Return what a run calls for a function, a class or a policy, which is copied; UsageError for anything else."""
    if not inspect.isclass(method) and hasattr(method, "decide"):
        return functools.partial(_copy, method)
    if not callable(method):
        allowed = "a name, file.py:function, a function of an instance, a policy, or a Method"
        raise UsageError(where="method", found=type(method).__name__, allowed=allowed)
    return method


def _copy(policy: object, instance: InstanceFile) -> object:
    """Return a policy as it is now, so that each run begins with the same."""
    del instance
    return copy.deepcopy(policy)


def kind_of(thing: object) -> object:
    """Return the function or class that defines something callable: of a policy that is copied its class."""
    while isinstance(thing, functools.partial):
        thing = type(thing.args[0]) if thing.func is _copy else thing.func
    return thing


def file_of(thing: object) -> str:
    """File or cell of a notebook that defines a function or the methods of a class, else the file of its module."""
    for each in (thing, *(getattr(thing, name, None) for name in ("decide", "__call__", "__init__"))):
        code = getattr(inspect.unwrap(each) if callable(each) else each, "__code__", None)
        if code is not None:
            return str(code.co_filename)
    return getattr(sys.modules.get(getattr(thing, "__module__", "")), "__file__", None) or ""
