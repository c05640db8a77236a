"""The sizes of plans: counted without making instances, and refused beyond the limit before any is drawn."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from conftest import Ended

from dlsched import FAMILIES, UsageError
from dlsched.study import leader, trial
from dlsched.study.cells.cell import cells_of
from dlsched.study.plans.counting import MOST_CELLS, count, kinds_of
from dlsched.study.plans.plan_file import make_plan, read_plan
from dlsched.study.plans.sources import recipes

RINGS = {"family": "ring_allocation"}
HEAD = 'format = "dlsched/study/1"\n[[methods]]\nname = "doubling"\n[[instances]]\nfamily = "ring_allocation"\n'


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let generators, and processes for cells, fail the test."""

    def fail(*arguments: object, **named: object) -> None:
        raise AssertionError("an instance was drawn")

    for family in FAMILIES.values():
        monkeypatch.setitem(family.__dict__, "generate", wraps(family.generate)(lambda *_, **__: fail()))
    monkeypatch.setattr(trial.local, "run", fail)
    monkeypatch.setattr(leader.local, "run", fail)


@pytest.mark.parametrize("command", ["plan", "run"])
@pytest.mark.parametrize(
    ("grid", "cells"),
    [
        (f"jobs = {list(range(1, 1001))}\ngpus = {list(range(1, 1001))}\nseeds = '0:1000000'\n", 10**12),
        (
            "jobs = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\nseeds = '0:1000000'\n[[instances]]\nfamily = 'ring_allocation'\njobs = 11\n",
            10**7 + 1,
        ),
        (
            f"jobs = {list(range(1, 101))}\nseeds = '0:99999'\n[[instances]]\nfamily = 'ring_allocation'\n"
            f"jobs = {list(range(100, 202))}\nseeds = '99998:100000'\n",
            # the second has 102 x 2, of which job 100 with seed 99998 is in the first: 9,999,900 + 203
            10_000_103,
        ),
    ],
)
@pytest.mark.usefixtures("undrawn")
def test_more_cells_than_the_limit(
    command: str, grid: str, cells: int, cli: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Are refused with their number and the limit, and no store is made."""
    monkeypatch.chdir(tmp_path)
    Path("big.toml").write_text(HEAD + grid, encoding="utf-8")
    ended = cli("study", command, "big.toml")
    instances = f"{cells:,}"
    assert (ended.code, ended.out) == (2, "")
    assert ended.line == (
        f"dlsched: big.toml: found {cells:,} cells of {instances} instances, allowed: at most 10,000,000 cells in a study"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["big.toml"]


def test_as_many_cells_as_the_limit(tmp_path: Path) -> None:
    """Two methods on 5,000,000 instances, one of them named twice by grids that overlap; one seed more is too many."""
    (tmp_path / "p.toml").write_text(
        HEAD.replace('"doubling"', '"doubling"\n[[methods]]\nname = "equal"')
        + "jobs = [3, 4, 5, 6, 7]\nseeds = '0:1000000'\n[[instances]]\nfamily = 'ring_allocation'\njobs = 7\nseeds = 999999\n",
        encoding="utf-8",
    )
    plan = read_plan(tmp_path / "p.toml")
    assert count(plan) == (5_000_000, MOST_CELLS)
    assert [(part.kind, part.instances) for part in kinds_of(plan)] == [
        (("ring_allocation", "mixed", "generate"), 5_000_000),
        (("ring_allocation", "mixed", "generate"), 0),
    ]
    text = (tmp_path / "p.toml").read_text().replace("seeds = 999999", "seeds = [999999, 1000000]")
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(UsageError, match=r"found 10,000,002 cells of 5,000,001 instances, allowed: at most 10,000,000"):
        read_plan(tmp_path / "p.toml")


def test_the_count_is_that_of_what_is_made(tmp_path: Path) -> None:
    """Of grids that overlap, of two families, a function, a search and a file: by kinds and in all."""
    (tmp_path / "mine.py").write_text(
        "from dlsched import ring_allocation\n\n\ndef draw(seed=0, mood='calm'):\n"
        "    return ring_allocation.generate(jobs=2, seed=seed)\n"
    )
    function = {"python": "mine.py:draw", **RINGS}
    sources: list[dict[str, Any]] = [
        {**RINGS, "jobs": [2, 3], "preset": ["mixed", "table"], "seeds": "0:5"},
        {**RINGS, "jobs": [3, 4], "preset": ["table", "mixed"], "seeds": [4, 9]},
        {"family": ["ring_allocation", "async_sgd"], "jobs": 3, "seeds": 9},
        {**function, "mood": ["calm", "grim"], "seeds": "0:3"},
        {**function, "mood": ["grim", "odd"], "seeds": "2:4"},
        {**RINGS, "worst": "doubling", "jobs": 2, "gpus": 4, "budget": [10, 20], "seeds": [1, 2]},
    ]
    plan = make_plan(instances=sources, methods=["exact", {"name": "doubling", **RINGS}], folder=tmp_path)
    made = list(recipes(plan))
    assert count(plan) == (len(made), len(list(cells_of(plan, made))))
    # 20, of the second 8 less the two with job 3 and seed 4; the third less job 3, mixed, seed 9; 6; 4 less grim 2; 4
    assert len(made) == 20 + 6 + 1 + 6 + 3 + 4
    found: dict[Any, int] = {}
    for recipe in made:
        found[recipe.family, recipe.preset, recipe.source] = (
            found.get((recipe.family, recipe.preset, recipe.source), 0) + 1
        )
    counted: dict[Any, int] = {}
    for part in kinds_of(plan):
        counted[part.kind] = counted.get(part.kind, 0) + part.instances
    assert counted == found


@pytest.mark.usefixtures("undrawn")
def test_an_instance_of_vast_size_is_planned_and_not_tried(
    cli: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred million jobs: what it is is said at once."""
    monkeypatch.chdir(tmp_path)
    Path("jobs.toml").write_text(HEAD + "jobs = 100000000\n", encoding="utf-8")
    monkeypatch.setattr(trial.local, "run", lambda cells, *_: (each for each in list(cells)))
    ended = cli("study", "plan", "jobs.toml")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("jobs: 1 cell, 1 instance, 1 method\n")
    assert "Instances of more than 100,000 jobs are not tried; one has 100,000,000.\n" in ended.out
    assert "No estimate: no cell was tried." in ended.out


def test_a_cell_that_takes_long_ends_the_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not its own limit, which may be hours: what it took so far is the least that it takes."""
    plan = make_plan(instances={**RINGS, "jobs": 2, "seeds": "0:9"}, methods=["doubling"], limits={"time_s": 600})
    monkeypatch.setattr(trial, "PATIENCE_S", 0.001)
    found = trial.try_out(plan)
    assert (found.tried, found.complete, found.cells) == (0, False, 9)
    assert found.seconds is not None and 0 <= found.seconds <= 9 * 0.001


def test_a_trial_runs_no_code_of_the_plan(tmp_path: Path) -> None:
    """Neither a method nor a function that draws; dlsched's own methods on its own instances are tried."""
    touches = "    (pathlib.Path(__file__).parent / 'ran').touch()\n"
    text = (
        f"import pathlib\n\ndef method(instance):\n{touches}\ndef draw(*, seed):\n{touches}    return ring.example()\n"
    )
    (tmp_path / "mine.py").write_text("from dlsched import ring_allocation as ring\n" + text)
    plan = make_plan(
        instances=[{**RINGS, "jobs": 2}, {"family": "ring_allocation", "python": "mine.py:draw", "seeds": "0:3"}],
        methods=["doubling", {"python": "mine.py:method"}, {"command": ["touch", "ran"]}],
        folder=tmp_path,
    )
    (tmp_path / "ran").unlink()  # the plan was made of the first instance that the function draws
    found = trial.try_out(plan)
    assert (found.cells, found.tried, found.complete) == (12, 1, False)
    assert not (tmp_path / "ran").exists()


def test_lists_of_python_that_are_too_long() -> None:
    """A range is not made a list of; one of seeds is held as it is."""
    with pytest.raises(
        UsageError, match=r"found a list of 1,000,000,000 values, allowed in a plan: at most 10,000,000"
    ):
        make_plan(instances={**RINGS, "jobs": range(1, 10**9 + 1)}, methods=["doubling"])
    assert count(make_plan(instances={**RINGS, "seeds": range(10**6)}, methods=["doubling"])) == (10**6, 10**6)


def test_grids_of_traces(tmp_path: Path) -> None:
    """Of which each is an instance at least; none is read before they are counted."""
    values = list(range(1, 4001))
    with pytest.raises(
        UsageError, match=r"^the plan: found 16,000,000 cells of as many traces at least, allowed: at most"
    ):
        make_plan(
            instances={"import": "philly", "file": "none.csv", "gpus": values, "max_gpus": values},
            methods=["equal"],
            folder=tmp_path,
        )
