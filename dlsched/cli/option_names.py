"""Parameters of a command: the options that set its arguments, as errors name them, and the files that it reads and writes."""

import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from dlsched.catalogue.import_options import OPTIONS
from dlsched.core.errors import UsageError
from dlsched.core.messages import printable

Parameter: TypeAlias = Any
"""A parameter of a command, Click's or Typer's own."""
WRITTEN = {"-o", "--store", "--plot", "--certificate", "--happened"}
"""Options that name a file to write, as those with the metavar OUT do."""
FILES = ("FILE", "OUT", "PLAN", "PROOF", "RESULT", "STORE")
"""Beginnings of the metavars of files."""


def options_of(parameters: Iterable[Parameter]) -> dict[str, str]:
    """Return the option that sets each argument of a command; ``parameters``: Click's."""
    options: dict[str, str] = {}
    for parameter in parameters:
        if parameter.param_type_name == "option":
            own = {option.lstrip("-").replace("-", "_"): option for option in parameter.opts if option.startswith("--")}
            options |= {OPTIONS[name].python: option for name, option in own.items() if name in OPTIONS} | own
            options.setdefault(parameter.name, parameter.opts[0])
    if "node_limit" in options:  # `nodes` of `Limits`
        options.setdefault("nodes", options["node_limit"])
    return options


def require_other_files(parameters: Iterable[Parameter], given: Mapping[str, object]) -> None:
    """Refuse a file to write that another parameter of the command names; ``given``: values by argument.

    Raises
    ------
    UsageError
        Writing would replace an input, or another output.
    """
    named = [(each, text) for each in parameters for text in _files(each, given.get(each.name))]
    for parameter, out in named:
        if out == "-" or not (parameter.metavar == "OUT" or WRITTEN & {*parameter.opts}):
            continue
        for other, text in named:
            if other is not parameter and _same(text, out):
                what = other.opts[-1] if other.param_type_name == "option" else other.metavar.rstrip(".")
                found = f"{printable(out)}, which {what} names too"
                raise UsageError(where=parameter.name, found=found, allowed="another file")


def _files(parameter: Parameter, value: object) -> list[str]:
    """Return the files that a value names: itself, or ``file.py`` of each ``file.py:function`` in it."""
    values = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    if str(parameter.metavar).startswith(FILES):
        return values
    words = (word.rpartition(":")[0] for each in values for word in each.split(","))
    return [word for word in words if word.endswith(".py")]


def _same(text: str, out: str) -> bool:
    """Whether writing ``out`` replaces the file ``text``; ``-``: the file that is redirected to standard input."""
    try:
        if os.path.exists(out):  # devices may be read and written
            return os.path.isfile(out) and os.path.samefile(0 if text == "-" else text, out)
        return text != "-" and os.path.realpath(text) == os.path.realpath(out)
    except (OSError, ValueError):
        return False
