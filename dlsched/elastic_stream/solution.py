"""The decision of elastic_stream: the periods in which each job holds a constant number of units."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dlsched.core.display import Brief
from dlsched.core.errors import InputError
from dlsched.core.files import Where, read_number, read_object, read_whole
from dlsched.core.messages import field_path, shown
from dlsched.core.result import FrozenMapping
from dlsched.elastic_stream.instance import Instance


class Period(NamedTuple):
    """A job holds ``units`` from ``start_s`` to ``end_s``; the pause that a restart costs is part of it."""

    start_s: float
    end_s: float
    units: int


class Finished(NamedTuple):
    """When a job ends: ``needed_s`` into its period ``number``, ``flow_s`` after its arrival (None: never)."""

    flow_s: float | None
    number: int
    needed_s: float
    restarts: int
    unit_seconds: float


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Stream(Brief):
    """Periods by job id, each job's in order of time; immutable. Jobs that never ran have none.

    >>> Stream({"a": [(0.0, 50.0, 4)]}).periods["a"][0].units
    4
    """

    periods: Mapping[str, tuple[Period, ...]]
    followed: tuple[Instance, Sequence[Finished]] | None = field(compare=False, repr=False)
    """What the checker found last, and of which instance: check, objective and figures follow the jobs once."""

    def __init__(self, periods: Mapping[str, Iterable[tuple[float, float, int]]]) -> None:
        frozen = {job: tuple(map(Period._make, spans)) for job, spans in periods.items()}
        object.__setattr__(self, "periods", FrozenMapping({job: spans for job, spans in frozen.items() if spans}))
        object.__setattr__(self, "followed", None)

    def keep(self, instance: Instance, followed: Sequence[Finished]) -> None:
        """Cache the outcome of every job, as the checker computed it."""
        object.__setattr__(self, "followed", (instance, followed))

    def __reduce__(self) -> tuple[type["Stream"], tuple[dict[str, tuple[Period, ...]]]]:
        return type(self), (dict(self.periods),)

    def as_data(self) -> dict[str, Any]:
        """Return the stream as result files hold it."""
        return {"periods": {job: [period._asdict() for period in spans] for job, spans in self.periods.items()}}


def read_solution(data: Any, instance: Instance) -> Stream:
    """Read the ``solution`` of a result file, ``{"periods": {job: [period]}}``; the checker decides whether it is feasible."""
    del instance
    if not isinstance(data, dict) or not isinstance(data.get("periods"), dict):
        raise InputError(where="solution.periods", found="no object", allowed="{job: [period, ...]}")
    read_object(data, {"periods"}, ("solution",))
    periods: dict[str, list[Period]] = {}
    for job, entries in data["periods"].items():
        where = ("solution", "periods", job)
        if not isinstance(entries, list):
            raise InputError(where=field_path(where), found=shown(entries), allowed="a list of periods")
        periods[job] = [_period(entry, (*where, index)) for index, entry in enumerate(entries)]
    return Stream(periods)


def _period(data: Any, where: Where) -> Period:
    entry = read_object(data, set(Period._fields), where)
    units = read_whole(entry, "units", where)
    return Period(read_number(entry, "start_s", where), read_number(entry, "end_s", where), units)
