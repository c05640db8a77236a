"""Forgeries of what a store says was run: its study, cells, methods and instances."""

import json
import zlib

from tests.study.forging_hand import REFUSED, Forgery, Hand


class OfPlans(Hand):
    """Forges what was planned."""

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
                "INSERT INTO planned SELECT study, 1000 + position, cell, instance, method FROM planned WHERE"
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
