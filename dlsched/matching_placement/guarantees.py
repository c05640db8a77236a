"""The promise of greedy marginal gain as data, so that a test can hold it to it."""

import numpy as np

from dlsched.core.family import Guarantee
from dlsched.matching_placement.arrays import Arrays, Counts, arrays
from dlsched.matching_placement.heuristics.initial import initial
from dlsched.matching_placement.instance import Instance

_LARGEST = 200_000  # completions that are tried


def applies(instance: Instance) -> bool:
    """No communication, one worker suffices, no largest size; and few enough completions to try."""
    plain = all(job.gradient_bytes == 0 and job.min_workers == 1 and job.max_workers is None for job in instance.jobs)
    return plain and (len(instance.jobs) + 1) ** len(instance.workers) <= _LARGEST


def half_of_best_completion(instance: Instance, optimum: float) -> float:
    """Mean of the initial workers' objective and the least that a completion of them can have, found by trying all."""
    del optimum
    data = arrays(instance)
    start = initial(data)
    return (data.total(start) + _least_completion(data, start, 0)) / 2 / data.jobs


def _least_completion(data: Arrays, counts: Counts, kind: int) -> float:
    """Try every way to give the idle workers of types ``kind`` .. to jobs."""
    if kind == data.types:
        return data.total(counts)
    able = [job for job in range(data.jobs) if data.rates[job, kind] > 0]
    idle = int(data.stock[kind] - counts[:, kind].sum())
    best = float("inf")
    for shares in _shares(len(able), idle):
        trial = counts.copy()
        trial[able, kind] += np.array(shares, dtype=np.int64)
        best = min(best, _least_completion(data, trial, kind + 1))
    return best


def _shares(jobs: int, workers: int) -> list[list[int]]:
    """Every way to give all of some workers to jobs; with no communication none is better idle."""
    if jobs == 0:
        return [[]]
    if jobs == 1:
        return [[workers]]
    return [[first, *rest] for first in range(workers + 1) for rest in _shares(jobs - 1, workers - first)]


MARGINAL = Guarantee[Instance](
    "without communication, minimum and maximum sizes: at least half of what any completion of the same initial workers saves",
    applies,
    half_of_best_completion,
)
