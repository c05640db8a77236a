"""The layouts of a job: every way in which the servers can give it its GPUs, each with the best seconds of an iteration.

A layout fixes how many GPUs each server gives; the replicas are then spread in the best way (``cluster.replica_placement``). As
only these numbers and the length matter to other jobs, some optimal schedule uses layouts only. A job that has
begun has one layout, the one in which it runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from dlsched.algorithms.start_tree import ModeJob
from dlsched.cluster.replica_placement import Rows, best_rows, splits_of, splits_up_to
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, TooMany, no_tick
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.placing.servers import named
from dlsched.srpt_mapping.solution import Schedule, Share, begun_starts

LARGEST = 20_000
MOST_SERVERS = 300
_MOST_SUMS = 10_000_000  # GPUs of a job times servers: beyond it counting the layouts takes too long


@dataclass(frozen=True, slots=True)
class Layout:
    """GPUs by server, shape (M,); the least seconds of an iteration; and replicas by server and stage that attain it."""

    usage: tuple[int, ...]
    iteration_s: float
    rows: Rows


Layouts = Sequence[Sequence[Layout]]
"""For every job, the layouts that it may have."""

Picked = Sequence[tuple[int, Layout]]
"""Jobs and their layouts, in order of their starts."""


def layouts(instance: Instance, *, tick: Tick = no_tick) -> list[list[Layout]]:
    """Every layout of every job; ``tick`` is called for each, and may raise to stop.

    Raises
    ------
    UsageError
        More than ``LARGEST`` layouts or ``MOST_SERVERS`` servers, or a job with too many ways to spread its replicas.
    """
    sizes = tuple(server.gpus for server in instance.servers)
    if len(sizes) > MOST_SERVERS:
        raise UsageError(where="layouts", found=f"{len(sizes):,} servers", allowed=MOST_SERVERS)
    most, total = max((job.gpus for job in instance.jobs if job.begun is None), default=1), len(instance.jobs)
    if len(sizes) > 1:
        if most * len(sizes) > _MOST_SUMS:
            found = f"a job of {most:,} GPUs on {len(sizes)} servers"
            raise UsageError(where="layouts", found=found, allowed=f"{_MOST_SUMS // len(sizes):,} GPUs")
        counts = splits_up_to(most, sizes, tick=tick)
        total = sum(counts[job.gpus] if job.begun is None else 1 for job in instance.jobs)
    if total > LARGEST:
        shown = f"{total:,}" if total < 10**12 else f"some 10^{len(str(total)) - 1}"
        raise UsageError(where="layouts", found=f"{shown} of all jobs", allowed=f"{LARGEST:,}")
    begun = begun_starts(instance)
    return [
        [_running(instance, job, begun[job.id].placement)]
        if job.id in begun
        else [_layout(instance, job, usage, tick) for usage in splits_of(job.gpus, sizes)]
        for job in instance.jobs
    ]


def twins(instance: Instance) -> list[list[int]]:
    """Servers that may change places in any schedule: as many GPUs, and no job has begun there."""
    told_apart = {share.server for start in begun_starts(instance).values() for share in start.placement}
    by_size: dict[int, list[int]] = {}
    for m, server in enumerate(instance.servers):
        if server.id not in told_apart:
            by_size.setdefault(server.gpus, []).append(m)
    return list(by_size.values())


def freest(choices: Layouts) -> int:
    """The first job with the most layouts."""
    return max(range(len(choices)), key=lambda i: len(choices[i]))


def without_twins(instance: Instance, choices: list[list[Layout]]) -> list[list[Layout]]:
    """All layouts, but for the freest job only those that take GPUs of equal servers in a fixed order."""
    pairs, job = [pair for held in twins(instance) for pair in pairwise(held)], freest(choices)
    kept = [layout for layout in choices[job] if all(layout.usage[a] >= layout.usage[b] for a, b in pairs)]
    return [kept if i == job else held for i, held in enumerate(choices)]


def lengths_s(instance: Instance, found: Layouts) -> list[list[float]]:
    """Seconds that every job runs in each of its layouts."""
    return [
        [job.iterations * each.iteration_s for each in held] for job, held in zip(instance.jobs, found, strict=True)
    ]


def mode_jobs(instance: Instance, found: Layouts) -> list[ModeJob]:
    """The jobs with their layouts as modes."""
    return [
        ModeJob(
            job.release_s,
            [(job.iterations * each.iteration_s, each.usage) for each in held],
            (job.graph, job.iterations),
            job.begun is not None,
        )
        for job, held in zip(instance.jobs, found, strict=True)
    ]


def shares(instance: Instance, layout: Layout) -> list[Share]:
    """The placement of a layout, as solutions hold it."""
    return named([server.id for server in instance.servers], enumerate(layout.rows))


def picked_of(instance: Instance, found: Layouts, schedule: Schedule) -> list[tuple[int, Layout]]:
    """The jobs of a schedule in order of their starts (of equal ones the shorter first) and the layouts of their usages."""
    picked = []
    for index, (job, held) in enumerate(zip(instance.jobs, found, strict=True)):
        start_s, placement = schedule.jobs[job.id]
        usage = [0] * len(instance.servers)
        for share in placement:
            usage[instance.server_index[share.server]] += share.replicas
        layout = next(layout for layout in held if layout.usage == tuple(usage))
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
    return Layout(tuple(map(sum, rows)), iteration_s, tuple(map(tuple, rows)))


def _layout(instance: Instance, job: Job, usage: tuple[int, ...], tick: Tick) -> Layout:
    tick()
    used = sorted((m for m, count in enumerate(usage) if count), key=lambda m: (instance.shares[m], usage[m]))
    rooms, bands = tuple(usage[m] for m in used), tuple(instance.shares[m] for m in used)
    try:
        iteration_s, rows = best_rows(job.graph, rooms, bands, instance.intra_bandwidth_bytes_per_s, tick=tick)
    except TooMany:
        raise UsageError(f"layouts: job {job.id!r} has too many ways to spread its replicas over servers") from None
    by_server = dict(zip(used, rows, strict=True))
    none = (0,) * len(job.stages)
    return Layout(usage, iteration_s, tuple(by_server.get(m, none) for m in range(len(usage))))
