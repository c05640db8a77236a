"""Instances that are there: of files, of windows of traces, and those that a search has found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.families import instance_from
from dlsched.study.recipes.recipe import Origin, Recipe, Written


@dataclass(frozen=True, slots=True)
class GivenRecipe(Recipe):
    """An instance as its file holds it; ``content``: of the file."""

    content: Json

    @property
    def data(self) -> Mapping[str, Json]:
        """``{"instance": {...}}``."""
        return {"instance": self.content}

    @property
    def hashed(self) -> Mapping[str, Json]:
        """Without the instance's ``source``."""
        if not isinstance(self.content, dict):
            return self.data
        return {"instance": {key: value for key, value in self.content.items() if key != "source"}}

    def make(self, step: Callable[[], None] = lambda: None) -> InstanceFile:
        """Read it; errors as ``instance_from``."""
        del step
        return instance_from(self.content, self.source)

    def origin(self) -> Origin | None:
        """The source, which the content does not say."""
        return Origin(self.source, "", None)

    def written(self) -> Written | None:
        """The file; None: a window of a trace, which no file holds as an instance."""
        return Written(self.source, "") if self.source.endswith(".json") else None


def given(instance: InstanceFile, source: str) -> GivenRecipe:
    """Return the recipe of an instance that was read or imported."""
    return GivenRecipe(instance.family, source, "", None, instance.as_data())


def found(recipe: Recipe, instance: Json) -> GivenRecipe:
    """Return the recipe of an instance that the search of a recipe has found."""
    return GivenRecipe(recipe.family, recipe.source, recipe.preset, recipe.seed, instance)
