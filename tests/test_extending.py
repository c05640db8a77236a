"""What docs/extending.md adds, put into a copy of the package: counted, run, and held to what is there."""

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_docs import DOCS, blocks, run_console

import dlsched

ROOT = Path(__file__).parents[1]
PACKAGE = Path(dlsched.__file__).parent
PAGE = "extending.md"


def section(title):
    """Blocks of a section of the page."""
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    begin = text.index(f"\n## {title}\n")
    end = text.find("\n## ", begin + 1)
    first, last = text.count("\n", 0, begin), text.count("\n", 0, end) if end >= 0 else text.count("\n")
    return [block for block in blocks(PAGE) if first < block.line <= last]


def added(folder, title):
    """Add what a section shows to a copy of the package and its pages; return the files of dlsched that it touched.

    An empty line of a diff stands for an empty line of the file.
    """
    shutil.copytree(PACKAGE, folder / "dlsched", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(DOCS, folder / "docs", ignore=shutil.ignore_patterns("_*"))
    touched = set()
    for block in section(title):
        if block.file is None:
            continue
        path = folder / block.file
        if block.language == "diff":
            lines = block.text.splitlines()
            before, after = ("".join(f"{line[1:]}\n" for line in lines if line[:1] in ("", " ", sign)) for sign in "-+")
            text = path.read_text(encoding="utf-8")
            found = text.count(before)
            assert found == 1, (
                f"docs/{PAGE}, line {block.line}: the lines that the diff shows stand {found} times in {block.file}, not once. "
                f"Where a change of that file moved them, have the diff show lines of today:\n{before}"
            )
            path.write_text(text.replace(before, after), encoding="utf-8")
        else:
            assert not path.exists()
            path.write_text(block.text, encoding="utf-8")
        if block.file.startswith(("dlsched/", "docs/")):
            touched.add(block.file)
    return touched


def run(folder, *arguments, cwd):
    """Exit code and output of Python with the copy."""
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def follow(tmp_path, monkeypatch):
    """Add a section to a copy, whose files it touches are few and pass Ruff; its commands show what the page says."""

    def call(title, most):
        touched = added(tmp_path, title)
        assert len(touched) <= most, touched
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "")
        monkeypatch.setattr("test_docs.run_command", lambda command, folder, cli: in_bash(command, folder))
        for block in section(title):
            if block.language == "console":
                run_console(block.text, tmp_path, f"docs/{PAGE}, line {block.line}", None)
        shutil.copy(ROOT / "pyproject.toml", tmp_path)
        sources = [file for file in touched if file.endswith(".py")]
        for command in (["check"], ["format", "--check"]):
            code, said = run(tmp_path, "-m", "ruff", *command, *sources, cwd=tmp_path)
            assert code == 0, said

    return call


@pytest.mark.parametrize(
    ("title", "names", "tests", "chosen"),
    [
        ("Adding a heuristic", "elastic_stream longest", "test_contract.py", "elastic_stream and longest"),
        ("Adding a trace", "ledger", "traces/readers/test_damage.py", "ledger"),
    ],
)
def test_three_files_add_it_everywhere(title, names, tests, chosen, tmp_path, follow):
    """The page's commands show what it says, shells complete the name, and the tests of all hold it."""
    follow(title, 3)
    name = names.split()[-1]
    catalogue = (
        "from dlsched.catalogue import families, sources; print(families.methods('elastic_stream'), sources.QUEUES)"
    )
    assert f"'{name}'" in run(tmp_path, "-c", catalogue, cwd=tmp_path)[1]
    code, said = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, tests, cwd=ROOT / "tests")
    assert code == 0 and " passed" in said and "skipped" not in said, said


def test_two_files_add_a_column(tmp_path, follow):
    """It is in the exports of a study and in its reports, which says what the other columns make of it."""
    follow("Adding a column", 2)
    rows = list(csv.DictReader((tmp_path / "lost.csv").read_text(encoding="utf-8").splitlines()))
    assert list(rows[0])[-1] == "loss_percent" and len(rows) == 4
    assert all(float(row["loss_percent"]) == pytest.approx(100 * (float(row["ratio"]) - 1)) for row in rows)
    worst = max(float(row["loss_percent"]) for row in rows if row["method"] == "equal")
    assert worst > 0
    page = (tmp_path / "lost.html").read_text(encoding="utf-8")
    assert "loss, %" in page and f"{worst:.3g}" in page
    said = (tmp_path / "lost.md").read_text(encoding="utf-8")
    head = next(line for line in said.splitlines() if " loss, % |" in line)
    assert " ratio |" in head and f"| {worst:.3g} |" in said


def in_bash(command, folder):
    """Exit code and all that a command prints, with ``dlsched`` the copy's."""
    words = command.replace("dlsched ", f"{sys.executable} -m dlsched ", 1)
    done = subprocess.run(
        ["bash", "-c", words], cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.long
def test_four_files_add_a_utility_everywhere(tmp_path, follow):
    """A preset draws it, exact methods find what brute force finds, heuristics no more, certificates verify, and shells know."""
    follow("Adding a utility", 4)
    held = (
        "import dlsched; from dlsched.testing.ring_embedding import brute_force_ring\n"
        "instance = dlsched.read('rings.json')\n"
        "assert {job.utility.kind for job in instance.jobs} == {'saturating'}\n"
        "best, (optimum, _) = dlsched.read_result('best.json', instance), brute_force_ring(instance)\n"
        "found = dlsched.read_result('dense.json', instance)\n"
        "print(abs(best.objective - optimum) <= 1e-9 * optimum, found.objective <= optimum * (1 + 1e-12), \n"
        "    best.certificate.value >= optimum * (1 - 1e-12), *dlsched.verify(instance, best).failures)"
    )
    code, said = run(tmp_path, "-c", held, cwd=tmp_path)
    assert (code, said.split()) == (0, ["True"] * 3), said
    listed = "from dlsched.catalogue import families; print(families.presets('ring_embedding'))"
    assert "'paper-saturating'" in run(tmp_path, "-c", listed, cwd=tmp_path)[1]
    tests = ["cluster/test_utility.py", "ring_embedding/test_instance.py", "ring_embedding/test_generator.py"]
    chosen = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "saturating", *tests]
    code, said = run(tmp_path, *chosen, cwd=ROOT / "tests")
    assert code == 0 and " passed" in said and "skipped" not in said, said
