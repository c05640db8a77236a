"""Entries ``[[instances]]`` of a plan: grids of generators, files, traces, draws by functions, searches for worst instances."""

import inspect
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Annotated, Required

from pydantic import PlainValidator, TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails

from dlsched.catalogue.families import FAMILIES as OWN
from dlsched.catalogue.families import space
from dlsched.catalogue.sources import OPTIONS, SOURCES
from dlsched.core.arguments import LARGEST_DRAWN
from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import Json
from dlsched.core.instance import Name, NonNegative, Positive
from dlsched.core.messages import Refused, shown
from dlsched.families import FAMILIES, instance_from, read
from dlsched.own_methods import PICKLED
from dlsched.study.plans.method_entries import Code, hash_of_code, imported, target_of
from dlsched.study.plans.plan import (
    MOST_CELLS,
    Drawn,
    FieldType,
    Files,
    Generated,
    Given,
    Grid,
    Parameter,
    Searched,
    Seed,
    Size,
    Source,
    Table,
    TooManyCells,
    Validated,
    Windows,
    combination,
    combinations,
    grid_of,
    integer,
    one_of,
    places,
    read_table,
)
from dlsched.study.plans.sources import files_of, pieces, recipe_of
from dlsched.study.recipes import Recipe, recipe_of_instance, recipe_of_result

MEMORY = "memory"
"""Source of instances that a program hands over."""
SORTS = ("family", "files", "import")
CALLED = ("worst", "python")
"""Keys that make an entry one of another sort although it has ``family`` too."""
MOST_SEEDS = 1_000_000
"""Largest number of seeds of a source: a tenth of the cells of a study."""
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def read_source(entry: object, folder: Path, code: Code) -> tuple[list[Source], set[str]]:
    """Read an entry: return its sources and their families; ``code``: as ``imported`` takes it; errors as ``read_table``, too."""
    if not isinstance(entry, Mapping):
        raise Refused(shown(entry), "a table of keys and values")
    if entry.keys() == {"instance"}:
        instance = instance_from(entry["instance"], MEMORY)
        return [Given((recipe_of_instance(instance, MEMORY),))], {instance.family}
    sorts = [key for key in CALLED if key in entry][:1] or [
        sort for sort in SORTS if sort in entry and not (sort == "family" and "import" in entry)
    ]
    if len(sorts) != 1:
        raise Refused(" and ".join(sorts) or f"none of {', '.join(SORTS)}", "exactly one of them")
    match sorts[0]:
        case "files":
            return _files(entry, folder)
        case "import":
            traces = list(_traces(entry))
            return [*traces], _families_of_traces(traces, folder)
        case "family":
            return [*_generated(entry)], {*_families(entry)}
        case "python":
            return [_drawn(entry, folder, code)], {entry["family"]}
        case _:
            return [*_searched(entry, folder, code)], {entry["family"]}


def _family(entry: Table) -> str:
    """Return the one family of an entry."""
    family = entry.get("family")
    if not isinstance(family, str) or family not in FAMILIES:
        raise Refused(shown(family), ", ".join(FAMILIES), "family")
    return family


def _families(entry: Table) -> tuple[str, ...]:
    """Return the families of an entry, one or a list."""
    families: tuple[str, ...] = read_table({"family": entry["family"]}, {"family": grid_of(one_of(FAMILIES))})["family"]
    return families


def _seeds(value: object) -> Sequence[int]:
    """Read seeds: one, a list, ``first:end`` or ``first:end:step``, the end excluded as in Python."""
    if not isinstance(value, str):
        return _LISTED_SEEDS.validate_python(value)
    match = re.fullmatch(r"\s*([0-9]{1,4000})\s*:\s*([0-9]{1,4000})\s*(?::\s*([0-9]{1,4000})\s*)?", value)
    allowed = 'an integer >= 0, a list of them, or text such as "0:200" or "0:200:2", the end left out'
    if match is None or (match[3] is not None and int(match[3]) == 0):
        raise Refused(shown(value), allowed)
    first, end, step = int(match[1]), int(match[2]), int(match[3] or 1)
    if first >= end:
        raise Refused(f"{shown(value)}, which holds no seed", allowed)
    if (end - first - 1) // step >= MOST_SEEDS:
        raise Refused(shown(value), f"at most {MOST_SEEDS:,} seeds")
    return range(first, end, step)


_LISTED_SEEDS: TypeAdapter[tuple[int, ...]] = TypeAdapter(grid_of(Seed))
Seeds = Annotated[object, PlainValidator(_seeds)]


# Files


def _files(entry: Table, folder: Path) -> tuple[list[Source], set[str]]:
    """Read all files of the patterns, to validate them and to know the families."""
    families = set[str]()

    def read_all(pattern: object) -> str:
        if not isinstance(pattern, str) or not pattern:
            raise Refused(shown(pattern), "a non-empty string")
        errors = []
        for name in files_of(pattern, folder):
            try:
                families.add(read(folder / name).family)
            except InputError as error:
                errors.append(InitErrorDetails(type="value_error", input=name, ctx={"error": error}))
        if errors:
            raise ValidationError.from_exception_data("files", errors)
        return pattern

    patterns = read_table(entry, {"files": grid_of(Annotated[str, PlainValidator(read_all)])})["files"]
    return [Files(patterns)], families


