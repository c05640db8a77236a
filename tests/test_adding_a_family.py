"""A family from nothing: the files of docs/adding_a_family.md in a copy of the package, all commands, and the contract."""

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from test_docs import blocks, run_console

import dlsched

ROOT = Path(__file__).parents[1]
PACKAGE = Path(dlsched.__file__).parent
PAGE = "adding_a_family.md"
FAMILY = "admission"
NAMES = "dlsched/catalogue/families.py"
FILES = {block.file: block.text for block in blocks(PAGE) if block.file is not None}
FOLDER = [name for name in FILES if name.startswith(f"dlsched/{FAMILY}/")]
OUTSIDE = [NAMES, f"dlsched/testing/{FAMILY}.py"]
AROUND = ("docs/", "models/", "instances/")

MOST_LINES = 200
"""Of code, without empty lines and docstrings."""


def lines_of_code(text: str) -> int:
    """Lines of a source that are neither empty nor part of a docstring."""
    tree = ast.parse(text)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    words = [node.body[0] for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node)]
    within = {line for node in words for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return sum(bool(line.strip()) and number not in within for number, line in enumerate(text.splitlines(), 1))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, and of the tests that ask the records of all families, with one family more."""
    folder = tmp_path_factory.mktemp("house")
    shutil.copytree(PACKAGE, folder / "dlsched", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "tests").mkdir()
    for path in (*(ROOT / "tests").glob("*.py"), ROOT / "tests" / "slow.txt"):
        shutil.copy(path, folder / "tests")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    before, after = one_line()
    names = (folder / NAMES).read_text(encoding="utf-8")
    assert before in names
    (folder / NAMES).write_text(names.replace(before, after, 1), encoding="utf-8")
    return folder


def one_line() -> tuple[str, str]:
    """What the list of families holds before and after, by the page."""
    (block,) = (block for block in blocks(PAGE) if block.language == "diff")
    lines = block.text.splitlines()
    assert sum(line.startswith("+") for line in lines) == 1 and not any(line.startswith("-") for line in lines)
    before = [line[1:] for line in lines if line.startswith(" ")]
    return "\n".join(before) + "\n", "\n".join(line[1:] for line in lines) + "\n"


def run(house: Path, *arguments: str) -> str:
    """Standard output of Python in the copy."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=house,
        env=os.environ | {"PYTHONPATH": str(house), "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def held(house: Path, modules: Sequence[str], chosen: str = FAMILY) -> int:
    """Run test modules in the copy; return how many of their tests passed."""
    options = ["-q", "-p", "no:cacheprovider", "-k", chosen, "-W", "ignore"]
    said = run(house, "-m", "pytest", *options, *(f"tests/{name}.py" for name in modules))
    (passed,) = re.findall(r"^(\d+) passed", said, re.MULTILINE)
    assert "failed" not in said and "skipped" not in said
    return int(passed)


def test_the_commands_of_the_page_run_and_show_what_it_says(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Methods, schema, generate, solve, check, bound, compare and export, each in a process of its own."""
    monkeypatch.setenv("PYTHONPATH", str(house))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "")
    monkeypatch.setattr("test_docs.run_command", lambda command, folder, cli: in_bash(command, folder))
    ran = [block for block in blocks(PAGE) if block.language == "console"]
    for block in ran:
        run_console(block.text, house, f"docs/{PAGE}, line {block.line}", None)
    assert len(ran) == 1
    lp = (house / "models" / FAMILY / "milp.lp").read_text(encoding="utf-8")
    assert "capacity: 5 y_a + 4 y_b + 4 y_c >= 5" in lp


def in_bash(command: str, folder: Path) -> tuple[int, str]:
    """Exit code and all that a command prints, with ``dlsched`` the copy's."""
    words = command.replace("dlsched ", f"{sys.executable} -m dlsched ", 1)
    done = subprocess.run(["bash", "-c", words], cwd=folder, capture_output=True, text=True, encoding="utf-8")
    return done.returncode, done.stdout + done.stderr


def test_every_method_keeps_the_contract(house: Path) -> None:
    """The tests that every family has: contract, arrows, figures of the house, by name of the family alone."""
    assert held(house, ["test_contract", "test_imports", "test_house"]) > 30


def test_the_models_are_those_of_the_page(house: Path) -> None:
    """Once exported, the LP file is current, two solvers find the optimum in it, and the README names every row."""
    run(house, "-m", "dlsched", "export", f"instances/{FAMILY}/three-jobs.json", "-o", f"models/{FAMILY}/milp.lp")
    assert held(house, ["test_models"]) == 4


def test_python_of_the_page_runs(house: Path) -> None:
    """A heuristic held to the contract by its users, and every method by ``check_method``."""
    shown = [block.text for block in blocks(PAGE) if block.language == "python" and block.file is None]
    assert len(shown) == 1
    each = (
        "from dlsched import FAMILIES\n"
        "from dlsched.testing import check_method\n"
        f"record = FAMILIES[{FAMILY!r}]\n"
        "for method in record.methods.values():\n"
        "    check_method(record, method, record.example())\n"
    )
    run(house, "-c", shown[0] + each)


@pytest.mark.long
def test_types_of_the_page_hold(house: Path) -> None:
    """The code on the page is typed as strictly as the package's own."""
    pytest.importorskip("mypy")
    shutil.copy(ROOT / "pyproject.toml", house)
    run(house, "-m", "mypy", "--strict", "-p", f"dlsched.{FAMILY}", "-p", f"dlsched.testing.{FAMILY}")


def test_style_of_the_page_holds(house: Path) -> None:
    """The code on the page is written as the package's own."""
    shutil.copy(ROOT / "pyproject.toml", house)
    for command in (["check"], ["format", "--check"]):
        run(house, "-m", "ruff", *command, *FOLDER, OUTSIDE[1])


def test_a_family_is_one_folder_one_testing_file_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing else is touched but its page, models and instances; and the page says how much it is."""
    assert set(FILES) - set(FOLDER) - set(OUTSIDE) == {name for name in FILES if name.startswith(AROUND)}
    sizes = {name: lines_of_code(FILES[name]) for name in [*FOLDER, OUTSIDE[1]]}
    files, code, folder = len(sizes) + 1, sum(sizes.values()) + 1, sum(sizes[name] for name in FOLDER)
    with capsys.disabled():
        print(f"\n{FAMILY}: {files} files, {code} lines of code, {folder} of them in its folder; {sizes}")
    assert code <= MOST_LINES
    said = f"{files} files with {code} lines of code, of which {folder} are the folder's"
    assert said in (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
