"""Plans of srpt_mapping: insertion of jobs into a schedule, in the order of completion times of relaxations.

*Serial placement* takes jobs in an order, and puts each where it ends first. A queue keeps GPUs idle for the gang at its
head; here a job may run in that gap if it delays no job before it in the order. A job that would run slowly if started
now is placed later if it then ends sooner.

*Orders.* At good GPU prices over time a job is nearly indifferent between many starts, and the prices tried last disagree
on the best one. The mean of these starts, or of the middles of the runs, gives an order (alpha points, Hall, Schulz,
Shmoys and Wein 1997, do the same with one linear program), and so does each known schedule. Annealing begins with the
best.

*Annealing* of orders of a strict queue: jobs are placed by ``compact``, and communication-heavy ones wait for better
placements as ``PATIENT`` says. The temperature (``algorithms.serial_schedule``) falls from a part of the first sum of flow
times. Both searches know all jobs from the start, which no policy does; both are ours.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from heapq import nlargest

import numpy as np

from dlsched.algorithms.serial_schedule import anneal_orders
from dlsched.cluster.job_graph import JobGraph
from dlsched.columns.price_ascent import best_prices, cheapest_starts
from dlsched.core.arrays import IntArray
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.srpt_mapping.bounds import ROUNDS, rigid_jobs
from dlsched.srpt_mapping.checker import objective
from dlsched.srpt_mapping.dispatching import PATIENT, Aside, JobRun, run_queue, schedule_of, with_own
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.placing import Placed, Servers, compact, placed_s, taken_of
from dlsched.srpt_mapping.slices import Room, Trial, servers_of
from dlsched.srpt_mapping.solution import Schedule, Share, begun_starts, on_clock_of

_Run = tuple[float, tuple[Share, ...], Room]
"""Seconds of a run, its shares, and what it takes of servers or of columns."""


class Serial:
    """Places the jobs of a feasible instance in any order; ``least_s``: seconds that no placement of a job undercuts, (I,)."""

    def __init__(self, instance: Instance, least_s: Sequence[float]) -> None:
        self.instance, self.least_s = instance, least_s
        self._servers = Servers(instance)
        self._sizes = list(self._servers.free)
        # where jobs take slices, the columns of GPUs and slots stand in place of servers
        self._trial = Trial(instance, "best-fit", self._fastest) if instance.sliced else None
        # servers by pool, 1 where a job of the pool may run; groups with a limit follow the servers
        self._allowed = {job.pool: self._servers.allowed(job.pool) for job in instance.jobs}
        columns = self._sizes if self._trial is None else self._trial.units
        self._room = [*columns, *(group.limit for group in instance.groups)]
        self._slots = {group.id: len(columns) + index for index, group in enumerate(instance.groups)}
        # pieces of time, by their begins, and the free GPUs of every server in each; a run adds at most two
        self._times: list[float] = []
        self._free: IntArray = np.zeros((2 * len(instance.jobs) + 1, len(self._room)), dtype=np.int64)
        self._begun: dict[int, tuple[float, *_Run]] = {}
        for name, (start_s, placement) in begun_starts(instance).items():
            job = instance.jobs[instance.index[name]]
            placed = self._servers.placed(job.graph, placement)
            length_s = job.iterations * self._servers.iteration_s(job.graph, placed)
            run: _Run = length_s, self._servers.placement(placed), taken_of(placed)
            if self._trial is not None:
                run = length_s, placement, self._trial.counted(instance.index[name], placement)
            self._begun[instance.index[name]] = start_s, *run

    def run(self, order: Sequence[int], tick: Tick = no_tick) -> list[JobRun]:
        """Place all jobs, first those that have begun, then in the order; return the runs by job index.

        Cost: O(I^2 M) at worst, and placements.
        """
        self._times, self._free[0] = [0.0], self._room
        ran: dict[int, JobRun] = {}
        for index in (*self._begun, *order):
            if index in ran:
                continue
            tick()
            start_s, length_s, placement, taken = self._begun.get(index) or self._soonest(index)
            self._take(self.instance.jobs[index], start_s, start_s + length_s, taken)
            ran[index] = JobRun(start_s, length_s, placement)
        return [ran[index] for index in range(len(order))]

    def _soonest(self, index: int) -> tuple[float, *_Run]:
        """The run with the soonest end found."""
        job, least_s = self.instance.jobs[index], self.least_s[index]
        times, best, end_s = self._times, None, np.inf
        for piece in range(bisect_right(times, job.release_s) - 1, len(times)):
            start_s = max(job.release_s, times[piece])
            if start_s + least_s >= end_s:
                break
            run = self._placed(index, piece, start_s)
            if run is not None and start_s + run[0] < end_s:
                best, end_s = (start_s, *run), start_s + run[0]
        assert best is not None  # after the last piece all GPUs are free
        return best

    def _placed(self, index: int, piece: int, start_s: float) -> _Run | None:
        """The run of a job that starts in a piece of time; None if GPUs do not stay free."""
        job, length_s = self.instance.jobs[index], self.least_s[index]
        # a placement of what is free all along may be slow, and then has to fit for longer
        while True:
            last = max(piece + 1, bisect_left(self._times, start_s + length_s))
            every = self._free[piece:last].min(axis=0)
            if job.group in self._slots and not every[self._slots[job.group]]:
                return None
            run = self._on_free(job, every) if self._trial is None else self._on_slices(index, every, self._trial)
            if run is None or run[0] <= length_s or bisect_left(self._times, start_s + run[0]) <= last:
                return run
            length_s = run[0]

    def _on_free(self, job: Job, every: IntArray) -> _Run | None:
        """The run of a job on GPUs of servers that are free; None if they do not hold it."""
        free = every[: len(self._sizes)] * self._allowed[job.pool]
        most = self.instance.most_servers(job.gpus, job.pool)
        fitting = sum(nlargest(most, free.tolist())) if self.instance.consolidated else free.sum()
        if fitting < job.gpus:
            return None
        placed = self._fastest(job.graph, self._servers.with_free(free.tolist()))
        length_s = job.iterations * self._servers.iteration_s(job.graph, placed)
        return length_s, self._servers.placement(placed), taken_of(placed)

    def _on_slices(self, index: int, every: IntArray, trial: Trial) -> _Run | None:
        """The same on single GPUs, and slots."""
        tried = trial.tried(index, every[: len(trial.units)].tolist())
        if tried is None:
            return None
        return self.instance.jobs[index].iterations * tried.iteration_s, tried.placement, tried.room

    def _fastest(self, graph: JobGraph, servers: Servers) -> Placed:
        """Place by ``compact`` on all servers or, if the job must be spread, on servers up to some size."""
        choices: list[Placed] = []
        for size in sorted(set(self._sizes), reverse=True):
            free = [room if gpus <= size else 0 for room, gpus in zip(servers.free, self._sizes, strict=True)]
            if sum(free) < graph.gpus:
                break
            placed = compact(graph, servers.with_free(free))
            if servers.consolidated and choices and len(placed) > len(choices[0]):
                break
            choices.append(placed)
            if len(placed) == 1:
                break
        return min(choices, key=lambda choice: servers.iteration_s(graph, choice))

    def _take(self, job: Job, start_s: float, end_s: float, taken: Room) -> None:
        """Take GPUs, and a place in the job's group; a job too short for the clock gets a piece of length 0, crossed by none."""
        self._cut(start_s)
        self._cut(end_s)
        first, last = bisect_right(self._times, start_s) - 1, bisect_left(self._times, end_s)
        if start_s == end_s:
            self._insert(first, start_s, copied=first)
            last = first + 1
        for column, count in taken:
            self._free[first:last, column] -= count
        if job.group in self._slots:
            self._free[first:last, self._slots[job.group]] -= 1

    def _cut(self, time_s: float) -> None:
        """Make a piece begin at a time."""
        index = bisect_left(self._times, time_s)
        if index == len(self._times) or self._times[index] > time_s:
            self._insert(index, time_s, copied=index - 1)

    def _insert(self, index: int, time_s: float, *, copied: int) -> None:
        """Insert a piece with as many free GPUs as an existing piece."""
        free = self._free[copied].copy()
        self._free[index + 1 : len(self._times) + 1] = self._free[index : len(self._times)]
        self._free[index] = free
        self._times.insert(index, time_s)


