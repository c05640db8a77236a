"""Arguments of public functions: the callables that users hand over, the checks of generators' arguments, and old names."""

import copy
import functools
import inspect
import math
import sys
import warnings
from collections.abc import Callable, Collection
from typing import ParamSpec, Protocol, TypeVar

from dlsched.core.errors import InstanceError, UsageError
from dlsched.core.garbage import uncollected
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import shown
from dlsched.core.ranges import MODERATE


class Decider(Protocol):
    """A policy: an object with ``decide``, which dlsched simulates."""

    @property
    def decide(self) -> Callable[..., object]:
        """Called at every event; returns the units of each job."""


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
    return copy.deepcopy(policy)


def kind_of(thing: object) -> object:
    """Return the function or class that defines something callable: of a policy that is copied its class."""
    while isinstance(thing, functools.partial):
        thing = type(thing.args[0]) if thing.func is _copy else thing.func
    return thing


def file_of(thing: object) -> str:
    """File or cell of a notebook that defines a function or the methods of a class, else the file of its module."""
    # The first that has Python code says where it stands; classes have theirs in methods.
    for each in (thing, *(getattr(thing, name, None) for name in ("decide", "__call__", "__init__"))):
        code = getattr(inspect.unwrap(each) if callable(each) else each, "__code__", None)
        if code is not None:
            return str(code.co_filename)
    return getattr(sys.modules.get(getattr(thing, "__module__", "")), "__file__", None) or ""


ENGINES = ("local", "dask")


def require_engine(workers: int | None, engine: str = "local", scheduler: str | None = None) -> None:
    """Validate where a run is to go: UsageError for an unknown engine, scheduler or number."""
    if workers is not None and not (isinstance(workers, int) and workers >= 1):
        raise UsageError(where="workers", found=repr(workers), allowed="an integer >= 1")
    if engine not in ENGINES:
        raise UsageError(where="engine", found=repr(engine), allowed=", ".join(ENGINES))
    if scheduler is not None and engine != "dask":
        raise UsageError(where="scheduler", found=repr(scheduler), allowed="only with engine dask")


LARGEST_SEED = 10**4000
"""Seeds are below this: Python writes integers of up to 4,300 digits."""
LARGEST_DRAWN = 100_000_000
"""Largest count that a generator accepts: no memory holds an instance of more jobs."""

P = ParamSpec("P")
T = TypeVar("T")


def drawing(generate: Callable[P, T]) -> Callable[P, T]:
    """Make a generator raise ``UsageError``, naming the arguments given, when they yield no valid instance.

    The defaults always yield a valid instance, so the arguments that the caller gave are to blame.
    """

    @functools.wraps(generate)
    @uncollected()
    def call(*arguments: P.args, **named: P.kwargs) -> T:
        try:
            return generate(*arguments, **named)
        except InstanceError as error:
            blamed = {
                name: value for name, value in named.items() if name not in ("preset", "seed") and value is not None
            }
            raise UsageError(
                where=tuple(blamed) or "arguments",
                found={name: shown(value) for name, value in blamed.items()},
                allowed=f"those of which an instance can be made ({error})",
            ) from None

    return call


def require_preset(presets: Collection[str], preset: str) -> None:
    """Refuse an unknown preset, and say how to find out what each of them draws (UsageError).

    >>> require_preset(["mixed", "table"], "tables")
    Traceback (most recent call last):
    dlsched.core.errors.UsageError: preset: found 'tables', allowed: mixed, table (dlsched.presets() in Python describes them)
    """
    if preset not in presets:
        allowed = f"{', '.join(presets)} (dlsched.presets() in Python describes them)"
        raise UsageError(where="preset", found=repr(preset), allowed=allowed)


def require_arguments(presets: Collection[str], preset: str, seed: int, **counts: int | None) -> None:
    """Refuse an unknown preset, a count below 1 or above ``LARGEST_DRAWN`` (None: not given), or a wrong seed (UsageError).

    >>> require_arguments(["mixed"], "mixed", 0, jobs=10, gpus=0)
    Traceback (most recent call last):
    dlsched.core.errors.UsageError: gpus: found 0, allowed: an integer >= 1
    """
    require_preset(presets, preset)
    for name, value in counts.items():
        if value is not None and (not isinstance(value, int) or value < 1):
            found = repr(value) if isinstance(value, str) else shown(value)
            raise UsageError(where=name, found=found, allowed="an integer >= 1")
        if value is not None and value > LARGEST_DRAWN:
            raise UsageError(where=name, found=shown(value), allowed=f"an integer from 1 to {LARGEST_DRAWN:,}")
    require_seed(seed)


def require_seed(seed: object) -> None:
    """Refuse a seed that is no integer >= 0, or too large to be written (UsageError)."""
    number = isinstance(seed, int) and not isinstance(seed, bool)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        found = shown(seed) if number else repr(seed)
        raise UsageError(where="seed", found=found, allowed="an integer >= 0")
    if seed >= LARGEST_SEED:
        raise UsageError(where="seed", found=shown(seed), allowed="an integer of at most 4,000 digits")


def require_positive(**numbers: float | None) -> None:
    """Refuse a number that is not finite and > 0 (UsageError; None: not given)."""
    for name, number in numbers.items():
        if number is not None and not (isinstance(number, int | float) and 0 < number < math.inf):
            raise UsageError(where=name, found=repr(number), allowed="a number > 0")


def require_moderate(**numbers: float | None) -> None:
    """Refuse a number that is not > 0 and of a size that files hold, ``MODERATE`` (UsageError; None: not given)."""
    require_positive(**numbers)
    low, high = MODERATE
    for name, number in numbers.items():
        if number is not None and not low <= number <= high:
            raise UsageError(where=name, found=number, allowed=f"a number from {low:g} to {high:g}")


def renamed(**names: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function take arguments by their old names, too; ``names``: the new names by the old ones."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def call(*arguments: P.args, **named: P.kwargs) -> T:
            for old, new in names.items():
                if old in named:
                    message = f"{function.__qualname__}: {old}= is now {new}=, and goes in the next release"
                    warnings.warn(message, DeprecationWarning, stacklevel=2)
                    named.setdefault(new, named.pop(old))
            return function(*arguments, **named)

        return call

    return decorate
