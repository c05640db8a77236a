"""Cells on this machine: each has one outcome, the same on any number of processes."""

import sys
import time
from pathlib import Path

import pytest

from dlsched.study.cells.cell import Cell, Outcome
from dlsched.study.engines import local
from dlsched.study.engines.local import LARGEST_BATCH, Pace
from study.cells_at_hand import PROGRAM, cell, command, function, functions, lives, named, run, said


def mixed(folder: Path) -> list[Cell]:
    """Cells of every kind, some of which die."""
    own = functions(folder)
    methods = [
        *map(named, ("exact", "doubling", "milp", "lagrange")),
        *(function(own, name) for name in ("draws", "raises", "aborts", "answers_none")),
        command(sys.executable, "-c", PROGRAM, "{instance}"),
    ]
    dying = function(own, "kills_its_parent")
    again = [cell(method, 1) for method in methods[:2]]
    return [*map(cell, methods), *again, cell(dying)]


def test_any_number_of_processes_gives_the_same(tmp_path: Path):
    """And any order."""
    cells = mixed(tmp_path)
    one, two = run(cells, 1, tmp_path), run(cells[::-1], 2, tmp_path)[::-1]
    assert [said(outcome) for outcome in one] == [said(outcome) for outcome in two]
    statuses = {"optimal", "feasible", "error", "killed", "no_solution"}
    assert {outcome.status for outcome in one} == statuses


def test_a_run_that_is_closed(tmp_path: Path):
    """Leaves nothing running: what hung included."""
    own = functions(tmp_path)
    own.write_text(own.read_text() + "\n\ndef hangs(instance):\n    mark(os.getpid())\n    time.sleep(600)\n")
    cells = [cell(function(own, "good")), cell(function(own, "hangs"))]
    running = local.run(iter(cells), 2, str(tmp_path))
    assert [outcome.status for outcome in next(running)] == ["feasible"]
    marked = Path(f"{own}.pids")
    while not marked.exists() or not marked.read_text().endswith("\n"):
        time.sleep(0.01)
    running.close()
    assert not lives(int(marked.read_text()))


def test_no_cells_start_no_process(monkeypatch: pytest.MonkeyPatch):
    """And yield nothing."""
    monkeypatch.setattr(local.Supervisor, "assign", None)
    assert list(local.run(iter(()), 2, ".")) == []


def test_batches_last_as_long_as_they_should():
    """Many short cells, or one long one; cells that die make batches short again."""
    pace = Pace(1.0)
    assert pace.cells == 1
    pace.learn([Outcome("k", "optimal", time_s=0.0)] * 500)
    assert pace.cells == LARGEST_BATCH
    pace.learn([Outcome("k", "killed")] * 500)
    assert pace.cells == 1
    pace.learn([Outcome("k", "optimal", time_s=0.0999)] * 500)
    assert pace.cells in (9, 10)
