"""The reader of a store: rows, instances and solutions of the study that ran last, and contradictions between its rows.

- `optimal` has an objective and a bound, which meet (as ``core.gap`` says); no bound is on the wrong side of its answer;
- `infeasible` has neither answer nor bound; nobody answers what is infeasible;
- no checked answer is better than a bound that another row of its instance proves, or than a proven optimum.
"""

import functools
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any

from dlsched.core.errors import DisagreementError, UsageError
from dlsched.core.files import Json
from dlsched.core.gap import beats, meets
from dlsched.core.messages import printable
from dlsched.core.status import Sense, TerminationStatus
from dlsched.core.verdict import Known
from dlsched.families import FAMILIES, objective_name
from dlsched.study.plans.plan import CellLimits
from dlsched.study.recipes import GeneratedRecipe, GivenRecipe
from dlsched.study.rows import Row
from dlsched.study.store.store import Store
from dlsched.study.store.tables import RESULT, located, seed_from

_COLUMNS = {
    **{"key": "cell.key", "instance": "coalesce(fact.name, instance.source)"},
    **{name: f"instance.{name}" for name in ("family", "source", "preset", "seed")},
    **{name: f"fact.{name}" for name in ("jobs", "gpus", "sense", "objective_name")},
    **{"method": "method.label", "instance_id": "planned.instance"},
    **{column.name: f"result.{column.name}" for column in RESULT.columns},
}
"""Columns by field of a row."""
_READ = {field.name: _COLUMNS[field.name] for field in fields(Row) if field.name in _COLUMNS}
_BESIDE = {
    "made_as": "method.data",
    "constant": "fact.constant",
    "optimum": "fact.known_optimum",
    "bound_known": "fact.known_bound",
}
"""Columns that are read with a row and are none of its fields."""
_ROWS = """
SELECT {columns}
FROM planned JOIN result ON result.cell = planned.cell LEFT JOIN cell ON cell.id = planned.cell
LEFT JOIN instance ON instance.id = planned.instance LEFT JOIN fact ON fact.content = instance.content
LEFT JOIN method ON method.id = planned.method
WHERE study = ? ORDER BY position"""


STATUSES = {*map(str, TerminationStatus), "timeout", "memory", "killed", "error", "rejected"}
"""Statuses with which a cell can end."""


@functools.cache
def _kind(family: str, kind: str, what: str) -> str:
    """Return the kind of a method; empty for a method that this version does not have."""
    if kind != "name":
        return "heuristic"
    try:
        return FAMILIES[family].method(what).kind
    except UsageError:
        return ""


def rows_by_instance(store: Store) -> Iterator[tuple[list[Row], Sense, Known]]:
    """Yield the rows of each instance of the shown study, its sense and known values, on demand; InputError: an invalid value."""
    columns = ", ".join(f"{store.expression(column)} AS {name}" for name, column in (_READ | _BESIDE).items())
    records = store.each(_ROWS.format(columns=columns), store.shown)
    with located(store.path):
        for number, of_instance in groupby(records, key=lambda record: record["instance_id"]):
            group = list(of_instance)
            first = group[0]
            rows = [_row(record) for record in group]
            if first["objective_name"] is None and first["constant"] is not None:  # an old store
                name = _objective_of(store, number)
                rows = [replace(row, objective_name=name) for row in rows]
            # Facts are written with the first outcome of an instance: answers without them were not written by a run.
            if first["constant"] is None and any(row.objective is not None or row.bound is not None for row in rows):
                raise ValueError(f"{rows[0].instance}: found answers, and nothing of the instance, allowed: both")
            sense = Sense(rows[0].sense or FAMILIES[rows[0].family].sense)
            yield rows, sense, Known(first["constant"] or 0.0, first["optimum"], first["bound_known"])


def _row(record: sqlite3.Row) -> Row:
    if record["status"] not in STATUSES:
        raise ValueError(f"status: found {record['status']!r}, allowed: {', '.join(sorted(STATUSES))}")
    method = json.loads(record["made_as"])
    values = {name: record[name] for name in _READ}
    values |= {name: record[name] or "" for name in ("sense", "objective_name")}
    values["seed"] = seed_from(record["seed"])
    values["figures"] = {name: float(value) for name, value in json.loads(record["figures"]).items()}
    return Row(**values, kind=_kind(record["family"], method["kind"], str(method["what"])))


