"""The decision of srpt_mapping: when each job starts, and where each of its replicas runs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from dlsched.core.display import Brief
from dlsched.core.errors import InputError
from dlsched.core.files import Where, read_list, read_name, read_number, read_object, read_whole
from dlsched.core.result import FrozenMapping
from dlsched.core.ticks import put_back
from dlsched.srpt_mapping.instance import Instance


class Share(NamedTuple):
    """``replicas`` of a stage (counted from 0) on one server, by its id."""

    stage: int
    server: str
    replicas: int

    @property
    def gpus(self) -> tuple[int, ...]:
        """Numbers of the GPUs, counted from 0; empty where GPUs are not named."""
        return ()

    @property
    def slot(self) -> int | None:
        """First slot of a job with a profile."""
        return None

    def on(self, gpus: tuple[int, ...], slot: int | None = None) -> "Share":
        """Return the same share on GPUs of these numbers, and from a slot on; itself if there are none."""
        return GpuShare(*self, gpus, slot) if gpus or slot is not None else self

    def as_data(self) -> dict[str, object]:
        """Return the share as in result files: one GPU as ``gpu``, several as ``gpus``."""
        data: dict[str, object] = self._asdict()
        if self.gpus:
            data |= {"gpu": self.gpus[0]} if len(self.gpus) == 1 else {"gpus": list(self.gpus)}
        return data if self.slot is None else data | {"slot": self.slot}


class GpuShare(Share):
    """A share that names its GPUs, as all do on servers with slices where some job of the instance takes one."""

    _on: tuple[tuple[int, ...], int | None]

    def __new__(cls, stage: int, server: str, replicas: int, gpus: tuple[int, ...], slot: int | None = None) -> Self:
        """The share, and numbers of GPUs and the first slot."""
        self = tuple.__new__(cls, (stage, server, replicas))
        self._on = gpus, slot
        return self

    @property
    def gpus(self) -> tuple[int, ...]:
        """As of ``Share``."""
        return self._on[0]

    @property
    def slot(self) -> int | None:
        """As of ``Share``."""
        return self._on[1]

    def __eq__(self, other: object) -> bool:
        """Whether the other has the same GPUs, too."""
        return isinstance(other, GpuShare) and tuple.__eq__(self, other) and self._on == other._on

    def __ne__(self, other: object) -> bool:
        """Not as ``__eq__``: a tuple has its own."""
        return not self == other

    def __hash__(self) -> int:
        """Of the share and its GPUs."""
        return hash((*self, self._on))

    def __repr__(self) -> str:
        """With the GPUs."""
        return f"{super().__repr__()}.on({self.gpus!r}, {self.slot!r})"

    def __getnewargs__(self) -> tuple[int, str, int, tuple[int, ...], int | None]:
        """For copies and other processes."""
        return (*self, *self._on)


class Start(NamedTuple):
    """When a job starts, seconds, and where its replicas run."""

    start_s: float
    placement: tuple[Share, ...]


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Schedule(Brief):
    """A ``Start`` for every job, by its id; immutable.

    >>> Schedule({"a": (0.0, [(0, "s0", 2)])}).jobs["a"].placement[0].server
    's0'
    """

    jobs: Mapping[str, Start]

    def __init__(self, jobs: Mapping[str, tuple[float, Iterable[Share | tuple[int, str, int]]]]) -> None:
        object.__setattr__(self, "jobs", FrozenMapping({job: _frozen(start) for job, start in jobs.items()}))

    def as_data(self) -> dict[str, Any]:
        """Return the schedule as in result files."""
        return {
            "jobs": {
                job: {"start_s": start.start_s, "placement": [share.as_data() for share in start.placement]}
                for job, start in self.jobs.items()
            }
        }


def _frozen(start: tuple[float, Iterable[Share | tuple[int, str, int]]]) -> Start:
    """The start as immutable tuples; itself if it is such already."""
    start_s, placement = start
    if type(start) is Start and type(placement) is tuple and all(isinstance(share, Share) for share in placement):
        return start
    return Start(start_s, tuple(share if isinstance(share, Share) else Share(*share) for share in placement))


def decided(schedule: Schedule) -> dict[str, dict[str, float] | dict[tuple[str, str], float]]:
    """Return the ``starts`` of jobs in seconds, and 1 for every job and server where it has GPUs (``placed``)."""
    placed = {(job, share.server): 1.0 for job, start in schedule.jobs.items() for share in start.placement}
    return {"starts": {job: start.start_s for job, start in schedule.jobs.items()}, "placed": placed}


def begun_starts(instance: Instance) -> dict[str, Start]:
    """The starts of the jobs that have begun, by id: at their release, where they run."""
    starts = {}
    for job in (job for job in instance.jobs if job.begun is not None):
        shares = [(Share(part.stage, part.server, part.replicas), part) for part in job.begun or ()]
        named = tuple(share.on(part.numbers, part.slot) if instance.sliced else share for share, part in shares)
        starts[job.id] = Start(job.release_s, named)
    return starts


def on_clock_of(instance: Instance, own: Instance, schedule: Schedule) -> dict[str, Start]:
    """Return the starts of a schedule of ``own``, jobs of the instance on their own clock, on the clock of the instance."""
    if own is instance:
        return dict(schedule.jobs)
    starts = [schedule.jobs[job.id] for job in own.jobs]
    starts_s = put_back(
        [instance.jobs[instance.index[job.id]].release_s for job in own.jobs],
        [job.release_s for job in own.jobs],
        [start.start_s for start in starts],
    )
    return {
        job.id: Start(start_s, start.placement) for job, start_s, start in zip(own.jobs, starts_s, starts, strict=True)
    }


def read_solution(data: Any, instance: Instance) -> Schedule:
    """Read the ``solution`` of a result file: ``{"jobs": {job: {"start_s": t, "placement": [share, ...]}}}``, or InputError."""
    del instance
    if not isinstance(data, dict) or not isinstance(data.get("jobs"), dict):
        raise InputError(where="solution.jobs", found="no object", allowed="{job: {start_s, placement}}")
    read_object(data, {"jobs"}, ("solution",))
    starts: dict[str, tuple[float, list[Share]]] = {}
    for job, start in data["jobs"].items():
        where = ("solution", "jobs", job)
        entry = read_object(start, {"start_s", "placement"}, where)
        placement = read_list(entry, "placement", where)
        shares = [_share(share, (*where, "placement", index)) for index, share in enumerate(placement)]
        starts[job] = read_number(entry, "start_s", where), shares
    return Schedule(starts)


def _share(data: Any, where: Where) -> Share:
    """A share of a result file; InputError as ``read_solution``."""
    entry = read_object(data, {"stage", "server", "replicas", "gpu", "gpus", "slot"}, where)
    gpus = [read_whole(entry, "gpu", where)] if "gpu" in entry else []
    if "gpus" in entry:
        listed = read_list(entry, "gpus", where)
        gpus += [read_whole({"gpu": each}, "gpu", (*where, "gpus", index)) for index, each in enumerate(listed)]
    slot = read_whole(entry, "slot", where) if "slot" in entry else None
    share = Share(
        read_whole(entry, "stage", where), read_name(entry, "server", where), read_whole(entry, "replicas", where)
    )
    return share.on(tuple(gpus), slot)
