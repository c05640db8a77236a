"""Computing stores anew: what was forged with its seals is false, what cannot be computed is called claimed.

A forgery changes a store and seals it anew. What the change is, says what has to come of it: ``REFUSED``, or ``CLAIMED``: it
passes, and stands in the lines that are called claimed, or in no line; or ``ANY``: it may be true.
"""

import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from conftest import Ended

from dlsched import study
from dlsched.core.errors import DisagreementError, InputError, SealError
from dlsched.results.verification import Verification
from dlsched.study import checking
from dlsched.study.cells.cell import Cell
from dlsched.study.cells.outcome import Outcome
from dlsched.study.cells.serving import Runner
from dlsched.study.plans.plan_file import make_plan
from dlsched.study.rows import Row
from tests.study.stores_by_hand import PLANS, as_before, edit, run_store, seal_anew

REFUSED, CLAIMED, ANY = "refused", "claimed", "any"
GRID = {"family": "ring_allocation", "preset": "mixed", "jobs": 3, "gpus": 16, "seeds": "0:4"}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Stores by name, run when they are asked for."""
    folder = tmp_path_factory.mktemp("stores")

    def run(name: str) -> Path:
        path = folder / f"{name}.sqlite"
        return path if path.exists() else run_store(folder, name)

    return run


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have rows computed in this process."""

    def run(cells: Iterator[Cell], workers: int, folder: str) -> Generator[list[Outcome], None, None]:
        runner = Runner(folder)
        for cell in cells:
            yield [runner.run(cell, lambda begun: None)]

    monkeypatch.setattr(checking, "local", SimpleNamespace(run=run))


def checked(path: Path, *, again: bool = False) -> dict[tuple[str, str], Verification]:
    """What comes of every row, by instance and method; what is false is not hidden by another row of that name."""
    found: dict[tuple[str, str], Verification] = {}

    def take(row: Row, each: Verification) -> None:
        method = row.method
        while (row.instance, method) in found:
            method += "'"
        found[row.instance, method] = each

    study.check(path, take=take, workers=1, again=again)
    return found


@pytest.mark.parametrize("name", PLANS)
def test_what_was_run_is_true(name: str, stores: Callable[[str], Path], here: None) -> None:
    """Every row; those of dlsched's own methods again, too."""
    with study.open(stores(name)) as opened:
        rows = {(row.instance, row.method): row for row in opened.rows()}
    for again in (False, True):
        found = checked(stores(name), again=again)
        assert set(found) == set(rows) and not [each.failures for each in found.values() if not each]
    for key, each in found.items():
        assert each.objective == rows[key].objective
        assert (each.verified_bound is None) <= (each.claimed_bound == rows[key].bound)
        held = rows[key].objective is not None or each.verified_bound is not None or rows[key].status == "infeasible"
        assert bool(each.verified) == held


def test_rows_without_an_answer_are_claimed(stores: Callable[[str], Path], here: None) -> None:
    found = checked(stores("ring"))
    claimed = [each for each in found.values() if not each.verified]
    assert len(claimed) == 3 and all(each.claimed == ["it ended as no_solution"] for each in claimed)


def test_a_store_of_before_can_be_computed_anew(stores: Callable[[str], Path], tmp_path: Path, here: None) -> None:
    """Who proved a bound is not known of it."""
    path = Path(shutil.copy(stores("ring"), tmp_path / "s"))
    as_before(path)
    assert all(checked(path).values())


def test_instances_that_searches_found_and_those_that_functions_draw(tmp_path: Path, here: None) -> None:
    """And instance files; of another instance in the place of one that was found nothing is true."""
    (tmp_path / "mine.py").write_text(
        "from dlsched import ring_allocation\n\ndef draw(seed, jobs):\n"
        "    return ring_allocation.generate(jobs=jobs, gpus=8, seed=seed + 100)\n",
        encoding="utf-8",
    )
    import dlsched

    dlsched.write(dlsched.ring_allocation.example(), tmp_path / "one.json")
    sources = [
        {"family": "ring_allocation", "worst": "doubling", "jobs": 2, "gpus": 8, "budget": 30, "seeds": "0:2"},
        {"family": "ring_allocation", "python": "mine.py:draw", "jobs": 3, "seeds": "0:2"},
        {"files": ["one.json"]},
    ]
    plan = make_plan(instances=sources, methods=["exact", "doubling"], folder=tmp_path)
    study.run(plan, tmp_path / "s", workers=1).close()
    assert len(checked(tmp_path / "s")) == 10 and all(checked(tmp_path / "s").values())
    other = dlsched.ring_allocation.generate(jobs=2, gpus=8, seed=9).as_data()
    packed = zlib.compress(json.dumps(other).encode()).hex()
    edit(tmp_path / "s", f"UPDATE found SET instance = x'{packed}'")
    seal_anew(tmp_path / "s")
    false = [key for key, each in checked(tmp_path / "s").items() if not each]
    assert len(false) == 4


