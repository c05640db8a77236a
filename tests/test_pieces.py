"""The long campaigns run in pieces: every long test is of exactly one, ``make verify`` runs all, CI each."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAKEFILE = ROOT / "Makefile"
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"

pytestmark = pytest.mark.skipif(not MAKEFILE.exists(), reason="no Makefile here")


def long_tests() -> set[str]:
    """Files in which a test is marked long."""
    files = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("dlsched/**/*.py")]
    marked = {
        str(file.relative_to(ROOT)) for file in files if re.search(r"mark\.long\b", file.read_text(encoding="utf-8"))
    }
    return marked - {str(Path(__file__).relative_to(ROOT))}


def pieces() -> dict[str, tuple[list[str], list[str]]]:
    """What each piece runs and leaves out, by its number."""
    found = {}
    for number, words in re.findall(r"^PIECE_(\d+) = (.*)$", MAKEFILE.read_text(encoding="utf-8"), re.MULTILINE):
        ignored = [word.removeprefix("--ignore=") for word in words.split() if word.startswith("--ignore=")]
        found[number] = [word for word in words.split() if not word.startswith("-")], ignored
    return found


def within(file: str, paths: list[str]) -> bool:
    """Whether a file is one of the paths, or below one."""
    return any(file == path or file.startswith(f"{path}/") for path in paths)


def test_every_long_test_is_of_one_piece() -> None:
    """None is left out, none runs twice; and no piece names what is not there or holds no long test."""
    tests, owners = long_tests(), pieces()
    assert len(tests) > 30 and len(owners) > 5
    of = {
        file: [
            number for number, (paths, ignored) in owners.items() if within(file, paths) and not within(file, ignored)
        ]
        for file in tests
    }
    assert {file: numbers for file, numbers in of.items() if len(numbers) != 1} == {}
    for number, (paths, ignored) in owners.items():
        assert all((ROOT / path).exists() for path in (*paths, *ignored)), number
        assert all(any(within(file, [path]) for file in tests) for path in paths), number


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")
def test_verify_is_all_pieces() -> None:
    """Each target runs its paths, and ``verify`` every target; CI's list is the same."""
    listed = subprocess.run(
        ["make", "-n", "-B", "-o", ".venv/.dev", "verify"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    runs = [line.partition("-m long -s ")[2] for line in listed.splitlines() if "-m long" in line]
    assert len(runs) == len(pieces())
    for line, (paths, ignored) in zip(runs, pieces().values(), strict=True):
        assert line.split() == [*paths, *(f"--ignore={path}" for path in ignored)]
    if WORKFLOW.exists():
        listed_in_ci = re.search(r"piece: \[(.*)\]", WORKFLOW.read_text(encoding="utf-8"))
        assert listed_in_ci is not None and listed_in_ci[1].split(", ") == list(pieces())
