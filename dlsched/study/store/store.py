"""The store of a study: an SQLite file that one process writes, and all may read, even during writes."""

import contextlib
import errno
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from dlsched.core.errors import InputError
from dlsched.core.files import Json, path_of
from dlsched.core.messages import printable
from dlsched.study.cells.cell import Cell
from dlsched.study.cells.outcome import RETRIED, Outcome
from dlsched.study.plans.plan import Plan
from dlsched.study.recipes.reading import read_recipe
from dlsched.study.recipes.recipe import Recipe
from dlsched.study.store.database import VERSION, Columns, Leadership, connected, located
from dlsched.study.store.packing import pack, seed_from, unpack
from dlsched.study.store.records import Records
from dlsched.study.store.tables import FACT, FOUND, RESULT, STATEMENTS, StoredTable, Value

LARGEST_SOLUTION = 1 << 30
"""Largest size of a stored solution or certificate, in bytes of JSON; rows without them cannot be
recomputed."""


class Store:
    """The store of a study, opened by its one leader to write, or by anyone to read.

    Parameters
    ----------
    path
        Path of the file; a leader creates it if missing.
    leading
        Whether this process will run cells and write.
    largest_solution
        Largest size of a stored solution or certificate, in bytes of JSON.

    Raises
    ------
    InputError
        The file cannot be read or written, is no store or one of another version, or has another leader.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, leading: bool = False, largest_solution: int = LARGEST_SOLUTION
    ) -> None:
        self.path = Path(path_of(path, "store"))
        self._largest = largest_solution
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
                self.columns = Columns(self.path, self.database)
                if leading:  # only now that it is known to be a store, since this changes the file
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
        """Close the store; a leader leaves a single file without a log beside it."""
        if self._leadership is not None:
            with contextlib.suppress(sqlite3.Error):  # somebody reads it now; the next leader will succeed
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
                self.database.executescript(f"BEGIN; {STATEMENTS} PRAGMA user_version={VERSION}; COMMIT;")
        elif found != VERSION:
            said = f"version {found}" if found else "a file that is no store of a study"
            raise InputError(where=f"{self.path}: the store", found=said, allowed=f"version {VERSION}")

    def _require_whole(self) -> None:
        """Let SQLite check its pages; for a leader, who uses the indices, check these too."""
        check = "quick_check" if self._leadership is None else "integrity_check"
        (said,) = self.database.execute(f"PRAGMA {check}(1)").fetchone()
        if said != "ok":
            raise sqlite3.DatabaseError(printable(said))

    def plan(self, plan: Plan, cells: Iterable[Cell]) -> int:
        """Write the cells of a study, which becomes the one that is shown; return their number."""
        with located(self.path), self.database:
            self._complete()
            records = Records(self.database)
            environment = records.environment()
            study = records.study(plan, environment)
            self.database.execute("DELETE FROM planned WHERE study = ?", (study,))
            methods = {(method.label, method.family): records.method(method) for method in plan.methods}
            limits = json.dumps(asdict(plan.limits))
            recipe: Recipe | None = None
            instance = position = instances = 0
            for position, cell in enumerate(cells, start=1):
                if cell.recipe is not recipe:
                    recipe, instances = cell.recipe, instances + 1
                    instance = records.instance(recipe)
                method = methods[cell.method.label, cell.method.family]
                found = records.cell(cell, instance, method, limits, environment)
                self.database.execute(
                    "INSERT INTO planned (study, position, cell, instance, method) VALUES (?, ?, ?, ?, ?)",
                    (study, position, found, instance, method),
                )
            self.database.execute(
                "UPDATE study SET cells = ?, instances = ? WHERE id = ?", (position, instances, study)
            )
        return position

    def _complete(self) -> None:
        """Add the columns that an old store lacks; within a transaction."""
        if self.columns.lacking or not self.columns.searched:
            self.database.execute("BEGIN IMMEDIATE")
            self.columns.add()

    def keep_found(self, key: str, instance: Json) -> None:
        """Store an instance that a search found or a function drew; within a transaction."""
        self._write(FOUND, {"key": key, "instance": pack(instance)})

    def _write(self, table: StoredTable, row: dict[str, Value]) -> None:
        """Write a row, in the place of one with its key."""
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        self.database.execute(f"INSERT OR REPLACE INTO {table.name} ({names}) VALUES ({marks})", tuple(row.values()))

    def forget(self, statuses: Sequence[str]) -> int:
        """Delete the results of the shown study with one of these statuses; return how many."""
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
                if self.database.execute("SELECT 1 FROM result WHERE cell = ?", (cell,)).fetchone() is None:
                    self._write(RESULT, {"cell": cell, **RESULT.row_of(outcome, self._largest)})

    def waiting(self, plan: Plan) -> Iterator[Cell]:
        """Yield the cells of the shown study without a result, in order, each once, read on demand."""
        records = Records(self.database)
        methods = {records.method(method): method for method in plan.methods}
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
            for row in chunk:
                last = row["position"]
                if recipe is None or row["instance"] != instance:
                    instance = row["instance"]
                    recipe = self.recipe(instance)
                if row["cell"] not in seen:
                    seen.add(row["cell"])
                    seed = seed_from(self.path, row["seed"]) or 0
                    yield Cell(row["key"], recipe, methods[row["method"]], seed, plan.limits)

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
        (found,) = self.one(
            "SELECT count(*) FROM planned JOIN result ON result.cell = planned.cell WHERE study = ?", self.shown
        )
        return int(found)

    @property
    def shown(self) -> int:
        """Id of the study that ran last."""
        for (found,) in self.each("SELECT id FROM study ORDER BY ran DESC LIMIT 1"):
            return int(found)
        raise InputError(where=f"{self.path}: the store", found="no study", allowed="one that was run")

    def each(self, query: str, *values: str | int) -> Iterator[sqlite3.Row]:
        """Yield the rows of a query, with columns by name, read on demand; InputError if that fails."""
        with located(self.path):
            cursor = self.database.cursor()
            cursor.row_factory = sqlite3.Row
            for found in cursor.execute(query, values):  # noqa: UP028  which would close a cursor of a closed store
                yield found

    def one(self, query: str, *values: str | int) -> sqlite3.Row:
        """Return the only row of a query."""
        found = list(self.each(query, *values))
        if len(found) != 1:
            raise InputError(where=f"{self.path}: the store is damaged", found=f"{len(found)} rows", allowed="one")
        return found[0]

    def recipe(self, instance: int) -> Recipe:
        """Return the recipe of an instance, by its id."""
        row = self.one("SELECT family, source, preset, seed, recipe FROM instance WHERE id = ?", instance)
        data = unpack(self.path, row["recipe"])
        if not isinstance(data, dict):
            raise InputError(
                f"{self.path}: the store is damaged: found an instance that does not say how it comes about"
            )
        seed = seed_from(self.path, row["seed"])
        return read_recipe(row["family"], row["source"], row["preset"], seed, data)
