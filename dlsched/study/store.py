"""The store of a study: one SQLite file that one process writes, and anyone reads, also while it is written."""

import contextlib
import errno
import json
import os
import platform
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dlsched.core.errors import InputError
from dlsched.core.files import Json, canonical_sha256
from dlsched.study.cells.cell import Cell, hash_of_instance, versions
from dlsched.study.cells.outcome import RETRIED, Facts, Outcome
from dlsched.study.database import TABLES, VERSION, Leadership, connected, kept_seed, later_columns, located, seed_from
from dlsched.study.plans.plan import Plan, PlannedMethod, Recipe

LARGEST_SOLUTION = 1 << 16
"""Bytes of a solution or certificate as JSON, beyond which it is not kept unless more is asked for."""


class Store:
    """The store of a study, opened to be written by one leader, or by anyone to be read.

    Parameters
    ----------
    path
        Of the file. A leader makes it where there is none.
    leading
        Whether cells will be run.
    largest_solution
        Bytes of a solution or certificate as JSON, beyond which it is not kept.

    Raises
    ------
    InputError
        It cannot be read or written, is no store, is one of another version, or has another leader.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, leading: bool = False, largest_solution: int = LARGEST_SOLUTION
    ) -> None:
        self.path = Path(path)
        self._largest = largest_solution
        self._leadership: Leadership | None = None
        if not leading and not self.path.is_file():
            raise InputError(f"{path}: the store cannot be read: there is no such file")
        with located(self.path):
            if leading:
                if self.path.is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
                self._leadership = Leadership(self.path)
            try:
                self.database = connected(self.path, leading)
                self._require_version(leading)
                self.later = later_columns(self.database, leading)
                if leading:  # not before it is known to be a store: this changes the file
                    self.database.execute("PRAGMA journal_mode=WAL")
                    self.database.execute("PRAGMA synchronous=NORMAL")
                    self.database.execute("PRAGMA foreign_keys=ON")
            except BaseException:
                self._let_go()
                raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it; a leader leaves one file that is read without others beside it."""
        if self._leadership is not None:
            with contextlib.suppress(sqlite3.Error):  # somebody reads: the next leader does it
                self.database.execute("PRAGMA journal_mode=DELETE")
        self.database.close()
        self._let_go()

    def _let_go(self) -> None:
        if self._leadership is not None:
            self._leadership.give_up()
            self._leadership = None

    def _require_version(self, leading: bool) -> None:
        (found,) = self.database.execute("PRAGMA user_version").fetchone()
        (tables,) = self.database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if leading and not found and not tables:
            with self.database:
                self.database.executescript(f"BEGIN; {TABLES} PRAGMA user_version={VERSION}; COMMIT;")
        elif found != VERSION:
            said = f"version {found}" if found else "a file that is no store of a study"
            raise InputError(f"{self.path}: the store: found {said}, allowed: version {VERSION}")

    def plan(self, plan: Plan, cells: Iterable[Cell]) -> int:
        """Write down which cells a study has, and make it the one that is shown; return how many."""
        with located(self.path), self.database:
            environment = self._environment()
            study = self._study(plan, environment)
            self.database.execute("DELETE FROM planned WHERE study = ?", (study,))
            methods = {method.label: self._method(method) for method in plan.methods}
            limits = json.dumps(asdict(plan.limits))
            recipe: Recipe | None = None
            instance = position = instances = 0
            for position, cell in enumerate(cells, start=1):
                if cell.recipe is not recipe:
                    recipe, instances = cell.recipe, instances + 1
                    instance = self._instance(recipe)
                method = methods[cell.method.label]
                found = self._cell(cell, instance, method, limits, environment)
                self.database.execute(
                    "INSERT INTO planned VALUES (?, ?, ?, ?, ?)", (study, position, found, instance, method)
                )
            self.database.execute(
                "UPDATE study SET cells = ?, instances = ? WHERE id = ?", (position, instances, study)
            )
        return position

    def forget(self, statuses: Sequence[str]) -> int:
        """Drop the results of the study that is shown with one of these statuses; return how many."""
        words = [word for status in statuses for word in RETRIED.get(status, (status,))]
        marks = ", ".join("?" * len(words))
        with located(self.path), self.database:
            return self.database.execute(
                f"DELETE FROM result WHERE status IN ({marks}) AND cell IN (SELECT cell FROM planned WHERE study = ?)",
                (*words, self.shown),
            ).rowcount

    def put(self, outcomes: Iterable[Outcome]) -> None:
        """Write what ended, all or nothing; InputError says that what was written before is kept."""
        with located(self.path, "; what has ended before is kept, and the same command goes on"), self.database:
            for outcome in outcomes:
                cell, content = self.database.execute(
                    "SELECT cell.id, content FROM cell JOIN instance ON instance.id = cell.instance WHERE key = ?",
                    (outcome.key,),
                ).fetchone()
                if outcome.facts is not None:
                    self._put_facts(content, outcome.facts)
                self.database.execute(
                    "INSERT OR IGNORE INTO result VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        *(cell, outcome.status, outcome.message, outcome.objective, outcome.bound),
                        *(outcome.time_s, outcome.cpu_s, outcome.memory_mib, json.dumps(outcome.figures)),
                        *(_packed(outcome.solution, self._largest), _packed(outcome.certificate, self._largest)),
                    ),
                )

    def waiting(self, plan: Plan) -> Iterator[Cell]:
        """The cells of the study that is shown without a result, in order, each once; read as they are needed."""
        methods = {self._method(method): method for method in plan.methods}
        last, recipe, instance = 0, None, 0
        seen: set[int] = set()
        while True:
            chunk = list(
                self.each(
                    "SELECT position, planned.cell, planned.instance, planned.method, key, cell.seed FROM planned"
                    " JOIN cell ON cell.id = planned.cell LEFT JOIN result ON result.cell = planned.cell"
                    " WHERE study = ? AND position > ? AND result.cell IS NULL ORDER BY position LIMIT 1000",
                    self.shown,
                    last,
                )
            )
            if not chunk:
                return
            for position, cell, of, method, key, seed in chunk:
                last = position
                if recipe is None or of != instance:
                    recipe, instance = self.recipe(of), of
                if cell not in seen:
                    seen.add(cell)
                    yield Cell(key, recipe, methods[method], seed_from(seed) or 0, plan.limits)

    @property
    def standing(self) -> tuple[int, int]:
        """Different cells of the study that is shown, and those of them that have a result."""
        cells, ended = self.one(
            "SELECT count(DISTINCT planned.cell), count(DISTINCT result.cell) FROM planned"
            " LEFT JOIN result ON result.cell = planned.cell WHERE study = ?",
            self.shown,
        )
        return int(cells), int(ended)

    @property
    def ended(self) -> int:
        """Rows of the study that is shown: what is planned and has a result."""
        (found,) = self.one(
            "SELECT count(*) FROM planned JOIN result ON result.cell = planned.cell WHERE study = ?", self.shown
        )
        return int(found)

    @property
    def shown(self) -> int:
        """Id of the study that ran last."""
        for (found,) in self.each("SELECT id FROM study ORDER BY ran DESC LIMIT 1"):
            return int(found)
        raise InputError(f"{self.path}: the store: found no study, allowed: one that was run")

    def each(self, query: str, *values: str | int) -> Iterator[tuple[Any, ...]]:
        """Rows that the database finds, read as they are needed; InputError where it cannot be read."""
        with located(self.path):
            yield from self.database.execute(query, values)

    def one(self, query: str, *values: str | int) -> tuple[Any, ...]:
        """The only row that the database finds."""
        (found,) = self.each(query, *values)
        return found

    def recipe(self, instance: int) -> Recipe:
        """How an instance comes about."""
        family, source, preset, seed, packed = self.one(
            "SELECT family, source, preset, seed, recipe FROM instance WHERE id = ?", instance
        )
        return Recipe(family, source, preset, seed_from(seed), json.loads(zlib.decompress(packed)))

    def _environment(self) -> int:
        data = {"versions": versions(), "machine": _machine()}
        return self._once("environment", canonical_sha256(data), {"data": json.dumps(data)})

    def _study(self, plan: Plan, environment: int) -> int:
        (ran,) = self.database.execute("SELECT coalesce(max(ran), 0) + 1 FROM study").fetchone()
        facts = {"name": plan.name, "plan": plan.text, "reference": plan.reference, "environment": environment}
        limits = json.dumps(asdict(plan.limits))
        study = self._once(
            "study", canonical_sha256(facts), {**facts, "limits": limits, "cells": 0, "instances": 0, "ran": ran}
        )
        self.database.execute("UPDATE study SET ran = ?, limits = ? WHERE id = ?", (ran, limits, study))
        return study

    def _method(self, method: PlannedMethod) -> int:
        data: dict[str, Json] = {
            "label": method.label,
            "kind": method.kind,
            "what": method.what if isinstance(method.what, str) else list(method.what),
            "family": method.family,
            "solver": method.solver,
            "seed": method.seed,
            "parameters": dict(method.parameters),
            "fingerprint": method.fingerprint,
        }
        return self._once("method", canonical_sha256(data), {"label": method.label, "data": json.dumps(data)})

    def _instance(self, recipe: Recipe) -> int:
        data = [recipe.family, recipe.source, recipe.preset, recipe.seed, dict(recipe.data)]
        return self._once(
            "instance",
            canonical_sha256({"recipe": data}),
            {
                "family": recipe.family,
                "source": recipe.source,
                "preset": recipe.preset,
                "seed": kept_seed(recipe.seed),
                "recipe": zlib.compress(json.dumps(dict(recipe.data)).encode()),
                "content": hash_of_instance(recipe),
            },
        )

    def _cell(self, cell: Cell, instance: int, method: int, limits: str, environment: int) -> int:
        facts = {
            "instance": instance,
            "method": method,
            "seed": kept_seed(cell.seed),
            "limits": limits,
            "environment": environment,
        }
        return self._once("cell", cell.key, facts, column="key")

    def _once(self, table: str, value: str, facts: Mapping[str, object], column: str = "hash") -> int:
        """Id of the row with that hash, which is written where there is none."""
        found = self.database.execute(f"SELECT id FROM {table} WHERE {column} = ?", (value,)).fetchone()
        if found is not None:
            return int(found[0])
        names = ", ".join([column, *facts])
        marks = ", ".join("?" * (1 + len(facts)))
        cursor = self.database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", (value, *facts.values()))
        return int(cursor.lastrowid or 0)

    def _put_facts(self, content: str, facts: Facts) -> None:
        self.database.execute(
            "INSERT OR REPLACE INTO fact (content, name, sha256, jobs, gpus, constant, known_optimum, known_bound,"
            " sense, objective_name) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(content, facts.name, facts.sha256, facts.jobs, facts.gpus),
                *(facts.constant, facts.known_optimum, facts.known_bound, facts.sense, facts.objective_name),
            ),
        )


def _machine() -> dict[str, Json]:
    return {"system": platform.system(), "machine": platform.machine(), "processors": os.cpu_count()}


def _packed(data: Json, largest: int) -> bytes | None:
    if data is None:
        return None
    text = json.dumps(data).encode()
    return zlib.compress(text) if len(text) <= largest else None
