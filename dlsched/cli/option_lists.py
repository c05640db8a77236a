"""Command lines as the option parser takes them: options that take several values are expanded, old spellings are replaced."""

import sys

from dlsched.catalogue.sources import SOURCES

RENAMED = {"compare": {"--plot-width": "--width"}}
"""New options of commands by old ones, which work for one more release."""
SOURCE_FIRST = ("import", "advise")
"""Commands that took SOURCE FILE, which works for one more release."""


def spread(arguments: list[str]) -> list[str]:
    """Let ``--solutions A B C`` stand for ``--solutions A --solutions B --solutions C``."""
    spread_out: list[str] = []
    inside = False
    for argument in modern(arguments):
        if argument.startswith("-") and argument != "-":
            inside = argument == "--solutions"
            if not inside:
                spread_out.append(argument)
        else:
            spread_out += ["--solutions", argument] if inside else [argument]
    return spread_out


def modern(arguments: list[str]) -> list[str]:
    """Replace old spellings, and say so on standard error."""
    command, *rest = arguments or [""]
    said = []
    for old, new in RENAMED.get(command, {}).items():
        changed = [each.replace(old, new, 1) if each.partition("=")[0] == old else each for each in rest]
        if changed != rest:
            rest = changed
            said.append(f"{old} is now {new}")
    if command in SOURCE_FIRST and not any(each.partition("=")[0] == "--source" for each in rest):
        place = next((at for at, each in enumerate(rest) if each in SOURCES), None)
        if place is not None:
            said.append(f"{command} SOURCE FILE is now {command} FILE --source SOURCE")
            rest = [*rest[:place], *rest[place + 1 :], "--source", rest[place]]
    for words in said:
        print(f"dlsched: {words}; the old spelling goes in the next release", file=sys.stderr)
    return [command, *rest] if arguments else []
