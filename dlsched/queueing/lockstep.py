"""The events of a simulation of the workers of one job, all replications in lock-step.

Every service that ends is an event. All replications go in lock-step, one event of each at a time, so that NumPy works
on rows of replications; each has a time of its own. Nothing is rounded to a time step. A step costs as much as 30 calls
of NumPy, so it takes a hundred replications to be faster than a loop with heaps, and one is much slower.

==================  =================================================================================================
code                what it is
==================  =================================================================================================
``clock``           of each station; ticks once a second, and 1 / n times a second where n customers share its speed
``tags``            what the clock of a customer's station shows when its service ends; infinite at all other stations
``first``           least tag of each station: (``first`` - ``clock``) x n seconds from now somebody leaves it
``busy``            when the servers of the queues, and the workers, have done all that has come to them
==================  =================================================================================================

A tag is fixed on arrival: at a shared station all get the same service per second, so arrivals and departures change the
pace of its clock and no tag; in a queue, service begins when the server has done what came before. An event therefore
changes one tag, and one row of customers is searched for the next.

Sources: the virtual time of processor sharing as in Demers, Keshav, Shenker, SIGCOMM 1989; the waiting in a queue by
Lindley's recursion, Proc. Cambridge Phil. Soc. 48 (1952).
"""

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.queueing.cycle import Stage, Work

Times: TypeAlias = Literal["deterministic", "exponential"] | Sequence[float] | FloatArray
"""How long something takes: always its mean, exponentially distributed, or measured seconds drawn with replacement."""

Start: TypeAlias = Literal["spread", "together"] | Sequence[float] | FloatArray
"""Where the workers begin: somewhere random in a computation, all at the beginning of one, or given seconds before its end."""

WORKS: tuple[Work, ...] = get_args(Work)
MOST_CELLS = 2**27
"""Replications x stations x mini-batches, beyond which the tags would take more than a gigabyte."""
_BLOCK = 256  # steps whose random numbers are drawn at a time


class Draws:
    """Seconds of service, drawn in blocks.

    Attributes
    ----------
    scale
        By which a unit of each stage is multiplied, shape (stages,).
    """

    def __init__(
        self, stages: Sequence[Stage], times: dict[Work, Times], shards: int, generator: np.random.Generator
    ) -> None:
        self.generator = generator
        self.scale = np.array([stage.mean_s for stage in stages])
        self._times: dict[Work, str | FloatArray] = {}
        for work, how in times.items():
            if isinstance(how, str):
                if how not in ("deterministic", "exponential"):
                    raise UsageError(
                        f"{work}: found {how!r}, allowed: 'deterministic', 'exponential' or measured seconds"
                    )
                self._times[work] = how
                continue
            which = np.array([stage.work == work for stage in stages])
            if not which.any():
                raise UsageError(f"{work}: found measured seconds, but the job has none")
            self._times[work] = _seconds(work, how, positive=True)
            self.scale[which] = 1.0 if work == "compute" else 1.0 / shards

    def units(self, work: Work, shape: tuple[int, ...]) -> FloatArray:
        """Draw independent units of one work."""
        how = self._times[work]
        if not isinstance(how, str):
            return how[self.generator.integers(len(how), size=shape)]
        return np.ones(shape) if how == "deterministic" else self.generator.standard_exponential(shape)

    def blocks(self, steps: int, replications: int) -> Iterator[FloatArray]:
        """Yield the units of every step, shape (works x replications,), the works in the order of ``WORKS``."""
        for begin in range(0, steps, _BLOCK):
            size = min(_BLOCK, steps - begin)
            drawn = [self.units(work, (size, replications)) for work in WORKS]
            yield from np.concatenate(drawn, axis=1)


