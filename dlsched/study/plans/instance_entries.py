"""Entries ``[[instances]]`` of a plan: grids of generators, files, traces, draws by functions, searches for worst instances."""

import inspect
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

from dlsched.catalogue.declaration import Option
from dlsched.catalogue.families import space
from dlsched.catalogue.import_options import OPTIONS
from dlsched.catalogue.sources import SOURCES
from dlsched.core.arguments import LARGEST_DRAWN
from dlsched.core.errors import UsageError
from dlsched.core.files import Json
from dlsched.core.messages import Refused, shown
from dlsched.families import FAMILIES, instance_from, read
from dlsched.own_methods import PICKLED
from dlsched.study.plans.method_entries import Code, hash_of_code, imported
from dlsched.study.plans.plan import (
    Drawn,
    Files,
    Generated,
    Given,
    Grid,
    Searched,
    Source,
    Windows,
    combination,
    combinations,
)
from dlsched.study.plans.refusals import (
    MOST_CELLS,
    Refusals,
    Table,
    grid,
    integer,
    not_negative,
    one_of,
    only,
    plain,
    positive,
    refused,
    table,
    text,
    too_large,
)
from dlsched.study.plans.sources import files_of, import_piece, pieces, recipe_of
from dlsched.study.recipes import Recipe, recipe_of_instance, recipe_of_result

_FROM_0 = ("alpha",)  # options of generators that may be 0
MOST_SEEDS = 1_000_000
"""Largest number of seeds of a source."""

JOBS_DRAWN = 5_000
"""Total of jobs in the instances that are drawn to test whether a generator accepts the sizes of a
source."""

MEMORY = "memory"
"""Source of instances that a program hands over."""
SORTS = ("family", "files", "import")
CALLED = ("worst", "python")
"""Keys that make an entry one of another sort although it has ``family`` too."""
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def read_source(
    entry: object, folder: Path, refusals: Refusals, index: int, code: Code
) -> tuple[list[Source], set[str]]:
    """Read an entry: return its sources and their families; errors are added to ``refusals``; ``code``: as ``imported``."""
    found, families = list[Source](), set[str]()
    with refusals.at("instances", index):
        asked = table(entry)
        if asked.keys() == {"instance"}:
            instance = instance_from(asked["instance"], MEMORY)  # type: ignore[arg-type]
            return [Given((recipe_of_instance(instance, MEMORY),))], {instance.family}
        sorts = (
            [next(key for key in CALLED if key in asked)]
            if any(key in asked for key in CALLED)
            else [sort for sort in SORTS if sort in asked and not (sort == "family" and "import" in asked)]
        )
        if len(sorts) != 1:
            raise Refused(" and ".join(sorts) or f"none of {', '.join(SORTS)}", "exactly one of them")
        if sorts == ["worst"]:
            found += read_searched(asked, folder, seeds_of(asked.get("seeds", 0)), code)
            families.add(str(asked["family"]))
        elif sorts == ["python"]:
            found.append(read_drawn(asked, folder, seeds_of(asked.get("seeds", 0)), code))
            families.add(str(asked["family"]))
        elif sorts == ["family"]:
            found += _generated(asked)
            families |= {each.family for each in found if isinstance(each, Generated)}
        elif sorts == ["files"]:
            only(asked, ("files",))
            patterns = tuple(text(each, *where) for where, each in grid(asked["files"], "files"))
            for position, pattern in enumerate(patterns):
                families |= _families_of(pattern, folder, refusals, ("instances", index, "files", position))
            found.append(Files(patterns))
        else:
            traces = list(_windows(asked))
            found += traces
            families |= _families_of_traces(traces, folder)
    return found, families


def _families_of(pattern: str, folder: Path, refusals: Refusals, where: tuple[str | int, ...]) -> set[str]:
    """Read the files of a pattern, to validate them, and return the families of their instances."""
    families = set[str]()
    with refusals.at(*where):
        for name in files_of(pattern, folder):
            with refusals.at(*where):
                families.add(read(folder / name).family)
    return families


