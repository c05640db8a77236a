"""The house in figures: how large files and families are, how many things a reader meets in one, how much is untyped."""

import re
from pathlib import Path

import pytest

import dlsched
from dlsched import FAMILIES

PACKAGE = Path(dlsched.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))

LINES_OF_A_FILE = 500
ENTRIES_OF_A_FAMILY = 20
UNTYPED = 80


def lines(path: Path) -> list[str]:
    """Lines of a source."""
    return path.read_text(encoding="utf-8").splitlines()


def test_files_stay_short() -> None:
    """None has more than 500 lines."""
    sizes = {str(path.relative_to(PACKAGE)): len(lines(path)) for path in SOURCES}
    longer = {name: size for name, size in sizes.items() if size > LINES_OF_A_FILE}
    assert not longer, f"files of more than {LINES_OF_A_FILE} lines: {longer}"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_is_taken_in_at_a_glance(family: str) -> None:
    """Modules and folders directly in a family's folder."""
    entries = sorted(path.name for path in (PACKAGE / family).iterdir() if path.name != "__pycache__")
    assert len(entries) <= ENTRIES_OF_A_FAMILY, f"{family} has {len(entries)} entries: {entries}"


def test_little_is_untyped() -> None:
    """``Any`` stands where the content of a file is meant, and where a family is known by its name only."""
    uses: dict[str, int] = {}
    for path in SOURCES:
        count = sum(bool(re.search(r"\bAny\b", line)) and "import" not in line for line in lines(path))
        if count:
            uses[str(path.relative_to(PACKAGE))] = count
    most = dict(sorted(uses.items(), key=lambda item: -item[1])[:10])
    assert sum(uses.values()) < UNTYPED, (
        f"{sum(uses.values())} lines use Any, allowed {UNTYPED - 1}; most of them: {most}"
    )
