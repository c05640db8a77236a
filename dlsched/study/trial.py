"""How long a study may take, from a few of its cells."""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import fmean

from dlsched.study.cells.cell import Cell, cells_of, runs_on
from dlsched.study.cells.outcome import FOUND, Outcome
from dlsched.study.engines import local
from dlsched.study.plans.plan import Plan, Recipe
from dlsched.study.plans.sources import recipes
from dlsched.study.plans.worst import evaluations_of, shorter
from dlsched.study.searching import SEARCH, given, search_of

PARTS = (0.0, 0.5, 1.0)
"""Where in the list of a kind of instances those are that are tried."""
Kind = tuple[str, str, str]
"""Family, preset and source of instances."""
SEARCHED = 40
"""Evaluations of the searches for instances that are tried; whole ones take as much longer as they have more."""
PATIENCE_S = 20.0
"""Seconds after which no more cells are tried."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What a study would run.

    Parameters
    ----------
    instances, cells
        How many; cells that have a result in the store are counted.
    by_kind
        By family, preset and source: instances.
    tried, failed
        Cells that were tried, and those of them that ended without an answer.
    seconds
        Estimated seconds of one process on all cells; None where no cell was tried.
    complete
        Whether every method was tried on every kind of instances; else ``seconds`` leaves some out.
    """

    instances: int
    cells: int
    by_kind: dict[tuple[str, str, str], int]
    tried: int
    failed: int
    seconds: float | None
    complete: bool


def try_out(plan: Plan) -> Trial:
    """Run each method on three instances of each kind, in one process, for at most some twenty seconds.

    Instances that are searched for are those that shorter searches find.
    """
    kinds: dict[Kind, list[Recipe]] = {}
    counts: dict[Kind, int] = {}
    for kind, of_kind in groupby(recipes(plan), key=_kind):
        counts[kind] = counts.get(kind, 0) + sum(1 for _ in of_kind)
    positions = {kind: {round(part * (count - 1)) for part in PARTS} for kind, count in counts.items()}
    seen = dict.fromkeys(counts, 0)
    for recipe in recipes(plan):
        kind = _kind(recipe)
        if seen[kind] in positions[kind]:
            kinds.setdefault(kind, []).append(recipe)
        seen[kind] += 1
    trials = [(kind, cell) for kind in kinds for recipe in kinds[kind] for cell in cells_of(plan, [recipe])]
    seconds: dict[tuple[Kind, str], list[float]] = {}
    made = _search(plan, kinds, seconds)
    cells = {cell.key: replace(cell, recipe=made.get(id(cell.recipe), cell.recipe)) for _, cell in trials}
    outcomes = _run([cell for cell in cells.values() if "worst" not in cell.recipe.data], str(plan.folder))
    for kind, cell in trials:
        if cell.key in outcomes:
            seconds.setdefault((kind, cell.method.label), []).append(_seconds(plan, outcomes[cell.key]))
    wanted = {(kind, cell.method.label) for kind, cell in trials}
    return Trial(
        instances=sum(counts.values()),
        cells=sum(counts[kind] for kind, _ in wanted),
        by_kind=counts,
        tried=len(outcomes),
        failed=sum(outcome.failed for outcome in outcomes.values()),
        seconds=sum(counts[kind] * fmean(spent) for (kind, _), spent in seconds.items()) if seconds else None,
        complete=wanted <= set(seconds),
    )


def _search(
    plan: Plan, kinds: Mapping[Kind, Sequence[Recipe]], seconds: dict[tuple[Kind, str], list[float]]
) -> dict[int, Recipe]:
    """Search shortly; recipes of what was found by the ``id`` of those of the searches, whose whole time goes to ``seconds``."""
    searches = {
        search.key: (search, kind, recipe)
        for kind, found in kinds.items()
        for recipe in found
        if "worst" in recipe.data
        for search in [search_of(shorter(recipe, SEARCHED), plan.limits)]
    }
    made: dict[int, Recipe] = {}
    for key, outcome in _run([search for search, _, _ in searches.values()], str(plan.folder)).items():
        search, kind, recipe = searches[key]
        if outcome.status == FOUND:
            longer = evaluations_of(recipe) / evaluations_of(search.recipe)
            seconds.setdefault((kind, SEARCH.label), []).append(longer * _seconds(plan, outcome))
            made[id(recipe)] = given(recipe, outcome.solution)
    return made


def _seconds(plan: Plan, outcome: Outcome) -> float:
    return plan.limits.time_s if outcome.time_s is None else outcome.time_s


def count(plan: Plan) -> tuple[int, int]:
    """How many instances and how many cells a plan has; reads or draws none."""
    instances = cells = 0
    for recipe in recipes(plan):
        instances += 1
        cells += sum(runs_on(method, recipe.family) for method in plan.methods)
    return instances, cells


def _kind(recipe: Recipe) -> Kind:
    return recipe.family, recipe.preset, "files" if "instance" in recipe.data else recipe.source


def _run(cells: Sequence[Cell], folder: str) -> dict[str, Outcome]:
    """Outcomes by key of the cells that ended in time."""
    ended: dict[str, Outcome] = {}
    began = time.monotonic()
    with closing(local.run(iter(cells), 1, folder)) as arriving:
        for outcomes in arriving:
            ended |= {outcome.key: outcome for outcome in outcomes}
            if time.monotonic() - began > PATIENCE_S:
                break
    return ended
