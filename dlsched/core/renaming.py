"""Old names of arguments, which work for one more release and say so."""

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def renamed(**names: str) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Let a function take arguments by their old names, too; ``names``: the new names by the old ones."""

    def decorate(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        @functools.wraps(function)
        def call(*arguments: Parameters.args, **given: Parameters.kwargs) -> Returned:
            for old, new in names.items():
                if old in given:
                    said = f"{function.__qualname__}: {old}= is now {new}=, and goes in the next release"
                    warnings.warn(said, DeprecationWarning, stacklevel=2)
                    given.setdefault(new, given.pop(old))
            return function(*arguments, **given)

        return call

    return decorate
