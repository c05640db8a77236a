"""The decision of async_sgd: how many nodes work for each job."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from dlsched.async_sgd.instance import Instance
from dlsched.core.frozen import FrozenMapping
from dlsched.core.reading import read_object, read_whole


@dataclass(frozen=True, slots=True)
class Allocation:
    """Nodes by job id; immutable. NumPy's integers become Python's.

    >>> Allocation({"a": 4, "b": 2}).nodes["a"]
    4
    """

    nodes: Mapping[str, int] = field()

    def __post_init__(self) -> None:
        plain = {
            job: int(n) if isinstance(n, Integral) and not isinstance(n, bool) else n for job, n in self.nodes.items()
        }
        object.__setattr__(self, "nodes", FrozenMapping(plain))

    def as_data(self) -> dict[str, Any]:
        """Return the allocation as result files hold it."""
        return {"nodes": dict(self.nodes)}


def read_solution(data: Any, instance: Instance) -> Allocation:
    """Read the ``solution`` of a result file; whether it is feasible is the checker's question.

    Raises
    ------
    InputError
        It is not ``{"nodes": {job: integer}}``.
    """
    del instance
    fields = read_object(data, {"nodes"}, ("solution",))
    nodes = fields.get("nodes")
    entries = read_object(nodes, set(nodes) if isinstance(nodes, dict) else set(), ("solution", "nodes"))
    return Allocation({job: read_whole(entries, job, ("solution", "nodes")) for job in entries})
