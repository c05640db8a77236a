"""Seals: whatever of a row is changed by hand is seen, and so is what a cell writes while the study runs."""

import hashlib
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from conftest import Ended

from dlsched import study
from dlsched.core.errors import DisagreementError, InputError, SealError
from dlsched.study.plans.plan_file import make_plan
from dlsched.study.store.seals import seal
from dlsched.study.store.tables import SEALED, STATEMENTS
from tests.study.small import rows_of
from tests.study.stores_by_hand import as_before, edit, run_store, seal_anew

WRITES = '''
import glob, sqlite3
from dlsched.study.store.tables import SEALED
from dlsched.study.store.seals import write_missing

def smallest(instance):
    return {"gpus": {j.id: min(j.epoch_time_s) for j in instance.jobs}}

def writes(instance, statements, sealed=False):
    """Write into every store of the folder."""
    for path in glob.glob("*.sqlite"):
        store = sqlite3.connect(path, timeout=20)
        for statement in statements:
            try:
                store.execute(statement)
            except sqlite3.Error:  # what is there already
                pass
        if sealed:
            for table in SEALED:
                store.execute(f"UPDATE {table} SET seal = NULL")
                write_missing(store, table)
        store.commit()
    return smallest(instance)

def replaces(instance):
    """Put a copy in the place of the store, in which objectives are others."""
    import os, shutil
    for path in glob.glob("*.sqlite"):
        shutil.copy(path, "copy")
        store = sqlite3.connect("copy")
        store.execute("UPDATE result SET objective = objective / 2, bound = bound / 2")
        for table in SEALED:
            store.execute(f"UPDATE {table} SET seal = NULL")
            write_missing(store, table)
        store.commit()
        os.replace("copy", path)
    return smallest(instance)
'''
GRID = {"family": "ring_allocation", "preset": "mixed", "jobs": 3, "gpus": 16, "seeds": "0:4"}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that was run."""
    return run_store(tmp_path_factory.mktemp("store"), "ring")


@pytest.fixture
def store(ran: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(ran, tmp_path / "s"))


def test_a_seal_is_a_hash_of_all_that_is_said() -> None:
    """By hand: SHA-256 of the JSON; a number is not its text, bytes are not their hash."""
    written = b'["fact", "....", ["a", 1, 1.0, null]]'
    assert seal("fact", ("a", 1, 1.0, None)) == hashlib.sha256(written).digest()
    said = [
        ("a", "1"),
        ("a", 1),
        ("a", 1.0),
        ("a", None),
        ("a", b"1"),
        ("a1",),
        ("a", hashlib.sha256(b"1").hexdigest()),
    ]
    assert len({seal("fact", values) for values in said}) == len(said)


def test_what_is_left_out_where_it_is_empty_changes_no_seal() -> None:
    """A column that is to come: rows without it are sealed as they were, and a value there is in the seal."""
    before = seal("result", ("a", None, 1.0))
    assert seal("result", ("a", None, 1.0, None), {3}) == before != seal("result", ("a", None, 1.0, None))
    assert seal("result", ("a", None, 1.0, 5), {3}) == seal("result", ("a", None, 1.0, 5)) != before


def test_stores_keep_the_text_of_their_tables() -> None:
    """The statements are those of the first version: a store of today differs in no byte of them."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(STATEMENTS)
        texts = [text for (text,) in database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")]
    assert texts[5] == (
        "CREATE TABLE cell (\n"
        "    id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, instance INTEGER NOT NULL REFERENCES instance,\n"
        "    method INTEGER NOT NULL REFERENCES method, seed INTEGER NOT NULL, limits TEXT NOT NULL,\n"
        "    environment INTEGER NOT NULL REFERENCES environment)"
    )
    assert texts[8] == "CREATE TABLE found (key TEXT PRIMARY KEY, instance BLOB NOT NULL, seal BLOB) WITHOUT ROWID"
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()
    assert digest == "6377d31045c342981b00b27643df67bc96dc74530d261c4ccadd0a0560893ff9"


def columns() -> list[tuple[str, str]]:
    """Every column of every table, save the seals."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(STATEMENTS)
        return [
            (table, column)
            for table in (*SEALED, "cell")
            for (column,) in database.execute("SELECT name FROM pragma_table_info(?)", (table,))
            if column != "seal"
        ]


@pytest.mark.parametrize(("table", "column"), columns())
def test_every_column_that_is_changed_by_hand_is_seen(table: str, column: str, store: Path) -> None:
    """Another value of the same type in one row: of numbers the next one, of text and bytes one that is longer."""
    with closing(sqlite3.connect(store)) as database, database:
        database.execute("PRAGMA foreign_keys=OFF")
        key = {"fact": "content", "planned": "position", "result": "cell"}.get(table, "id")
        chosen = f"(SELECT {key} FROM {table} ORDER BY {column} IS NULL, {key} LIMIT 1)"
        changed = database.execute(
            f"UPDATE {table} SET {column} = CASE typeof({column}) WHEN 'text' THEN {column} || ' ' WHEN 'null' THEN 1 WHEN"
            f" 'blob' THEN CAST({column} || x'00' AS BLOB) ELSE {column} + 1000 END WHERE {key} = {chosen}"
        )
        assert changed.rowcount == 1
    with pytest.raises((SealError, InputError)):
        study.open(store)


def test_who_edits_is_told_which_rows(store: Path, cli: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch) -> None:
    """By every command: the first ten by method, instance and seed; also a time, or a message, of one row."""
    monkeypatch.chdir(store.parent)
    with study.open(store) as opened:
        rows = opened.rows()
    assert len(rows) == 30
    for statement in ("time_s = time_s / 2", "message = 'as it should be'", "memory_mib = 1"):
        edit(store, f"UPDATE result SET {statement} WHERE cell = 7")
        line = cli("study", "show", "s").line
        assert "rows are not what was written (1 of table result): doubling on mixed-2x3-seed1 (seed 1)" in line
    edit(store, "UPDATE result SET objective = 0.5")
    (store.parent / "own.py").write_text("", encoding="utf-8")
    (store.parent / "p.toml").write_text(
        'format = "dlsched/study/1"\ninstances = [{family = "ring_allocation"}]\nmethods = [{name = "equal"}]\n',
        encoding="utf-8",
    )
    for command in ("show s", "report s -o page", "export s", "check s", "run p.toml -s s"):
        ended = cli("study", *command.split())
        assert (ended.code, ended.out) == (7, ""), command
        assert ended.line.count(" (seed ") == 10 and ended.line.endswith("; and others")


def test_a_result_that_is_deleted_is_a_cell_that_has_not_run(store: Path, cli: Callable[..., Ended]) -> None:
    edit(store, "DELETE FROM result WHERE cell IN (3, 4)")
    with study.open(store) as opened:
        assert (opened.about.cells, opened.about.ended, len(opened.rows())) == (30, 28, 28)
    assert "2 of 30 cells have not run yet." in cli("study", "show", store).out


def test_rows_of_another_store_do_not_pass(ran: Path, store: Path, tmp_path: Path) -> None:
    """Their seals are right, and name another cell."""
    other = make_plan(instances={**GRID, "seeds": "7:9"}, methods=["exact", "doubling"], folder=tmp_path)
    study.run(other, tmp_path / "other", workers=1).close()
    edit(
        store,
        f"ATTACH '{tmp_path / 'other'}' AS other",
        "DELETE FROM result WHERE cell <= 4",
        "INSERT INTO result SELECT * FROM other.result",
    )
    with pytest.raises(SealError, match="rows are not what was written"):
        study.open(store)


def test_a_store_of_before_is_read_with_a_word_and_sealed_by_who_goes_on(
    store: Path, tmp_path: Path, cli: Callable[..., Ended]
) -> None:
    with study.open(store) as opened:
        rows = rows_of(opened)
    as_before(store)
    for command in ("show", "export"):
        ended = cli("study", command, store)
        assert ended.code == 0 and "its rows have no seals" in ended.line
    assert cli("study", "check", store, "--workers", "1").code == 0
    grown = make_plan(instances=GRID, methods=["equal"], folder=tmp_path)
    study.run(grown, store, workers=1).close()
    with study.open(store) as opened:
        assert opened.sealed and opened.about.ended == 4
    edit(store, "UPDATE study SET ran = 9 WHERE id = 1")
    seal_anew(store)
    with study.open(store) as opened:
        assert rows_of(opened) == rows
    edit(store, "UPDATE result SET time_s = 1.0 WHERE cell = 3")
    with pytest.raises(SealError):
        study.open(store)


ATTACKS = {
    "objectives": ["UPDATE result SET objective = 0.5"],
    "all numbers": ["UPDATE result SET objective = 0.5, bound = 0.5, status = 'optimal'"],
    "times": ["UPDATE result SET time_s = 1e-6"],
    "labels": ["UPDATE method SET label = 'best', data = replace(data, '\"label\": \"mine\"', '\"label\": \"best\"')"],
    "methods": ["UPDATE planned SET method = (SELECT min(id) FROM method)"],
    "instances": ["UPDATE planned SET instance = (SELECT min(id) FROM instance)"],
    "facts": ["UPDATE fact SET known_bound = 1.0"],
    "the plan": ["UPDATE study SET reference = 'mine'"],
    "rows deleted": ["DELETE FROM result WHERE cell = (SELECT min(cell) FROM result)"],
    "cells deleted": ["DELETE FROM planned WHERE position = 1"],
    "rows added": ["INSERT OR IGNORE INTO result SELECT id, 'timeout', '', NULL, NULL, 1, 1, 1, '{}', NULL, NULL, NULL,"
                   " NULL, NULL FROM cell WHERE id = (SELECT max(id) FROM cell)"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("attack", "sealed"),
    [
        *(pytest.param(attack, True, id=f"{attack}-with the seals") for attack in ATTACKS),
        *(
            pytest.param(attack, False, id=f"{attack}-alone", marks=() if attack == "objectives" else pytest.mark.long)
            for attack in ATTACKS
        ),
    ],
)
def test_what_a_cell_writes_is_found_at_the_end_of_the_run(attack: str, sealed: bool, tmp_path: Path) -> None:
    """Also where it writes the seals that belong to it."""
    (tmp_path / "own.py").write_text(WRITES, encoding="utf-8")
    methods = [
        *("exact", "doubling"),
        {"python": "own.py:writes", "label": "mine", "statements": ATTACKS[attack], "sealed": sealed},
    ]
    plan = make_plan(instances=GRID, methods=methods, folder=tmp_path)
    with pytest.raises(SealError, match="rows are not what was written"):
        study.run(plan, tmp_path / "s.sqlite", workers=1)


def test_a_run_into_which_a_cell_wrote_ends_with_exit_7(
    tmp_path: Path, cli: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so does who reads what it wrote."""
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(WRITES, encoding="utf-8")
    Path("p.toml").write_text(
        'format = "dlsched/study/1"\n[[instances]]\nfamily = "ring_allocation"\njobs = 3\ngpus = 16\nseeds = "0:3"\n'
        '[[methods]]\nname = "exact"\n[[methods]]\npython = "own.py:writes"\nlabel = "mine"\n'
        'statements = ["UPDATE result SET objective = 0.5"]\n',
        encoding="utf-8",
    )
    for command in ("run p.toml --workers 1", "show p.study.sqlite", "run p.toml"):
        ended = cli("study", *command.split())
        assert (ended.code, ended.out) == (7, "") and "exact on mixed-3x16-seed0 (seed 0)" in ended.line


def test_a_store_that_a_cell_replaces_is_found(tmp_path: Path) -> None:
    """What stands under its name at the end is compared, not what the leader holds open."""
    (tmp_path / "own.py").write_text(WRITES, encoding="utf-8")
    plan = make_plan(
        instances=GRID, methods=["exact", {"python": "own.py:replaces"}, {"python": "own.py:smallest"}], folder=tmp_path
    )
    with pytest.raises((SealError, InputError)):
        study.run(plan, tmp_path / "s.sqlite", workers=1)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER later AFTER INSERT ON result BEGIN UPDATE result SET objective = 1 WHERE cell = new.cell; END",
        "CREATE VIEW seen AS SELECT 1",
    ],
)
def test_a_trigger_or_view_that_a_cell_leaves_is_found(statement: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(WRITES, encoding="utf-8")
    methods = ["exact", {"python": "own.py:writes", "statements": [statement]}]
    with pytest.raises((SealError, InputError), match=r"not what was written|found a (trigger|view)"):
        study.run(make_plan(instances=GRID, methods=methods, folder=tmp_path), tmp_path / "s.sqlite", workers=1)


def test_a_function_that_leaves_the_store_alone_is_not_blamed(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(WRITES, encoding="utf-8")
    plan = make_plan(instances=GRID, methods=["exact", {"python": "own.py:smallest"}], folder=tmp_path)
    for _ in range(2):
        with study.run(plan, tmp_path / "s.sqlite", workers=2) as done:
            assert done.about.ended == 8


CONTRADICTIONS = {
    "an answer better than the optimum": (
        "UPDATE result SET objective = objective / 2 WHERE status = 'feasible' AND objective IS NOT NULL",
        "is better than the .* that (exact|lagrange) proves",
    ),
    "an optimum without a bound": ("UPDATE result SET bound = NULL WHERE status = 'optimal'", "do not meet"),
    "an optimum beside a bound": ("UPDATE result SET bound = bound * 0.9 WHERE status = 'optimal'", "do not meet"),
    "a bound on the wrong side": (
        "UPDATE result SET bound = objective * 1.1, status = 'time_limit' WHERE status = 'optimal'",
        "is better than its own bound",
    ),
    "an answer to what is infeasible": ("UPDATE result SET status = 'infeasible' WHERE status = 'optimal'", "called infeasible"),
    "an answer of what timed out": ("UPDATE result SET status = 'timeout' WHERE objective IS NOT NULL", "is called timeout"),
    "no answer of what is feasible": ("UPDATE result SET status = 'feasible' WHERE status = 'no_solution'", "neither an answer"),
    "proven infeasible beside an answer": (
        "UPDATE result SET status = 'infeasible' WHERE status = 'no_solution'",
        "proves that there is none",
    ),
    "one bound that answers exclude": (
        "UPDATE result SET bound = bound * 2 WHERE status = 'feasible' AND objective IS NULL",
        "is better than the .* that lagrange proves",
    ),
}  # fmt: skip


@pytest.mark.parametrize("before", [False, True], ids=["with new seals", "without seals"])
@pytest.mark.parametrize("what", CONTRADICTIONS)
def test_rows_that_contradict_themselves_or_each_other_are_refused(what: str, before: bool, store: Path) -> None:
    """Whatever their seals say."""
    statement, words = CONTRADICTIONS[what]
    edit(store, statement)
    as_before(store) if before else seal_anew(store)
    with pytest.raises(DisagreementError, match=words):
        study.open(store)


def test_without_seals_certificates_say_what_was_proven(store: Path) -> None:
    """Rows that agree with each other, and not with the certificates that are kept."""
    edit(store, "UPDATE result SET status = 'optimal', objective = 1.0, bound = 1.0 WHERE objective IS NOT NULL")
    edit(store, "DELETE FROM result WHERE objective IS NULL")
    as_before(store)
    with pytest.raises(DisagreementError, match=r"exact on .*: its bound is 1.0, but its certificate proves "):
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
        seal_anew(other)
        if refused:
            with pytest.raises(DisagreementError):
                study.open(other)
        else:
            study.open(other).close()


@pytest.mark.parametrize("seed", range(7))
def test_random_edits_are_seen(seed: int, store: Path) -> None:
    """A random cell of a random table becomes another of its column."""
    generator = random.Random(seed)
    table, column = generator.choice([each for each in columns() if each[1] not in ("id", "content", "position")])
    with closing(sqlite3.connect(store)) as database, database:
        values = [value for (value,) in database.execute(f"SELECT DISTINCT {column} FROM {table}")]
        if len(values) < 2:
            return
        old, new = generator.sample(values, 2)
        try:
            database.execute(f"UPDATE {table} SET {column} = ? WHERE {column} IS ?", (new, old))
        except sqlite3.IntegrityError:
            return
    with pytest.raises((SealError, InputError)):
        study.open(store)
