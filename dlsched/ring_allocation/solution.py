"""The decision of ring_allocation: how many GPUs each job gets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from dlsched.core.errors import InputError
from dlsched.core.frozen import FrozenMapping
from dlsched.core.messages import field_path, shown
from dlsched.ring_allocation.instance import Instance


@dataclass(frozen=True, slots=True)
class Allocation:
    """GPUs by job id; immutable. NumPy's integers become Python's.

    >>> Allocation({"a": 4, "b": 2}).gpus["a"]
    4
    """

    gpus: Mapping[str, int] = field()

    def __post_init__(self) -> None:
        plain = {
            job: int(n) if isinstance(n, Integral) and not isinstance(n, bool) else n for job, n in self.gpus.items()
        }
        object.__setattr__(self, "gpus", FrozenMapping(plain))

    def as_data(self) -> dict[str, Any]:
        """Return the allocation as result files hold it."""
        return {"gpus": dict(self.gpus)}


def read_solution(data: Any, instance: Instance) -> Allocation:
    """Read the ``solution`` of a result file; whether it is feasible is the checker's question.

    Raises
    ------
    InputError
        It is not ``{"gpus": {job: integer}}``.
    """
    del instance
    if not isinstance(data, dict) or not isinstance(data.get("gpus"), dict):
        raise InputError("solution.gpus: found no object, allowed: {job: number of GPUs}")
    if set(data) != {"gpus"}:
        other = next(key for key in data if key != "gpus")
        raise InputError(f"{field_path(('solution', other))}: found an unknown field, allowed: only gpus")
    for job, count in data["gpus"].items():
        if not isinstance(count, int) or isinstance(count, bool):
            where = field_path(("solution", "gpus", job))
            raise InputError(f"{where}: found {shown(count)}, allowed: an integer")
    return Allocation(data["gpus"])
