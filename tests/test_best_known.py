"""The index of the library follows from its files, is verified without a solver, and keeps only what is better."""

import gzip
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import best_known
import library
import pytest
from best_known import check_row, check_table
from shipped import ROOT

import dlsched
from dlsched import FAMILIES

ROWS = {row["instance"]: row for row in library.read_rows(ROOT / "index.csv")}
RUNS = library.read_rows(ROOT / "runs.csv")
EXAMPLE = "ring_allocation/two-jobs.json"
STATED = ("best", "bound", "sha256", "gap", "status", "load", "features", "split", "licence", "proof", "date")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A library of one instance, the example of two jobs, without its proof and with no runs."""
    (tmp_path / "ring_allocation").mkdir()
    shutil.copy(ROOT / EXAMPLE, tmp_path / EXAMPLE)
    return tmp_path


def findings(paths: list[Path], **how: Any) -> list[str]:
    """What is wrong with these rows."""
    found = []
    for path in paths:
        key = library.key_of(path)
        found += [f"{key}: {finding}" for finding in check_row(path, ROWS[key], RUNS, **how)]
    return found


def test_every_instance_has_a_row_and_every_result_an_instance() -> None:
    """Rows are sorted and complete, and nothing lies in ``best`` that belongs to none."""
    assert not list(check_table())


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_of_middle_classes_are_verified_without_a_solver(family: str) -> None:
    """Answers by the checker, bounds by certificates, gaps, and ``made_by`` to the byte."""
    assert not findings(sorted((ROOT / family / "middle").glob("*.json")))


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_of_other_instances_are_verified_without_a_solver(family: str) -> None:
    """The same of all others; their proofs are checked with each family."""
    assert not findings(sorted((ROOT / family).glob("*.json")), proofs=False)


def test_middle_classes_are_large_enough() -> None:
    """At least 20 instances a family, half of them hard or open but for knapsacks; 40 open ones in all; under 3 MB."""
    middle = {key: row for key, row in ROWS.items() if "/middle/" in key}
    counts = Counter((row["family"], row["status"]) for row in middle.values())
    for family in FAMILIES:
        easy, unproven = counts[family, "easy"], counts[family, "hard"] + counts[family, "open"]
        assert easy + unproven >= 20
        assert unproven >= easy or family == "ring_allocation"
    assert sum(row["status"] == "open" for row in ROWS.values()) >= 40
    added = [*ROOT.glob("*/middle/*"), *ROOT.glob("*/best/*"), ROOT / "index.csv", ROOT / "runs.csv"]
    assert sum(path.stat().st_size for path in added) < 3_000_000


def test_middle_classes_are_those_of_the_list() -> None:
    """The commands of middle.txt are what the files state, each once."""
    stated = [row["made_by"] for key, row in ROWS.items() if "/middle/" in key]
    assert sorted(stated) == sorted(best_known.read_commands())


def test_both_parts_of_the_split_are_used() -> None:
    """About a fifth of each family is for testing; names alone decide."""
    for family in FAMILIES:
        parts = Counter(row["split"] for row in ROWS.values() if row["family"] == family)
        assert 0.05 < parts["test"] / parts.total() < 0.4


def test_two_jobs_by_hand(small: Path) -> None:
    """The exact method proves it; a general solver makes it easy; heuristics change nothing, and nothing runs twice."""
    assert best_known.main(["--time-limit", "10"], small) == 0
    (row,) = library.read_rows(small / "index.csv")
    optimum = dlsched.read(ROOT / EXAMPLE).known.optimum
    assert (float(row["best"]), row["status"], row["found_by"], row["size"]) == (
        optimum,
        "hard",
        "exact",
        "jobs=2;gpus=6",
    )
    stored = (small / "ring_allocation/best/two-jobs.result.json.gz").read_bytes()
    assert best_known.main(["--classify", "--time-limit", "10"], small) == 0
    (row,) = library.read_rows(small / "index.csv")
    assert (row["status"], dict(part.split("=") for part in row["features"].split(";"))["tried_s"]) == ("easy", "0")
    best_known.attempt(small / EXAMPLE, ("doubling", ""), 10, small)
    assert (small / "ring_allocation/best/two-jobs.result.json.gz").read_bytes() == stored
    runs = library.read_rows(small / "runs.csv")
    assert [(run["method"], run["solver"], run["status"]) for run in runs] == [
        *(("doubling", "", "feasible"), ("exact", "", "optimal"), ("milp", "highs", "optimal"))
    ]
    assert best_known.main(["--classify", "--time-limit", "10"], small) == 0
    assert library.read_rows(small / "runs.csv") == runs
    assert best_known.main(["--check"], small) == 0


def test_a_better_answer_replaces_and_a_stronger_bound_stands_beside(small: Path) -> None:
    """Fixed shares, then a bound alone, then the optimum with both."""
    path, folder = small / EXAMPLE, small / "ring_allocation" / "best"
    first = best_known.attempt(path, ("fixed", ""), 10, small)
    assert not first["bound"]
    assert not (folder / "two-jobs.bound.json.gz").exists()
    best_known.attempt(path, ("lagrange", ""), 10, small)
    assert library.read_claim(folder / "two-jobs.bound.json.gz").method == "lagrange"
    assert library.read_claim(folder / "two-jobs.result.json.gz").method == "fixed"
    best_known.attempt(path, ("exact", ""), 10, small)
    assert library.read_claim(folder / "two-jobs.result.json.gz").method == "exact"
    assert not (folder / "two-jobs.bound.json.gz").exists()


@pytest.mark.parametrize("column", STATED)
def test_a_row_that_is_changed_is_found(column: str) -> None:
    """Whatever a row states falsely is among the findings, by its name."""
    row = ROWS[EXAMPLE]
    changed = row | {column: "1.0" if row[column] != "1.0" else "2.0"}
    found = list(check_row(ROOT / EXAMPLE, changed, RUNS, proofs=False))
    assert any(finding.startswith(f"{column}: ") for finding in found)


def test_a_false_answer_is_found(small: Path) -> None:
    """A stored result whose objective is not the checker's, and a row that was made from it."""
    best_known.main(["--time-limit", "10"], small)
    file = small / "ring_allocation/best/two-jobs.result.json.gz"
    data = json.loads(gzip.decompress(file.read_bytes()))
    data |= {"objective": data["objective"] - 1, "bound": data["bound"] - 1, "certificate": None, "gap": 0.0}
    file.write_bytes(gzip.compress(json.dumps(data).encode(), mtime=0))
    best_known.rebuild(small)
    assert best_known.main(["--check"], small) == 7


