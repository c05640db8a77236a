"""The plan of a study: sources of instances, grids of their arguments, methods, limits of a cell, the reference of ratios."""

import itertools
import json
import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from dlsched.core.arguments import Decider
from dlsched.core.display import Brief
from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits
from dlsched.study.recipes import Recipe

Grid: TypeAlias = Mapping[str, Sequence[Json]]
"""Values by argument, each once; the last argument varies fastest."""
Marks: TypeAlias = Mapping[str, Collection[object]]
"""Marks of the values of a grid by argument; equal values have equal marks."""


def size(grid: Grid) -> int:
    """Number of combinations.

    >>> size({"jobs": (4, 6), "seed": range(10**6)})
    2000000
    """
    return math.prod(len(values) for values in grid.values())


def combination(grid: Grid, index: int) -> dict[str, Json]:
    """Return the combination at a position, which is in [0, ``size``).

    >>> combination({"jobs": (4, 6), "seed": range(10**6)}, 1_000_003)
    {'jobs': 6, 'seed': 3}
    """
    found: dict[str, Json] = {}
    for key in reversed(list(grid)):
        index, place = divmod(index, len(grid[key]))
        found[key] = grid[key][place]
    return {key: found[key] for key in grid}


def combinations(grid: Grid, others: Sequence[Grid] = ()) -> Iterator[dict[str, Json]]:
    """Yield the combinations in order, except those that one of the other grids has.

    >>> list(combinations({"jobs": (4, 6), "seed": (0, 1)}, [{"jobs": (6, 8), "seed": range(9)}]))
    [{'jobs': 4, 'seed': 0}, {'jobs': 4, 'seed': 1}]
    """
    near = [marks for marks in map(_marks, others) if _without(grid, marks) != [grid]]
    for values in itertools.product(*grid.values()):
        found = dict(zip(grid, values, strict=True))
        if not any(all(_mark(found[key]) in known for key, known in marks.items()) for marks in near):
            yield found


def size_beyond(grid: Grid, others: Sequence[Grid]) -> int:
    """Count the combinations that no other grid has, by cutting the others out one after another.

    >>> size_beyond({"jobs": (4, 6), "seed": range(10)}, [{"jobs": (6, 8), "seed": range(5, 20)}, {"jobs": (6,), "seed": (0,)}])
    14
    """
    left = [grid]
    for marks in map(_marks, others):
        left = [part for whole in left for part in _without(whole, marks)]
    return sum(map(size, left))


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
    found: list[Grid] = []
    rest = dict(grid)
    for key, (inside, outside) in split.items():
        found += [{**rest, key: values} for values in outside if values]
        rest[key] = inside
    return found


def _split(values: Sequence[Json], known: Collection[object]) -> tuple[Sequence[Json], list[Sequence[Json]]]:
    """Return the values that are known, and the others as one or two sequences."""
    if isinstance(values, range) and isinstance(known, range) and values.step == known.step == 1:
        begin, end = (min(max(edge, values.start), values.stop) for edge in (known.start, known.stop))
        return range(begin, end), [range(values.start, begin), range(max(begin, end), values.stop)]
    inside = [value for value in values if _mark(value) in known]
    return inside, [[value for value in values if _mark(value) not in known]]


Parameters: TypeAlias = Mapping[str, Json]
InstancesLike: TypeAlias = InstanceFile | str | os.PathLike[str] | Mapping[str, object]
"""An instance, the path of one or of a folder of them, or a table as in a plan's file."""
Instances: TypeAlias = InstancesLike | Sequence[InstancesLike]
PlannedLike: TypeAlias = str | Callable[..., object] | Decider | Mapping[str, object]
"""A method's name, ``file.py:function``, a function, a policy or its class, or a table as in a plan's file."""


@dataclass(frozen=True, slots=True)
class PlannedMethod:
    """A method of a plan.

    Parameters
    ----------
    label
        Its name in rows; unique among the methods of the plan that run on the same family.
    kind
        ``name``: a method of dlsched; ``python``: ``package.module:function`` or ``path.py:function``, a
        function or policy class; ``command``: a program in any language; ``search``: no method, the cell
        searches for an instance.
    what
        The name; the texts before and after the colon, the path absolute; the words of the command.
    family
        The only family that it runs on; None: all families that have it.
    solver
        Solver of a named method; None: its default.
    seed
        Seed of its random draws; None: the plan's.
    parameters
        Keyword arguments of a function; of a method of dlsched ``proof``, where its answers are to be proven.
    fingerprint
        Hash of the user's code, empty for methods of dlsched; a change of the code makes new cells.
    """

    label: str
    kind: str
    what: str | tuple[str, ...]
    family: str | None = None
    solver: str | None = None
    seed: int | None = None
    parameters: Parameters = field(default_factory=dict)
    fingerprint: str = ""

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
    """Instances of a family's generator, for every combination of the values of ``grid``, the last fastest.

    ``grid`` has values for all arguments of the generator that are not None, ``preset`` first and ``seed``
    last.
    """

    family: str
    grid: Grid


@dataclass(frozen=True, slots=True)
class Drawn:
    """Instances that a user's function draws, for every combination of the values of ``grid``.

    Parameters
    ----------
    family
        That of its instances.
    what, function
        ``path.py:function`` or ``package.module:function`` as in the plan, and the same with an absolute
        path.
    folder
        The plan's, in which modules are looked for first.
    grid
        Values by parameter, seeds last.
    fingerprint
        Hash of the files of the function; a change makes new cells.
    """

    family: str
    what: str
    function: str
    folder: str
    grid: Grid
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Searched:
    """Worst instances of a method, found by a search for every combination of the values of ``grid``.

    Parameters
    ----------
    family
        That of its instances.
    what, method
        Name of a method, or ``path.py:function`` or ``package.module:function``; as in the plan, and with an
        absolute path.
    folder
        The plan's, in which modules are looked for first.
    grid
        Arguments of ``find_worst``, seeds last.
    fingerprint
        Hash of the files of a function; a change makes new cells.
    """

    family: str
    what: str
    method: str
    folder: str
    grid: Grid
    fingerprint: str


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
