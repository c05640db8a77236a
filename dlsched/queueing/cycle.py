"""Stages of the cycle of one mini-batch of a worker, and the throughput by the Markov chain over all states.

====================  ==========  ===================  ==========  =======================================
stage                 work        station              discipline  seconds alone
====================  ==========  ===================  ==========  =======================================
pull from shard p     transfer    downlink of p        sharing     S / (B P), p = 1 .. P in turn
compute               compute     none is shared       delay       c
push to shard p       transfer    uplink of p          sharing     S / (B P), p = 1 .. P in turn, each
update on shard p     update      server of p          queue       u / P      followed by its update
====================  ==========  ===================  ==========  =======================================

With half duplex a shard's pulls and pushes share one link. Stages that take no time are left out. Source: Lin, Paolieri,
Chou, Golubchik, MASCOTS 2018 (abstract); the order of the stages is our reconstruction.

With exponential times the counts of workers at each stage of the cycle form a Markov chain in continuous time, with
C(W + S - 1, S - 1) states for W workers on S stages (125,970 for 8 on 13). The first worker that ends its stage moves to
the next one. Of n workers at a stage one ends at the rate

====================  =================================================
discipline of stage   rate
====================  =================================================
``delay``             n / mean
``sharing``           (n / workers at its station, all stages) / mean
``queue``             1 / mean if n > 0 (each has only one stage)
====================  =================================================

The stationary distribution pi solves pi Q = 0, sum(pi) = 1; the throughput is the rate of ends of computations under pi.
It checks the mean value analysis and uses nothing of ``throughput``.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal, TypeAlias

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray, dot
from dlsched.core.errors import UsageError
from dlsched.queueing.network import ServerJob

Discipline: TypeAlias = Literal["delay", "sharing", "queue"]
Work: TypeAlias = Literal["compute", "transfer", "update"]

MOST_SHARDS = 10_000  # the stages of more would fill the memory and take hours


@dataclass(frozen=True, slots=True)
class Stage:
    """One visit of a mini-batch to a station, alone of ``mean_s`` seconds > 0; stages of one station share its number."""

    station: int
    discipline: Discipline
    mean_s: float
    work: Work


def cycle_of(job: ServerJob, *, discipline: Discipline = "queue") -> tuple[Stage, ...]:
    """Return the stages in order, of which the first follows the last; ``discipline``: of the updates.

    >>> from dlsched.queueing.network import PlainJob
    >>> job = PlainJob(compute_s=0.25, transfer_s=0.08, update_s=0.01, duplex="half")
    >>> [(stage.work, stage.station, stage.mean_s) for stage in cycle_of(job)]
    [('transfer', 0, 0.08), ('compute', 1, 0.25), ('transfer', 0, 0.08), ('update', 2, 0.01)]
    """
    if job.shards > MOST_SHARDS:
        raise UsageError(where="shards", found=job.shards, allowed=f"at most {MOST_SHARDS}")
    transfer_s = job.transfer_s / job.shards
    update_s = job.update_s / job.shards
    # Half duplex: pull and push of a shard meet at one station.
    up = "link" if job.duplex == "half" else "uplink"
    down = "link" if job.duplex == "half" else "downlink"
    numbers: dict[tuple[str, int], int] = {}
    stages: list[Stage] = []

    def visit(name: str, shard: int, how: Discipline, mean_s: float, work: Work) -> None:
        if mean_s > 0:
            number = numbers.setdefault((name, shard), len(numbers))
            stages.append(Stage(number, how, mean_s, work))

    # All shards are pulled before the computation; after it each push is followed by its update.
    for shard in range(job.shards):
        visit(down, shard, "sharing", transfer_s, "transfer")
    visit("worker", 0, "delay", job.compute_s, "compute")
    for shard in range(job.shards):
        visit(up, shard, "sharing", transfer_s, "transfer")
        visit("server", shard, discipline, update_s, "update")
    return tuple(stages)


State: TypeAlias = tuple[int, ...]  # workers at each stage
MOST_STAGES = 100  # of a cycle; a state has a number for each


def chain_throughput(job: ServerJob, workers: int, *, most_states: int = 10_000) -> float:
    """Mini-batches a second of that many workers, if all times are exponential.

    ``most_states``: 4 stages and 32 workers have 6,545 and take three seconds, 48 workers 20,825, most of a minute and a
    gigabyte. UsageError: ``workers`` < 1, more than ``most_states`` states, or more than ``MOST_STAGES`` stages.

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
    # One transition for each stage that holds a worker; an end moves one worker to the next stage.
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
    # Row of state s: flow into s minus flow out of s is 0; the last row holds the sum of all probabilities instead.
    matrix = csc_matrix((values, (rows, columns)), shape=(states, states))  # adds up what it finds in one cell
    known = np.zeros(states)
    known[last] = 1.0
    weights: FloatArray = splu(matrix).solve(known)
    return weights
