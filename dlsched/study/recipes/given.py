"""Recipes of instances that exist: from files, windows of traces, and finished searches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.families import instance_from
from dlsched.study.recipes.recipe import Origin, Recipe, Written


@dataclass(frozen=True, slots=True)
class GivenRecipe(Recipe):
    """An instance as data; ``content`` is that of its file."""

    content: Json

    @property
    def data(self) -> Mapping[str, Json]:
        """``{"instance": {...}}``."""
        return {"instance": self.content}

    @property
    def hashed(self) -> Mapping[str, Json]:
        """The data without the instance's ``source``."""
        if not isinstance(self.content, dict):
            return self.data
        return {"instance": {key: value for key, value in self.content.items() if key != "source"}}

    def make(self, step: Callable[[], None] = lambda: None) -> InstanceFile:
        """Read the instance; errors as ``instance_from``."""
        del step
        return instance_from(self.content, self.source)

    def origin(self) -> Origin | None:
        """The source of the recipe, since the content does not name one."""
        return Origin(self.source, "", None)

    def written(self) -> Written | None:
        """The file; None for a window of a trace, which has no instance file."""
        return Written(self.source, "") if self.source.endswith(".json") else None


def given(instance: InstanceFile, source: str) -> GivenRecipe:
    """Return the recipe of an instance that was read or imported."""
    return GivenRecipe(instance.family, source, "", None, instance.as_data())


def found(recipe: Recipe, instance: Json) -> GivenRecipe:
    """Return the recipe of an instance that a search has found; ``recipe`` is the search."""
    return GivenRecipe(recipe.family, recipe.source, recipe.preset, recipe.seed, instance)
