"""The events of a simulation of the workers of one job, in all replications.

Every service that ends is an event. Nothing is rounded to a time step. There are two ways, which give the same bits:

- *In lock-step*: one event of each replication at a time, so that NumPy works on rows of replications; each
  replication has its own time. A step costs about 30 calls of NumPy, for one replication or a dozen.
- *One by one* (``one_by_one``): a loop with heaps, used if the replications are few, and, compiled by Numba,
whenever
  there are enough events to make up for loading Numba.

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

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.compiled import compiled
from dlsched.core.errors import UsageError
from dlsched.queueing.cycle import Stage
from dlsched.queueing.draws import WORKS, Draws, Start, seconds_of
from dlsched.queueing.one_by_one import advance, interpreted

MOST_CELLS = 2**27
"""Largest replications x stations x mini-batches; beyond it the tags would take more than a gigabyte."""
_COMPILED_FROM = (
    500_000  # events; fewer take less time than importing Numba, half a second, or two when it compiles first
)
_FEW = 120  # replications x (stations + 6) up to which the interpreted loop is faster than lock-step


class LockStep:
    """All replications; ``run`` ends as many services in each. The attributes are those of the module's table.

    Attributes
    ----------
    customers
        Mini-batches on the way in each replication, workers x in_flight; number f x workers + w is worker w's.
    stage, tag
        Stage of each customer, and the one of its ``tags`` that is finite; shape (replications, customers).
    clock
        Shape (replications, stations).
    busy
        Shape (replications, stations + workers).
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
                raise UsageError(where=name, found=count, allowed="an integer >= 1")
        self.customers = workers * in_flight
        self.draws = draws
        self._station = np.array([stage.station for stage in stages])
        stations = int(self._station.max()) + 1
        if (cells := replications * stations * self.customers) > MOST_CELLS:
            raise UsageError(f"{cells} replications x stations x mini-batches, allowed: at most {MOST_CELLS}")

        self._work = np.array([WORKS.index(stage.work) for stage in stages])
        self._sharing = np.array([float(stage.discipline == "sharing") for stage in stages])
        self._computing = [stage.work for stage in stages].index("compute")
        self._here = stages[self._computing].station
        self._shared = np.zeros(stations)
        self._shared[self._station] = self._sharing
        queues = [stage.discipline == "queue" for stage in stages]
        queues[self._computing] = in_flight > 1
        self._queues = np.array(queues, dtype=float)
        self._workers = workers

        self.clock = np.zeros((replications, stations))
        self.stage = np.full((replications, self.customers), self._computing)
        ends = self._first_computations(replications, in_flight, workers, start)
        self.tag = ends.reshape(replications, self.customers)
        self.busy = np.zeros((replications, stations + workers))
        self.busy[:, stations:] = ends[:, -1]

    def _first_computations(self, replications: int, in_flight: int, workers: int, start: Start) -> FloatArray:
        """Return the ends of the first computations, shape (replications, in_flight, workers)."""
        seconds = self.draws.units("compute", (replications, in_flight, workers)) * self.draws.scale[self._computing]
        if not isinstance(start, str):
            given = seconds_of("start", start, positive=False)
            if len(given) != workers:
                raise UsageError(
                    where="start", found=f"{len(given)} seconds", allowed=f"one for each of {workers} workers"
                )
            seconds[:, 0] = given
        elif start == "spread":
            seconds[:, 0] *= self.draws.generator.random((replications, workers))
        elif start != "together":
            raise UsageError(where="start", found=repr(start), allowed="'spread', 'together' or seconds")
        ends: FloatArray = seconds.cumsum(axis=1)
        return ends

    def now(self) -> FloatArray:
        """Seconds since the beginning, shape (replications,)."""
        return self.clock[:, self._here].copy()

    def run(self, steps: int) -> None:
        """End that many services in each replication."""
        replications, stations = self.clock.shape
        loop = compiled(advance) if steps * replications >= _COMPILED_FROM else None
        if loop is None and replications * (stations + 6) > _FEW:
            self._together(steps)
        else:
            self._one_by_one(steps, loop or interpreted)

    def _one_by_one(self, steps: int, loop: Callable[..., None]) -> None:
        """Run one replication after the other."""
        own = np.arange(len(self._station)) == self._computing
        job = (self._work, self.draws.scale, self._station, self._queues, own, self._shared > 0, self._workers)
        for part in self.draws.parts(steps, len(self.clock)):
            for index, state in enumerate(zip(self.clock, self.busy, self.stage, self.tag, strict=True)):
                loop(part[:, :, index].ravel(), *job, *state)

    def _together(self, steps: int) -> None:
        """Run all replications in lock-step."""
        clock, customers = self.clock, self.customers
        replications, stations = clock.shape
        rows = np.arange(replications)
        cells, begins, servers = rows * stations, rows * customers, rows * self.busy.shape[1]
        station, sharing, queues, shared = self._station, self._sharing, self._queues, self._shared
        work, scale = self._work * replications, self.draws.scale
        server = np.repeat(station[:, np.newaxis], customers, axis=1)
        server[self._computing] = stations + np.arange(customers) % self._workers
        server = server.reshape(-1)
        follows: IntArray = np.roll(np.arange(len(station)), -1)
        at = station[self.stage]
        whole = np.full((replications, stations, customers), np.inf)
        np.put_along_axis(whole, at[:, np.newaxis], self.tag[:, np.newaxis], axis=1)
        tags, first = whole.reshape(-1, customers), whole.min(axis=2)
        # Customers at each shared station; 1 at the others.
        sharers = np.where(shared > 0, (at[:, np.newaxis] == np.arange(stations)[:, np.newaxis]).sum(axis=2), 1.0)
        flat_clock, flat_first, flat_sharers = clock.reshape(-1), first.reshape(-1), sharers.reshape(-1)
        flat_tags, flat_busy, flat_stage = tags.reshape(-1), self.busy.reshape(-1), self.stage.reshape(-1)
        flat_tag = self.tag.reshape(-1)
        # Arrays, as a Python number beside an array costs NumPy more than the whole operation; argmin is faster than min.
        left, one, zero = np.empty(clock.shape), np.ones(clock.shape), np.zeros(replications)
        pace, flat_left = np.maximum(sharers, one), left.reshape(-1)
        for units in self._rows(steps):
            # The next to end in each replication: at station ``here``, in ``dt`` seconds. Rounding must not turn time back.
            np.subtract(first, clock, out=left)
            np.multiply(left, pace, out=left)
            here = left.argmin(axis=1)
            cell = cells + here
            dt = np.maximum(flat_left[cell], zero)
            np.divide(dt[:, None], pace, out=left)
            np.add(clock, left, out=clock)
            # The customer leaves.
            there = tags.take(cell, axis=0)
            flat_there = there.reshape(-1)
            who = there.argmin(axis=1)
            customer = begins + who
            flat_there[customer] = np.inf
            flat_tags[cell * customers + who] = np.inf
            flat_first[cell] = flat_there[begins + there.argmin(axis=1)]
            flat_sharers[cell] -= shared[here]
            # The customer comes to its next station.
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
            flat_tag[customer] = tag

    def _rows(self, steps: int) -> Iterator[FloatArray]:
        """Units of every step, shape (works x replications,)."""
        for part in self.draws.parts(steps, len(self.clock)):
            yield from part.reshape(len(part), -1)
