"""Layouts of jobs: what they may take of the servers, how long they run there, and start times of layouts.

A *layout* fixes how many GPUs each server gives to a job; the replicas are then spread in the best way
(``cluster.replica_placement``). As only these numbers and the length matter to other jobs, some optimal schedule uses
layouts only. A job that has begun has one layout, the one in which it runs.

*Slices.* Where jobs take slices of GPUs, a server whose ``slicing`` is not none is looked at GPU by GPU: a slice lies on one GPU
and does not move, and a job of whole GPUs takes some that are free from its start to its end. So a layout says which GPUs, and
which slots, a job takes. It is counted in ``Instance.units`` by ``Instance.columns``; exact methods see columns and units only.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, pairwise, product

from dlsched.algorithms.serial_schedule import earliest_starts
from dlsched.algorithms.start_tree import ModeJob
from dlsched.cluster.replica_placement import best_rows, few_rooms, splits_of, splits_up_to
from dlsched.cluster.spreading import Rows
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, TooMany, no_tick
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.placing import named
from dlsched.srpt_mapping.solution import Schedule, Share, begun_starts

LARGEST = 20_000  # layouts of all jobs
MOST_SERVERS = 300
_MANY = 1_000_000_000  # layouts of a job are counted no further
_MOST_SUMS = 10_000_000  # GPUs of a job times servers: beyond it counting the layouts takes too long


@dataclass(frozen=True, slots=True)
class Layout:
    """What it takes of the servers and groups; the least seconds of an iteration; replicas by server and stage that attain it.

    ``usage``: GPUs by server, or units by column, then 1 for the job's group if that has a limit, as ``Instance.capacities``
    counts; shape (M + K,).
    """

    usage: tuple[int, ...]
    iteration_s: float
    rows: Rows
    placement: tuple[Share, ...] | None = None  # where jobs take slices, with GPUs and slots


Layouts = Sequence[Sequence[Layout]]
"""For every job, the layouts that it may have."""

Picked = Sequence[tuple[int, Layout]]
"""Jobs and their layouts, in order of their starts."""


def layouts(instance: Instance, *, tick: Tick = no_tick) -> list[list[Layout]]:
    """Every layout of every job; UsageError: too many layouts or servers, or too many ways to spread a job's replicas."""
    if instance.sliced:
        return _sliced_layouts(instance, tick)
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
    """Servers that may change places in any schedule: as many GPUs, the same pools, and no job has begun there.

    Where jobs take slices, columns that may.
    """
    starts = begun_starts(instance)
    if instance.sliced:  # the GPUs of a server of shares
        begun = [(job, start.placement) for job in instance.jobs if (start := starts.get(job.id))]
        taken = [sum(usages) for usages in zip(*(usage_of(instance, *each) for each in begun), strict=True)]
        own = zip(instance.servers, instance.columns, strict=True)
        shared = [columns for server, columns in own if server.slicing == "shares"]
        return [[column for column in columns if not (taken and taken[column])] for columns in shared]
    distinct = {share.server for start in starts.values() for share in start.placement}
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
    if layout.placement is not None:
        return list(layout.placement)
    return named([server.id for server in instance.servers], enumerate(layout.rows))


def picked_of(instance: Instance, choices: Layouts, schedule: Schedule) -> list[tuple[int, Layout]]:
    """The jobs of a schedule in order of their starts (of equal ones the shorter first) and the layouts of their usages."""
    picked = []
    for index, (job, own) in enumerate(zip(instance.jobs, choices, strict=True)):
        start_s, placement = schedule.jobs[job.id]
        usage = usage_of(instance, job, placement)
        layout = next(layout for layout in own if layout.usage[: len(usage)] == usage)
        picked.append((start_s, job.iterations * layout.iteration_s, index, layout))
    return [(index, layout) for *_, index, layout in sorted(picked, key=lambda each: each[:3])]


def usage_of(instance: Instance, job: Job, placement: Sequence[Share]) -> tuple[int, ...]:
    """What a placement takes of every server, or of every column, in units."""
    usage = [0] * instance.columns[-1].stop
    for share in placement:
        m = instance.server_index[share.server]
        server, columns = instance.servers[m], instance.columns[m]
        if not share.gpus:
            usage[columns.start] += share.replicas * instance.units
            continue
        # of a GPU that is cut into slots all of them, or those of the profile
        slots = len(columns) // server.gpus
        some = range(slots)
        if job.profile is not None and server.geometry is not None and share.slot is not None:
            some = range(share.slot, share.slot + server.geometry.profiles[job.profile].size)
        each = instance.units_of(job) if slots == 1 and isinstance(job.slice, int) else instance.units // slots
        for gpu in share.gpus:
            for slot in some:
                usage[columns[gpu * slots + slot]] += each
    return tuple(usage)


