"""The store of a study: an SQLite file that one process writes, and all may read, even during writes."""

import contextlib
import errno
import fcntl
import json
import os
import platform
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from dlsched.core.errors import InputError
from dlsched.core.files import UNFINISHED, Json, canonical_sha256, path_of
from dlsched.core.messages import shown
from dlsched.study.cells.cell import RETRIED, Cell, Outcome, versions
from dlsched.study.plans.plan import Plan, PlannedMethod
from dlsched.study.recipes import GivenRecipe, Recipe, read_recipe
from dlsched.study.store.tables import (
    FACT,
    FOUND,
    LATER,
    RESULT,
    STATEMENTS,
    TABLES,
    StoredTable,
    Value,
    located,
    pack,
    seed_from,
    stored_seed,
    unpack,
)

VERSION = 1
"""Version of the tables: ``PRAGMA user_version``."""
LARGEST_SOLUTION = 1 << 30
"""Largest size of a stored solution or certificate, in bytes of JSON; rows without them cannot be recomputed."""
_CHUNK = 1000
"""Waiting cells that are read at once: writes between two chunks keep no cursor open."""


def connected(path: Path, leading: bool) -> sqlite3.Connection:
    """Open the file; in a read-only folder open it as immutable, unless it has a log beside it."""
    if leading:
        return sqlite3.connect(path, isolation_level="IMMEDIATE")
    address = path.absolute().as_uri()
    database = sqlite3.connect(f"{address}?mode=ro", uri=True)
    try:
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        database.close()
        # Without the right to write beside it SQLite opens only what nobody changes; a log means that somebody may.
        log = path.with_name(f"{path.name}-wal")
        busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        if busy or (log.exists() and log.stat().st_size):
            raise
        database = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True)
    return database