# Grids of generators

_COUNT = integer(1, LARGEST_DRAWN)
_FROM_0 = ("alpha",)
"""Options of generators that may be 0; other numbers are positive."""
JOBS_DRAWN = 5_000
"""Jobs in all of the instances that are drawn or imported as a test: about a second of work."""


def _generated(entry: Table) -> Iterator[Generated]:
    for name in _families(entry):
        family = FAMILIES[name]
        defaults = {key: each.default for key, each in inspect.signature(family.generate).parameters.items()}
        sizes = [key for key in defaults if key not in ("preset", "seed")]
        kinds = {key: family.options[key].kind if key in family.options else int for key in sizes}
        numbers = {key: NonNegative if key in _FROM_0 else Positive for key in sizes}
        fields = {key: grid_of({str: Name, int: _COUNT}.get(kind, numbers[key])) for key, kind in kinds.items()}
        fields = {"family": object, "preset": grid_of(one_of(family.presets)), **fields, "seeds": Seeds}
        asked = read_table(entry, fields)
        grid: dict[str, Sequence[Json]] = {"preset": asked.get("preset", (next(iter(family.presets)),))}
        for key in sizes:
            if key in asked or defaults[key] is not None:
                grid[key] = asked.get(key, (defaults[key],))
        yield Generated(family.name, grid | {"seed": asked.get("seeds", (0,))})


def require_sizes(source: Generated) -> None:
    """Draw an instance for every combination of sizes, smallest first, until ``JOBS_DRAWN`` jobs; `Refused`: the generator's."""
    drawn = 0
    for arguments in _small_first(source.grid):
        jobs = arguments.get("jobs")
        drawn += jobs if isinstance(jobs, int) else 100
        if drawn > JOBS_DRAWN:
            return
        try:
            FAMILIES[source.family].generate(**arguments)
        except UsageError as error:
            others = [f"{name} = {value}" for name, value in arguments.items() if name not in (*error.where, "seed")]
            raise _refused(error, arguments, f" where {', '.join(others)}") from None


def _refused(error: UsageError, keys: Collection[str], beside: str = "") -> Exception:
    """Turn an error about an argument into a `Refused` of that key, ``beside`` what was found; return others as they are."""
    if error.allowed is None or len(error.where) != 1 or error.where[0] not in keys:
        return error
    return Refused(f"{error.found}{beside}", error.allowed, error.where[0])


def _small_first(grid: Grid) -> Iterator[dict[str, Json]]:
    """Combinations of sizes with the first seed, in ascending order of their jobs."""
    first: Grid = {**grid, "seed": grid["seed"][:1]}
    # One grid for each number of jobs, so that the cheap ones come first whatever else varies.
    numbers = sorted(jobs for jobs in grid.get("jobs", ()) if isinstance(jobs, int))
    grids: list[Grid] = [{**first, "jobs": (jobs,)} for jobs in numbers]
    for alike in grids or [first]:
        yield from combinations(alike)


# Traces


def _traces(entry: Table) -> Iterator[Windows]:
    importer = entry["import"]
    if not isinstance(importer, str) or importer not in SOURCES:
        raise Refused(shown(importer), ", ".join(SOURCES), "import")
    families = _families(entry) if "family" in entry else [None]
    arguments = [name for family in families for name in SOURCES[importer].takes(family)]
    takes = [name for name, option in OPTIONS.items() if option.python in arguments]
    fields = {
        "import": object,
        "file": Required[grid_of(Name)],
        **{key: grid_of(_kind_of_option(key)) for key in takes},
    }
    if SOURCES[importer].timed:
        fields["window"] = Annotated[object, PlainValidator(duration_s)]
    asked = read_table(entry, fields)
    keys = [key for key in takes if key in asked]
    grids = [asked[key] for key in ("file", *keys)]
    traces = math.prod(map(len, grids))
    if traces > MOST_CELLS:
        raise TooManyCells(traces, "as many traces at least")
    for file, *options in itertools.product(*grids):
        yield Windows(importer, file, dict(zip(keys, options, strict=True)), asked.get("window"))


def _kind_of_option(key: str) -> FieldType:
    if key in ("from", "to"):
        return Annotated[object, PlainValidator(_moment)]
    return {int: Size, float: NonNegative, bool: bool}.get(OPTIONS[key].kind, Name)


def _moment(value: object) -> str:
    """Read a time as importers take it: a date of TOML, a number, or text."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    if not isinstance(value, str) or not value:
        raise Refused(shown(value), "a date, a number, or a text that is not empty")
    return value


def duration_s(value: object) -> float:
    """Read a length of time: seconds, or text such as ``24h``, ``90m`` or ``7d``."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,12})?)\s*([smhdw])", value) if isinstance(value, str) else None
    seconds = value if match is None else float(match[1]) * UNITS[match[2]]
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 1 <= seconds < math.inf:
        raise Refused(shown(value), 'a number of seconds >= 1, or text such as "24h", "90m" or "7d"')
    return float(seconds)


