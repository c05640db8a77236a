"""What rows say that are read from a store."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Ended

from dlsched import ring_allocation, study
from dlsched.core.errors import DisagreementError
from dlsched.core.files import json_text
from dlsched.study.cells.cell import Outcome, cells_of
from dlsched.study.plans.plan_file import make_plan
from dlsched.study.plans.sources import recipes
from dlsched.study.store.store import Store
from dlsched.study.study import Study
from tests.study.small import rows_of, small
from tests.study.stores_by_hand import EDITS, as_before, edit, with_seals

OWN = """
from dlsched import ring_allocation
def draw(*, law, units, seed):
    return ring_allocation.generate(jobs=2, gpus=units, seed=seed)
"""


def test_rows_know_what_their_instance_was_made_with(tmp_path: Path) -> None:
    """By name, whatever the instance is called: of the generator, of a function, of a search; nothing of a file."""
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    (tmp_path / "two.json").write_text(json_text(ring_allocation.example().as_data()), encoding="utf-8")
    drawn = {"law": "convex", "units": 8, "seed": 3}
    generated = {"preset": "mixed", "jobs": 4, "gpus": 24, "max_gpus": 64, "seed": 5}  # the default too
    searched = {"jobs": 2, "budget": 20, "seed": 1}
    of_family = {"family": "ring_allocation"}
    plan = small(
        tmp_path,
        instances=[
            of_family
            | {key: value for key, value in generated.items() if key not in ("seed", "max_gpus")}
            | {"seeds": [5]},
            of_family | {"python": "own.py:draw", "law": "convex", "units": 8, "seeds": [3]},
            of_family | {"worst": "doubling", "jobs": 2, "budget": 20, "seeds": [1]},
            {"files": "two.json"},
        ],
        methods=[{"name": "doubling"}],
    )
    cells = list(cells_of(plan, recipes(plan)))
    with Store(tmp_path / "s", leading=True) as store:
        store.plan(plan, cells)
        store.put([Outcome(cell.key, "error") for cell in cells])
    with Study(tmp_path / "s") as study:
        assert [dict(row.arguments) for row in study.rows()] == [generated, drawn, searched, {}]
        assert "arguments" not in study.rows()[0].as_data()


GRID = {"family": "ring_allocation", "preset": "mixed", "jobs": 3, "gpus": 16, "seeds": "0:4"}


@pytest.fixture
def store(stores: Callable[[str], Path], tmp_path: Path) -> Path:
    """A copy of a store that was run."""
    return Path(shutil.copy(stores("ring"), tmp_path / "s"))


def test_a_result_that_is_deleted_is_a_cell_that_has_not_run(store: Path, cli: Callable[..., Ended]) -> None:
    edit(store, "DELETE FROM result WHERE cell IN (3, 4)")
    with study.open(store) as opened:
        assert (opened.about.cells, opened.about.ended, len(opened.rows())) == (30, 28, 28)
    assert "2 of 30 cells have not run yet." in cli("study", "show", store).out


@pytest.mark.parametrize("older", [as_before, with_seals], ids=["without later columns", "with seals"])
def test_stores_of_earlier_versions_are_read_checked_and_led_on(
    older: Callable[[Path], None], store: Path, tmp_path: Path, cli: Callable[..., Ended]
) -> None:
    """Their rows are the same, whatever their seals are, and no word is said of them."""
    with study.open(store) as opened:
        rows = rows_of(opened)
    older(store)
    for command in ("show", "export"):
        ended = cli("study", command, store)
        assert (ended.code, ended.err) == (0, "")
    assert cli("study", "check", store, "--workers", "1").code == 0
    grown = make_plan(instances=GRID, methods=["equal"], folder=tmp_path)
    study.run(grown, store, workers=1).close()
    with study.open(store) as opened:
        assert opened.about.ended == 4
    edit(store, "UPDATE study SET ran = 9 WHERE id = 1")
    with study.open(store) as opened:
        assert rows_of(opened) == rows


def test_every_command_refuses_contradictions_and_names_ten_rows(
    store: Path, cli: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By method, instance and seed, exit 7, before anything is printed or run."""
    monkeypatch.chdir(store.parent)
    edit(store, "UPDATE result SET objective = 0.5")
    (store.parent / "p.toml").write_text(
        'format = "dlsched/study/1"\ninstances = [{family = "ring_allocation"}]\nmethods = [{name = "equal"}]\n',
        encoding="utf-8",
    )
    for command in ("show s", "report s -o page", "export s", "check s", "run p.toml -s s"):
        ended = cli("study", *command.split())
        assert (ended.code, ended.out) == (7, ""), command
        assert ended.line.count(" (seed ") == 10 and ended.line.endswith("; and others")


WRITES = """
import glob, sqlite3

def smallest(instance):
    return {"gpus": {j.id: min(j.epoch_time_s) for j in instance.jobs}}

def writes(instance):
    for path in glob.glob("*.sqlite"):
        with sqlite3.connect(path, timeout=20) as store:
            store.execute("UPDATE result SET objective = objective / 2 WHERE objective IS NOT NULL")
    return smallest(instance)
"""


def test_answers_that_a_cell_writes_into_the_store_contradict_what_is_proven(
    tmp_path: Path, cli: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who ran it is told, and so is who reads it."""
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(WRITES, encoding="utf-8")
    Path("p.toml").write_text(
        'format = "dlsched/study/1"\n[[instances]]\nfamily = "ring_allocation"\njobs = 3\ngpus = 16\nseeds = "0:3"\n'
        '[[methods]]\nname = "exact"\n[[methods]]\npython = "own.py:writes"\n',
        encoding="utf-8",
    )
    for command in ("run p.toml --workers 1", "show p.study.sqlite", "run p.toml"):
        ended = cli("study", *command.split())
        assert (ended.code, ended.out) == (7, "") and "exact on mixed-3x16-seed0 (seed 0)" in ended.line


@pytest.mark.parametrize("what", EDITS["contradictions"])
def test_rows_that_contradict_themselves_or_each_other_are_refused(what: str, store: Path) -> None:
    statement, words = EDITS["contradictions"][what]
    edit(store, statement)
    with pytest.raises(DisagreementError, match=words):
        study.open(store)


def test_numbers_that_meet_are_no_contradiction(store: Path) -> None:
    """By the tolerance of proofs, 1e-6: an answer .9e-6 better than the optimum is rounding, one 1.2e-6 better is false."""
    for factor, refused in ((1 - 0.9e-6, False), (1 - 1.2e-6, True)):
        other = Path(shutil.copy(store, store.with_name("other")))
        edit(
            other,
            f"UPDATE result SET objective = {factor!r} * (SELECT min(r.bound) FROM result r JOIN cell c ON c.id = r.cell"
            " WHERE r.status = 'optimal' AND c.instance = 1) WHERE cell = 2",
        )
        if refused:
            with pytest.raises(DisagreementError):
                study.open(other)
        else:
            study.open(other).close()
