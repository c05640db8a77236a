"""The decision of ring_embedding: in every slot, how many workers of a job each server hosts, and the order of its ring."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from dlsched.core.display import Brief
from dlsched.core.errors import InputError
from dlsched.core.files import Where, read_list, read_object, read_whole
from dlsched.core.messages import field_path, shown
from dlsched.core.result import FrozenMapping
from dlsched.ring_embedding.instance import Instance


class Ring(NamedTuple):
    """Workers of a job by server in one slot, and its servers in the order in which the ring passes them."""

    workers: Mapping[str, int]
    order: tuple[str, ...]


def ring(workers: Mapping[str, int], order: Iterable[str] | None = None) -> Ring:
    """Make a ring; without an order the servers follow each other as they are named.

    >>> ring({"s0": 2, "s1": 1}).order
    ('s0', 's1')
    """
    return Ring(FrozenMapping(workers), tuple(workers if order is None else order))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Embedding(Brief):
    """Rings by slot and job; slots and jobs without one are left out; immutable.

    >>> Embedding({1: {"a": ({"s0": 2}, ["s0"])}}).slots[1]["a"].workers["s0"]
    2
    """

    slots: Mapping[int, Mapping[str, Ring]]

    def __init__(self, slots: Mapping[int, Mapping[str, tuple[Mapping[str, int], Iterable[str]]]]) -> None:
        frozen = {
            slot: FrozenMapping({job: ring(*entry) for job, entry in rings.items()}) for slot, rings in slots.items()
        }
        object.__setattr__(self, "slots", FrozenMapping({slot: rings for slot, rings in frozen.items() if rings}))

    def as_data(self) -> dict[str, Any]:
        """Return the embedding as result files hold it."""
        return {"slots": [{"slot": slot, "rings": _rings_data(rings)} for slot, rings in self.slots.items()]}


def _rings_data(rings: Mapping[str, Ring]) -> dict[str, dict[str, object]]:
    return {job: {"workers": dict(each.workers), "order": list(each.order)} for job, each in rings.items()}


def read_solution(data: Any, instance: Instance) -> Embedding:
    """Read the ``solution`` of a result file; the checker decides whether it is feasible.

    InputError: it is not ``{"slots": [{"slot": 1, "rings": {job: {"workers": {server: n}, "order": [server, ...]}}}]}``,
    names a slot twice, or omits the order of a ring of several servers.
    """
    del instance
    if not isinstance(data, dict) or not isinstance(data.get("slots"), list):
        raise InputError(where="solution.slots", found="no list", allowed="[{slot, rings}]")
    read_object(data, {"slots"}, ("solution",))
    slots: dict[int, dict[str, Ring]] = {}
    for index, entry in enumerate(data["slots"]):
        where: Where = ("solution", "slots", index)
        record = read_object(entry, {"slot", "rings"}, where)
        slot = read_whole(record, "slot", where)
        if slot in slots:
            raise InputError(
                where=field_path((*where, "slot")), found=f"{slot} for the second time", allowed="every slot once"
            )
        rings = _read_mapping(record, "rings", where)
        slots[slot] = {job: _ring(ring, (*where, "rings", job)) for job, ring in rings.items()}
    return Embedding(slots)


def _ring(data: Any, where: Where) -> Ring:
    entry = read_object(data, {"workers", "order"}, where)
    counts = _read_mapping(entry, "workers", where)
    workers = {server: read_whole(counts, server, (*where, "workers")) for server in counts}
    if "order" not in entry and len(workers) <= 1:
        return ring(workers)
    order = read_list(entry, "order", where)
    for step, name in enumerate(order):
        if not isinstance(name, str):
            raise InputError(where=field_path((*where, "order", step)), found=shown(name), allowed="a string")
    return ring(workers, order)


def _read_mapping(entry: dict[str, Any], field: str, where: Where) -> dict[str, Any]:
    value = entry.get(field)
    if not isinstance(value, dict):
        raise InputError(where=field_path((*where, field)), found=shown(value), allowed="an object")
    return value
