"""The options of families' spaces, read from their ``space_of``: its keywords beside ``jobs``, ``gpus`` and ``preset``."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import takewhile
from types import NoneType
from typing import TypeAlias, cast, get_args

from dlsched import names
from dlsched.core.errors import UsageError
from dlsched.families import find_family
from dlsched.worst.space import Space, SpaceOf

SHARED = ("jobs", "gpus", "preset")
Value: TypeAlias = float | str | bool


@dataclass(frozen=True, slots=True)
class Option:
    """A keyword of a space: its type, its default (None: there is none), and what its docstring says of it."""

    kind: type[Value]
    default: Value | None
    words: str


def space_of(family: str, **options: Value | None) -> Space:
    """Return the space of a family's worst instances; options that are None are not given.

    Raises
    ------
    UsageError
        No such family, a family without a space, an option that it has not, or a value out of range.
    """
    name = find_family(family).name
    maker = _maker(name)
    if maker is None:
        raise UsageError(f"family: found {name!r}, allowed: {', '.join(filter(has_space, names.FAMILIES))}")
    given = {option: value for option, value in options.items() if value is not None}
    allowed = (*SHARED, *options_of(name))
    for option, value in given.items():
        if option not in allowed:
            raise UsageError(f"{option}: found {value}, allowed: no such option for {name}")
    return maker(**given)


def own_space(space: Space, family: str, given: Mapping[str, Value | None]) -> Space:
    """Return a space of the caller's own, which is of the family and has its sizes and options already.

    Raises
    ------
    UsageError
        It is of another family, or an option is given beside it.
    """
    if space.family.name != family:
        raise UsageError(f"space: found one of {space.family.name}, allowed: one of {family}")
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"{option}: found {value}, allowed: none beside a space of one's own")
    return space


def options_of(family: str) -> dict[str, Option]:
    """Return the own options of a family's space by name; none where it has no space."""
    maker = _maker(family)
    if maker is None:
        return {}
    parameters = inspect.signature(maker, eval_str=True).parameters.values()
    said = inspect.getdoc(maker) or ""
    return {
        each.name: Option(_kind(each.annotation), each.default, _said(said, each.name))
        for each in parameters
        if each.name not in SHARED
    }


def has_space(family: str) -> bool:
    """Whether worst instances of a family are searched."""
    return _maker(family) is not None


def _maker(family: str) -> SpaceOf | None:
    home = f"dlsched.worst.spaces.{family}"
    if find_spec(home) is None:
        return None
    maker: SpaceOf | None = getattr(import_module(home), "space_of", None)
    return maker


def _kind(annotation: object) -> type[Value]:
    """Return the type of a parameter, without None."""
    kinds = [kind for kind in get_args(annotation) or (annotation,) if kind is not NoneType]
    return cast(type[Value], kinds[0])


def _said(docstring: str, name: str) -> str:
    """Return what a docstring of numpydoc's says of a parameter; nothing where it says nothing."""
    lines = iter(docstring.splitlines())
    if all(name not in line.split(", ") for line in lines):
        return ""
    return (
        " ".join(line.strip() for line in takewhile(lambda line: line.startswith(" "), lines))
        .replace("``", "`")
        .rstrip(".")
    )