def test_the_command_says_what_is_what(
    stores: Callable[[str], Path], tmp_path: Path, cli: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table and lists of sentences, exit 0; a false row is named, exit 7; in processes of their own."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(stores("ring"), "s")
    shutil.copy(stores("ring").with_name("own.py"), "own.py")
    ended = cli("study", "check", "s", "--workers", "2")
    assert (ended.code, ended.err) == (0, "")
    said = {line.split()[1]: line.split()[2:] for line in ended.out.splitlines() if line.startswith(" ring_allocation")}
    assert set(said) == {"exact", "doubling", "fixed", "lagrange", "mine"}
    assert said["doubling"] == ["6", "6", "6", "0", "0"] and said["fixed"] == ["6", "3", "6", "3", "0"]
    listed = cli("study", "check", "s", "--workers", "1", "--json").json
    assert len(listed) == 30 and {"key", "instance", "method", "verified", "recomputed", "claimed", "failures"} <= set(
        listed[0]
    )
    edit(
        Path("s"),
        "UPDATE result SET solution = (SELECT solution FROM result WHERE cell = 3) WHERE cell = 2",
        "UPDATE result SET objective = objective * 1.5 WHERE cell = 7",
    )
    seal_anew(Path("s"))
    ended = cli("study", "check", "s", "--workers", "1")
    assert ended.code == 7 and ended.err == ""
    assert "FAILED  doubling on mixed-2x3-seed1 (seed 1): objective: " in ended.out
    assert cli("study", "show", "s").code == 0  # the seals say nothing


def test_ctrl_c_ends_it_with_what_was_computed(tmp_path: Path) -> None:
    """And leaves nothing behind."""
    (tmp_path / "mine.py").write_text(
        "import os, time\nfrom dlsched import ring_allocation\n\ndef draw(seed):\n"
        "    while seed > 0 and os.path.exists('stop'):\n        time.sleep(0.01)\n"
        "    return ring_allocation.generate(jobs=3, gpus=8, seed=seed)\n",
        encoding="utf-8",
    )
    source = {"family": "ring_allocation", "python": "mine.py:draw", "seeds": "0:3"}
    study.run(make_plan(instances=source, methods=["doubling", "equal"], folder=tmp_path), tmp_path / "s", workers=1)
    (tmp_path / "stop").touch()
    command = [sys.executable, "-m", "dlsched", "study", "check", "s", "--workers", "1", "--json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        process = psutil.Process(running.pid)
        while len(process.children(recursive=True)) < 2:
            assert running.poll() is None
            time.sleep(0.02)
        time.sleep(2.0)  # its process computes the rows of seed 0, and waits within the next instance
        started = process.children(recursive=True)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert running.returncode == 5 and err.startswith("dlsched: interrupted; ") and err.count("\n") == 1
    assert all(not each["failures"] for each in json.loads(out))
    _, alive = psutil.wait_procs(started, timeout=30)
    assert not [each for each in alive if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]


@dataclass(frozen=True)
class Forgery:
    """What was done, what has to come of it, and the text that may stand in claimed lines only."""

    what: str
    expected: str
    forged: str = ""


class Forger:
    """Edits one thing of a store, at random.

    Parameters
    ----------
    database
        The store's.
    generator
        Draws.
    """

    def __init__(self, database: sqlite3.Connection, generator: random.Random) -> None:
        self.database, self.random = database, generator
        self.kinds: Sequence[Callable[[], Forgery | None]] = (
            *(self.objective, self.bound, self.answer, self.solution, self.certificate, self.swapped_solutions),
            *(
                self.swapped_results,
                self.status,
                self.figure,
                self.fact,
                self.label,
                self.method,
                self.cell,
                self.planned,
            ),
            *(self.instance, self.recipe, self.key, self.versions, self.limits, self.study, self.message, self.seconds),
            *(self.dropped, self.source),
        )

    def forge(self) -> Forgery:
        """Change something; what turns out to change nothing is done again."""
        while True:
            before = list(self.database.iterdump())
            found = self.random.choice(self.kinds)()
            if found is not None and list(self.database.iterdump()) != before:
                return found

    def one(self, query: str) -> tuple[object, ...] | None:
        """One of the rows that a query finds."""
        found = self.database.execute(query).fetchall()
        return self.random.choice(found) if found else None

    def put(self, table: str, column: str, value: object, where: str, key: object) -> None:
        """Change a value."""
        self.database.execute(f"UPDATE {table} SET {column} = ? WHERE {where} = ?", (value, key))

    def number(self, old: float) -> float:
        """Another number, nearer or farther."""
        factor = self.random.choice((0.0, 0.5, 0.9, 0.999, 1 - 1e-5, 1 + 1e-5, 1.001, 1.1, 2.0, -1.0, 1e30))
        return old * factor if old else self.random.choice((1.0, -1.0, 1e-3))

    def objective(self) -> Forgery | None:
        """An objective that is not the answer's."""
        row = self.one("SELECT cell, objective FROM result WHERE objective IS NOT NULL")
        if row is None:
            return None
        self.put("result", "objective", self.number(row[1]), "cell", row[0])  # type: ignore[arg-type]
        return Forgery("objective", REFUSED)

    def bound(self) -> Forgery | None:
        """A bound that the certificate does not prove, or that is less than it proves."""
        row = self.one("SELECT cell, bound, bound_source, certificate IS NULL FROM result WHERE bound IS NOT NULL")
        if row is None:
            return None
        forged = self.number(row[1])  # type: ignore[arg-type]
        self.put("result", "bound", forged, "cell", row[0])
        return Forgery("bound", REFUSED if row[2] == "certificate" else CLAIMED, repr(forged))

    def answer(self) -> Forgery | None:
        """An answer that is called proven."""
        row = self.one("SELECT cell, objective FROM result WHERE objective IS NOT NULL AND bound IS NULL")
        if row is None:
            return None
        source = self.random.choice((None, "certificate", "dlsched knapsack 0.1.0", "HiGHS 1.9"))
        self.database.execute(
            "UPDATE result SET status = 'optimal', bound = objective, bound_source = ? WHERE cell = ?", (source, row[0])
        )
        return Forgery("called optimal", ANY if self.exact(row[0]) else REFUSED)

    def exact(self, cell: object) -> bool:
        """Whether the method of a cell is an exact one."""
        (data,) = self.database.execute(
            "SELECT data FROM cell JOIN method ON method.id = cell.method WHERE cell.id = ?", (cell,)
        ).fetchone()
        return bool(json.loads(data)["what"] == "exact")

    def solution(self) -> Forgery | None:
        """One number or entry of a solution changed."""
        row = self.one("SELECT cell, solution FROM result WHERE solution IS NOT NULL")
        if row is None:
            return None
        data = json.loads(zlib.decompress(row[1]))  # type: ignore[arg-type]
        self.change(data)
        self.put("result", "solution", zlib.compress(json.dumps(data).encode()), "cell", row[0])
        return Forgery("solution", ANY)

    def change(self, data: object) -> None:
        """Change one value inside."""
        places, stack = [], [data]
        while stack:
            each = stack.pop()
            for key, value in each.items() if isinstance(each, dict) else enumerate(each):  # type: ignore[arg-type]
                if isinstance(value, dict | list):
                    stack.append(value)
                else:
                    places.append((each, key))
        if places:
            inside, key = self.random.choice(places)
            value = inside[key]
            inside[key] = value + 1 if isinstance(value, int | float) else "x" if isinstance(value, str) else 7

    def certificate(self) -> Forgery | None:
        """A certificate that proves more, by its word."""
        row = self.one("SELECT cell, certificate FROM result WHERE certificate IS NOT NULL")
        if row is None:
            return None
        data = json.loads(zlib.decompress(row[1]))  # type: ignore[arg-type]
        if self.random.random() < 0.5:
            data["value"] = self.number(data["value"])
        else:
            self.change(data)
        self.put("result", "certificate", zlib.compress(json.dumps(data).encode()), "cell", row[0])
        return Forgery("certificate", ANY)

    def swapped_solutions(self) -> Forgery | None:
        """Solutions of two rows swapped."""
        return self.swap("solution", "SELECT cell, objective FROM result WHERE solution IS NOT NULL")

    def swap(self, column: str, query: str) -> Forgery | None:
        """The same column of two rows swapped; of answers that are as good this may be true."""
        first, second = self.one(query), self.one(query)
        if first is None or second is None or first == second:
            return None
        (a,), (b,) = (
            self.database.execute(f"SELECT {column} FROM result WHERE cell = ?", (each[0],)).fetchone()
            for each in (first, second)
        )
        self.put("result", column, b, "cell", first[0])
        self.put("result", column, a, "cell", second[0])
        return Forgery(f"{column}s swapped", ANY if first[1] == second[1] else REFUSED)

    def swapped_results(self) -> Forgery | None:
        """All that is said of two cells swapped: of two instances, or of two methods, one of which is another then."""
        query = "SELECT result.cell, instance, status FROM result JOIN cell ON cell.id = result.cell"
        first, second = self.one(query), self.one(query)
        if first is None or second is None or first[0] == second[0]:
            return None
        for old, new in ((first[0], -1), (second[0], first[0]), (-1, second[0])):
            self.put("result", "cell", new, "cell", old)
        return Forgery("results swapped", ANY)

    def status(self) -> Forgery | None:
        """Another end."""
        row = self.one("SELECT cell, status, objective, bound FROM result")
        assert row is not None
        words = [
            "optimal",
            "feasible",
            "infeasible",
            "no_solution",
            "time_limit",
            "timeout",
            "error",
            "rejected",
            "memory",
        ]
        status = self.random.choice([word for word in words if word != row[1]])
        self.put("result", "status", status, "cell", row[0])
        empty = row[2] is None and row[3] is None and status not in ("optimal", "feasible", "infeasible")
        return Forgery(f"{row[1]} called {status}", CLAIMED if empty else REFUSED, status)

    def figure(self) -> Forgery | None:
        """A figure that is not the answer's, that is missing or too much."""
        row = self.one("SELECT cell, figures FROM result WHERE figures != '{}'")
        if row is None:
            return None
        figures = json.loads(str(row[1]))
        name = self.random.choice(list(figures))
        how = self.random.randrange(3)
        if how == 0:
            figures[name] = self.number(figures[name])
        elif how == 1:
            del figures[name]
        else:
            figures["beauty"] = 1.0
        self.put("result", "figures", json.dumps(figures), "cell", row[0])
        return Forgery("figure", REFUSED)

    def fact(self) -> Forgery | None:
        """Something else of the instance."""
        column, value = self.random.choice(
            [("name", "x"), ("sha256", "0" * 64), ("jobs", 99), ("gpus", 99), ("constant", 1.5), ("known_optimum", 1.0),
             ("known_bound", 1.0), ("sense", "maximize"), ("sense", "minimize")]
        )  # fmt: skip
        row = self.one("SELECT content FROM fact")
        assert row is not None
        self.put("fact", column, value, "content", row[0])
        return Forgery(f"fact {column}", REFUSED)

    def label(self) -> Forgery | None:
        """A method by another name: that of another one, or a new one; twice, as the store has it twice."""
        row = self.one("SELECT id, data FROM method")
        assert row is not None
        label = self.random.choice(("best", "hull", "exact", "doubling", "fifo"))
        data = json.loads(str(row[1])) | {"label": label}
        self.put("method", "label", label, "id", row[0])
        if self.random.random() < 0.7:
            self.put("method", "data", json.dumps(data), "id", row[0])
        return Forgery("label", REFUSED)

    def method(self) -> Forgery | None:
        """Another method of the family under the same name."""
        row = self.one("SELECT id, data FROM method")
        assert row is not None
        data = json.loads(str(row[1]))
        data |= self.random.choice(
            ({"what": "bound"}, {"solver": "scip"}, {"seed": 5}, {"parameters": {"a": 1}}, {"family": "async_sgd"},
             {"fingerprint": "0"})
        )  # fmt: skip
        self.put("method", "data", json.dumps(data), "id", row[0])
        return Forgery("method", REFUSED)

    def cell(self) -> Forgery | None:
        """A cell of another instance, method or limits."""
        row = self.one("SELECT cell FROM result")
        column = self.random.choice(("instance", "method", "limits"))
        other = self.one(f"SELECT {column} FROM cell") if column != "limits" else ('{"time_s": 1.0}',)
        assert row is not None and other is not None
        self.put("cell", column, other[0], "id", row[0])
        return Forgery(f"cell {column}", REFUSED)

    def planned(self) -> Forgery | None:
        """A row that is shown with another method or instance, or as another cell, or twice."""
        row = self.one("SELECT position FROM planned JOIN result ON result.cell = planned.cell")
        column = self.random.choice(("method", "instance", "cell"))
        other = self.one(f"SELECT planned.{column} FROM planned JOIN result ON result.cell = planned.cell")
        assert row is not None and other is not None
        if self.random.random() < 0.3:
            self.database.execute(
                "INSERT INTO planned SELECT study, 1000 + position, cell, instance, method, NULL FROM planned WHERE"
                " position = ?",
                row,
            )
            return Forgery("a row twice", REFUSED)
        self.put("planned", column, other[0], "position", row[0])
        return Forgery(f"planned {column}", REFUSED)

    def instance(self) -> Forgery | None:
        """Where an instance is from."""
        row = self.one("SELECT DISTINCT instance FROM planned JOIN result ON result.cell = planned.cell")
        column, value = self.random.choice(
            [("source", "real.csv"), ("preset", "concave"), ("seed", 77), ("seed", None), ("family", "async_sgd"),
             ("hash", "0" * 64), ("content", "1" * 64)]
        )  # fmt: skip
        assert row is not None
        if column == "content":  # with its facts, or it would be an instance that was never made
            self.database.execute(
                "UPDATE fact SET content = ? WHERE content = (SELECT content FROM instance WHERE id = ?)",
                (value, row[0]),
            )
        self.put("instance", column, value, "id", row[0])
        return Forgery(f"instance {column}", REFUSED)

    def recipe(self) -> Forgery | None:
        """Another instance: of another seed, or more jobs."""
        row = self.one("SELECT DISTINCT instance.id, recipe FROM instance JOIN planned ON instance.id = planned.instance"
                       " JOIN result ON result.cell = planned.cell")  # fmt: skip
        assert row is not None
        data = json.loads(zlib.decompress(row[1]))  # type: ignore[arg-type]
        name = self.random.choice(("seed", "jobs"))
        data["generate"][name] = (data["generate"].get(name) or 0) + 1
        self.put("instance", "recipe", zlib.compress(json.dumps(data).encode()), "id", row[0])
        return Forgery("recipe", REFUSED)

    def key(self) -> Forgery | None:
        """Another key."""
        row = self.one("SELECT cell FROM result")
        assert row is not None
        self.put("cell", "key", f"{self.random.getrandbits(256):064x}", "id", row[0])
        return Forgery("key", REFUSED)

    def versions(self) -> Forgery | None:
        """Other versions."""
        row = self.one("SELECT id, data FROM environment")
        assert row is not None
        data = json.loads(str(row[1]))
        data["versions"]["dlsched"] = "9.9"
        self.put("environment", "data", json.dumps(data), "id", row[0])
        return Forgery("versions", REFUSED)

    def limits(self) -> Forgery | None:
        """Other limits of the cells that the figures know."""
        self.database.execute("UPDATE study SET limits = replace(limits, '3600.0', '1.0')")
        return Forgery("limits", REFUSED)

    def study(self) -> Forgery | None:
        """Another name, or reference, or fewer cells than there are."""
        column, value = self.random.choice([("name", "another"), ("reference", "doubling"), ("cells", 1)])
        self.database.execute(f"UPDATE study SET {column} = ?", (value,))
        return Forgery(f"study {column}", REFUSED)

    def message(self) -> Forgery | None:
        """Another message."""
        row = self.one("SELECT cell FROM result")
        assert row is not None
        self.put("result", "message", "proven beyond doubt", "cell", row[0])
        return Forgery("message", CLAIMED, "proven beyond doubt")

    def seconds(self) -> Forgery | None:
        """Another time."""
        row = self.one("SELECT cell FROM result WHERE objective IS NOT NULL")
        assert row is not None
        self.put("result", "time_s", 1234.5, "cell", row[0])
        return Forgery("seconds", CLAIMED, "1234.5")

    def dropped(self) -> Forgery | None:
        """A solution that is gone, and an answer that stays."""
        row = self.one("SELECT cell FROM result WHERE solution IS NOT NULL")
        assert row is not None
        self.put("result", "solution", None, "cell", row[0])
        return Forgery("solution dropped", REFUSED)

    def source(self) -> Forgery | None:
        """A bound of the certificate that is another's, and the other way."""
        row = self.one("SELECT cell, bound_source, certificate IS NULL FROM result WHERE bound IS NOT NULL")
        if row is None:
            return None
        forged = (
            "x\nverified: 1.0"
            if self.random.random() < 0.5
            else "HiGHS 99"
            if row[1] == "certificate"
            else "certificate"
        )
        self.put("result", "bound_source", forged, "cell", row[0])
        return Forgery("bound_source", REFUSED if "\n" in forged else ANY)


def judge(
    path: Path, forgery: Forgery, true: dict[tuple[str, str], Verification], rows: dict[tuple[str, str], Row]
) -> str:
    """Read and check a forged store; return ``refused`` or ``passed``, and hold what passes against what is true."""
    try:
        found = checked(path)
    except (SealError, DisagreementError, InputError) as error:
        assert "\n" not in str(error), forgery
        return REFUSED
    if not all(found.values()):
        return REFUSED
    assert forgery.expected != REFUSED, forgery
    with study.open(path) as opened:
        now = {(row.instance, row.method): row for row in opened.rows()}
    for key, each in found.items():
        row = now[key]
        assert each.objective == row.objective  # the checker's own
        if row.bound is not None and (each.verified_bound is None or each.verified_bound != row.bound):
            meets = each.claimed_bound is not None or abs(row.bound - (each.verified_bound or 0)) <= 1e-6 * abs(
                row.bound
            )
            assert meets, (forgery, each)
        for sentence in (*each.verified, *each.recomputed):
            assert not forgery.forged or forgery.forged not in sentence or forgery.forged in str(true[key]), (
                forgery,
                each,
            )
        same = (row.status, row.objective, row.bound) == (rows[key].status, rows[key].objective, rows[key].bound)
        assert same or each.claimed, (forgery, row, each)
    return "passed"


def campaign(path: Path, folder: Path, count: int, seed: int) -> Counter[str]:
    """Forge a store many times."""
    true = checked(path)
    with study.open(path) as opened:
        rows = {(row.instance, row.method): row for row in opened.rows()}
    assert all(true.values())
    seen: Counter[str] = Counter()
    for number in range(count):
        generator = random.Random(f"{seed} {path.name} {number}")
        forged = folder / "forged"
        shutil.copy(path, forged)
        with closing(sqlite3.connect(forged)) as database, database:
            forgery = Forger(database, generator).forge()
        seal_anew(forged)
        ended = judge(forged, forgery, true, rows)
        seen[ended] += 1
        seen[f"{ended}: {forgery.what}"] += 1
    return seen


@pytest.mark.parametrize("name", PLANS)
def test_forged_stores_are_refused_or_what_is_forged_is_called_claimed(
    name: str, stores: Callable[[str], Path], tmp_path: Path, here: None
) -> None:
    """A sample."""
    shutil.copy(stores("ring").with_name("own.py"), tmp_path / "own.py")
    seen = campaign(stores(name), tmp_path, 25, 1)
    assert seen["refused"] > 2 * seen["passed"] and seen["refused"] + seen["passed"] == 25


@pytest.mark.long
def test_many_forged_stores(stores: Callable[[str], Path], tmp_path: Path, here: None) -> None:
    """Two thousand: none is accepted in which a row says what is not claimed and not true."""
    shutil.copy(stores("ring").with_name("own.py"), tmp_path / "own.py")
    seen: Counter[str] = Counter()
    for name in PLANS:
        seen += campaign(stores(name), tmp_path, 500, 2)
    print(dict(seen))
    assert seen["refused"] + seen["passed"] == 2000 and seen["passed"] < 500


def test_results_of_two_methods_that_are_swapped_do_not_come_again(
    stores: Callable[[str], Path], tmp_path: Path, here: None
) -> None:
    """Each is true of its instance; only who runs the methods again sees that others found them."""
    path = Path(shutil.copy(stores("gangs"), tmp_path / "s"))
    shown = checked(path)
    ours, theirs = (shown["mixed-3x16-seed0", method].objective for method in ("a-srpt", "fifo"))
    edit(
        path,
        "UPDATE result SET cell = -1 WHERE cell = 2",
        "UPDATE result SET cell = 2 WHERE cell = 3",
        "UPDATE result SET cell = 3 WHERE cell = -1",
    )
    seal_anew(path)
    assert all(checked(path).values())
    assert ours == theirs or len([each for each in checked(path, again=True).values() if not each]) == 2
