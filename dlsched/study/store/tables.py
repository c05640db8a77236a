"""The tables of a store, each column defined once: statements and conversions derive from that.

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
found          an instance that a search found or a function drew, by the hash of what made it and of the versions
=============  ==================================================================================================

A store may lack columns that are ``later``: the next leader adds them. A column ``seal`` of older stores is ignored.
"""

import contextlib
import json
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dlsched.core.errors import InputError
from dlsched.core.files import Json
from dlsched.core.messages import cut, printable

LARGEST = 1 << 30
"""Largest size of JSON in bytes."""
_TIMES: Final = 32
"""Largest size of JSON over that of the bytes which hold it, so that a small store cannot take much memory."""
_SMALL: Final = 1 << 16
"""Size of JSON in bytes up to which it may be any number of times as large."""


@contextlib.contextmanager
def located(path: Path, remark: str = "") -> Iterator[None]:
    """Turn errors of SQLite, and those of values that dlsched does not write, into errors that name the store."""
    try:
        yield
    except sqlite3.Error as error:
        raise InputError(f"{path}: the store cannot be used: {printable(str(error))}{remark}") from None
    except OSError as error:
        raise InputError(f"{path}: the store cannot be used: {error.strerror or error}{remark}") from None
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        words = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise InputError(f"{path}: the store is damaged: {printable(cut(words, 200))}") from None


def pack(data: "Json | bytes", largest: int = LARGEST) -> bytes | None:
    """Compress data, or their text, as JSON; return None for None, and for JSON of more than ``largest`` bytes."""
    if data is None:
        return None
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    packed = zlib.compress(text) if len(text) <= largest else None
    return packed if packed is None or len(text) <= _largest(packed) else zlib.compress(text, 0)


def _largest(packed: bytes) -> int:
    """Largest size of JSON that so many bytes may hold."""
    return min(LARGEST, max(_SMALL, _TIMES * len(packed)))


def unpack(packed: bytes | None, hook: Callable[[dict[str, object]], object] | None = None) -> Json:
    """Return packed data; ``hook`` is the ``object_hook`` of ``json``; ``ValueError`` for what ``pack`` does not write."""
    if packed is None:
        return None
    decompressor, most = zlib.decompressobj(), _largest(packed)
    try:
        text = decompressor.decompress(packed, most)
        if not decompressor.eof:
            raise ValueError(f"data cut short, or of more than {most:,} bytes in {len(packed):,}")
        data: Json = json.loads(text, object_hook=hook)
    except (zlib.error, ValueError, RecursionError) as error:
        raise ValueError(f"found no compressed JSON ({error})") from None
    return data


def stored_seed(seed: int | None) -> int | str | None:
    """Convert a seed for a column of 64-bit integers; larger seeds become hexadecimal text."""
    return seed if seed is None or seed < 1 << 63 else hex(seed)


def seed_from(stored: int | str | None) -> int | None:
    """Read what ``stored_seed`` wrote; ``ValueError`` for other text."""
    if not isinstance(stored, str):
        return stored
    if not re.fullmatch("0x[0-9a-f]{16,}", stored):
        raise ValueError(f"seed: found {stored!r}, allowed: an integer")
    return int(stored, 16)


