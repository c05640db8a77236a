"""``dlsched bound``: the best bound without solving, with its certificate."""

from pathlib import Path
from typing import Any

import pytest


def test_the_bound_is_a_result_without_a_solution(cli: Any, example: Path) -> None:
    """By hand the bound of the best price is the optimum here: the chosen counts are on the jobs' hulls."""
    ended = cli("bound", example, "--json")
    assert (ended.code, ended.err) == (0, "")
    result = ended.json
    assert (result["objective"], result["solution"], result["gap"]) == (None, None, None)
    assert result["status"] == "feasible"
    assert result["bound"] == pytest.approx(927118.96)
    assert result["bound"] <= 927118.96
    assert result["bound_source"] == "certificate"
    assert (result["certificate"]["kind"], result["certificate"]["value"]) == ("price", result["bound"])


def test_the_bound_is_strictly_below_where_the_relaxation_is(cli: Any, save: Any) -> None:
    """100, 90, 10 s on 1, 2, 3 GPUs, of which there are 2: the line from 100 to 10 passes 55 (price 45)."""
    job = {"id": "a", "epochs": 1, "epoch_time_s": {"1": 100.0, "2": 90.0, "3": 10.0}}
    path = save({"format": "dlsched/ring_allocation/1", "name": "stall", "gpus": 2, "jobs": [job]})
    result = cli("bound", path, "--json").json
    assert result["bound"] == pytest.approx(55.0)
    assert result["certificate"]["price"] == pytest.approx(45.0)


def test_the_checker_verifies_it(cli: Any, example: Path, save: Any) -> None:
    """What ``bound --json`` prints passes ``check``."""
    result = save(cli("bound", example, "--json").out, "bound.json")
    ended = cli("check", example, result)
    assert ended.code == 0
    assert ended.out.startswith("verified: ")


def test_people_read_the_bound_and_who_proves_it(cli: Any, example: Path) -> None:
    """A summary of a few lines."""
    out = cli("bound", example).out
    assert "927,118.96" in out
    assert "certificate" in out
