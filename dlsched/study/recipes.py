"""Recipes of instances: how an instance is made, in whichever process, and how stores write it down."""

import functools
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias

from dlsched.core.errors import InputError, UsageError
from dlsched.core.family import AnyMethod
from dlsched.core.files import Json, canonical_sha256, json_text
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import printable, shown
from dlsched.families import FAMILIES, instance_from, instance_of
from dlsched.own_methods import call_of_user, find_method_of_user, import_of_user

NO_LABEL = ("seed", "jobs", "gpus")
"""Parameters that do not distinguish kinds of instances: rows have columns for them."""
Step: TypeAlias = Callable[[], None]


def _ignored() -> None:
    """Take no notice of an evaluation of a search."""


@dataclass(frozen=True, slots=True)
class Recipe(ABC):
    """How an instance is made; the process that solves the instance receives its recipe and makes it.

    ``source`` is ``generate``, the function or file as the plan names it, or a file and a window of a trace. ``preset`` and
    ``seed`` are the generator's, empty and None for files; for functions ``preset`` lists what tells kinds of instances apart.
    ``arguments`` are those of the generator, function or search; none for files.
    """

    KEYS: ClassVar[Mapping[str, str]] = {}
    """Fields that decide the instance besides its family, by their names in stores."""
    family: str
    source: str
    preset: str
    seed: int | None
    arguments: Mapping[str, Json] = field(default_factory=dict, kw_only=True)

    @property
    def data(self) -> Mapping[str, Json]:
        """All that decides the instance besides its family, as stores keep it."""
        return {key: getattr(self, name) for key, name in self.KEYS.items()}

    @property
    def hashed(self) -> Mapping[str, Json]:
        """The data without locations such as paths."""
        return self.data

    def content_hash(self) -> str:
        """Hash what makes the instance, without its source and paths of functions: these name folders."""
        return canonical_sha256({"family": self.family, "data": self.hashed})

    @abstractmethod
    def make(self, step: Step = _ignored) -> InstanceFile:
        """Make the instance; ``step`` is called after every evaluation of a search for it. UsageError: it cannot be made."""

    def origin(self) -> tuple[str, object, object] | None:
        """Source, preset and seed according to the data; None: the data do not say."""
        return self.source, label_of(self.arguments), seed_of(self.arguments)

    def written(self) -> tuple[str, str] | None:
        """The file of the instance, and the command that writes it, empty if the file exists; None: no command can."""
        return None


@dataclass(frozen=True, slots=True)
class CalledRecipe(Recipe):
    """A recipe that runs code which a plan names, or a long search: stores keep the instance, and reading one runs nothing.

    ``target`` is the name of a method, or a user's function, ``path.py:name`` with an absolute path or
    ``package.module:name``; ``folder`` is the plan's; ``fingerprint`` hashes the user's code.
    """

    target: str
    folder: str
    fingerprint: str

    @property
    def hashed(self) -> Mapping[str, Json]:
        """The data without the location of a user's function."""
        if ":" not in self.target:
            return self.data
        home, _, name = self.target.rpartition(":")
        return {**self.data, next(iter(self.KEYS)): name if home.endswith(".py") else self.target, "folder": ""}


_CODE = {"folder": "folder", "fingerprint": "fingerprint", "arguments": "arguments"}


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


@dataclass(frozen=True, slots=True)
class GeneratedRecipe(Recipe):
    """A draw of the family's generator; its arguments are all of them, preset and seed too."""

    KEYS: ClassVar = {"generate": "arguments"}

    def make(self, step: Step = _ignored) -> InstanceFile:
        """Draw the instance; raises the errors of the generator."""
        instance: InstanceFile = FAMILIES[self.family].generate(**self.arguments)
        return instance

    def origin(self) -> tuple[str, object, object]:
        """Preset and seed of the arguments."""
        return "generate", self.arguments.get("preset"), self.arguments.get("seed")

    def written(self) -> tuple[str, str]:
        """The file, and the command ``dlsched generate`` that writes it."""
        return "instance.json", f"dlsched generate {self.family} {options_of(self.arguments)} -o instance.json"


