"""Reader of recipes from stores."""

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
    """A recipe of a kind that this version does not know; ``kept``: its data as found in the store."""

    kept: Mapping[str, Json]

    @property
    def data(self) -> Mapping[str, Json]:
        """The data as found in the store."""
        return self.kept

    def make(self, step: Callable[[], None] = lambda: None) -> InstanceFile:
        """Raise an error: this version cannot make the instance."""
        raise AssertionError(f"no recipe: {list(self.kept)}")

    def origin(self) -> Origin | None:
        """None."""
        return None


_CODE: Mapping[str, type] = {"folder": str, "fingerprint": str, "arguments": dict}
_KINDS: Mapping[str, tuple[Callable[..., Recipe], Mapping[str, type]]] = {
    "generate": (GeneratedRecipe, {"generate": dict}),
    "instance": (GivenRecipe, {"instance": object}),
    "arguments": (GivenRecipe, {"instance": object, "arguments": dict}),
    "python": (DrawnRecipe, {"python": str, **_CODE}),
    "worst": (SearchedRecipe, {"worst": str, **_CODE}),
}
"""Classes of recipes, each with the keys of its data in the order of its own fields, by the key that
identifies it."""


def read_recipe(family: str, source: str, preset: str, seed: int | None, data: Mapping[str, Json]) -> Recipe:
    """Return the recipe with these data."""
    where = family, source, preset, seed
    for key, (kind, fields) in _KINDS.items():
        if key in data and data.keys() == fields.keys():
            values = [data[name] for name in fields]
            if all(map(isinstance, values, fields.values())):
                return kind(*where, *values)
    return UnknownRecipe(*where, data)