def _objective_of(store: Store, instance: int) -> str:
    """Make the instance and return its objective's name; empty if only code that the store names can make it."""
    recipe = store.recipe(instance)
    family = FAMILIES.get(recipe.family)
    if family is None or family.objective_of is None or not isinstance(recipe, GeneratedRecipe | GivenRecipe):
        return ""
    return objective_name(recipe.make())


@dataclass(frozen=True, slots=True)
class About:
    """Facts about the study that ran last: as in its plan, its numbers of cells and instances, and of rows (``ended``)."""

    name: str
    plan: str
    reference: str | None
    limits: CellLimits
    cells: int
    instances: int
    ended: int
    environment: Mapping[str, Json]


def about_of(store: Store) -> About:
    """Read the facts about the shown study; InputError if the store is damaged."""
    study = store.one(
        "SELECT name, plan, reference, limits, cells, instances, environment.data AS environment FROM study"
        " LEFT JOIN environment ON environment.id = study.environment WHERE study.id = ?",
        store.shown,
    )
    with located(store.path):
        environment: dict[str, Any] = json.loads(study["environment"])
        limits = CellLimits(**json.loads(study["limits"]))
        if not all(isinstance(each, int | float) for each in (limits.time_s, limits.memory_gib)):
            raise TypeError("limits of the study that are no numbers")
        return About(**dict(study) | {"limits": limits, "environment": environment}, ended=store.ended)


NAMED = 10
"""Largest number of rows that a message names."""
_EMPTY = ("infeasible", "no_solution", "timeout", "memory", "error", "rejected")
"""Statuses without an answer."""


def require_consistent(store: Store) -> None:
    """Raise ``DisagreementError`` where rows of the shown study contradict themselves or each other."""
    if not list(store.each("SELECT 1 FROM study LIMIT 1")):
        return
    about_of(store)
    named, count = list[str](), 0
    for rows, sense, known in rows_by_instance(store):
        for row, reason in _contradictions(rows, sense, known.constant):
            count += 1
            if len(named) < NAMED:
                named.append(f"{row_words(row.method, row.instance, row.seed)}: {reason}")
    if count:
        head = f"{count:,} contradictions between rows" if count > 1 else "a contradiction between rows"
        more = "; and others" if count > NAMED else ""
        raise DisagreementError(f"{store.path}: {head}: {'; '.join(named)}{more}")


def row_words(method: object, instance: object, seed: object) -> str:
    """Describe a row by its method, instance and seed."""
    words = f"{printable(str(method))} on {printable(str(instance))}"
    return words if seed is None else f"{words} (seed {seed})"


def _contradiction(row: Row, sense: Sense, constant: float) -> str:
    """Return why a row contradicts itself; empty if it does not."""
    objective, bound = row.objective, row.bound
    # By the tolerance of proofs: rounding is no contradiction.
    met = objective is not None and bound is not None and meets(objective, bound, constant)
    if row.status == "optimal" and not met:
        return f"it is called optimal, but objective {objective!r} and bound {bound!r} do not meet"
    if objective is not None and bound is not None and beats(objective, bound, sense, constant):
        return f"its objective {objective!r} is better than its own bound {bound!r}"
    if row.status in _EMPTY and objective is not None:
        return f"it is called {row.status}, but has an answer of {objective!r}"
    if row.status in _EMPTY and row.status != "no_solution" and bound is not None:
        return f"it is called {row.status}, but has a bound of {bound!r}"
    if row.status == "feasible" and objective is None and bound is None:
        return "it is called feasible, but has neither an answer nor a bound"
    return ""


def _contradictions(rows: Sequence[Row], sense: Sense, constant: float) -> Iterator[tuple[Row, str]]:
    """Find rows of an instance that contradict themselves, then those that contradict another one, with the reason."""
    for row in rows:
        if reason := _contradiction(row, sense, constant):
            yield row, reason
    # Every answer is compared with the tightest bound of any row only: it excludes whatever a weaker one does.
    proofs = [(row.bound, row.method) for row in rows if row.bound is not None]
    impossible = next((row.method for row in rows if row.status == "infeasible"), None)
    tightest = (max if sense is Sense.MINIMIZE else min)(proofs, default=None, key=lambda proof: proof[0])
    for row in rows:
        if row.objective is None:
            continue
        if impossible is not None and impossible != row.method:
            yield row, f"it has an answer of {row.objective!r}, but {printable(impossible)} proves that there is none"
        if tightest is not None and tightest[1] != row.method:
            bound, method = tightest
            if beats(row.objective, bound, sense, constant):
                yield (
                    row,
                    f"its objective {row.objective!r} is better than the {bound!r} that {printable(method)} proves",
                )
