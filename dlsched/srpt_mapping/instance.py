"""The instance of srpt_mapping: servers with GPUs, and gangs that arrive over time and run to their end once started.

================================  ===================================================================================
code                              mathematics
================================  ===================================================================================
``servers``                       1 .. M; ``gpus`` = g^m; ``total_gpus`` = G
``intra_bandwidth_bytes_per_s``   b_in, between GPUs of one server
``nic_bandwidth_bytes_per_s``     b_out, of a server's network card; ``shares`` = b_out / g^m, what one GPU has of it
``jobs``                          1 .. I
``release_s``                     r_i
``iterations``                    n_i
``predicted_iterations``          n~_i; ``predicted`` where it is not given: n_i
``stages``                        a chain; ``replicas`` = k_s, ``compute_s`` = p_s, ``output_bytes`` = d_s,
                                  ``parameter_bytes`` = h_s; ``gpus`` = g_i, the sum of k_s
``begun``                         x_s,m of a job that runs when the clock starts; it goes on there
``pool``, ``pools``               a job runs on servers of its pool only; without one on any
``groups``                        l_k = ``limit``, how many jobs of the group run at once at most
``placement``                     consolidated: a job uses at most ``most_servers`` servers
``slicing``                       how the GPUs of a server are cut: not at all, into shares, or into slots
``gpu_share``, ``profile``        the slice of one GPU that a job takes: a share, or slots; ``columns`` has what they share
================================  ===================================================================================
"""

import functools
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, Unpack

from pydantic import AfterValidator, Field, model_validator

from dlsched.cluster.job_graph import JobGraph
from dlsched.cluster.job_graph import Stage as Stage
from dlsched.core.instance import Head, InstanceFile, Name, NonNegative, Positive, require_unique_ids
from dlsched.core.messages import FOUND, Refused
from dlsched.core.part import Data, Part, shared
from dlsched.core.ranges import MODERATE, Range, Ranges
from dlsched.core.ticks import from_the_first
from dlsched.srpt_mapping.servers import Group as Group
from dlsched.srpt_mapping.servers import Held as Held
from dlsched.srpt_mapping.servers import Room
from dlsched.srpt_mapping.servers import Server as Server

_CLASSES = 2**31  # priorities of workload managers are 32-bit integers
_MOST_COLUMNS = 1_000_000  # GPUs or slots that are looked at one by one
_MILLI = 1000  # shares are multiples of a thousandth, as gpu_milli counts them
_ODD = 0.5, 60  # a range of ordinary numbers, for tests
_SENT = Range(searched=(0.0, 1e10), ties=(1, 4), edges=(16, 64), tested=_ODD)
RANGES: Ranges = {
    "intra_bandwidth_bytes_per_s": Range(
        allowed=MODERATE, usual=(1.5e11, 1.5e11), searched=(1e11, 1e11), ties=(8, 16, 64, 4), tested=_ODD
    ),
    "nic_bandwidth_bytes_per_s": Range(
        allowed=MODERATE, usual=(1.25e9, 1.25e10), searched=(1e10, 1e10), ties=(2, 16, 1, 4), tested=_ODD
    ),
    "servers[].gpus": Range(choices=(1, 2, 4, 8), searched=(1, 8), nasty=(1, 2, 2, 3)),
    "jobs[].release_s": Range(
        allowed=(0, 1e100), searched=(0.0, 1000.0), of_presets=(0, 1e6), ties=(0,), edges=(0, 1, 2, 4), tested=_ODD
    ),
    "jobs[].iterations": Range(
        searched=(1.0, 1000.0), of_presets=(1, 1e6), ties=(1, 2, 10), edges=tuple(range(1, 9)), tested=(1, 60.5)
    ),
    "jobs[].predicted_iterations": Range(searched=(1.0, 1e6), ties=(0.01,)),
    "jobs[].gpu_share": Range(allowed=(0.001, 1.0), ties=(0.5, 0.25)),
    "jobs[].priority": Range(allowed=(-_CLASSES, _CLASSES), ties=(-1, 0, 1)),
    "jobs[].limit_s": Range(allowed=MODERATE, ties=(1, 4, 16)),
    "groups[].limit": Range(ties=(1, 2)),
    "jobs[].stages[].compute_s": Range(
        allowed=(1e-100, math.inf),
        usual=(0.05, 1),
        searched=(1.0, 1.0),
        of_presets=(0.01, 10),
        ties=(1, 1, 2),
        edges=(0.25, 0.5, 4),
        tested=_ODD,
    ),
    "jobs[].stages[].output_bytes": replace(_SENT, usual=(1e6, 1e8), of_presets=(0, 1e9)),
    "jobs[].stages[].parameter_bytes": replace(_SENT, usual=(1e7, 1e9), of_presets=(0, 1e10)),
}
_ALLOWED = "a number from 1e-100 to 1e100"
_Wall = tuple[str, str | int | None]  # a server, a pool or a group
Placement = Literal["any", "consolidated"]