class Leadership:
    """The right of this process to write a store: a lock on a file beside it.

    The store itself is not locked this way, since closing any descriptor of it would drop SQLite's locks on it.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.with_name(f"{path.name}.lock")
        while True:
            self._descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(self._descriptor)
                raise InputError(
                    f"{path}: the store is being written by another run; wait for its end, or name another with -s"
                ) from None
            # The lock counts only on the file of this name: a former leader may have removed the one that was opened.
            with contextlib.suppress(FileNotFoundError):
                if os.stat(self._file).st_ino == os.fstat(self._descriptor).st_ino:
                    UNFINISHED.add(str(self._file))
                    return
            os.close(self._descriptor)  # the former leader removed the file

    def release(self) -> None:
        """Remove the lock file, so that another process can lead."""
        with contextlib.suppress(OSError):
            self._file.unlink()
        UNFINISHED.discard(str(self._file))
        os.close(self._descriptor)


class Store:
    """The store of a study, opened by its one leader, who creates, writes and locks it, or by anyone to read.

    InputError: the file cannot be read or written, is no store or one of another version, or has another leader.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, leading: bool = False, largest_solution: int = LARGEST_SOLUTION
    ) -> None:
        self.path = Path(path_of(path, "store"))
        self._largest = largest_solution
        self._planned: tuple[int, Recipe | None] = 0, None  # the last instance of a plan, which need not be read again
        self._leadership: Leadership | None = None
        if not leading and not self.path.is_file():
            raise InputError(f"{path}: the store cannot be read: there is no such file")
        with located(self.path):
            if leading:
                if self.path.is_dir():
                    raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
                if self.path.exists() and not self.path.is_file():
                    raise InputError(f"{path}: the store cannot be used: it is no file")
                self._leadership = Leadership(self.path)
            try:
                self.database = connected(self.path, leading)
                self._require_version(leading)
                self._require_whole()
                self._require_types()
                if leading:  # only now that it is known to be a store, since this changes the file
                    self.database.execute("PRAGMA journal_mode=WAL")
                    self.database.execute("PRAGMA synchronous=NORMAL")
                    self.database.execute("PRAGMA foreign_keys=ON")
            except BaseException:
                self._unlock()
                raise

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store; a leader leaves a single file without a log beside it."""
        if self._leadership is not None:
            with contextlib.suppress(sqlite3.Error):  # somebody reads it now; the next leader will succeed
                self.database.execute("PRAGMA journal_mode=DELETE")
        self.database.close()
        self._unlock()

    def _unlock(self) -> None:
        if self._leadership is not None:
            self._leadership.release()
            self._leadership = None

    def _require_version(self, leading: bool) -> None:
        (version,) = self.database.execute("PRAGMA user_version").fetchone()
        (tables,) = self.database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if leading and not version and not tables:
            with self.database:
                self.database.executescript(f"BEGIN; {STATEMENTS} PRAGMA user_version={VERSION}; COMMIT;")
        elif version != VERSION:
            content = f"version {version}" if version else "a file that is no store of a study"
            raise InputError(where=f"{self.path}: the store", found=content, allowed=f"version {VERSION}")

    def _require_whole(self) -> None:
        """Have SQLite check pages and references; for a leader, who uses the indices, these too."""
        check = "quick_check" if self._leadership is None else "integrity_check"
        (answer,) = self.database.execute(f"PRAGMA {check}(1)").fetchone()
        if answer != "ok":
            raise sqlite3.DatabaseError(answer)
        for table, _, parent, _ in self.database.execute("PRAGMA foreign_key_check"):
            raise ValueError(f"a row of {table} refers to none of {parent}")

    def _require_types(self) -> None:
        """Compare tables and types of values with the declared ones; find the columns of newer versions that are missing."""
        others = self.database.execute(
            "SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') ORDER BY type"
        ).fetchall()
        for sort, name in others:  # views and triggers could falsify what is read
            raise InputError(where=f"{self.path}: the store", found=f"a {sort} {shown(name)}", allowed="plain tables")
        columns = {
            table.name: {
                name for (name,) in self.database.execute("SELECT name FROM pragma_table_info(?)", (table.name,))
            }
            for table in TABLES
        }
        self.searched = bool(columns["found"])
        """Whether it has the table of instances that were found or drawn."""
        self._lacking = {f"{table}.{name}": sql for table, name, sql in LATER if name not in columns[table]}
        # One scan of each table names its first column with a value of another type: SQLite itself takes any.
        for table in TABLES:
            tests = " ".join(
                f"WHEN typeof({column.name}) NOT IN ({', '.join(map(repr, column.types))}) THEN '{column.name}'"
                for column in table.columns
                if column.name in columns[table.name]
            )
            query = f"SELECT CASE {tests} END AS wrong FROM {table.name} WHERE wrong IS NOT NULL LIMIT 1"
            for (name,) in self.database.execute(query) if tests else ():
                raise ValueError(f"{table.name}.{name} holds a value of another type")

    def expression(self, column: str) -> str:
        """Expression for ``table.column`` in queries: the same, or NULL if the store lacks it."""
        return "NULL" if column in self._lacking else column

    def plan(self, plan: Plan, cells: Iterable[Cell]) -> int:
        """Write the cells of a study, which becomes the one that is shown; return their number."""
        with located(self.path), self.database:
            self._complete()
            machine = {"system": platform.system(), "machine": platform.machine(), "processors": os.cpu_count()}
            data = {"versions": versions(), "machine": machine}
            environment = self._once("environment", canonical_sha256(data), {"data": json.dumps(data)})
            study = self._study(plan, environment)
            self.database.execute("DELETE FROM planned WHERE study = ?", (study,))
            methods = {(method.label, method.family): self._method(method) for method in plan.methods}
            limits = json.dumps(asdict(plan.limits))
            recipe: Recipe | None = None
            instance = position = instances = 0
            # Cells come instance by instance, and may be millions: each is written as it comes.
            for position, cell in enumerate(cells, start=1):
                if cell.recipe is not recipe:
                    recipe, instances = cell.recipe, instances + 1
                    instance = self._instance(recipe)
                    self._planned = instance, recipe if isinstance(recipe, GivenRecipe) else None
                method = methods[cell.method.label, cell.method.family]
                facts = {
                    "instance": instance,
                    "method": method,
                    "seed": stored_seed(cell.seed),
                    "limits": limits,
                    "environment": environment,
                }
                number = self._once("cell", cell.key, facts, column="key")
                self.database.execute(
                    "INSERT INTO planned (study, position, cell, instance, method) VALUES (?, ?, ?, ?, ?)",
                    (study, position, number, instance, method),
                )
            self.database.execute(
                "UPDATE study SET cells = ?, instances = ? WHERE id = ?", (position, instances, study)
            )
        return position

    def _complete(self) -> None:
        """Add the columns and the table that an old store lacks; within a transaction."""
        if self._lacking or not self.searched:
            self.database.execute("BEGIN IMMEDIATE")
            self.database.execute(FOUND.statement("CREATE TABLE IF NOT EXISTS"))
            for column, sql in self._lacking.items():
                table, name = column.split(".")
                self.database.execute(f"ALTER TABLE {table} ADD COLUMN {name} {sql}")
            self._lacking, self.searched = {}, True

    def _study(self, plan: Plan, environment: int) -> int:
        """Write a plan, which becomes the study that is shown; return its id."""
        (ran,) = self.database.execute("SELECT coalesce(max(ran), 0) + 1 FROM study").fetchone()
        facts = {"name": plan.name, "plan": plan.text, "reference": plan.reference, "environment": environment}
        limits = json.dumps(asdict(plan.limits))
        study = self._once(
            "study", canonical_sha256(facts), {**facts, "limits": limits, "cells": 0, "instances": 0, "ran": ran}
        )
        self.database.execute("UPDATE study SET ran = ?, limits = ? WHERE id = ?", (ran, limits, study))
        return study

    def _method(self, method: PlannedMethod) -> int:
        """Write a method; return its id."""
        data = asdict(method)
        return self._once("method", canonical_sha256(data), {"label": method.label, "data": json.dumps(data)})

    def _instance(self, recipe: Recipe) -> int:
        """Write the recipe of an instance; return its id."""
        facts = {
            **{name: getattr(recipe, name) for name in ("family", "source", "preset")},
            "seed": stored_seed(recipe.seed),
            "recipe": pack(dict(data := recipe.data)),
            "content": recipe.content_hash(),
        }
        whole = [recipe.family, recipe.source, recipe.preset, recipe.seed, data]
        return self._once("instance", canonical_sha256({"recipe": whole}), facts)

    def _once(self, table: str, value: str, facts: Mapping[str, object], column: str = "hash") -> int:
        """Return the id of the row with that hash; write the row if there is none."""
        known = self.database.execute(f"SELECT id FROM {table} WHERE {column} = ?", (value,)).fetchone()
        if known is not None:
            return int(known[0])
        names = ", ".join([column, *facts])
        marks = ", ".join("?" * (1 + len(facts)))
        cursor = self.database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", (value, *facts.values()))
        return int(cursor.lastrowid or 0)

    def put_found(self, key: str, instance: Json) -> None:
        """Store an instance that a search found or a function drew; within a transaction."""
        self._write(FOUND, {"key": key, "instance": pack(instance)})

    def _write(self, table: StoredTable, row: dict[str, Value]) -> None:
        """Write a row, in the place of one with its key."""
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        self.database.execute(f"INSERT OR REPLACE INTO {table.name} ({names}) VALUES ({marks})", tuple(row.values()))

    def forget(self, statuses: Sequence[str]) -> int:
        """Delete the results of the shown study with one of these statuses; return how many."""
        # One word may stand for several statuses.
        words = [word for status in statuses for word in RETRIED.get(status, (status,))]
        marks = ", ".join("?" * len(words))
        with located(self.path), self.database:
            return self.database.execute(
                f"DELETE FROM result WHERE status IN ({marks}) AND cell IN (SELECT cell FROM planned WHERE study = ?)",
                (*words, self.shown),
            ).rowcount

    def put(self, outcomes: Iterable[Outcome]) -> None:
        """Write outcomes, all or none; on InputError earlier ones are kept."""
        with located(self.path, "; what has ended before is kept, and the same command goes on"), self.database:
            self._complete()
            for outcome in outcomes:
                cell, content = self.database.execute(
                    "SELECT cell.id, content FROM cell JOIN instance ON instance.id = cell.instance WHERE key = ?",
                    (outcome.key,),
                ).fetchone()
                if outcome.facts is not None:
                    self._write(FACT, {"content": content, **FACT.row_of(outcome.facts)})
                # The first result of a cell stays, whoever reports it again.
                if self.database.execute("SELECT 1 FROM result WHERE cell = ?", (cell,)).fetchone() is None:
                    self._write(RESULT, {"cell": cell, **RESULT.row_of(outcome, self._largest)})

    def waiting(self, plan: Plan) -> Iterator[Cell]:
        """Yield the cells of the shown study without a result, in order, each once, read on demand."""
        methods = {self._method(method): method for method in plan.methods}
        last, recipe, instance = 0, None, 0
        seen: set[int] = set()
        while True:
            # Outer join: cells without a result, in the plan's order, a chunk after the last position that was read.
            chunk = list(
                self.each(
                    "SELECT position, planned.cell, planned.instance, planned.method, key, cell.seed FROM planned"
                    " JOIN cell ON cell.id = planned.cell LEFT JOIN result ON result.cell = planned.cell"
                    " WHERE study = ? AND position > ? AND result.cell IS NULL ORDER BY position LIMIT ?",
                    *(self.shown, last, _CHUNK),
                )
            )
            if not chunk:
                return
            for row in chunk:
                last = row["position"]
                if recipe is None or row["instance"] != instance:
                    instance = row["instance"]
                    known, given = self._planned
                    recipe = given if given is not None and instance == known else self.recipe(instance)
                # Two labels of one method share a cell, which runs once.
                if row["cell"] not in seen:
                    seen.add(row["cell"])
                    with located(self.path):
                        seed = seed_from(row["seed"]) or 0
                        cell = Cell(row["key"], recipe, methods[row["method"]], seed, plan.limits)
                    yield cell

    @property
    def counts(self) -> tuple[int, int]:
        """Number of different cells of the shown study, and of those among them with a result."""
        cells, ended = self.one(
            "SELECT count(DISTINCT planned.cell), count(DISTINCT result.cell) FROM planned"
            " LEFT JOIN result ON result.cell = planned.cell WHERE study = ?",
            self.shown,
        )
        return int(cells), int(ended)

    @property
    def ended(self) -> int:
        """Number of rows of the shown study: planned cells with a result."""
        (rows,) = self.one(
            "SELECT count(*) FROM planned JOIN result ON result.cell = planned.cell WHERE study = ?", self.shown
        )
        return int(rows)

    @property
    def shown(self) -> int:
        """Id of the study that ran last."""
        for (study,) in self.each("SELECT id FROM study ORDER BY ran DESC LIMIT 1"):
            return int(study)
        raise InputError(where=f"{self.path}: the store", found="no study", allowed="one that was run")

    def each(self, query: str, *values: str | int) -> Iterator[sqlite3.Row]:
        """Yield the rows of a query, with columns by name, read on demand; InputError if that fails."""
        with located(self.path):
            cursor = self.database.cursor()
            cursor.row_factory = sqlite3.Row
            for row in cursor.execute(query, values):  # noqa: UP028  which would close a cursor of a closed store
                yield row

    def one(self, query: str, *values: str | int) -> sqlite3.Row:
        """Return the only row of a query."""
        with located(self.path):
            (row,) = self.each(query, *values)
        return row

    def recipe(self, instance: int) -> Recipe:
        """Return the recipe of an instance, by its id."""
        row = self.one("SELECT family, source, preset, seed, recipe FROM instance WHERE id = ?", instance)
        with located(self.path):
            data = unpack(row["recipe"])
            if not isinstance(data, dict):
                raise ValueError(f"the recipe of instance {instance} is no table")
            return read_recipe(row["family"], row["source"], row["preset"], seed_from(row["seed"]), data)
