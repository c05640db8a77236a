"""The README says what is so: its commands and its code are run; where CONTRIBUTING.md says that things are, they are."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended

from dlsched import FAMILIES

ROOT = Path(__file__).parent.parent
README, CONTRIBUTING = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "CONTRIBUTING.md"))
CONSOLE, PYTHON = (re.findall(rf"```{kind}\n(.*?)```", README, re.DOTALL) for kind in ("console", "python"))
TABLE = CONTRIBUTING.split("| question | answer |\n|---|---|\n", 1)[1].split("\n\n", 1)[0].splitlines()
COMMANDS = [line[2:] for block in CONSOLE for line in block.splitlines() if line.startswith("$ ")]
MAKE = [command for command in COMMANDS if command.startswith("make ")]
QUICKSTART = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")  # tests/test_docs.py runs its commands


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A directory that looks like a clone, in which files may be written."""
    (tmp_path / "instances").symlink_to(ROOT / "instances")
    return tmp_path


def test_the_beginning_has_exactly_two_commands() -> None:
    """A newcomer needs two commands: the demonstration and the tests."""
    assert MAKE == ["make demo", "make test"]
    beginning = README.split("\n## What it solves\n", 1)[0]
    assert all(f"$ {command}\n" in beginning for command in MAKE)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not here")
def test_demo_prints_a_table_and_writes_a_report(tmp_path: Path) -> None:
    """`make demo`, with this environment for its own: a line for each family and preset, and the path of the report."""
    stamp = f"{sys.prefix}/.plots"
    command = ["make", "--no-print-directory", "-o", stamp, "demo", f"VENV={sys.prefix}", f"DEMO={tmp_path}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert all(family in done.stdout for family in FAMILIES) and "contradicts" not in done.stdout + done.stderr
    assert done.stdout.rstrip().endswith(f"report: {tmp_path}/report.html")
    assert len(done.stdout.splitlines()) < 20, "a table, no wall of text"
    assert "ring_allocation" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_commands_run(tree: Path, monkeypatch: pytest.MonkeyPatch, cli: Callable[..., Ended]) -> None:
    """Every dlsched command that the README shows ends with exit code 0; the first is run as a program."""
    monkeypatch.chdir(tree)
    commands = [command for command in COMMANDS if command not in MAKE and f"\n$ {command}\n" not in QUICKSTART]
    assert len(commands) >= 8
    for index, command in enumerate(commands):
        program, *arguments = shlex.split(command)
        assert program == "dlsched"
        if index:
            ended = cli(*arguments)
        else:
            done = subprocess.run([sys.executable, "-m", program, *arguments], capture_output=True, text=True)
            ended = Ended(done.returncode, done.stdout, done.stderr)
        assert ended.code == 0, f"{command}\n{ended.out}\n{ended.err}"
        assert "Traceback" not in ended.err


def test_code_runs(tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The lines of Python run: the optimum is proven, with an answer, and the comparison has a line for each method."""
    monkeypatch.chdir(tree)
    for block in PYTHON:
        exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed.startswith("optimal {")
    assert all(method in printed for method in ("exact", "doubling", "equal"))


def test_two_screens_come_before_the_links() -> None:
    """Who has two minutes finds what it is, for whom and how to start; then the pages to read."""
    before = README.split("\n- [", 1)[0]
    assert len(before.splitlines()) <= 120 and "```python" in before and "![" in before


def test_links_lead_somewhere() -> None:
    """Every file that the README links to is there."""
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).exists(), link


def places_of(row: str) -> list[Path]:
    """Files and folders that a row names: from the root, or from where one is that is named before, or by all families."""
    places: list[Path] = []
    for name in re.findall(r"`([\w./<>*-]+(?:/|\.py|\.md))`", row):
        folders = [ROOT, *(place if place.is_dir() else place.parent for place in reversed(places))]
        written = [name.replace("<family>", family) for family in FAMILIES] if "<family>" in name else [name]
        for path in written:
            found = next((path_found for folder in folders for path_found in sorted(folder.glob(path))), None)
            assert found is not None, f"no {path}: {row}"
            places.append(found)
    places += [ROOT / link for link in re.findall(r"\]\(([^)#:]+)", row)]
    return places


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.strip("| ").split(" | ")[0])
def test_answers_lead_to_the_sources(row: str) -> None:
    """Every file and folder of an answer is there, and a name in code is in one of them."""
    places = places_of(row)
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*.py"))]
    text = "\n".join(str(file) + file.read_text(encoding="utf-8") for file in files)
    names = [name.split(".")[-1] for name in re.findall(r"`([A-Za-z_][\w.]*)`", row) if not name.endswith(".py")]
    assert places and [name for name in names if not re.search(rf"\b{name}\b", text)] == []


def test_the_bibtex_entry_is_that_of_the_citation_file() -> None:
    """Title, authors and version are those of ``CITATION.cff``."""
    entry = dict(
        re.findall(r"^  (\w+) = \{(.*)\},?$", README.split("```bibtex\n", 1)[1].split("```", 1)[0], re.MULTILINE)
    )
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    plain = {key: value.replace("{", "").replace("}", "") for key, value in entry.items()}
    assert f'title: "{plain["title"]}"\n' in citation
    assert f"version: {plain['version']}\n" in citation and f"  - name: {plain['author']}\n" in citation
