"""Studies from end to end: rows that are true, runs that go on, misuse that is refused."""

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Ended

import dlsched
from dlsched import study
from dlsched.core.errors import UsageError
from dlsched.study import leader
from dlsched.study.cells.cell import Cell, Outcome
from dlsched.study.leader import StudyProgress, store_of
from tests.study.forging import checked
from tests.study.small import rows_of, small
from tests.study.stores_by_hand import as_before


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Stores of the small plan, run by one worker and by two."""
    folder = tmp_path_factory.mktemp("ran")
    for workers in (1, 2):
        study.run(small(folder), folder / str(workers), workers=workers).close()
    return {workers: folder / str(workers) for workers in (1, 2)}


def test_rows_are_what_solving_one_by_one_gives(ran: dict[int, Path]) -> None:
    """Every row against ``dlsched.solve`` of the same instance, and ratios against the optimum it proves."""
    with study.open(ran[2]) as done:
        rows = done.rows()
        instances = [done.instance(row.key) for row in rows]
    assert [row.method for row in rows] == ["exact", "doubling", "equal"] * 6
    assert [(row.jobs, row.gpus, row.seed) for row in rows[::3]] == [(n, 24, seed) for n in (4, 6) for seed in range(3)]
    for row, instance in zip(rows, instances, strict=True):
        result = dlsched.solve(instance, method=row.method)
        optimum = dlsched.solve(instance).objective
        assert (row.instance, row.status, row.objective, row.bound) == (
            instance.name,
            result.status,
            result.objective,
            result.bound,
        )
        assert optimum is not None and row.objective is not None
        assert row.reference_kind == "optimum" and row.ratio == pytest.approx(row.objective / optimum, rel=1e-12)
        assert row.time_s is not None and row.memory_mib is not None and row.cpu_s is not None


OBJECTIVES = [{"family": "matching_placement", "jobs": 2, "gpus": 3, "objective": ["mean", "max_rho"], "seeds": "0:2"}]


def test_objectives_of_a_preset_are_not_mixed(tmp_path: Path, here: None, cli: Callable[..., Ended]) -> None:
    """Rows name them, and every page has a table for each: seconds are never averaged with shares of an equal one."""
    plan = study.make_plan(instances=OBJECTIVES, methods=["exact", "equal"], folder=tmp_path)
    with study.run(plan, tmp_path / "s", workers=1) as done:
        rows = done.rows()
        assert [row.objective_name for row in rows] == [
            done.instance(row.key).model_dump()["objective"] for row in rows
        ]
    assert [(group.objective, group.instances) for group in study.summarise(rows)] == [("mean", 2), ("max_rho", 2)]
    pages = (["show"], ["export", "--format", "markdown"], ["export", "--format", "latex"])
    for command, *options in (*pages, ["report", "--format", "markdown", "-o", "-"]):
        text = cli("study", command, tmp_path / "s", *options).out.replace("\\", "")
        assert all(f"few-types, objective {name}: 2 instances" in text for name in ("mean", "max_rho"))
    html = cli("study", "report", tmp_path / "s", "-o", "-").out
    assert all(f"few-types · objective {name}" in html for name in ("mean", "max_rho"))
    brief = cli("study", "show", tmp_path / "s", "--brief").out
    assert "objective" in brief and "max_rho" in brief


def test_a_store_from_before_objectives_were_named(tmp_path: Path, here: None) -> None:
    """What they are is found from how the instances come about."""
    plan = study.make_plan(instances=OBJECTIVES, methods=["equal"], folder=tmp_path)
    with study.run(plan, tmp_path / "s", workers=1) as done:
        rows = done.rows()
    as_before(tmp_path / "s")
    with study.open(tmp_path / "s") as old:
        assert old.rows() == [replace(row, sense="") for row in rows]
    assert {row.objective_name for row in rows} == {"mean", "max_rho"}


def test_one_worker_and_two_give_the_same_rows(ran: dict[int, Path]) -> None:
    with study.open(ran[1]) as one, study.open(ran[2]) as two:
        assert rows_of(one) == rows_of(two)


def test_what_has_ended_does_not_run_again(ran: dict[int, Path], tmp_path: Path) -> None:
    """The standing at the start of the second run says that nothing is left; times are those of the first."""
    plan, told = small(tmp_path), list[StudyProgress]()
    shutil.copy(ran[1], tmp_path / "s")
    with study.open(tmp_path / "s") as first:
        before = first.rows()
    with study.run(plan, tmp_path / "s", workers=1, progress=told.append) as second:
        assert second.rows() == before
    assert told == [StudyProgress(18, 18, 0)]


def test_retry_runs_what_ended_so_and_nothing_else(tmp_path: Path) -> None:
    """A function that fails until a file is there."""
    (tmp_path / "mine.py").write_text(
        "import os\n\ndef mine(instance):\n    if not os.path.exists('there'):\n        raise ValueError('not yet')\n"
        "    return {'gpus': {job.id: 1 for job in instance.jobs}}\n",
        encoding="utf-8",
    )
    plan = small(tmp_path, methods=[{"name": "mine", "python": "mine.py:mine"}, {"name": "equal"}])
    with study.run(plan, tmp_path / "s", workers=1) as first:
        rows = first.rows()
    assert {row.status for row in rows if row.method == "mine"} == {"error"}
    assert all("not yet" in row.message for row in rows if row.method == "mine")
    (tmp_path / "there").touch()
    with study.run(plan, tmp_path / "s", workers=1) as same:
        assert same.rows() == rows
    with study.run(plan, tmp_path / "s", workers=1, retry=["error"]) as again:
        assert {row.status for row in again.rows() if row.method == "mine"} == {"feasible"}
        assert [row for row in again.rows() if row.method == "equal"] == [row for row in rows if row.method == "equal"]


def test_the_same_instance_and_method_twice_is_one_cell_and_two_rows(tmp_path: Path, here: None) -> None:
    """Labels are names, no part of what decides an outcome."""
    plan = small(tmp_path, methods=[{"name": "equal"}, {"name": "equal", "label": "again"}])
    with study.run(plan, tmp_path / "s", workers=1) as done:
        rows = done.rows()
        assert len({row.key for row in rows}) == 6 and len(rows) == 12
        assert [row.method for row in rows] == ["equal", "again"] * 6


def test_the_store_stands_beside_the_plan(tmp_path: Path, here: None) -> None:
    assert store_of(tmp_path / "mine.toml") == tmp_path / "mine.study.sqlite"
    path = tmp_path / "mine.toml"
    path.write_text(small(tmp_path).text, encoding="utf-8")
    study.run(path, workers=1).close()
    with study.open(tmp_path / "mine.study.sqlite") as done:
        assert done.about.cells == done.about.ended == 18 and done.about.instances == 6
        assert done.about.plan == path.read_text(encoding="utf-8")


def test_frame_has_the_columns_of_exports(ran: dict[int, Path]) -> None:
    from dlsched.study.rows import COLUMNS

    pytest.importorskip("pandas")
    with study.open(ran[1]) as done:
        frame = done.frame()
        assert list(frame.columns) == list(COLUMNS) and len(frame) == 18
        assert list(frame["objective"]) == [row.objective for row in done.rows()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers: found 0, allowed: an integer >= 1"),
        ({"engine": "spark"}, "engine: found 'spark', allowed: local, dask"),
        ({"scheduler": "tcp://a:1"}, "scheduler: found 'tcp://a:1', allowed: only with engine dask"),
        ({"retry": ["optimal"]}, "retry: found 'optimal', allowed: timeout"),
    ],
)
def test_misuse_is_refused(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        study.run(small(tmp_path), tmp_path / "s", **options)  # type: ignore[arg-type]


def test_instances_of_one_name_stay_apart(tmp_path: Path, here: None) -> None:
    """A grid over what no name says, here the largest count of a job: every instance counts."""
    sources = [{"family": "ring_allocation", "jobs": 4, "gpus": 24, "max_gpus": [2, 24], "seeds": "0:3"}]
    with study.run(small(tmp_path, instances=sources), tmp_path / "s", workers=1) as done:
        rows = done.rows()
    assert len({row.instance for row in rows}) == 3 and len({row.instance_id for row in rows}) == 6
    (group,) = study.summarise(rows)
    assert group.instances == 6 and {line.cells for line in group.lines} == {6}


def test_a_file_under_another_name_keeps_what_is_known_of_it(tmp_path: Path, here: None) -> None:
    """Its cells have ended under the first name; sizes, and what no decision changes, are known under the second."""
    instance = dlsched.srpt_mapping.generate(jobs=4, gpus=16, seed=1)
    rows = []
    for name in ("first.json", "second.json"):
        dlsched.write(instance, tmp_path / name)
        plan = small(tmp_path, instances=[{"files": [name]}], methods=[{"name": "exact"}, {"name": "fifo"}])
        with study.run(plan, tmp_path / "s", workers=1) as done:
            rows.append(rows_of(done, "source"))
    assert rows[0] == rows[1] and rows[0][1]["jobs"] == 4 and rows[0][1]["gpus"] == 16


def test_a_function_that_claims_a_false_objective_is_rejected(tmp_path: Path, here: None) -> None:
    """One that claims the true one is not; messages do not name the folder, in which rows would differ."""
    (tmp_path / "mine.py").write_text(
        "def claim(instance, objective):\n    counts = {job.id: 1 for job in instance.jobs}\n"
        "    return {'solution': {'gpus': counts}, 'objective': objective}\n",
        encoding="utf-8",
    )
    one = {"family": "ring_allocation", "preset": "table", "jobs": 1, "gpus": 8, "seeds": 0}
    plan = small(tmp_path, instances=[one], methods=[{"name": "first", "python": "mine.py:claim", "objective": 1.0}])
    with study.run(plan, tmp_path / "s", workers=1) as done:
        (row,) = done.rows()
        instance = done.instance(row.key)
    true = dlsched.ring_allocation.objective(instance, dlsched.ring_allocation.Allocation({instance.jobs[0].id: 1}))
    assert (row.status, row.message) == ("rejected", f"objective: 1.0 is claimed, it is {true!r}")
    plan = small(tmp_path, instances=[one], methods=[{"name": "first", "python": "mine.py:claim", "objective": true}])
    with study.run(plan, tmp_path / "s", workers=1) as done:
        assert [(row.status, row.objective) for row in done.rows()] == [("feasible", true)]


def test_one_label_may_be_another_method_in_another_family(tmp_path: Path, here: None) -> None:
    """Each family runs its own: rows are those of solving one by one, and all are true when computed anew."""
    methods = [
        {"name": "doubling", "label": "quick", "family": "ring_allocation"},
        {"name": "fifo", "label": "quick", "family": "srpt_mapping"},
    ]
    sources = [{"family": ["ring_allocation", "srpt_mapping"], "jobs": 3, "gpus": 16}]
    with study.run(small(tmp_path, instances=sources, methods=methods), tmp_path / "s", workers=1) as done:
        for row, name in zip(done.rows(), ("doubling", "fifo"), strict=True):
            assert row.objective == dlsched.solve(done.instance(row.key), method=name).objective, row.message
    assert all(checked(tmp_path / "s").values())


@pytest.mark.parametrize("left", [0, 1])
def test_ctrl_c_while_processes_are_put_away(left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every cell in the store the study is whole; with one left it is interrupted, and the same call goes on."""

    def engine(cells: Iterator[Cell], workers: int, folder: str) -> Generator[list[Outcome], None, None]:
        cells = list(cells)
        yield from local(iter(cells[left:]), workers, folder)
        raise KeyboardInterrupt

    local = leader.local.run
    with monkeypatch.context() as patch:
        patch.setattr(leader.local, "run", engine)
        if left:
            with pytest.raises(KeyboardInterrupt):
                study.run(small(tmp_path), tmp_path / "s", workers=1)
        else:
            try:
                study.run(small(tmp_path), tmp_path / "s", workers=1).close()
            except KeyboardInterrupt:  # which would end pytest
                pytest.fail("interrupted, with every cell in the store")
    with study.open(tmp_path / "s") as stopped:
        assert stopped.about.ended == 18 - left
    with study.run(small(tmp_path), tmp_path / "s", workers=1) as done:
        assert done.about.ended == 18


def test_a_full_disk_during_a_run_is_said_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk; the error is that of the disk, not that rows were changed."""
    instances = 'instances = [{family = "ring_allocation", jobs = 20, gpus = 64, seeds = "0:30"}]'
    methods = 'methods = [{name = "doubling"}, {name = "equal"}]'
    (tmp_path / "p.toml").write_text(f'format = "dlsched/study/1"\n{instances}\n{methods}\n', encoding="utf-8")
    command = [sys.executable, "-m", "dlsched", "study", "run", "p.toml", "--workers", "1"]

    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200 << 10, 200 << 10))

    full = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, preexec_fn=small_disk)
    assert full.returncode == 3 and full.stderr.count("\n") == 1
    assert "the store cannot be used: " in full.stderr and "what has ended before is kept" in full.stderr
    with study.open(tmp_path / "p.study.sqlite") as kept:
        assert 0 < kept.about.ended < 60
    assert subprocess.run(command, cwd=tmp_path, capture_output=True).returncode == 0
    with study.open(tmp_path / "p.study.sqlite") as whole:
        assert whole.about.ended == 60
