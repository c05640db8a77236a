"""Throughput of a job from its Markov chain over all states: a check of the mean value analysis.

With exponential times the counts of workers at each stage of the cycle form a Markov chain in continuous
time. A state is one of the C(W + S - 1, S - 1) ways to put W workers on S stages; the first worker that ends
its stage moves to the next one, at the rate

====================  =================================================
discipline of stage   rate at which one of its n workers ends
====================  =================================================
``delay``             n / mean
``sharing``           (n / workers at its station, all stages) / mean
``queue``             1 / mean if n > 0 (each has only one stage)
====================  =================================================

Its stationary distribution pi solves pi Q = 0, sum(pi) = 1; the throughput is the rate of ends of computations under pi.
The module uses nothing of ``throughput``. The number of states grows fast: 13 stages with 8 workers have
125,970.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import TypeAlias

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray, dot
from dlsched.core.errors import UsageError
from dlsched.queueing.cycle import Stage, cycle_of
from dlsched.queueing.network import ServerJob

State: TypeAlias = tuple[int, ...]
"""Workers at each stage."""

MOST_STAGES = 100
"""Largest number of stages; a state has a number for each."""


def chain_throughput(job: ServerJob, workers: int, *, most_states: int = 10_000) -> float:
    """Mini-batches a second of that many workers, if all times are exponential.

    Parameters
    ----------
    most_states
        More are refused: 4 stages and 32 workers have 6,545 states and take three seconds, 48 workers 20,825 states, most
        of a minute and a gigabyte.

    Raises
    ------
    UsageError
        ``workers`` < 1, more than ``most_states`` states, or more than ``MOST_STAGES`` stages.

    >>> from dlsched.queueing.network import PlainJob
    >>> round(chain_throughput(PlainJob(compute_s=0.25, transfer_s=0.08, update_s=0.01), 4), 3)
    7.511
    """
    if workers < 1:
        raise UsageError(where="workers", found=workers, allowed="an integer >= 1")
    stages = cycle_of(job)
    if len(stages) > MOST_STAGES:
        raise UsageError(f"a cycle of {len(stages)} stages, allowed: at most {MOST_STAGES}")
    count = math.comb(workers + len(stages) - 1, len(stages) - 1)
    if count > most_states:
        raise UsageError(f"{workers} workers on {len(stages)} stages: {count} states, allowed: at most {most_states}")
    states = list(_states(workers, len(stages)))
    index = {state: number for number, state in enumerate(states)}
    compute = [stage.work for stage in stages].index("compute")
    computing = np.array([float(state[compute]) for state in states])
    unit_s = job.compute_s + 2 * job.transfer_s + job.update_s
    sources, targets, rates = [], [], []
    for number, state in enumerate(states):
        for stage, rate in _rates(stages, state, unit_s):
            following = list(state)
            following[stage] -= 1
            following[(stage + 1) % len(stages)] += 1
            if (target := index[tuple(following)]) != number:  # a cycle of one stage stays where it is
                sources.append(number)
                targets.append(target)
                rates.append(rate)
    likely = _stationary(np.array(sources, np.int64), np.array(targets, np.int64), np.array(rates, float), count)
    return float(dot(computing, likely)) / job.compute_s


def _states(workers: int, stages: int) -> Iterator[State]:
    """Yield all ways to put that many workers on the stages: workers in a row, bars between the stages."""
    for bars in combinations(range(workers + stages - 1), stages - 1):
        ends = (-1, *bars, workers + stages - 1)
        yield tuple(after - before - 1 for before, after in pairwise(ends))


def _rates(stages: Sequence[Stage], state: State, unit_s: float) -> Iterator[tuple[int, float]]:
    """Yield the stages that a worker may leave, and the rate a unit of time, which keeps numbers near 1."""
    at_station: dict[int, int] = {}
    for stage, count in zip(stages, state, strict=True):
        at_station[stage.station] = at_station.get(stage.station, 0) + count
    for number, (stage, count) in enumerate(zip(stages, state, strict=True)):
        if count:
            ways = {"delay": count, "sharing": count / at_station[stage.station], "queue": 1}
            yield number, ways[stage.discipline] * (unit_s / stage.mean_s)


def _stationary(sources: IntArray, targets: IntArray, rates: FloatArray, states: int) -> FloatArray:
    """Solve pi Q = 0, sum(pi) = 1; one equation of the former follows from the others, the sum takes its place."""
    from scipy.sparse import csc_matrix
    from scipy.sparse.linalg import splu

    last = states - 1
    entering, leaving = targets != last, sources != last
    everywhere = np.arange(states)
    rows = np.concatenate([targets[entering], sources[leaving], np.full(states, last)])
    columns = np.concatenate([sources[entering], sources[leaving], everywhere])
    values = np.concatenate([rates[entering], -rates[leaving], np.ones(states)])
    matrix = csc_matrix((values, (rows, columns)), shape=(states, states))  # adds up what it finds in one cell
    known = np.zeros(states)
    known[last] = 1.0
    weights: FloatArray = splu(matrix).solve(known)
    return weights
