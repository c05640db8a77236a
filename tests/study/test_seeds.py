"""Seeds that no column of 64 bits holds: the same instances and answers as without a study, kept and read back."""

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended

import dlsched
from dlsched import UsageError, ring_allocation, srpt_mapping, study
from dlsched.study.leader import StudyProgress
from dlsched.study.store.store import Store

LAST = 2**63 - 1  # that SQLite holds in a column
PLAN = f"""
format = "dlsched/study/1"
seed = {2**64}
[[instances]]
family = "srpt_mapping"
jobs = 3
seeds = "{LAST}:{LAST + 3}"
[[instances]]
family = "ring_allocation"
python = "mine.py:draw"
seeds = [{10**100}]
[[instances]]
family = "ring_allocation"
worst = "doubling"
jobs = 2
gpus = 4
budget = 5
seeds = {2**70}
[[methods]]
name = "annealing"
family = "srpt_mapping"
seed = {2**65}
[[methods]]
name = "mine"
python = "mine.py:share"
family = "ring_allocation"
"""
MINE = """
import random
from dlsched import ring_allocation

def draw(seed=0):
    assert seed == 10**100
    return ring_allocation.generate(jobs=3, gpus=8, seed=seed)

def share(instance, seed):
    assert seed == 2**64
    return {"gpus": {job.id: 1 for job in instance.jobs}}
"""


def test_seeds_beyond_64_bits(tmp_path: Path, cli: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a plan, of instances, of a method, of a function and of a search: run, read back, exported, and not run again."""
    monkeypatch.chdir(tmp_path)
    Path("p.toml").write_text(PLAN, encoding="utf-8")
    Path("mine.py").write_text(MINE, encoding="utf-8")
    assert cli("study", "plan", "p.toml").code == 0
    assert cli("study", "run", "p.toml", "--workers", "1").code == 0
    with study.open("p.study.sqlite") as done:
        rows = done.rows()
        made_by = [done.made_by(row.key)[2] for row in rows]
        instances = [done.instance(row.key) for row in rows[:4]]
    assert [row.seed for row in rows] == [LAST, LAST + 1, LAST + 2, 10**100, 2**70]
    assert [row.objective is not None for row in rows] == [True] * 5, [row.message for row in rows]
    assert made_by == [2**65, 2**65, 2**65, 2**64, 2**64]
    for row, instance in zip(rows[:3], instances, strict=False):
        assert instance == srpt_mapping.generate(jobs=3, seed=row.seed or 0)
        assert row.objective == dlsched.solve(instance, method="annealing", seed=2**65).objective
    assert instances[3] == ring_allocation.generate(jobs=3, gpus=8, seed=10**100)
    assert [row["seed"] for row in cli("study", "export", "p.study.sqlite", "--format", "json").json] == [
        row.seed for row in rows
    ]
    told: list[StudyProgress] = []
    with study.run("p.toml", workers=1, progress=told.append) as again:
        assert again.rows() == rows
    assert told == [StudyProgress(5, 5, 0)]


def test_seeds_within_64_bits_are_kept_as_numbers(tmp_path: Path, here: None) -> None:
    """As in every store before: 2^63 - 1 is the last, beyond it stands a text."""
    plan = study.make_plan(
        instances={"family": "ring_allocation", "jobs": 2, "seeds": [LAST, LAST + 1]}, methods=["doubling"]
    )
    with study.run(plan, tmp_path / "s", workers=1) as done:
        assert [row.seed for row in done.rows()] == [LAST, LAST + 1]
    with Store(tmp_path / "s") as store:
        found = store.each("SELECT seed, typeof(seed) FROM instance ORDER BY id")
        assert [tuple(row) for row in found] == [
            (LAST, "integer"),
            ("0x8000000000000000", "text"),
        ]


def test_integers_that_no_file_holds() -> None:
    """Python writes 4,300 digits."""
    with pytest.raises(UsageError, match="found an integer of thousands of digits, allowed in a plan: integers that"):
        study.make_plan(instances={"family": "ring_allocation"}, methods=["doubling"], seed=10**5000)


@pytest.mark.parametrize("family", dlsched.FAMILIES)
def test_generators_take_any_seed(family: str) -> None:
    """Another instance than of the seed without its high bits."""
    generate = dlsched.FAMILIES[family].generate
    assert generate(jobs=3, seed=2**64 + 5) == generate(jobs=3, seed=2**64 + 5)
    assert generate(jobs=3, seed=2**64 + 5).as_data()["jobs"] != generate(jobs=3, seed=5).as_data()["jobs"]
