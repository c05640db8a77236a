"""Stages of the cycle of one mini-batch of a worker, for the simulation and the Markov chain.

====================  ==========  ===================  ==========  =======================================
stage                 work        station              discipline  seconds alone
====================  ==========  ===================  ==========  =======================================
pull from shard p     transfer    downlink of p        sharing     S / (B P), p = 1 .. P in turn
compute               compute     none is shared       delay       c
push to shard p       transfer    uplink of p          sharing     S / (B P), p = 1 .. P in turn, each
update on shard p     update      server of p          queue       u / P      followed by its update
====================  ==========  ===================  ==========  =======================================

With half duplex a shard's pulls and pushes share one link: two stages at one station. Stages that take no
time are left out. The demands are those of ``network``; the mean value analysis needs no order, this module
adds it.

Source: Lin, Paolieri, Chou, Golubchik, MASCOTS 2018 (abstract); the order of the stages is our reconstruction.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dlsched.core.errors import UsageError
from dlsched.queueing.network import ServerJob

Discipline: TypeAlias = Literal["delay", "sharing", "queue"]
Work: TypeAlias = Literal["compute", "transfer", "update"]

MOST_SHARDS = 10_000
"""Largest number of shards: the stages of more would fill the memory and take hours."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One visit of a mini-batch to a station.

    Attributes
    ----------
    station
        Number of the station, 0, 1, ... in the order of first visits; stages with the same number share it.
    discipline
        ``delay``: nobody waits; ``sharing``: all that are there share its speed evenly; ``queue``: first come, first served.
    mean_s
        Mean seconds that the visit takes for a mini-batch alone, > 0.
    work
        Kind of work done at the stage.
    """

    station: int
    discipline: Discipline
    mean_s: float
    work: Work


def cycle_of(job: ServerJob, *, discipline: Discipline = "queue") -> tuple[Stage, ...]:
    """Return the stages in order; the first follows the last.

    Parameters
    ----------
    discipline
        Of the updates.

    Raises
    ------
    UsageError
        More than ``MOST_SHARDS`` shards.

    >>> from dlsched.queueing.network import PlainJob
    >>> job = PlainJob(compute_s=0.25, transfer_s=0.08, update_s=0.01, duplex="half")
    >>> [(stage.work, stage.station, stage.mean_s) for stage in cycle_of(job)]
    [('transfer', 0, 0.08), ('compute', 1, 0.25), ('transfer', 0, 0.08), ('update', 2, 0.01)]
    """
    if job.shards > MOST_SHARDS:
        raise UsageError(where="shards", found=job.shards, allowed=f"at most {MOST_SHARDS}")
    transfer_s = job.transfer_s / job.shards
    update_s = job.update_s / job.shards
    up = "link" if job.duplex == "half" else "uplink"
    down = "link" if job.duplex == "half" else "downlink"
    numbers: dict[tuple[str, int], int] = {}
    stages: list[Stage] = []

    def visit(name: str, shard: int, how: Discipline, mean_s: float, work: Work) -> None:
        if mean_s > 0:
            number = numbers.setdefault((name, shard), len(numbers))
            stages.append(Stage(number, how, mean_s, work))

    for shard in range(job.shards):
        visit(down, shard, "sharing", transfer_s, "transfer")
    visit("worker", 0, "delay", job.compute_s, "compute")
    for shard in range(job.shards):
        visit(up, shard, "sharing", transfer_s, "transfer")
        visit("server", shard, discipline, update_s, "update")
    return tuple(stages)
