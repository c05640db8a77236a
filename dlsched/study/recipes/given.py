"""Recipes of instances that exist: from files, windows of traces, and finished searches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.families import instance_from
from dlsched.study.recipes.recipe import CalledRecipe, Origin, Recipe, Written, label_of, seed_of


@dataclass(frozen=True, slots=True)
class GivenRecipe(Recipe):
    """An instance as data; ``content`` is that of its file, ``arguments`` those with which a function drew it."""

    content: Json
    arguments: Mapping[str, Json] = field(default_factory=dict)

    @property
    def data(self) -> Mapping[str, Json]:
        """``{"instance": {...}}``, and ``"arguments"`` if there are any."""
        return {"instance": self.content} | ({"arguments": dict(self.arguments)} if self.arguments else {})

    @property
    def parameters(self) -> Mapping[str, Json]:
        """The arguments of the function that drew it."""
        return self.arguments

    @property
    def hashed(self) -> Mapping[str, Json]:
        """The data without the instance's ``source``, and without the arguments."""
        if not isinstance(self.content, dict):
            return {"instance": self.content}
        return {"instance": {key: value for key, value in self.content.items() if key != "source"}}

    def make(self, step: Callable[[], None] = lambda: None) -> InstanceFile:
        """Read the instance; errors as ``instance_from``."""
        del step
        return instance_from(self.content, self.source)

    def origin(self) -> Origin | None:
        """The source of the recipe, since the content does not name one; label and seed of the arguments."""
        return Origin(self.source, label_of(self.arguments), seed_of(self.arguments))

    def written(self) -> Written | None:
        """The file; None for a window of a trace, which has no instance file."""
        return Written(self.source, "") if self.source.endswith(".json") else None


def given(instance: InstanceFile, source: str) -> GivenRecipe:
    """Return the recipe of an instance that was read or imported."""
    return GivenRecipe(instance.family, source, "", None, instance.as_data())


def drawn(recipe: CalledRecipe) -> GivenRecipe:
    """Return the instance that a function draws, as data."""
    return replace(found(recipe, recipe.make().as_data()), arguments=recipe.arguments)


def found(recipe: Recipe, instance: Json) -> GivenRecipe:
    """Return the recipe of an instance that a search has found; ``recipe`` is the search."""
    return GivenRecipe(recipe.family, recipe.source, recipe.preset, recipe.seed, instance)
