"""Forgeries of what a store says of its cells: answers, bounds, how they ended."""

import json
import zlib

from tests.study.forging_hand import ANY, PASSED, REFUSED, Forgery, Hand


class OfResults(Hand):
    """Forges results."""

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
        return Forgery("bound", REFUSED if row[2] == "certificate" else ANY, repr(forged))

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
        return Forgery(f"{row[1]} called {status}", PASSED if empty else REFUSED, status)

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

    def message(self) -> Forgery | None:
        """Another message."""
        row = self.one("SELECT cell FROM result")
        assert row is not None
        self.put("result", "message", "proven beyond doubt", "cell", row[0])
        return Forgery("message", PASSED, "proven beyond doubt")

    def seconds(self) -> Forgery | None:
        """Another time."""
        row = self.one("SELECT cell FROM result WHERE objective IS NOT NULL")
        assert row is not None
        self.put("result", "time_s", 1234.5, "cell", row[0])
        return Forgery("seconds", PASSED, "1234.5")

    def repacked(self) -> Forgery | None:
        """A solution in other bytes, which say the same."""
        row = self.one("SELECT cell, solution FROM result WHERE solution IS NOT NULL")
        assert row is not None
        data = json.loads(zlib.decompress(row[1]))  # type: ignore[arg-type]
        self.put("result", "solution", zlib.compress(json.dumps(data, indent=2).encode(), 1), "cell", row[0])
        return Forgery("solution repacked", PASSED)

    def forgotten(self) -> Forgery | None:
        """A result that is gone: its cell has not run yet."""
        row = self.one("SELECT cell FROM result")
        assert row is not None
        self.database.execute("DELETE FROM result WHERE cell = ?", row)
        return Forgery("result forgotten", PASSED)

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
