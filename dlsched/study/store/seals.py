"""Seals: hashes of the rows of a store, over all values of a row and the identity of the rows it refers to.

=============  ==================================================================================================
table          its seal is over the columns of the row, and
=============  ==================================================================================================
study          the hash of its environment
planned        the hash of its study; its cell, with the hashes of its instance, its method and its environment; the
               hashes of the instance and the method that it is shown with
result         the key of its cell
=============  ==================================================================================================

Row numbers that refer to other rows are left out; the seal covers the rows behind them instead. Seals have
no secret key: everybody who may write the store can compute them. They reveal changes by hand. The leader of
a run also knows which seals it wrote (``Ledger``), and recomputing the rows reveals changes that came with a
new seal.
"""

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from dlsched.study.store.tables import TABLES, Value

Place = tuple[str, int, int | str]
"""Address of a row: table; id of the study for planned cells, else 0; number, key or content hash."""

_KNOWN = 16
"""Bytes of a seal that a ledger keeps."""
_DENSE = 1 << 27
"""Row numbers below this are kept in an array: ids count from 1."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A row with its stored seal, and the true seal of its values."""

    place: Place
    written: bytes | None
    true: bytes


def seal(table: str, values: Sequence[Value], unsealed: Collection[int] = ()) -> bytes:
    """Hash the values of a row: SHA-256 of a JSON list, floats as Python's repr, bytes by their SHA-256.

    ``unsealed``: positions that are left out if empty, so that new columns do not change existing seals.
    """
    if unsealed:
        values = [value for place, value in enumerate(values) if value is not None or place not in unsealed]
    said = [hashlib.sha256(value).digest().hex() if isinstance(value, bytes) else value for value in values]
    kinds = "".join("b" if isinstance(value, bytes) else "." for value in values)
    return hashlib.sha256(json.dumps([table, kinds, said]).encode()).digest()


def rows_of(database: sqlite3.Connection, table: str, condition: str = "") -> Iterator[Sealed]:
    """Yield every row of a table with both seals, read on demand."""
    held = TABLES[table]
    unsealed = held.unsealed
    there = {name for (name,) in database.execute("SELECT name FROM pragma_table_info(?)", (table,))}
    for study, key, written, *values in database.execute(f"{held.selection(there)} {condition}"):
        yield Sealed((table, study, key), written, seal(table, values, unsealed))


def write_missing(database: sqlite3.Connection, table: str) -> None:
    """Seal the rows of a table that have no seal."""
    missing = [(each.place, each.true) for each in rows_of(database, table, f"WHERE {table}.seal IS NULL")]
    held = TABLES[table]
    database.executemany(
        f"UPDATE {table} SET seal = ? WHERE {held.study} = ? AND {held.key} = ?",
        ((true, study, key) for (_, study, key), true in missing),
    )


class Ledger:
    """Seals that a process knows because it read or wrote the rows: 16 bytes of each.

    Parameters
    ----------
    database, tables
        The store's database, and the tables whose present seals are read.
    """

    def __init__(self, database: sqlite3.Connection, tables: Sequence[str]) -> None:
        self._by_number: dict[tuple[str, int], bytearray] = {}
        self._by_key: dict[Place, bytes] = {}
        self.tables = tuple(tables)
        self.count = 0
        for table in tables:
            place = f"{TABLES[table].study}, {TABLES[table].key}"
            for study, key, written in database.execute(f"SELECT {place}, seal FROM {table}"):
                self.add((table, study, key), written)

    def add(self, place: Place, written: bytes) -> None:
        """Record the seal of a row."""
        self.count += not self._found(place)
        table, study, key = place
        if isinstance(key, int) and 0 <= key < _DENSE:
            seals = self._by_number.setdefault((table, study), bytearray())
            if len(seals) < _KNOWN * (key + 1):
                seals.extend(bytes(_KNOWN * (key + 1024) - len(seals)))
            seals[_KNOWN * key : _KNOWN * (key + 1)] = written[:_KNOWN]
        else:
            self._by_key[place] = written[:_KNOWN]

    def holds(self, row: Sealed) -> bool:
        """Whether the row's values have the seal that was recorded."""
        return self._found(row.place) == row.true[:_KNOWN]

    def places(self) -> Iterator[Place]:
        """Yield the rows whose seals are recorded."""
        for (table, study), seals in self._by_number.items():
            for key in range(len(seals) // _KNOWN):
                if self._found((table, study, key)):
                    yield table, study, key
        yield from self._by_key

    def _found(self, place: Place) -> bytes:
        """Return the recorded seal of a row; empty if there is none."""
        table, study, key = place
        if isinstance(key, int) and 0 <= key < _DENSE:
            seals = self._by_number.get((table, study))
            found = b"" if seals is None else bytes(seals[_KNOWN * key : _KNOWN * (key + 1)])
            return found if any(found) else b""
        return self._by_key.get(place, b"")


def broken(database: sqlite3.Connection, tables: Sequence[str], ledger: Ledger | None = None) -> Iterator[Place]:
    """Yield, once each, rows whose values do not match their seal, or that differ from the ledger."""
    met = 0
    for table in tables:
        for row in rows_of(database, table):
            if row.written != row.true or (ledger is not None and not ledger.holds(row)):
                yield row.place
            else:
                met += 1
    if ledger is not None and met < ledger.count:
        there = {row.place for table in tables for row in rows_of(database, table)}
        yield from (place for place in ledger.places() if place not in there)
