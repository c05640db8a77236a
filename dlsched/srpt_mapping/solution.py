"""The decision of srpt_mapping: when each job starts, where each of its replicas runs, and what that leaves of GPUs.

*Fragments.* Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX
ATC 2023. Their F_n(m), what jobs m of a workload cannot use of a node n, is that of ``pkg/utils/frag.go`` in their simulator
(hkust-adsl/kubernetes-scheduler-simulator), for GPUs alone: all that is free, if no such job fits or none may run there; else
what is free of GPUs that have too little. ``ServerKind.fragment`` adds it up over all jobs, F_n(M) times their number, in units
(``units`` of the instance). Of GPUs with slots, which the paper does not know, it is the slots that no start can reach.

docs/srpt_mapping.md defines the figures. The state of a GPU is what is in use: units, or the mask of slots.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from typing import Any, NamedTuple, Self

from dlsched.core.display import Brief
from dlsched.core.errors import InputError
from dlsched.core.files import Where, read_list, read_name, read_number, read_object, read_whole
from dlsched.core.gap import rounding, tolerance
from dlsched.core.ranges import LARGEST_COUNT
from dlsched.core.result import FrozenMapping
from dlsched.core.ticks import put_back
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.servers import Server


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
        return {"stage": self.stage, "server": self.server, "replicas": self.replicas}


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

    def as_data(self) -> dict[str, object]:
        """As of ``Share``."""
        data = super().as_data()
        if self.gpus:
            data |= {"gpu": self.gpus[0]} if len(self.gpus) == 1 else {"gpus": list(self.gpus)}
        return data if self.slot is None else data | {"slot": self.slot}

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


_SHARES = frozenset((Share, GpuShare))
_BLOCK = 2_000  # jobs that are plain data at a time


class Start(NamedTuple):
    """When a job starts, seconds, and where its replicas run."""

    start_s: float
    placement: tuple[Share, ...]


@dataclass(frozen=True, slots=True, init=False, repr=False, weakref_slot=True)
class Schedule(Brief):
    """A ``Start`` for every job, by its id; immutable.

    >>> Schedule({"a": (0.0, [(0, "s0", 2)])}).jobs["a"].placement[0].server
    's0'
    """

    jobs: Mapping[str, Start]

    def __init__(self, jobs: Mapping[str, tuple[float, Iterable[Share | tuple[int, str, int]]]]) -> None:
        object.__setattr__(self, "jobs", FrozenMapping({job: _frozen(start) for job, start in jobs.items()}))

    def blocks(self) -> Iterator["Schedule"]:
        """Schedules of some of the jobs each, in their order."""
        jobs = iter(self.jobs.items())
        while block := dict(islice(jobs, _BLOCK)):
            yield Schedule(block)

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
    if type(start) is Start and type(placement) is tuple and _SHARES.issuperset(map(type, placement)):
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
    names = [job.id for job in own.jobs]
    starts = list(map(dict(schedule.jobs.items()).__getitem__, names))
    jobs = instance.jobs
    if names != [job.id for job in jobs]:
        jobs = tuple(jobs[instance.index[name]] for name in names)
    starts_s = put_back(
        [job.release_s for job in jobs],
        [job.release_s for job in own.jobs],
        [start.start_s for start in starts],
    )
    return {name: Start(start_s, start.placement) for name, start_s, start in zip(names, starts_s, starts, strict=True)}


def read_solution(data: Any, instance: Instance) -> Schedule:
    """Read the ``solution`` of a result file: ``{"jobs": {job: {"start_s": t, "placement": [share, ...]}}}``, or InputError."""
    del instance
    if not isinstance(data, dict) or not isinstance(data.get("jobs"), dict):
        raise InputError(where="solution.jobs", found="no object", allowed="{job: {start_s, placement}}")
    read_object(data, {"jobs"}, ("solution",))
    starts = data["jobs"].items()
    return Schedule({job: _read(start) or _simple_start(start) or _start(start, job) for job, start in starts})


def _read(start: object) -> Start | None:
    return start if type(start) is Start else None


def compact() -> Callable[[dict[str, object]], object]:
    """Return a hook for ``json.loads`` of a schedule: entries become starts, equal placements one; a third of the memory."""
    shared = dict[tuple[Share, ...], tuple[Share, ...]]()

    def entry(data: dict[str, object]) -> object:
        if "placement" not in data or (start := _simple_start(data)) is None:
            return data
        return Start(start.start_s, shared.setdefault(start.placement, start.placement))

    return entry


def _simple_start(data: object) -> Start | None:
    """The start of an entry on servers without slices; None: it has other fields, or is to be refused."""
    if type(data) is not dict or data.keys() != {"start_s", "placement"} or type(data["placement"]) is not list:
        return None
    start_s, shares = data["start_s"], []
    for share in data["placement"]:
        if type(share) is not dict or share.keys() != {"stage", "server", "replicas"}:
            return None
        stage, server, replicas = share["stage"], share["server"], share["replicas"]
        if not (type(server) is str and type(stage) is type(replicas) is int):
            return None
        if not 0 <= min(stage, replicas) <= max(stage, replicas) <= LARGEST_COUNT:
            return None
        shares.append(Share(stage, server, replicas))
    return Start(start_s, tuple(shares)) if type(start_s) is float and math.isfinite(start_s) else None


def _start(data: object, job: str) -> Start:
    """The start of any entry; InputError as ``read_solution``."""
    where = ("solution", "jobs", job)
    entry = read_object(data, {"start_s", "placement"}, where)
    placement = read_list(entry, "placement", where)
    shares = tuple(_share(share, (*where, "placement", index)) for index, share in enumerate(placement))
    return Start(read_number(entry, "start_s", where), shares)


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


def units_of(instance: Instance, job: Job, share: Share) -> int:
    """Units of GPUs that a share takes; a profile of one name may be larger on other GPUs."""
    shape = instance.servers[instance.server_index[share.server]].geometry
    if job.profile is None or shape is None:
        return instance.units_of(job) // job.gpus * share.replicas
    return shape.profiles[job.profile].size * instance.units // shape.slots


Need = tuple[int | str | None, int, str | None, str | None]  # slice, GPUs, pool and group of a job


class ServerKind:
    """Servers of one slicing and the same pools: GPUs by state, servers by idle GPUs, and what jobs can use, in units."""

    def __init__(self, server: Server, units: int, needs: Mapping[Need, int]) -> None:
        self.shape, self.units, self.states, self.idle = server.geometry, units, Counter[int](), Counter[int]()
        self.total_free, self.slicing = 0, server.slicing if isinstance(server.slicing, str) else "slots"
        self.able = {need for need in needs if need[2] in (None, *server.pools) and server.has_slice(need[0])}
        gangs, slices = Counter[float](), Counter[int | str]()
        for need, count in needs.items():
            if need[0] is None or need not in self.able:
                gangs[need[1] if need in self.able else math.inf] += count
            else:
                slices[need[0]] += count
        self._gangs, self._unusable = gangs.total(), cache(self._unusable_of)
        self._fitting = cache(lambda idle: sum(count for gpus, count in gangs.items() if gpus <= idle))
        self.of_slices = cache(lambda state: sum(n * self._unusable_of(state, [each]) for each, n in slices.items()))

    def taken(self, job: Job, slot: int | None) -> int:
        """What a job takes of each of its GPUs: units, or a mask of slots."""
        if self.shape is None:
            return self.units * (job.slice if isinstance(job.slice, int) else 1000) // 1000
        size = self.shape.slots if job.profile is None else self.shape.profiles[job.profile].size
        return ((1 << size) - 1) << (slot or 0)

    def change(self, row: list[int], job: Job, share: Share, sign: int) -> Sequence[int]:
        """Take (1) or give back (-1) what a share has of a server's GPUs, which are returned; the first where it names none."""
        amount = self.taken(job, share.slot)
        like = (gpu for gpu, state in enumerate(row) if (state == 0) == (sign > 0))
        gpus = share.gpus or tuple(islice(like, share.replicas))
        for gpu, (count, more) in product(gpus, ((-1, 0), (1, sign * amount))):
            row[gpu] += more
            self.states[row[gpu]] += count
            self.total_free += count * self.free(row[gpu])
            self.idle[row.count(0)] += count
        return gpus

    def free(self, state: int) -> int:
        """What is free of a GPU."""
        if self.shape is None:
            return self.units - state
        return (self.shape.slots - state.bit_count()) * self.units // self.shape.slots

    def _unusable_of(self, state: int, slices: Iterable[int | str]) -> int:
        """What is free of a GPU, and none of the slices can take."""
        if self.shape is not None:
            return self.shape.unusable(state, map(str, slices)) * self.units // self.shape.slots
        free = self.free(state)
        return 0 if any(int(each) * self.units <= 1000 * free for each in slices) else free

    def of_others(self, free: int, idle: int) -> int:
        """Fragments of a server with so many units and idle GPUs, of all jobs but those on slices that it has."""
        return self._gangs * free - self.units * idle * self._fitting(idle)

    def fragment(self, row: Sequence[int]) -> int:
        """Fragments of a server with such GPUs, added up over all jobs of the instance."""
        return self.of_others(sum(map(self.free, row)), row.count(0)) + sum(map(self.of_slices, row))

    def lost(self, least: Mapping[Need, float]) -> int:
        """What none of the jobs can use; of whole GPUs they use those of servers with at least so many that are idle."""
        slices = frozenset(need[0] for need in least if need in self.able and need[0] is not None)
        enough = min((size for need, size in least.items() if need in self.able and need[0] is None), default=math.inf)
        idle = sum(size * count for size, count in self.idle.items() if size < enough)
        used = sum(count * self._unusable(state, slices) for state, count in self.states.items() if state and count)
        return used + idle * self._unusable(0, slices)


