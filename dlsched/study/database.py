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
=============  ==================================================================================================

``PRAGMA user_version`` is their version. Stores of that version may lack the columns of ``fact`` that came later.
"""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from dlsched.core.errors import InputError

VERSION = 1
LATER = ("sense", "objective_name")
"""Columns of ``fact`` that stores of before lack."""

TABLES = """
CREATE TABLE environment (id INTEGER PRIMARY KEY, hash TEXT UNIQUE NOT NULL, data TEXT NOT NULL);
CREATE TABLE study (
    id INTEGER PRIMARY KEY, hash TEXT UNIQUE NOT NULL, name TEXT NOT NULL, plan TEXT NOT NULL, reference TEXT,
    limits TEXT NOT NULL, cells INTEGER NOT NULL, instances INTEGER NOT NULL, ran INTEGER NOT NULL,
    environment INTEGER NOT NULL REFERENCES environment);
CREATE TABLE instance (
    id INTEGER PRIMARY KEY, hash TEXT UNIQUE NOT NULL, family TEXT NOT NULL, source TEXT NOT NULL, preset TEXT NOT NULL,
    seed INTEGER, recipe BLOB NOT NULL, content TEXT NOT NULL);
CREATE TABLE fact (
    content TEXT PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, jobs INTEGER, gpus INTEGER,
    constant REAL NOT NULL, known_optimum REAL, known_bound REAL, sense TEXT,
    objective_name TEXT) WITHOUT ROWID;
CREATE TABLE method (
    id INTEGER PRIMARY KEY, hash TEXT UNIQUE NOT NULL, label TEXT NOT NULL, data TEXT NOT NULL);
CREATE TABLE cell (
    id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, instance INTEGER NOT NULL REFERENCES instance,
    method INTEGER NOT NULL REFERENCES method, seed INTEGER NOT NULL, limits TEXT NOT NULL,
    environment INTEGER NOT NULL REFERENCES environment);
CREATE TABLE planned (
    study INTEGER NOT NULL REFERENCES study, position INTEGER NOT NULL, cell INTEGER NOT NULL REFERENCES cell,
    instance INTEGER NOT NULL REFERENCES instance, method INTEGER NOT NULL REFERENCES method,
    PRIMARY KEY (study, position)) WITHOUT ROWID;
CREATE TABLE result (
    cell INTEGER PRIMARY KEY REFERENCES cell, status TEXT NOT NULL, message TEXT NOT NULL, objective REAL, bound REAL,
    time_s REAL, cpu_s REAL, memory_mib REAL, figures TEXT NOT NULL, solution BLOB, certificate BLOB);
"""


@contextlib.contextmanager
def located(path: Path, remark: str = "") -> Iterator[None]:
    """Say which store failed, and how."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(f"{path}: the store cannot be used: {error}{remark}") from None
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
    except sqlite3.OperationalError:
        database.close()
        log = path.with_name(f"{path.name}-wal")
        if log.exists() and log.stat().st_size:
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
                    return
            os.close(self._descriptor)  # who had it before removed the file

    def give_up(self) -> None:
        """Remove the file, and let another lead."""
        with contextlib.suppress(OSError):
            self._file.unlink()
        os.close(self._descriptor)


def kept_seed(seed: int | None) -> int | str | None:
    """Write a seed for a column of integers, which have 64 bits: one that is larger as hexadecimal text, which SQLite keeps."""
    return seed if seed is None or seed < 1 << 63 else hex(seed)


def seed_from(kept: int | str | None) -> int | None:
    """Read what ``kept_seed`` wrote."""
    return int(kept, 16) if isinstance(kept, str) else kept


def later_columns(database: sqlite3.Connection, leading: bool) -> dict[str, str]:
    """Which of ``LATER`` a query can ask for, by name: the column, or where a store lacks it NULL; a leader adds it."""
    has = {name for (name,) in database.execute("SELECT name FROM pragma_table_info('fact')")}
    for name in LATER:
        if leading and name not in has:
            database.execute(f"ALTER TABLE fact ADD COLUMN {name} TEXT")
    return {name: f"fact.{name}" if leading or name in has else "NULL" for name in LATER}