def _running(instance: Instance, job: Job, placement: Sequence[Share]) -> Layout:
    """The layout of a job where it runs, with its own rows."""
    rows = [[0] * len(job.stages) for _ in instance.servers]
    for share in placement:
        rows[instance.server_index[share.server]][share.stage] = share.replicas
    used = [m for m, row in enumerate(rows) if any(row)]
    bands = [instance.shares[m] for m in used]
    iteration_s = job.graph.iteration_s([rows[m] for m in used], bands, instance.intra_bandwidth_bytes_per_s)
    usage = (*usage_of(instance, job, placement), *instance.slots(job))
    return Layout(usage, iteration_s, tuple(map(tuple, rows)), tuple(placement) if instance.sliced else None)


def _layout(instance: Instance, job: Job, usage: tuple[int, ...], tick: Tick) -> Layout:
    """The layout of numbers of GPUs by server, its replicas spread in the best way; UsageError as ``layouts``."""
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


def _sliced_layouts(instance: Instance, tick: Tick) -> list[list[Layout]]:
    """As ``layouts``, where jobs take slices."""
    total = sum(_count(instance, job) for job in instance.jobs)
    if total > LARGEST:
        raise UsageError(where="layouts", found=f"{total:,} of all jobs", allowed=f"{LARGEST:,}")
    begun = begun_starts(instance)
    return [
        [_running(instance, job, begun[job.id].placement)]
        if job.id in begun
        else list(_slices(instance, job) if job.slice is not None else _wholes(instance, job, tick))
        for job in instance.jobs
    ]


def _count(instance: Instance, job: Job) -> int:
    """How many layouts a job has, or at least: consolidated placement has fewer."""
    if job.begun is not None:
        return 1
    servers = [instance.servers[m] for m in instance.servers_of(job)]
    if job.profile is not None:
        return sum(each.gpus * len(each.geometry.profiles[job.profile].starts) for each in servers if each.geometry)
    if job.slice is not None:
        return sum(server.gpus for server in servers)
    if job.gpus * len(servers) > _MOST_SUMS:
        return _MANY
    # by GPUs taken so far the number of ways, at most many
    ways = [1, *[0] * job.gpus]
    for server in servers:
        most = min(server.gpus, job.gpus)
        here = [1 if server.slicing == "none" else math.comb(server.gpus, n) for n in range(most + 1)]
        ways = [min(_MANY, sum(ways[n - k] * here[k] for k in range(min(n, most) + 1))) for n in range(job.gpus + 1)]
    return ways[job.gpus]


def _slices(instance: Instance, job: Job) -> Iterator[Layout]:
    """Layouts of a job on a slice: each GPU, and each start of its profile."""
    iteration_s = job.graph.iteration_s([(1,)], [instance.shares[0]], instance.intra_bandwidth_bytes_per_s)
    for m in instance.servers_of(job):
        server, columns = instance.servers[m], instance.columns[m]
        rows = tuple((int(other == m),) for other in range(len(instance.servers)))
        slots = len(columns) // server.gpus
        for gpu in range(server.gpus):
            taken: list[tuple[range, int, int | None]]
            if job.profile is None or server.geometry is None:
                taken = [(range(columns[gpu], columns[gpu] + 1), instance.units_of(job), None)]
            else:
                size, starts = server.geometry.profiles[job.profile]
                first = columns[gpu * slots]
                taken = [(range(first + s, first + s + size), instance.units // slots, s) for s in sorted(starts)]
            for some, units, slot in taken:
                usage = [0] * instance.columns[-1].stop
                usage[some.start : some.stop] = [units] * len(some)
                placement = (Share(0, server.id, 1).on((gpu,), slot),)
                yield Layout((*usage, *instance.slots(job)), iteration_s, rows, placement)


def _wholes(instance: Instance, job: Job, tick: Tick) -> Iterator[Layout]:
    """Layouts of a job of whole GPUs: numbers by server, and on servers with slices each choice of GPUs."""
    allowed = set(instance.servers_of(job))
    sizes = tuple(server.gpus if m in allowed else 0 for m, server in enumerate(instance.servers))
    ways = splits_of(job.gpus, sizes)
    if instance.consolidated:
        ways = islice(few_rooms(job.gpus, sizes, instance.most_servers(job.gpus, job.pool)), LARGEST + 1)
    for counts in ways:
        layout = _layout(instance, job, counts, tick)
        placement = named([server.id for server in instance.servers], enumerate(layout.rows))
        # on every server that the job uses each choice of GPUs, by number in ascending order
        some = [
            [()] if server.slicing == "none" else list(combinations(range(server.gpus), count))
            for server, count in zip(instance.servers, counts, strict=True)
        ]
        for chosen in product(*some):
            free = {server.id: list(gpus) for server, gpus in zip(instance.servers, chosen, strict=True)}
            shares = []
            for share in placement:
                shares.append(share.on(tuple(free[share.server][: share.replicas])))
                del free[share.server][: share.replicas]
            usage = (*usage_of(instance, job, shares), *instance.slots(job))
            yield Layout(usage, layout.iteration_s, layout.rows, tuple(shares))
