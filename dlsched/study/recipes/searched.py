"""Recipes of worst instances of a method, which a search finds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from dlsched.core.family import AnyMethod
from dlsched.core.instance import InstanceFile
from dlsched.families import FAMILIES
from dlsched.own_methods import find_method_of_user
from dlsched.study.recipes.recipe import CalledRecipe, Origin, Written, label_of, options_of, seed_of

PREFIX = "worst "
"""Beginning of the source; the method as named in the plan follows."""


@dataclass(frozen=True, slots=True)
class SearchedRecipe(CalledRecipe):
    """A search for the instance on which a method, the target, does worst; ``arguments`` are those of ``find_worst``."""

    KEY = "worst"

    def make(self, step: Callable[[], None] = lambda: None) -> InstanceFile:
        """Search for it, and call ``step`` after every evaluation.

        The name of the instance holds the arguments; its ``source`` holds the command, the ratio, and
        whether the method failed on other instances.

        Raises
        ------
        UsageError
            As ``find_worst``.
        """
        from dlsched.worst.search import find_worst

        chosen: str | AnyMethod = self.target
        if ":" in self.target:
            chosen = find_method_of_user(FAMILIES[self.family], self.target, folder=self.folder)
        options: dict[str, Any] = dict(self.arguments)
        worst = find_worst(self.family, chosen, progress=lambda progress: step(), **options)
        name = "-".join([worst.instance.name, *(_word(*each) for each in options.items())])
        source = (worst.instance.source or "").replace(self.target, self.source.removeprefix(PREFIX))
        if worst.failures:
            source += f"; on {len(worst.failures)} others it fails: {worst.failures[0].message}"
        return worst.instance.model_copy(update={"name": name, "source": source})

    def origin(self) -> Origin | None:
        """The method, label and seed of the arguments."""
        kind = f"{PREFIX}{self.target if ':' not in self.target else self.source.removeprefix(PREFIX)}"
        return Origin(kind, ", ".join(filter(None, (kind, label_of(self.arguments)))), seed_of(self.arguments))

    def written(self) -> Written:
        """The file, and the command ``dlsched worst`` that writes it."""
        arguments = {"method": self.source.removeprefix(PREFIX), **self.arguments}
        return Written("worst.json", f"dlsched worst {self.family} {options_of(arguments)} -o worst.json")

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
