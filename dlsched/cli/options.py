"""Options that several commands share, those of the catalogue, and how a command line spells them."""

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, TypeAlias, TypeVar

import typer

from dlsched.catalogue import families as listed
from dlsched.catalogue.families import Option
from dlsched.cli import completion
from dlsched.core.errors import UsageError
from dlsched.core.messages import printable

InstancePath = Annotated[str, typer.Argument(metavar="FILE", help="Instance file, - for standard input.")]
FamilyName = Annotated[
    str, typer.Argument(metavar="FAMILY", help="Family, e.g. ring_allocation.", autocompletion=completion.families)
]
OutPath = Annotated[str | None, typer.Option("-o", metavar="OUT", help="Write to this file, whole or not at all.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on standard output.")]
TimeLimit = Annotated[float | None, typer.Option("--time-limit", metavar="S", help="Seconds; 0 starts no search.")]
NodeLimit = Annotated[int | None, typer.Option("--node-limit", metavar="N", help="Search nodes.")]
Threads = Annotated[int, typer.Option("--threads", metavar="N", help="Threads that a solver may use.")]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of every random draw.")]
Workers = Annotated[int | None, typer.Option(metavar="N", help="Processes; by default one for each processor.")]
Engine = Annotated[str, typer.Option(metavar="E", help="local, or dask.")]
Scheduler = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Of the scheduler of a Dask cluster; else one is started here."),
]
Linear = Annotated[
    str | None,
    typer.Option(
        "--formulation",
        metavar="F",
        help="A linear formulation of the family: milp, or else its first.",
        autocompletion=completion.formulations,
    ),
]


def names_in(text: str | None) -> list[str]:
    """Return the names of a list with commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


Command = TypeVar("Command", bound=Callable[..., int])


def taking(
    options: Iterable[Option],
    *,
    before: str,
    words: Mapping[str, str] | None = None,
    of_family: Callable[[str], Mapping[str, Option] | None] | None = None,
) -> Callable[[Command], Command]:
    """Let a command take options, placed before a parameter of its own, in place of its last parameter, ``**own``.

    That one gets the options that are not None. ``words``: what the help says of some of them in this command, by name.
    ``of_family``: gives the options of the family of an installed package, which the command takes where it is named.
    """
    usual = {each.python: _parameter(each, (words or {}).get(each.name, each.help)) for each in options}

    def decorate(run: Command) -> Command:
        *stated, _ = inspect.signature(run).parameters.values()
        at = [parameter.name for parameter in stated].index(before)

        def widen(line: Sequence[str]) -> None:
            """State what the command takes on a command line."""
            taken = dict(usual)
            if of_family is not None and not any(word in listed.FAMILIES for word in line):
                named = [word for word in line if word in listed.installed()]
                further = [option for name in named for option in (of_family(name) or {}).values()]
                taken |= {option.python: _parameter(option, option.help) for option in further}
            free = [each for name, each in taken.items() if all(name != parameter.name for parameter in stated)]
            # Typer makes options of it
            run.__signature__ = inspect.Signature([*stated[:at], *free, *stated[at:]])  # type: ignore[attr-defined]

        widen(())
        run.widen = widen  # type: ignore[attr-defined]
        return run

    return decorate


def _parameter(option: Option, words: str) -> inspect.Parameter:
    def complete(incomplete: str) -> list[str]:
        return [choice for choice in option.choices if choice.startswith(incomplete)]

    kind: Any = option.kind
    option_of = typer.Option(
        option.flag, metavar=option.metavar or None, help=words, autocompletion=complete if option.choices else None
    )
    return inspect.Parameter(
        option.python,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=None,
        annotation=Annotated[kind | None, option_of],
    )


Parameter: TypeAlias = Any
"""A parameter of a command, Click's or Typer's own."""
WRITTEN = {"-o", "--store", "--plot", "--certificate", "--happened"}
"""Options that name a file to write, as those with the metavar OUT do."""
FILES = ("FILE", "OUT", "PLAN", "PROOF", "RESULT", "STORE")
"""Beginnings of the metavars of files."""


def options_of(parameters: Iterable[Parameter]) -> dict[str, str]:
    """Return the option that sets each argument of a command; ``parameters``: Click's."""
    from dlsched.catalogue.sources import OPTIONS  # needed where something is wrong

    options: dict[str, str] = {}
    for parameter in parameters:
        if parameter.param_type_name == "option":
            own = {option.lstrip("-").replace("-", "_"): option for option in parameter.opts if option.startswith("--")}
            options |= {OPTIONS[name].python: option for name, option in own.items() if name in OPTIONS} | own
            options.setdefault(parameter.name, parameter.opts[0])
    if "node_limit" in options:  # `nodes` of `Limits`
        options.setdefault("nodes", options["node_limit"])
    return options


def require_other_files(parameters: Iterable[Parameter], values: Mapping[str, object]) -> None:
    """Refuse a file to write that another parameter of the command names, as an input or output (UsageError)."""
    named = [(each, text) for each in parameters for text in _files(each, values.get(each.name))]
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
