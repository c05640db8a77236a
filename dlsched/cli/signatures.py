"""Signatures of commands whose options come from records of the catalogue."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, TypeVar

import typer

from dlsched.catalogue.option import Option

Command = TypeVar("Command", bound=Callable[..., int])


def taking(
    options: Iterable[Option], *, before: str, words: Mapping[str, str] | None = None
) -> Callable[[Command], Command]:
    """Let a command take options in place of its last parameter, ``**own``, which gets the options that are not None.

    Parameters
    ----------
    options
        In the order of the help.
    before
        The parameter of the command before which the options are placed.
    words
        What the help says of some of them in this command, by name.
    """
    said = words or {}

    def decorate(run: Command) -> Command:
        *stated, _ = inspect.signature(run).parameters.values()
        at = [parameter.name for parameter in stated].index(before)
        made = [_parameter(option, said.get(option.name, option.help)) for option in options]
        # Typer makes options of it
        run.__signature__ = inspect.Signature([*stated[:at], *made, *stated[at:]])  # type: ignore[attr-defined]
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
