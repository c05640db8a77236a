"""Counts of GPUs: slices of a GPU (MIG profiles, thousandths, shares), and the size of a queue's cluster."""

import math
import re
from collections.abc import Container, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Final

from dlsched.core.errors import UsageError
from dlsched.traces.queue import Queue, QueuedJob, Sentence, figure

GPUS_OF_A_SERVER = 8  # the default cluster has a multiple of 8 GPUs
MOST_GPUS = 2**16  # GPUs of a job, and of a cluster, which lists all its servers
INTRA_BANDWIDTH_BYTES_PER_S = 1.5e11  # NVLink of a V100, one direction
NIC_BANDWIDTH_BYTES_PER_S = 1.25e10  # 100 Gbit/s

PARTS_OF_A_GPU: Final = 7  # of which a MIG profile ``Ng.`` has N
PARTS_OF_AN_A30: Final = 4
A30_PROFILES: Final = frozenset({"1g.6gb", "2g.12gb", "4g.24gb"})
ROUNDING: Final = 1e-9  # of sums of parts

_PROFILE = re.compile(r"(?<![0-9a-z])([1-9]g\.[0-9]+gb)(?:[+.](me))?(?![0-9a-z])")
_A30 = re.compile(r"(?<![0-9a-z])a30(?![0-9a-z])")


def profile_in(name: str) -> str:
    """The MIG profile that a type or resource names, with ``+me`` if it has media engines; empty: none.

    >>> [profile_in(name) for name in ("a100_1g.5gb", "nvidia.com/mig-1g.10gb.me", "a100")]
    ['1g.5gb', '1g.10gb+me', '']
    """
    found = _PROFILE.search(name.casefold().replace("_", " "))
    return "" if found is None else found[1] + ("+me" if found[2] else "")


def part_of(name: str) -> Fraction:
    """Part of a GPU that is one device of a type or resource: of a MIG profile ``Ng.`` N sevenths, on an A30 N quarters.

    >>> [str(part_of(name)) for name in ("a100_1g.5gb", "nvidia.com/mig-2g.10gb", "a100_7g.40gb", "4g.24gb", "a100")]
    ['1/7', '2/7', '1', '1', '1']
    """
    profile = profile_in(name)
    if not profile:
        return Fraction(1)
    quarters = profile in A30_PROFILES or _A30.search(name.casefold().replace("_", " ")) is not None
    return min(Fraction(1), Fraction(int(profile[0]), PARTS_OF_AN_A30 if quarters else PARTS_OF_A_GPU))


def packed(parts: Sequence[float]) -> list[list[int]]:
    """Put slices on few GPUs; indices by GPU. First fit, the largest first; GPUs filled one by one if that takes fewer.

    >>> packed([0.5, 0.75, 0.25, 0.5]), len(packed([3 / 7] * 4 + [2 / 7] * 4))
    ([[1, 2], [0, 3]], 3)
    """
    order = sorted(range(len(parts)), key=lambda index: -parts[index])
    gpus: list[list[int]] = []
    free: list[float] = []
    for index in order:
        place = next((place for place, room in enumerate(free) if parts[index] <= room + ROUNDING), len(gpus))
        if place == len(gpus):
            gpus.append([])
            free.append(1.0)
        gpus[place].append(index)
        free[place] -= parts[index]
    return gpus if len(gpus) <= whole_of(sum(parts)) else min(gpus, _filled(parts, order), key=len)


def _filled(parts: Sequence[float], order: Sequence[int]) -> list[list[int]]:
    """GPUs filled one by one; ``order``: indices, the largest first."""
    remaining, gpus = list(order), []
    while remaining:
        first, *others = remaining
        # Subset sums of the other parts that fit beside the largest one: the fullest is taken.
        best: dict[float, list[int]] = {0.0: []}  # by the sum of their parts
        for index in others:
            for taken, beside in list(best.items()):
                total = round(taken + parts[index], 9)
                if total <= 1 - parts[first] + ROUNDING:
                    best.setdefault(total, [*beside, index])
        gpu = [first, *best[max(best)]]
        gpus.append(gpu)
        remaining = [index for index in remaining if index not in gpu]
    return gpus


def whole_of(parts: float) -> int:
    """The fewest GPUs that hold so many GPUs' worth of parts, up to rounding."""
    return math.ceil(round(parts, 9))


