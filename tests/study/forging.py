"""The forger of stores, which changes one thing at random and says what has to come of it, and the judge of what came."""

import json
import random
import shutil
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dlsched import study
from dlsched.core.errors import DisagreementError, InputError
from dlsched.results.verification import Verification
from dlsched.study.rows import Row

REFUSED, PASSED, ANY = "refused", "passed", "any"
"""What has to come of a forgery: what is false is refused; what says nothing, or nothing that can be computed, passes."""
STATUSES = ("optimal", "feasible", "infeasible", "no_solution", "time_limit", "timeout", "error", "rejected", "memory")
OF_FACTS = (
    *(("name", "x"), ("sha256", "0" * 64), ("jobs", 99), ("gpus", 99), ("constant", 1.5), ("known_optimum", 1.0)),
    *(("known_bound", 1.0), ("sense", "maximize"), ("sense", "minimize")),
)
OF_METHODS: tuple[dict[str, object], ...] = (
    *({"what": "bound"}, {"solver": "scip"}, {"seed": 5}, {"parameters": {"a": 1}}, {"family": "async_sgd"}),
    {"fingerprint": "0"},
)
OF_INSTANCES = (
    *(("source", "real.csv"), ("preset", "concave"), ("seed", 77), ("seed", None), ("family", "async_sgd")),
    *(("hash", "0" * 64), ("content", "1" * 64)),
)
ROW_OF_PLAN = "FROM planned JOIN result ON result.cell = planned.cell"


@dataclass(frozen=True)
class Forgery:
    """What was done, what has to come of it, and the text that may stand in claimed lines only."""

    what: str
    expected: str
    forged: str = ""


def packed(data: object, level: int = -1) -> bytes:
    """Compress as stores do."""
    return zlib.compress(json.dumps(data).encode(), level)


class NoRow(Exception):  # noqa: N818
    """Raised by a forgery for which the store has no row."""