def _families_of_traces(traces: Sequence[Windows], folder: Path) -> set[str]:
    """Import the first instance of each trace, as a test, and return the families."""
    known: dict[Json, str] = {}
    jobs = 0
    for trace in traces:
        asked = trace.options.get("family")
        if asked not in known or jobs < JOBS_DRAWN:
            instance = import_piece(trace, next(pieces(trace, folder)), folder)
            known[asked] = instance.family
            jobs += len(getattr(instance, "jobs", ()))
    return set(known.values())


def _generated(entry: Table) -> Iterator[Generated]:
    for where, name in grid(entry["family"], "family"):
        family = FAMILIES[one_of(name, tuple(FAMILIES), *where)]
        defaults = {key: each.default for key, each in inspect.signature(family.generate).parameters.items()}
        sizes = [key for key in defaults if key not in ("preset", "seed")]
        only(entry, ("family", "preset", *sizes, "seeds"))
        asked: dict[str, Sequence[Json]] = {"preset": (next(iter(family.presets)),)}
        if "preset" in entry:
            asked["preset"] = tuple(one_of(each, family.presets, *at) for at, each in grid(entry["preset"], "preset"))
        for key in sizes:
            if key in entry:
                kind = family.options[key].kind if key in family.options else int
                asked[key] = tuple(_own_option(kind, each, at) for at, each in grid(entry[key], key))
            elif defaults[key] is not None:
                asked[key] = (defaults[key],)
        asked["seed"] = seeds_of(entry.get("seeds", 0))
        yield Generated(family.name, asked)


def _own_option(kind: type, value: object, where: tuple[str | int, ...]) -> Json:
    """Read an option of a generator: checks type, sign and the limit of counts; the generator the rest."""
    if kind is str:
        return text(value, *where)
    if kind is int:
        count = integer(value, 1, *where)
        if count > LARGEST_DRAWN:
            raise Refused(shown(count), f"an integer from 1 to {LARGEST_DRAWN:,}", *where)
        return count
    return not_negative(value, *where) if where[0] in _FROM_0 else positive(value, *where)


def seeds_of(value: object) -> Sequence[int]:
    """Read seeds: one, a list, ``first:end`` or ``first:end:step``, the end excluded as in Python."""
    if not isinstance(value, str):
        return tuple(integer(each, 0, *where) for where, each in grid(value, "seeds"))
    match = re.fullmatch(r"\s*([0-9]{1,4000})\s*:\s*([0-9]{1,4000})\s*(?::\s*([0-9]{1,4000})\s*)?", value)
    allowed = 'an integer >= 0, a list of them, or text such as "0:200" or "0:200:2", the end left out'
    if match is None or (match[3] is not None and int(match[3]) == 0):
        raise Refused(shown(value), allowed, "seeds")
    first, end, step = int(match[1]), int(match[2]), int(match[3] or 1)
    if first >= end:
        raise Refused(f"{shown(value)}, which holds no seed", allowed, "seeds")
    if (end - first - 1) // step >= MOST_SEEDS:
        raise Refused(shown(value), f"at most {MOST_SEEDS:,} seeds", "seeds")
    return range(first, end, step)


def require_sizes(source: Generated) -> None:
    """Draw an instance for every combination of sizes, smallest first, until ``JOBS_DRAWN`` jobs are drawn.

    Raises
    ------
    Refused
        The generator does not take them.
    """
    drawn = 0
    for arguments in _small_first(source.grid):
        drawn += _jobs(arguments)
        if drawn > JOBS_DRAWN:
            return
        try:
            FAMILIES[source.family].generate(**arguments)
        except UsageError as error:
            others = [f"{name} = {value}" for name, value in arguments.items() if name not in (*error.where, "seed")]
            raise refused(error, arguments, f" where {', '.join(others)}") from None


def _small_first(grid: Grid) -> Iterator[dict[str, Json]]:
    """Combinations of sizes with the first seed, in ascending order of their jobs."""
    first: Grid = {**grid, "seed": grid["seed"][:1]}
    numbers = sorted(jobs for jobs in grid.get("jobs", ()) if isinstance(jobs, int))
    grids: list[Grid] = [{**first, "jobs": (jobs,)} for jobs in numbers]
    for alike in grids or [first]:
        yield from combinations(alike)


def _jobs(arguments: Mapping[str, Json]) -> int:
    jobs = arguments.get("jobs")
    return jobs if isinstance(jobs, int) else 100