def equal_sizes(count: int, each: int) -> list[int]:
    """Sizes of equal parts of ``count``, of which the last has the rest."""
    whole, rest = divmod(count, each)
    return [each] * whole + ([rest] if rest else [])


def unused(name: str, taken: Container[str]) -> str:
    """The name, with as many dots behind it as make it one of its own."""
    while name in taken:
        name += "."
    return name


def gpus_of_cluster(queue: Queue, now: int, gpus: int | None) -> tuple[int, list[str]]:
    """GPUs of the cluster (given, of the nodes, or the most held at once, ``now`` included), and audit sentences."""
    if gpus is not None:
        if gpus < 1:
            raise UsageError(where="gpus", found=gpus, allowed="an integer >= 1")
        return gpus, []
    listed = sum(node.gpus for node in queue.nodes)
    if listed:
        return listed, [f"The cluster is given the {listed:,} GPUs of its nodes."]
    most = max(most_in_use(queue, queue.jobs), now, 1)
    return most, [f"The cluster is given {most:,} GPUs, the most that were in use at once."]


def most_in_use(queue: Queue, jobs: Sequence[QueuedJob]) -> int:
    """The most GPUs that some jobs of a queue and its left-out slices held at once, as an instance counts them."""
    return most_held((), (*jobs, *queue.slices)) if queue.sliced else most_held(jobs, queue.slices)


def most_held(jobs: Sequence[QueuedJob], slices: Sequence[QueuedJob] = ()) -> int:
    """The most GPUs that jobs held at once, slices by their share; jobs without an end hold theirs forever."""
    # Changes sort by time, then by sign: an end at the time of a start frees its GPUs first.
    changes: list[tuple[float, float]] = []
    for job, gpus in (*((job, job.gpus) for job in jobs), *((job, job.parts) for job in slices)):
        if job.start_s is not None:
            changes.append((job.start_s, gpus))
            if job.end_s is not None:
                changes.append((job.end_s, -gpus))
    return whole_of(max(accumulate(count for _, count in sorted(changes)), default=0))


def cluster_gpus(
    together: float,
    gpu_s: Sequence[float],
    least: Sequence[int],
    seconds: float,
    gpus: int | None,
    answer: str,
) -> tuple[int, list[Sentence]]:
    """The size of the cluster, the given one or the average demand over ``seconds`` of arrivals, and audit sentences.

    ``together``: GPUs of all jobs; ``gpu_s``, ``least``: GPU-seconds and fewest GPUs of every job; ``answer``: what does not
    exist if some job does not fit.
    """
    # Jobs that arrive at once cannot use more than all of them ask for, however short the period of arrivals.
    demand = math.fsum(gpu_s) / seconds if seconds > 0 else math.inf
    if demand < together:
        words = "The jobs ask for ", figure(demand, ",.1f"), " GPUs on average over "
    else:
        words = "All jobs together ask for ", figure(together, ",.12g"), " GPUs, no more than on average over "
    audit = [Sentence(*words, figure(seconds, ",.0f"), " s of arrivals.")]
    if gpus is None:
        # No smaller than the job that needs the most at least, or no answer would exist.
        needed = max(min(demand, together), max(least))
        gpus = GPUS_OF_A_SERVER * math.ceil(needed / GPUS_OF_A_SERVER)
        cause = ("as some job needs ", figure(needed)) if needed == max(least) else ("that",)
        rounded = f", rounded up to a multiple of {GPUS_OF_A_SERVER}."
        audit.append(Sentence("The cluster is given ", figure(gpus), " GPUs: ", *cause, rounded))
    # On a cluster below the average demand the queue grows for as long as jobs arrive.
    if gpus < min(demand, together):
        share = (figure(100 * demand / gpus, ",.0f"), " %") if seconds > 0 else ("more than all",)
        grows = " GPUs while they arrive; over 100 % the queue grows, and flow times depend on how long that lasts."
        audit.append(Sentence("Warning: the jobs ask for ", *share, " of the ", figure(gpus), grows, warns=True))
    unfit = sum(count > gpus for count in least)
    if unfit:
        large = f"Jobs that need more GPUs than the cluster has, so that no {answer} exists: "
        audit.append(Sentence(large, figure(unfit), "."))
    return gpus, audit
