"""The decision of ring_allocation: how many GPUs each job gets."""

from collections.abc import Mapping
from dataclasses import dataclass

from dlsched.allocation.counts import plain_counts, read_counts
from dlsched.core.display import Brief
from dlsched.core.files import read_integer
from dlsched.ring_allocation.instance import Instance


@dataclass(frozen=True, slots=True, repr=False)
class Allocation(Brief):
    """GPUs by job id; immutable. NumPy's integers become Python's.

    >>> Allocation({"a": 4, "b": 2}).gpus["a"]
    4
    """

    gpus: Mapping[str, int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "gpus", plain_counts(self.gpus))

    def as_data(self) -> dict[str, dict[str, int]]:
        """Return the allocation as in result files."""
        return {"gpus": dict(self.gpus.items())}


def read_solution(data: object, instance: Instance) -> Allocation:
    """Read the ``solution`` of a result file; InputError if it is not ``{"gpus": {job: integer}}``."""
    del instance
    return Allocation(read_counts(data, "gpus", read_integer))
