"""Instances on which a method does worst, as a search finds them: their entry in a plan, and the search."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from dlsched.catalogue.families import space
from dlsched.catalogue.option import Option
from dlsched.core.errors import UsageError
from dlsched.core.family import AnyMethod
from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import Refused, shown
from dlsched.families import FAMILIES
from dlsched.own_methods import find_method_of_user
from dlsched.study.plans.drawn import label_of
from dlsched.study.plans.grids import Grid, combinations
from dlsched.study.plans.method_entries import hash_of_code, imported
from dlsched.study.plans.plan import Recipe, Searched
from dlsched.study.plans.refusals import Table, grid, integer, not_negative, one_of, only, text

RESERVED = ("worst", "family", "seeds")
SHARED = ("jobs", "gpus", "preset")
OF_SEARCH = ("against", "budget")
"""What a search takes beside what makes its space."""
SPACES = 1000
"""Spaces of an entry that are made to see whether they can be."""


def read_searched(entry: Table, folder: Path, seeds: Sequence[int]) -> list[Searched]:
    """Read an entry of ``[[instances]]`` with ``worst``, and make its spaces to see whether they can be.

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
        method, fingerprint = _method(family, what, folder, at)
        values = {**asked, "seed": seeds}
        found.append(Searched(family, what, method, str(folder.absolute()), values, fingerprint))
    return found


def _options(family: str) -> Mapping[str, Option]:
    """Own options of the family's space; `Refused` where it has none."""
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
    from dlsched.worst.options import space_of

    for found in islice(combinations(asked), SPACES):
        arguments: dict[str, Any] = found
        try:
            space_of(family, **arguments)
        except UsageError as error:
            key, _, words = str(error).partition(": found ")
            value, _, allowed = words.partition(", allowed: ")
            if key not in arguments or not allowed:
                raise
            raise Refused(value, allowed, key) from None


def _method(family: str, what: str, folder: Path, at: tuple[str | int, ...]) -> tuple[str, str]:
    """Name of a method, or where one of the user's own stands, the path absolute; and the hash of its code."""
    record = FAMILIES[family]
    if ":" not in what:
        names = [name for name in (*record.methods, *record.aliases) if record.method(name).kind != "bound"]
        return record.method(one_of(what, names, *at)).name, ""
    thing, file = imported(what, folder, "worst")
    home, _, name = what.rpartition(":")
    path = str((folder / home).absolute()) if home.endswith(".py") else home
    return f"{path}:{name}", hash_of_code(thing, file, what, folder)


def search_for(source: Searched, arguments: dict[str, Json]) -> Recipe:
    """How the instance of a combination of arguments comes about."""
    seed = arguments["seed"]
    assert isinstance(seed, int)
    data: dict[str, Json] = {
        "worst": source.method,
        "folder": source.folder,
        "fingerprint": source.fingerprint,
        "arguments": arguments,
    }
    kind = f"worst {source.what}"
    return Recipe(source.family, kind, ", ".join(filter(None, (kind, label_of(arguments)))), seed, data)


def found_by(recipe: Recipe, step: Callable[[], None]) -> InstanceFile:
    """Search for the instance of a recipe, and call ``step`` after every evaluation.

    Its name has the arguments that were given; its ``source`` says the command and the ratio, and whether the method failed
    on others.

    Raises
    ------
    UsageError
        As ``find_worst``.
    """
    from dlsched.worst.finding import find_worst

    match recipe.data:
        case {"worst": str(method), "folder": str(folder), "arguments": dict(arguments)}:
            chosen: str | AnyMethod = method
            if ":" in method:
                chosen = find_method_of_user(FAMILIES[recipe.family], method, folder=folder)
            options: dict[str, Any] = arguments
            worst = find_worst(recipe.family, chosen, progress=lambda progress: step(), **options)
        case _:
            raise AssertionError(f"no recipe: {list(recipe.data)}")
    name = "-".join([worst.instance.name, *(_word(*each) for each in options.items())])
    source = (worst.instance.source or "").replace(method, recipe.source.removeprefix("worst "))
    if worst.failures:
        source += f"; on {len(worst.failures)} others it fails: {worst.failures[0].message}"
    return worst.instance.model_copy(update={"name": name, "source": source})


def _word(key: str, value: object) -> str:
    """What tells instances apart that were searched with other arguments: ``capped``, ``jobs2``, ``no-sends``."""
    if isinstance(value, bool):
        return key if value else f"no-{key}"
    return value if isinstance(value, str) else f"{key}{value}"


def evaluations_of(recipe: Recipe) -> int:
    """Evaluations of the search of a recipe."""
    from dlsched.worst.finding import BUDGET

    arguments = recipe.data["arguments"]
    budget = arguments.get("budget", BUDGET) if isinstance(arguments, dict) else BUDGET
    assert isinstance(budget, int)
    return budget


def shorter(recipe: Recipe, evaluations: int) -> Recipe:
    """Return the recipe of the same search with so many evaluations at most."""
    arguments = recipe.data["arguments"]
    assert isinstance(arguments, dict)
    budget = min(evaluations, evaluations_of(recipe))
    return replace(recipe, data={**recipe.data, "arguments": {**arguments, "budget": budget}})