class Job(Part):
    """A gang: it takes a GPU for every replica of its chain of stages, all at once, and keeps them to its end.

    ``release_s``: when it arrives, seconds. ``iterations``: how many it really runs, >= 1; no policy sees it.
    ``predicted_iterations``: what policies see; None: the true number. ``group, user, model``: words that predictors use;
    ``groups`` of the instance may limit how many jobs of a group run at once. ``begun``: where it runs already, all of its
    replicas: it starts at its release, the earliest of all, exactly there; None: it has not begun. ``pool``: it runs on servers
    of this pool only; None: on any. ``priority``: its class; policies serve larger ones first. ``limit_s``: seconds from its
    start by which its user said that it ends; only reservations know it; None: what policies see. ``gpu_share``: the share of one
    GPU that it takes, in whole thousandths, and ``profile``: the kind of slice, both of a job of one stage and one replica; it
    runs on a server whose ``slicing`` has such slices, and does not move.
    """

    id: Name
    release_s: NonNegative
    iterations: Annotated[float, Field(ge=1, allow_inf_nan=False)]
    predicted_iterations: Positive | None = None
    group: Name | None = None
    user: Name | None = None
    model: Name | None = None
    stages: Annotated[tuple[Stage, ...], Field(strict=False, min_length=1), AfterValidator(shared)]
    begun: Annotated[tuple[Held, ...], Field(strict=False, min_length=1)] | None = None
    pool: Name | None = None
    priority: Annotated[int, Field(ge=-_CLASSES, le=_CLASSES)] = 0
    limit_s: Positive | None = None
    gpu_share: Annotated[float, Field(ge=1 / _MILLI, le=1)] = 1.0
    profile: Name | None = None

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            id: str,
            release_s: float,
            iterations: float,
            predicted_iterations: float | None = None,
            group: str | None = None,
            user: str | None = None,
            model: str | None = None,
            stages: Sequence[Stage | Data],
            begun: Sequence[Held | Data] | None = None,
            pool: str | None = None,
            priority: int = 0,
            limit_s: float | None = None,
            gpu_share: float = 1.0,
            profile: str | None = None,
        ) -> None: ...

    @model_validator(mode="after")
    def _slice_of_one_gpu(self) -> Self:
        if self.slice is None:
            return self
        field = "gpu_share" if self.profile is None else "profile"
        if self.profile is not None and self.gpu_share != 1:
            raise Refused(f"{self.gpu_share}", "a share or a profile, not both", "gpu_share")
        if self.gpu_share != round(_MILLI * self.gpu_share) / _MILLI:
            raise Refused(f"{self.gpu_share}", "whole thousandths of a GPU", "gpu_share")
        if len(self.stages) > 1 or self.stages[0].replicas > 1:
            raise Refused("a slice for several replicas", "a job of one stage and one replica", field)
        return self

    @model_validator(mode="after")
    def _last_sends_nothing(self) -> Self:
        last = len(self.stages) - 1
        if self.stages[last].output_bytes != 0:
            raise Refused(f"{self.stages[last].output_bytes}", "0 for the last stage", "stages", last, "output_bytes")
        return self

    @model_validator(mode="after")
    def _begun_whole(self) -> Self:
        # every share once, on a stage that exists, and all replicas of every stage
        placed: Counter[int] = Counter()
        seen = set()
        for index, part in enumerate(self.begun or ()):
            if part.stage >= len(self.stages):
                raise Refused(f"{part.stage}", f"stages 0 to {len(self.stages) - 1}", "begun", index, "stage")
            if (part.stage, part.server) in seen:
                raise Refused(f"stage {part.stage} on {part.server[:FOUND]!r} again", "each once", "begun", index)
            seen.add((part.stage, part.server))
            placed[part.stage] += part.replicas
        for number, stage in enumerate(self.stages if self.begun else ()):
            if placed[number] != stage.replicas:
                raise Refused(f"{placed[number]} replicas of stage {number}", f"{stage.replicas}, as it has", "begun")
        return self

    def released(self, release_s: float) -> "Job":
        """Return the job with another release, which is valid, and with its graph."""
        other = Job.__new__(Job)
        other.__setstate__(self.__getstate__() | {"__dict__": self.__dict__ | {"release_s": release_s}})
        return other

    @property
    def predicted(self) -> float:
        """n~_i, what policies know of the number of iterations."""
        return self.iterations if self.predicted_iterations is None else self.predicted_iterations

    @cached_property
    def graph(self) -> JobGraph:
        """The stages as plain tuples."""
        fields = [(each.replicas, each.compute_s, each.output_bytes, each.parameter_bytes) for each in self.stages]
        return _graph(*zip(*fields, strict=True))

    @property
    def gpus(self) -> int:
        """g_i, GPUs that the job takes; 1 where it takes a slice of one."""
        return self.graph.gpus

    @cached_property
    def slice(self) -> int | str | None:
        """Thousandths of a GPU that the job takes, or its profile; None: whole GPUs."""
        return self.profile if self.gpu_share == 1 else round(_MILLI * self.gpu_share)


