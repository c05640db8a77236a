"""How messages name options: errors name arguments as Python has them, and who reads them has typed options."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dlsched.catalogue.importing import OPTIONS

_HEAD = re.compile(r"[a-z_ ]+(, [a-z_ ]+)*(?=: found )")
_ARGUMENT = re.compile(r"(?<![\w.'\"-])[a-z]+(_[a-z]+)+_?(?![\w.'\"=])")


def as_typed(message: str, options: Mapping[str, str]) -> str:
    """Name options as they are typed: those that a message begins with, and, elsewhere, arguments that are no English words.

    >>> options = {"jobs": "--jobs", "max_gpus": "--max-gpus", "time_limit": "--time-limit"}
    >>> as_typed("max_gpus: found 0, allowed: an integer >= 1", options)
    '--max-gpus: found 0, allowed: an integer >= 1'
    >>> as_typed("jobs, max_gpus: found jobs 3, max_gpus 4, allowed: others (jobs[0].max_gpus: found 4)", options)
    '--jobs, --max-gpus: found jobs 3, --max-gpus 4, allowed: others (jobs[0].max_gpus: found 4)'
    >>> as_typed("time limit: found -1, allowed: seconds >= 0", options)
    '--time-limit: found -1, allowed: seconds >= 0'
    """
    found = _HEAD.match(message)
    head = found[0] if found else ""
    typed = ", ".join(options.get(name.replace(" ", "_"), name) for name in head.split(", "))
    return typed + _ARGUMENT.sub(lambda name: options.get(name[0], name[0]), message[len(head) :])


def options_of(parameters: Iterable[Any]) -> dict[str, str]:
    """By argument the option of a command that gives it; ``parameters``: Click's."""
    options: dict[str, str] = {}
    for parameter in parameters:
        if parameter.param_type_name == "option":
            own = {option.lstrip("-").replace("-", "_"): option for option in parameter.opts if option.startswith("--")}
            options |= {OPTIONS[name].python: option for name, option in own.items() if name in OPTIONS} | own
            options.setdefault(parameter.name, parameter.opts[0])
    if "node_limit" in options:  # `nodes` of `Limits`
        options.setdefault("nodes", options["node_limit"])
    return options