def _least_idle(servers: Mapping[int, int], gpus: int, most: int) -> float:
    """Idle GPUs from which on a server gives some of so many, on at most so many servers; ``servers``: by their idle GPUs."""
    sizes = [size for size in sorted(servers, reverse=True) if size for _ in range(min(servers[size], gpus))]
    return max(1, gpus - sum(sizes[: most - 1])) if sum(sizes[:most]) >= gpus else math.inf


def server_kinds(instance: Instance) -> list[ServerKind]:
    """The kind of every server; equal ones are one object."""
    counts = Counter((job.slice, job.gpus, job.pool, job.group) for job in instance.jobs)
    keys = [(each.slicing, frozenset(each.pools)) for each in instance.servers]
    alike = {key: each for key, each in zip(keys, instance.servers, strict=True)}
    kinds = {key: ServerKind(each, instance.units, counts) for key, each in alike.items()}
    return [kinds[key] for key in keys]


def parts_of(instance: Instance, schedule: Schedule, ends_s: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Figures of a feasible schedule as parts of wholes, GPU-seconds or GPUs; ``ends_s``: when jobs end."""
    needs: list[Need] = [(job.slice, job.gpus, job.pool, job.group) for job in instance.jobs]
    limits, kinds = {group.id: group.limit for group in instance.groups}, server_kinds(instance)
    alike, rows = list(dict.fromkeys(kinds)), [[0] * each.gpus for each in instance.servers]
    for kind, row in zip(kinds, rows, strict=True):
        kind.states[0] += len(row)
        kind.total_free += len(row) * instance.units
        kind.idle[len(row)] += 1
    # Releases, starts, ends. The checker lets a job start a tolerance before another ends: so ends come that much sooner,
    # while the clock goes by the true ones. Jobs shorter than that hold nothing.
    events: list[tuple[float, int, float, int]] = []
    for index, job in enumerate(instance.jobs):
        release_s, start_s, end_s = job.release_s, schedule.jobs[job.id].start_s, ends_s[job.id]
        freed_s = end_s - 2 * (tolerance(end_s - start_s) + rounding(end_s))
        if freed_s > start_s:
            events += [(start_s, 1, start_s, index), (freed_s, -1, end_s, index)]
            events += [(release_s, 0, release_s, index)] if release_s < start_s else []
    waiting, running, touched = Counter[Need](), Counter[str | None](), set[tuple[int, int]]()
    fragments, stale, gpus = [0] * len(rows), {*range(len(rows))}, instance.total_gpus
    now_s = first_s = min(job.release_s for job in instance.jobs)
    expected, at_once, free_s, fragment_s, lost_s = 0, 0, 0.0, 0.0, {kind.slicing: 0.0 for kind in kinds}
    # Nothing changes between two events: what is free, fragments and what is lost count for so long.
    for _, sign, at_s, index in sorted(events):
        if at_s > now_s:
            for server in stale:
                before, fragments[server] = fragments[server], kinds[server].fragment(rows[server])
                expected += fragments[server] - before
            stale.clear()
            unit_s = (at_s - now_s) / instance.units
            free_s += sum(kind.total_free for kind in alike) * unit_s
            fragment_s += expected / len(needs) * unit_s
            least: dict[Need, float] = {}
            for need, count in waiting.items():
                if count and running[need[3]] < limits.get(need[3] or "", math.inf):
                    own = [] if need[0] else [kind.idle for kind in alike if need in kind.able]
                    least[need] = (
                        _least_idle(sum(own, Counter()), need[1], instance.most_servers(*need[1:3])) if own else 0
                    )
            for kind in alike if least else ():
                lost_s[kind.slicing] += kind.lost(least) * unit_s
            now_s = at_s
        job, need = instance.jobs[index], needs[index]
        running[need[3]] += sign
        waiting[need] += 1 if sign == 0 else -(sign > 0 and job.release_s < at_s)
        for share in schedule.jobs[job.id].placement if sign else ():
            server = instance.server_index[share.server]
            touched.update((server, gpu) for gpu in kinds[server].change(rows[server], job, share, sign))
            stale.add(server)
        at_once = max(at_once, gpus - sum(kind.states[0] for kind in alike))
    whole_s = gpus * (now_s - first_s)
    return {
        "fragment": (fragment_s, whole_s),
        "fragment_of_free": (fragment_s, free_s),
        "gpus_touched": (len(touched), gpus),
        "gpus_touched_at_once": (at_once, gpus),
        "lost": (sum(lost_s.values()), whole_s),
        **{f"lost_{name}": (each_s, whole_s) for name, each_s in lost_s.items() if len(lost_s) > 1},
    }