@dataclass(frozen=True, slots=True)
class DrawnRecipe(CalledRecipe):
    """A call of a user's function that returns an instance."""

    KEYS: ClassVar = {"python": "target", **_CODE}

    def make(self, step: Step = _ignored) -> InstanceFile:
        """Call the function; UsageError: it raises, or returns no instance of the family."""
        thing, file = _function(self.target, self.folder, self.fingerprint)
        made = call_of_user(self.source, file, thing, dict(self.arguments))
        if not isinstance(made, InstanceFile) or made.family != self.family:
            what = f"an instance of {made.family}" if isinstance(made, InstanceFile) else shown(type(made).__name__)
            raise UsageError(where=self.source, found=what, allowed=f"an instance of {self.family}")
        return made

    def call(self) -> str:
        """The call, as Python writes it."""
        return f"{self.source}({', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})"


@functools.lru_cache(maxsize=64)
def _function(function: str, folder: str, fingerprint: str) -> tuple[Callable[..., object], str]:
    """Import a function once for all its instances; a new ``fingerprint`` imports changed code again."""
    return import_of_user(function, folder)


PREFIX = "worst "
"""Beginning of the source; the method as named in the plan follows."""


@dataclass(frozen=True, slots=True)
class SearchedRecipe(CalledRecipe):
    """A search for the instance on which a method, the target, does worst; ``arguments`` are those of ``find_worst``."""

    KEYS: ClassVar = {"worst": "target", **_CODE}

    @property
    def _method(self) -> str:
        """The method as the plan names it."""
        return self.source.removeprefix(PREFIX)

    def make(self, step: Step = _ignored) -> InstanceFile:
        """Search for it; errors as ``find_worst``.

        Its name holds the arguments; its ``source`` the command, the ratio, and whether the method failed on other instances.
        """
        from dlsched.worst.search import find_worst

        chosen: str | AnyMethod = self.target
        if ":" in self.target:
            chosen = find_method_of_user(FAMILIES[self.family], self.target, folder=self.folder)
        options: dict[str, Any] = dict(self.arguments)
        worst = find_worst(self.family, chosen, progress=lambda progress: step(), **options)
        name = "-".join([worst.instance.name, *(_word(*each) for each in options.items())])
        source = (worst.instance.source or "").replace(self.target, self._method)
        if worst.failures:
            source += f"; on {len(worst.failures)} others it fails: {worst.failures[0].message}"
        return worst.instance.model_copy(update={"name": name, "source": source})

    def origin(self) -> tuple[str, object, object]:
        """The method, label and seed of the arguments."""
        kind = f"{PREFIX}{self._method if ':' in self.target else self.target}"
        return kind, ", ".join(filter(None, (kind, label_of(self.arguments)))), seed_of(self.arguments)

    def written(self) -> tuple[str, str]:
        """The file, and the command ``dlsched worst`` that writes it."""
        options = options_of({"method": self._method, **self.arguments})
        return "worst.json", f"dlsched worst {self.family} {options} -o worst.json"

    @property
    def evaluations(self) -> int:
        """Evaluations of the search."""
        from dlsched.worst.search import BUDGET

        budget = self.arguments.get("budget", BUDGET)
        assert isinstance(budget, int)
        return budget

    def smaller(self, evaluations: int) -> "SearchedRecipe":
        """Return the same search with so many evaluations at most."""
        return replace(self, arguments={**self.arguments, "budget": min(evaluations, self.evaluations)})


def _word(key: str, value: object) -> str:
    """Write an argument as a part of the instance's name: ``capped``, ``jobs2``, ``no-sends``."""
    if isinstance(value, bool):
        return key if value else f"no-{key}"
    return value if isinstance(value, str) else f"{key}{value}"


