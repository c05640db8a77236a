"""The map of the papers is true: its functions exist and are documented, its commands can be run."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
import typer

pytest.importorskip("sphinx")
ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
ROWS = [line.strip("|").split(" | ") for line in TEXT.splitlines() if line.startswith("| ") and "{py:obj}" in line]

import public_names  # noqa: E402

import dlsched  # noqa: E402
from dlsched.cli import app  # noqa: E402

PROGRAM = typer.main.get_command(app)


def test_every_row_has_a_section_a_function_a_command_and_a_difference():
    """A row says where, by which function and command, and how it differs; there are five papers."""
    assert len(ROWS) > 40 and TEXT.count("\n## ") == 5
    for row in ROWS:
        assert len(row) == 3 and all(cell.strip() for cell in row), row
        assert re.match(r" ?\[.*\]\([\w/]+\.md(#[\w-]+)?\), \{py:obj\}`.*`: `.*` ?$", row[1]), row


def test_functions_exist_and_are_documented():
    """Each is found under its path, and has an entry in the API reference."""
    documented = {name.path for page in public_names.PAGES for name in public_names.names_on(page)}
    paths = {path for row in ROWS for path in re.findall(r"\{py:obj\}`~([\w.]+)`", row[1])}
    for path in paths:
        module, name = path.rsplit(".", 1)
        assert callable(getattr(import_module(module), name))
    assert paths <= documented


@pytest.mark.parametrize("command", sorted({re.search(r": `([^`]*)`$", row[1].strip())[1] for row in ROWS}))
def test_commands_can_be_run(command):
    """Options are those of the program, methods those of the instance's family, files and scripts are there."""
    program, *words = shlex.split(command)
    if program == "python":
        script, *studies = words
        assert (ROOT / script).exists() and f"$(BIN)/python {script}\n" in (ROOT / "Makefile").read_text("utf-8")
        assert bool(studies) == (script == "benchmarks/pages.py")
        assert all((ROOT / "benchmarks" / "studies" / f"{study}.toml").exists() for study in studies)
        return
    assert program == "dlsched"
    name, *arguments = words
    given = PROGRAM.commands[name].make_context(name, arguments).params
    files = [word for word in arguments if word.startswith("instances/")]
    assert all((ROOT / file).exists() for file in files)
    methods = [*(given.get("methods") or "").split(","), given.get("method") or ""]
    for file in files:
        family = dlsched.FAMILIES[Path(file).parent.name]
        assert {method for method in methods if method} <= {*family.methods, *family.aliases}
