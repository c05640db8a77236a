"""Searches for instances of a study, and draws by functions: they run as cells before the others; the store keeps results."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from dlsched.core.files import Json, canonical_sha256
from dlsched.study.cells.cell import FOUND, Cell, Outcome, versions, versions_for
from dlsched.study.plans.plan import Called, CellLimits, Plan, PlannedMethod
from dlsched.study.recipes import CalledRecipe, Recipe, SearchedRecipe, recipe_of_result
from dlsched.study.store.store import Store
from dlsched.study.store.tables import located, unpack

SEARCH = PlannedMethod("search", "search", "")


def search_of(recipe: Recipe, limits: CellLimits) -> Cell:
    """Return the cell that finds the instance of a recipe; the limits hold for each evaluation of a search."""
    return Cell(_key(recipe, versions()), recipe, SEARCH, 0, limits)


def _key(recipe: Recipe, versions: Mapping[str, str]) -> str:
    return canonical_sha256({"search": recipe.content_hash(), "versions": versions_for(recipe.family, versions)})


class Searches:
    """The searches of a plan, whose cells stand in a store that this process leads."""

    def __init__(self, store: Store, plan: Plan) -> None:
        self._store, self._plan = store, plan
        self._failed: dict[str, Outcome] = {}
        self._any = any(isinstance(source, Called) for source in plan.sources)  # most plans have none

    def remaining(self) -> list[Cell]:
        """Return the unfinished searches and draws for instances of cells without a result, each once."""
        searches: dict[str, Cell] = {}
        for cell in self._store.waiting(self._plan) if self._any else ():
            if isinstance(cell.recipe, CalledRecipe):
                search = search_of(cell.recipe, self._plan.limits)
                if search.key not in searches and _instance(self._store, search.key) is None:
                    searches[search.key] = search
        return list(searches.values())

    def put(self, outcomes: Iterable[Outcome]) -> None:
        """Store the instances that were found, all or none."""
        with located(self._store.path, "; what was found before is kept"), self._store.database:
            for outcome in outcomes:
                if outcome.status == FOUND:
                    self._store.put_found(outcome.key, outcome.solution)
                else:
                    self._failed[outcome.key] = outcome

    def fail(self) -> int:
        """End cells whose instance was not found like their search; return how many."""
        ended: list[Outcome] = []
        for cell in self._store.waiting(self._plan) if self._failed else ():
            if isinstance(cell.recipe, CalledRecipe):
                failed = self._failed.get(_key(cell.recipe, versions()))
                if failed is not None:
                    what = "the search for its instance" if isinstance(cell.recipe, SearchedRecipe) else "its instance"
                    message = f"{what}: {failed.message}"
                    ended.append(Outcome(cell.key, failed.status, message))
        self._store.put(ended)
        return len(ended)

    def waiting(self) -> Iterator[Cell]:
        """Yield the cells of the study without a result, with the instances that were found."""
        recipe: Recipe | None = None
        for cell in self._store.waiting(self._plan):
            if not isinstance(cell.recipe, CalledRecipe):
                yield cell
                continue
            if recipe is None or recipe is not cell.recipe:
                recipe = cell.recipe
                stored = found_before(self._store, recipe, versions())
            yield replace(cell, recipe=stored)


def found_before(store: Store, recipe: Recipe, versions: Mapping[str, str]) -> Recipe:
    """Return the recipe of the instance that was found with these versions; else the recipe itself."""
    if not isinstance(recipe, CalledRecipe):
        return recipe
    instance = _instance(store, _key(recipe, versions))
    return recipe if instance is None else recipe_of_result(recipe, instance)


def _instance(store: Store, key: str) -> Json:
    """Return the instance that a search or draw left in the store; None: it has none."""
    if not store.searched:
        return None
    for (packed,) in store.each("SELECT instance FROM found WHERE key = ?", key):
        with located(store.path):
            return unpack(packed)
    return None
