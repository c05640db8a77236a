"""Trial of a study: estimates how long it takes by running a few of its cells."""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from statistics import fmean

from dlsched.study.cells.cell import FOUND, Cell, Outcome, cells_of
from dlsched.study.engines import local
from dlsched.study.plans.plan import Plan
from dlsched.study.plans.sources import Kind, count, kinds_of
from dlsched.study.recipes import CalledRecipe, GeneratedRecipe, Recipe, SearchedRecipe, recipe_of_result
from dlsched.study.store.searches import SEARCH, search_of

PARTS = (0.0, 0.5, 1.0)
"""Positions, as shares of the list of a kind's instances, of the instances that are tried."""
KINDS = 1000
"""Largest number of kinds of instances that are listed and tried."""
JOBS = 100_000
"""Number of jobs beyond which an instance is not tried."""
SEARCHED = 40
"""Evaluations of trial searches for instances; the time of whole searches is estimated in proportion."""
PATIENCE_S = 20.0
"""Seconds after which the trial ends."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Size of a study, and an estimate of the time of one process, in seconds; None if no cell was tried.

    ``by_kind``: instances by family, preset and source of the first ``KINDS`` kinds. ``failed``: tried cells without an answer.
    ``complete``: whether every method ended on every kind. ``most_jobs``: jobs of the largest instance left out, else 0.
    """

    instances: int
    cells: int
    by_kind: dict[Kind, int]
    tried: int
    failed: int
    seconds: float | None
    complete: bool
    most_jobs: int = 0


def try_out(plan: Plan) -> Trial:
    """Run each method on three instances of each kind, in one process, for about twenty seconds at most.

    Shorter searches find the searched ones. No code or program of the plan runs: only dlsched's methods and instances are tried.
    """
    own = replace(plan, methods=tuple(method for method in plan.methods if not method.foreign))
    counts, kinds = _chosen(plan)
    instances, cells_in_all = count(plan)
    most_jobs = max((_jobs(recipe) for found in kinds.values() for recipe in found), default=0)
    kinds = {kind: [recipe for recipe in found if _jobs(recipe) <= JOBS] for kind, found in kinds.items()}
    trials = [(kind, cell) for kind in kinds for recipe in kinds[kind] for cell in cells_of(own, [recipe])]
    seconds: dict[tuple[Kind, str], list[float]] = {}
    ends = time.monotonic() + PATIENCE_S
    made = _search(plan, kinds, seconds, ends)
    cells = {cell.key: replace(cell, recipe=made.get(id(cell.recipe), cell.recipe)) for _, cell in trials}
    waiting = [cell for cell in cells.values() if not isinstance(cell.recipe, CalledRecipe)]
    outcomes, unended = _run(waiting, str(plan.folder), ends)
    spent = {key: _seconds(plan, outcome) for key, outcome in outcomes.items()} | unended
    # A cell that stands for several trials counts for each: the mean is that of a method on a kind.
    for kind, cell in trials:
        if cell.key in spent:
            seconds.setdefault((kind, cell.method.label), []).append(spent[cell.key])
    wanted = {(kind, method.label) for kind in kinds for method in plan.methods if method.runs_on(kind[0])}
    return Trial(
        instances=instances,
        cells=cells_in_all,
        by_kind=counts,
        tried=len(outcomes),
        failed=sum(outcome.failed for outcome in outcomes.values()),
        seconds=sum(counts[kind] * fmean(each) for (kind, _), each in seconds.items()) if seconds else None,
        complete=wanted <= set(seconds) and not unended and sum(counts.values()) == instances,
        most_jobs=most_jobs if most_jobs > JOBS else 0,
    )


def _jobs(recipe: Recipe) -> int:
    """Number of jobs of an instance that is generated; 0 for others."""
    jobs = recipe.arguments.get("jobs") if isinstance(recipe, GeneratedRecipe) else 0
    return jobs if isinstance(jobs, int) else 0


def _chosen(plan: Plan) -> tuple[dict[Kind, int], dict[Kind, list[Recipe]]]:
    """Return, for the first ``KINDS`` kinds, the number of instances and the recipes to try."""
    counts, places = dict[Kind, int](), dict[Kind, int]()
    # Parts are listed twice, not kept: those of files and traces hold whole instances.
    for part in kinds_of(plan):
        if part.kind not in counts and len(counts) == KINDS:
            break
        counts[part.kind] = counts.get(part.kind, 0) + part.instances
        places[part.kind] = places.get(part.kind, 0) + part.places
    wanted = {kind: {round(part * (number - 1)) for part in PARTS} for kind, number in places.items()}
    chosen: dict[Kind, list[Recipe]] = {kind: [] for kind in counts}
    passed = dict.fromkeys(counts, 0)
    for part in kinds_of(plan):
        if part.kind not in counts:
            break
        first = passed[part.kind]
        passed[part.kind] += part.places
        chosen[part.kind] += [
            part.at(place - first) for place in wanted[part.kind] if first <= place < passed[part.kind]
        ]
    return counts, chosen


def _search(
    plan: Plan, kinds: Mapping[Kind, Sequence[Recipe]], seconds: dict[tuple[Kind, str], list[float]], ends: float
) -> dict[int, Recipe]:
    """Run short searches; return what they found by the ``id`` of their recipes, and extend ``seconds``."""
    searches = {
        search.key: (search, kind, recipe)
        for kind, found in kinds.items()
        for recipe in found
        if isinstance(recipe, SearchedRecipe) and ":" not in recipe.target
        for search in [search_of(recipe.smaller(SEARCHED), plan.limits)]
    }
    made: dict[int, Recipe] = {}
    outcomes, _ = _run([search for search, _, _ in searches.values()], str(plan.folder), ends)
    for key, outcome in outcomes.items():
        _, kind, recipe = searches[key]
        if outcome.status == FOUND:
            longer = recipe.evaluations / recipe.smaller(SEARCHED).evaluations
            seconds.setdefault((kind, SEARCH.label), []).append(longer * _seconds(plan, outcome))
            made[id(recipe)] = recipe_of_result(recipe, outcome.solution)
    return made


def _seconds(plan: Plan, outcome: Outcome) -> float:
    return plan.limits.time_s if outcome.time_s is None else outcome.time_s


def _run(cells: Sequence[Cell], folder: str, ends: float) -> tuple[dict[str, Outcome], dict[str, float]]:
    """Return outcomes of cells that ended in time, by key, and the seconds of the one that did not."""
    ended: dict[str, Outcome] = {}
    latest = time.monotonic()
    if latest < ends:
        with closing(local.run(iter(cells), 1, folder, lambda: time.monotonic() < ends)) as arriving:
            for outcomes in arriving:
                ended |= {outcome.key: outcome for outcome in outcomes}
                latest = time.monotonic()
    unended = [cell.key for cell in cells if cell.key not in ended]
    return ended, {key: max(0.0, ends - latest) for key in unended[:1]}