def test_a_command_that_draws_something_else_is_found(tmp_path: Path) -> None:
    """The bytes of a middle instance are those that its command makes; unknown commands are refused."""
    key = "ring_embedding/middle/small-8x6x8-seed1.json"
    other = ROWS[key] | {"made_by": ROWS[key]["made_by"].replace("--seed 1", "--seed 2")}
    assert list(best_known.check_source(ROOT / key, ROWS[key])) == []
    assert list(best_known.check_source(ROOT / key, other)) == ["made_by: makes other bytes"]
    with pytest.raises(ValueError, match="allowed: dlsched generate"):
        library.draw("echo")


def test_the_command_line_draws_the_same(tmp_path: Path, cli: Any) -> None:
    """``dlsched generate -o`` writes the bytes of the library."""
    key = "matching_placement/middle/many-types-20x60-seed3-alpha_fair-2.json"
    command = ROWS[key]["made_by"].split()[1:]
    assert cli(*command, "-o", str(tmp_path / "again.json")).code == 0
    assert (tmp_path / "again.json").read_bytes() == (ROOT / key).read_bytes()


def test_drawing_writes_what_is_missing(tmp_path: Path) -> None:
    """A command is run once; what is there stays."""
    commands = [best_known.read_commands()[0]]
    (path,) = best_known.draw_all(tmp_path, commands)
    assert path.read_bytes() == (ROOT / path.relative_to(tmp_path)).read_bytes()
    assert best_known.draw_all(tmp_path, commands) == []
