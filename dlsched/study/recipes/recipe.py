"""The base class of recipes, which say how an instance is made."""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from dlsched.core.errors import InputError
from dlsched.core.files import Json, canonical_sha256
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import printable

NO_LABEL = ("seed", "jobs", "gpus")
"""Parameters that do not distinguish kinds of instances: rows have columns for them."""


class Origin(NamedTuple):
    """Origin of an instance as its rows name it: source, preset and seed, as in ``Recipe``."""

    source: str
    preset: str
    seed: int | None


class Written(NamedTuple):
    """A file with an instance, and the command line that writes it; empty: the file exists."""

    path: str
    command: str


@dataclass(frozen=True, slots=True)
class Recipe(ABC):
    """How an instance is made; the process that solves the instance receives its recipe and makes it.

    Parameters
    ----------
    family
        Family of the instance.
    source
        ``generate``, the function or file as named in the plan, or the file and window of a trace.
    preset, seed
        Preset and seed of the generator; empty and None for files. For a function, ``preset`` lists the
        arguments that distinguish kinds of instances.
    """

    family: str
    source: str
    preset: str
    seed: int | None

    @property
    @abstractmethod
    def data(self) -> Mapping[str, Json]:
        """All that decides the instance besides its family, as stores keep it."""

    @abstractmethod
    def make(self, step: Callable[[], None] = lambda: None) -> InstanceFile:
        """Make the instance; ``step`` is called after every evaluation of a search for it.

        Raises
        ------
        UsageError
            The generator refuses the arguments, the user's function fails, or a search finds no instance.
        """

    @abstractmethod
    def origin(self) -> Origin | None:
        """Source, preset and seed according to the data; None: the data do not say."""

    @property
    def parameters(self) -> Mapping[str, Json]:
        """Arguments with which the instance is made, by name; none for files."""
        return {}

    @property
    def hashed(self) -> Mapping[str, Json]:
        """The data without locations such as paths."""
        return self.data

    def content_hash(self) -> str:
        """Hash what makes the instance, without its source and paths of functions: these name folders."""
        return canonical_sha256({"family": self.family, "data": dict(self.hashed)})

    def written(self) -> Written | None:
        """The file of the instance, and the command that writes it if needed; None: no command can."""
        return None

    @property
    def jobs(self) -> int:
        """Number of jobs, if making the instance takes longer with more; 0 for instances that exist."""
        return 0


@dataclass(frozen=True, slots=True)
class CalledRecipe(Recipe):
    """A recipe that runs code which a plan names, or a long search: stores keep the instance, and reading one runs nothing.

    Parameters
    ----------
    target, folder, fingerprint
        What is called: the name of a method, or a user's function, ``path.py:name`` with an absolute path or
        ``package.module:name``; the folder of the plan; the hash of the user's code, else empty.
    arguments
        Arguments of the call.
    """

    KEY: ClassVar[str]
    """Key of the target in the data."""
    target: str
    folder: str
    fingerprint: str
    arguments: Mapping[str, Json]

    @property
    def data(self) -> Mapping[str, Json]:
        """``{KEY: ..., "folder", "fingerprint", "arguments"}``."""
        where: dict[str, Json] = {self.KEY: self.target, "folder": self.folder, "fingerprint": self.fingerprint}
        return {**where, "arguments": dict(self.arguments)}

    @property
    def parameters(self) -> Mapping[str, Json]:
        """All arguments of the call."""
        return self.arguments

    @property
    def hashed(self) -> Mapping[str, Json]:
        """The data without the location of a user's function."""
        if ":" not in self.target:
            return self.data
        home, _, name = self.target.rpartition(":")
        return {**self.data, self.KEY: name if home.endswith(".py") else self.target, "folder": ""}


def require_data(recipe: Recipe) -> None:
    """Refuse a recipe that would run code; InputError: the store keeps no instance of it."""
    if isinstance(recipe, CalledRecipe):
        raise InputError(
            where=printable(recipe.source),
            found="no instance in the store",
            allowed="one that a run has kept; reading a store runs no code that it names",
        )


def label_of(arguments: Mapping[str, Json]) -> str:
    """Label a kind of instances: texts as they are, other values with the names of their parameters."""
    named = [
        value if isinstance(value, str) else f"{key} {printable(str(value))}"
        for key, value in arguments.items()
        if key not in NO_LABEL and value is not None
    ]
    return ", ".join(named)


def options_of(arguments: Mapping[str, Json]) -> str:
    """Write arguments as options of a command line."""
    return " ".join(f"--{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in arguments.items())


def seed_of(arguments: Mapping[str, Json]) -> int | None:
    """Return the seed among arguments, None without one."""
    seed = arguments.get("seed")
    return seed if isinstance(seed, int) else None
