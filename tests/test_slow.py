"""The list of slow tests names tests that are there."""

import functools
from pathlib import Path

from conftest import SLOW

ROOT = Path(__file__).parents[1]


@functools.cache
def text_of(path: Path) -> str:
    """The source of a file of tests."""
    return path.read_text(encoding="utf-8")


def test_every_name_is_of_a_test() -> None:
    """A file, and a function in it; in order, so that two changes to the list meet in one place."""
    assert len(SLOW) > 100
    lines = (ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))
    missing = []
    for line in lines:
        file, _, name = line.partition("[")[0].partition("::")
        stated = f"def {name.rpartition('::')[2]}(" in text_of(ROOT / file)
        missing += [] if stated else [line]
    assert missing == []
