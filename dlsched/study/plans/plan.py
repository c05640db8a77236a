"""The plan of a study: sources of instances, grids of their arguments, methods, limits of a cell, the reference of ratios."""

import itertools
import json
import math
import os
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeAlias, cast

from pydantic import ConfigDict, PlainValidator, TypeAdapter
from typing_extensions import TypedDict

from dlsched.core.arguments import Decider
from dlsched.core.display import Brief
from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits
from dlsched.core.messages import FOUND, Refused, printable, shown
from dlsched.study.recipes import Recipe

MOST_CELLS = 10_000_000
"""Largest number of cells of a study: more would take weeks, and a store of several GB."""
Grid: TypeAlias = Mapping[str, Sequence[Json]]
"""Values by argument, each once; the last argument varies fastest."""
Marks: TypeAlias = Mapping[str, Collection[object]]
"""Marks of the values of a grid by argument; equal values have equal marks."""


def size(grid: Grid) -> int:
    """Number of combinations."""
    return math.prod(len(values) for values in grid.values())


def combination(grid: Grid, index: int) -> dict[str, Json]:
    """Return the combination at a position, which is in [0, ``size``)."""
    values: dict[str, Json] = {}
    for key in reversed(list(grid)):
        index, place = divmod(index, len(grid[key]))
        values[key] = grid[key][place]
    return {key: values[key] for key in grid}


def combinations(grid: Grid, others: Sequence[Grid] = ()) -> Iterator[dict[str, Json]]:
    """Yield the combinations in order, except those that one of the other grids has.

    >>> list(combinations({"jobs": (4, 6), "seed": (0, 1)}, [{"jobs": (6, 8), "seed": range(9)}]))
    [{'jobs': 4, 'seed': 0}, {'jobs': 4, 'seed': 1}]
    """
    # grids that share no combination with this one need not be looked up
    near = [marks for marks in map(_marks, others) if _without(grid, marks) != [grid]]
    for values in itertools.product(*grid.values()):
        arguments = dict(zip(grid, values, strict=True))
        if not any(all(_mark(arguments[key]) in known for key, known in marks.items()) for marks in near):
            yield arguments


def size_beyond(grid: Grid, others: Sequence[Grid]) -> int:
    """Count the combinations that no other grid has, by cutting the others out one after another."""
    remaining = [grid]
    # What is cut out leaves disjoint grids, whose sizes add up; no combination is listed.
    for marks in map(_marks, others):
        remaining = [part for whole in remaining for part in _without(whole, marks)]
    return sum(map(size, remaining))


def _mark(value: Json) -> object:
    """Mark of a value, which differs for 1, 1.0 and true."""
    return value if type(value) is int else json.dumps(value, sort_keys=True)


def _marks(grid: Grid) -> Marks:
    return {key: values if isinstance(values, range) else frozenset(map(_mark, values)) for key, values in grid.items()}


def _without(grid: Grid, marks: Marks) -> list[Grid]:
    """Cut a grid into disjoint grids with the combinations that another lacks; itself if they share none."""
    if grid.keys() != marks.keys():
        return [grid]
    split = {}
    for key, values in grid.items():
        split[key] = _split(values, marks[key])
        if not split[key][0]:
            return [grid]
    # Argument by argument: what the other lacks in this one, where it has all values of the arguments before.
    parts: list[Grid] = []
    rest = dict(grid)
    for key, (inside, outside) in split.items():
        parts += [{**rest, key: values} for values in outside if values]
        rest[key] = inside
    return parts


def _split(values: Sequence[Json], known: Collection[object]) -> tuple[Sequence[Json], list[Sequence[Json]]]:
    """Return the values that are known, and the others as one or two sequences."""
    if isinstance(values, range) and isinstance(known, range) and values.step == known.step == 1:
        begin, end = (min(max(edge, values.start), values.stop) for edge in (known.start, known.stop))
        return range(begin, end), [range(values.start, begin), range(max(begin, end), values.stop)]
    inside = [value for value in values if _mark(value) in known]
    return inside, [[value for value in values if _mark(value) not in known]]


