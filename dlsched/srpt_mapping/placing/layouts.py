"""The layouts of a job: every way in which the servers can give it its GPUs, each with the best seconds of an iteration.

A layout fixes how many GPUs each server gives; the replicas are then spread in the best way (``rows``). As only these
numbers and the length matter to other jobs, some optimal schedule uses layouts only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from dlsched.cluster.job_graph import JobGraph
from dlsched.core.errors import UsageError
from dlsched.srpt_mapping.certificate import no_tick
from dlsched.srpt_mapping.instance import Instance
from dlsched.cluster.spreading import Rows, TooMany, best_rows, splits_of
from dlsched.srpt_mapping.solution import Share

LARGEST = 20_000
MOST_SERVERS = 300
_MOST_SUMS = 10_000_000  # GPUs of a job times servers: beyond it counting the layouts takes too long


@dataclass(frozen=True, slots=True)
class Layout:
    """GPUs by server, shape (M,); the least seconds of an iteration; and replicas by server and stage that attain it."""

    usage: tuple[int, ...]
    iteration_s: float
    rows: Rows


def layouts(instance: Instance, *, tick: Callable[[], None] | None = None) -> list[list[Layout]]:
    """Every layout of every job; ``tick`` is called for each, and may raise to stop.

    Raises
    ------
    UsageError
        More than ``LARGEST`` layouts or ``MOST_SERVERS`` servers, or a job with too many ways to spread its replicas.
    """
    sizes = [server.gpus for server in instance.servers]
    if len(sizes) > MOST_SERVERS:
        raise UsageError(f"layouts: found {len(sizes):,} servers, allowed: {MOST_SERVERS}")
    most, total = max(job.gpus for job in instance.jobs), len(instance.jobs)
    if len(sizes) > 1:
        if most * len(sizes) > _MOST_SUMS:
            found, allowed = f"a job of {most:,} GPUs on {len(sizes)} servers", _MOST_SUMS // len(sizes)
            raise UsageError(f"layouts: found {found}, allowed: {allowed:,} GPUs")
        counts = _counts(most, sizes, tick or no_tick)
        total = sum(counts[job.gpus] for job in instance.jobs)
    if total > LARGEST:
        raise UsageError(f"layouts: found {_shown(total)} of all jobs, allowed: {LARGEST:,}")
    held_of = []
    for job in instance.jobs:
        held = []
        for usage in splits_of(job.gpus, tuple(sizes)):
            if tick is not None:
                tick()
            held.append(_layout(instance, job.id, job.graph, usage, tick or no_tick))
        held_of.append(held)
    return held_of


def shares(instance: Instance, layout: Layout) -> tuple[Share, ...]:
    """The placement of a layout, as solutions hold it."""
    return tuple(
        Share(stage, server.id, count)
        for server, row in zip(instance.servers, layout.rows, strict=True)
        for stage, count in enumerate(row)
        if count
    )


def _layout(instance: Instance, name: str, graph: JobGraph, usage: tuple[int, ...], tick: Callable[[], None]) -> Layout:
    used = sorted((place for place, count in enumerate(usage) if count), key=lambda p: (instance.shares[p], usage[p]))
    try:
        iteration_s, rows = best_rows(
            graph,
            tuple(usage[place] for place in used),
            tuple(instance.shares[place] for place in used),
            instance.intra_bandwidth_bytes_per_s,
            tick=tick,
        )
    except TooMany:
        raise UsageError(f"layouts: job {name!r} has too many ways to spread its replicas over servers") from None
    by_server = dict(zip(used, rows, strict=True))
    none = (0,) * len(graph.replicas)
    return Layout(usage, iteration_s, tuple(by_server.get(place, none) for place in range(len(usage))))


def _shown(total: int) -> str:
    return f"{total:,}" if total < 10**12 else f"some 10^{len(str(total)) - 1}"


def _counts(most: int, sizes: Sequence[int], tick: Callable[[], None]) -> list[int]:
    """In how many ways the servers can give 0 .. most GPUs."""
    ways = [1] + [0] * most
    for size in sizes:
        tick()
        sums = list(accumulate(ways, initial=0))
        ways = [sums[count + 1] - sums[max(0, count - size)] for count in range(most + 1)]
    return ways