class _Orders:
    """Orders of the jobs, run on their ``own`` clock, and the best schedule of the instance so far, ``start`` at first."""

    def __init__(
        self,
        instance: Instance,
        own: Instance,
        start: Schedule,
        run: Callable[[list[int]], list[JobRun]],
        better: Callable[[Schedule], None],
    ) -> None:
        self._instance, self._own, self._run, self._better = instance, own, run, better
        self.best, self._best_s = start, objective(instance, start)

    def flow_s(self, order: list[int], now_s: float = math.inf) -> float:
        """Sum of the flow times of an order; where it is below ``now_s``, its schedule may be the best."""
        ran = self._run(order)
        times = zip(self._own.jobs, ran, strict=True)
        sum_s = math.fsum(x for job, (start_s, length_s, _) in times for x in (start_s, length_s, -job.release_s))
        if sum_s < now_s:
            schedule = Schedule(on_clock_of(self._instance, self._own, schedule_of(self._own, ran)))
            schedule_s = objective(self._instance, schedule)
            if schedule_s < self._best_s:
                self._best_s, self.best = schedule_s, schedule
                self._better(schedule)
        return sum_s


ANNEALED_TEMPERATURE = 0.002  # of the first sum of flow times, in ``anneal``
STARTS = 100_000
"""Default number of simulated job starts: divided by the number of jobs it is the number of orders tried."""


