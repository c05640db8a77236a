"""Placement of jobs: free GPUs of the servers, rules that place one job, all layouts of a job, and start times of layouts.

*Rules* place one job on the free GPUs of the servers: the paper's Heavy-Edge, and a tighter one of ours. Both choose
servers first, then share out the replicas.

A *layout* fixes how many GPUs each server gives to a job; the replicas are then spread in the best way
(``cluster.replica_placement``). As only these numbers and the length matter to other jobs, some optimal schedule uses
layouts only. A job that has begun has one layout, the one in which it runs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice, pairwise

from dlsched.algorithms.serial_schedule import earliest_starts
from dlsched.algorithms.start_tree import ModeJob
from dlsched.cluster.job_graph import JobGraph
from dlsched.cluster.replica_placement import (
    Rows,
    best_fit,
    best_rows,
    chained,
    few_rooms,
    grouped,
    improved,
    remembering,
    splits_of,
    splits_up_to,
)
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, TooMany, no_tick
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.solution import Schedule, Share, begun_starts

Placed = list[tuple[int, tuple[int, ...]]]
"""Pairs of a server's index and the replicas of every stage that it gets."""

MOST_STAGE_SERVERS = 300_000
"""Stages of a job times the servers that it may use, beyond which heuristics refuse to place it."""
_REMEMBERED = 2_000  # the same, of placements whose seconds are remembered


def require_placeable(instance: Instance) -> None:
    """Refuse jobs whose placements are too large to be written down (UsageError)."""
    for job in instance.jobs:
        servers = min(len(instance.servers), job.gpus)
        if servers * len(job.stages) > MOST_STAGE_SERVERS:
            found = f"{len(job.stages):,} stages on up to {servers:,} servers"
            raise UsageError(
                where=f"job {job.id!r}", found=found, allowed=f"stages times servers up to {MOST_STAGE_SERVERS:,}"
            )


def named(names: Sequence[str], rows: Iterable[tuple[int, tuple[int, ...]]]) -> list[Share]:
    """A placement as shares; ``rows`` pairs a server's index with its replicas by stage."""
    return [Share(stage, names[server], count) for server, row in rows for stage, count in enumerate(row) if count]