def _families_of_traces(traces: Sequence[Windows], folder: Path) -> set[str]:
    """Import the first instance of each trace, as a test, and return the families."""
    families: dict[Json, str] = {}
    jobs = 0
    for trace in traces:
        asked = trace.options.get("family")
        if asked not in families or jobs < JOBS_DRAWN:
            _, make = next(pieces(trace, folder))
            instance = make()
            families[asked] = instance.family
            jobs += len(getattr(instance, "jobs", ()))
    return set(families.values())


# Draws by functions of users


def _drawn(entry: Table, folder: Path, code: Code) -> Drawn | Given:
    """Read an entry with ``python``, and draw its first instance as a test; all of them with code of the session."""
    family = _family(entry)
    fields = {key: grid_of(Parameter) for key in entry} | {"python": str, "family": object, "seeds": Seeds}
    asked = read_table(entry, fields)
    what, seeds = asked["python"], asked.get("seeds", (0,))
    home, name = target_of(what, folder)
    source = imported(what, folder, code)
    grid: dict[str, Sequence[Json]] = {key: asked[key] for key in asked if key not in ("python", "family", "seeds")}
    if source is None:  # no code may run, so that what the function takes is unknown
        grid |= {"seed": seeds} if "seeds" in asked else {}
        return Drawn(family, what, f"{home}:{name}", str(folder.absolute()), grid, "")
    of_session = home.startswith(PICKLED)
    fingerprint = "" if of_session else hash_of_code(*source, what, folder)
    what = name if of_session else what
    _require_parameters(source[0], what, grid)
    if "seed" in inspect.signature(source[0]).parameters:
        grid["seed"] = seeds
    elif "seeds" in asked:
        raise Refused(shown(entry["seeds"]), f"none, as {what} has no parameter seed", "seeds")
    drawn = Drawn(family, what, f"{home}:{name}", str(folder.absolute()), grid, fingerprint)
    try:
        if of_session:  # a store that named its code would have to be trusted
            return Given(tuple(_recipe_of_draw(drawn, arguments) for arguments in combinations(grid)))
        recipe_of(drawn, combination(grid, 0)).make()
    except UsageError as error:
        raise Refused(
            f"{shown(what)} ({error})", f"a function that returns an instance of {family}", "python"
        ) from None
    return drawn


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


def _recipe_of_draw(source: Drawn, arguments: dict[str, Json]) -> Recipe:
    """Draw an instance, and return its recipe as data."""
    recipe = recipe_of(source, arguments)
    return replace(recipe_of_result(recipe, recipe.make().as_data()), arguments=arguments)


# Searches for worst instances

SPACES = 1000
"""Largest number of spaces of an entry that are made as a test: a second of work."""


def _searched(entry: Table, folder: Path, code: Code) -> Iterator[Searched]:
    """Read an entry with ``worst``, and make its spaces as a test."""
    family = _family(entry)
    record = FAMILIES[family]
    own = record.space
    if own is None:
        having = ", ".join(other for other in OWN if space(other) is not None)
        raise Refused(shown(family), f"{having}, which have a space", "family")
    kinds = {int: Seed, float: NonNegative, bool: bool}
    of_search = {"against": grid_of(one_of((*record.methods, *record.aliases))), "budget": grid_of(Size)}
    fields = {
        **{"worst": grid_of(Name), "family": object, "seeds": Seeds},
        **{"jobs": grid_of(Size), "gpus": grid_of(Size), "preset": grid_of(one_of(record.presets))},
        **{key: grid_of(kinds.get(option.kind, Name)) for key, option in own.items()},
        **of_search,
    }
    asked = read_table(entry, fields)
    grid: dict[str, Sequence[Json]] = {key: asked[key] for key in asked if key not in ("worst", "family", "seeds")}
    _require_spaces(family, {key: values for key, values in grid.items() if key not in of_search})
    grid["seed"] = asked.get("seeds", (0,))
    for place, what in zip(places(entry, "worst"), asked["worst"], strict=True):
        method, fingerprint = _searched_method(family, what, folder, place, code)
        yield Searched(family, what, method, str(folder.absolute()), grid, fingerprint)


def _require_spaces(family: str, grid: Grid) -> None:
    from dlsched.worst.spaces import space_of

    for combined in islice(combinations(grid), SPACES):
        arguments: Validated = combined
        try:
            space_of(family, **arguments)
        except UsageError as error:
            raise _refused(error, arguments) from None


def _searched_method(family: str, what: str, folder: Path, place: tuple[str | int, ...], code: Code) -> tuple[str, str]:
    """Return a method's name, or a user's method with an absolute path; and the hash of its code."""
    record = FAMILIES[family]
    if ":" not in what:
        names = [name for name in (*record.methods, *record.aliases) if record.method(name).kind != "bound"]
        if what not in names:
            raise Refused(shown(what), ", ".join(names), *place)
        return record.method(what).name, ""
    source = imported(what, folder, code, "worst")
    return ":".join(target_of(what, folder)), "" if source is None else hash_of_code(*source, what, folder)
