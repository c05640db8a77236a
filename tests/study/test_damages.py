"""Damaged stores: every command says so in a line, exit 3, whatever the damage."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended

from tests.study.stores_by_hand import EVIDENCE, FILES, VALUES, as_before, bytes_at

PLAN = """
format = "dlsched/study/1"
instances = [{family = "ring_allocation", jobs = 2, gpus = 3}]
methods = [{name = "equal"}]
"""
COMMANDS = (
    *(("show", "s"), ("check", "s", "--workers", "1"), ("report", "s", "-o", "page.html")),
    *(("export", "s", "--format", "csv", "-o", "rows"), ("run", "plan.toml", "-s", "s", "--workers", "1")),
)
SAID = {
    "version 99": "s: the store: found version 99, allowed: version 1",
    "another program's": "a file that is no store of a study",
    "text": "s: the store cannot be used: file is not a database",
}
"""Words about files that are not a store of this version, which stay as they are."""


@pytest.fixture
def copied(stores: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a store that was run, in the folder that the command line works in."""
    store = stores("ring")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "own.py").write_bytes((store.parent / "own.py").read_bytes())
    return Path(shutil.copy(store, tmp_path / "s"))


def refused(cli: Callable[..., Ended], *commands: tuple[str, ...]) -> list[str]:
    """Lines of the commands, each of which ends with exit 3 and prints and writes nothing else."""
    lines = []
    for command in commands:
        ended = cli("study", *command)
        assert (ended.code, ended.out) == (3, ""), (command, ended)
        assert not Path("rows").exists() and not Path("page.html").exists()
        lines.append(ended.line)
        assert lines[-1].startswith("dlsched: s: the store"), lines[-1]
    return lines


@pytest.mark.parametrize("damage", FILES)
def test_damage_to_the_file_is_said(damage: str, copied: Path, cli: Callable[..., Ended]) -> None:
    """By every command, in a store of today and in one of before."""
    before = Path(shutil.copy(copied, "before"))
    as_before(before)
    FILES[damage](copied)
    content = copied.read_bytes() if damage in SAID else b""
    lines = refused(cli, *COMMANDS)
    if damage in SAID:
        assert all(SAID[damage] in line for line in lines) and copied.read_bytes() == content
    if not damage.startswith("another log"):
        (shutil.rmtree if copied.is_dir() and not copied.is_symlink() else os.unlink)(copied)
        shutil.copy(before, copied)
        FILES[damage](copied)
        refused(cli, *COMMANDS[:1], *COMMANDS[-1:])


@pytest.mark.parametrize("damage", VALUES)
def test_damage_to_values_is_said(damage: str, copied: Path, cli: Callable[..., Ended]) -> None:
    """It is not called false: nobody can have written it. A run plans anew what has no study."""
    before = Path(shutil.copy(copied, "before"))
    as_before(before)
    VALUES[damage](copied)
    refused(cli, *(COMMANDS if damage != "no study" else COMMANDS[:-1]))
    copied.unlink()
    shutil.copy(before, copied)
    if damage != "an unknown sense":
        VALUES[damage](copied)
        refused(cli, *COMMANDS[:-1])


@pytest.mark.parametrize("damage", EVIDENCE)
def test_damage_to_evidence_is_said_by_who_reads_it(damage: str, copied: Path, cli: Callable[..., Ended]) -> None:
    """A check; rows do not depend on it."""
    rows = cli("study", "show", "s", "--json").json
    EVIDENCE[damage](copied)
    assert "the store is damaged: found no compressed JSON" in refused(cli, ("check", "s", "--workers", "1"))[0]
    assert cli("study", "show", "s", "--json").json == rows


def test_who_holds_the_file_is_waited_for_and_then_said(copied: Path, cli: Callable[..., Ended]) -> None:
    with sqlite3.connect(copied) as database:
        database.execute("BEGIN EXCLUSIVE")
        (line,) = refused(cli, ("show", "s"))
        assert "database is locked" in line
    database.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
def test_a_store_that_may_not_be_read(copied: Path, cli: Callable[..., Ended]) -> None:
    copied.chmod(0)
    refused(cli, *COMMANDS)


@pytest.mark.parametrize("name", ["s", "s-wal", "s-journal"])
@pytest.mark.parametrize("size", [0, 1, 4096])
def test_garbage_behind_the_end_and_beside_it_says_nothing(
    name: str, size: int, copied: Path, cli: Callable[..., Ended]
) -> None:
    """What is no part of the database: rows are as they were."""
    rows = cli("study", "show", "s", "--json").json
    with Path(name).open("ab") as file:
        file.write(b"\xa5" * size)
    assert cli("study", "show", "s", "--json").json == rows


@pytest.mark.parametrize("seed", range(40))
def test_any_page_may_be_garbage(seed: int, copied: Path, cli: Callable[..., Ended]) -> None:
    """Somewhere in the file: refused, as damaged or as another thing than what was written, or the rows are as they were."""
    import random

    generator = random.Random(seed)
    rows = cli("study", "show", "s", "--json").json
    bytes_at(generator.random() * 0.99, generator.randbytes(generator.choice((1, 2, 16, 500))))(copied)
    ended = cli("study", "show", "s", "--json")
    if ended.code:
        assert ended.code in (3, 7) and ended.line.startswith("dlsched: s: ") and ended.out == ""
    else:
        assert ended.json == rows
