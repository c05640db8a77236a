"""The instances of a plan, one recipe at a time: a study of many never holds them all."""

import glob
import hashlib
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from dlsched.core.errors import InputError
from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import shown
from dlsched.families import FAMILIES, instance_from, read
from dlsched.study.plans.drawn import draw, recipes_of
from dlsched.study.plans.plan import Drawn, Files, Generated, Given, Plan, Recipe, Searched
from dlsched.study.plans.windows import import_piece, pieces
from dlsched.study.plans.worst import found_by, searches_of


def recipes(plan: Plan) -> Iterator[Recipe]:
    """Yield how each instance of a plan comes about.

    Sources follow each other as in the plan. Of a grid the first argument varies slowest and the seed fastest; what several
    grids draw comes once; files are sorted, and one that several patterns match comes once; windows of a trace are in the
    order of time.

    Raises
    ------
    InputError, UsageError
        A file or trace that has changed since the plan was read, and is no longer valid.
    """
    several = sum(isinstance(source, Generated | Drawn | Searched) for source in plan.sources) > 1
    drawn = set[bytes]()
    for recipe in _recipes(plan):
        if several and "instance" not in recipe.data:
            digest = _digest(recipe)
            if digest in drawn:
                continue
            drawn.add(digest)
        yield recipe


def _digest(recipe: Recipe) -> bytes:
    """Tell an instance that is drawn from others, in few bytes."""
    text = json.dumps([recipe.family, dict(recipe.data)], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _recipes(plan: Plan) -> Iterator[Recipe]:
    seen = set[Path]()
    for source in plan.sources:
        if isinstance(source, Generated):
            yield from _generated(source)
        elif isinstance(source, Given):
            yield from source.recipes
        elif isinstance(source, Drawn):
            yield from recipes_of(source)
        elif isinstance(source, Searched):
            yield from searches_of(source)
        elif isinstance(source, Files):
            for name in _new_files(source, plan.folder, seen):
                yield _whole(read(plan.folder / name), name)
        else:
            for piece in pieces(source, plan.folder):
                yield _whole(import_piece(source, piece, plan.folder), piece.source)


def files_of(pattern: str, folder: Path) -> list[str]:
    """Return the files of a pattern as the plan names them, sorted; InputError: there is none."""
    named = [pattern] if (folder / pattern).is_file() else glob.glob(pattern, root_dir=folder, recursive=True)
    found = sorted(name for name in named if (folder / name).is_file())
    if not found:
        raise InputError(
            f"found {shown(pattern)}, allowed: a pattern of files that are there, relative to {folder.absolute()}"
        )
    return found


def instance_of(recipe: Recipe, step: Callable[[], None] = lambda: None) -> InstanceFile:
    """Make the instance of a recipe; ``step`` is called after every evaluation of a search for it.

    Raises
    ------
    UsageError
        Its generator does not take the arguments, the user's function fails, or a search finds none.
    """
    match recipe.data:
        case {"generate": dict(arguments)}:
            instance: InstanceFile = FAMILIES[recipe.family].generate(**arguments)
            return instance
        case {"instance": content}:
            return instance_from(content, recipe.source)
        case {"python": _}:
            return draw(recipe)
        case {"worst": _}:
            return found_by(recipe, step)
    raise AssertionError(f"no recipe: {list(recipe.data)}")


def _generated(source: Generated) -> Iterator[Recipe]:
    for values in itertools.product(*source.grid.values()):
        arguments: dict[str, Json] = dict(zip(source.grid, values, strict=True))
        preset, seed = arguments["preset"], arguments["seed"]
        assert isinstance(preset, str) and isinstance(seed, int)
        yield Recipe(source.family, "generate", preset, seed, {"generate": arguments})


def _whole(instance: InstanceFile, source: str) -> Recipe:
    return Recipe(instance.family, source, "", None, {"instance": instance.as_data()})


def _new_files(source: Files, folder: Path, seen: set[Path]) -> Iterator[str]:
    """Files of the patterns that were not seen yet, sorted by name."""
    named = {name for pattern in source.patterns for name in files_of(pattern, folder)}
    for name in sorted(named):
        path = (folder / name).resolve()
        if path not in seen:
            seen.add(path)
            yield name