Table: TypeAlias = Mapping[str, object]
Parameters: TypeAlias = Mapping[str, Json]
InstancesLike: TypeAlias = InstanceFile | str | os.PathLike[str] | Mapping[str, object]
"""An instance, the path of one or of a folder of them, or a table as in a plan's file."""
Instances: TypeAlias = InstancesLike | Sequence[InstancesLike]
PlannedLike: TypeAlias = str | Callable[..., object] | Decider | Mapping[str, object]
"""A method's name, ``file.py:function``, a function, a policy or its class, or a table as in a plan's file."""


@dataclass(frozen=True, slots=True)
class PlannedMethod:
    """A method of a plan, with a ``label`` that is unique among the methods that run on the same family.

    ``kind`` and ``what``: ``name``, a method of dlsched; ``python``, module or absolute path, and name, of a function or policy;
    ``command``, words; ``search``, no method. ``family`` None: all that have it; ``seed`` None: the plan's. ``parameters`` are
    those of a function, or ``proof``. ``fingerprint`` hashes the user's code, so that a change of it makes new cells.
    """

    label: str
    kind: str
    what: str | tuple[str, ...]
    family: str | None = None
    solver: str | None = None
    seed: int | None = None
    parameters: Parameters = field(default_factory=dict)
    fingerprint: str = ""

    def runs_on(self, family: str) -> bool:
        """Whether the method runs on the instances of a family."""
        return self.family in (None, family)

    @property
    def foreign(self) -> bool:
        """Whether the method is not dlsched's own, so that its code is not trusted."""
        return self.kind in ("python", "command")

    @property
    def proven(self) -> bool:
        """Whether a proof of each answer is made and checked."""
        return self.kind == "name" and self.parameters.get("proof") is True


@dataclass(frozen=True, slots=True)
class CellLimits:
    """Limits of a cell.

    Parameters
    ----------
    time_s
        Wall-clock seconds > 0 that the method is given; ``grace_s`` seconds later its process is killed.
    memory_gib
        GiB > 0 of resident memory that the cell's processes may use together before they are killed.
    nodes, threads
        As in ``Limits``.
    grace_s
        Seconds >= 0.
    """

    time_s: float = 60.0
    memory_gib: float = 4.0
    nodes: int | None = None
    threads: int = 1
    grace_s: float = 5.0

    @property
    def inner(self) -> Limits:
        """The limits that are passed to the method."""
        return Limits(time_s=self.time_s, nodes=self.nodes, threads=self.threads)


@dataclass(frozen=True, slots=True)
class Generated:
    """Instances of a family's generator, for every combination of its arguments; ``grid`` has ``seed`` last."""

    family: str
    grid: Grid


@dataclass(frozen=True, slots=True)
class Called:
    """Instances that a function or a search for worst instances finds, for every combination of its arguments, seeds last.

    ``what`` is a user's function, or the method of a search, as the plan names it, ``target`` the same with an absolute path.
    Modules are looked for in ``folder``, the plan's, first. ``fingerprint`` hashes the user's code: a change makes new cells.
    """

    family: str
    what: str
    target: str
    folder: str
    grid: Grid
    fingerprint: str


class Drawn(Called):
    """Instances that a user's function draws."""


class Searched(Called):
    """Worst instances of a method; the arguments are those of ``find_worst``."""


@dataclass(frozen=True, slots=True)
class Files:
    """Instance files by patterns, relative to the plan's folder."""

    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Windows:
    """A trace, whole or cut into windows of arrivals of ``window_s`` seconds; ``options`` are those of ``dlsched import``."""

    importer: str
    file: str
    options: Parameters
    window_s: float | None


@dataclass(frozen=True, slots=True)
class Given:
    """Instances that exist already."""

    recipes: tuple[Recipe, ...]


