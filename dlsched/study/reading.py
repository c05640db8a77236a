"""Reading a store: the rows of the study that ran last, and what it says of itself."""

import functools
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dlsched.core.errors import SolverMissingError
from dlsched.core.files import Json
from dlsched.core.instance import InstanceFile
from dlsched.core.status import Sense
from dlsched.families import FAMILIES, objective_name
from dlsched.study.database import seed_from
from dlsched.study.plans.plan import CellLimits, Recipe
from dlsched.study.plans.sources import instance_of
from dlsched.study.references import Known, against_reference
from dlsched.study.rows import COLUMNS, Row
from dlsched.study.searching import found_before
from dlsched.study.store import Store

if TYPE_CHECKING:
    import pandas as pd

_ROWS = """
SELECT cell.key, coalesce(fact.name, instance.source), family, source, preset, jobs, gpus, instance.seed, method.label,
    status, objective, bound, time_s, cpu_s, memory_mib, message, figures,
    planned.instance, method.data, constant, known_optimum, known_bound, {sense}, {objective_name}
FROM planned JOIN cell ON cell.id = planned.cell JOIN result ON result.cell = planned.cell
JOIN instance ON instance.id = planned.instance LEFT JOIN fact ON fact.content = instance.content
JOIN method ON method.id = planned.method
WHERE study = ? ORDER BY position"""


@dataclass(frozen=True, slots=True)
class About:
    """What a store says of the study that ran last.

    Parameters
    ----------
    name, plan, reference, limits
        As in the plan; ``plan`` is its text.
    cells, instances, ended
        How many there are, and how many cells have a row.
    environment
        Versions by name, and the machine.
    """

    name: str
    plan: str
    reference: str | None
    limits: CellLimits
    cells: int
    instances: int
    ended: int
    environment: Mapping[str, Json]


class Study:
    """A study that ran, whole or in part.

    Parameters
    ----------
    path
        Of its store.

    Raises
    ------
    InputError
        There is no store, or it cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._store = Store(path)
        self._id = self._store.shown

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    @property
    def about(self) -> About:
        """What the store says of it."""
        name, plan, reference, limits, cells, instances, environment = self._store.one(
            "SELECT name, plan, reference, limits, cells, instances, environment.data FROM study"
            " JOIN environment ON environment.id = study.environment WHERE study.id = ?",
            self._id,
        )
        return About(
            *(name, plan, reference, CellLimits(**json.loads(limits)), cells, instances, self._store.ended),
            json.loads(environment),
        )

    def each_row(self) -> Iterator[Row]:
        """The rows in the order of the plan, read as they are needed."""
        reference = self.about.reference
        found = self._store.each(_ROWS.format(**self._store.later), self._id)
        for _, of_instance in groupby(found, key=lambda row: row[17]):
            read = list(of_instance)
            *_, constant, optimum, bound, said, objective = read[0]
            if objective is None and constant is not None:  # of a store from before they said it
                objective = self._objective_of(read[0][17])
            rows = [_row(each, objective or "") for each in read]
            sense = Sense(said) if said else FAMILIES[rows[0].family].sense
            known = Known(constant or 0.0, optimum, bound)
            yield from against_reference(rows, sense, known, reference)

    def _objective_of(self, instance: int) -> str:
        """What the objective of an instance is called, which is made for that; empty where only code of the user's makes it."""
        recipe = self._store.recipe(instance)
        family = FAMILIES[recipe.family]
        if family.objective_of is None or not {"generate", "instance"} & recipe.data.keys():
            return ""
        return objective_name(instance_of(recipe))

    def rows(self) -> list[Row]:
        """The rows in the order of the plan: one a cell that has ended."""
        return list(self.each_row())

    def frame(self) -> "pd.DataFrame":
        """The rows as a data frame of pandas, with the columns of the exports."""
        try:
            import pandas as pd
        except ImportError:
            raise SolverMissingError("a data frame needs pandas: pip install 'dlsched[frames]'") from None
        return pd.DataFrame([row.as_data() for row in self.each_row()], columns=list(COLUMNS))

    def instance(self, key: str) -> InstanceFile:
        """The instance of the cell with that key, made anew, save that what a search found is kept."""
        (environment,) = self._store.one(
            "SELECT data FROM cell JOIN environment ON environment.id = cell.environment WHERE key = ?", key
        )
        return instance_of(found_before(self._store, self.made_by(key)[0], json.loads(environment)["versions"]))

    def solution(self, key: str) -> Json:
        """The solution of the cell with that key as data; None where it has none, or one too large to be kept."""
        (packed,) = self._store.one("SELECT solution FROM result JOIN cell ON cell.id = result.cell WHERE key = ?", key)
        found: Json = None if packed is None else json.loads(zlib.decompress(packed))
        return found

    def made_by(self, key: str) -> tuple[Recipe, Mapping[str, Json], int]:
        """Recipe, method as the plan has it, and seed of the cell with that key."""
        instance, method, seed = self._store.one(
            "SELECT instance, data, cell.seed FROM cell JOIN method ON method.id = cell.method WHERE key = ?", key
        )
        return self._store.recipe(instance), json.loads(method), seed_from(seed) or 0


def open(path: str | os.PathLike[str]) -> Study:
    """Open the store of a study to read it; see ``Study``."""
    return Study(path)


def _row(found: tuple[Any, ...], objective_name: str) -> Row:
    key, instance, family, source, preset, jobs, gpus, seed, method, status, objective, bound, *rest = found
    time_s, cpu_s, memory_mib, message, figures, instance_id, made_as = rest[:7]
    return Row(
        *(key, instance, family, source, preset, jobs, gpus, seed_from(seed), method, status, objective, bound),
        time_s=time_s,
        cpu_s=cpu_s,
        memory_mib=memory_mib,
        message=message,
        figures=json.loads(figures),
        instance_id=instance_id,
        kind=_kind(family, made_as),
        sense=found[-2] or "",
        objective_name=objective_name,
    )


@functools.cache
def _kind(family: str, method: str) -> str:
    """Kind of a method, from its entry in the store."""
    data = json.loads(method)
    return FAMILIES[family].method(data["what"]).kind if data["kind"] == "name" else "heuristic"
