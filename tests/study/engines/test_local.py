"""Cells on this machine: each has one outcome, the same on any number of processes, whatever kills them."""

import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

import dlsched
from dlsched import SolverError
from dlsched.study.cells.cell import Cell, Outcome
from dlsched.study.engines import local
from dlsched.study.engines.local import LARGEST_BATCH, Pace, Supervisor, drive, wait
from dlsched.study.recipes import LAST, read_recipe
from study.cells_at_hand import (
    PROGRAM,
    ROOMY,
    TIGHT,
    cell,
    command,
    function,
    functions,
    lives,
    marked,
    named,
    recipe,
    run,
    said,
)


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
    cells = [cell(function(own, "good")), cell(function(own, "hangs"))]
    running = local.run(iter(cells), 2, str(tmp_path))
    assert [outcome.status for outcome in next(running)] == ["feasible"]
    (pid,) = marked(own)
    running.close()
    assert not lives(pid)


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


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    """A supervisor whose temporary files are gone in the end."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    made = Supervisor(str(tmp_path))
    yield made
    made.stop()
    assert list(temporary.iterdir()) == []


def family() -> list[psutil.Process]:
    """The warden that this process started, and all that descends from it."""
    wardens = [each for each in psutil.Process().children() if local.SERVE in each.cmdline()]
    return [each for warden in wardens for each in (warden, *warden.children(recursive=True))]


def ended(supervisor: Supervisor, *cells) -> list[Outcome]:
    """What comes of cells."""
    return [outcome for some in drive([supervisor], iter(cells)) for outcome in some]


def test_one_process_serves_until_it_is_stopped(supervisor: Supervisor):
    """Two batches; then nothing is left, solvers' processes neither."""
    first = ended(supervisor, cell(named("exact")), cell(named("milp")))
    before = {each.pid for each in family()}
    second = ended(supervisor, cell(named("milp"), 1))
    assert [outcome.status for outcome in first + second] == ["optimal"] * 3
    assert {each.pid for each in family()} == before
    assert len(before) == 4  # warden, process of cells, solver and its warden
    supervisor.stop()
    assert not any(lives(pid) for pid in before)
    assert not supervisor.alive


def test_a_cell_larger_than_a_pipe(supervisor: Supervisor):
    """Arrives whole, though the process is not up yet when it is handed over."""
    data = recipe().make().as_data() | {"source": "x" * 1_000_000}
    given = read_recipe("ring_allocation", "a.json", "", None, {"instance": data})
    assert [outcome.status for outcome in ended(supervisor, replace(cell(named("exact")), recipe=given))] == ["optimal"]


def test_an_instance_is_sent_once(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch):
    """Cells on the instance of the cell before bring none; a new process, and one that had another since, gets it again."""
    sent: list[bool] = []

    def dumps(cells: list[Cell]) -> bytes:
        sent.extend(each.recipe != LAST for each in cells)
        return pickle.dumps(cells)

    monkeypatch.setattr(local, "pickle", SimpleNamespace(dumps=dumps))
    made = [recipe(seed).make() for seed in (0, 1)]
    best = [dlsched.solve(each).objective for each in made]

    def require_best(*wanted: int) -> None:
        """Ask for the best answer on these instances."""
        given = [read_recipe("ring_allocation", "a", "", None, {"instance": made[seed].as_data()}) for seed in wanted]
        cells = [replace(cell(named("exact"), place), recipe=each) for place, each in enumerate(given)]
        assert [outcome.objective for outcome in ended(supervisor, *cells)] == [best[seed] for seed in wanted]

    require_best(0, 0)
    require_best(0, 1, 1, 0)
    supervisor.stop()
    require_best(0)
    assert sent == [True, False, False, True, False, True, True]


