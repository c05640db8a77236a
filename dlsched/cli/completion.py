"""What shells complete: the names of ``dlsched.names``, those of the family that is meant where it can be seen."""

import re
from collections.abc import Callable, Iterable

import typer

from dlsched import names

_HEAD = 1000  # bytes of an instance file that are looked at


def families(incomplete: str) -> list[str]:
    """Complete a family."""
    return _beginning(incomplete, names.FAMILIES)


def sources(incomplete: str) -> list[str]:
    """Complete a kind of public file."""
    return _beginning(incomplete, names.SOURCES)


def queues(incomplete: str) -> list[str]:
    """Complete a kind of file of a workload manager."""
    return _beginning(incomplete, names.QUEUES)


def slices(incomplete: str) -> list[str]:
    """Complete what becomes of jobs on parts of GPUs."""
    return _beginning(incomplete, names.SLICES)


def solvers(incomplete: str) -> list[str]:
    """Complete a solver."""
    return _beginning(incomplete, names.SOLVERS)


def presets(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a preset of the family that was named."""
    return _beginning(incomplete, _of_family(ctx, names.presets))


def formulations(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a formulation of the file's family."""
    return _beginning(incomplete, _of_family(ctx, names.formulations))


def methods(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete a method of the file's family."""
    return _beginning(incomplete, _of_family(ctx, names.methods))


def method_lists(ctx: typer.Context, incomplete: str) -> list[str]:
    """Complete the last method of a list with commas; none twice."""
    before, comma, last = incomplete.rpartition(",")
    left = [name for name in _of_family(ctx, names.methods) if name not in before.split(",")]
    return [before + comma + name for name in _beginning(last, left)]


def _beginning(incomplete: str, known: Iterable[str]) -> list[str]:
    return [name for name in known if name.startswith(incomplete)]


def _of_family(ctx: typer.Context, asked: Callable[[str], tuple[str, ...]]) -> list[str]:
    """Names of the families that the command line speaks of so far; of all where it does not say."""
    given = ctx.params
    words = [given.get("file"), given.get("family"), *(given.get("files") or ()), *ctx.args]
    meant = {word if word in names.FAMILIES else _family_of(word) for word in words if word}
    rows = [asked(family) for family in names.FAMILIES if family in meant] or map(asked, names.FAMILIES)
    return list(dict.fromkeys(name for row in rows for name in row))


def _family_of(path: str) -> str | None:
    """Family of an instance file, from its first bytes: the format stands there in what dlsched writes."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            found = re.search(r'"dlsched/(\w+)/1"', file.read(_HEAD))
    except OSError:
        return None
    return None if found is None else found[1]