Gridded: TypeAlias = Generated | Drawn | Searched
Source: TypeAlias = Gridded | Files | Windows | Given


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Brief):
    """A study before it runs.

    Parameters
    ----------
    name
        Of the study.
    sources, methods
        Sources of instances, and methods; every method runs on all instances of its families.
    seed
        Seed of methods that draw.
    limits
        Limits of each cell.
    reference
        Label of the method to whose answers ratios refer; None: the best bound that any method proved.
    folder
        Folder to which paths in the plan are relative.
    text
        The plan as TOML; a plan made in Python is converted.
    """

    name: str
    sources: tuple[Source, ...]
    methods: tuple[PlannedMethod, ...]
    seed: int = 0
    limits: CellLimits = CellLimits()
    reference: str | None = None
    folder: Path = Path()
    text: str = ""


class TooManyCells(Exception):  # noqa: N818  no ValueError, which Pydantic would take for that of one field
    """A plan has more cells than a study may have; ``of`` says of what."""

    def __init__(self, cells: int, of: str) -> None:
        super().__init__(f"{cells:,} cells of {of}")


FieldType: TypeAlias = Any
"""Type of a field, as Pydantic takes it: a class, or one annotated with validators."""
Validated: TypeAlias = dict[str, FieldType]
"""Fields of a table, each of its type."""


def integer(least: int, most: float = math.inf) -> FieldType:
    """Type of a field: an integer in a range."""
    allowed = f"an integer >= {least}" if most == math.inf else f"an integer from {least} to {most:,}"

    def within(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise Refused(shown(value), f"an integer >= {least}")
        if value > most:
            raise Refused(shown(value), allowed)
        return value

    return Annotated[int, PlainValidator(within)]


Seed = integer(0)
Size = integer(1)
_STRICT = ConfigDict(strict=True)


def one_of(names: Collection[str]) -> FieldType:
    """Type of a field: one of some names."""

    def chosen(value: object) -> str:
        if not isinstance(value, str) or value not in names:
            raise Refused(shown(value), ", ".join(names))
        return value

    return Annotated[str, PlainValidator(chosen)]


def grid_of(kind: FieldType) -> FieldType:
    """Type of a field: one value of a kind, or a list of different ones; becomes a tuple."""
    one, several = (TypeAdapter(each, config=_STRICT) for each in (kind, list[kind]))

    def values(value: object) -> tuple[object, ...]:
        if not isinstance(value, list):
            return (one.validate_python(value),)
        if not value:
            raise Refused("an empty list", "at least one value")
        seen = set[object]()
        for index, each in enumerate(value):
            known = each if isinstance(each, Hashable) else repr(each)
            if known in seen:
                raise Refused(f"{shown(each)} again", "every value once", index)
            seen.add(known)
        return tuple(several.validate_python(value))

    return Annotated[object, PlainValidator(values)]


def places(entry: Table, key: str) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each value of a grid: the key, and the index in a list."""
    value = entry[key]
    yield from [(key, index) for index in range(len(value))] if isinstance(value, list) else [(key,)]


def plain(value: object, *where: str | int) -> Json:
    """Return a value that JSON can hold; `Refused` for others, below their own field."""
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused(shown(value), "a finite number", *where)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [plain(each, *where, index) for index, each in enumerate(value)]
    if isinstance(value, dict):
        return {str(key): plain(each, *where, str(key)) for key, each in value.items()}
    raise Refused(printable(str(value))[:FOUND], "a number, a text, true, false, a list or a table", *where)


Parameter = Annotated[object, PlainValidator(plain)]
"""Type of an argument of a function."""


def read_table(value: object, fields: Mapping[str, FieldType]) -> Validated:
    """Validate a table with fields of these types, ``Required`` or not, in its own order; ValidationError, or `Refused`."""
    if not isinstance(value, Mapping):
        raise Refused(shown(value), "a table of keys and values")
    for key in value:
        if key not in fields:
            raise Refused("an unknown key", f"only {', '.join(fields)}", key)
    ordered = {key: fields[key] for key in value} | dict(fields)
    kind = TypedDict("kind", ordered, total=False)  # type: ignore[misc]
    kind.__pydantic_config__ = _STRICT  # type: ignore[attr-defined]
    validated: Validated = TypeAdapter(cast(FieldType, kind)).validate_python(dict(value))
    return validated
