"""The decision of srpt_mapping: when each job starts, and where each of its replicas runs."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from dlsched.core.errors import InputError
from dlsched.core.frozen import FrozenMapping
from dlsched.core.reading import Where, read_list, read_name, read_number, read_object, read_whole
from dlsched.srpt_mapping.instance import Instance


class Share(NamedTuple):
    """So many replicas of a stage (counted from 0) on one server, by its id."""

    stage: int
    server: str
    replicas: int


class Start(NamedTuple):
    """When a job starts, seconds, and where its replicas run."""

    start_s: float
    placement: tuple[Share, ...]


class Schedule:
    """A ``Start`` for every job, by its id; immutable.

    >>> Schedule({"a": (0.0, [(0, "s0", 2)])}).jobs["a"].placement[0].server
    's0'
    """

    __slots__ = ("jobs",)
    jobs: Mapping[str, Start]

    def __init__(self, jobs: Mapping[str, tuple[float, Iterable[tuple[int, str, int]]]]) -> None:
        frozen = {
            job: Start(start_s, tuple(Share(*share) for share in placement))
            for job, (start_s, placement) in jobs.items()
        }
        object.__setattr__(self, "jobs", FrozenMapping(frozen))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("a Schedule is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self.jobs),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and dict(self.jobs) == dict(other.jobs)

    def __hash__(self) -> int:
        return hash(self.jobs)

    def __repr__(self) -> str:
        return f"Schedule({dict(self.jobs)})"

    def as_data(self) -> dict[str, Any]:
        """Return the schedule as result files hold it."""
        return {
            "jobs": {
                job: {"start_s": start.start_s, "placement": [share._asdict() for share in start.placement]}
                for job, start in self.jobs.items()
            }
        }


def read_solution(data: Any, instance: Instance) -> Schedule:
    """Read the ``solution`` of a result file; whether it is feasible is the checker's question.

    Raises
    ------
    InputError
        It is not ``{"jobs": {job: {"start_s": t, "placement": [{"stage": 0, "server": s, "replicas": n}]}}}``.
    """
    del instance
    if not isinstance(data, dict) or not isinstance(data.get("jobs"), dict):
        raise InputError("solution.jobs: found no object, allowed: {job: {start_s, placement}}")
    read_object(data, {"jobs"}, ("solution",))
    starts: dict[str, tuple[float, list[Share]]] = {}
    for job, held in data["jobs"].items():
        where = ("solution", "jobs", job)
        entry = read_object(held, {"start_s", "placement"}, where)
        placement = read_list(entry, "placement", where)
        shares = [_share(share, (*where, "placement", place)) for place, share in enumerate(placement)]
        starts[job] = read_number(entry, "start_s", where), shares
    return Schedule(starts)


def _share(data: Any, where: Where) -> Share:
    entry = read_object(data, {"stage", "server", "replicas"}, where)
    return Share(
        read_whole(entry, "stage", where), read_name(entry, "server", where), read_whole(entry, "replicas", where)
    )
