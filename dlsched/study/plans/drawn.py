"""Instances that a function of the user's own draws: its entry in a plan, and the call."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dlsched.core.errors import UsageError
from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import Refused, printable, shown
from dlsched.families import FAMILIES
from dlsched.own_methods import call_of_user, import_of_user
from dlsched.study.plans.grids import combination
from dlsched.study.plans.method_entries import hash_of_code, imported
from dlsched.study.plans.plan import Drawn, Parameters, Recipe
from dlsched.study.plans.refusals import Table, grid, one_of, plain, text

RESERVED = ("python", "family", "seeds")
NO_LABEL = ("seed", "jobs", "gpus")
"""Parameters that do not tell one kind of instances from another: rows have columns for them."""


def read_drawn(entry: Table, folder: Path, seeds: Sequence[int]) -> Drawn:
    """Read an entry of ``[[instances]]`` with ``python``, and draw its first instance to see whether it can be.

    Parameters
    ----------
    entry, folder
        Of the plan; paths are relative to the folder.
    seeds
        Those of the entry, read.

    Raises
    ------
    Refused
        The first thing that is wrong with it.
    """
    where = text(entry["python"], "python")
    home, _, name = where.rpartition(":")
    if not home or not name:
        raise Refused(shown(where), '"path.py:function" or "package.module:function"', "python")
    family = one_of(entry.get("family"), tuple(FAMILIES), "family")
    thing, file = imported(where, folder)
    asked: dict[str, Sequence[Json]] = {
        key: tuple(plain(each, *at) for at, each in grid(value, key))
        for key, value in entry.items()
        if key not in RESERVED
    }
    _require_parameters(thing, where, asked)
    if "seed" in inspect.signature(thing).parameters:
        asked["seed"] = seeds
    elif "seeds" in entry:
        raise Refused(shown(entry["seeds"]), f"none, as {where} has no parameter seed", "seeds")
    path = str((folder / home).absolute()) if home.endswith(".py") else home
    fingerprint = hash_of_code(thing, file, where, folder)
    found = Drawn(family, where, f"{path}:{name}", str(folder.absolute()), asked, fingerprint)
    try:
        draw(recipe_of(found, combination(found.grid, 0)))
    except UsageError as error:
        raise Refused(
            f"{shown(where)} ({error})", f"a function that returns an instance of {family}", "python"
        ) from None
    return found


def _require_parameters(thing: Callable[..., object], where: str, asked: Mapping[str, object]) -> None:
    known = inspect.signature(thing).parameters
    if "seed" in asked:
        raise Refused("an unknown parameter", 'seeds = "first:end"', "seed")
    free = any(each.kind is each.VAR_KEYWORD for each in known.values())
    for key in asked:
        if key not in known and not free:
            raise Refused("an unknown parameter", f"only {', '.join(name for name in known if name != 'seed')}", key)
    for each in known.values():
        variable = each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL)
        if each.default is each.empty and not variable and each.name not in (*asked, "seed"):
            raise Refused("nothing", f"a value, as {where} has no default for it", each.name)


def recipe_of(source: Drawn, arguments: dict[str, Json]) -> Recipe:
    """How the instance of a combination of arguments comes about."""
    seed = arguments.get("seed")
    data: dict[str, Json] = {
        "python": source.function,
        "folder": source.folder,
        "fingerprint": source.fingerprint,
        "arguments": arguments,
    }
    return Recipe(source.family, source.what, label_of(arguments), seed if isinstance(seed, int) else None, data)


def label_of(arguments: Parameters) -> str:
    """Say what tells the kind of an instance: texts as they are, other values with the name of their parameter."""
    named = [
        value if isinstance(value, str) else f"{key} {printable(str(value))}"
        for key, value in arguments.items()
        if key not in NO_LABEL and value is not None
    ]
    return ", ".join(named)


def draw(recipe: Recipe) -> InstanceFile:
    """Call the function of a recipe.

    Raises
    ------
    UsageError
        The function raises an error, or returns something else than an instance of the family.
    """
    data = recipe.data
    match data:
        case {"python": str(function), "folder": str(folder), "fingerprint": str(mark), "arguments": dict(given)}:
            thing, file = _function(function, folder, mark)
            found = call_of_user(recipe.source, file, thing, given)
        case _:
            raise AssertionError(f"no recipe: {list(data)}")
    if not isinstance(found, InstanceFile) or found.family != recipe.family:
        what = f"an instance of {found.family}" if isinstance(found, InstanceFile) else shown(type(found).__name__)
        raise UsageError(f"{recipe.source}: found {what}, allowed: an instance of {recipe.family}")
    return found


@functools.lru_cache(maxsize=64)
def _function(function: str, folder: str, fingerprint: str) -> tuple[Callable[..., object], str]:
    """Import a function once for all its instances; ``fingerprint`` tells changed code from what was imported before."""
    del fingerprint
    return import_of_user(function, folder)
