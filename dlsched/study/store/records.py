"""Writer of a plan's parts into a store: each part is a row, written once, and found by its hash."""

import json
import os
import platform
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict

from dlsched.core.files import Json, canonical_sha256
from dlsched.study.cells.cell import Cell, versions
from dlsched.study.plans.plan import Plan, PlannedMethod
from dlsched.study.recipes.recipe import Recipe
from dlsched.study.store.packing import kept_seed, pack


class Records:
    """Writes the rows of environments, studies, methods, instances and cells; each returns its id.

    Parameters
    ----------
    database
        The store's.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def environment(self) -> int:
        """Write versions and machine of this process; return the id."""
        data = {"versions": versions(), "machine": _machine()}
        return self._once("environment", canonical_sha256(data), {"data": json.dumps(data)})

    def study(self, plan: Plan, environment: int) -> int:
        """Write a plan, which becomes the study that is shown; return the id."""
        (ran,) = self._database.execute("SELECT coalesce(max(ran), 0) + 1 FROM study").fetchone()
        facts = {"name": plan.name, "plan": plan.text, "reference": plan.reference, "environment": environment}
        limits = json.dumps(asdict(plan.limits))
        study = self._once(
            "study", canonical_sha256(facts), {**facts, "limits": limits, "cells": 0, "instances": 0, "ran": ran}
        )
        self._database.execute("UPDATE study SET ran = ?, limits = ? WHERE id = ?", (ran, limits, study))
        return study

    def method(self, method: PlannedMethod) -> int:
        """Write a method; return the id."""
        data: dict[str, Json] = {
            "label": method.label,
            "kind": method.kind,
            "what": method.what if isinstance(method.what, str) else list(method.what),
            "family": method.family,
            "solver": method.solver,
            "seed": method.seed,
            "parameters": dict(method.parameters),
            "fingerprint": method.fingerprint,
        }
        return self._once("method", canonical_sha256(data), {"label": method.label, "data": json.dumps(data)})

    def instance(self, recipe: Recipe) -> int:
        """Write the recipe of an instance; return the id."""
        data = [recipe.family, recipe.source, recipe.preset, recipe.seed, dict(recipe.data)]
        return self._once(
            "instance",
            canonical_sha256({"recipe": data}),
            {
                "family": recipe.family,
                "source": recipe.source,
                "preset": recipe.preset,
                "seed": kept_seed(recipe.seed),
                "recipe": pack(dict(recipe.data)),
                "content": recipe.content_hash(),
            },
        )

    def cell(self, cell: Cell, instance: int, method: int, limits: str, environment: int) -> int:
        """Write a cell; return the id."""
        facts = {
            "instance": instance,
            "method": method,
            "seed": kept_seed(cell.seed),
            "limits": limits,
            "environment": environment,
        }
        return self._once("cell", cell.key, facts, column="key")

    def _once(self, table: str, value: str, facts: Mapping[str, object], column: str = "hash") -> int:
        """Return the id of the row with that hash; write the row if there is none."""
        found = self._database.execute(f"SELECT id FROM {table} WHERE {column} = ?", (value,)).fetchone()
        if found is not None:
            return int(found[0])
        names = ", ".join([column, *facts])
        marks = ", ".join("?" * (1 + len(facts)))
        cursor = self._database.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", (value, *facts.values()))
        return int(cursor.lastrowid or 0)


def _machine() -> dict[str, Json]:
    return {"system": platform.system(), "machine": platform.machine(), "processors": os.cpu_count()}
