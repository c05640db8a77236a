"""Searches for instances in a study: done once, in the workers, kept, and failing as cells do."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from dlsched import ring_allocation, study
from dlsched.study.leader import StudyProgress
from dlsched.study.plans.plan import Plan
from dlsched.study.plans.plan_file import make_plan
from dlsched.study.store.searches import found_before
from dlsched.study.store.store import Store
from tests.study.small import rows_of

SEARCH = {"family": "ring_allocation", "worst": "doubling", "jobs": 2, "gpus": 4, "budget": 6, "seeds": "0:2"}
MINE = """
import os
import time

from dlsched import ring_allocation

def slow(instance):
    with open("runs", "a") as file:
        file.write("run\\n")
    if not os.path.exists("there"):
        time.sleep(60)
    time.sleep(0.2)
    return ring_allocation.doubling(instance)

def wrong(instance):
    if not os.path.exists("there"):
        raise ValueError("not there")
    return ring_allocation.doubling(instance)

def dies(instance):
    os.kill(os.getpid(), 9)
"""


def plan(folder: Path, source: dict[str, Any] = SEARCH, **more: Any) -> Plan:
    (folder / "mine.py").write_text(MINE)
    return make_plan(instances=source, methods=["exact", "doubling", "equal"], folder=folder, **more)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[StudyProgress]]:
    """The folder of a plan and of its store, run by one worker, and what was told meanwhile."""
    folder = tmp_path_factory.mktemp("ran")
    told: list[StudyProgress] = []
    study.run(plan(folder), folder / "s", workers=1, progress=told.append).close()
    return folder, told


def test_the_same_rows_on_any_number_of_workers(ran: tuple[Path, list[StudyProgress]], tmp_path: Path) -> None:
    """Instances are those of searches that are run here, and each was searched for once."""
    folder, told = ran
    with study.open(folder / "s") as one, study.run(plan(folder), tmp_path / "two", workers=2) as two:
        assert rows_of(one) == rows_of(two)
        rows = one.rows()
        kept = [one.instance(row.key) for row in rows]
        made = [one.made_by(row.key)[0].make() for row in rows[::3]]
    assert [row.instance for row in rows[::3]] == [
        f"worst-doubling-jobs2-gpus4-budget6-seed{seed}" for seed in range(2)
    ]
    assert kept[::3] == kept[1::3] == kept[2::3] == made
    assert told[0] == StudyProgress(8, 0, 0) and told[-1] == StudyProgress(8, 8, 0)


@pytest.mark.long
def test_a_cluster_gives_the_same_rows(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    asked = plan(tmp_path)
    with (
        study.run(asked, tmp_path / "one", workers=1) as one,
        study.run(asked, tmp_path / "dask", workers=2, engine="dask") as dask,
    ):
        assert rows_of(one) == rows_of(dask)


def test_what_was_found_is_not_searched_for_again(ran: tuple[Path, list[StudyProgress]], tmp_path: Path) -> None:
    """A plan that grew by a method takes the instances that are kept; they are replaced to see it."""
    shutil.copy(ran[0] / "s", tmp_path / "s")
    with study.open(tmp_path / "s") as first:
        before = first.rows()
    other = ring_allocation.example()
    with Store(tmp_path / "s", leading=True) as store, store.database:
        for (key,) in store.database.execute("SELECT key FROM found").fetchall():
            store.put_found(key, other.as_data())
    told: list[StudyProgress] = []
    grown = make_plan(instances=SEARCH, methods=["doubling", "equal", "hull"], folder=ran[0])
    with study.run(grown, tmp_path / "s", workers=1, progress=told.append) as second:
        rows = second.rows()
        assert second.instance(rows[-1].key) == other
    assert told[0] == StudyProgress(6, 4, 0)
    assert [row.objective for row in rows if row.method != "hull"] == [
        row.objective for row in before if row.method != "exact"
    ]
    hull = ring_allocation.solve(other, method="hull").objective
    assert [row.objective for row in rows if row.method == "hull"] == [hull] * 2


def test_a_search_that_fails_and_is_tried_again(tmp_path: Path) -> None:
    """All cells of its instance end as it did; those of other instances run."""
    sources = [{**SEARCH, "worst": "mine.py:wrong", "seeds": 0}, {**SEARCH, "seeds": 0}]
    asked = make_plan(instances=sources, methods=["exact", "doubling"], folder=plan(tmp_path).folder)
    told: list[StudyProgress] = []
    with study.run(asked, tmp_path / "s", workers=1, progress=told.append) as first:
        rows = first.rows()
    assert [row.status for row in rows] == ["error", "error", "optimal", "feasible"]
    assert rows[0].message.startswith("the search for its instance: ") and "ValueError: not there" in rows[0].message
    assert rows[0].instance == "worst mine.py:wrong"
    assert told[-1] == StudyProgress(6, 6, 3)
    (tmp_path / "there").touch()
    with study.run(asked, tmp_path / "s", workers=1, retry=["error"]) as second:
        assert [row.status for row in second.rows()] == ["optimal", "feasible"] * 2


@pytest.mark.long
def test_a_search_that_kills_its_process(tmp_path: Path) -> None:
    """Its cells were killed, and the others run."""
    sources = [{**SEARCH, "worst": "mine.py:dies", "seeds": 0}, {**SEARCH, "seeds": 0}]
    asked = make_plan(instances=sources, methods=["doubling"], folder=plan(tmp_path).folder)
    with study.run(asked, tmp_path / "s", workers=1) as done:
        assert [row.status for row in done.rows()] == ["killed", "feasible"]


@pytest.mark.long
def test_limits_hold_for_each_evaluation(tmp_path: Path) -> None:
    """A method that hangs ends its search; a search that takes longer than a cell may does not end by that."""
    limits = {"time_s": 1.8, "grace_s": 0.5}
    source = {**SEARCH, "worst": "mine.py:slow", "seeds": 0}
    with study.run(plan(tmp_path, source, limits=limits), tmp_path / "s", workers=1) as first:
        rows = first.rows()
    assert [row.status for row in rows] == ["timeout"] * 3
    assert rows[0].message == "the search for its instance: killed 0.5 s after its limit of 1.8 s"
    (tmp_path / "there").touch()
    (tmp_path / "runs").unlink()
    with study.run(plan(tmp_path, source, limits=limits), tmp_path / "s", workers=2, retry=["timeout"]) as second:
        assert [row.status for row in second.rows()] == ["optimal", "feasible", "feasible"]
    assert len((tmp_path / "runs").read_text().split()) == 6


def test_other_versions_search_anew(ran: tuple[Path, list[StudyProgress]], tmp_path: Path) -> None:
    """What is kept is of the versions that found it."""
    shutil.copy(ran[0] / "s", tmp_path / "s")
    with study.open(tmp_path / "s") as done:
        recipe, _, _ = done.made_by(done.rows()[0].key)
        versions = done.about.environment["versions"]
    assert isinstance(versions, dict)
    known = {name: str(value) for name, value in versions.items()}
    with Store(tmp_path / "s") as store:
        assert "instance" in found_before(store, recipe, known).data
        assert found_before(store, recipe, known | {"dlsched": "another"}) == recipe
