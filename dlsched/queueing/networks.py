"""Many networks as arrays, to compute throughputs of thousands of jobs without an object for each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Self

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray
from dlsched.core.errors import UsageError
from dlsched.queueing.network import Network, ServerJob, Station


@dataclass(frozen=True, slots=True, eq=False)
class Networks:
    """Networks of up to K kinds of stations; see ``Network``.

    Parameters
    ----------
    delays
        Shape (networks,).
    demands, copies
        Shape (K, networks); a network with fewer kinds has demands of 0.

    Raises
    ------
    UsageError
        Shapes that do not fit, or numbers that ``Network`` refuses.

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

    def keep(self, which: BoolArray) -> Self:
        """Return some of them only."""
        return type(self)(self.delays[which], self.demands[:, which], self.copies[:, which])


def networks_of(jobs: Iterable[ServerJob]) -> Networks:
    """Return the networks of jobs, in their order, with the same floats as ``network_of``.

    >>> from dlsched.queueing.network import PlainJob
    >>> networks_of([PlainJob(0.25, 0.08, 0.01)]).demands.tolist()
    [[0.08], [0.01]]
    """
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
