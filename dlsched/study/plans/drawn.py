"""Entries ``[[instances]]`` of a plan with ``python``: a user's function draws the instances."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dlsched.core.errors import UsageError
from dlsched.core.files import Json
from dlsched.core.messages import Refused, shown
from dlsched.families import FAMILIES
from dlsched.own_methods import PICKLED
from dlsched.study.plans.grids import combination, combinations
from dlsched.study.plans.method_entries import Code, hash_of_code, imported
from dlsched.study.plans.plan import Drawn, Given
from dlsched.study.plans.refusals import Table, grid, one_of, plain, text
from dlsched.study.recipes.drawn import DrawnRecipe
from dlsched.study.recipes.given import drawn
from dlsched.study.recipes.recipe import label_of, seed_of

RESERVED = ("python", "family", "seeds")


def read_drawn(entry: Table, folder: Path, seeds: Sequence[int], code: Code) -> Drawn | Given:
    """Read an entry of ``[[instances]]`` with ``python``, and draw its first instance as a test; all with code of the session.

    Parameters
    ----------
    entry, folder
        The entry, and the folder of the plan, to which paths are relative.
    seeds
        Seeds of the entry.
    code
        As ``imported`` takes it; where none may run, nothing of the function is known.

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
    known = imported(where, folder, code)
    asked: dict[str, Sequence[Json]] = {
        key: tuple(plain(each, *at) for at, each in grid(value, key))
        for key, value in entry.items()
        if key not in RESERVED
    }
    path = str((folder / home).absolute()) if home.endswith(".py") else home
    if known is None:
        if "seeds" in entry:
            asked["seed"] = seeds
        return Drawn(family, where, f"{path}:{name}", str(folder.absolute()), asked, "")
    thing, file = known
    of_session = home.startswith(PICKLED)
    what = name if of_session else where
    _require_parameters(thing, what, asked)
    if "seed" in inspect.signature(thing).parameters:
        asked["seed"] = seeds
    elif "seeds" in entry:
        raise Refused(shown(entry["seeds"]), f"none, as {what} has no parameter seed", "seeds")
    fingerprint = "" if of_session else hash_of_code(thing, file, where, folder)
    found = Drawn(family, what, f"{path}:{name}", str(folder.absolute()), asked, fingerprint)
    try:
        if of_session:  # a store that named its code would have to be trusted
            return Given(tuple(drawn(recipe_of(found, arguments)) for arguments in combinations(found.grid)))
        recipe_of(found, combination(found.grid, 0)).make()
    except UsageError as error:
        raise Refused(
            f"{shown(what)} ({error})", f"a function that returns an instance of {family}", "python"
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


def recipe_of(source: Drawn, arguments: dict[str, Json]) -> DrawnRecipe:
    """Return the recipe of the instance for a combination of arguments."""
    where = source.function, source.folder, source.fingerprint
    return DrawnRecipe(source.family, source.what, label_of(arguments), seed_of(arguments), *where, arguments)
