"""The judge of forged stores: what is false has to be refused, and what passes is held against what is true."""

import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from dlsched import study
from dlsched.core.errors import DisagreementError, InputError
from dlsched.results.verification import Verification
from dlsched.study.rows import Row
from tests.study.forging import Forger
from tests.study.forging_hand import PASSED, REFUSED, Forgery

Key = tuple[str, str]
"""Of a row: its instance and method."""


def checked(path: Path, *, again: bool = False) -> dict[Key, Verification]:
    """What comes of every row; what is false is not hidden by another row of that name."""
    found: dict[Key, Verification] = {}

    def take(row: Row, each: Verification) -> None:
        method = row.method
        while (row.instance, method) in found:
            method += "'"
        found[row.instance, method] = each

    study.check(path, take=take, workers=1, again=again)
    return found


def rows_of(path: Path) -> dict[Key, Row]:
    """What a store says."""
    with study.open(path) as opened:
        return {(row.instance, row.method): row for row in opened.rows()}


class Judge:
    """Judges forgeries of a store whose rows are all true.

    Parameters
    ----------
    path
        Of the store.
    folder
        For its forged copies, beside what its cells need.
    """

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.forged = path, folder / "forged"
        self.true, self.rows = checked(path), rows_of(path)
        assert all(self.true.values())

    def campaign(self, count: int, seed: int) -> Counter[str]:
        """Forge the store many times; count what was refused and what passed, in all and by what was forged."""
        seen: Counter[str] = Counter()
        for number in range(count):
            generator = random.Random(f"{seed} {self.path.name} {number}")
            forgery, ended = self.end_of(lambda database, draws=generator: Forger(database, draws).forge())
            seen[ended] += 1
            seen[f"{ended}: {forgery.what}"] += 1
        return seen

    def end_of(self, forge: Callable[[sqlite3.Connection], Forgery]) -> tuple[Forgery, str]:
        """Forge a copy; return what was forged, and ``REFUSED`` or ``PASSED``."""
        shutil.copy(self.path, self.forged)
        with closing(sqlite3.connect(self.forged)) as database, database:
            forgery = forge(database)
        try:
            found = checked(self.forged)
        except (DisagreementError, InputError) as error:
            assert "\n" not in str(error), forgery
            assert forgery.expected != PASSED, (forgery, error)
            return forgery, REFUSED
        if not all(found.values()):
            assert forgery.expected != PASSED, (forgery, [each.failures for each in found.values()])
            return forgery, REFUSED
        assert forgery.expected != REFUSED, forgery
        now = rows_of(self.forged)
        for key, each in found.items():
            self._require_claimed(forgery, now[key], each, key)
        return forgery, PASSED

    def _require_claimed(self, forgery: Forgery, row: Row, each: Verification, key: Key) -> None:
        """Refuse what passed and says of a row what is not true, save where it is called claimed."""
        about = (forgery, row, each)
        assert each.objective == row.objective  # the checker's own
        if row.bound is not None and each.verified_bound != row.bound:
            gap = abs(row.bound - (each.verified_bound or 0))
            assert each.claimed_bound is not None or gap <= 1e-6 * abs(row.bound), about
        for sentence in (*each.verified, *each.recomputed):
            assert not forgery.forged or forgery.forged not in sentence or forgery.forged in str(self.true[key]), about
        old = self.rows[key]
        same = (row.status, row.objective, row.bound) == (old.status, old.objective, old.bound)
        assert same or each.claimed, about
