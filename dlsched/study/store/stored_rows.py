"""Readers of rows, methods and environments of a store, which report a damaged store for invalid values."""

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import groupby
from pathlib import Path

from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import Json
from dlsched.core.messages import printable, shown
from dlsched.core.status import Sense, TerminationStatus
from dlsched.core.verdict import Known
from dlsched.families import FAMILIES, objective_name
from dlsched.study.plans.plan import CellLimits
from dlsched.study.recipes.generated import GeneratedRecipe
from dlsched.study.recipes.given import GivenRecipe
from dlsched.study.rows import Row
from dlsched.study.store.database import Columns
from dlsched.study.store.packing import parsed, seed_from
from dlsched.study.store.store import Store
from dlsched.study.store.tables import RESULT, TABLES

STATUSES = (*map(str, TerminationStatus), "timeout", "memory", "killed", "error", "rejected")
"""Statuses with which a cell can end."""

_TEXT, _INTEGER, _NUMBER, _AMOUNT = "text", "an integer", "a finite number", "a finite number >= 0"
_FROM = {
    "key": "cell.key",
    **{name: f"instance.{name}" for name in ("family", "source", "preset", "seed")},
    **{name: f"fact.{name}" for name in ("jobs", "gpus", "sense", "objective_name")},
    "method": "method.label",
    "instance_id": "planned.instance",
}
"""Columns of fields of rows that are not in table ``result``; in that table the names are the same."""
_BESIDE = {
    "made_as": "method.data",
    "constant": "fact.constant",
    "optimum": "fact.known_optimum",
    "known": "fact.known_bound",
}
"""Values that are read with a row and are none of its fields."""


@dataclass(frozen=True, slots=True)
class _Read:
    """How a field is read: an expression of the query, its allowed type, and whether it is required."""

    expression: str
    allowed: str
    needed: bool


def _read(place: str, columns: Columns) -> _Read:
    """How a column is read; facts are optional, as the instance may not have been made."""
    table, _, name = place.partition(".")
    column = TABLES[table].column(name)
    allowed = {"TEXT": _TEXT, "INTEGER": _INTEGER, "REAL": _AMOUNT if column.least else _NUMBER}[column.type]
    return _Read(columns.name(table, name), allowed, column.needed and table != "fact")


def _reads(columns: Columns) -> dict[str, _Read]:
    """How the values of every row are read, in the order of its fields."""
    of_result = {column.name for column in RESULT.columns}
    found: dict[str, _Read] = {}
    for name in (field.name for field in fields(Row)):
        if name == "instance":
            found[name] = _Read("coalesce(fact.name, instance.source)", _TEXT, True)
        elif name in _FROM or name in of_result:
            found[name] = _read(_FROM.get(name, f"result.{name}"), columns)
    return found | {name: _read(place, columns) for name, place in _BESIDE.items()}


_ROWS = """
SELECT {columns}
FROM planned JOIN result ON result.cell = planned.cell LEFT JOIN cell ON cell.id = planned.cell
LEFT JOIN instance ON instance.id = planned.instance LEFT JOIN fact ON fact.content = instance.content
LEFT JOIN method ON method.id = planned.method
WHERE study = ? ORDER BY position"""


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
    """Yield the rows of each instance of the shown study, its sense and known values; read on demand.

    Raises
    ------
    InputError
        A row has an invalid value.
    """
    reads = _reads(store.columns)
    query = _ROWS.format(columns=", ".join(f"{read.expression} AS {name}" for name, read in reads.items()))
    found = (dict(each) for each in store.each(query, store.shown))
    for _, of_instance in groupby(found, key=lambda said: said["instance_id"]):
        read = list(of_instance)
        first = read[0]
        if first["objective_name"] is None and first["constant"] is not None:  # an old store
            named = _objective_of(store, first["instance_id"])
            read = [said | {"objective_name": named} for said in read]
        rows = [_row(store.path, said, reads) for said in read]
        if first["constant"] is None and any(row.objective is not None or row.bound is not None for row in rows):
            raise _damaged(store.path, rows[0].instance, "answers, and nothing of the instance", "both")
        sense = Sense(rows[0].sense) if rows[0].sense else FAMILIES[rows[0].family].sense
        yield rows, sense, Known(first["constant"] or 0.0, first["optimum"], first["known"])