class Servers:
    """The free GPUs, and the seconds that placements take. Servers with fewer GPUs, whose shares are larger, come first."""

    def __init__(self, instance: Instance) -> None:
        self.servers = sorted(range(len(instance.servers)), key=lambda index: instance.servers[index].gpus)
        self.names = [instance.servers[index].id for index in self.servers]
        self.free = [instance.servers[index].gpus for index in self.servers]
        self.shares = [instance.shares[index] for index in self.servers]
        self.inside = instance.intra_bandwidth_bytes_per_s
        self.total = sum(self.free)
        self.consolidated, self._most = instance.consolidated, instance.most_servers
        # free GPUs of every pool, and the pools of every server
        self._pools = [instance.servers[index].pools for index in self.servers]
        sizes = list(zip(self.free, self._pools, strict=True))
        self._free_of = {pool: sum(room for room, pools in sizes if pool in pools) for pool in instance.pool_names}
        # seconds and shares of placements seen before
        self._known: dict[tuple[object, ...], float] = {}
        self._shares: dict[tuple[int, tuple[int, ...]], tuple[Share, ...]] = {}

    def allowed(self, pool: str | None) -> list[int]:
        """1 for every server on which jobs of a pool may run, else 0."""
        return [int(pool is None or pool in pools) for pools in self._pools]

    def free_of(self, pool: str | None) -> int:
        """Free GPUs of a pool; None: of all servers."""
        return self.total if pool is None else self._free_of[pool]

    def fits(self, gpus: int, pool: str | None) -> bool:
        """Whether the servers that a job of the pool may use have so many free GPUs, on as few of them as it may use."""
        if gpus > self.free_of(pool) or not self.consolidated:
            return gpus <= self.free_of(pool)
        return sum(nlargest(self._most(gpus, pool), self.within(pool).free)) >= gpus

    def within(self, pool: str | None) -> "Servers":
        """The same servers, of which those outside the pool have nothing free; to place a job, not to take GPUs."""
        if pool is None:
            return self
        return self.with_free([room * allowed for room, allowed in zip(self.free, self.allowed(pool), strict=True)])

    def with_free(self, free: list[int]) -> "Servers":
        """The same servers with other free GPUs, to place a job."""
        other = copy(self)
        other.free, other.total = free, sum(free)
        return other

    def iteration_s(self, graph: JobGraph, placed: Placed) -> float:
        """Alpha of a placement; remembered, as clusters have few kinds of servers."""
        counts = tuple([row for _, row in placed])
        shares = tuple([self.shares[index] for index, _ in placed])
        key = graph, counts, shares
        known_s = self._known.get(key)
        if known_s is None:
            known_s = graph.iteration_s(counts, shares, self.inside)
            if len(placed) * len(graph.replicas) <= _REMEMBERED:
                self._known[key] = known_s
        return known_s

    def named(self, placed: Placed) -> list[Share]:
        """A placement as shares."""
        return named(self.names, placed)

    def placement(self, placed: Placed) -> tuple[Share, ...]:
        """The same, immutable; one object for equal placements on one server."""
        if len(placed) > 1:
            return tuple(self.named(placed))
        (each,) = placed
        known = self._shares.get(each)
        if known is None:
            known = self._shares[each] = tuple(self.named(placed))
        return known

    def placed(self, graph: JobGraph, placement: Iterable[Share]) -> Placed:
        """A placement, as rules return it."""
        index = {name: server for server, name in enumerate(self.names)}
        rows: dict[int, list[int]] = {}
        for share in placement:
            rows.setdefault(index[share.server], [0] * len(graph.replicas))[share.stage] += share.replicas
        return [(server, tuple(row)) for server, row in rows.items()]

    def take(self, placed: Placed) -> list[tuple[int, int]]:
        """Take the GPUs of a placement; return what to give back."""
        taken = taken_of(placed)
        self.give([(index, -count) for index, count in taken])
        return taken

    def give(self, taken: list[tuple[int, int]]) -> None:
        """Give GPUs back."""
        for index, count in taken:
            self.free[index] += count
            self.total += count
            for pool in self._pools[index]:
                self._free_of[pool] += count


Rule = Callable[[JobGraph, Servers], Placed]
"""From a job and servers whose free GPUs hold it to where it runs."""


def heavy_edge(graph: JobGraph, servers: Servers) -> Placed:
    """Place a job by Heavy-Edge (Luo et al. 2025; our reconstruction, see the module).

    Step 1: servers with the most free GPUs first (ties: the order given), until they hold the job. Where placement is
    consolidated, those of ``compact``: else jobs on one GPU would keep large ones off every server.
    Step 2: server by server, the ends of heavy edges together, see ``dlsched.cluster.replica_placement.grouped``.

    Guarantee: none; more servers than needed are never used. Cost: O(M log M) for M servers, and step 2.
    """
    if graph.gpus == 1 and not servers.consolidated:
        return [(max(range(len(servers.free)), key=servers.free.__getitem__), graph.replicas)]
    chosen = (_tightest if servers.consolidated else _most_free)(graph.gpus, servers.free)
    rooms = tuple(room for _, room in chosen)
    rows = remembering(grouped, graph, rooms)(graph, rooms)
    return [(server, row) for (server, _), row in zip(chosen, rows, strict=True)]


