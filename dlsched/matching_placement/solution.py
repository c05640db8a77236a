"""The decision of matching_placement: which workers each job gets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dlsched.core.display import Brief
from dlsched.core.errors import InputError
from dlsched.core.messages import field_path, shown
from dlsched.core.result import FrozenMapping
from dlsched.matching_placement.instance import Instance


@dataclass(frozen=True, slots=True, repr=False)
class Placement(Brief):
    """Ids of the workers by job id; immutable.

    >>> Placement({"a": ["v0", "t0"]}).workers["a"]
    ('v0', 't0')
    """

    workers: Mapping[str, Sequence[str]]

    def __post_init__(self) -> None:
        frozen = FrozenMapping({job: tuple(ids) for job, ids in self.workers.items()})
        object.__setattr__(self, "workers", frozen)

    def as_data(self) -> dict[str, Any]:
        """Return the placement as result files hold it."""
        return {"workers": {job: list(ids) for job, ids in self.workers.items()}}


def read_solution(data: Any, instance: Instance) -> Placement:
    """Read the ``solution`` of a result file; InputError if it is not ``{"workers": {job: [worker, ...]}}``."""
    del instance
    if not isinstance(data, dict) or not isinstance(data.get("workers"), dict):
        raise InputError(where="solution.workers", found="no object", allowed="{job: [worker, ...]}")
    if set(data) != {"workers"}:
        other = next(key for key in data if key != "workers")
        raise InputError(where=field_path(("solution", other)), found="an unknown field", allowed="only workers")
    for job, ids in data["workers"].items():
        where = ("solution", "workers", job)
        if not isinstance(ids, list):
            raise InputError(where=field_path(where), found=shown(ids), allowed="a list of worker ids")
        for index, worker in enumerate(ids):
            if not isinstance(worker, str):
                raise InputError(where=field_path((*where, index)), found=shown(worker), allowed="the id of a worker")
    return Placement(data["workers"])
