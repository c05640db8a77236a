"""The tables of a store, each column defined once: statements, seals and conversions derive from that.

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

Columns of newer versions are ``later``: a store may lack them, and the next leader adds them. A new column
must also be ``unsealed``, left out of seals if empty, so that rows sealed before keep their seals.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass

from dlsched.study.store.packing import LARGEST, pack

WIDTH = 120
"""Largest length of a statement on one line."""

Value = str | int | float | bytes | None
"""A value that SQLite holds."""


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column of a table.

    Parameters
    ----------
    name, sql
        Its name; its type with SQLite's constraints.
    sealed
        Expressions that a seal covers; None: the value itself. Row numbers that refer to other rows are not
        sealed; the rows behind them are.
    later, unsealed
        Whether a store may lack it, and whether seals leave it out if empty.
    least
        Whether it must be >= 0.
    """

    name: str
    sql: str
    sealed: tuple[str, ...] | None = None
    later: bool = False
    unsealed: bool = False
    least: bool = False

    @property
    def type(self) -> str:
        """``TEXT``, ``INTEGER``, ``REAL`` or ``BLOB``."""
        return self.sql.split()[0]

    @property
    def needed(self) -> bool:
        """Whether every row must have a value."""
        return "NOT NULL" in self.sql

    def kept(self, value: object, largest: int = LARGEST) -> Value:
        """Convert a value for the store: data to JSON, compressed if long; None above ``largest`` bytes."""
        if self.type == "BLOB":
            return pack(value, largest)  # type: ignore[arg-type]
        if self.type == "REAL":
            # SQLite has no negative zero
            return None if value is None else float(value) + 0.0  # type: ignore[arg-type]
        return json.dumps(value) if isinstance(value, dict) else value  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table.

    Parameters
    ----------
    name, lines
        Its columns in order, grouped by the lines of its statement, whose text stores keep. In a table with
        seals the last column is the seal.
    joins
        Joins of the other rows that its seals cover.
    study, key
        Columns that identify a row: the study, or ``0`` if not needed, and the number, key or content.
    constraint, without_id
        Text of its statement after the columns, and whether it is a table WITHOUT ROWID.
    """

    name: str
    lines: tuple[tuple[StoredColumn, ...], ...]
    joins: str = ""
    study: str = "0"
    key: str = "id"
    constraint: str = ""
    without_id: bool = False

    @property
    def columns(self) -> tuple[StoredColumn, ...]:
        """Its columns in their order."""
        return tuple(column for line in self.lines for column in line)

    @property
    def sealed(self) -> bool:
        """Whether its rows have seals."""
        return self.columns[-1].name == "seal"

    @property
    def said(self) -> tuple[StoredColumn, ...]:
        """Columns that a seal covers, in the order of the seal."""
        return tuple(column for column in self.columns if column.sealed != ())

    def selection(self, there: Collection[str]) -> str:
        """Query for study, key, seal and sealed values of its rows; ``there``: columns of the store."""
        said = [
            expression
            for column in self.said
            for expression in column.sealed or (f"{self.name}.{column.name}" if column.name in there else "NULL",)
        ]
        place = (name if name == "0" else f"{self.name}.{name}" for name in (self.study, self.key))
        return f"SELECT {', '.join((*place, f'{self.name}.seal', *said))} FROM {self.name}{self.joins}"

    @property
    def unsealed(self) -> frozenset[int]:
        """Positions of the sealed values that are left out if empty."""
        places = (column.unsealed for column in self.said for _ in column.sealed or (column.name,))
        return frozenset(place for place, left_out in enumerate(places) if left_out)

    def statement(self, begin: str = "CREATE TABLE") -> str:
        """The statement that creates the table."""
        lines = [", ".join(f"{column.name} {column.sql}" for column in line) for line in self.lines]
        lines += [self.constraint] if self.constraint else []
        head, tail = f"{begin} {self.name} (", ") WITHOUT ROWID;" if self.without_id else ");"
        whole = f"{head}{lines[0]}{tail}"
        if len(lines) == 1 and len(whole) <= WIDTH:
            return whole
        indented = ",\n    ".join(lines)
        return f"{head}\n    {indented}{tail}"

    def column(self, name: str) -> StoredColumn:
        """Column of a name."""
        return next(column for column in self.columns if column.name == name)

    def row_of(self, record: object, largest: int = LARGEST) -> dict[str, Value]:
        """Convert a record to a row: every column that is a field of the record."""
        return {
            column.name: column.kept(getattr(record, column.name), largest)
            for column in self.columns
            if hasattr(record, column.name)
        }


def _refers(table: str, *sealed: str) -> StoredColumn:
    """Make a column that refers to a row of another table."""
    return StoredColumn(table, f"INTEGER NOT NULL REFERENCES {table}", sealed or (f"{table}.hash",))


def _join(table: str, on: str, name: str = "") -> str:
    """Make the join of the row that a column refers to."""
    return f" LEFT JOIN {table}{f' AS {name}' if name else ''} ON {name or table}.id = {on}"


_ID = StoredColumn("id", "INTEGER PRIMARY KEY", ())
_HASH = StoredColumn("hash", "TEXT UNIQUE NOT NULL")
_SEAL = StoredColumn("seal", "BLOB", (), later=True)
_TEXT, _INTEGER, _REAL = "TEXT NOT NULL", "INTEGER NOT NULL", "REAL NOT NULL"

ENVIRONMENT = StoredTable("environment", ((_ID, _HASH, StoredColumn("data", _TEXT), _SEAL),))
STUDY = StoredTable(
    "study",
    (
        (_ID, _HASH, StoredColumn("name", _TEXT), StoredColumn("plan", _TEXT), StoredColumn("reference", "TEXT")),
        (
            *(StoredColumn("limits", _TEXT), StoredColumn("cells", _INTEGER)),
            *(StoredColumn("instances", _INTEGER), StoredColumn("ran", _INTEGER)),
        ),
        (_refers("environment"), _SEAL),
    ),
    _join("environment", "study.environment"),
)
INSTANCE = StoredTable(
    "instance",
    (
        (_ID, _HASH, StoredColumn("family", _TEXT), StoredColumn("source", _TEXT), StoredColumn("preset", _TEXT)),
        (
            *(StoredColumn("seed", "INTEGER"), StoredColumn("recipe", "BLOB NOT NULL")),
            *(StoredColumn("content", _TEXT), _SEAL),
        ),
    ),
)
FACT = StoredTable(
    "fact",
    (
        (
            *(StoredColumn("content", "TEXT PRIMARY KEY"), StoredColumn("name", _TEXT)),
            *(StoredColumn("sha256", _TEXT), StoredColumn("jobs", "INTEGER"), StoredColumn("gpus", "INTEGER")),
        ),
        (
            *(StoredColumn("constant", _REAL), StoredColumn("known_optimum", "REAL")),
            *(StoredColumn("known_bound", "REAL"), StoredColumn("sense", "TEXT", later=True)),
            StoredColumn("objective_name", "TEXT", later=True),
        ),
        (_SEAL,),
    ),
    key="content",
    without_id=True,
)
METHOD = StoredTable("method", ((_ID, _HASH, StoredColumn("label", _TEXT), StoredColumn("data", _TEXT), _SEAL),))
CELL = StoredTable(
    "cell",
    (
        (_ID, StoredColumn("key", "TEXT UNIQUE NOT NULL"), _refers("instance")),
        (_refers("method"), StoredColumn("seed", _INTEGER), StoredColumn("limits", _TEXT)),
        (_refers("environment"),),
    ),
)
PLANNED = StoredTable(
    "planned",
    (
        (
            *(_refers("study"), StoredColumn("position", _INTEGER)),
            _refers("cell", "key", "cell.seed", "cell.limits", "own.hash", "its.hash", "environment.hash"),
        ),
        (_refers("instance"), _refers("method"), _SEAL),
    ),
    "".join(
        (
            *(_join("study", "planned.study"), _join("cell", "planned.cell")),
            *(_join("instance", "cell.instance", "own"), _join("method", "cell.method", "its")),
            _join("environment", "cell.environment"),
            *(_join("instance", "planned.instance"), _join("method", "planned.method")),
        )
    ),
    "study",
    "position",
    "PRIMARY KEY (study, position)",
    without_id=True,
)
RESULT = StoredTable(
    "result",
    (
        (
            StoredColumn("cell", "INTEGER PRIMARY KEY REFERENCES cell", ("key",)),
            *(StoredColumn("status", _TEXT), StoredColumn("message", _TEXT)),
            *(StoredColumn("objective", "REAL"), StoredColumn("bound", "REAL")),
        ),
        (
            *(StoredColumn(name, "REAL", least=True) for name in ("time_s", "cpu_s", "memory_mib")),
            *(StoredColumn("figures", _TEXT), StoredColumn("solution", "BLOB"), StoredColumn("certificate", "BLOB")),
        ),
        (StoredColumn("bound_source", "TEXT", later=True), StoredColumn("solver", "TEXT", later=True), _SEAL),
    ),
    _join("cell", "result.cell"),
    key="cell",
)
FOUND = StoredTable(
    "found",
    (
        (
            *(StoredColumn("key", "TEXT PRIMARY KEY"), StoredColumn("instance", "BLOB NOT NULL")),
            StoredColumn("seal", "BLOB", ()),
        ),
    ),
    key="key",
    without_id=True,
)
"""Old stores that never searched lack this table."""

TABLES = {table.name: table for table in (ENVIRONMENT, STUDY, INSTANCE, FACT, METHOD, CELL, PLANNED, RESULT, FOUND)}
"""All tables by name, in the order in which they are created."""
SEALED = tuple(table.name for table in TABLES.values() if table.sealed and table is not FOUND)
"""Tables that every sealed store has with a column ``seal``; ``found`` is one more."""
_LATER = [(table.name, column) for table in TABLES.values() for column in table.columns if column.later]
LATER = tuple(
    (table, column.name, column.sql)
    for seals in (False, True)
    for table, column in _LATER
    if (column.name == "seal") == seals
)
"""Columns that were added after the first stores were written: table, name, type; seals last."""
STATEMENTS = "\n".join(table.statement() for table in TABLES.values())
"""Statements that create the tables of a store."""
