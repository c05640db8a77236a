"""Closed queueing network of a job of asynchronous SGD: its workers are customers that go round for ever.

A cycle: pull the parameters, compute a mini-batch, push the gradient, have the parameters updated; no barrier.

==============  =============================  ==========================  ==================================
station         discipline                     demand in a cycle           how many of them
==============  =============================  ==========================  ==================================
downlink        processor sharing              S / (B P)                   P, one a shard
uplink          processor sharing              S / (B P)                   P
update          first come, first served       u / P                       P
worker          none waits (delay)             c = Z                       one for every customer
==============  =============================  ==========================  ==================================

With half duplex the downlink and the uplink are one station of demand 2 S / (B P), which makes 2 P stations
with the updates. A worker visits the shards in turn; the model has no worker that waits for the last of
several at a time.

Source: Lin, Paolieri, Chou, Golubchik, MASCOTS 2018. Only the abstract was available; the layout of the stations is our
reconstruction.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

from dlsched.core.errors import UsageError

Duplex: TypeAlias = Literal["full", "half"]
"""Whether pulls and pushes each have the bandwidth of a link, or share it."""


class ServerJob(Protocol):
    """What this package needs of a job; jobs of async_sgd and ``PlainJob`` provide it."""

    @property
    def compute_s(self) -> float:
        """Seconds in which a worker computes one mini-batch, Z."""

    @property
    def transfer_s(self) -> float:
        """Seconds in which one worker alone moves all parameters one way, S / B."""

    @property
    def update_s(self) -> float:
        """Seconds in which the servers together update the parameters with one push, u."""

    @property
    def shards(self) -> int:
        """Parameter servers over which the parameters are split, P."""

    @property
    def duplex(self) -> Duplex:
        """How the bandwidth is shared."""


class PlainJob(NamedTuple):
    """A job given by its numbers alone; see ``ServerJob``.

    >>> network_of(PlainJob(0.25, 0.08, 0.01)).cycle_s
    0.42000000000000004
    """

    compute_s: float
    transfer_s: float = 0.0
    update_s: float = 0.0
    shards: int = 1
    duplex: Duplex = "full"


class Station(NamedTuple):
    """Some equal stations, and the seconds for which each serves a lone customer in one cycle."""

    demand_s: float
    copies: int = 1


@dataclass(frozen=True, slots=True)
class Network:
    """Stations at which customers queue, and a delay at which they do not.

    Parameters
    ----------
    delay_s
        Z >= 0, seconds of a cycle without queueing.
    stations
        ``Station`` (or pairs of demand and copies), demands >= 0.

    Raises
    ------
    UsageError
        A number out of range, or a cycle without any time.

    >>> Network(0.25, [(0.08, 2), (0.01, 1)]).cycle_s
    0.42000000000000004
    """

    delay_s: float
    stations: tuple[Station, ...]

    def __post_init__(self) -> None:
        if not 0 <= self.delay_s < math.inf:
            raise UsageError(where="delay_s", found=self.delay_s, allowed="a number >= 0")
        stations = tuple(Station(*station) for station in self.stations)
        for station in stations:
            if not 0 <= station.demand_s < math.inf or station.copies < 1:
                raise UsageError(where="stations", found=station, allowed="a demand >= 0 and at least one copy")
        object.__setattr__(self, "stations", stations)
        if not 0 < self.cycle_s < math.inf:
            raise UsageError(where="stations", found=f"a cycle of {self.cycle_s} s", allowed="a finite one > 0")

    @property
    def total_s(self) -> float:
        """Sum of the demands, D."""
        return sum(station.copies * station.demand_s for station in self.stations)

    @property
    def largest_s(self) -> float:
        """Largest demand of one station, the bottleneck's; 0 without stations."""
        return max((station.demand_s for station in self.stations), default=0.0)

    @property
    def cycle_s(self) -> float:
        """Seconds of a cycle of one customer that is alone, Z + D."""
        return self.delay_s + self.total_s


def network_of(job: ServerJob) -> Network:
    """Return the network of a job's workers; see the table of this module."""
    each_s, update = job.transfer_s / job.shards, Station(job.update_s / job.shards, job.shards)
    links = Station(2 * each_s, job.shards) if job.duplex == "half" else Station(each_s, 2 * job.shards)
    return Network(job.compute_s, (links, update))
