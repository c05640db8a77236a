"""Check of a store: recomputes every row of the study that ran last, in processes of this machine."""

import os
import sqlite3
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, fields
from pathlib import Path

from dlsched.core.files import Json
from dlsched.results.verification import Verification
from dlsched.study.cells.cell import CHECKED, Cell, Facts, Outcome
from dlsched.study.engines import local
from dlsched.study.leader import StudyProgress, require_engine
from dlsched.study.plans.plan import CellLimits, PlannedMethod
from dlsched.study.plans.plan_file import FORMAT
from dlsched.study.plans.session_code import OF_SESSION
from dlsched.study.recipes.given import GivenRecipe
from dlsched.study.rows import Row
from dlsched.study.store.reading import (
    about_of,
    limits_of,
    method_of,
    require_consistent,
    rows_by_instance,
    versions_of,
)
from dlsched.study.store.searches import found_before
from dlsched.study.store.store import Store
from dlsched.study.store.tables import Data, seed_from, unpack

PATIENT_S = 86_400.0
"""Seconds for recomputing the rows of an instance; the memory is that of a cell of the study, or of any study if this is more."""
_KEPT = """
SELECT method.data AS method, cell.seed AS seed, cell.limits AS limits, environment.data AS environment, solution, certificate,
    {bound_source} AS bound_source, {solver} AS solver, own.content AS content, its.data AS its
FROM planned JOIN result ON result.cell = planned.cell LEFT JOIN cell ON cell.id = planned.cell
LEFT JOIN method ON method.id = planned.method LEFT JOIN environment ON environment.id = cell.environment
LEFT JOIN instance AS own ON own.id = cell.instance LEFT JOIN method AS its ON its.id = cell.method
WHERE study = ? ORDER BY position"""


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
        Called with every row and its verification; rows of one instance follow each other, instances in any
        order.
    workers
        Processes, >= 1; None: one for each processor.
    again
        Whether to run dlsched's own methods again too; where time does not matter, they must end as their
        rows say.
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
        general = list(_of_the_study(store))
        rows: dict[str, list[Row]] = {}
        folder = str(Path(path).absolute().parent)
        with closing(local.run(_cells(store, rows, again), workers or os.cpu_count() or 1, folder)) as arriving:
            for outcome in (outcome for some in arriving for outcome in some):
                asked = rows.pop(outcome.key)
                for row, found in zip(asked, _verifications(outcome, len(asked)), strict=True):
                    found.failures[:0] = [sentence for concerns, sentence in general if concerns(row)]
                    failed += not found
                    take(row, found)
                ended += len(asked)
                if progress is not None:
                    progress(StudyProgress(total, ended, failed))
    return total


def _verifications(outcome: Outcome, count: int) -> Sequence[Verification]:
    if outcome.status == CHECKED and isinstance(outcome.solution, list):
        return [Verification(**each) for each in outcome.solution if isinstance(each, dict)]  # type: ignore[arg-type]
    why = f"it cannot be computed anew: {outcome.status}, {outcome.message}"
    return [Verification(failures=[why]) for _ in range(count)]


def _cells(store: Store, asked: dict[str, list[Row]], again: bool) -> Iterator[Cell]:
    """Yield a cell for each instance, whose method holds the rows to recompute; store these in ``asked``."""
    limits = CellLimits(PATIENT_S, max(CellLimits().memory_gib, about_of(store).limits.memory_gib))
    names = {name: store.columns.expression(f"result.{name}") for name in ("bound_source", "solver")}
    kept = store.each(_KEPT.format(**names), store.shown)
    for count, (rows, _, _) in enumerate(rows_by_instance(store)):
        number = rows[0].instance_id
        recipe = store.recipe(number)
        content, whole = store.one("SELECT content, hash FROM instance WHERE id = ?", number)
        said = [_said(store, row, next(kept), again) for row in rows]
        made = found_before(store, recipe, said[0]["versions"])
        parameters: dict[str, Json] = {
            "found": made.content if isinstance(made, GivenRecipe) and made is not recipe else None,
            "instance": {"content": content, "hash": whole},
            "fact": _fact(store, content),
            "rows": list[Json](said),
        }
        asked[f"check {count}"] = rows
        yield Cell(f"check {count}", recipe, PlannedMethod("check", "check", "", parameters=parameters), 0, limits)