def compact(graph: JobGraph, servers: Servers) -> Placed:
    """Place a job more tightly than Heavy-Edge, and share its replicas out better; ours.

    Step 1: servers with the most free GPUs first, but the last one is that on which the rest fits most tightly (so a job
    that fits on one server leaves the larger holes to others).
    Step 2: Heavy-Edge's, or in the order of the chain, and swaps, see ``dlsched.cluster.replica_placement.improved``.
    Step 3: if it is faster, whole stages packed by best fit instead, heavy edges together, see
    ``dlsched.cluster.replica_placement``; that may use more servers, and is not taken then where placement is consolidated.

    Guarantee: none. Cost: as ``heavy_edge``, and the swaps once for every different job and set of rooms.
    """
    chosen = _tightest(graph.gpus, servers.free)
    if len(chosen) == 1:
        return [(chosen[0][0], graph.replicas)]
    rooms = tuple(room for _, room in chosen)
    shares = tuple(servers.shares[server] for server, _ in chosen)
    rows = remembering(improved, graph, rooms)(graph, rooms, shares, servers.inside)
    placed = [(server, row) for (server, _), row in zip(chosen, rows, strict=True)]
    packed = best_fit(graph, servers.free, servers.shares, servers.inside)
    if servers.consolidated and len(packed) > len(placed):
        return placed
    return min(placed, packed, key=lambda each: servers.iteration_s(graph, each))


def taken_of(placed: Placed) -> list[tuple[int, int]]:
    """Return the GPUs that a placement takes, by the index of the server."""
    return [(index, sum(row)) for index, row in placed]


PLACES: Mapping[str, Rule] = {"heavy-edge": heavy_edge, "compact": compact}


def in_order(graph: JobGraph, servers: Servers) -> Placed:
    """Place a job in the order of its chain, on the servers with the most free GPUs first. Fast; guarantee: none."""
    chosen = _most_free(graph.gpus, servers.free)
    rows = chained(graph, tuple(room for _, room in chosen))
    return [(server, row) for (server, _), row in zip(chosen, rows, strict=True)]


def placed_s(instance: Instance, rule: Rule, *, tick: Tick = no_tick) -> list[float]:
    """Seconds of an iteration of every job, which a rule reaches on the empty servers; they hold every job."""
    empty = Servers(instance)
    iteration_s: dict[tuple[JobGraph, str | None], float] = {}
    for job in instance.jobs:
        if (job.graph, job.pool) not in iteration_s:
            tick()
            placed = rule(job.graph, empty.within(job.pool))
            iteration_s[job.graph, job.pool] = empty.iteration_s(job.graph, placed)
    return [iteration_s[job.graph, job.pool] for job in instance.jobs]


