"""What there is of a family, by name: methods, kinds of random instances, models, options. What does the work is a target."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from dlsched.catalogue.option import Option
from dlsched.catalogue.target import load

Kind = Literal["exact", "heuristic", "bound"]


@dataclass(frozen=True, slots=True)
class ListedMethod:
    """A method of a family, as its record is made of it; targets are relative to the family's folder.

    Parameters
    ----------
    name, kind
        As on the command line.
    run
        Target of a function that runs it: from an instance and a ``Search`` to the reason it stopped.
    function, arguments
        Target of a plain function instead, and keywords that it is called with: of a heuristic from an instance to a solution,
        of a bound from an instance to a certificate.
    guarantee, warm, require
        Targets, empty where it has none: as ``core.family.Method`` says.
    solvers, seeded
        As ``core.family.Method`` says.
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


@dataclass(frozen=True, kw_only=True)
class ListedFamily:
    """What there is of a family by name.

    Parameters
    ----------
    name
        As in file formats.
    methods, aliases
        Exact methods, heuristics, bounds; further names of some.
    presets
        Kinds of random instances, the default first, and what each is.
    formulations
        Linear models, for ``dlsched export``: targets.
    options
        Of ``dlsched generate``, beside those of all families.
    space
        Options of the space in which ``dlsched worst`` searches, beside those of all families; None: there is no space.
    """

    name: str
    methods: tuple[ListedMethod, ...]
    presets: Mapping[str, str]
    formulations: Mapping[str, str]
    aliases: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Option] = field(default_factory=dict)
    space: Mapping[str, Option] | None = None

    def load(self, target: str) -> Any:
        """Import what a target names in the family's folder."""
        return load(f"dlsched.{self.name}.{target}")

    def functions(self, kind: Kind) -> Iterator[tuple[str, Callable[..., Any]]]:
        """Plain functions of the methods of a kind that are such, by name, each with its arguments."""
        for method in self.methods:
            if method.kind == kind and method.function:
                function = self.load(method.function)
                yield method.name, partial(function, **method.arguments) if method.arguments else function
