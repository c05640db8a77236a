"""Recipes of the instances of a plan, one at a time, so that a large study never holds them all."""

import glob
from collections.abc import Iterator
from pathlib import Path

from dlsched.core.errors import InputError
from dlsched.core.files import Json
from dlsched.core.messages import shown
from dlsched.families import read
from dlsched.study.plans import drawn
from dlsched.study.plans.grids import Grid, combinations
from dlsched.study.plans.plan import Drawn, Files, Generated, Given, Gridded, Plan, Searched
from dlsched.study.plans.windows import import_piece, pieces
from dlsched.study.plans.worst import search_for
from dlsched.study.recipes.generated import GeneratedRecipe
from dlsched.study.recipes.given import given
from dlsched.study.recipes.recipe import Recipe


def recipes(plan: Plan) -> Iterator[Recipe]:
    """Yield the recipe of each instance of a plan.

    Sources are in the order of the plan. In a grid the first argument varies slowest and the seed fastest;
    an instance of several grids comes once; files are sorted, and a file that several patterns match comes
    once; windows of a trace are in order of time.

    Raises
    ------
    InputError, UsageError
        A file or trace changed since the plan was read, and is no longer valid.
    """
    for part in parts(plan):
        if isinstance(part, Recipe):
            yield part
        else:
            source, others = part
            yield from (recipe_of(source, arguments) for arguments in combinations(source.grid, others))


def parts(plan: Plan) -> Iterator[Recipe | tuple[Gridded, list[Grid]]]:
    """Yield recipes of files and traces, and whole grids, each with the earlier grids that may overlap it.

    Errors as ``recipes``.
    """
    seen = set[Path]()
    before: dict[tuple[str, ...], list[Grid]] = {}
    for source in plan.sources:
        if isinstance(source, Gridded):
            others = before.setdefault(_maker(source), [])
            yield source, list(others)
            others.append(source.grid)
        elif isinstance(source, Given):
            yield from source.recipes
        elif isinstance(source, Files):
            for name in _new_files(source, plan.folder, seen):
                yield given(read(plan.folder / name), name)
        else:
            for piece in pieces(source, plan.folder):
                yield given(import_piece(source, piece, plan.folder), piece.source)


def _maker(source: Gridded) -> tuple[str, ...]:
    """Identify the generator, function or search of a grid: grids overlap only if these are the same."""
    if isinstance(source, Generated):
        return ("generate", source.family)
    made = source.function if isinstance(source, Drawn) else source.method
    return (type(source).__name__, source.family, made, source.folder, source.fingerprint)


def recipe_of(source: Gridded, arguments: dict[str, Json]) -> Recipe:
    """Return the recipe of the instance for a combination of a grid."""
    if isinstance(source, Drawn):
        return drawn.recipe_of(source, arguments)
    if isinstance(source, Searched):
        return search_for(source, arguments)
    preset, seed = arguments["preset"], arguments["seed"]
    assert isinstance(preset, str) and isinstance(seed, int)
    return GeneratedRecipe(source.family, "generate", preset, seed, arguments)


def files_of(pattern: str, folder: Path) -> list[str]:
    """Return the files of a pattern, sorted, named relative to the plan; InputError if there are none."""
    named = [pattern] if (folder / pattern).is_file() else glob.glob(pattern, root_dir=folder, recursive=True)
    found = sorted(name for name in named if (folder / name).is_file())
    if not found:
        raise InputError(
            found=shown(pattern), allowed=f"a pattern of files that are there, relative to {folder.absolute()}"
        )
    return found


def _new_files(source: Files, folder: Path, seen: set[Path]) -> Iterator[str]:
    """Yield the files of the patterns that are not in ``seen``, sorted by name."""
    named = {name for pattern in source.patterns for name in files_of(pattern, folder)}
    for name in sorted(named):
        path = (folder / name).resolve()
        if path not in seen:
            seen.add(path)
            yield name
