"""The store: one writer, nothing lost, errors in words."""

import subprocess
import sys
from pathlib import Path

import pytest

from dlsched.core.errors import InputError
from dlsched.study.cells.cell import Cell, Facts, Outcome, cells_of
from dlsched.study.plans.plan import Plan
from dlsched.study.plans.sources import recipes
from dlsched.study.store.store import Store
from tests.study.small import small

FACTS = Facts("one", "0" * 64, 4, 24, 0.0, None, 9.0)


def cells(plan: Plan) -> list[Cell]:
    return list(cells_of(plan, recipes(plan)))


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return small(tmp_path)


def test_waiting_are_the_cells_without_a_result_in_the_order_of_the_plan(tmp_path: Path, plan: Plan) -> None:
    with Store(tmp_path / "s", leading=True) as store:
        assert store.plan(plan, cells(plan)) == 18
        keys = [cell.key for cell in store.waiting(plan)]
        assert keys == [cell.key for cell in cells(plan)]
        store.put([Outcome(keys[4], "feasible", objective=1.0), Outcome(keys[0], "error", "why", facts=FACTS)])
        assert [cell.key for cell in store.waiting(plan)] == keys[1:4] + keys[5:]
        assert store.ended == 2


def test_a_cell_is_written_once(tmp_path: Path, plan: Plan) -> None:
    """The first result stays: a cell that is reported twice is not counted twice."""
    with Store(tmp_path / "s", leading=True) as store:
        store.plan(plan, cells(plan))
        key = cells(plan)[0].key
        store.put([Outcome(key, "feasible", objective=1.0)])
        store.put([Outcome(key, "feasible", objective=2.0)])
        assert store.database.execute("SELECT objective FROM result").fetchall() == [(1.0,)]


def test_only_the_statuses_named_are_forgotten(tmp_path: Path, plan: Plan) -> None:
    """``error`` stands for a solver's error too."""
    keys = [cell.key for cell in cells(plan)]
    statuses = ["optimal", "error", "solver_error", "timeout", "killed"]
    with Store(tmp_path / "s", leading=True) as store:
        store.plan(plan, cells(plan))
        store.put([Outcome(key, status) for key, status in zip(keys, statuses, strict=False)])
        assert store.forget(["error", "killed"]) == 3
        left = {status for (status,) in store.database.execute("SELECT status FROM result")}
        assert left == {"optimal", "timeout"}


def test_a_plan_that_grew_keeps_what_has_ended(tmp_path: Path, plan: Plan) -> None:
    with Store(tmp_path / "s", leading=True) as store:
        store.plan(plan, cells(plan))
        store.put([Outcome(cell.key, "feasible", objective=1.0) for cell in cells(plan)])
        more = small(tmp_path, methods=[*({"name": name} for name in ("exact", "doubling", "equal", "hull"))])
        assert store.plan(more, cells(more)) == 24
        assert [cell.method.label for cell in store.waiting(more)] == ["hull"] * 6
        assert store.ended == 18


def test_closed_it_is_one_file(tmp_path: Path, plan: Plan) -> None:
    with Store(tmp_path / "s", leading=True) as store:
        store.plan(plan, cells(plan))
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_large_solutions_are_not_kept(tmp_path: Path, plan: Plan) -> None:
    keys = [cell.key for cell in cells(plan)]
    with Store(tmp_path / "s", leading=True, largest_solution=1 << 16) as store:
        store.plan(plan, cells(plan))
        store.put(
            [
                Outcome(keys[0], "feasible", solution={"gpus": {"a": 1}}),
                Outcome(keys[1], "feasible", solution=["x" * 70_000]),
            ]
        )
        kept = [
            solution is not None for (solution,) in store.database.execute("SELECT solution FROM result ORDER BY cell")
        ]
    assert kept == [True, False]


def test_there_is_one_leader(tmp_path: Path, plan: Plan) -> None:
    """The second is refused in words, readers are not; its refusal must not let a third process take the log for nobody's."""
    path = tmp_path / "s"
    with Store(path, leading=True) as store:
        store.plan(plan, cells(plan))
        with pytest.raises(InputError, match="being written by another run"):
            Store(path, leading=True)
        code = f"import sqlite3; d = sqlite3.connect({str(path)!r}); d.execute('SELECT count(*) FROM cell').fetchone(); d.close()"
        subprocess.run([sys.executable, "-c", code], check=True)
        store.put([Outcome(cells(plan)[0].key, "feasible", objective=1.0)])
        with Store(path) as reader:
            assert reader.ended == 1
    Store(path, leading=True).close()
