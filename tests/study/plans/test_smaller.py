"""Studies cut down: which instances are left."""

from dataclasses import replace
from pathlib import Path

from dlsched import ring_allocation, write
from dlsched.study.plans.plan import Generated, Windows
from dlsched.study.plans.plan_file import make_plan
from dlsched.study.plans.smaller import smaller
from dlsched.study.plans.sources import recipes
from tests.study.small import small


def test_the_ends_of_every_list_and_few_jobs(tmp_path: Path) -> None:
    """Sizes above the limit become the limit, once; texts and other numbers stay."""
    grid = {"preset": ("a", "b", "c"), "jobs": (5, 50, 500), "slots": (200, 20), "load": (0.1, 0.2, 0.3), "seed": (7,)}
    source = Generated("x", grid)
    plan = replace(small(tmp_path), sources=(source,))
    (cut,) = smaller(plan, {"jobs": 20, "slots": 10}).sources
    assert isinstance(cut, Generated)
    assert cut.grid == {"preset": ("a", "c"), "jobs": (5, 20), "slots": (10,), "load": (0.1, 0.3), "seed": (7,)}
    assert smaller(plan, {}).methods == plan.methods


def test_the_smallest_files_of_every_folder(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for jobs in (6, 2, 4):
            write(ring_allocation.generate(jobs=jobs, gpus=8, seed=jobs), tmp_path / folder / f"{9 - jobs}.json")
    plan = make_plan(instances={"files": ["a/*.json", "b/*.json"]}, methods=["equal"], folder=tmp_path)
    assert [each.source for each in recipes(smaller(plan, {}))] == ["a/5.json", "a/7.json", "b/5.json", "b/7.json"]


def test_traces_end_early(tmp_path: Path) -> None:
    whole = Windows("tiresias", "jobs.csv", {"gpus": 8}, None)
    plan = replace(small(tmp_path), sources=(whole,))
    assert smaller(plan, {}).sources == (whole,)
    assert smaller(plan, {}, trace_to="100").sources == (replace(whole, options={"gpus": 8, "to": "100"}),)
