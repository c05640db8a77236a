"""What a study compares: instances, methods, limits, and the reference of its ratios."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from dlsched.core.files import Json
from dlsched.core.limits import Limits
from dlsched.study.plans.grids import Grid
from dlsched.study.recipes.recipe import Recipe

Parameters: TypeAlias = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class PlannedMethod:
    """A method of a plan.

    Parameters
    ----------
    label
        What rows call it; unique among the methods of the plan that run on a family.
    kind
        ``name``: one of dlsched's; ``python``: ``package.module:function`` or ``path.py:function``, a function or a policy
        class; ``command``: a program in any language; ``search``: none, as the cell is the search for an instance.
    what
        The name; the text before and after the colon, with the path made absolute; the words of the command.
    family
        The only family that it runs on; None: all that have it.
    solver
        Of a named method that calls one; None: its default.
    seed
        Of its random draws; None: the plan's.
    parameters
        Keyword arguments of a function.
    fingerprint
        Hash of the code that stands in files beside the plan, empty for dlsched's own: a change makes new cells.
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
        """Whether it is not dlsched's own: its code is not trusted."""
        return self.kind in ("python", "command")


@dataclass(frozen=True, slots=True)
class CellLimits:
    """What a cell may use.

    Parameters
    ----------
    time_s
        Wall-clock seconds > 0 handed to the method; ``grace_s`` later its process is killed.
    memory_gib
        GiB > 0 of resident memory of the cell's processes together, beyond which they are killed.
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
        """The limits that the method itself keeps."""
        return Limits(time_s=self.time_s, nodes=self.nodes, threads=self.threads)


@dataclass(frozen=True, slots=True)
class Generated:
    """Instances of a family's generator: every combination of the values of ``grid``, by argument, the last varying fastest.

    It has all arguments of the generator that are not None, ``preset`` first and ``seed`` last.
    """

    family: str
    grid: Grid


@dataclass(frozen=True, slots=True)
class Drawn:
    """Instances that a function of the user's own draws, for every combination of the values of ``grid``.

    Parameters
    ----------
    family
        That of its instances.
    what, function
        ``path.py:function`` or ``package.module:function`` as the plan has it, and the same with the path made absolute.
    folder
        The plan's, in which modules are looked for first.
    grid
        Values by parameter, seeds last.
    fingerprint
        Hash of the files of the function: a change makes new cells.
    """

    family: str
    what: str
    function: str
    folder: str
    grid: Grid
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Searched:
    """Instances on which a method does worst, as searches find them, for every combination of the values of ``grid``.

    Parameters
    ----------
    family
        That of its instances.
    what, method
        Name of a method, or ``path.py:function`` or ``package.module:function``; as the plan has it, and with the path made
        absolute.
    folder
        The plan's, in which modules are looked for first.
    grid
        Arguments of ``find_worst``, seeds last.
    fingerprint
        Hash of the files of a function: a change makes new cells.
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
    """Instances that are made already."""

    recipes: tuple[Recipe, ...]


Gridded: TypeAlias = Generated | Drawn | Searched
Source: TypeAlias = Gridded | Files | Windows | Given


@dataclass(frozen=True, slots=True)
class Plan:
    """A study before it runs.

    Parameters
    ----------
    name
        Of the study.
    sources, methods
        Every method runs on every instance of a family that it is for.
    seed
        Of random methods.
    limits
        Of each cell.
    reference
        Label of the method whose answers are the denominators of ratios; None: the best bound proven by any method.
    folder
        To which paths in the plan are relative.
    text
        The plan as written, TOML; what was made in Python is written as TOML.
    """

    name: str
    sources: tuple[Source, ...]
    methods: tuple[PlannedMethod, ...]
    seed: int = 0
    limits: CellLimits = CellLimits()
    reference: str | None = None
    folder: Path = Path()
    text: str = ""
