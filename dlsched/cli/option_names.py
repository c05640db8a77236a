"""Options of a command by argument: errors name Python arguments, but readers know the options that they typed."""

from collections.abc import Iterable
from typing import Any

from dlsched.catalogue.import_options import OPTIONS


def options_of(parameters: Iterable[Any]) -> dict[str, str]:
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
