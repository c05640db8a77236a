"""Shell completion of the catalogue's names, limited to the family on the command line if it is known."""

import re
from collections.abc import Callable, Iterable

import typer

from dlsched.catalogue import families as listed
from dlsched.catalogue.families import FAMILIES
from dlsched.catalogue.solvers import SOLVERS
from dlsched.catalogue.sources import QUEUES, SOURCES

_HEAD = 1000  # bytes read of an instance file


def families(incomplete: str) -> list[str]:
    """Complete a family."""
    return _beginning(incomplete, FAMILIES)


def sources(incomplete: str) -> list[str]:
    """Complete a kind of public file."""
    return _beginning(incomplete, SOURCES)


def queues(incomplete: str) -> list[str]:
    """Complete a kind of file of a workload manager."""
    return _beginning(incomplete, QUEUES)


def solvers(incomplete: str) -> list[str]:
    """Complete a solver."""
    return _beginning(incomplete, SOLVERS)


def presets(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a preset of the family that was named."""
    return _beginning(incomplete, _of_family(ctx, listed.presets))


def formulations(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a formulation of the file's family."""
    return _beginning(incomplete, _of_family(ctx, listed.formulations))


def methods(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a method of the file's family."""
    return _beginning(incomplete, _of_family(ctx, listed.methods))


def method_lists(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the last method of a list with commas; none twice."""
    before, comma, last = incomplete.rpartition(",")
    others = [name for name in _of_family(ctx, listed.methods) if name not in before.split(",")]
    return [before + comma + name for name in _beginning(last, others)]


def _beginning(incomplete: str, known: Iterable[str]) -> list[str]:
    return [name for name in known if name.startswith(incomplete)]


def _of_family(ctx: typer.Context, asked: Callable[[str], tuple[str, ...]]) -> list[str]:
    """Return names for the families that the command line determines so far, or for all families if it does not."""
    parameters = ctx.params
    words = [parameters.get("file"), parameters.get("family"), *(parameters.get("files") or ()), *ctx.args]
    meant = {word if word in FAMILIES else _family_of(word) for word in words if word}
    rows = [asked(family) for family in FAMILIES if family in meant] or map(asked, FAMILIES)
    return list(dict.fromkeys(name for row in rows for name in row))


def _family_of(path: str) -> str | None:
    """Return the family of an instance file from its first bytes, where dlsched writes the format."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = re.search(r'"dlsched/(\w+)/1"', file.read(_HEAD))
    except OSError:
        return None
    return None if found is None else found[1]
