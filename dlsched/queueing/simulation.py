"""Discrete-event simulation of the workers of one job: the same cycle as the mean value analysis, with any times.

``throughput`` is exact for times of any kind at delays and shared stations, exponential updates if they
queue, and at least one random time with a density. The default is such a case: transfers are fixed, as their
bytes are, and computing is random, since without updates nothing else would be. In other cases
``throughput`` errs, and this module says by how much:

===================================================  ==========================================  =========  ==========
2 workers                                            mini-batches a second                       simulated  by product
===================================================  ==========================================  =========  ==========
c = .25, u = .1, no transfers, updates in a queue    exponential both                            5.283      5.283
the same                                             u fixed: 1 / (u + exp(-u / c) c / 2)        5.441      5.283
the same                                             both fixed, they never meet: 2 / (c + u)    5.714      5.283
c = u = 1, updates share, both fixed                 together: 2 / 3                             .667       .8
the same                                             1 s apart: 2 / 2                            1          .8
===================================================  ==========================================  =========  ==========

With all times fixed, the throughput of more workers need not settle in 16,000 cycles, and rounding decides where it goes:
c = .25, S / B = .08, u = .01, 8 workers that begin together make between 9.6 and 11.4 mini-batches a second in different
400 cycles, in floats; with fractions the first 200 cycles are the same, the later ones are not. A half width
of 0 says that all replications went the same way, not that the figure is exact.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dlsched.core.errors import UsageError
from dlsched.queueing.cycle import cycle_of
from dlsched.queueing.draws import Draws, Start, Times
from dlsched.queueing.lockstep import LockStep
from dlsched.queueing.network import ServerJob


@dataclass(frozen=True, slots=True)
class Simulated:
    """Throughput in all replications together, and in each."""

    mean_per_s: float
    """Mini-batches a second: those of all replications over the seconds of all, which avoids the bias of a mean of ratios."""
    half_width_per_s: float | None
    """Half width of the confidence interval, by Student's t of the replications' seconds; None with one
    replication."""
    confidence: float
    """Confidence level: how often such an interval holds the true mean."""
    replications: int
    events: int
    """Services that ended, warm-up included, in all replications together."""
    values: tuple[float, ...]
    """Mini-batches a second in each replication; their harmonic mean is ``mean_per_s``."""


def simulate(
    job: ServerJob,
    workers: int,
    *,
    generator: np.random.Generator,
    compute: Times = "exponential",
    transfer: Times = "deterministic",
    update: Times = "exponential",
    discipline: Literal["queue", "sharing"] = "queue",
    start: Start = "spread",
    in_flight: int = 1,
    replications: int = 128,
    cycles: int = 1000,
    warm_up: int | None = None,
    confidence: float = 0.95,
) -> Simulated:
    """Simulate that many workers of a job; at most (3 shards + 1) (warm_up + cycles) events a replication.

    Parameters
    ----------
    compute, transfer, update
        Times of each work. Measured seconds are those of a whole computation; of one pull or push alone on
        the link, all shards together; of one update, all shards together. They replace the job's own times;
        of these the simulation only uses whether they are 0. It draws each visit independently, and a visit
        takes one shard's even part.
    discipline
        Of the updates: first come, first served, or at the same time, sharing the server's speed.
    start
        With a sequence: of every worker, the seconds until its first computation ends.
    in_flight
        Mini-batches that a worker has on the way. With more than one it pulls and pushes some while it computes
        another, one at a time in the order of their arrival: communication and computation overlap.
    replications
        Number of independent replications, at least 1. A dozen or more go in lock-step: twice as many take
        less than twice as long. From half a million events on, a loop compiled by Numba, if installed, is
        faster, with the same bits.
    cycles, warm_up
        Mini-batches of all workers together that every replication measures, and those that it discards
        before. None: the larger of 20 n and n^2 / 2, n = workers x in_flight (between two equal bottlenecks
        the difference of their queues forgets its start as exp(-pi^2 cycles / n^2)).
    confidence
        Of the interval, between 0 and 1.

    Raises
    ------
    UsageError
        A number out of range, measured seconds that are not finite and positive or of something that the job does not
        do, cycles in which no time passes, or more than ``MOST_CELLS`` to keep.

    >>> from dlsched.queueing.network import PlainJob
    >>> job = PlainJob(compute_s=0.25, transfer_s=0.08, update_s=0.01)
    >>> fixed = dict(compute="deterministic", update="deterministic")
    >>> round(simulate(job, 1, **fixed, cycles=10, generator=np.random.default_rng(0)).mean_per_s, 3)
    2.381
    """
    for name, count, least in (
        ("replications", replications, 1),
        ("cycles", cycles, 1),
        ("warm_up", 0 if warm_up is None else warm_up, 0),
    ):
        if count < least:
            raise UsageError(where=name, found=count, allowed=f"an integer >= {least}")
    if not 0 < confidence < 1:
        raise UsageError(where="confidence", found=confidence, allowed="a number between 0 and 1")
    if discipline not in ("queue", "sharing"):
        raise UsageError(where="discipline", found=repr(discipline), allowed="'queue' or 'sharing'")
    stages = cycle_of(job, discipline=discipline)
    draws = Draws(stages, {"compute": compute, "transfer": transfer, "update": update}, job.shards, generator)
    lockstep = LockStep(stages, draws, workers=workers, in_flight=in_flight, replications=replications, start=start)
    if warm_up is None:
        warm_up = max(20 * lockstep.customers, lockstep.customers**2 // 2)
    lockstep.run(warm_up * len(stages))
    begin = lockstep.now()
    lockstep.run(cycles * len(stages))
    cycle_s = (lockstep.now() - begin) / cycles
    if not cycle_s.any():
        raise UsageError(where="cycles", found=f"{cycles}, in which no time passes", allowed="more")
    mean_per_s = 1 / float(cycle_s.mean())
    half_width = None
    if replications > 1:
        from scipy.special import stdtrit

        t = float(stdtrit(replications - 1, (1 + confidence) / 2))
        half_width = mean_per_s * mean_per_s * t * float(cycle_s.std(ddof=1)) / math.sqrt(replications)
    events = replications * (warm_up + cycles) * len(stages)
    values = tuple((1 / cycle_s).tolist())
    return Simulated(mean_per_s, half_width, confidence, replications, events, values)
