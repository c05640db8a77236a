"""A queue at one moment as an instance of ring_allocation: how many GPUs each job gets from now on."""

import functools
import math
from bisect import bisect
from collections.abc import Callable, Mapping
from typing import Final

from dlsched.cluster.published import published_speeds
from dlsched.core.errors import UsageError
from dlsched.ring_allocation.instance import Instance
from dlsched.traces.queue import Queue, QueuedJob
from dlsched.traces.selection import ImportedInstance, fewest
from dlsched.traces.snapshot import Present, Snapshot, admitted, at_moment, made_of

SCALING: Final = ("published", "own")

Counts = Callable[[Present], Mapping[int, float]]  # from a job to its seconds of an epoch by count of GPUs

# jobs of at most this many GPU-hours follow this table of PCS: model and batch, from the poorest speed-up to the best
SIZE_CLASSES = (
    (1.0, "Video prediction", 64),
    (10.0, "ResNet-50", 128),
    (100.0, "Inception-v4", 256),
    (math.inf, "Transformer", 4096),
)


@functools.cache
def curves() -> tuple[dict[int, float], ...]:
    """Return seconds per epoch by count, for every size class."""
    tables = {(speed.model, speed.batch_samples): speed for speed in published_speeds() if speed.gpu is None}
    speeds = [tables[model, batch_samples] for _, model, batch_samples in SIZE_CLASSES]
    return tuple(dict(zip(speed.counts, speed.epoch_time_s, strict=True)) for speed in speeds)


def curve_of(gpus: int, seconds: float) -> int | None:
    """Return the index of the curve of a job's size class, or of the next that reaches its GPUs, or None."""
    hours = gpus * seconds / 3600
    first = next(index for index, (most, _, _) in enumerate(SIZE_CLASSES) if hours <= most)
    return next((index for index in range(first, len(SIZE_CLASSES)) if max(curves()[index]) >= gpus), None)


@functools.lru_cache(maxsize=1024)
def ratios(index: int | None, gpus: int, max_gpus: int) -> tuple[tuple[int, float], ...]:
    """Return the allowed counts, each with its time divided by the time on ``gpus``."""
    if index is None:
        return ((gpus, 1.0),)
    curve = curves()[index]
    largest = max(gpus, min(max_gpus, max(curve)))
    counts = sorted({gpus, *(2**power for power in range(largest.bit_length()))})
    return tuple((count, _speed(curve, gpus) / _speed(curve, count)) for count in counts)


def _speed(curve: dict[int, float], count: int) -> float:
    """Epochs per second on that count, linear between the counts of the curve."""
    if count in curve:
        return 1 / curve[count]
    counts = list(curve)
    above = bisect(counts, count)
    low, high = counts[above - 1], counts[above]
    return 1 / curve[low] + (1 / curve[high] - 1 / curve[low]) * ((count - low) / (high - low))


def times_of(job: QueuedJob, length_s: float, scaling: str, max_gpus: int | None) -> dict[int, float]:
    """Seconds of an epoch by count, 1 on the job's own GPUs: in proportion (``own``), or by the curve of its GPU-hours."""
    if scaling == "own":
        return {count: job.gpus / count for count in range(fewest(job), job.gpus + 1)}
    table = ratios(curve_of(job.gpus, length_s), job.gpus, max_gpus or 0)
    return {count: ratio for count, ratio in table if count >= (job.least_gpus or 1)}


def allocation_of(
    queue: Queue,
    *,
    gpus: int | None = None,
    at: str | None = None,
    estimates: bool = False,
    restart_s: float | None = None,
    pinned: bool = False,
    scaling: str = "published",
    max_gpus: int | None = None,
) -> ImportedInstance:
    """Make an instance of ring_allocation, in which an epoch is a second on the GPUs that a job holds or asks for.

    Waiting jobs are included as long as their smallest counts fit beside the running ones, first come first.

    ``gpus``: GPUs of the cluster; None: as ``gpus_of_cluster``. ``at``: the moment, in the queue's format of times;
    None: the latest of the file. ``estimates``: whether jobs have left what their users stated, instead of what they
    really took. ``restart_s``: seconds that a change of its GPUs costs a running job; None: 0. ``pinned``: whether
    running jobs keep their GPUs. ``scaling``, ``max_gpus``: as ``counts_of``.
    """
    present, total, audit = at_moment(queue, at, gpus, estimates=estimates)
    if restart_s is not None and not 0 <= restart_s < math.inf:
        raise UsageError(where="restart_s", found=restart_s, allowed="a number >= 0")
    counts = counts_of(scaling, max_gpus)

    instance, inside, left_out = allocation_at(present, total, counts, pinned=pinned, restart_s=restart_s or 0.0)
    audit += [*left_out, *_assumed(scaling, max_gpus, pinned, restart_s)]
    name = f"{queue.source}-now-{len(inside)}x{instance.gpus}"
    return made_of(queue, instance.model_copy(update={"name": name}), inside, audit)


def allocation_at(
    present: Snapshot, gpus: int, counts: Counts, *, pinned: bool, restart_s: float
) -> tuple[Instance, list[Present], list[str]]:
    """Return the instance of a moment, its jobs, and the audit of the others; see ``allocation_of``."""

    def table(each: Present) -> Mapping[int, float]:
        return {each.job.gpus: 1.0} if each.running and pinned else counts(each)

    inside, notes = admitted(present, gpus, lambda each: min(table(each)))
    jobs = [
        {"id": each.job.id, "epochs": each.left_s, "epoch_time_s": table(each)}
        | ({"current_gpus": each.job.gpus, "restart_s": restart_s} if each.running else {})
        for each in inside
    ]
    return Instance(name="now", gpus=gpus - len(present.outside), jobs=jobs), inside, notes


def counts_of(scaling: str = "published", max_gpus: int | None = None) -> Counts:
    """Return a function from a job to seconds of an epoch by count, 1 on the GPUs that it holds or asks for.

    ``scaling``: ``published``: also on powers of two below its own GPUs, by the curves of ``import_philly``; ``own``:
    on its own GPUs or, if it states a smaller minimum, on any number from that on, with speed in proportion.
    ``max_gpus``: largest power of two to which a job may grow, with ``published``; None: its own GPUs.
    """
    if scaling not in SCALING:
        raise UsageError(where="scaling", found=repr(scaling), allowed=", ".join(SCALING))
    if max_gpus is not None and (max_gpus < 1 or scaling == "own"):
        raise UsageError(where="max_gpus", found=max_gpus, allowed="an integer >= 1, with scaling published only")

    # The curve is that of the whole job's GPU-hours, elapsed ones included.
    return lambda each: times_of(each.job, each.length_s, scaling, max_gpus)


def _assumed(scaling: str, max_gpus: int | None, pinned: bool, restart_s: float | None) -> list[str]:
    grown = f", and on powers of two above them to {max_gpus}" if max_gpus else ""
    audit = ["An epoch is a second of a job on the GPUs that it holds or asks for."]
    if scaling == "published":
        audit.append(
            f"Jobs may run on the GPUs that they hold or ask for, and on powers of two below them{grown}; times on other counts "
            "follow tables of PCS by GPU-hours, an assumption of ours."
        )
    else:
        audit.append("Jobs run on the GPUs that they ask for; those that say that fewer do are slower in proportion.")
    if pinned:
        audit.append("Running jobs keep their GPUs.")
    elif restart_s is None:
        audit.append("A change of its GPUs is assumed to cost a running job 0 s: the file does not say.")
    return audit
