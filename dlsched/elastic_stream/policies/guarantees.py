"""Promises of the policies: a mean flow time of at most so many times the optimum, by n, the number of jobs with work.

They hold without ticks, restarts and unequal weights; the proofs are in docs/worst_theory.md.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise

from dlsched.core.family import Guarantee
from dlsched.elastic_stream.checker import infeasible
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.policies.prices import MOST_COUNTS

_ROUNDING, _ULPS = 1e-9, 16  # of factor and sums; by how many units in the last place of the clock an event is late
_USE = 1 - Fraction(1, 10**9)  # what times fall to at least where a unit is of use
_PRODUCT = 1 + Fraction(1, 10**14)  # rounding of m tau(m)


def _areas(instance: Instance) -> list[list[Fraction]]:
    """Of each job with work, m tau(m) / C over the least tau by count m that fits; none where one has a law."""
    tables: list[Mapping[int, float]] = [job.epoch_time_s or {} for job in instance.jobs if job.work > 0]
    fitting = [{m: Fraction(s) for m, s in each.items() if m <= instance.units} for each in tables]
    return [[m * s / instance.units / min(each.values()) for m, s in each.items()] for each in fitting if all(fitting)]


def _promise(words: str, factor: Callable[[Instance, int], float]) -> Guarantee[Instance]:
    """``factor``: of n jobs, 0 where nothing is promised."""

    def holds_for(instance: Instance) -> bool:
        paused = instance.tick_s is not None or any(job.restart_s for job in instance.jobs)
        return not paused and infeasible(instance) is None and not instance.even.weighted and factor(instance, 1) > 0

    def worst(instance: Instance, optimum: float) -> float:
        jobs = [index for index, job in enumerate(instance.jobs) if job.work > 0]
        times = factor(instance, max(1, len(jobs)))
        last_s = max(job.arrival_s for job in instance.jobs) + times * math.fsum(map(instance.fastest_s, jobs))
        return times * optimum * (1 + _ROUNDING) + _ULPS * len(jobs) * math.ulp(last_s)

    return Guarantee(f"{words} times the optimum; without ticks, restarts, unequal weights", holds_for, worst)


def _shortest(instance: Instance, jobs: int) -> float:
    return (jobs + 1) / 2 * all(job.stops_at == 1 for job in instance.jobs)


def _remaining(instance: Instance, jobs: int) -> float:
    # the cluster is one machine if m units never do more than m / C of what all do, exactly
    return _shortest(instance, 1 if min(map(min, _areas(instance)), default=0) >= 1 else jobs)


def _divided(words: str, most: int, used: Callable[[int], int] = lambda units: units) -> Guarantee[Instance]:
    """Of policies that use so many of C units at least, where each of 1 .. C <= ``most`` is of use to all jobs."""

    def factor(instance: Instance, jobs: int) -> float:
        units, areas = instance.units, _areas(instance) if instance.units <= most else []
        # without super-linear speed m units do m / C of what all do at least
        for each in areas:
            falls = all(b * m <= a * (m + 1) * _USE for m, (a, b) in enumerate(pairwise(each), 1))
            if len(each) < units or not falls or max(each) > _PRODUCT:
                return 0
        return jobs * units / used(units) if areas else 0

    return _promise(f"n jobs: {words}, if no speed is super-linear, and each of up to {most} units of use,", factor)


FASTEST = _promise("n jobs: n, tight,", lambda instance, jobs: jobs)
SHORTEST = _promise("n jobs: (n + 1) / 2, tight, without early ends,", _shortest)
REMAINING = _promise("n jobs: (n + 1) / 2, tight, on linear speeds 1 (Schrage 1968), without early ends,", _remaining)
ALL = _divided("n", MOST_COUNTS)
EIGHT = _divided("n", 8)
HALF = _divided("less than 2 n", 2**10, lambda units: units // 2 + 1)
