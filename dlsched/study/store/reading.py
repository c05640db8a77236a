"""The reader of a store: rows, instances and solutions of the study that ran last, and rows that contradict each other."""

import contextlib
import functools
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field

from dlsched.core.errors import DisagreementError, InputError, UsageError
from dlsched.core.files import Json
from dlsched.core.gap import beats, meets
from dlsched.core.instance import InstanceFile
from dlsched.core.messages import printable
from dlsched.core.status import Sense, TerminationStatus
from dlsched.core.verdict import Known
from dlsched.families import FAMILIES, objective_name
from dlsched.study.plans.plan import CellLimits
from dlsched.study.recipes.generated import GeneratedRecipe
from dlsched.study.recipes.given import GivenRecipe
from dlsched.study.recipes.recipe import Recipe, require_data
from dlsched.study.references import against_reference
from dlsched.study.rows import Row
from dlsched.study.store.searches import found_before
from dlsched.study.store.store import Store
from dlsched.study.store.tables import RESULT, Data, form, read_as, seed_from, unpack

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


NAMED = 10
"""Largest number of rows that a message names."""
_EMPTY = ("infeasible", "no_solution", "timeout", "memory", "error", "rejected")
"""Statuses without an answer."""


def require_consistent(store: Store) -> None:
    """Compare the rows of the shown study with themselves and with each other.

    Raises
    ------
    DisagreementError
        Rows contradict themselves or each other.
    InputError
        The store is damaged.
    """
    if not list(store.each("SELECT 1 FROM study LIMIT 1")):
        return
    about_of(store)
    named, count = list[str](), 0
    for rows, sense, facts in rows_by_instance(store):
        for row, why in (*_alone(rows, sense, facts.constant), *_together(rows, sense, facts.constant)):
            count += 1
            if len(named) < NAMED:
                named.append(f"{row_words(row.method, row.instance, row.seed)}: {why}")
    if count:
        said = f"{count:,} contradictions between rows" if count > 1 else "a contradiction between rows"
        more = "; and others" if count > NAMED else ""
        raise DisagreementError(f"{store.path}: {said}: {'; '.join(named)}{more}")


def row_words(method: object, instance: object, seed: object) -> str:
    """Describe a row by its method, instance and seed."""
    said = f"{printable(str(method))} on {printable(str(instance))}"
    return said if seed is None else f"{said} (seed {seed})"


def _alone(rows: Sequence[Row], sense: Sense, constant: float) -> Iterator[tuple[Row, str]]:
    """Find rows that contradict themselves, with the reason."""
    for row in rows:
        if why := _why(row, sense, constant):
            yield row, why


def _why(row: Row, sense: Sense, constant: float) -> str:
    objective, bound = row.objective, row.bound
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


def _together(rows: Sequence[Row], sense: Sense, constant: float) -> Iterator[tuple[Row, str]]:
    """Find rows that contradict another row of the same instance, with the reason."""
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


class StudyReader:
    """What a study reads of its store; parameters and errors are those of ``Study``."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._held = Store(path)
        self._open = True
        try:
            require_consistent(self._store)
            self._id = self._store.shown
        except BaseException:
            self._store.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        """Close a store that its user did not."""
        with contextlib.suppress(AttributeError, sqlite3.Error):
            self._held.close()

    def close(self) -> None:
        """Close the store."""
        self._open = False
        self._held.close()

    @property
    def _store(self) -> Store:
        """The store, which is open."""
        if not self._open:
            raise UsageError(where="study", found="a closed one", allowed="an open one; study.open opens it")
        return self._held

    @property
    def about(self) -> About:
        """Name, plan, limits, counts and environment of the study."""
        return about_of(self._store)

    def each_instance(self) -> Iterator[list[Row]]:
        """Yield the rows of each instance, without ratios, read on demand."""
        for rows, _, _ in rows_by_instance(self._store):
            yield rows

    def each_row(self) -> Iterator[Row]:
        """Yield the rows in the order of the plan, read on demand."""
        reference = self.about.reference
        for rows, sense, known in rows_by_instance(self._store):
            arguments = self._store.recipe(rows[0].instance_id).parameters
            for row in against_reference(rows, sense, known, reference):
                yield replace(row, arguments=arguments)

    def rows(self) -> list[Row]:
        """The rows in the order of the plan, one for each cell that ended."""
        return list(self.each_row())

    def instance(self, key: str) -> InstanceFile:
        """Return the instance of a cell: by dlsched's generator, or as the store keeps it; no code of a plan is run."""
        (environment,) = self._store.one(
            "SELECT data FROM cell JOIN environment ON environment.id = cell.environment WHERE key = ?", key
        )
        recipe = found_before(self._store, self.made_by(key)[0], versions_of(self._store.path, environment))
        try:
            require_data(recipe)
            return recipe.make()
        except InputError as error:
            raise type(error)(f"{self._store.path}: {error}") from None
        except (AssertionError, AttributeError, KeyError, TypeError) as error:
            raise InputError(
                f"{self._store.path}: the store is damaged: {recipe.source}: found no way to make it ({error!r})"
            ) from None

    def solution(self, key: str) -> Json:
        """Return the solution of a cell as data; None if it has none, or one too large to be stored."""
        (packed,) = self._store.one("SELECT solution FROM result JOIN cell ON cell.id = result.cell WHERE key = ?", key)
        return unpack(self._store.path, packed)

    def made_by(self, key: str) -> tuple[Recipe, Mapping[str, Json], int]:
        """Return recipe, method as in the plan, and seed of a cell."""
        cell = self._store.one(
            "SELECT cell.instance AS instance, method.data AS method, cell.seed AS seed"
            " FROM cell JOIN method ON method.id = cell.method WHERE key = ?",
            key,
        )
        path = self._store.path
        return self._store.recipe(cell["instance"]), method_of(path, cell["method"]), seed_from(path, cell["seed"]) or 0