class LockStep:
    """All replications; ``run`` ends one service in each at a time. The attributes are those of the module's table.

    Attributes
    ----------
    customers
        Mini-batches on the way in each replication, workers x in_flight; number f x workers + w is worker w's.
    stage
        At which each is, shape (replications, customers).
    clock, first
        Shape (replications, stations).
    tags
        Shape (replications, stations, customers).
    """

    def __init__(
        self,
        stages: Sequence[Stage],
        draws: Draws,
        *,
        workers: int,
        in_flight: int = 1,
        replications: int = 1,
        start: Start = "spread",
    ) -> None:
        for name, count in (("workers", workers), ("in_flight", in_flight)):
            if count < 1:
                raise UsageError(f"{name}: found {count}, allowed: an integer >= 1")
        self.customers = workers * in_flight
        self.draws = draws
        self._station = np.array([stage.station for stage in stages])
        stations = int(self._station.max()) + 1
        shape = (replications, stations)
        if (cells := replications * stations * self.customers) > MOST_CELLS:
            raise UsageError(f"{cells} replications x stations x mini-batches, allowed: at most {MOST_CELLS}")

        self._work = np.array([WORKS.index(stage.work) for stage in stages]) * replications
        self._sharing = np.array([float(stage.discipline == "sharing") for stage in stages])
        self._computing = [stage.work for stage in stages].index("compute")
        self._here = stages[self._computing].station
        queues = [stage.discipline == "queue" for stage in stages]
        queues[self._computing] = in_flight > 1
        self._queues = np.array(queues, dtype=float)
        self._server = np.repeat(self._station[:, None], self.customers, axis=1)
        self._server[self._computing] = stations + np.arange(self.customers) % workers

        self.clock = np.zeros(shape)
        self.tags = np.full((*shape, self.customers), np.inf)
        self.busy = np.zeros((replications, stations + workers))
        self.stage = np.full((replications, self.customers), self._computing)
        self.sharers = np.ones(shape)  # customers at each shared station; 1 at the others
        self.sharers[:, self._station] = 1 - self._sharing
        ends = self._first_computations(replications, in_flight, workers, start)
        self.tags[:, self._here] = ends.reshape(replications, self.customers)
        self.busy[:, stations:] = ends[:, -1]
        self.first = self.tags.min(axis=2)

    def _first_computations(self, replications: int, in_flight: int, workers: int, start: Start) -> FloatArray:
        """When they end, shape (replications, in_flight, workers)."""
        seconds = self.draws.units("compute", (replications, in_flight, workers)) * self.draws.scale[self._computing]
        if not isinstance(start, str):
            given = _seconds("start", start, positive=False)
            if len(given) != workers:
                raise UsageError(f"start: found {len(given)} seconds, allowed: one for each of {workers} workers")
            seconds[:, 0] = given
        elif start == "spread":
            seconds[:, 0] *= self.draws.generator.random((replications, workers))
        elif start != "together":
            raise UsageError(f"start: found {start!r}, allowed: 'spread', 'together' or seconds")
        ends: FloatArray = seconds.cumsum(axis=1)
        return ends

    def now(self) -> FloatArray:
        """Seconds since the beginning, shape (replications,)."""
        return self.clock[:, self._here].copy()

    def run(self, steps: int) -> None:
        """End that many services in each replication."""
        first, clock, sharers = self.first, self.clock, self.sharers
        (replications, stations), customers = clock.shape, self.customers
        rows = np.arange(replications)
        cells, begins, servers = rows * stations, rows * customers, rows * self.busy.shape[1]
        tags = self.tags.reshape(-1, customers)
        flat_clock, flat_first, flat_sharers = clock.reshape(-1), first.reshape(-1), sharers.reshape(-1)
        flat_tags, flat_busy, flat_stage = tags.reshape(-1), self.busy.reshape(-1), self.stage.reshape(-1)
        station, server, sharing, queues = self._station, self._server.reshape(-1), self._sharing, self._queues
        work, scale = self._work, self.draws.scale
        follows: IntArray = np.roll(np.arange(len(station)), -1)
        shared = np.zeros(stations)
        shared[station] = sharing
        # Arrays, as a Python number beside an array costs NumPy more than the whole operation; argmin is faster than min.
        left, one, zero = np.empty(clock.shape), np.ones(clock.shape), np.zeros(replications)
        pace, flat_left = np.maximum(sharers, one), left.reshape(-1)
        for units in self.draws.blocks(steps, replications):
            # The next to end in each replication: at station ``here``, in ``dt`` seconds. Rounding must not turn time back.
            np.subtract(first, clock, out=left)
            np.multiply(left, pace, out=left)
            here = left.argmin(axis=1)
            cell = cells + here
            dt = np.maximum(flat_left[cell], zero)
            np.divide(dt[:, None], pace, out=left)
            np.add(clock, left, out=clock)
            # It leaves.
            there = tags.take(cell, axis=0)
            flat_there = there.reshape(-1)
            who = there.argmin(axis=1)
            customer = begins + who
            flat_there[customer] = np.inf
            flat_tags[cell * customers + who] = np.inf
            flat_first[cell] = flat_there[begins + there.argmin(axis=1)]
            flat_sharers[cell] -= shared[here]
            # It comes to its next station.
            stage = follows[flat_stage[customer]]
            flat_stage[customer] = stage
            cell = cells + station[stage]
            flat_sharers[cell] += sharing[stage]
            np.maximum(sharers, one, out=pace)
            busy = servers + server[stage * customers + who]
            tag = np.maximum(flat_clock[cell], flat_busy[busy])
            tag += units[work[stage] + rows] * scale[stage]
            flat_busy[busy] = tag * queues[stage]  # 0 where none waits for a server
            flat_tags[cell * customers + who] = tag
            flat_first[cell] = np.minimum(flat_first[cell], tag)


def _seconds(name: str, given: Sequence[float] | FloatArray, *, positive: bool) -> FloatArray:
    """As an array; UsageError if some are no durations."""
    seconds = np.asarray(given, dtype=float)
    if seconds.ndim != 1 or not len(seconds) or not np.isfinite(seconds).all() or (seconds < 0).any():
        raise UsageError(f"{name}: allowed: one or more finite seconds >= 0 in a row")
    if positive and not (seconds > 0).all():
        raise UsageError(f"{name}: found 0 s, allowed: seconds > 0")
    return seconds
