"""What every recipe is asked."""

import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from dlsched.core.files import Json, canonical_sha256
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import printable

NO_LABEL = ("seed", "jobs", "gpus")
"""Parameters that do not tell one kind of instances from another: rows have columns for them."""


class Origin(NamedTuple):
    """What the rows of an instance say of where it is from: source, preset and seed as of ``Recipe``."""

    source: str
    preset: str
    seed: int | None


class Written(NamedTuple):
    """A file with an instance, and the command line that writes it; empty: the file is there."""

    path: str
    command: str


@dataclass(frozen=True, slots=True)
class Recipe(ABC):
    """How an instance comes about; it travels to the process that solves it.

    Parameters
    ----------
    family
        Its family.
    source
        ``generate``, the function or file as the plan names it, or the file and the window of a trace.
    preset, seed
        Of the generator; empty and None of files. Of a function the arguments that make a kind of instances, in words.
    """

    family: str
    source: str
    preset: str
    seed: int | None

    @property
    @abstractmethod
    def data(self) -> Mapping[str, Json]:
        """All that decides the instance beside its family, as stores keep it."""

    @abstractmethod
    def make(self, step: Callable[[], None] = lambda: None) -> InstanceFile:
        """Make the instance; ``step`` is called after every evaluation of a search for it.

        Raises
        ------
        UsageError
            Its generator does not take the arguments, the user's function fails, or a search finds none.
        """

    @abstractmethod
    def origin(self) -> Origin | None:
        """Source, preset and seed as the data have them; None: they say nothing of it."""

    @property
    def parameters(self) -> Mapping[str, Json]:
        """Arguments that the instance is made with, by name; none of files."""
        return {}

    @property
    def hashed(self) -> Mapping[str, Json]:
        """The data without what only says where something stands."""
        return self.data

    def content_hash(self) -> str:
        """Hash what makes the instance; what it says of its source is left out, and where functions stand: they name files."""
        return canonical_sha256({"family": self.family, "data": dict(self.hashed)})

    def written(self) -> Written | None:
        """The file that holds the instance, or will by a command; None: no command line makes it."""
        return None

    @property
    def jobs(self) -> int:
        """Jobs of an instance that takes the longer to make the more there are; 0 of others, which are of some size already."""
        return 0


def label_of(arguments: Mapping[str, Json]) -> str:
    """Say what tells the kind of an instance: texts as they are, other values with the name of their parameter."""
    named = [
        value if isinstance(value, str) else f"{key} {printable(str(value))}"
        for key, value in arguments.items()
        if key not in NO_LABEL and value is not None
    ]
    return ", ".join(named)


def options_of(arguments: Mapping[str, Json]) -> str:
    """Arguments as options of a command line."""
    return " ".join(f"--{name.replace('_', '-')} {shlex.quote(str(value))}" for name, value in arguments.items())


def seed_of(arguments: Mapping[str, Json]) -> int | None:
    """The seed among arguments."""
    seed = arguments.get("seed")
    return seed if isinstance(seed, int) else None


def placed(target: str) -> tuple[str, str]:
    """What a function is called where it is hashed, ``path.py:name`` without the path, and its folder: nothing."""
    home, _, name = target.rpartition(":")
    return (name if home.endswith(".py") else target), ""
