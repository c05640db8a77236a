"""The reader of a store: rows, instances and solutions of the study that ran last."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Self

from dlsched.core.errors import InputError, UsageError
from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.study.recipes.recipe import Recipe, require_data
from dlsched.study.references import against_reference
from dlsched.study.rows import Row
from dlsched.study.store.packing import seed_from, unpack
from dlsched.study.store.searches import found_before
from dlsched.study.store.store import Store
from dlsched.study.store.stored_rows import About, about_of, method_of, rows_by_instance, versions_of
from dlsched.study.store.verification import require_consistent


class StudyReader:
    """What a study reads of its store; parameters and errors are those of ``Study``."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._held = Store(path)
        self._open = True
        try:
            require_consistent(self._store)
            self._id = self._store.shown
        except BaseException:
            self._store.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        """Close a store that its user did not."""
        with contextlib.suppress(AttributeError, sqlite3.Error):
            self._held.close()

    def close(self) -> None:
        """Close the store."""
        self._open = False
        self._held.close()

    @property
    def _store(self) -> Store:
        """The store, which is open."""
        if not self._open:
            raise UsageError(where="study", found="a closed one", allowed="an open one; study.open opens it")
        return self._held

    @property
    def about(self) -> About:
        """Name, plan, limits, counts and environment of the study."""
        return about_of(self._store)

    def each_instance(self) -> Iterator[list[Row]]:
        """Yield the rows of each instance, without ratios, read on demand."""
        for rows, _, _ in rows_by_instance(self._store):
            yield rows

    def each_row(self) -> Iterator[Row]:
        """Yield the rows in the order of the plan, read on demand."""
        reference = self.about.reference
        for rows, sense, known in rows_by_instance(self._store):
            arguments = self._store.recipe(rows[0].instance_id).parameters
            for row in against_reference(rows, sense, known, reference):
                yield replace(row, arguments=arguments)

    def rows(self) -> list[Row]:
        """The rows in the order of the plan, one for each cell that ended."""
        return list(self.each_row())

    def instance(self, key: str) -> InstanceFile:
        """Return the instance of a cell: by dlsched's generator, or as the store keeps it; no code of a plan is run."""
        (environment,) = self._store.one(
            "SELECT data FROM cell JOIN environment ON environment.id = cell.environment WHERE key = ?", key
        )
        recipe = found_before(self._store, self.made_by(key)[0], versions_of(self._store.path, environment))
        try:
            require_data(recipe)
            return recipe.make()
        except InputError as error:
            raise type(error)(f"{self._store.path}: {error}") from None
        except (AssertionError, AttributeError, KeyError, TypeError) as error:
            raise InputError(
                f"{self._store.path}: the store is damaged: {recipe.source}: found no way to make it ({error!r})"
            ) from None

    def solution(self, key: str) -> Json:
        """Return the solution of a cell as data; None if it has none, or one too large to be stored."""
        (packed,) = self._store.one("SELECT solution FROM result JOIN cell ON cell.id = result.cell WHERE key = ?", key)
        return unpack(self._store.path, packed)

    def made_by(self, key: str) -> tuple[Recipe, Mapping[str, Json], int]:
        """Return recipe, method as in the plan, and seed of a cell."""
        cell = self._store.one(
            "SELECT cell.instance AS instance, method.data AS method, cell.seed AS seed"
            " FROM cell JOIN method ON method.id = cell.method WHERE key = ?",
            key,
        )
        path = self._store.path
        return self._store.recipe(cell["instance"]), method_of(path, cell["method"]), seed_from(path, cell["seed"]) or 0
