"""The list of slow tests names tests that are there."""

import ast
from pathlib import Path

from conftest import SLOW, tree_of

ROOT = Path(__file__).parents[1]


def test_every_name_is_of_a_test() -> None:
    """A file, and a function in it; in order, so that two changes to the list meet in one place."""
    assert len(SLOW) > 100
    lines = (ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))
    missing = []
    for line in lines:
        file, _, name = line.partition("[")[0].partition("::")
        functions = {each.name for each in ast.walk(tree_of(ROOT / file)) if isinstance(each, ast.FunctionDef)}
        missing += [] if name.rpartition("::")[2] in functions else [line]
    assert missing == []
