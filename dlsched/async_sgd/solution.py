"""The decision of async_sgd: how many nodes work for each job."""

from collections.abc import Mapping
from dataclasses import dataclass

from dlsched.allocation.counts import plain_counts, read_counts
from dlsched.async_sgd.instance import Instance
from dlsched.core.display import Brief


@dataclass(frozen=True, slots=True, repr=False)
class Allocation(Brief):
    """Nodes by job id; immutable. NumPy's integers become Python's.

    >>> Allocation({"a": 4, "b": 2}).nodes["a"]
    4
    """

    nodes: Mapping[str, int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", plain_counts(self.nodes))

    def as_data(self) -> dict[str, dict[str, int]]:
        """Return the allocation as in result files."""
        return {"nodes": dict(self.nodes.items())}  # without ``items`` each value would be looked up


def read_solution(data: object, instance: Instance) -> Allocation:
    """Read the ``solution`` of a result file; InputError if it is not ``{"nodes": {job: integer}}``."""
    del instance
    return Allocation(read_counts(data, "nodes"))
