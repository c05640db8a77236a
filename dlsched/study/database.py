"""The database of a study: its tables, and what it says when it fails.

=============  ==================================================================================================
table          a row is
=============  ==================================================================================================
environment    the versions and the machine that cells ran with
study          a plan as it was run; the one that ran last is the one that is shown
instance       how an instance comes about, where it is from, and the hash of its content
fact           what is known of a content once it was made: instances from several places may share it
method         a method of a plan
cell           an instance and a method, by the hash of all that decides the outcome
planned        a cell's position in a study
result         the end of a cell
found          an instance that a search found, by the hash of the search
=============  ==================================================================================================

``PRAGMA user_version`` is their version. ``LATER`` are columns that stores of that version may lack; ``seal`` is a hash over
all that a row says (see ``seals``).
"""

import contextlib
import fcntl
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from dlsched.core.errors import InputError
from dlsched.core.files import UNFINISHED
from dlsched.core.messages import shown

VERSION = 1

FOUND = "CREATE TABLE IF NOT EXISTS found (key TEXT PRIMARY KEY, instance BLOB NOT NULL, seal BLOB) WITHOUT ROWID"
"""Instances by the hash of their search; stores of before that never searched have no such table."""

TABLES = f"""
CREATE TABLE environment (id INTEGER PRIMARY KEY, hash TEXT UNIQUE NOT NULL, data TEXT NOT NULL, seal BLOB);
CREATE TABLE study (
    id INTEGER PRIMARY KEY, hash TEXT UNIQUE NOT NULL, name TEXT NOT NULL, plan TEXT NOT NULL, reference TEXT,
    limits TEXT NOT NULL, cells INTEGER NOT NULL, instances INTEGER NOT NULL, ran INTEGER NOT NULL,
    environment INTEGER NOT NULL REFERENCES environment, seal BLOB);
CREATE TABLE instance (
    id INTEGER PRIMARY KEY, hash TEXT UNIQUE NOT NULL, family TEXT NOT NULL, source TEXT NOT NULL, preset TEXT NOT NULL,
    seed INTEGER, recipe BLOB NOT NULL, content TEXT NOT NULL, seal BLOB);
CREATE TABLE fact (
    content TEXT PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, jobs INTEGER, gpus INTEGER,
    constant REAL NOT NULL, known_optimum REAL, known_bound REAL, sense TEXT, objective_name TEXT,
    seal BLOB) WITHOUT ROWID;
CREATE TABLE method (
    id INTEGER PRIMARY KEY, hash TEXT UNIQUE NOT NULL, label TEXT NOT NULL, data TEXT NOT NULL, seal BLOB);
CREATE TABLE cell (
    id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, instance INTEGER NOT NULL REFERENCES instance,
    method INTEGER NOT NULL REFERENCES method, seed INTEGER NOT NULL, limits TEXT NOT NULL,
    environment INTEGER NOT NULL REFERENCES environment);
CREATE TABLE planned (
    study INTEGER NOT NULL REFERENCES study, position INTEGER NOT NULL, cell INTEGER NOT NULL REFERENCES cell,
    instance INTEGER NOT NULL REFERENCES instance, method INTEGER NOT NULL REFERENCES method, seal BLOB,
    PRIMARY KEY (study, position)) WITHOUT ROWID;
CREATE TABLE result (
    cell INTEGER PRIMARY KEY REFERENCES cell, status TEXT NOT NULL, message TEXT NOT NULL, objective REAL, bound REAL,
    time_s REAL, cpu_s REAL, memory_mib REAL, figures TEXT NOT NULL, solution BLOB, certificate BLOB,
    bound_source TEXT, solver TEXT, seal BLOB);
{FOUND};
"""
SEALED = ("environment", "study", "instance", "fact", "method", "planned", "result")
"""Tables that every sealed store has with a column ``seal``; ``found`` is one more."""

LATER = (
    ("fact", "sense", "TEXT"),
    ("fact", "objective_name", "TEXT"),
    ("result", "bound_source", "TEXT"),
    ("result", "solver", "TEXT"),
    *((table, "seal", "BLOB") for table in SEALED),
)
"""Columns that were added after the first stores were written: table, name, type."""


