"""Stores that were run, and what hands can do to them: damage of every kind, and edits."""

import json
import os
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from dlsched import study
from dlsched.study.plans.plan_file import make_plan
from dlsched.study.store.tables import LATER, TABLES

OWN = "def smallest(instance):\n    return {'gpus': {j.id: min(j.epoch_time_s) for j in instance.jobs}}\n"
PLANS: Mapping[str, Mapping[str, object]] = {
    "ring": {
        "instances": [{"family": "ring_allocation", "preset": "mixed", "jobs": [2, 4], "gpus": 3, "seeds": "0:3"}],
        "methods": ["exact", "doubling", "fixed", "lagrange", {"python": "own.py:smallest", "label": "mine"}],
    },
    "gangs": {
        "instances": [{"family": "srpt_mapping", "jobs": 3, "gpus": 16, "seeds": "0:3"}],
        "methods": ["exact", "a-srpt", "fifo", "machine"],
    },
    "rings": {
        "instances": [{"family": "ring_embedding", "preset": "small", "jobs": 3, "seeds": "0:2"}],
        "methods": ["exact", "fifo", "las", "columns"],
    },
    "streams": {
        "instances": [{"family": "elastic_stream", "jobs": 2, "gpus": 8, "seeds": "0:2"}],
        "methods": ["plan", "doubling", "srpt-knee", "bound"],
    },
}
"""Studies of a few cells: less is better, or more; with a constant; plans in hindsight; ends without an answer."""
NAMES = [pytest.param(name, marks=pytest.mark.long if name == "rings" else ()) for name in PLANS]
"""Of the plans, for parameters; the slowest one is of the campaigns."""


def run_store(folder: Path, name: str) -> Path:
    """Run one of the plans, each cell stopped by nodes and never by the clock, and return its store."""
    (folder / "own.py").write_text(OWN, encoding="utf-8")
    limits = {"time_s": 3600.0, "nodes": 500}
    plan = make_plan(name=name, limits=limits, folder=folder, **PLANS[name])  # type: ignore[arg-type]
    study.run(plan, folder / f"{name}.sqlite", workers=1).close()
    return folder / f"{name}.sqlite"


def as_before(path: Path) -> None:
    """Take from a store what came after the first ones."""
    with closing(sqlite3.connect(path)) as database, database:
        for table, column, _ in LATER:
            database.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        database.execute("DROP TABLE found")


def edit(path: Path, *statements: str) -> None:
    """Carry out statements."""
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)


def with_seals(path: Path) -> None:
    """Give every table but that of cells a column of seals, as stores had for a while."""
    edit(
        path,
        *(f"ALTER TABLE {table.name} ADD COLUMN seal BLOB" for table in TABLES if table.name != "cell"),
        *(f"UPDATE {table.name} SET seal = randomblob(32)" for table in TABLES if table.name != "cell"),
    )


def sql(*statements: str) -> Callable[[Path], None]:
    """Damage by statements."""
    return lambda path: edit(path, *statements)


def cut(size: float) -> Callable[[Path], None]:
    """Damage by cutting off: the bytes that stay, or the part of them."""
    return lambda path: os.truncate(path, int(size if size >= 1 else size * path.stat().st_size))


