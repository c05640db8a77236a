"""Counts of a plan: its instances, cells and kinds of instances, found without making any instance."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dlsched.core.messages import several
from dlsched.study.plans.grids import Grid, combination, combinations, size, size_beyond
from dlsched.study.plans.plan import Generated, Gridded, Plan, PlannedMethod
from dlsched.study.plans.refusals import MOST_CELLS, too_large
from dlsched.study.plans.sources import parts, recipe_of
from dlsched.study.recipes.recipe import NO_LABEL, Recipe

Kind = tuple[str, str, str]
"""Family, preset and source of instances."""


@dataclass(frozen=True, slots=True)
class Part:
    """Instances of one kind: those of a grid that no earlier grid has, or a single one of a file or trace.

    Parameters
    ----------
    kind
        Kind of all its instances.
    instances
        Number of instances.
    """

    kind: Kind
    instances: int
    _of: Recipe | tuple[Gridded, Grid]

    @property
    def places(self) -> int:
        """Number of indices for ``at``: all instances of the grid, also those that an earlier grid has."""
        return 1 if isinstance(self._of, Recipe) else size(self._of[1])

    def at(self, place: int) -> Recipe:
        """Return the recipe of the instance at an index."""
        if isinstance(self._of, Recipe):
            return self._of
        source, grid = self._of
        return recipe_of(source, combination(grid, place))


def count(plan: Plan) -> tuple[int, int]:
    """Count the instances and the cells of a plan; reads files and traces, and draws nothing."""
    instances = cells = 0
    for part in parts(plan):
        family = part.family if isinstance(part, Recipe) else part[0].family
        found = 1 if isinstance(part, Recipe) else size_beyond(part[0].grid, part[1])
        instances += found
        cells += found * _methods(plan.methods, family)
    return instances, cells


def kinds_of(plan: Plan) -> Iterator[Part]:
    """Yield the parts of a plan in order, one kind of instances each; errors as ``recipes``."""
    for part in parts(plan):
        if isinstance(part, Recipe):
            yield Part((part.family, part.preset, "files"), 1, part)
            continue
        source, others = part
        naming = {key: values for key, values in source.grid.items() if _names(source, key)}
        for named in combinations(naming):
            grid: Grid = {key: (named[key],) if key in named else values for key, values in source.grid.items()}
            recipe = recipe_of(source, combination(grid, 0))
            yield Part((recipe.family, recipe.preset, recipe.source), size_beyond(grid, others), (source, grid))


def _names(source: Gridded, key: str) -> bool:
    """Whether different values of an argument make different kinds of instances."""
    return key == "preset" if isinstance(source, Generated) else key not in NO_LABEL


def require_countable(plan: Plan) -> None:
    """Refuse a plan with more cells than a study may have, before any instance is made.

    Raises
    ------
    TooLarge
        Names the number of cells and the limit; files and traces are not read, and count as one each.
    """
    gridded = replace(plan, sources=tuple(source for source in plan.sources if isinstance(source, Gridded)))
    instances, cells = count(gridded)
    others = len(plan.sources) - len(gridded.sources)
    if cells + others > MOST_CELLS:
        raise too_large(cells + others, several(instances + others, "instance"))


def _methods(methods: Sequence[PlannedMethod], family: str) -> int:
    return sum(method.family in (None, family) for method in methods)
