"""What shells complete, and that the names that stand still are those of the records."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dlsched.catalogue import families as listed
from dlsched.families import FAMILIES


def test_what_is_listed_is_what_the_records_hold() -> None:
    """Of a family of dlsched's own, without importing it; in the order of the record."""
    for family, record in FAMILIES.items():
        assert listed.methods(family) == (*record.methods, *record.aliases)
        assert listed.presets(family) == tuple(record.presets)
        assert listed.formulations(family) == tuple(record.formulations)
        assert listed.options(family) == record.options


def test_of_a_family_that_is_not_listed_its_record_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new family needs no module in the catalogue."""
    record = FAMILIES["async_sgd"]
    monkeypatch.setattr(listed, "_listed", lambda family: None)
    assert listed.methods("async_sgd") == (*record.methods, *record.aliases)
    assert listed.presets("async_sgd") == tuple(record.presets)
    assert listed.formulations("async_sgd") == tuple(record.formulations)
    assert listed.options("async_sgd") == record.options


def asked(line: str) -> dict[str, str]:
    """The environment in which bash asks what the last word may become."""
    return {"_DLSCHED_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}


def test_the_program_completes() -> None:
    """As a process of its own, as bash runs it."""
    program, environment = [sys.executable, "-m", "dlsched"], os.environ | asked("dlsched sol")
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (["solve"], "")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("generate srpt", ["srpt_mapping"]),
        ("generate srpt_mapping --preset da", ["data-parallel"]),
        ("solve {file} --method d", ["dp", "doubling"]),
        ("compare {file} --methods exact,dp,d", ["exact,dp,doubling"]),
        ("solve {file} --method doubling --solver c", ["cbc", "cpsat"]),
        ("solve {file} --cross-check g", ["gurobi"]),
        ("import x --source tir", ["tiresias"]),
        ("import x --source slurm --slices w", ["whole"]),
        ("advise x --source slurm --slices l", ["leave-out"]),
        ("whatif x --slices w", ["whole"]),
        ("export {file} --formulation m", ["milp"]),
        ("prove {file} --formulation m", ["milp"]),
    ],
)
def test_words_are_completed(words: str, offered: list[str], example: Path, monkeypatch: Any, cli: Any) -> None:
    """Those of the file's family where the line names a file."""
    monkeypatch.chdir(example.parent)
    for name, value in asked("dlsched " + words.format(file=example.name)).items():
        monkeypatch.setenv(name, value)
    ended = cli()
    assert (ended.code, ended.out.split(), ended.err) == (0, offered, "")


LOADED = """
import sys
from dlsched.cli import run
code = run(sys.argv[1:])
rooms = {name.split(".")[1] for name in sys.modules if name.startswith("dlsched.")}
print("LOADED", code, sorted(rooms | {name for name in sys.modules if "." not in name}))
"""


@pytest.mark.parametrize(
    "words", ["--help", "solve --help", "--version", "solve {file}", "generate elastic_stream --jobs 2"]
)
def test_what_is_not_needed_is_not_imported(words: str, example: Path) -> None:
    """Help needs neither numbers nor a family, a command its own family alone, and never a solver, a trace or a plot."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words.format(file=example).split()], capture_output=True, text=True, check=True
    )
    code, modules = done.stdout.splitlines()[-1].removeprefix("LOADED ").split(" ", 1)
    found = set(json.loads(modules.replace("'", '"')))
    assert code == "0"
    assert not found & {
        "scipy",
        "networkx",
        "pulp",
        "pyomo",
        "ortools",
        "rich",
        "pandas",
        "matplotlib",
        "plots",
        "traces",
    }
    families = {"solve {file}": {"ring_allocation"}, "generate elastic_stream --jobs 2": {"elastic_stream"}}.get(
        words, set()
    )
    assert found & {*listed.FAMILIES} == families
    assert families or not found & {"numpy", "cluster", "algorithms"}
