"""A store is made of one declaration: something new that it records is a field of an outcome, a column, a field of rows."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import dlsched
from dlsched.study.cells.cell import Facts, Outcome, cells_of
from dlsched.study.plans.sources import recipes
from dlsched.study.store.store import Store
from dlsched.study.store.tables import FACT, RESULT, TABLES
from tests.study.small import small

PACKAGE = Path(dlsched.__file__).parent
ADDED = {
    "study/cells/cell.py": (
        "    facts: Facts | None = None\n\n    @property",
        "    facts: Facts | None = None\n    nodes: int | None = None\n\n    @property",
    ),
    "study/store/tables.py": (
        '*_columns("TEXT", "bound_source", "solver", later=True)),',
        '*_columns("TEXT", "bound_source", "solver", later=True)), StoredColumn("nodes", "INTEGER", later=True),',
    ),
    "study/rows.py": (
        "    arguments: Mapping[str, Json] = field(default_factory=dict)\n",
        "    arguments: Mapping[str, Json] = field(default_factory=dict)\n    nodes: int | None = None\n",
    ),
}
"""Nodes of a search, in three files; a column of exports is one more record in the last, and a line of the documentation."""
LED_ON = """
import sys
from dlsched.study.cells.cell import cells_of
from dlsched.study.cells.cell import Outcome
from dlsched.study.plans.sources import recipes
from dlsched.study.study import Study
from dlsched.study.store.store import Store
from tests.study.small import small
from pathlib import Path

folder = Path(sys.argv[1])
with Study(folder / "s") as study:
    print([row.nodes for row in study.rows()])
plan = small(folder)
cells = list(cells_of(plan, recipes(plan)))
with Store(folder / "s", leading=True) as store:
    store.plan(plan, cells)
    store.put([Outcome(cells[1].key, "error", nodes=5)])
with Study(folder / "s") as study:
    print([row.nodes for row in study.rows()])
"""


def test_what_is_kept_has_a_column_of_its_name() -> None:
    """Every field of an outcome but its key and the facts, and every fact; no name stands twice."""
    ended = {name for name in Outcome.__slots__ if name not in ("key", "facts")}
    assert {column.name for column in RESULT.columns} == ended | {"cell"}
    assert {column.name for column in FACT.columns} == {*Facts.__slots__, "content"}
    for table in TABLES:
        names = [column.name for column in table.columns]
        assert len(set(names)) == len(names), table.name


def test_values_are_kept_as_the_database_gives_them_back() -> None:
    """Figures as JSON; what is long compressed, or left out."""
    row = RESULT.row_of(Outcome("k", "feasible", objective=1.5, figures={"a": 1.0}, solution=["x" * 99]), 50)
    assert (row["objective"], row["figures"]) == (1.5, '{"a": 1.0}')
    assert row["solution"] is None and row["certificate"] is None


def test_a_store_of_today_reads_with_a_column_that_is_to_come(tmp_path: Path) -> None:
    """The next leader adds the column."""
    plan = small(tmp_path)
    cells = list(cells_of(plan, recipes(plan)))
    with Store(tmp_path / "s", leading=True) as store:
        store.plan(plan, cells)
        store.put([Outcome(cells[0].key, "error")])
    shutil.copytree(PACKAGE, tmp_path / "dlsched", ignore=shutil.ignore_patterns("__pycache__"))
    for name, (before, after) in ADDED.items():
        path = tmp_path / "dlsched" / name
        text = path.read_text(encoding="utf-8")
        assert text.count(before) == 1, name
        path.write_text(text.replace(before, after), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", LED_ON, tmp_path],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join((str(tmp_path), str(Path(__file__).parents[3])))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines() == ["[None]", "[None, 5]"], done.stderr