def bytes_at(place: float, content: bytes) -> Callable[[Path], None]:
    """Damage by other bytes, at a part of the file."""

    def damage(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(int(place * path.stat().st_size))
            file.write(content)

    return damage


def replaced(content: bytes) -> Callable[[Path], None]:
    """Damage by another file."""
    return lambda path: path.write_bytes(content) and None


def directory(path: Path) -> None:
    """A folder in its place."""
    path.unlink()
    path.mkdir()


def dangling(path: Path) -> None:
    """A link to nothing."""
    path.unlink()
    path.symlink_to(path.parent / "nowhere" / "s")


def pipe(path: Path) -> None:
    """A named pipe, from which reading would wait for ever."""
    path.unlink()
    os.mkfifo(path)


def foreign(path: Path) -> None:
    """Another program's database."""
    path.unlink()
    edit(path, "CREATE TABLE mine (value)")


def foreign_log(path: Path) -> None:
    """The log of another database beside it, whole: it makes its pages those of the other one."""
    other = path.with_name("other")
    database = sqlite3.connect(other)
    database.execute("PRAGMA journal_mode=WAL")
    for number in range(40):
        database.execute(f"CREATE TABLE t{number} (value)")
    database.commit()
    shutil.copy(f"{other}-wal", f"{path}-wal")
    database.close()
    other.unlink()
    edit_header = path.read_bytes()
    path.write_bytes(edit_header[:18] + b"\x02\x02" + edit_header[20:])  # a database with a log


NESTED = "[" * 100_000
FILES: Mapping[str, Callable[[Path], None]] = {
    "cut to its header": cut(100),
    "cut within the header": cut(50),
    "cut in the middle": cut(0.5),
    "cut near the end": cut(0.9),
    "text": replaced(b"no database at all, but long enough to be read as one\n" * 100),
    "zeros": replaced(bytes(8192)),
    "a header alone": replaced(b"SQLite format 3\0" + bytes(84)),
    "garbage in the header": bytes_at(0.0, b"SQLite format 4\0"),
    "garbage in the schema": bytes_at(0.03, b"\xff" * 1500),
    "garbage in a page": bytes_at(0.5, b"\xa5" * 6000),
    "garbage at two thirds": bytes_at(0.66, b"\x00\x83" * 4000),
    "a folder": directory,
    "a link to nothing": dangling,
    "a pipe": pipe,
    "another program's": foreign,
    "another log": foreign_log,
    "version 99": sql("PRAGMA user_version = 99"),
    "version 0": sql("PRAGMA user_version = 0"),
    "a view": sql("ALTER TABLE result RENAME TO kept", "CREATE VIEW result AS SELECT * FROM kept"),
    "a trigger": sql("CREATE TRIGGER later AFTER INSERT ON result BEGIN UPDATE result SET objective = 1; END"),
    **{
        f"no table {table}": sql("PRAGMA foreign_keys=OFF", f"DROP TABLE {table}")
        for table in sorted({each.name for each in TABLES} - {"found"})
    },
    **{
        f"no column {table}.{column}": sql(f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
        for table, column in (
            *(("result", "figures"), ("fact", "name"), ("study", "plan"), ("planned", "method"), ("cell", "key")),
            *(("instance", "recipe"), ("environment", "data"), ("method", "label")),
        )
    },
}
"""Damage to the file or to its tables."""
EDITS = json.loads((Path(__file__).parent / "edits.json").read_text(encoding="utf-8"))
"""Statements: damages, and contradictions with the words that refuse them."""
VALUES: Mapping[str, Callable[[Path], None]] = {
    **{what: sql(*statements.split("; ")) for what, statements in EDITS["damages"].items()},
    "figures nested deeply": sql(f"UPDATE result SET figures = '{NESTED}'"),
    "a recipe of no JSON": sql(f"UPDATE instance SET recipe = x'{zlib.compress(b'{').hex()}'"),
    "a recipe of a list": sql(f"UPDATE instance SET recipe = x'{zlib.compress(b'[]').hex()}'"),
}
"""Damage to what rows say."""
EVIDENCE: Mapping[str, Callable[[Path], None]] = {
    "a solution cut short": sql("UPDATE result SET solution = substr(solution, 1, 20) WHERE solution IS NOT NULL"),
    "a certificate of other bytes": sql("UPDATE result SET certificate = x'789c00'"),
    "a solution larger than its bytes may hold": sql(
        f"UPDATE result SET solution = x'{zlib.compress(b'[' + b' ' * (1 << 20) + b']').hex()}'"
    ),
}
"""Damage to what only a check reads."""
