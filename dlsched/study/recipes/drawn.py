"""Recipes of instances that a user's function draws."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

from dlsched.core.errors import UsageError
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import shown
from dlsched.own_methods import call_of_user, import_of_user
from dlsched.study.recipes.recipe import CalledRecipe, Origin, label_of, seed_of


@dataclass(frozen=True, slots=True)
class DrawnRecipe(CalledRecipe):
    """A call of a user's function that returns an instance."""

    KEY = "python"

    def make(self, step: Callable[[], None] = lambda: None) -> InstanceFile:
        """Call the function.

        Raises
        ------
        UsageError
            The function raises an error, or does not return an instance of the family.
        """
        del step
        thing, file = _function(self.target, self.folder, self.fingerprint)
        made = call_of_user(self.source, file, thing, dict(self.arguments))
        if not isinstance(made, InstanceFile) or made.family != self.family:
            what = f"an instance of {made.family}" if isinstance(made, InstanceFile) else shown(type(made).__name__)
            raise UsageError(where=self.source, found=what, allowed=f"an instance of {self.family}")
        return made

    def origin(self) -> Origin | None:
        """Label and seed of the arguments."""
        return Origin(self.source, label_of(self.arguments), seed_of(self.arguments))

    def call(self) -> str:
        """The call, as Python writes it."""
        return f"{self.source}({', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})"


@functools.lru_cache(maxsize=64)
def _function(function: str, folder: str, fingerprint: str) -> tuple[Callable[..., object], str]:
    """Import a function once for all its instances; a new ``fingerprint`` imports changed code again."""
    del fingerprint
    return import_of_user(function, folder)