def _said(store: Store, row: Row, kept: sqlite3.Row, again: bool) -> Data:
    """Return the values that the store holds for a row, for the process that recomputes it."""
    said = ("key", "method", "status", "message", "objective", "bound", "time_s")
    return {
        **{name: getattr(row, name) for name in said},
        "figures": dict(row.figures),
        "data": dict(method_of(store.path, kept["method"])),
        "seed": seed_from(store.path, kept["seed"]),
        "limits": asdict(limits_of(store.path, kept["limits"])),
        "versions": dict(versions_of(store.path, kept["environment"])),
        "solution": unpack(store.path, kept["solution"]),
        "certificate": unpack(store.path, kept["certificate"]),
        "bound_source": kept["bound_source"],
        "solver": kept["solver"],
        "cell": {"content": kept["content"], "method": dict(method_of(store.path, kept["its"]))},
        "again": again,
    }


def _fact(store: Store, content: str) -> Json:
    """Return the facts about an instance; None if it was not made."""
    columns = ", ".join(f"{store.columns.expression(f'fact.{each.name}')} AS {each.name}" for each in fields(Facts))
    for row in store.each(f"SELECT {columns} FROM fact WHERE content = ?", content):
        return dict(row)
    return None


def _of_the_study(store: Store) -> Iterator[tuple[Callable[[Row], bool], str]]:
    """Find errors of the study (repeated rows, names that the plan lacks), each with a test for its rows."""
    about = about_of(store)
    twice = set[tuple[str, int]]()
    for label, instance in store.each(
        "SELECT label, instance FROM planned JOIN method ON method.id = planned.method WHERE study = ?"
        " GROUP BY method, instance HAVING count(*) > 1",
        store.shown,
    ):
        twice.add((label, instance))
    (planned,) = store.one("SELECT count(*) FROM planned WHERE study = ?", store.shown)
    if twice:
        yield (
            lambda row: (row.method, row.instance_id) in twice,
            "planned: the same row stands in the study more than once",
        )
    if planned > about.cells:
        yield lambda row: True, f"planned: {planned} cells are planned, the study has {about.cells}"
    methods = {
        data: method_of(store.path, data)
        for (data,) in store.each(
            "SELECT DISTINCT data FROM planned JOIN method ON method.id = planned.method WHERE study = ?", store.shown
        )
    }
    plan = _plan(about.plan)
    if plan is None:
        return
    for what, said, true in (
        ("name", about.name, plan.get("name", about.name)),
        ("reference", about.reference, _table(plan.get("reference")).get("method")),
        ("limits", asdict(about.limits), asdict(CellLimits()) | _table(plan.get("limits"))),
    ):
        if said != true:
            yield lambda row: True, f"{what} of the study: {said!r} is claimed, the plan says {true!r}"
    entries = plan.get("methods")
    entries = [_table(entry) for entry in entries] if isinstance(entries, list) else []
    strange = {
        str(method["label"]) for method in methods.values() if not any(_is_of(entry, method) for entry in entries)
    }
    if strange:
        yield lambda row: row.method in strange, "method: the plan has no such method under that label"


def _plan(text: str) -> dict[str, object] | None:
    """Return the data of a plan's text; None: the plan was not read from a file."""
    try:
        data = tomllib.loads(text)
    except ValueError:
        return None
    return data if data.get("format") == FORMAT else None


def _table(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _is_of(entry: Mapping[str, object], method: Mapping[str, Json]) -> bool:
    """Whether a method may come from this entry of the plan."""
    kind, what, label = method["kind"], method["what"], method["label"]
    if "kind" in entry:
        return kind == "name" and what == label
    if "command" in entry:
        words = entry["command"]
        default = " ".join(map(str, words)) if isinstance(words, list) else words
        return kind == "command" and label == entry.get("label", entry.get("name", default))
    key = "python" if "python" in entry else "name"
    for written in entry[key] if isinstance(entry.get(key), list) else [entry.get(key)]:  # type: ignore[attr-defined]
        default = str(written).removesuffix(OF_SESSION)
        own = isinstance(what, list) and str(what[-1]) == default.rpartition(":")[2]
        labels = (entry.get("label"), entry.get("name") if key == "python" else None, default)
        if kind == key and (own or what == default) and label == next(filter(None, labels)):
            return True
    return False
