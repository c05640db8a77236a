"""What shells complete, and that the names that stand still are those of the records."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dlsched import names
from dlsched.catalogue.solvers import SOLVERS
from dlsched.families import FAMILIES
from dlsched.traces import SOURCES


def test_names_are_those_of_the_records() -> None:
    """Every family's methods and aliases, presets, formulations; sources and solvers; in their order."""
    assert tuple(record.name for record in FAMILIES.values()) == names.FAMILIES
    for family, record in FAMILIES.items():
        assert names.methods(family) == (*record.methods, *record.aliases), f"{family}: methods in names.py"
        assert names.presets(family) == tuple(record.presets)
        assert names.formulations(family) == tuple(record.formulations)
        assert names.options(family) == record.options
    assert (tuple(SOLVERS), tuple(SOURCES)) == (names.SOLVERS, names.SOURCES)


def test_a_family_that_is_not_in_the_tables_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new family is a name in FAMILIES: what the tables do not say, its record does."""
    record = FAMILIES["async_sgd"]
    for table in ("_METHODS", "_PRESETS", "_FORMULATIONS", "_OPTIONS"):
        monkeypatch.delitem(getattr(names, table), "async_sgd")
    assert names.methods("async_sgd") == (*record.methods, *record.aliases)
    assert names.presets("async_sgd") == tuple(record.presets)
    assert names.formulations("async_sgd") == tuple(record.formulations)
    assert names.options("async_sgd") == record.options


def completed(line: str) -> list[str]:
    """What bash is offered for the last word."""
    environment = {"_DLSCHED_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = subprocess.run(
        [sys.executable, "-m", "dlsched"], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("sol", ["solve"]),
        ("generate srpt", ["srpt_mapping"]),
        ("generate srpt_mapping --preset da", ["data-parallel"]),
        ("solve {file} --method d", ["dp", "doubling"]),
        ("compare {file} --methods exact,dp,d", ["exact,dp,doubling"]),
        ("solve {file} --method doubling --solver c", ["cbc", "cpsat"]),
        ("solve {file} --cross-check g", ["gurobi"]),
        ("import tir", ["tiresias"]),
        ("import slurm x --slices w", ["whole"]),
        ("advise slurm x --slices l", ["leave-out"]),
        ("whatif x --slices w", ["whole"]),
        ("export {file} --formulation m", ["milp"]),
    ],
)
def test_words_are_completed(words: str, offered: list[str], example: Path, monkeypatch: Any) -> None:
    """Those of the file's family where the line names a file."""
    monkeypatch.chdir(example.parent)
    assert completed("dlsched " + words.format(file=example.name)) == offered


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
    assert found & {*names.FAMILIES} == families
    assert families or not found & {"numpy", "cluster", "algorithms"}