def _windows(entry: Table) -> Iterator[Windows]:
    importer = one_of(entry["import"], tuple(SOURCES), "import")
    arguments = [name for family in _asked_families(entry) for name in SOURCES[importer].takes(family)]
    takes = [name for name, option in OPTIONS.items() if option.python in arguments]
    only(entry, ("import", "file", *takes, *(("window",) if SOURCES[importer].timed else ())))
    keys = [key for key in ("file", *takes) if key in entry or key == "file"]
    window_s = duration_s(entry["window"]) if "window" in entry else None
    values = [[_option(key, each, *where) for where, each in grid(entry.get(key), key)] for key in keys]
    traces = math.prod(map(len, values))
    if traces > MOST_CELLS:
        raise too_large(traces, "as many traces at least")
    for file, *options in itertools.product(*values):
        yield Windows(importer, str(file), dict(zip(keys[1:], options, strict=True)), window_s)


def _asked_families(entry: Table) -> list[str | None]:
    """Families requested for the instances of a trace; None: the default family of the source."""
    if "family" not in entry:
        return [None]
    return [one_of(name, tuple(FAMILIES), *where) for where, name in grid(entry["family"], "family")]


def _option(key: str, value: object, *where: str | int) -> Json:
    kind = OPTIONS[key].kind if key in OPTIONS else str
    if kind is int:
        return integer(value, 1, *where)
    if kind is float:
        return not_negative(value, *where)
    if kind is bool:
        if not isinstance(value, bool):
            raise Refused(shown(value), "true or false", *where)
        return value
    if key in ("from", "to"):
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, int | float) and not isinstance(value, bool):
            return repr(value)
    return text(value, *where)


def duration_s(value: object) -> float:
    """Read a length of time: seconds, or text such as ``24h``, ``90m`` or ``7d``."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,12})?)\s*([smhdw])", value) if isinstance(value, str) else None
    seconds = value if match is None else float(match[1]) * UNITS[match[2]]
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 1 <= seconds < math.inf:
        raise Refused(shown(value), 'a number of seconds >= 1, or text such as "24h", "90m" or "7d"', "window")
    return float(seconds)


_KEYS_OF_DRAWN = ("python", "family", "seeds")


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
        if key not in _KEYS_OF_DRAWN
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
            return Given(tuple(_drawn(found, arguments) for arguments in combinations(found.grid)))
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


def _drawn(source: Drawn, arguments: dict[str, Json]) -> Recipe:
    """Draw an instance, and return its recipe as data."""
    recipe = recipe_of(source, arguments)
    return replace(recipe_of_result(recipe, recipe.make().as_data()), arguments=arguments)


_KEYS_OF_SEARCHED = ("worst", "family", "seeds")
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
    own = _options_of_space(family)
    only(entry, (*_KEYS_OF_SEARCHED, *SHARED, *own, *OF_SEARCH))
    asked: dict[str, Sequence[Json]] = {
        key: tuple(_value(family, own, key, each, at) for at, each in grid(value, key))
        for key, value in entry.items()
        if key not in _KEYS_OF_SEARCHED
    }
    _require_spaces(family, {key: values for key, values in asked.items() if key not in OF_SEARCH})
    found = []
    for at, each in grid(entry["worst"], "worst"):
        what = text(each, *at)
        method, fingerprint = _searched_method(family, what, folder, at, code)
        values = {**asked, "seed": seeds}
        found.append(Searched(family, what, method, str(folder.absolute()), values, fingerprint))
    return found


def _options_of_space(family: str) -> Mapping[str, Option]:
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


def _searched_method(family: str, what: str, folder: Path, at: tuple[str | int, ...], code: Code) -> tuple[str, str]:
    """Return a method's name, or a user's method with an absolute path; and the hash of its code."""
    record = FAMILIES[family]
    if ":" not in what:
        names = [name for name in (*record.methods, *record.aliases) if record.method(name).kind != "bound"]
        return record.method(one_of(what, names, *at)).name, ""
    found = imported(what, folder, code, "worst")
    home, _, name = what.rpartition(":")
    path = str((folder / home).absolute()) if home.endswith(".py") else home
    return f"{path}:{name}", "" if found is None else hash_of_code(*found, what, folder)
