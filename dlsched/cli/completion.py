"""Shell completion of the catalogue's names, limited to the family on the command line if it is known."""

import re
from collections.abc import Callable, Iterable

import typer

from dlsched.catalogue import families as listed

_HEAD = 1000  # bytes read of an instance file


def _any_of(target: str) -> Callable[[str], list[str]]:
    """Complete names of a table in the catalogue, which is imported when it is asked for."""

    def complete(incomplete: str) -> list[str]:
        return _beginning(incomplete, listed.load(f"dlsched.catalogue.{target}"))

    return complete


def _asked_of_family(asked: Callable[[str], tuple[str, ...]]) -> Callable[[typer.Context, str], list[str]]:
    """Complete names of the family that was named, or of the file's."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        return _beginning(incomplete, _of_family(ctx, asked))

    return complete


sources, queues, solvers = map(_any_of, ("sources:SOURCES", "sources:QUEUES", "solvers:SOLVERS"))
presets, formulations, methods = map(_asked_of_family, (listed.presets, listed.formulations, listed.methods))


def families(incomplete: str) -> list[str]:
    """Complete the name of a family."""
    return _beginning(incomplete, listed.names())


def method_lists(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the last method of a list with commas; none twice."""
    before, comma, last = incomplete.rpartition(",")
    others = [name for name in _of_family(ctx, listed.methods) if name not in before.split(",")]
    return [before + comma + name for name in _beginning(last, others)]


def _beginning(incomplete: str, known: Iterable[str]) -> list[str]:
    return [name for name in known if name.startswith(incomplete)]


def _of_family(ctx: typer.Context, asked: Callable[[str], tuple[str, ...]]) -> list[str]:
    """Return names for the families that the command line determines so far, or for all of dlsched's if it does not."""
    parameters = ctx.params
    words = [parameters.get("file"), parameters.get("family"), *(parameters.get("files") or ()), *ctx.args]
    meant = {word if word in listed.FAMILIES else _family_of(word) or word for word in words if word}
    known = listed.FAMILIES if meant <= listed.FAMILIES.keys() else listed.names()
    rows = [asked(family) for family in known if family in meant] or map(asked, listed.FAMILIES)
    return list(dict.fromkeys(name for row in rows for name in row))


def _family_of(path: str) -> str | None:
    """Return the family of an instance file from its first bytes, where dlsched writes the format."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = re.search(r'"dlsched/(\w+)/1"', file.read(_HEAD))
    except OSError:
        return None
    return None if found is None else found[1]
