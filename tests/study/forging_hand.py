"""What a forger of stores does to one, and the hand that does it."""

import random
import sqlite3
from dataclasses import dataclass

REFUSED, PASSED, ANY = "refused", "passed", "any"
"""What has to come of a forgery: what is false is refused; what says nothing, or nothing that can be computed, passes."""


@dataclass(frozen=True)
class Forgery:
    """What was done, what has to come of it, and the text that may stand in claimed lines only."""

    what: str
    expected: str
    forged: str = ""


class Hand:
    """Edits one thing of a store, at random.

    Parameters
    ----------
    database
        The store's.
    generator
        Draws.
    """

    def __init__(self, database: sqlite3.Connection, generator: random.Random) -> None:
        self.database, self.random = database, generator

    def one(self, query: str) -> tuple[object, ...] | None:
        """One of the rows that a query finds."""
        found = self.database.execute(query).fetchall()
        return self.random.choice(found) if found else None

    def put(self, table: str, column: str, value: object, where: str, key: object) -> None:
        """Change a value."""
        self.database.execute(f"UPDATE {table} SET {column} = ? WHERE {where} = ?", (value, key))

    def number(self, old: float) -> float:
        """Another number, nearer or farther."""
        factor = self.random.choice((0.0, 0.5, 0.9, 0.999, 1 - 1e-5, 1 + 1e-5, 1.001, 1.1, 2.0, -1.0, 1e30))
        return old * factor if old else self.random.choice((1.0, -1.0, 1e-3))
