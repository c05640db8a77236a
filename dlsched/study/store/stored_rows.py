"""Readers of rows, methods and environments of a store, which report a damaged store for invalid values."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import Json
from dlsched.core.status import Sense, TerminationStatus
from dlsched.core.verdict import Known
from dlsched.families import FAMILIES, objective_name
from dlsched.study.plans.plan import CellLimits
from dlsched.study.recipes.generated import GeneratedRecipe
from dlsched.study.recipes.given import GivenRecipe
from dlsched.study.rows import Row
from dlsched.study.store.packing import Data, form, read_as, seed_from
from dlsched.study.store.store import Store
from dlsched.study.store.tables import RESULT

STATUSES = (*map(str, TerminationStatus), "timeout", "memory", "killed", "error", "rejected")
"""Statuses with which a cell can end."""

_FROM = {
    **{"key": "cell.key", "instance": "coalesce(fact.name, instance.source)"},
    **{name: f"instance.{name}" for name in ("family", "source", "preset", "seed")},
    **{name: f"fact.{name}" for name in ("jobs", "gpus", "sense", "objective_name")},
    **{"method": "method.label", "instance_id": "planned.instance"},
    **{column.name: f"result.{column.name}" for column in RESULT.columns},
}
"""Columns by field of a row."""
_BESIDE = {
    "made_as": ("method.data", str),
    "constant": ("fact.constant", float | None),
    "optimum": ("fact.known_optimum", float | None),
    "known": ("fact.known_bound", float | None),
}
"""Values that are read with a row and are none of its fields: their columns and types."""
_AMOUNT = Annotated[float | None, Field(ge=0)]
_READ: Mapping[str, object] = {each.name: each.type for each in fields(Row) if each.name in _FROM}
_ROW = form(
    "a row",
    {
        **_READ,
        **{"status": Literal[STATUSES], "family": Literal[tuple(FAMILIES)], "figures": str},
        **{"sense": Literal["", *map(str, Sense)] | None, "objective_name": str | None},
        **dict.fromkeys(("time_s", "cpu_s", "memory_mib"), _AMOUNT),
        **{name: kind for name, (_, kind) in _BESIDE.items()},
    },
)
_FIGURES = form("figures", {"figures": dict[str, float]})
_METHOD = form(
    "method",
    {
        **{"label": str, "kind": str, "what": str | list[str], "parameters": Data, "fingerprint": str},
        **{"family": str | None, "solver": str | None, "seed": int | None},
    },
)
_LIMITS = form("limits", {each.name: each.type for each in fields(CellLimits)}, asdict(CellLimits()))
_MACHINE = form("machine", {"system": str, "machine": str, "processors": int | None})
_ENVIRONMENT = form("environment", {"versions": dict[str, str], "machine": _MACHINE})
_STUDY = form("study", {"name": str, "plan": str, "reference": str | None, "cells": int, "instances": int})


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
    columns = {**{name: _FROM[name] for name in _READ}, **{name: column for name, (column, _) in _BESIDE.items()}}
    said = ", ".join(f"{store.columns.expression(column)} AS {name}" for name, column in columns.items())
    found = (_read(store.path, dict(each)) for each in store.each(_ROWS.format(columns=said), store.shown))
    for number, of_instance in groupby(found, key=lambda said: said["instance_id"]):
        read = list(of_instance)
        first = read[0]
        if first["objective_name"] is None and first["constant"] is not None:  # an old store
            named = _objective_of(store, number)
            read = [said | {"objective_name": named} for said in read]
        rows = [_row(store.path, said) for said in read]
        if first["constant"] is None and any(row.objective is not None or row.bound is not None for row in rows):
            raise InputError(
                where=f"{store.path}: the store is damaged: {rows[0].instance}",
                found="answers, and nothing of the instance",
                allowed="both",
            )
        sense = Sense(rows[0].sense) if rows[0].sense else FAMILIES[rows[0].family].sense
        yield rows, sense, Known(first["constant"] or 0.0, first["optimum"], first["known"])


def _read(path: Path, said: Data) -> Data:
    return read_as(path, _ROW, said | {"seed": seed_from(path, said["seed"])})


def _row(path: Path, said: Data) -> Row:
    method = method_of(path, said["made_as"])
    values = {name: value for name, value in said.items() if name in _READ}
    values |= {name: said[name] or "" for name in ("sense", "objective_name")}
    values["figures"] = read_as(path, _FIGURES, f'{{"figures": {said["figures"]}}}')["figures"]
    return Row(**values, kind=_kind(said["family"], str(method["kind"]), str(method["what"])))


def _objective_of(store: Store, instance: int) -> str:
    """Make the instance and return its objective's name; empty if only code that the store names can make it."""
    recipe = store.recipe(instance)
    family = FAMILIES.get(recipe.family)
    if family is None or family.objective_of is None or not isinstance(recipe, GeneratedRecipe | GivenRecipe):
        return ""
    return objective_name(recipe.make())


@functools.lru_cache(maxsize=256)
def method_of(path: Path, text: object) -> Mapping[str, Json]:
    """Read a method as the plan had it; InputError: the store is damaged."""
    return read_as(path, _METHOD, text)


def limits_of(path: Path, text: object) -> CellLimits:
    """Read the limits of cells; InputError: the store is damaged."""
    return CellLimits(**read_as(path, _LIMITS, text))


def versions_of(path: Path, environment: object) -> dict[str, str]:
    """Read the versions of an environment; InputError: the store is damaged."""
    found: dict[str, str] = read_as(path, _ENVIRONMENT, environment)["versions"]
    return found


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
    said = dict(study)
    limits, environment = limits_of(path, said.pop("limits")), read_as(path, _ENVIRONMENT, said.pop("environment"))
    environment["machine"] = dict(environment["machine"])
    return About(**read_as(path, _STUDY, said), limits=limits, ended=store.ended, environment=environment)
