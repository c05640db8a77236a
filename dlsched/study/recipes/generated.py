"""Recipes of instances that the family's generator draws."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.families import FAMILIES
from dlsched.study.recipes.recipe import Origin, Recipe, Written, options_of


@dataclass(frozen=True, slots=True)
class GeneratedRecipe(Recipe):
    """A draw of the family's generator; ``arguments``: all of them, preset and seed too."""

    arguments: Mapping[str, Json]

    @property
    def data(self) -> Mapping[str, Json]:
        """``{"generate": {...}}``."""
        return {"generate": dict(self.arguments)}

    @property
    def parameters(self) -> Mapping[str, Json]:
        """All arguments of the generator."""
        return self.arguments

    def make(self, step: Callable[[], None] = lambda: None) -> InstanceFile:
        """Draw the instance; raises the errors of the generator."""
        del step
        instance: InstanceFile = FAMILIES[self.family].generate(**self.arguments)
        return instance

    def origin(self) -> Origin | None:
        """Preset and seed of the arguments."""
        preset, seed = self.arguments.get("preset"), self.arguments.get("seed")
        return Origin("generate", preset, seed)  # type: ignore[arg-type]

    def written(self) -> Written:
        """The file, and the command ``dlsched generate`` that writes it."""
        command = f"dlsched generate {self.family} {options_of(self.arguments)} -o instance.json"
        return Written("instance.json", command)

    @property
    def jobs(self) -> int:
        """Number of jobs among the arguments."""
        jobs = self.arguments.get("jobs")
        return jobs if isinstance(jobs, int) else 0
