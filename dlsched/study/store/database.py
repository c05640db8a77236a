"""The SQLite file of a store: opens it, locks it for its writer, and finds which newer columns it has."""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from dlsched.core.errors import InputError
from dlsched.core.files import UNFINISHED
from dlsched.core.messages import printable, shown
from dlsched.study.store.tables import FOUND, LATER

VERSION = 1
"""Version of the tables: ``PRAGMA user_version``."""


@contextlib.contextmanager
def located(path: Path, remark: str = "") -> Iterator[None]:
    """Turn errors of SQLite within the block into errors that name the store."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(f"{path}: the store cannot be used: {printable(str(error))}{remark}") from None
    except UnicodeDecodeError as error:  # in texts of the database itself
        raise InputError(f"{path}: the store cannot be used: it holds text that is no UTF-8 ({error.reason})") from None
    except OSError as error:
        raise InputError(f"{path}: the store cannot be used: {error.strerror or error}{remark}") from None


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
        log = path.with_name(f"{path.name}-wal")
        busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        if busy or (log.exists() and log.stat().st_size):
            raise
        database = sqlite3.connect(f"{address}?mode=ro&immutable=1", uri=True)
    return database


class Leadership:
    """The right to write a store, held by this process: a lock on a file beside the store.

    The store itself is not locked this way, since closing any descriptor of it would drop SQLite's locks on
    it.

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
            os.close(self._descriptor)  # the former leader removed the file

    def give_up(self) -> None:
        """Remove the lock file, so that another process can lead."""
        with contextlib.suppress(OSError):
            self._file.unlink()
        UNFINISHED.discard(str(self._file))
        os.close(self._descriptor)


class Columns:
    """Finds which of the columns and tables of newer versions a store has.

    Parameters
    ----------
    path, database
        The store's.

    Raises
    ------
    InputError
        The store has other things than plain tables.
    """

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self._path, self._database = path, database
        self._look()

    def _look(self) -> None:
        others = self._database.execute(
            "SELECT type, name FROM sqlite_master WHERE type NOT IN ('table', 'index') ORDER BY type"
        ).fetchall()
        for sort, name in others:  # views and triggers could falsify what is read
            raise InputError(where=f"{self._path}: the store", found=f"a {sort} {shown(name)}", allowed="plain tables")
        self.lacking = [(table, name, of) for table, name, of in LATER if not self._has(table, name)]
        """Columns of newer versions that the store lacks."""
        self.searched = self._has("found", "key")

    def _has(self, table: str, column: str) -> bool:
        columns = self._database.execute("SELECT name FROM pragma_table_info(?)", (table,)).fetchall()
        return (column,) in columns

    def expression(self, column: str) -> str:
        """Expression for ``table.column`` in queries: the same, or NULL if the store lacks it."""
        return "NULL" if any(column == f"{table}.{name}" for table, name, _ in self.lacking) else column

    def add(self) -> None:
        """Add the missing columns."""
        self._database.execute(FOUND.statement("CREATE TABLE IF NOT EXISTS"))
        for table, name, of in self.lacking:
            self._database.execute(f"ALTER TABLE {table} ADD COLUMN {name} {of}")
        self._look()
