"""Families by name, and the methods, presets, models and options of each: asked without importing the family.

A family is a name and the target of its record, ``package:FAMILY``: of dlsched's own in ``FAMILIES``, of others an entry point of
``GROUP`` in an installed package. Importing it takes longer than a shell may wait; so dlsched's own have a module here, which
their records are made of. Of another its record is asked. Implementations are imported lazily, as ``module:name``.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal


def load(target: str) -> Any:
    """Import what a target names: ``load("math:gcd")``."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command: its name in plans (on the command line with ``--``, and ``-`` for ``_``), type and description.

    ``metavar``: the word for its value. ``of``: to what it belongs, and its default there. ``argument``: its name in Python where
    it differs. ``choices``: its values, for shells. ``negated``: whether a switch has ``--no-NAME`` too. ``alone``: what replaces
    ``words`` and ``of`` in commands that read nothing but queues. ``makes``: of queues, the families of the instances that it
    shapes.
    """

    name: str
    kind: type[Value]
    metavar: str
    words: str
    of: str = ""
    argument: str = ""
    choices: tuple[str, ...] = ()
    negated: bool = False
    alone: str = ""
    makes: tuple[str, ...] = ()

    @property
    def python(self) -> str:
        """Name of the argument in Python."""
        return self.argument or self.name

    @property
    def flag(self) -> str:
        """Name on the command line."""
        name = self.name.replace("_", "-")
        return f"--{name}/--no-{name}" if self.negated else f"--{name}"

    @property
    def help(self) -> str:
        """One sentence for the command line."""
        return f"{self.words}; {self.of}." if self.of else f"{self.words}."


def by_name(*options: Option) -> dict[str, Option]:
    """Return options by name, in their order."""
    return {option.name: option for option in options}


TABLES = Option(
    "tables",
    str,
    "X",
    "`any`: positive times. `monotone`: non-increasing. `sublinear`: and w c(w) non-decreasing. `convex`: and falling gains per "
    "GPU, between counts that are offered",
)
COUNTS = Option("counts", str, "X", "`powers` of two, or `all`")


Kind = Literal["exact", "heuristic", "bound"]


@dataclass(frozen=True, slots=True)
class ListedMethod:
    """A method of a family, as its record is made of it; targets are relative to the family's folder.

    ``run``: target of its ``Method.run``. ``function``, ``arguments``: target of a plain function instead, and its keywords,
    of a heuristic from an instance to a solution, of a bound from an instance to a certificate. The rest is as
    ``core.family.Method`` says; ``guarantee``, ``warm``, ``require`` are targets.
    """

    name: str
    kind: Kind
    run: str = ""
    function: str = ""
    arguments: Mapping[str, object] = field(default_factory=dict)
    guarantee: str = ""
    solvers: tuple[str, ...] = ()
    seeded: bool = False
    warm: str = ""
    require: str = ""
    for_some: bool = False
    searched: Mapping[str, Value] = field(default_factory=dict)
    in_blocks: bool = False


ROOMS = {
    "instance": "instance:Instance",
    "read_solution": "solution:read_solution",
    "objective": "checker:objective",
    "check": "checker:check",
    "methods": "methods:METHODS",
    "verify": "certificate:verify",
    "generate": "generator:generate",
    "example": "generator:example",
}
"""Where every family of dlsched has these fields of its record, in its folder."""


@dataclass(frozen=True, kw_only=True)
class ListedFamily:
    """What there is of a family by name; ``methods`` in the order exact, heuristics, bounds, ``presets`` with the default first.

    ``formulations``: targets of linear models. ``options``, ``space``: options of ``dlsched generate`` and of the space in which
    ``dlsched worst`` searches, beside those of all families; None: there is no space. ``suite``: grids of arguments of
    ``generate`` whose instances are solved in seconds, for ``dlsched score``; none: the family's presets.
    """

    name: str
    methods: tuple[ListedMethod, ...]
    presets: Mapping[str, str]
    formulations: Mapping[str, str]
    aliases: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Option] = field(default_factory=dict)
    space: Mapping[str, Option] | None = None
    suite: tuple[Mapping[str, tuple[Value, ...]], ...] = ()

    def load(self, target: str) -> Any:
        """Import what a target names in the family's folder."""
        return load(f"dlsched.{self.name}.{target}")

    def stated(self) -> dict[str, Any]:
        """Fields of the family's record that are listed here, or stand in the same place in every family, which is imported."""
        models = {name: self.load(target) for name, target in self.formulations.items()}
        names = {"name": self.name, "aliases": self.aliases, "presets": self.presets, "options": self.options}
        later = {"case": f"dlsched.testing.{self.name}:CASE", "space_of": f"dlsched.worst.spaces.{self.name}:space_of"}
        rooms = {field: self.load(target) for field, target in ROOMS.items()}
        return {**names, **later, **rooms, "space": self.space, "formulations": models, "cross_check": "milp"}

    def functions(self, kind: Kind) -> Iterator[tuple[str, Callable[..., Any]]]:
        """Plain functions of the methods of a kind that are such, by name, each with its arguments."""
        for method in self.methods:
            if method.kind == kind and method.function:
                function = self.load(method.function)
                yield method.name, partial(function, **method.arguments) if method.arguments else function


