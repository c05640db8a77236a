"""The optimum of a tiny instance of matching_placement by trying everything; it knows the checker only."""

import math
from collections.abc import Iterator
from itertools import product

from dlsched.matching_placement.checker import check, job_time, objective
from dlsched.matching_placement.instance import Instance, Job
from dlsched.matching_placement.solution import Placement

LARGEST = 1_000_000
"""Placements that differ in more than the names of identical workers, beyond which ``brute_force_placement`` refuses."""


def brute_force_placement(instance: Instance) -> tuple[float, Placement] | None:
    """Return the least objective and the first placement that attains it, or None when none is feasible.

    Gives the workers of every type in every way to the jobs that it can serve, or to none; workers of one type are alike,
    so only their numbers are tried. Cost: some microseconds for each.

    Raises
    ------
    ValueError
        More than ``LARGEST`` ways.
    """
    jobs = instance.jobs
    able = {kind: [place for place, job in enumerate(jobs) if kind in job.samples_per_s] for kind in instance.types}
    tries = math.prod(math.comb(len(held) + len(able[kind]), len(held)) for kind, held in instance.types.items())
    if tries > LARGEST:
        raise ValueError(f"more than {LARGEST} placements: {tries} are too many to try")
    ways = [
        [_row(counts, able[kind], len(jobs)) for counts in _shares(len(held), len(able[kind]))]
        for kind, held in instance.types.items()
    ]
    known: list[dict[tuple[int, ...], float]] = [{} for _ in jobs]
    best: tuple[float, tuple[tuple[int, ...], ...]] | None = None
    for by_type in product(*ways):
        by_job = tuple(zip(*by_type, strict=True))
        times = []
        for job, times_of, counts in zip(jobs, known, by_job, strict=True):
            if counts not in times_of:
                times_of[counts] = _time(instance, job, counts)
            times.append(times_of[counts])
        total = math.fsum(times)
        if total < math.inf and (best is None or total < best[0]):
            best = total, by_job
    if best is None:
        return None
    placement = _placement(instance, best[1])
    value = objective(instance, placement)
    assert not check(instance, placement) and value == best[0] / len(jobs)
    return value, placement


def _shares(workers: int, jobs: int) -> Iterator[tuple[int, ...]]:
    """Every way to give at most so many workers to so many jobs, in lexicographic order."""
    if jobs == 0:
        yield ()
        return
    for count in range(workers + 1):
        for rest in _shares(workers - count, jobs - 1):
            yield count, *rest


def _row(counts: tuple[int, ...], able: list[int], jobs: int) -> list[int]:
    """Counts of one type for all jobs."""
    row = [0] * jobs
    for place, count in zip(able, counts, strict=True):
        row[place] = count
    return row


def _time(instance: Instance, job: Job, counts: tuple[int, ...]) -> float:
    """Seconds of one job on so many workers of each type; infinite where that is not allowed."""
    size = sum(counts)
    if size < job.min_workers or (job.max_workers is not None and size > job.max_workers):
        return math.inf
    held = zip(instance.types.values(), counts, strict=True)
    return job_time(job, [instance.workers[place] for places, count in held for place in places[:count]])


def _placement(instance: Instance, by_job: tuple[tuple[int, ...], ...]) -> Placement:
    """Give out the workers of every type in order of the file."""
    left = {kind: iter(places) for kind, places in instance.types.items()}
    return Placement(
        {
            job.id: [
                instance.workers[next(left[kind])].id
                for kind, count in zip(instance.types, counts, strict=True)
                for _ in range(count)
            ]
            for job, counts in zip(instance.jobs, by_job, strict=True)
        }
    )