@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_somebody_kills(supervisor: Supervisor, victim: int):
    """Its cell is killed, those that wait are given back, and what it started is gone; warden or process, all the same."""
    ended(supervisor, cell(named("milp")))
    first, *others = members = family()
    (first, others[0])[victim].send_signal(signal.SIGSTOP)  # so that nothing comes of the cells
    supervisor.assign([cell(named("exact"), seed) for seed in (1, 2, 3)])
    (first, others[0])[victim].kill()
    found: list[Outcome] = []
    while supervisor.alive:
        wait([supervisor])
        found += supervisor.outcomes()
    left = supervisor.give_up()
    if victim:
        assert [outcome.status for outcome in found] == ["killed"]
    assert len(found) + len(left) == 3
    assert [outcome.status for outcome in ended(supervisor, *left)] == ["optimal"] * len(left)
    assert not any(lives(each.pid) for each in members)


def test_a_process_that_is_killed_as_it_comes_up(supervisor: Supervisor):
    """Its cells are handed to another, up to a number of times."""
    cells = [cell(named("exact"))]
    supervisor.assign(cells)
    while not family():  # until it is a program of its own
        pass
    family()[0].kill()
    while supervisor.alive:
        wait([supervisor])
        assert supervisor.outcomes() == []
    assert supervisor.give_up() == cells
    assert [outcome.status for outcome in ended(supervisor, *cells)] == ["optimal"]


def test_a_process_that_cannot_come_up(supervisor: Supervisor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Is no fault of a cell: it ends the study, and its last words are said."""
    (tmp_path / "dlsched").mkdir()
    (tmp_path / "dlsched" / "__init__.py").write_text("import missing_for_cells", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SolverError, match=r"^no process for cells comes up: .*No module named"):
        ended(supervisor, cell(named("exact")))


def test_a_process_that_comes_up_too_slowly(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch):
    """Neither."""
    monkeypatch.setattr(local, "START_S", 0.0)
    with pytest.raises(SolverError, match=r"^no process for cells comes up in 0 s$"):
        ended(supervisor, cell(named("exact")))


def test_a_folder_that_is_not_there(tmp_path: Path):
    """Is said."""
    with pytest.raises(SolverError, match=r"can be started in .*nosuch"):
        ended(Supervisor(str(tmp_path / "nosuch")), cell(named("exact")))
    assert not family()


def test_no_more_descriptors_than_before(supervisor: Supervisor):
    """However often a process is started and stopped."""
    before = len(os.listdir("/proc/self/fd"))
    for seed in range(2):
        ended(supervisor, cell(named("equal"), seed, ROOMY))
        supervisor.stop()
    assert len(os.listdir("/proc/self/fd")) == before


def test_an_instance_that_takes_too_long_to_make(supervisor: Supervisor):
    """Ten million jobs have the time of a cell; the next cell is served."""
    vast = read_recipe(
        "ring_allocation", "generate", "mixed", 0, {"generate": {"jobs": 10_000_000, "gpus": 8, "seed": 0}}
    )
    found = ended(supervisor, replace(cell(named("equal"), limits=TIGHT), recipe=vast), cell(named("equal"), 1))
    assert [outcome.status for outcome in found] == ["timeout", "feasible"]
    assert found[0].message == "killed 0.3 s after its limit of 0.2 s, before its method began"


def test_a_method_that_was_killed_on_an_instance_of_the_cell_before(supervisor: Supervisor, tmp_path: Path):
    """Had begun: neither its instance was made anew for it, nor its process."""
    (tmp_path / "own.py").write_text(
        "import os, time\ndef f(instance):\n    if os.path.exists(__file__ + '.met'):\n        time.sleep(60)\n"
        "    open(__file__ + '.met', 'w').close()\n    return {'gpus': {job.id: 1 for job in instance.jobs}}\n"
    )
    method = function(tmp_path / "own.py", "f")
    first = cell(method, limits=replace(TIGHT, time_s=1.0, grace_s=1.0))
    found = ended(supervisor, first, replace(first, key="again"))
    assert [outcome.status for outcome in found] == ["feasible", "timeout"], found
    assert found[1].message == "killed 1 s after its limit of 1 s"
