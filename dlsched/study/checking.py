"""Check of a store: recomputes every row of the study that ran last, in processes of this machine."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from dlsched.core.arguments import require_engine
from dlsched.core.files import Json
from dlsched.results.verification import Verification
from dlsched.study.cells.cell import CHECKED, Cell, Facts, Outcome
from dlsched.study.engines import local
from dlsched.study.leader import StudyProgress
from dlsched.study.plans.plan import CellLimits, PlannedMethod
from dlsched.study.recipes import GivenRecipe
from dlsched.study.rows import Row
from dlsched.study.store.reading import about_of, require_consistent, rows_by_instance
from dlsched.study.store.searches import found_before
from dlsched.study.store.store import Store
from dlsched.study.store.tables import located, seed_from, unpack

PATIENT_S = 86_400.0
"""Seconds for recomputing the rows of an instance; the memory is that of a cell of the study, or of any study if this is more."""
_RECORDS = """
SELECT method.data AS method, cell.seed AS seed, cell.limits AS limits, environment.data AS environment, solution, certificate,
    {bound_source} AS bound_source, {solver} AS solver, own.content AS content, its.data AS its
FROM planned JOIN result ON result.cell = planned.cell LEFT JOIN cell ON cell.id = planned.cell
LEFT JOIN method ON method.id = planned.method LEFT JOIN environment ON environment.id = cell.environment
LEFT JOIN instance AS own ON own.id = cell.instance LEFT JOIN method AS its ON its.id = cell.method
WHERE study = ? ORDER BY position"""
_REPEATED = """
SELECT label, instance FROM planned JOIN method ON method.id = planned.method WHERE study = ?
GROUP BY method, instance HAVING count(*) > 1"""


def check(
    path: str | os.PathLike[str],
    *,
    take: Callable[[Row, Verification], None],
    workers: int | None = None,
    again: bool = False,
    progress: Callable[[StudyProgress], None] | None = None,
) -> int:
    """Recompute every row of a study from its instance, solution and certificate; return the number of rows.

    Parameters
    ----------
    path
        Path of the store.
    take
        Called with every row and its verification, instance by instance, in any order of these.
    workers
        Processes; None: one for each processor.
    again
        Whether to run dlsched's own methods again, too: where time does not matter, they must end as their rows say.
    progress
        Called after rows were recomputed.

    Raises
    ------
    UsageError
        The number of processes is below 1.
    InputError
        The store cannot be read.
    DisagreementError
        Rows contradict each other.
    KeyboardInterrupt
        Ctrl-C; ``take`` got the rows that were recomputed before.
    """
    require_engine(workers)
    with Store(path) as store:
        require_consistent(store)
        ended, failed, total = 0, 0, store.ended
        repeated = set(map(tuple, store.each(_REPEATED, store.shown)))
        rows: dict[str, list[Row]] = {}
        folder = str(Path(path).absolute().parent)
        with closing(local.run(_cells(store, rows, again), workers or os.cpu_count() or 1, folder)) as arriving:
            for outcome in (outcome for some in arriving for outcome in some):
                group = rows.pop(outcome.key)
                for row, verification in zip(group, _verifications(outcome, len(group)), strict=True):
                    if (row.method, row.instance_id) in repeated:
                        verification.failures.insert(0, "planned: the same row stands in the study more than once")
                    failed += not verification
                    take(row, verification)
                ended += len(group)
                if progress is not None:
                    progress(StudyProgress(total, ended, failed))
    return total


def _verifications(outcome: Outcome, count: int) -> Sequence[Verification]:
    if outcome.status == CHECKED and isinstance(outcome.solution, list):
        return [Verification(**each) for each in outcome.solution if isinstance(each, dict)]
    reason = f"it cannot be computed anew: {outcome.status}, {outcome.message}"
    return [Verification(failures=[reason]) for _ in range(count)]


def _cells(store: Store, waiting: dict[str, list[Row]], again: bool) -> Iterator[Cell]:
    """Yield a cell for each instance, whose method holds the rows to recompute; store these in ``waiting``."""
    limits = CellLimits(PATIENT_S, max(CellLimits().memory_gib, about_of(store).limits.memory_gib))
    optional = {name: store.expression(f"result.{name}") for name in ("bound_source", "solver")}
    records = store.each(_RECORDS.format(**optional), store.shown)
    # Both queries have the same order, so that each row meets its own record.
    for count, (rows, _, _) in enumerate(rows_by_instance(store)):
        number = rows[0].instance_id
        recipe = store.recipe(number)
        content, whole = store.one("SELECT content, hash FROM instance WHERE id = ?", number)
        with located(store.path):
            claims = [_claim(row, next(records), again) for row in rows]
        stored = found_before(store, recipe, claims[0]["versions"])
        parameters: dict[str, Json] = {
            "found": stored.data["instance"] if isinstance(stored, GivenRecipe) and stored is not recipe else None,
            "instance": {"content": content, "hash": whole},
            "fact": _fact(store, content),
            "rows": list[Json](claims),
        }
        waiting[f"check {count}"] = rows
        yield Cell(f"check {count}", recipe, PlannedMethod("check", "check", "", parameters=parameters), 0, limits)


def _claim(row: Row, record: sqlite3.Row, again: bool) -> dict[str, Any]:
    """Return the values that the store holds for a row, for the process that recomputes it."""
    return {
        **{name: getattr(row, name) for name in ("key", "method", "status", "message", "objective", "bound", "time_s")},
        "figures": dict(row.figures),
        "data": json.loads(record["method"]),
        "seed": seed_from(record["seed"]),
        "limits": asdict(CellLimits()) | json.loads(record["limits"]),
        "versions": json.loads(record["environment"])["versions"],
        "solution": unpack(record["solution"]),
        "certificate": unpack(record["certificate"]),
        "bound_source": record["bound_source"],
        "solver": record["solver"],
        "cell": {"content": record["content"], "method": json.loads(record["its"])},
        "again": again,
    }


def _fact(store: Store, content: str) -> Json:
    """Return the facts about an instance; None if it was not made."""
    columns = ", ".join(f"{store.expression(f'fact.{each.name}')} AS {each.name}" for each in fields(Facts))
    return next(map(dict, store.each(f"SELECT {columns} FROM fact WHERE content = ?", content)), None)