def _row(path: Path, said: dict[str, object], reads: Mapping[str, _Read]) -> Row:
    said = said | {"seed": seed_from(path, said["seed"])}
    for name, read in reads.items():
        value = said[name]
        if not (_is(read.allowed, value) or (value is None and not read.needed)):
            raise _damaged(path, name, value, read.allowed)
    for name, words in (("status", STATUSES), ("family", tuple(FAMILIES)), ("sense", ("", None, *Sense))):
        if said[name] not in words:
            raise _damaged(path, name, said[name], "one of the words of the format")
    figures = parsed(path, said["figures"], "figures")
    for name, value in figures.items():
        if not _is(_NUMBER, value):
            raise _damaged(path, f"figures.{name}", value, _NUMBER)
    method = method_of(path, said["made_as"])
    plain = {name: value for name, value in said.items() if name not in _BESIDE}
    kind = _kind(str(said["family"]), str(method["kind"]), str(method["what"]))
    plain |= {"figures": figures, "kind": kind}
    return Row(**plain | {name: said[name] or "" for name in ("sense", "objective_name")})  # type: ignore[arg-type]


def _objective_of(store: Store, instance: object) -> str:
    """Make the instance and return its objective's name; empty if only a user's code can make it."""
    if not isinstance(instance, int):
        raise _damaged(store.path, "instance_id", instance, _INTEGER)
    recipe = store.recipe(instance)
    family = FAMILIES.get(recipe.family)
    if family is None or family.objective_of is None or not isinstance(recipe, GeneratedRecipe | GivenRecipe):
        return ""
    return objective_name(recipe.make())


def _is(allowed: str, value: object) -> bool:
    if allowed == _TEXT:
        return isinstance(value, str)
    if allowed == _INTEGER:
        return isinstance(value, int) and not isinstance(value, bool)
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return number and (allowed == _NUMBER or float(value) >= 0)  # type: ignore[arg-type]


def _damaged(path: Path, what: str, found: object, allowed: str) -> InputError:
    said = shown(found) if isinstance(found, str | int | float | dict | list | None) else type(found).__name__
    return InputError(where=f"{path}: the store is damaged: {printable(what)}", found=said, allowed=allowed)


@functools.lru_cache(maxsize=256)
def method_of(path: Path, text: object) -> Mapping[str, Json]:
    """Read a method as the plan had it; InputError: the store is damaged."""
    data = parsed(path, text, "method")
    what = data.get("what")
    words = isinstance(what, list) and bool(what) and all(isinstance(word, str) for word in what)
    parameters = isinstance(data.get("parameters"), dict)
    texts = all(isinstance(data.get(name), str) for name in ("label", "kind", "fingerprint"))
    fits = isinstance(what, str) if data.get("kind") == "name" else words
    options = all(data.get(name) is None or isinstance(data[name], str) for name in ("family", "solver"))
    seeded = data.get("seed") is None or _is(_INTEGER, data["seed"])
    if not (fits and parameters and texts and options and seeded):
        raise _damaged(path, "method", text, "a method of a plan")
    return data


def limits_of(path: Path, text: object) -> CellLimits:
    """Read the limits of cells; InputError: the store is damaged."""
    data = parsed(path, text, "limits")
    known = {each.name: each.default for each in fields(CellLimits)}
    if not set(data) <= set(known) or not all(
        _is(_AMOUNT, value) or (value is None and known[name] is None) for name, value in data.items()
    ):
        raise _damaged(path, "limits", text, "the limits of a plan")
    return CellLimits(**data)  # type: ignore[arg-type]


def versions_of(path: Path, environment: object) -> dict[str, str]:
    """Read the versions of an environment; InputError: the store is damaged."""
    versions = parsed(path, environment, "environment").get("versions")
    if not isinstance(versions, dict):
        raise _damaged(path, "environment", versions, "versions by name")
    return {name: str(value) for name, value in versions.items()}


@dataclass(frozen=True, slots=True)
class About:
    """Facts about the study that ran last.

    Parameters
    ----------
    name, plan, reference, limits
        As in the plan; ``plan`` is its text.
    cells, instances, ended
        Number of cells, of instances, and of cells with a row.
    environment
        Versions by name, and the machine.
    """

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
    path = store.path
    study = store.one(
        "SELECT name, plan, reference, limits, cells, instances, environment.data AS environment FROM study"
        " LEFT JOIN environment ON environment.id = study.environment WHERE study.id = ?",
        store.shown,
    )
    name, plan, reference, cells, instances = (
        study[column] for column in ("name", "plan", "reference", "cells", "instances")
    )
    for what, text in (("name", name), ("plan", plan), ("reference", reference or "")):
        if not isinstance(text, str):
            raise _damaged(path, what, text, _TEXT)
    for what, count in (("cells", cells), ("instances", instances)):
        if not (_is(_INTEGER, count) and _is(_AMOUNT, count)):
            raise _damaged(path, what, count, "an integer >= 0")
    versions_of(path, study["environment"])
    data = parsed(path, study["environment"], "environment")
    machine = data.get("machine")
    if not (isinstance(machine, dict) and {"system", "machine", "processors"} <= set(machine)):
        raise _damaged(path, "environment", machine, "a machine")
    return About(name, plan, reference, limits_of(path, study["limits"]), cells, instances, store.ended, data)
