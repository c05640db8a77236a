"""Entries ``[[instances]]`` of a plan with ``worst``: a search finds a method's worst instances."""

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from dlsched.catalogue.families import space
from dlsched.catalogue.option import Option
from dlsched.core.errors import UsageError
from dlsched.core.files import Json
from dlsched.core.messages import Refused, shown
from dlsched.families import FAMILIES
from dlsched.study.plans.grids import Grid, combinations
from dlsched.study.plans.method_entries import Code, hash_of_code, imported
from dlsched.study.plans.plan import Searched
from dlsched.study.plans.refusals import Table, grid, integer, not_negative, one_of, only, refused, text
from dlsched.study.recipes.recipe import label_of, seed_of
from dlsched.study.recipes.searched import PREFIX, SearchedRecipe

RESERVED = ("worst", "family", "seeds")
SHARED = ("jobs", "gpus", "preset")
OF_SEARCH = ("against", "budget")
"""Arguments of a search other than those of its space."""
SPACES = 1000
"""Largest number of spaces of an entry that are made as a test."""


def read_searched(entry: Table, folder: Path, seeds: Sequence[int], code: Code) -> list[Searched]:
    """Read an entry of ``[[instances]]`` with ``worst``, and make its spaces as a test.

    Parameters
    ----------
    entry, folder
        The entry, and the folder of the plan, to which paths are relative.
    seeds
        Seeds of the entry.
    code
        As ``imported`` takes it.

    Raises
    ------
    Refused
        The first thing that is wrong with it.
    """
    family = one_of(entry.get("family"), tuple(FAMILIES), "family")
    own = _options(family)
    only(entry, (*RESERVED, *SHARED, *own, *OF_SEARCH))
    asked: dict[str, Sequence[Json]] = {
        key: tuple(_value(family, own, key, each, at) for at, each in grid(value, key))
        for key, value in entry.items()
        if key not in RESERVED
    }
    _require_spaces(family, {key: values for key, values in asked.items() if key not in OF_SEARCH})
    found = []
    for at, each in grid(entry["worst"], "worst"):
        what = text(each, *at)
        method, fingerprint = _method(family, what, folder, at, code)
        values = {**asked, "seed": seeds}
        found.append(Searched(family, what, method, str(folder.absolute()), values, fingerprint))
    return found


def _options(family: str) -> Mapping[str, Option]:
    """Return the options of the family's space; `Refused` if the family has no space."""
    own = space(family)
    if own is None:
        having = (other for other in FAMILIES if space(other) is not None)
        raise Refused(shown(family), f"{', '.join(having)}, which have a space", "family")
    return own


def _value(family: str, own: Mapping[str, Option], key: str, value: object, at: tuple[str | int, ...]) -> Json:
    if key in ("jobs", "gpus", "budget"):
        return integer(value, 1, *at)
    if key == "preset":
        return one_of(value, FAMILIES[family].presets, *at)
    if key == "against":
        return one_of(value, (*FAMILIES[family].methods, *FAMILIES[family].aliases), *at)
    kind = own[key].kind
    if kind is bool:
        if not isinstance(value, bool):
            raise Refused(shown(value), "true or false", *at)
        return value
    if kind is float:
        return not_negative(value, *at)
    return integer(value, 0, *at) if kind is int else text(value, *at)


def _require_spaces(family: str, asked: Grid) -> None:
    from dlsched.worst.space import space_of

    for found in islice(combinations(asked), SPACES):
        arguments: dict[str, Any] = found
        try:
            space_of(family, **arguments)
        except UsageError as error:
            raise refused(error, arguments) from None


def _method(family: str, what: str, folder: Path, at: tuple[str | int, ...], code: Code) -> tuple[str, str]:
    """Return a method's name, or a user's method with an absolute path; and the hash of its code."""
    record = FAMILIES[family]
    if ":" not in what:
        names = [name for name in (*record.methods, *record.aliases) if record.method(name).kind != "bound"]
        return record.method(one_of(what, names, *at)).name, ""
    found = imported(what, folder, code, "worst")
    home, _, name = what.rpartition(":")
    path = str((folder / home).absolute()) if home.endswith(".py") else home
    return f"{path}:{name}", "" if found is None else hash_of_code(*found, what, folder)


def search_for(source: Searched, arguments: dict[str, Json]) -> SearchedRecipe:
    """Return the recipe of the instance for a combination of arguments."""
    kind, where = f"{PREFIX}{source.what}", (source.method, source.folder, source.fingerprint)
    label = ", ".join(filter(None, (kind, label_of(arguments))))
    return SearchedRecipe(source.family, kind, label, seed_of(arguments), *where, arguments)
