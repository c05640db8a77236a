"""The plan of a study: sources of instances, methods, limits of a cell, and the reference of ratios."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from dlsched.core.callables import Decider
from dlsched.core.display import Brief
from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.core.limits import Limits
from dlsched.study.plans.grids import Grid
from dlsched.study.recipes.recipe import Recipe

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