class Forger:
    """Edits one thing of a store at random."""

    def __init__(self, database: sqlite3.Connection, generator: random.Random) -> None:
        self.database, self.random = database, generator
        self.kinds: tuple[Callable[[], Forgery], ...] = (
            *(self.objective, self.bound, self.answer, self.solution, self.certificate, self.swapped_solutions),
            *(self.swapped_results, self.status, self.figure, self.fact, self.label, self.method, self.cell),
            *(self.planned, self.instance, self.recipe, self.key, self.versions),
            *(self.message, self.seconds, self.dropped, self.source),
        )
        """All that it can do."""
        self.harmless = self.message, self.seconds, self.repacked, self.forgotten
        """What makes nothing false: a check that refuses one of these refuses too much."""

    def forge(self) -> Forgery:
        """Change something; what turns out to change nothing is done again."""
        while True:
            before = list(self.database.iterdump())
            with suppress(NoRow):
                forgery = self.random.choice(self.kinds)()
                if list(self.database.iterdump()) != before:
                    return forgery

    def one(self, query: str) -> tuple[Any, ...]:
        """Return one of the rows of a query."""
        rows = self.database.execute(query).fetchall()
        if not rows:
            raise NoRow
        return self.random.choice(rows)

    def result(self, columns: str, where: str = "1") -> tuple[Any, ...]:
        """Return cell and columns of one of the results."""
        return self.one(f"SELECT cell, {columns} FROM result WHERE {where}")

    def put(self, table: str, column: str, value: object, where: str, key: object) -> None:
        """Change a value."""
        self.database.execute(f"UPDATE {table} SET {column} = ? WHERE {where} = ?", (value, key))

    def number(self, old: float) -> float:
        """Another number, nearer or farther."""
        factor = self.random.choice((0.0, 0.5, 0.9, 0.999, 1 - 1e-5, 1 + 1e-5, 1.001, 1.1, 2.0, -1.0, 1e30))
        return old * factor if old else self.random.choice((1.0, -1.0, 1e-3))

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

    # Answers, bounds, and how cells ended.

    def objective(self) -> Forgery:
        """An objective that is not the answer's."""
        row = self.result("objective", "objective IS NOT NULL")
        self.put("result", "objective", self.number(row[1]), "cell", row[0])
        return Forgery("objective", REFUSED)

    def bound(self) -> Forgery:
        """A bound that the certificate does not prove, or that is less than it proves."""
        row = self.result("bound, bound_source", "bound IS NOT NULL")
        forged = self.number(row[1])
        self.put("result", "bound", forged, "cell", row[0])
        return Forgery("bound", REFUSED if row[2] == "certificate" else ANY, repr(forged))

    def answer(self) -> Forgery:
        """An answer that is called proven; that of an exact method may be."""
        row = self.result("objective", "objective IS NOT NULL AND bound IS NULL")
        source = self.random.choice((None, "certificate", "dlsched knapsack 0.1.0", "HiGHS 1.9"))
        self.database.execute(
            "UPDATE result SET status = 'optimal', bound = objective, bound_source = ? WHERE cell = ?", (source, row[0])
        )
        method = self.one(f"SELECT data FROM cell JOIN method ON method.id = cell.method WHERE cell.id = {row[0]}")
        return Forgery("called optimal", ANY if json.loads(method[0])["what"] == "exact" else REFUSED)

    def solution(self) -> Forgery:
        """One number or entry of a solution changed."""
        row = self.result("solution", "solution IS NOT NULL")
        data = json.loads(zlib.decompress(row[1]))
        self.change(data)
        self.put("result", "solution", packed(data), "cell", row[0])
        return Forgery("solution", ANY)

    def certificate(self) -> Forgery:
        """A certificate that proves more, by its word."""
        row = self.result("certificate", "certificate IS NOT NULL")
        data = json.loads(zlib.decompress(row[1]))
        if self.random.random() < 0.5:
            data["value"] = self.number(data["value"])
        else:
            self.change(data)
        self.put("result", "certificate", packed(data), "cell", row[0])
        return Forgery("certificate", ANY)

    def swapped_solutions(self) -> Forgery:
        """Solutions of two rows swapped; of answers that are as good this may be true."""
        first, second = (self.result("objective, solution", "solution IS NOT NULL") for _ in range(2))
        if first == second:
            raise NoRow
        self.put("result", "solution", second[2], "cell", first[0])
        self.put("result", "solution", first[2], "cell", second[0])
        return Forgery("solutions swapped", ANY if first[1] == second[1] else REFUSED)

    def swapped_results(self) -> Forgery:
        """All that is said of two cells swapped: of two instances, or of two methods, one of which is another then."""
        first, second = self.result("status"), self.result("status")
        if first[0] == second[0]:
            raise NoRow
        for old, new in ((first[0], -1), (second[0], first[0]), (-1, second[0])):
            self.put("result", "cell", new, "cell", old)
        return Forgery("results swapped", ANY)

    def status(self) -> Forgery:
        """Another end."""
        row = self.result("status, objective, bound")
        status = self.random.choice([word for word in STATUSES if word != row[1]])
        self.put("result", "status", status, "cell", row[0])
        empty = row[2] is None and row[3] is None and status not in ("optimal", "feasible", "infeasible")
        return Forgery(f"{row[1]} called {status}", PASSED if empty else REFUSED, status)

    def figure(self) -> Forgery:
        """A figure that is not the answer's, that is missing or too much."""
        row = self.result("figures", "figures != '{}'")
        figures = json.loads(row[1])
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

    def of_a_result(self, what: str, column: str, value: object, expected: str, where: str = "1") -> Forgery:
        """Another value of a column of a result."""
        row = self.result(column, where)
        self.put("result", column, value, "cell", row[0])
        return Forgery(what, expected, "" if value is None else str(value))

    def message(self) -> Forgery:
        """Another message."""
        return self.of_a_result("message", "message", "proven beyond doubt", PASSED)

    def seconds(self) -> Forgery:
        """Another time."""
        return self.of_a_result("seconds", "time_s", 1234.5, PASSED, "objective IS NOT NULL")

    def dropped(self) -> Forgery:
        """A solution that is gone, and an answer that stays."""
        return self.of_a_result("solution dropped", "solution", None, REFUSED, "solution IS NOT NULL")

    def source(self) -> Forgery:
        """A bound of the certificate that is another's, and the other way."""
        row = self.result("bound_source", "bound IS NOT NULL")
        other = "HiGHS 99" if row[1] == "certificate" else "certificate"
        forged = "x\nverified: 1.0" if self.random.random() < 0.5 else other
        self.put("result", "bound_source", forged, "cell", row[0])
        return Forgery("bound_source", REFUSED if "\n" in forged else ANY)

    def repacked(self) -> Forgery:
        """A solution in other bytes, which say the same."""
        row = self.result("solution", "solution IS NOT NULL")
        self.put("result", "solution", packed(json.loads(zlib.decompress(row[1])), 1), "cell", row[0])
        return Forgery("solution repacked", PASSED)

    def forgotten(self) -> Forgery:
        """A result that is gone: its cell has not run yet."""
        row = self.result("status")
        self.database.execute("DELETE FROM result WHERE cell = ?", row[:1])
        return Forgery("result forgotten", PASSED)

    # What was run: cells, methods and instances.

    def fact(self) -> Forgery:
        """Something else of the instance."""
        column, value = self.random.choice(OF_FACTS)
        row = self.one("SELECT content FROM fact")
        self.put("fact", column, value, "content", row[0])
        return Forgery(f"fact {column}", REFUSED)

    def label(self) -> Forgery:
        """A method by another name, that of another one or a new one, in one of the two places that have it."""
        row = self.one("SELECT id, data FROM method")
        label = self.random.choice(("best", "hull", "exact", "doubling", "fifo"))
        if self.random.random() < 0.5:
            self.put("method", "label", label, "id", row[0])
        else:
            self.put("method", "data", json.dumps(json.loads(row[1]) | {"label": label}), "id", row[0])
        return Forgery("label", REFUSED)

    def method(self) -> Forgery:
        """Another method of the family under the same name."""
        row = self.one("SELECT id, data FROM method")
        data = json.loads(row[1]) | self.random.choice(OF_METHODS)
        self.put("method", "data", json.dumps(data), "id", row[0])
        return Forgery("method", REFUSED)

    def cell(self) -> Forgery:
        """A cell of another instance, method or limits."""
        row = self.result("status")
        column = self.random.choice(("instance", "method", "limits"))
        other = self.one(f"SELECT {column} FROM cell") if column != "limits" else ('{"time_s": 1.0}',)
        self.put("cell", column, other[0], "id", row[0])
        return Forgery(f"cell {column}", REFUSED)

    def planned(self) -> Forgery:
        """A row that is shown with another method or instance, or as another cell, or twice."""
        row = self.one(f"SELECT position {ROW_OF_PLAN}")
        column = self.random.choice(("method", "instance", "cell"))
        other = self.one(f"SELECT planned.{column} {ROW_OF_PLAN}")
        if self.random.random() < 0.3:
            self.database.execute(
                "INSERT INTO planned SELECT study, 1000 + position, cell, instance, method FROM planned WHERE"
                " position = ?",
                row,
            )
            return Forgery("a row twice", REFUSED)
        self.put("planned", column, other[0], "position", row[0])
        return Forgery(f"planned {column}", REFUSED)

    def instance(self) -> Forgery:
        """Where an instance is from."""
        row = self.one(f"SELECT DISTINCT instance {ROW_OF_PLAN}")
        column, value = self.random.choice(OF_INSTANCES)
        if column == "content":  # with its facts, or it would be an instance that was never made
            self.database.execute(
                "UPDATE fact SET content = ? WHERE content = (SELECT content FROM instance WHERE id = ?)",
                (value, row[0]),
            )
        self.put("instance", column, value, "id", row[0])
        return Forgery(f"instance {column}", REFUSED)

    def recipe(self) -> Forgery:
        """Another instance: of another seed, or more jobs."""
        row = self.one(
            f"SELECT DISTINCT instance.id, recipe {ROW_OF_PLAN} JOIN instance ON instance.id = planned.instance"
        )
        data = json.loads(zlib.decompress(row[1]))
        name = self.random.choice(("seed", "jobs"))
        data["generate"][name] = (data["generate"].get(name) or 0) + 1
        self.put("instance", "recipe", packed(data), "id", row[0])
        return Forgery("recipe", REFUSED)

    def key(self) -> Forgery:
        """Another key."""
        row = self.result("status")
        self.put("cell", "key", f"{self.random.getrandbits(256):064x}", "id", row[0])
        return Forgery("key", REFUSED)

    def versions(self) -> Forgery:
        """Other versions."""
        row = self.one("SELECT id, data FROM environment")
        data = json.loads(row[1])
        data["versions"]["dlsched"] = "9.9"
        self.put("environment", "data", json.dumps(data), "id", row[0])
        return Forgery("versions", REFUSED)


