"""The shipped clusters with parameter servers: what the command writes, and optima by brute force and three solvers."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended
from shipped import assert_pairs_proven_again, each_of, files

import dlsched
from dlsched.async_sgd.costs import cost_table
from dlsched.testing import brute_force_async


def test_all_optima_are_known() -> None:
    """No file states bounds only."""
    assert all(dlsched.read(path).known.optimum is not None for path in files("async_sgd"))


@each_of("async_sgd", "*seed*")
def test_generated_ones_are_what_the_command_writes(path: Path, cli: Callable[..., Ended]) -> None:
    """The command in ``source`` prints the file, ``known`` left out."""
    data = json.loads(path.read_text(encoding="utf-8"))
    del data["known"]
    program, *arguments = data["source"].splitlines()[0].split()
    assert program == "dlsched"
    assert cli(*arguments).json == data


@pytest.mark.parametrize(
    "path", [path for path in files("async_sgd") if "seed" not in path.stem], ids=lambda path: path.stem
)
def test_known_optimum_by_brute_force(path: Path) -> None:
    """Every allocation tried, with throughputs by convolution in fractions."""
    instance = dlsched.read(path)
    optimum, _ = brute_force_async(instance)
    assert optimum == pytest.approx(instance.known.optimum, rel=1e-12)


@pytest.mark.long
@each_of("async_sgd")
@pytest.mark.parametrize("solver", ["highs", "cbc", "scip"])
def test_known_optimum_by_another_code_base(path: Path, solver: str) -> None:
    """HiGHS proves stated optima, CBC and SCIP those of at most 10,000 pairs."""
    assert_pairs_proven_again(path, solver, cost_table)
