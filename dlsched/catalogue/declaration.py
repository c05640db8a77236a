"""What users can name of a family: methods, presets, models, options. Implementations are imported lazily, as ``module:name``.

Targets: ``module:name``, imported when it is asked for, so that records of what there is load nothing.

What a user gives by name, on the command line, in a plan or in Python, declared once.

Options of spaces of worst instances that families share.

What there is of a family, by name: methods, kinds of random instances, models, options. What does the work is a target.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Literal


def load(target: str) -> Any:
    """Import what a target names.

    >>> load("math:gcd")(6, 4)
    2
    """
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)


Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command.

    Parameters
    ----------
    name
        As in plans; on the command line with ``--``, and ``-`` for ``_``.
    kind, metavar
        Its type; the word for its value, empty for a switch.
    words
        What it is, without a full stop.
    of
        To what it belongs, and its default there; empty where it is for all.
    argument
        Its name in Python, empty where that is the same.
    choices
        Its values, for shells; empty where they are not listed.
    negated
        Of a switch: whether ``--no-NAME`` is taken too.
    alone
        What it is in commands that read nothing but queues, with its default; empty where ``words`` and ``of`` say it.
    makes
        Of queues: the families of the instances that it shapes; empty where it shapes none.
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