Key = tuple[str, str]
"""Of a row: its instance and method."""


def checked(path: Path, *, again: bool = False) -> dict[Key, Verification]:
    """What comes of every row; what is false is not hidden by another row of that name."""
    verifications: dict[Key, Verification] = {}

    def take(row: Row, each: Verification) -> None:
        method = row.method
        while (row.instance, method) in verifications:
            method += "'"
        verifications[row.instance, method] = each

    study.check(path, take=take, workers=1, again=again)
    return verifications


def rows_of(path: Path) -> dict[Key, Row]:
    """What a store says."""
    with study.open(path) as opened:
        return {(row.instance, row.method): row for row in opened.rows()}


class Judge:
    """Judges forgeries of a store whose rows are all true; ``folder`` is for copies, beside what its cells need."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.forged = path, folder / "forged"
        self.true, self.rows = checked(path), rows_of(path)
        assert all(self.true.values())

    def campaign(self, count: int, seed: int) -> Counter[str]:
        """Forge the store many times; count what was refused and what passed, in all and by what was forged."""
        seen: Counter[str] = Counter()
        for number in range(count):
            generator = random.Random(f"{seed} {self.path.name} {number}")
            forgery, ended = self.end_of(lambda database, draws=generator: Forger(database, draws).forge())
            seen[ended] += 1
            seen[f"{ended}: {forgery.what}"] += 1
        return seen

    def end_of(self, forge: Callable[[sqlite3.Connection], Forgery]) -> tuple[Forgery, str]:
        """Forge a copy; return what was forged, and ``REFUSED`` or ``PASSED``."""
        shutil.copy(self.path, self.forged)
        with closing(sqlite3.connect(self.forged)) as database, database:
            forgery = forge(database)
        try:
            ended = checked(self.forged)
        except (DisagreementError, InputError) as error:
            assert "\n" not in str(error), forgery
            assert forgery.expected != PASSED, (forgery, error)
            return forgery, REFUSED
        if not all(ended.values()):
            assert forgery.expected != PASSED, (forgery, [each.failures for each in ended.values()])
            return forgery, REFUSED
        assert forgery.expected != REFUSED, forgery
        now = rows_of(self.forged)
        for key, each in ended.items():
            self._require_claimed(forgery, now[key], each, key)
        return forgery, PASSED

    def _require_claimed(self, forgery: Forgery, row: Row, each: Verification, key: Key) -> None:
        """Refuse what passed and says of a row what is not true, save where it is called claimed."""
        about = (forgery, row, each)
        assert each.objective == row.objective  # the checker's own
        if row.bound is not None and each.verified_bound != row.bound:
            gap = abs(row.bound - (each.verified_bound or 0))
            assert each.claimed_bound is not None or gap <= 1e-6 * abs(row.bound), about
        for sentence in (*each.verified, *each.recomputed):
            assert not forgery.forged or forgery.forged not in sentence or forgery.forged in str(self.true[key]), about
        old = self.rows[key]
        same = (row.status, row.objective, row.bound) == (old.status, old.objective, old.bound)
        assert same or each.claimed, about
