"""Closed queueing networks of jobs of asynchronous SGD: one network, and many as arrays.

The workers of a job are customers that go round for ever: pull the parameters, compute a mini-batch, push the gradient, have
the parameters updated; no barrier.

==============  =============================  ==========================  ==================================
station         discipline                     demand in a cycle           how many of them
==============  =============================  ==========================  ==================================
downlink        processor sharing              S / (B P)                   P, one a shard
uplink          processor sharing              S / (B P)                   P
update          first come, first served       u / P                       P
worker          none waits (delay)             c = Z                       one for every customer
==============  =============================  ==========================  ==================================

With half duplex downlink and uplink are one station of demand 2 S / (B P). A worker visits the shards in turn.

Source: Lin, Paolieri, Chou, Golubchik, MASCOTS 2018. Only the abstract was available; the layout of the stations is our
reconstruction.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal, NamedTuple, Protocol, Self, TypeAlias

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray
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
    """A job given by its numbers alone; see ``ServerJob``."""

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

    ``delay_s``: Z >= 0, seconds of a cycle without queueing. ``stations``: each may be a pair of demand and copies.

    UsageError: a number out of range, or a cycle without any time.

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


@dataclass(frozen=True, slots=True, eq=False)
class Networks:
    """Networks of up to K kinds of stations; see ``Network``.

    ``delays``: shape (networks,). ``demands``, ``copies``: shape (K, networks); a network with fewer kinds has demands of 0.

    UsageError: shapes that do not fit, or numbers that ``Network`` refuses.

    >>> networks = Networks(np.array([0.25]), np.array([[0.08], [0.01]]), np.array([[2.0], [1.0]]))
    >>> networks[0]
    Network(delay_s=0.25, stations=(Station(demand_s=0.08, copies=2), Station(demand_s=0.01, copies=1)))
    """

    delays: FloatArray
    demands: FloatArray
    copies: FloatArray

    def __post_init__(self) -> None:
        if (
            self.delays.ndim != 1
            or self.demands.shape != self.copies.shape
            or self.demands.shape[1:] != self.delays.shape
        ):
            raise UsageError("networks: allowed: delays of shape (J,), demands and copies of shape (K, J)")
        cycles_s = self.delays + (self.copies * self.demands).sum(axis=0)
        good = (self.delays >= 0) & (self.demands >= 0).all(axis=0) & (self.copies >= 1).all(axis=0)
        wrong = np.flatnonzero(~(good & (cycles_s > 0) & np.isfinite(cycles_s)))
        if len(wrong):
            raise UsageError(
                f"networks[{wrong[0]}]: allowed: delay and demands >= 0, at least one copy, and a finite cycle > 0"
            )

    @classmethod
    def of(cls, networks: Sequence[Network]) -> Self:
        """Gather networks."""
        kinds = max((len(network.stations) for network in networks), default=0)
        demands, copies = np.zeros((kinds, len(networks))), np.ones((kinds, len(networks)))
        for index, network in enumerate(networks):
            for kind, station in enumerate(network.stations):
                demands[kind, index], copies[kind, index] = station
        return cls(np.array([network.delay_s for network in networks]), demands, copies)

    def __len__(self) -> int:
        """Number of networks."""
        return len(self.delays)

    def __getitem__(self, index: int) -> Network:
        """Return one of them."""
        stations = zip(self.demands[:, index].tolist(), self.copies[:, index].tolist(), strict=True)
        return Network(
            float(self.delays[index]), tuple(Station(demand_s, int(copies)) for demand_s, copies in stations)
        )

    def keep(self, which: BoolArray | slice) -> Self:
        """Return some of them only."""
        return type(self)(self.delays[which], self.demands[:, which], self.copies[:, which])


def networks_of(jobs: Iterable[ServerJob]) -> Networks:
    """Return the networks of jobs, in their order, with the same floats as ``network_of``."""
    listed = list(jobs)
    compute_s, transfer_s, update_s, shards = (
        np.fromiter(map(attrgetter(name), listed), dtype=np.float64, count=len(listed))
        for name in ("compute_s", "transfer_s", "update_s", "shards")
    )
    half = np.array([job.duplex == "half" for job in listed], dtype=bool)
    return from_columns(compute_s, transfer_s, update_s, shards, half)


def from_columns(
    compute_s: FloatArray, transfer_s: FloatArray, update_s: FloatArray, shards: FloatArray, half: BoolArray
) -> Networks:
    """Return the networks of jobs whose numbers are columns; ``half`` marks those of half duplex."""
    each_s = transfer_s / shards
    demands = np.stack((np.where(half, 2 * each_s, each_s), update_s / shards))
    return Networks(compute_s, demands, np.stack((np.where(half, shards, 2 * shards), shards)))