FAMILIES = {
    "ring_allocation": "dlsched.ring_allocation:FAMILY",
    "elastic_stream": "dlsched.elastic_stream:FAMILY",
    "matching_placement": "dlsched.matching_placement:FAMILY",
    "srpt_mapping": "dlsched.srpt_mapping:FAMILY",
    "ring_embedding": "dlsched.ring_embedding:FAMILY",
    "async_sgd": "dlsched.async_sgd:FAMILY",
}
"""Targets of the records of dlsched's own families, in the form of entry points."""
GROUP = "dlsched.families"


@cache
def installed() -> Mapping[str, tuple[tuple[str, str], ...]]:
    """What installed packages declare in the group, by family: package with version, and target; nothing is imported."""
    from importlib.metadata import entry_points  # slow, and needed where a name is not in ``FAMILIES``

    found: dict[str, list[tuple[str, str]]] = {}
    for point in entry_points(group=GROUP):
        package = "an unknown package" if point.dist is None else f"{point.dist.name} {point.dist.version}"
        found.setdefault(point.name, []).append((package, point.value))
    return {name: tuple(sorted(found[name])) for name in sorted(found)}


def names() -> tuple[str, ...]:
    """All families: dlsched's own, then those of installed packages."""
    return tuple(dict.fromkeys((*FAMILIES, *installed())))


def methods(family: str) -> tuple[str, ...]:
    """Methods of a family and further names of some."""
    listed = _listed(family)
    if listed is not None:
        return (*(method.name for method in listed.methods), *listed.aliases)
    record = record_of(family)
    return (*record.methods, *record.aliases)


def presets(family: str) -> tuple[str, ...]:
    """Kinds of random instances of a family."""
    return tuple((_listed(family) or record_of(family)).presets)


def formulations(family: str) -> tuple[str, ...]:
    """Linear models of a family."""
    return tuple((_listed(family) or record_of(family)).formulations)


def options(family: str) -> Mapping[str, Option]:
    """Options of a family's own for ``dlsched generate``."""
    return (_listed(family) or record_of(family)).options


def space(family: str) -> Mapping[str, Option] | None:
    """Options of the space of a family's worst instances; None: it has none."""
    return (_listed(family) or record_of(family)).space


def suite(family: str) -> tuple[Mapping[str, tuple[Value, ...]], ...]:
    """Grids of the instances on which methods of a family are scored."""
    listed = _listed(family)
    return (listed.suite if listed is not None else ()) or ({"preset": presets(family)},)


def record_of(family: str) -> Any:
    """Import a family and return its record, a ``core.family.Family``."""
    return load(FAMILIES[family]) if family in FAMILIES else load("dlsched.families:FAMILIES")[family]


def _listed(family: str) -> ListedFamily | None:
    home = f"dlsched.catalogue.{family}"
    if family not in FAMILIES or find_spec(home) is None:
        return None
    listed: ListedFamily = load(f"{home}:LISTED")
    return listed
