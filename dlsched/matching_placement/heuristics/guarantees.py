"""Guarantee of greedy marginal gain as data, for tests."""

import numpy as np

from dlsched.algorithms.count_vectors import all_vectors
from dlsched.core.family import Guarantee
from dlsched.matching_placement.arrays import Arrays, Counts, arrays
from dlsched.matching_placement.heuristics.initial import initial
from dlsched.matching_placement.instance import Instance
from dlsched.matching_placement.objectives import MEAN, objective_of

_LARGEST = 200_000  # completions that are tried


def applies(instance: Instance) -> bool:
    """No communication, one worker suffices, no largest size; and few enough completions to try."""
    plain = all(job.gradient_bytes == 0 and job.min_workers == 1 and job.max_workers is None for job in instance.jobs)
    return plain and objective_of(instance) is MEAN and (len(instance.jobs) + 1) ** len(instance.workers) <= _LARGEST


def half_of_best_completion(instance: Instance, optimum: float) -> float:
    """Mean of the initial workers' objective and that of their best completion, found by enumeration."""
    del optimum
    data = arrays(instance)
    start = initial(data)
    return (data.total(start) + _least_completion(data, start, 0)) / 2 / data.jobs


def _least_completion(data: Arrays, counts: Counts, kind: int) -> float:
    """Try every way to give the idle workers of types ``kind`` .. to jobs."""
    if kind == data.types:
        return data.total(counts)
    able = np.flatnonzero(data.rates[:, kind])
    idle = int(data.stock[kind] - counts[:, kind].sum()) if len(able) else 0
    best = float("inf")
    for shares in all_vectors(np.full(len(able), idle), idle, idle):  # with no communication none is better idle
        trial = counts.copy()
        trial[able, kind] += shares
        best = min(best, _least_completion(data, trial, kind + 1))
    return best


MARGINAL = Guarantee[Instance](
    "without communication, minimum and maximum sizes: at least half of what any completion of the same initial workers saves",
    applies,
    half_of_best_completion,
)
