"""Recipes as stores keep them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.study.recipes.drawn import DrawnRecipe
from dlsched.study.recipes.generated import GeneratedRecipe
from dlsched.study.recipes.given import GivenRecipe
from dlsched.study.recipes.recipe import Origin, Recipe
from dlsched.study.recipes.searched import SearchedRecipe


@dataclass(frozen=True, slots=True)
class UnknownRecipe(Recipe):
    """What says how an instance comes about in a way that is not known here; ``kept``: as it was found."""

    kept: Mapping[str, Json]

    @property
    def data(self) -> Mapping[str, Json]:
        """As it was found."""
        return self.kept

    def make(self, step: Callable[[], None] = lambda: None) -> InstanceFile:
        """Fail: there is no way."""
        raise AssertionError(f"no recipe: {list(self.kept)}")

    def origin(self) -> Origin | None:
        """None."""
        return None


def read_recipe(family: str, source: str, preset: str, seed: int | None, data: Mapping[str, Json]) -> Recipe:
    """Return the recipe whose data these are."""
    where = family, source, preset, seed
    match data:
        case {"generate": dict(arguments), **rest} if not rest:
            return GeneratedRecipe(*where, arguments)
        case {"instance": content, **rest} if not rest:
            return GivenRecipe(*where, content)
        case {"python": str(function), **rest}:
            kind, named = DrawnRecipe, function
        case {"worst": str(method), **rest}:
            kind, named = SearchedRecipe, method  # type: ignore[assignment]
        case _:
            return UnknownRecipe(*where, data)
    match rest:
        case {"folder": str(folder), "fingerprint": str(fingerprint), "arguments": dict(arguments)} if len(rest) == 3:
            return kind(*where, named, folder, fingerprint, arguments)
    return UnknownRecipe(*where, data)