@functools.lru_cache(maxsize=65536)
def _graph(*fields: tuple[Any, ...]) -> JobGraph:
    """One object for equal graphs, so that looking them up compares nothing."""
    return JobGraph(*fields)


class Instance(InstanceFile):
    """Servers, and the jobs that arrive.

    ``placement``: ``consolidated`` (strict locality, as Gandiva and Tiresias call it): a job that has not begun uses no more
    servers of its pool than it needs where they are all empty; ``any``: it may use any servers of its pool.

    Raises
    ------
    InstanceError
        Names the field, what was found and what is allowed.

    >>> stage = Stage(replicas=2, compute_s=0.5, output_bytes=0, parameter_bytes=0)
    >>> job = Job(id="a", release_s=0, iterations=10, stages=[stage])
    >>> servers = [Server(id="s0", gpus=4)]
    >>> Instance(name="one", intra_bandwidth_bytes_per_s=8, nic_bandwidth_bytes_per_s=2, servers=servers, jobs=[job]).shares
    (0.5,)
    """

    family: ClassVar[str] = "srpt_mapping"
    unions: ClassVar[frozenset[str]] = frozenset({"slicing"})

    intra_bandwidth_bytes_per_s: Positive
    nic_bandwidth_bytes_per_s: Positive
    servers: Annotated[tuple[Server, ...], Field(strict=False, min_length=1)]
    jobs: Annotated[tuple[Job, ...], Field(strict=False, min_length=1)]
    groups: Annotated[tuple[Group, ...], Field(strict=False)] = ()
    placement: Placement = "any"

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            intra_bandwidth_bytes_per_s: float,
            nic_bandwidth_bytes_per_s: float,
            servers: Sequence[Server | Data],
            jobs: Sequence[Job | Data],
            groups: Sequence[Group | Data] = (),
            placement: Placement = "any",
            **head: Unpack[Head],
        ) -> None: ...

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        require_unique_ids([server.id for server in self.servers], "servers")
        require_unique_ids([job.id for job in self.jobs], "jobs")
        require_unique_ids([group.id for group in self.groups], "groups")
        if self.sliced and self.columns[-1].stop > _MOST_COLUMNS:
            found = f"{self.columns[-1].stop:,} GPUs and slots, and slices"
            raise Refused(found, f"at most {_MOST_COLUMNS:,}", "servers")
        for index, job in enumerate(self.jobs):
            if job.pool is not None and job.pool not in self.pool_names:
                raise Refused(f"{job.pool[:FOUND]!r}", "a pool of some server", "jobs", index, "pool")
            if job.profile is not None and job.profile not in self._profiles:
                raise Refused(
                    f"{job.profile[:FOUND]!r}", "a profile of some server's slicing", "jobs", index, "profile"
                )
        for field in ("intra_bandwidth_bytes_per_s", "nic_bandwidth_bytes_per_s"):
            if not RANGES[field].allows(getattr(self, field)):
                raise Refused(f"{getattr(self, field)}", _ALLOWED, field)
        for index, job in enumerate(self.jobs):
            if job.limit_s is not None and not RANGES["jobs[].limit_s"].allows(job.limit_s):
                raise Refused(f"{job.limit_s}", _ALLOWED, "jobs", index, "limit_s")
            if not RANGES["jobs[].release_s"].allows(job.release_s):
                raise Refused(f"{job.release_s}", "a number up to 1e100", "jobs", index, "release_s")
            for number, stage in enumerate(job.stages):
                if not RANGES["jobs[].stages[].compute_s"].allows(stage.compute_s):
                    raise Refused(f"{stage.compute_s}", _ALLOWED, "jobs", index, "stages", number, "compute_s")
            # true and predicted lengths must leave room for squares and quotients in double precision
            least, most = sorted((job.iterations, job.predicted))
            iteration_s = job.graph.uniform_s(self.slowest)
            if not (most * iteration_s <= MODERATE[1] and least * iteration_s >= MODERATE[0]):
                allowed = "seconds of a job and of its prediction from 1e-100 to 1e100"
                raise Refused("times that are vast or vanish", allowed, "jobs", index)
        self._room_for_begun()
        return self

    def _room_for_begun(self) -> None:
        """Refuse jobs that have begun after the first release, on unknown servers, or on more than there is."""
        room = Room(self.servers, sliced=self.sliced)
        slots = {group.id: group.limit for group in self.groups}
        first_s = min(job.release_s for job in self.jobs)
        for index, job in enumerate(self.jobs):
            if job.begun and job.release_s > first_s:
                allowed = f"{first_s}, the earliest release, of a job that has begun"
                raise Refused(f"{job.release_s}", allowed, "jobs", index, "release_s")
            if job.begun and job.group in slots:
                slots[job.group] -= 1
                if slots[job.group] < 0:
                    raise Refused("more jobs of the group that have begun", "its limit", "jobs", index, "group")
            for number, part in enumerate(job.begun or ()):
                room.take(part, job.pool, job.slice, "jobs", index, "begun", number)

    @cached_property
    def total_gpus(self) -> int:
        """G, the GPUs of all servers."""
        return sum(server.gpus for server in self.servers)

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """b_out / g^m of every server, B/s."""
        return tuple(self.nic_bandwidth_bytes_per_s / server.gpus for server in self.servers)

    @cached_property
    def slowest(self) -> float:
        """The least bandwidth there is, B/s, with which alpha^max is computed."""
        return min(self.intra_bandwidth_bytes_per_s, *self.shares)

    @cached_property
    def fastest(self) -> float:
        """The largest bandwidth there is, B/s, with which alpha^low is computed."""
        return max(self.intra_bandwidth_bytes_per_s, *self.shares)

    @cached_property
    def server_index(self) -> dict[str, int]:
        """Index of every server by its id."""
        return {server.id: index for index, server in enumerate(self.servers)}

    @cached_property
    def pool_names(self) -> frozenset[str]:
        """The pools of all servers."""
        return frozenset(pool for server in self.servers for pool in server.pools)

    @cached_property
    def sliced(self) -> bool:
        """Whether some job takes a slice of a GPU; then servers with slices are counted GPU by GPU."""
        return any(job.slice is not None for job in self.jobs)

    @cached_property
    def _profiles(self) -> frozenset[str]:
        return frozenset(name for server in self.servers if server.geometry for name in server.geometry.profiles)

    @cached_property
    def units(self) -> int:
        """Units as which a GPU counts, of which all shares and slots are multiples; 1 where all jobs take whole GPUs."""
        milli = [each for job in self.jobs if isinstance(each := job.slice, int)]
        slots = [server.geometry.slots for server in self.servers if server.geometry]
        return math.lcm(_MILLI // math.gcd(_MILLI, *milli), *slots) if self.sliced else 1

    @cached_property
    def total_units(self) -> int:
        """Units of all GPUs."""
        return self.total_gpus * self.units

    def units_of(self, job: Job) -> int:
        """Units that a job takes, on whichever servers it runs at least."""
        if job.profile is None:
            return job.gpus * self.units if job.gpu_share == 1 else round(_MILLI * job.gpu_share) * self.units // _MILLI
        shapes = [shape for m in self.servers_of(job) if (shape := self.servers[m].geometry)]
        return min((shape.profiles[job.profile].size * self.units // shape.slots for shape in shapes), default=0)

    @cached_property
    def columns(self) -> list[range]:
        """Of every server, its positions in ``capacities``: one; or one for each GPU or slot, if slices are counted there."""
        shapes = [each if self.sliced and each.slicing != "none" else None for each in self.servers]
        counts = [each.gpus * (each.geometry.slots if each.geometry else 1) if each else 1 for each in shapes]
        return [range(end - count, end) for count, end in zip(counts, accumulate(counts), strict=True)]

    def servers_of(self, job: Job) -> list[int]:
        """Indices of the servers on which a job may run."""
        servers, part = self._servers_of_pool[job.pool], job.slice
        if part is not None and (job.pool, part) not in self._servers_of_slice:
            self._servers_of_slice[job.pool, part] = [m for m in servers if self.servers[m].has_slice(part)]
        return servers if part is None else self._servers_of_slice[job.pool, part]

    @cached_property
    def _servers_of_slice(self) -> dict[tuple[str | None, int | str], list[int]]:
        return {}

    @cached_property
    def _servers_of_pool(self) -> dict[str | None, list[int]]:
        of: dict[str | None, list[int]] = {pool: [] for pool in self.pool_names}
        for index, server in enumerate(self.servers):
            for pool in dict.fromkeys(server.pools):
                of[pool].append(index)
        return of | {None: list(range(len(self.servers)))}

    @property
    def consolidated(self) -> bool:
        """Whether jobs use as few servers as they can."""
        return self.placement == "consolidated"

    def most_servers(self, gpus: int, pool: str | None) -> int:
        """How many servers a job of a pool may use; with consolidated placement the fewest that hold it when they are empty."""
        held = self._held_by_largest[pool]
        return bisect_left(held, gpus) + 1 if self.consolidated else len(held)

    @cached_property
    def _held_by_largest(self) -> dict[str | None, list[int]]:
        """For every pool, GPUs of its largest server, of its two largest, and so on."""
        own = self._servers_of_pool.items()
        return {p: list(accumulate(sorted((self.servers[m].gpus for m in ms), reverse=True))) for p, ms in own}

    @cached_property
    def sizes(self) -> dict[str | None, tuple[int, ...]]:
        """GPUs of the servers of every pool, ascending, no number more often than a job has GPUs; None: of all servers."""
        most, own = max(job.gpus for job in self.jobs), self._servers_of_pool.items()
        counts = {p: sorted(Counter(self.servers[m].gpus for m in ms).items()) for p, ms in own}
        return {p: tuple(gpus for gpus, n in each for _ in range(min(n, most))) for p, each in counts.items()}

    @cached_property
    def capacities(self) -> tuple[int, ...]:
        """What jobs share: the GPUs of every server, then the limit of every group; shape (M + K,).

        Where jobs take slices these are units, and M is the number of all ``columns``.
        """
        own = zip(self.servers, self.columns, strict=True)
        rooms = [server.gpus * self.units // len(columns) for server, columns in own for _ in columns]
        return (*rooms, *(group.limit for group in self.groups))

    @cached_property
    def kinds(self) -> list[int]:
        """Equal numbers for what jobs may exchange: servers of as many GPUs and the same pools, GPUs of one; shape (M + K,)."""
        kinds: list[object] = []
        for server, columns in zip(self.servers, self.columns, strict=True):
            if not self.sliced or server.slicing == "none":
                kinds.append((server.gpus, frozenset(server.pools)))
            else:
                kinds += [server.id] * len(columns) if server.geometry is None else list(columns)
        kinds += [(group.id,) for group in self.groups]
        return [kinds.index(kind) for kind in kinds]

    def slots(self, job: Job) -> tuple[int, ...]:
        """What a job takes of the limit of every group: 1 of its own; shape (K,)."""
        return tuple(int(job.group == group.id) for group in self.groups)

    @cached_property
    def parts(self) -> list[tuple[list[int], list[int]]]:
        """Indices of jobs and servers that have nothing to do with others: pools without common servers or limited groups."""
        if not self.pool_names:
            return [(list(range(len(self.jobs))), list(range(len(self.servers))))]
        # a label for every pool; those of one job's servers, or of one group's jobs, become one
        label: dict[_Wall, _Wall] = {}

        def root(each: _Wall) -> _Wall:
            while label.setdefault(each, each) != each:
                each = label[each]
            return each

        limited = {group.id for group in self.groups}
        for job in {(job.pool, job.slice, job.group in limited and job.group): job for job in self.jobs}.values():
            keys: list[_Wall] = [("server", index) for index in self.servers_of(job)]
            keys += [("group", job.group)] if job.group in limited else []
            for key in keys:
                label[root(key)] = root(("pool", job.pool))
        found: dict[_Wall, tuple[list[int], list[int]]] = {}
        for index, job in enumerate(self.jobs):
            found.setdefault(root(("pool", job.pool)), ([], []))[0].append(index)
        for index in range(len(self.servers)):
            if root(("server", index)) in found:
                found[root(("server", index))][1].append(index)
        return list(found.values())

    @cached_property
    def part_gpus(self) -> tuple[int, ...]:
        """GPUs of the servers of every job's part, shape (I,)."""
        parts = [(jobs, sum(self.servers[m].gpus for m in servers)) for jobs, servers in self.parts]
        gpus = {index: total for jobs, total in parts for index in jobs}
        return tuple(gpus[index] for index in range(len(self.jobs)))

    def part(self, jobs: Sequence[int], servers: Sequence[int]) -> "Instance":
        """Return an instance with some of the jobs and servers, on the same clock."""
        return self._with(
            servers=tuple(self.servers[m] for m in servers), jobs=tuple(self.jobs[index] for index in jobs)
        )

    def on_own_clock(self, indices: Sequence[int] | None = None) -> "Instance":
        """Return an instance with some of the jobs (None: all), in this order, the first of which is released at 0."""
        jobs = self.jobs if indices is None else [self.jobs[index] for index in indices]
        releases_s = [job.release_s for job in jobs]
        if indices is None and min(releases_s) == 0:
            return self
        own_s = from_the_first(releases_s)
        return self._with(jobs=tuple(job.released(at_s) for job, at_s in zip(jobs, own_s, strict=True)))

    def consolidating(self) -> "Instance":
        """Return the same instance with consolidated placement."""
        return self._with(placement="consolidated", source=self.source)

    def _with(self, **changes: object) -> "Instance":
        """Return the same instance with other fields, which are valid; without its source and what is known of it."""
        fields = {name: getattr(self, name) for name in Instance.model_fields if name not in ("source", "known")}
        other = Instance.model_construct(**fields | changes)
        if self.sliced:  # some of the jobs are counted as all of them are
            other.__dict__.update(sliced=True, units=self.units)
        return other
