"""How long a study may take, from a few of its cells."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean

from dlsched.study.cells.cell import Cell, cells_of, runs_on
from dlsched.study.engines import local
from dlsched.study.plans.plan import Plan, Recipe
from dlsched.study.plans.sources import recipes

PARTS = (0.0, 0.5, 1.0)
"""Where in the list of a kind of instances those are that are tried."""
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
    """Run each method on three instances of each kind, in one process, for at most some twenty seconds."""
    kinds: dict[tuple[str, str, str], list[Recipe]] = {}
    counts: dict[tuple[str, str, str], int] = {}
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
    took, failed = _run(list({cell.key: cell for _, cell in trials}.values()), str(plan.folder))
    seconds: dict[tuple[tuple[str, str, str], str], list[float]] = {}
    for kind, cell in trials:
        if cell.key in took:
            seconds.setdefault((kind, cell.method.label), []).append(took[cell.key])
    wanted = {(kind, cell.method.label) for kind, cell in trials}
    return Trial(
        instances=sum(counts.values()),
        cells=sum(counts[kind] for kind, _ in wanted),
        by_kind=counts,
        tried=len(took),
        failed=failed,
        seconds=sum(counts[kind] * fmean(spent) for (kind, _), spent in seconds.items()) if seconds else None,
        complete=wanted == set(seconds),
    )


def count(plan: Plan) -> tuple[int, int]:
    """How many instances and how many cells a plan has; reads or draws none."""
    instances = cells = 0
    for recipe in recipes(plan):
        instances += 1
        cells += sum(runs_on(method, recipe.family) for method in plan.methods)
    return instances, cells


def _kind(recipe: Recipe) -> tuple[str, str, str]:
    return recipe.family, recipe.preset, "files" if "instance" in recipe.data else recipe.source


def _run(cells: Sequence[Cell], folder: str) -> tuple[dict[str, float], int]:
    """Seconds by key of the cells that ended in time, and how many of them failed."""
    took: dict[str, float] = {}
    failed = 0
    began = time.monotonic()
    limits = {cell.key: cell.limits.time_s for cell in cells}
    with closing(local.run(iter(cells), 1, folder)) as arriving:
        for outcomes in arriving:
            for outcome in outcomes:
                took[outcome.key] = limits[outcome.key] if outcome.time_s is None else outcome.time_s
                failed += outcome.failed
            if time.monotonic() - began > PATIENCE_S:
                break
    return took, failed
