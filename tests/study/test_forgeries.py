"""Stores that were forged: what is false is refused, what cannot be computed is called claimed."""

import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.study.forging import PASSED, REFUSED, Forger, Forgery, Judge, checked
from tests.study.stores_by_hand import NAMES, PLANS, edit


@pytest.fixture
def judges(stores: Callable[[str], Path], tmp_path: Path, here: None) -> Callable[[str], Judge]:
    """The judge of a store by its name."""
    shutil.copy(stores("ring").with_name("own.py"), tmp_path / "own.py")
    return lambda name: Judge(stores(name), tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_forged_stores_are_refused_or_what_is_forged_is_called_claimed(
    name: str, judges: Callable[[str], Judge]
) -> None:
    """A sample."""
    seen = judges(name).campaign(6, 1)
    assert seen[REFUSED] > 2 * seen[PASSED] and seen[REFUSED] + seen[PASSED] == 6


@pytest.mark.parametrize("name", NAMES)
def test_what_makes_nothing_false_passes(name: str, judges: Callable[[str], Judge]) -> None:
    """Another message or time, a solution in other bytes, a cell that has not run: in any row."""
    judge = judges(name)

    def harmless(database: sqlite3.Connection, kind: int, seed: int) -> Forgery:
        return Forger(database, random.Random(seed)).harmless[kind]()

    ended = [judge.end_of(partial(harmless, kind=kind, seed=seed)) for kind in range(4) for seed in range(2)]
    assert Counter((forgery.what, end) for forgery, end in ended) == {
        (what, PASSED): 2 for what in ("message", "seconds", "solution repacked", "result forgotten")
    }


@pytest.mark.long
def test_many_forged_stores(judges: Callable[[str], Judge]) -> None:
    """Two thousand: none is accepted in which a row says what is not claimed and not true."""
    seen: Counter[str] = Counter()
    for name in PLANS:
        seen += judges(name).campaign(500, 2)
    print(dict(seen))
    assert seen[REFUSED] + seen[PASSED] == 2000 and 0 < seen[PASSED] < 500


def test_results_of_two_methods_that_are_swapped_do_not_come_again(
    stores: Callable[[str], Path], tmp_path: Path, here: None
) -> None:
    """Each is true of its instance; only who runs the methods again sees that others found them."""
    path = Path(shutil.copy(stores("gangs"), tmp_path / "s"))
    shown = checked(path)
    ours, theirs = (shown["mixed-3x16-seed0", method].objective for method in ("a-srpt", "fifo"))
    edit(
        path,
        "UPDATE result SET cell = -1 WHERE cell = 2",
        "UPDATE result SET cell = 2 WHERE cell = 3",
        "UPDATE result SET cell = 3 WHERE cell = -1",
    )
    assert all(checked(path).values())
    assert ours == theirs or len([each for each in checked(path, again=True).values() if not each]) == 2