@dataclass(frozen=True, slots=True)
class GivenRecipe(Recipe):
    """An instance; ``content`` is that of its file, or itself, ``arguments`` those with which a function drew it."""

    KEYS: ClassVar = {"instance": "content", "arguments": "arguments"}
    content: "Json | InstanceFile"

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        """Pickle an instance as the text of its file, which takes a fifth of the memory."""
        content: object = self.content
        if isinstance(content, InstanceFile):
            content = json_text(content.in_blocks()).encode()
        return _received, (self.family, self.source, self.preset, self.seed, content, self.arguments)

    @property
    def data(self) -> Mapping[str, Json]:
        """``{"instance": {...}}``, and ``"arguments"`` if there are any."""
        content = self.content.as_data() if isinstance(self.content, InstanceFile) else self.content
        return {"instance": content} | ({"arguments": dict(self.arguments)} if self.arguments else {})

    @property
    def hashed(self) -> Mapping[str, Json]:
        """The data without the instance's ``source``, and without the arguments."""
        content = self.data["instance"]
        if isinstance(content, dict):
            content = {key: value for key, value in content.items() if key != "source"}
        return {"instance": content}

    def make(self, step: Step = _ignored) -> InstanceFile:
        """Read the instance; errors as ``instance_from``."""
        return self.content if isinstance(self.content, InstanceFile) else instance_from(self.content, self.source)

    def written(self) -> tuple[str, str] | None:
        """The file; None for a window of a trace, which has no instance file."""
        return (self.source, "") if self.source.endswith((".json", ".json.gz", ".parquet")) else None


def _received(
    family: str, source: str, preset: str, seed: int | None, content: "Json | bytes", arguments: Mapping[str, Json]
) -> GivenRecipe:
    """The recipe with these fields; the content is text where an instance was sent."""
    made = instance_of(content, source) if isinstance(content, bytes) else content
    return GivenRecipe(family, source, preset, seed, made, arguments=arguments)


def recipe_of_instance(instance: InstanceFile, source: str) -> GivenRecipe:
    """Return the recipe of an instance that was read or imported."""
    return GivenRecipe(instance.family, source, "", None, instance)


def recipe_of_result(recipe: Recipe, instance: Json) -> GivenRecipe:
    """Return the recipe of an instance that a search has found; ``recipe`` is the search."""
    return GivenRecipe(recipe.family, recipe.source, recipe.preset, recipe.seed, instance)


@dataclass(frozen=True, slots=True)
class UnknownRecipe(Recipe):
    """A recipe of a kind that this version does not know; ``kept``: its data as found in the store."""

    kept: Mapping[str, Json]

    @property
    def data(self) -> Mapping[str, Json]:
        """The data as found in the store."""
        return self.kept

    def make(self, step: Step = _ignored) -> InstanceFile:
        """Raise an error: this version cannot make the instance."""
        raise AssertionError(f"no recipe: {list(self.kept)}")

    def origin(self) -> None:
        """None."""


LAST = UnknownRecipe("", "", "", None, {})
"""Stands for the recipe of the cell before, where cells are sent to a process: an instance may be large."""
_TYPES: Mapping[str, type] = {"arguments": dict, "content": object}
"""Types of the fields that are no texts."""


def read_recipe(family: str, source: str, preset: str, seed: int | None, data: Mapping[str, Json]) -> Recipe:
    """Return the recipe with these data."""
    kinds: list[tuple[Callable[..., Recipe], Mapping[str, str]]] = [
        *((kind, kind.KEYS) for kind in (GeneratedRecipe, DrawnRecipe, SearchedRecipe, GivenRecipe)),
        (GivenRecipe, {"instance": "content"}),
    ]
    for kind, keys in kinds:
        if data.keys() == keys.keys() and all(isinstance(data[key], _TYPES.get(keys[key], str)) for key in keys):
            return kind(family, source, preset, seed, **{keys[key]: value for key, value in data.items()})
    return UnknownRecipe(family, source, preset, seed, data)