@contextlib.contextmanager
def located(path: Path, remark: str = "") -> Iterator[None]:
    """Say which store failed, and how."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(f"{path}: the store cannot be used: {error}{remark}") from None
    except UnicodeDecodeError as error:  # of the database's own words
        raise InputError(f"{path}: the store cannot be used: it holds text that is no UTF-8 ({error.reason})") from None
    except OSError as error:
        raise InputError(f"{path}: the store cannot be used: {error.strerror or error}{remark}") from None


def connected(path: Path, leading: bool) -> sqlite3.Connection:
    """Open the file; to read it in a folder that nobody may write, as it is, if nothing stands beside it that belongs to it."""
    if leading:
        return sqlite3.connect(path, isolation_level="IMMEDIATE")
    address = path.absolute().as_uri()
    database = sqlite3.connect(f"{address}?mode=ro", uri=True)
    try:
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        database.close()
        log = path.with_name(f"{path.name}-wal")
        busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        if busy or (log.exists() and log.stat().st_size):
            raise
        database = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True)
    return database


class Leadership:
    """The right to write a store, for as long as this process holds it; a file beside the store is locked.

    It is no lock on the store itself: closing a file anywhere in a process drops the locks that SQLite holds on it there.

    Raises
    ------
    InputError
        Another process has it.
    OSError
        The file cannot be made.
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
            with contextlib.suppress(FileNotFoundError):
                if os.stat(self._file).st_ino == os.fstat(self._descriptor).st_ino:
                    UNFINISHED.add(str(self._file))
                    return
            os.close(self._descriptor)  # who had it before removed the file

    def give_up(self) -> None:
        """Remove the file, and let another lead."""
        with contextlib.suppress(OSError):
            self._file.unlink()
        UNFINISHED.discard(str(self._file))
        os.close(self._descriptor)


class Columns:
    """What columns a store has of those that came later.

    Parameters
    ----------
    path, database
        The store's.

    Raises
    ------
    InputError
        It is not made of plain tables, or of some tables only rows have seals.
    """

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self._path, self._database = path, database
        self._look()

    def _look(self) -> None:
        others = self._database.execute(
            "SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') ORDER BY type"
        ).fetchall()
        for sort, name in others:  # either could make what is read another thing than what stands there
            raise InputError(where=f"{self._path}: the store", found=f"a {sort} {shown(name)}", allowed="plain tables")
        self.lacking = [(table, name, of) for table, name, of in LATER if not self._has(table, name)]
        """Columns that came later and that the store does not have."""
        self.searched = self._has("found", "key")
        tables = (*SEALED, "found") if self.searched else SEALED
        self.sealed = [table for table in tables if self._has(table, "seal")]
        """Tables whose rows have seals: all, or none in stores of before."""
        if self.sealed and len(self.sealed) < len(tables):
            raise InputError(
                where=f"{self._path}: the store",
                found=f"no column seal in {', '.join(set(tables) - set(self.sealed))}",
                allowed="one in every table, or in none",
            )

    def _has(self, table: str, column: str) -> bool:
        columns = self._database.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        return (column,) in columns

    def name(self, table: str, column: str) -> str:
        """What stands in a query for a column: its name, or NULL where the store lacks it."""
        return "NULL" if any((table, column) == lacking[:2] for lacking in self.lacking) else f"{table}.{column}"

    def add(self) -> None:
        """Add those that are lacking."""
        self._database.execute(FOUND)
        for table, name, of in self.lacking:
            self._database.execute(f"ALTER TABLE {table} ADD COLUMN {name} {of}")
        if self.searched and "found" not in self.sealed:
            self._database.execute("ALTER TABLE found ADD COLUMN seal BLOB")
        self._look()


def kept_seed(seed: int | None) -> int | str | None:
    """Write a seed for a column of integers, which have 64 bits: one that is larger as hexadecimal text, which SQLite keeps."""
    return seed if seed is None or seed < 1 << 63 else hex(seed)


def seed_from(path: Path, kept: object) -> int | None:
    """Read what ``kept_seed`` wrote; InputError: the store is damaged."""
    if isinstance(kept, str) and re.fullmatch("0x[0-9a-f]{16,}", kept):
        return int(kept, 16)
    if kept is None or (isinstance(kept, int) and not isinstance(kept, bool)):
        return kept
    said = shown(kept) if isinstance(kept, str | float) else type(kept).__name__
    raise InputError(where=f"{path}: the store is damaged: seed", found=said, allowed="an integer")