def anneal(
    instance: Instance,
    start: Schedule,
    generator: "np.random.Generator",
    *,
    orders: int | None = None,
    tick: Callable[..., None] = lambda nodes=0: None,
    better: Callable[[Schedule], None] = lambda schedule: None,
) -> Schedule:
    """Return the best schedule found by a search that begins with the order of a schedule's starts.

    Parameters
    ----------
    instance
        Feasible.
    start
        A feasible schedule; the returned schedule is never worse.
    generator
        Draws the steps, and the chances of acceptance.
    orders
        Number of orders tried; None: ten times the squared number of jobs, at most 1,000, at most ``STARTS``
        over the number of jobs, and at least 1.
    tick
        Called with 1 for every order and with nothing for every job of it; it may raise to stop.
    better
        Called with every schedule better than all before, ``start`` included.

    Guarantee: none. Cost: as many runs of ``dispatch`` as orders.
    """
    count = len(instance.jobs)
    tries = max(1, min(1_000, 10 * count * count, STARTS // count)) if orders is None else orders
    # one set of servers for all orders: a run leaves all GPUs free
    own = instance.on_own_clock()
    least_s = placed_s(own, compact, tick=tick)
    aside = partial(Aside, own, servers_of(own), place=compact, waiting=PATIENT, least_s=least_s)
    releases_s, begun = [job.release_s for job in own.jobs], with_own(own)

    def run(order: list[int]) -> list[JobRun]:
        tick(1)
        keys = [0.0] * count
        for rank, job in enumerate(order):
            keys[job] = float(rank)
        return run_queue(aside(keys=keys), releases_s, begun=begun, tick=tick)

    tried = _Orders(instance, own, start, run, better)
    order = sorted(range(count), key=lambda job: (start.jobs[instance.jobs[job].id].start_s, job))
    anneal_orders(order, tried.flow_s, generator, tries=tries, temperature=ANNEALED_TEMPERATURE)
    return tried.best


LARGEST = 5_000
"""Largest number of jobs, as the time to place one order grows with their square."""
_MOST_CELLS = 20_000_000  # jobs times columns, where jobs take slices
PLACED = 40_000
"""Default number of jobs placed on up to 16 servers: divided by the jobs it is the number of orders annealed."""
TEMPERATURE = 0.0005  # of the first sum of flow times
_LAST = 5  # number of latest record prices over which means are taken


def few_jobs(instance: Instance) -> bool:
    """Whether there are at most ``LARGEST`` jobs and, where they take slices, not too many times GPUs and slots."""
    cells = len(instance.jobs) * instance.columns[-1].stop if instance.sliced else 0
    return len(instance.jobs) <= LARGEST and cells <= _MOST_CELLS


def require_few_jobs(instance: Instance) -> None:
    """Refuse what ``few_jobs`` calls too many (UsageError)."""
    if not few_jobs(instance):
        on = f" on {instance.columns[-1].stop:,} GPUs and slots" if instance.sliced else ""
        also = f", times GPUs and slots {_MOST_CELLS:,}" if instance.sliced else ""
        raise UsageError(where="plan", found=f"{len(instance.jobs):,} jobs{on}", allowed=f"{LARGEST:,}{also}")


def plan(
    instance: Instance,
    schedules: Sequence[Schedule],
    generator: "np.random.Generator",
    *,
    orders: int | None = None,
    tick: Callable[..., None] = lambda nodes=0: None,
    better: Callable[[Schedule], None] = lambda schedule: None,
) -> Schedule:
    """Return the best schedule of a feasible instance; it knows all jobs, and how many iterations they run.

    ``schedules``: feasible ones, whose orders of starts are tried too; the result is never worse. ``orders``: how many are
    annealed; None: ``PLACED`` over the number of jobs and over the sixteens of servers, at most 1,000. ``tick`` and ``better``
    as in ``anneal``. Cost: that of ``bounds.prices``, and of as many runs of ``Serial`` as orders.
    """
    require_few_jobs(instance)
    count = len(instance.jobs)
    jobs = rigid_jobs(instance, tick)
    serial = Serial(instance.on_own_clock(), jobs.length_s.tolist())

    def run(order: list[int]) -> list[JobRun]:
        tick(1)
        return serial.run(order, tick)

    start = min(schedules, key=lambda schedule: objective(instance, schedule))
    tried = _Orders(instance, serial.instance, start, run, better)
    start_times = [np.array([schedule.jobs[job.id].start_s for job in instance.jobs]) for schedule in schedules]
    priced = [
        starts.start_s for starts in (cheapest_starts(jobs, *prices) for prices in best_prices(jobs, ROUNDS, tick))
    ]
    # orders: mean start and mean middle at the latest prices, and the starts of the schedules
    start_s = np.mean(priced[-_LAST:], axis=0)
    keys = (start_s, start_s + jobs.length_s / 2, *start_times)
    first = [np.argsort(key, kind="stable").tolist() for key in keys]
    tries = min(1_000, PLACED // count // -(-len(instance.servers) // 16)) if orders is None else orders
    anneal_orders(min(first, key=tried.flow_s), tried.flow_s, generator, tries=tries, temperature=TEMPERATURE)
    return tried.best