Value = str | int | float | bytes | None
"""A value that SQLite holds."""


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column: its name, its type with SQLite's constraints, and whether a store may lack it."""

    name: str
    sql: str
    later: bool = False

    def stored(self, value: object, largest: int = LARGEST) -> Value:
        """Convert a value for the store: data to JSON, compressed if long; None above ``largest`` bytes."""
        if self.sql.startswith("BLOB"):
            return pack(value, largest)  # type: ignore[arg-type]
        return json.dumps(value) if isinstance(value, dict) else value  # type: ignore[return-value]

    @property
    def types(self) -> tuple[str, ...]:
        """SQLite's types of its values; a seed may be text (see ``stored_seed``)."""
        own = self.sql.split()[0].lower()
        return own, *(() if "NOT NULL" in self.sql else ("null",)), *(("text",) if self.name == "seed" else ())


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table: its columns in order, and the text of its statement after them."""

    name: str
    columns: tuple[StoredColumn, ...]
    end: str = ")"

    def statement(self, begin: str = "CREATE TABLE") -> str:
        """The statement that creates the table."""
        return f"{begin} {self.name} ({', '.join(f'{each.name} {each.sql}' for each in self.columns)}{self.end};"

    def row_of(self, record: object, largest: int = LARGEST) -> dict[str, Value]:
        """Convert a record to a row: every column that is a field of the record."""
        return {
            column.name: column.stored(getattr(record, column.name), largest)
            for column in self.columns
            if hasattr(record, column.name)
        }


def _columns(sql: str, *names: str, later: bool = False) -> tuple[StoredColumn, ...]:
    """Make columns of one type."""
    return tuple(StoredColumn(name, sql, later) for name in names)


def _refers(*tables: str) -> tuple[StoredColumn, ...]:
    """Make columns that refer to rows of other tables."""
    return tuple(StoredColumn(table, f"INTEGER NOT NULL REFERENCES {table}") for table in tables)


_ID = (StoredColumn("id", "INTEGER PRIMARY KEY"), StoredColumn("hash", "TEXT UNIQUE NOT NULL"))
_TEXT, _INTEGER, _REAL, _BLOB = "TEXT NOT NULL", "INTEGER NOT NULL", "REAL NOT NULL", "BLOB NOT NULL"

FACT = StoredTable(
    "fact",
    (
        *(StoredColumn("content", "TEXT PRIMARY KEY"), *_columns(_TEXT, "name", "sha256")),
        *(*_columns("INTEGER", "jobs", "gpus"), StoredColumn("constant", _REAL)),
        *(*_columns("REAL", "known_optimum", "known_bound"), *_columns("TEXT", "sense", "objective_name", later=True)),
    ),
    ") WITHOUT ROWID",
)
RESULT = StoredTable(
    "result",
    (
        StoredColumn("cell", "INTEGER PRIMARY KEY REFERENCES cell"),
        *(*_columns(_TEXT, "status", "message"), *_columns("REAL", "objective", "bound")),
        *(*_columns("REAL", "time_s", "cpu_s", "memory_mib"), StoredColumn("figures", _TEXT)),
        *(*_columns("BLOB", "solution", "certificate"), *_columns("TEXT", "bound_source", "solver", later=True)),
    ),
)
FOUND = StoredTable("found", (*_columns("TEXT PRIMARY KEY", "key"), *_columns(_BLOB, "instance")), ") WITHOUT ROWID")
"""Old stores that never searched lack this table."""

TABLES = (
    StoredTable("environment", (*_ID, StoredColumn("data", _TEXT))),
    StoredTable(
        "study",
        (
            *(*_ID, *_columns(_TEXT, "name", "plan"), StoredColumn("reference", "TEXT"), StoredColumn("limits", _TEXT)),
            *(*_columns(_INTEGER, "cells", "instances", "ran"), *_refers("environment")),
        ),
    ),
    StoredTable(
        "instance",
        (
            *(*_ID, *_columns(_TEXT, "family", "source", "preset"), StoredColumn("seed", "INTEGER")),
            *(*_columns(_BLOB, "recipe"), *_columns(_TEXT, "content")),
        ),
    ),
    FACT,
    StoredTable("method", (*_ID, *_columns(_TEXT, "label", "data"))),
    StoredTable(
        "cell",
        (
            *(_ID[0], StoredColumn("key", "TEXT UNIQUE NOT NULL"), *_refers("instance", "method")),
            *(StoredColumn("seed", _INTEGER), StoredColumn("limits", _TEXT), *_refers("environment")),
        ),
    ),
    StoredTable(
        "planned",
        (*_refers("study"), StoredColumn("position", _INTEGER), *_refers("cell", "instance", "method")),
        ", PRIMARY KEY (study, position)) WITHOUT ROWID",
    ),
    RESULT,
    FOUND,
)
"""All tables, in the order in which they are created."""
LATER = tuple((table.name, column.name, column.sql) for table in TABLES for column in table.columns if column.later)
"""Columns that were added after the first stores were written: table, name, type."""
STATEMENTS = "\n".join(table.statement() for table in TABLES)
"""Statements that create the tables of a store."""
