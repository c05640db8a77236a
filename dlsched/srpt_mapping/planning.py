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
from dlsched.columns.price_ascent import best_prices, cheapest_starts
from dlsched.core.arrays import IntArray
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.srpt_mapping.bounds import ROUNDS, rigid_jobs
from dlsched.srpt_mapping.checker import objective
from dlsched.srpt_mapping.dispatching import PATIENT, Aside, JobRun, run_queue, schedule_of, with_own
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.placing import Placed, Servers, compact, placed_s
from dlsched.srpt_mapping.slices import servers_of
from dlsched.srpt_mapping.solution import Schedule, begun_starts, on_clock_of


class Serial:
    """Places the jobs of a feasible instance in any order; ``least_s``: seconds that no placement of a job undercuts, (I,)."""

    def __init__(self, instance: Instance, least_s: Sequence[float]) -> None:
        self.instance, self.least_s = instance, least_s
        self._servers = Servers(instance)
        self._sizes = list(self._servers.free)
        # servers by pool, 1 where a job of the pool may run; groups with a limit follow the servers
        self._allowed = {job.pool: self._servers.allowed(job.pool) for job in instance.jobs}
        self._room = [*self._sizes, *(group.limit for group in instance.groups)]
        self._slots = {group.id: len(self._sizes) + index for index, group in enumerate(instance.groups)}
        # pieces of time, by their begins, and the free GPUs of every server in each; a run adds at most two
        self._times: list[float] = []
        self._free: IntArray = np.zeros((2 * len(instance.jobs) + 1, len(self._room)), dtype=np.int64)
        self._begun: dict[int, tuple[float, float, Placed]] = {}
        for name, (start_s, placement) in begun_starts(instance).items():
            job = instance.jobs[instance.index[name]]
            placed = self._servers.placed(job.graph, placement)
            length_s = job.iterations * self._servers.iteration_s(job.graph, placed)
            self._begun[instance.index[name]] = start_s, length_s, placed

    def run(self, order: Sequence[int], tick: Tick = no_tick) -> list[JobRun]:
        """Place all jobs, first those that have begun, then in the order; return the runs by job index.

        Cost: O(I^2 M) at worst, and placements.
        """
        self._times, self._free[0] = [0.0], self._room
        ran: dict[int, JobRun] = {}
        for index, (start_s, length_s, placed) in self._begun.items():
            self._take(self.instance.jobs[index], start_s, start_s + length_s, placed)
            ran[index] = JobRun(start_s, length_s, self._servers.placement(placed))
        for index in order:
            tick()
            if index in self._begun:
                continue
            start_s, length_s, placed = self._soonest(self.instance.jobs[index], self.least_s[index])
            self._take(self.instance.jobs[index], start_s, start_s + length_s, placed)
            ran[index] = JobRun(start_s, length_s, self._servers.placement(placed))
        return [ran[index] for index in range(len(order))]

    def _soonest(self, job: Job, least_s: float) -> tuple[float, float, Placed]:
        """Start, length and placement of the run with the soonest end found."""
        times, best, end_s = self._times, None, np.inf
        for index in range(bisect_right(times, job.release_s) - 1, len(times)):
            start_s = max(job.release_s, times[index])
            if start_s + least_s >= end_s:
                break
            run = self._placed(job, index, start_s, least_s)
            if run is not None and start_s + run[0] < end_s:
                best, end_s = (start_s, *run), start_s + run[0]
        assert best is not None  # after the last piece all GPUs are free
        return best

    def _placed(self, job: Job, index: int, start_s: float, length_s: float) -> tuple[float, Placed] | None:
        """Length and placement of a job that starts in a piece of time; None if GPUs do not stay free."""
        # a placement of what is free all along may be slow, and then has to fit for longer
        while True:
            last = max(index + 1, bisect_left(self._times, start_s + length_s))
            every = self._free[index:last].min(axis=0)
            free = every[: len(self._sizes)] * self._allowed[job.pool]
            most = self.instance.most_servers(job.gpus, job.pool)
            fitting = sum(nlargest(most, free.tolist())) if self.instance.consolidated else free.sum()
            if fitting < job.gpus or (job.group in self._slots and not every[self._slots[job.group]]):
                return None
            placed, reached_s = self._fastest(job, free.tolist())
            if reached_s <= length_s or bisect_left(self._times, start_s + reached_s) <= last:
                return reached_s, placed
            length_s = reached_s

    def _fastest(self, job: Job, free: list[int]) -> tuple[Placed, float]:
        """Place by ``compact`` on all servers or, if the job must be spread, on servers up to some size."""
        servers, choices = self._servers, []
        for size in sorted(set(self._sizes), reverse=True):
            servers.free = [room if gpus <= size else 0 for room, gpus in zip(free, self._sizes, strict=True)]
            if sum(servers.free) < job.gpus:
                break
            placed = compact(job.graph, servers)
            if len(placed) > self.instance.most_servers(job.gpus, job.pool):
                break
            choices.append((placed, job.iterations * servers.iteration_s(job.graph, placed)))
            if len(placed) == 1:
                break
        return min(choices, key=lambda choice: choice[1])

    def _take(self, job: Job, start_s: float, end_s: float, placed: Placed) -> None:
        """Take GPUs, and a place in the job's group; a job too short for the clock gets a piece of length 0, crossed by none."""
        self._cut(start_s)
        self._cut(end_s)
        first, last = bisect_right(self._times, start_s) - 1, bisect_left(self._times, end_s)
        if start_s == end_s:
            self._insert(first, start_s, copied=first)
            last = first + 1
        for server, row in placed:
            self._free[first:last, server] -= sum(row)
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
    generator: np.random.Generator,
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
PLACED = 40_000
"""Default number of jobs placed on up to 16 servers: divided by the jobs it is the number of orders annealed."""
TEMPERATURE = 0.0005  # of the first sum of flow times
_LAST = 5  # number of latest record prices over which means are taken


def require_few_jobs(instance: Instance) -> None:
    """Refuse more than ``LARGEST`` jobs, and jobs on slices (UsageError)."""
    if instance.sliced:
        raise UsageError(where="plan", found="jobs on slices of GPUs", allowed="jobs of whole GPUs")
    count = len(instance.jobs)
    if count > LARGEST:
        raise UsageError(where="plan", found=f"{count:,} jobs", allowed=f"{LARGEST:,}")


def plan(
    instance: Instance,
    schedules: Sequence[Schedule],
    generator: np.random.Generator,
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
