"""Discrete-event simulation of the workers of one job: the same cycle as the mean value analysis, with any times.

``throughput`` is exact for times of any kind at delays and shared stations, exponential updates if they queue, and at least
one random time with a density; the default is such a case. In other cases it errs, and this module says by how much:

===================================================  ==========================================  =========  ==========
2 workers                                            mini-batches a second                       simulated  by product
===================================================  ==========================================  =========  ==========
c = .25, u = .1, no transfers, updates in a queue    exponential both                            5.283      5.283
the same                                             u fixed: 1 / (u + exp(-u / c) c / 2)        5.441      5.283
the same                                             both fixed, they never meet: 2 / (c + u)    5.714      5.283
c = u = 1, updates share, both fixed                 together: 2 / 3                             .667       .8
the same                                             1 s apart: 2 / 2                            1          .8
===================================================  ==========================================  =========  ==========

With all times fixed, the throughput of more workers need not settle in 16,000 cycles, and rounding decides where it goes. A
half width of 0 says that all replications went the same way, not that the figure is exact.

Every service that ends is an event. Nothing is rounded to a time step. There are two ways, which give the same bits:

- *In lock-step*: one event of each replication at a time, so that NumPy works on rows of replications. A step costs about 30
  calls of NumPy, for one replication or a dozen.
- *One by one* (``advance``): a loop with a heap for each station, O(stations + log customers) an event. Interpreted, it is
  faster if the replications are few; compiled by Numba, once there are enough events to make up for loading Numba
  (``benchmarks/simulation.py``).

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

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal, TypeAlias, get_args

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.core.imports import compiled
from dlsched.queueing.cycle import Stage, Work, cycle_of
from dlsched.queueing.network import ServerJob

Times: TypeAlias = Literal["deterministic", "exponential"] | Sequence[float] | FloatArray
"""Always the mean, exponentially distributed, or drawn with replacement from measured seconds."""

Start: TypeAlias = Literal["spread", "together"] | Sequence[float] | FloatArray
"""At a random point of a computation, all at its beginning, or given seconds before its end."""

WORKS: tuple[Work, ...] = get_args(Work)
_BLOCK = 256  # steps whose random numbers are drawn together
_HELD = 2**17  # steps x replications whose numbers are handed over together, some megabytes


class Draws:
    """Seconds of service, drawn in blocks; ``scale``: factors of the units of each stage, shape (stages,)."""

    def __init__(
        self, stages: Sequence[Stage], times: dict[Work, Times], shards: int, generator: "np.random.Generator"
    ) -> None:
        self.generator = generator
        self.scale = np.array([stage.mean_s for stage in stages])
        self._times: dict[Work, str | FloatArray] = {}
        for work, how in times.items():
            if isinstance(how, str):
                if how not in ("deterministic", "exponential"):
                    raise UsageError(
                        where=work, found=repr(how), allowed="'deterministic', 'exponential' or measured seconds"
                    )
                self._times[work] = how
                continue
            # Measured seconds are drawn as they are; a shard takes its part of transfers and updates.
            which = np.array([stage.work == work for stage in stages])
            if not which.any():
                raise UsageError(f"{work}: found measured seconds, but the job has none")
            self._times[work] = seconds_of(work, how, positive=True)
            self.scale[which] = 1.0 if work == "compute" else 1.0 / shards

    def units(self, work: Work, shape: tuple[int, ...]) -> FloatArray:
        """Draw independent units of one work."""
        how = self._times[work]
        if not isinstance(how, str):
            return how[self.generator.integers(len(how), size=shape)]
        return np.ones(shape) if how == "deterministic" else self.generator.standard_exponential(shape)

    def parts(self, steps: int, replications: int) -> Iterator[FloatArray]:
        """Yield the units of all steps in blocks (steps, works, replications), in order of ``WORKS``."""
        together = _BLOCK * max(1, _HELD // (_BLOCK * replications))
        for begin in range(0, steps, together):
            part = np.empty((min(together, steps - begin), len(WORKS), replications))
            for first in range(0, len(part), _BLOCK):
                block = part[first : first + _BLOCK]
                for index, work in enumerate(WORKS):
                    block[:, index] = self.units(work, (len(block), replications))
            yield part


def seconds_of(name: str, stated_s: Sequence[float] | FloatArray, *, positive: bool) -> FloatArray:
    """Return ``stated_s`` as an array; UsageError if some are no durations."""
    seconds = np.asarray(stated_s, dtype=float)
    if seconds.ndim != 1 or not len(seconds) or not np.isfinite(seconds).all() or (seconds < 0).any():
        raise UsageError(f"{name}: allowed: one or more finite seconds >= 0 in a row")
    if positive and not (seconds > 0).all():
        raise UsageError(where=name, found="0 s", allowed="seconds > 0")
    return seconds


def advance(
    units: Sequence[float],
    work: Sequence[int],
    scale: Sequence[float],
    station: Sequence[int],
    queues: Sequence[float],
    own: Sequence[bool],
    shared: Sequence[bool],
    workers: int,
    clock: list[float],
    busy: list[float],
    stage: list[int],
    tag: list[float],
) -> None:
    """End a service for every three units, those of one step after the other; the last four arguments are changed.

    By stage: ``work``, ``scale`` (seconds of a unit), ``station``, ``queues`` (1 where it has one server or every worker one,
    else 0), ``own`` (a worker's own). By station: ``shared``. Customer i is worker i modulo ``workers``. ``clock``, ``busy``,
    ``stage``, ``tag``: as in ``LockStep``, of this replication.
    """
    stations, stages, works = len(clock), len(scale), 3
    present = [[(0.0, 0) for _ in range(0)] for _ in range(stations)]  # heaps of (tag, customer); Numba sees the type
    for customer in range(len(stage)):
        heappush(present[station[stage[customer]]], (tag[customer], customer))
    first = [np.inf for _ in range(stations)]
    pace = [1.0 for _ in range(stations)]
    for here in range(stations):
        if len(present[here]) > 0:
            first[here] = present[here][0][0]
            if shared[here]:
                pace[here] = float(len(present[here]))
    # Clocks of shared stations tick 1 / n times a second, so that tags stay as they were set on arrival.
    for begin in range(0, len(units), works):
        # The next to end: at station ``here``, in ``soonest`` seconds. Rounding must not turn time back.
        soonest, here = np.inf, 0
        for index in range(stations):
            remaining_s = (first[index] - clock[index]) * pace[index]
            if remaining_s < soonest:
                soonest, here = remaining_s, index
        soonest = max(soonest, 0.0)
        for index in range(stations):
            clock[index] += soonest / pace[index]
        # The customer leaves.
        there = present[here]
        customer = heappop(there)[1]
        first[here] = there[0][0] if len(there) > 0 else np.inf
        if shared[here]:
            pace[here] = float(max(len(there), 1))
        # The customer comes to its next station.
        at = stage[customer] + 1
        if at == stages:
            at = 0
        stage[customer] = at
        here = station[at]
        server = stations + customer % workers if own[at] else here
        end = max(clock[here], busy[server])
        end += units[begin + work[at]] * scale[at]
        busy[server] = end * queues[at]
        tag[customer] = end
        there = present[here]
        heappush(there, (end, customer))
        first[here] = min(first[here], end)
        if shared[here]:
            pace[here] = float(len(there))


def interpreted(units: FloatArray, *others: IntArray | FloatArray | BoolArray | int) -> None:
    """Call ``advance`` for arrays by way of lists, with which the interpreter is several times faster."""
    lists = [array if isinstance(array, int) else array.tolist() for array in others]
    run: Callable[..., None] = advance
    run(units.tolist(), *lists)
    for array, changed in zip(others[-4:], lists[-4:], strict=True):
        assert not isinstance(array, int)
        array[:] = changed


MOST_CELLS = 2**27  # replications x stations x mini-batches; beyond it the tags would take more than a gigabyte
_COMPILED_FROM = 500_000  # events; fewer take less time than importing Numba, or two seconds when it compiles first
_FEW = 120  # replications x (stations + 6) up to which the interpreted loop is faster than lock-step


class LockStep:
    """All replications; ``run`` ends as many services in each. Further attributes are those of the module's table.

    ``stage``, ``tag``: of each customer, shape (replications, customers); number f x workers + w is worker w's. ``clock``:
    shape (replications, stations). ``busy``: shape (replications, stations + workers).
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
        # With several mini-batches on the way a worker computes them one at a time: its computation becomes a queue.
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
            stated_s = seconds_of("start", start, positive=False)
            if len(stated_s) != workers:
                raise UsageError(
                    where="start", found=f"{len(stated_s)} seconds", allowed=f"one for each of {workers} workers"
                )
            seconds[:, 0] = stated_s
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
        remaining_s, one, zero = np.empty(clock.shape), np.ones(clock.shape), np.zeros(replications)
        pace, flat_left = np.maximum(sharers, one), remaining_s.reshape(-1)
        for units in self._rows(steps):
            # The next to end in each replication: at station ``here``, in ``dt`` seconds. Rounding must not turn time back.
            np.subtract(first, clock, out=remaining_s)
            np.multiply(remaining_s, pace, out=remaining_s)
            here = remaining_s.argmin(axis=1)
            cell = cells + here
            dt = np.maximum(flat_left[cell], zero)
            np.divide(dt[:, None], pace, out=remaining_s)
            np.add(clock, remaining_s, out=clock)
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
    generator: "np.random.Generator",
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
        At least 1. A dozen or more go in lock-step: twice as many take less than twice as long. From half a million events on,
        a loop compiled by Numba, if installed, is faster, with the same bits.
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
        # Twenty cycles for each mini-batch, and more where many of them queue.
        warm_up = max(20 * lockstep.customers, lockstep.customers**2 // 2)
    # Seconds of a cycle are measured after the warm-up, one value for each replication.
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

        # The interval of the mean cycle, carried over to its inverse by the derivative, 1 / s^2.
        t = float(stdtrit(replications - 1, (1 + confidence) / 2))
        half_width = mean_per_s * mean_per_s * t * float(cycle_s.std(ddof=1)) / math.sqrt(replications)
    events = replications * (warm_up + cycles) * len(stages)
    values = tuple((1 / cycle_s).tolist())
    return Simulated(mean_per_s, half_width, confidence, replications, events, values)