def _most_free(gpus: int, free: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of a server and what it gives: the most free ones first, as few as hold the job."""
    chosen = []
    for server in sorted(range(len(free)), key=free.__getitem__, reverse=True):
        room = min(gpus, free[server])
        chosen.append((server, room))
        gpus -= room
        if not gpus:
            return chosen
    raise ValueError("the servers do not hold the job")


def _tightest(gpus: int, free: Sequence[int]) -> list[tuple[int, int]]:
    """The most free servers as long as none holds the rest, then the tightest one that does."""
    chosen = _most_free(gpus, free)[:-1] if max(free) < gpus else []
    remaining, taken = gpus - sum(room for _, room in chosen), {server for server, _ in chosen}
    tight = min((m for m, room in enumerate(free) if room >= remaining and m not in taken), key=free.__getitem__)
    return [*chosen, (tight, remaining)]


LARGEST = 20_000  # layouts of all jobs
MOST_SERVERS = 300
_MOST_SUMS = 10_000_000  # GPUs of a job times servers: beyond it counting the layouts takes too long


@dataclass(frozen=True, slots=True)
class Layout:
    """What it takes of the servers and groups; the least seconds of an iteration; replicas by server and stage that attain it.

    ``usage``: GPUs by server, then 1 for the job's group if that has a limit, as ``Instance.capacities`` counts; shape (M + K,).
    """

    usage: tuple[int, ...]
    iteration_s: float
    rows: Rows


Layouts = Sequence[Sequence[Layout]]
"""For every job, the layouts that it may have."""

Picked = Sequence[tuple[int, Layout]]
"""Jobs and their layouts, in order of their starts."""


def layouts(instance: Instance, *, tick: Tick = no_tick) -> list[list[Layout]]:
    """Every layout of every job; UsageError: too many layouts or servers, or too many ways to spread a job's replicas."""
    sizes = tuple(server.gpus for server in instance.servers)
    pools = {job.pool: _sizes_of(instance, job) for job in instance.jobs}
    if len(sizes) > MOST_SERVERS:
        raise UsageError(where="layouts", found=f"{len(sizes):,} servers", allowed=MOST_SERVERS)
    # count the layouts before any is made
    most, total = max((job.gpus for job in instance.jobs if job.begun is None), default=1), len(instance.jobs)
    splits: dict[tuple[int, str | None], list[tuple[int, ...]]] = {}
    if instance.consolidated:
        # so few that they are listed, up to one too many
        for job in instance.jobs:
            kind = job.gpus, job.pool
            if job.begun is None and kind not in splits:
                tick()
                ways = few_rooms(job.gpus, pools[job.pool], instance.most_servers(*kind))
                splits[kind] = list(islice(ways, LARGEST + 1))
        total = sum(len(splits[job.gpus, job.pool]) if job.begun is None else 1 for job in instance.jobs)
    elif len(sizes) > 1:
        if most * len(sizes) > _MOST_SUMS:
            found = f"a job of {most:,} GPUs on {len(sizes)} servers"
            raise UsageError(where="layouts", found=found, allowed=f"{_MOST_SUMS // len(sizes):,} GPUs")
        counts = {pool: splits_up_to(most, own, tick=tick) for pool, own in pools.items()}
        total = sum(counts[job.pool][job.gpus] if job.begun is None else 1 for job in instance.jobs)
    if total > LARGEST:
        shown = f"{total:,}{' or more' * instance.consolidated}" if total < 10**12 else f"some 10^{len(str(total)) - 1}"
        raise UsageError(where="layouts", found=f"{shown} of all jobs", allowed=f"{LARGEST:,}")
    begun = begun_starts(instance)
    return [
        [_running(instance, job, begun[job.id].placement)]
        if job.id in begun
        else [
            _layout(instance, job, usage, tick)
            for usage in splits.get((job.gpus, job.pool)) or splits_of(job.gpus, pools[job.pool])
        ]
        for job in instance.jobs
    ]


def _sizes_of(instance: Instance, job: Job) -> tuple[int, ...]:
    """GPUs of every server that a job may use, 0 of the others."""
    allowed = set(instance.servers_of(job))
    return tuple(server.gpus if index in allowed else 0 for index, server in enumerate(instance.servers))


def twins(instance: Instance) -> list[list[int]]:
    """Servers that may change places in any schedule: as many GPUs, the same pools, and no job has begun there."""
    distinct = {share.server for start in begun_starts(instance).values() for share in start.placement}
    # servers with jobs that have begun are no twins of any
    by_size: dict[tuple[int, frozenset[str]], list[int]] = {}
    for m, server in enumerate(instance.servers):
        if server.id not in distinct:
            by_size.setdefault((server.gpus, frozenset(server.pools)), []).append(m)
    return list(by_size.values())


def freest(choices: Layouts) -> int:
    """The first job with the most layouts."""
    return max(range(len(choices)), key=lambda i: len(choices[i]))


def without_twins(instance: Instance, choices: list[list[Layout]]) -> list[list[Layout]]:
    """All layouts, but for the freest job only those that take GPUs of equal servers in a fixed order."""
    pairs, job = [pair for group in twins(instance) for pair in pairwise(group)], freest(choices)
    ordered = [layout for layout in choices[job] if all(layout.usage[a] >= layout.usage[b] for a, b in pairs)]
    return [ordered if i == job else own for i, own in enumerate(choices)]


def lengths_s(instance: Instance, choices: Layouts) -> list[list[float]]:
    """Seconds that every job runs in each of its layouts."""
    return [
        [job.iterations * each.iteration_s for each in own] for job, own in zip(instance.jobs, choices, strict=True)
    ]


def mode_jobs(instance: Instance, choices: Layouts) -> list[ModeJob]:
    """The jobs with their layouts as modes."""
    return [
        ModeJob(
            job.release_s,
            [(job.iterations * each.iteration_s, each.usage) for each in own],
            (job.graph, job.iterations, job.pool, instance.slots(job)),
            job.begun is not None,
        )
        for job, own in zip(instance.jobs, choices, strict=True)
    ]


def shares(instance: Instance, layout: Layout) -> list[Share]:
    """The placement of a layout."""
    return named([server.id for server in instance.servers], enumerate(layout.rows))


def picked_of(instance: Instance, choices: Layouts, schedule: Schedule) -> list[tuple[int, Layout]]:
    """The jobs of a schedule in order of their starts (of equal ones the shorter first) and the layouts of their usages."""
    picked = []
    for index, (job, own) in enumerate(zip(instance.jobs, choices, strict=True)):
        start_s, placement = schedule.jobs[job.id]
        # the layout with the GPUs that the schedule uses
        usage = [0] * len(instance.servers)
        for share in placement:
            usage[instance.server_index[share.server]] += share.replicas
        layout = next(layout for layout in own if layout.usage[: len(usage)] == tuple(usage))
        picked.append((start_s, job.iterations * layout.iteration_s, index, layout))
    return [(index, layout) for *_, index, layout in sorted(picked, key=lambda each: each[:3])]


def _running(instance: Instance, job: Job, placement: Sequence[Share]) -> Layout:
    """The layout of a job where it runs, with its own rows."""
    rows = [[0] * len(job.stages) for _ in instance.servers]
    for share in placement:
        rows[instance.server_index[share.server]][share.stage] = share.replicas
    used = [m for m, row in enumerate(rows) if any(row)]
    bands = [instance.shares[m] for m in used]
    iteration_s = job.graph.iteration_s([rows[m] for m in used], bands, instance.intra_bandwidth_bytes_per_s)
    return Layout((*map(sum, rows), *instance.slots(job)), iteration_s, tuple(map(tuple, rows)))


def _layout(instance: Instance, job: Job, usage: tuple[int, ...], tick: Tick) -> Layout:
    """The layout of a usage, its replicas spread in the best way; UsageError as ``layouts``."""
    tick()
    used = sorted((m for m, count in enumerate(usage) if count), key=lambda m: (instance.shares[m], usage[m]))
    rooms, bands = tuple(usage[m] for m in used), tuple(instance.shares[m] for m in used)
    try:
        iteration_s, replicas = best_rows(job.graph, rooms, bands, instance.intra_bandwidth_bytes_per_s, tick=tick)
    except TooMany:
        raise UsageError(f"layouts: job {job.id!r} has too many ways to spread its replicas over servers") from None
    by_server = dict(zip(used, replicas, strict=True))
    none = (0,) * len(job.stages)
    rows = tuple(by_server.get(m, none) for m in range(len(usage)))
    return Layout((*usage, *instance.slots(job)), iteration_s, rows)


def timed(
    instance: Instance, picked: Picked, *, not_before_s: Sequence[float] | None = None, tick: Tick = no_tick
) -> Schedule:
    """Start every job at the earliest time at which its GPUs are free to its end, beside the jobs picked before it.

    Those that have begun come first, and start at their release. ``not_before_s``: by job a time not before its release.
    Cost: O(I^2 M).
    """
    jobs, sizes = instance.jobs, instance.capacities
    picked = sorted(picked, key=lambda pick: jobs[pick[0]].begun is None)
    # each job takes its GPUs from its earliest time on, in the order of the picks
    froms_s = [job.release_s for job in jobs] if not_before_s is None else not_before_s
    takes = [(froms_s[i], jobs[i].iterations * layout.iteration_s, layout.usage) for i, layout in picked]
    starts_s = earliest_starts(sizes, takes, tick=tick)
    starts = {i: (start_s, shares(instance, layout)) for start_s, (i, layout) in zip(starts_s, picked, strict=True)}
    return Schedule({job.id: starts[i] for i, job in enumerate(jobs)})
