"""A solver from nothing: Gurobi taken out of a copy of the package, put back from docs/extending.md, held to the contract."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from solver_contract import CLAUSES
from test_docs import DOCS, blocks

import dlsched
from dlsched import FAMILIES
from dlsched.catalogue.solvers import SOLVERS

ROOT = Path(__file__).parents[1]
PACKAGE = Path(dlsched.__file__).parent
PAGE = "extending.md"
CODE = "dlsched/solvers/gurobi.py"
NEXT = (DOCS / PAGE).read_text(encoding="utf-8").split("\n## Adding a heuristic")[0].count("\n")
DIFFS = {block.file: block.text for block in blocks(PAGE) if block.language == "diff" and block.line <= NEXT}
EXAMPLE = "instances/ring_allocation/two-jobs.json"


def hunks(file):
    """Pairs of what a file holds without the solver and with it, by the page."""
    for text in DIFFS[file].split("@@\n"):
        lines = text.splitlines()
        before, after = ([line[1:] for line in lines if line[:1] in (" ", sign)] for sign in "-+")
        yield "\n".join(before) + "\n", "\n".join(after) + "\n"


def change(house, *, adding):
    """Put the solver into a copy, or take it out; return the files that were touched."""
    for file in DIFFS:
        text = (house / file).read_text(encoding="utf-8")
        for before, after in hunks(file):
            old, new = (before, after) if adding else (after, before)
            assert text.count(old) == 1, f"{PAGE}, {file}: {old}"
            text = text.replace(old, new)
        (house / file).write_text(text, encoding="utf-8")
    if adding:
        shutil.copy(DOCS / included(), house / CODE)
    else:
        (house / CODE).unlink()
    return {*DIFFS, CODE}


def included():
    """The file that the page shows as it is."""
    (path,) = re.findall(r"^```\{literalinclude\} (\S+)$", (DOCS / PAGE).read_text(encoding="utf-8"), re.MULTILINE)
    return path


def contents(house):
    """Every file of a copy."""
    files = [path for path in house.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(house)): path.read_bytes() for path in files}


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the package without Gurobi."""
    folder = tmp_path_factory.mktemp("house")
    shutil.copytree(PACKAGE, folder / "dlsched", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    change(folder, adding=False)
    return folder


def run(house, *arguments):
    """Exit code and output of Python in the copy."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT / "tests",
        env=os.environ | {"PYTHONPATH": str(house), "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def solvers_of(house):
    """The solvers of every method, by ``dlsched methods``."""
    code, said = run(house, "-m", "dlsched", "methods", "--json")
    assert code == 0, said
    return {(entry["family"], entry["name"]): (entry["needs"] or "").split(" or ") for entry in json.loads(said)}


def test_without_its_three_files_nothing_names_the_solver(house):
    """And the package works: it refuses what it does not know, and what it knows solves."""
    named = [name for name, text in contents(house).items() if b"gurobi" in text.lower()]
    assert named == []
    assert not any("gurobi" in names for names in solvers_of(house).values())
    code, said = run(house, "-m", "dlsched", "solve", ROOT / EXAMPLE, "--method", "milp", "--solver", "gurobi")
    assert (code, said.count("\n")) == (2, 1) and said.endswith("allowed: highs, cbc, scip, cpsat\n")
    code, said = run(house, "-m", "dlsched", "solve", ROOT / EXAMPLE, "--method", "milp", "--solver", "cbc")
    assert code == 0, said


@pytest.mark.long
def test_three_files_add_it_everywhere(house, tmp_path):
    """Methods of all six families, help, completion, doctor, a result that its check believes, and the whole contract."""
    without, before = contents(house), solvers_of(house)
    added = tmp_path / "house"
    shutil.copytree(house, added)
    touched = change(added, adding=True)
    now = contents(added)
    assert {name for name in now if now[name] != without.get(name)} == touched and len(touched) == 3
    assert all(now[name] == (ROOT / name).read_bytes() for name in touched)
    after = solvers_of(added)
    more = {method for method in after if after[method] != before[method]}
    assert {family for family, _ in more} == set(FAMILIES)
    assert all(after[method] == [*before[method], "gurobi"] for method in more)
    assert "highs, cbc, scip, cpsat or gurobi." in run(added, "-m", "dlsched", "solve", "--help")[1]
    code, said = run(added, "-c", "from dlsched.cli.completion import solvers; print(solvers('g'))")
    assert (code, said) == (0, "['gurobi']\n")
    code, said = run(added, "-m", "dlsched", "doctor", "--json")
    assert code == 0 and {row["solver"]: row["works"] for row in json.loads(said)}["gurobi"]
    file, result = str(ROOT / EXAMPLE), str(tmp_path / "result.json")
    code, said = run(added, "-m", "dlsched", "solve", file, "--method", "milp", "--solver", "gurobi", "-o", result)
    assert code == 0, said
    code, said = run(added, "-m", "dlsched", "check", file, result)
    assert code == 0 and "Gurobi 13" in said, said
    contract = (
        f"import sys; sys.path.append({str(ROOT / 'tests')!r}); import dlsched; from solver_contract import *\n"
        "for clause in CLAUSES: hold_solver_to_contract('gurobi', clause)\n"
        "print(len(CLAUSES), dlsched.__file__)"
    )
    code, said = run(added, "-c", contract)
    assert (code, said) == (0, f"{len(CLAUSES)} {added / 'dlsched' / '__init__.py'}\n")


def test_the_table_of_solvers_is_that_of_the_records():
    """Row by row, in their order; the page says of all that they take no seed."""
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| (.*) \|$", (DOCS / PAGE).read_text(encoding="utf-8"), re.MULTILINE)
    said = [(name, package, *rest.split(" | ")) for name, package, rest in rows]
    flags = ("takes_start", "takes_threads", "tells_incumbents", "tells_bounds")
    assert said == [
        (
            each.name,
            each.package,
            ", ".join(each.models),
            *("yes" if getattr(each, f) else "no" for f in flags),
            each.node,
        )
        for each in SOLVERS.values()
    ]
    assert not any(each.takes_seed for each in SOLVERS.values())


def test_the_page_counts_the_clauses():
    """In words."""
    assert len(CLAUSES) == 19 and "It has nineteen clauses" in (DOCS / PAGE).read_text(encoding="utf-8")
