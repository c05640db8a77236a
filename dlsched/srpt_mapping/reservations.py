"""Backfilling with reservations: EASY and conservative, first come, first served.

*Backfilling with reservations* (Lifka 1995, the EASY scheduler; Mu'alem and Feitelson, "Utilization, Predictability, Workloads,
and User Runtime Estimates in Scheduling the IBM SP2 with Backfilling", IEEE TPDS 2001). Jobs queue in the order of their
release. The first jobs of the queue that do not fit hold a reservation each, the earliest time at which their GPUs are free by
the predicted ends of the jobs that run; any other job may start if it delays no reservation. EASY: the head alone holds one.
Conservative: every job does.

At every release and every end:

1. The GPUs that will be free are a step function of time: free now, and those of each running job from its predicted end on. A
   job that runs longer than predicted is expected to end at any moment.
2. The queue is walked in order. A job whose GPUs are free from now to its predicted end starts; else, if reservations are left,
   it takes one at the earliest time that has room, and its GPUs are reserved from then to its predicted end.

Predicted seconds of a job: the time limit of its user (``limit_s``) if there is one. Else, while it waits, n~_i times what the
rule of placement reaches on the empty servers; of one that could start, n~_i times what the rule reaches on the free GPUs, so
that no slow placement delays a reservation.

Jobs of a larger ``priority`` come first in the queue. Pools that share no servers have queues of their own; where they share
some, reservations count the GPUs of all of them. Jobs of a group at its limit take no reservation and keep nobody waiting.
"""

import heapq
from bisect import bisect_left, insort
from collections.abc import Sequence
from functools import partial

import numpy as np

from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.srpt_mapping.checker import infeasible
from dlsched.srpt_mapping.dispatching import Aside, Begun, JobRun, going_on, schedule_of, with_own
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.placing import PLACES, Servers, placed_s, require_placeable
from dlsched.srpt_mapping.solution import Schedule, on_clock_of


class _Profile:
    """GPUs that will be free: ``free[k]`` from ``times_s[k]`` to the next time, the last one for ever; shape (K,)."""

    def __init__(self, now_s: float, free: int, ends: Sequence[tuple[float, int, int]]) -> None:
        # a job that should have ended by now may end at any moment, but holds its GPUs now
        soon_s = np.nextafter(now_s, np.inf)
        self.times_s = np.array([now_s, *(max(end_s, soon_s) for end_s, _, _ in ends)])
        self.free = np.cumsum([free, *(gpus for _, gpus, _ in ends)])

    def fitting(self, gpus: IntArray, ends_s: FloatArray) -> IntArray:
        """Positions of the jobs whose GPUs are free from now to their ends; arrays of shape (Q,)."""
        candidates = np.flatnonzero(gpus <= self.free[0])
        last = np.searchsorted(self.times_s, ends_s[candidates], side="left") - 1
        least = np.minimum.accumulate(self.free)
        return np.asarray(candidates[gpus[candidates] <= least[np.maximum(last, 0)]])

    def earliest_s(self, gpus: int, length_s: float) -> float:
        """The first time from which as many GPUs are free for so long."""
        # a job starts now or after a step with too few GPUs, and ends by the next such step
        short = np.flatnonzero(self.free < gpus)
        starts, following = np.append(0, short + 1), np.append(short, len(self.free))
        starts, following = starts[starts < following], following[starts < following]
        until_s = np.append(self.times_s, np.inf)[following]
        return float(self.times_s[starts[np.argmax(self.times_s[starts] + length_s <= until_s)]])

    def reserve(self, start_s: float, end_s: float, gpus: int) -> None:
        """Take GPUs from one time to another, at which they are free."""
        first, last = self._step(start_s), self._step(end_s)
        self.free[first:last] -= gpus

    def _step(self, at_s: float) -> int:
        """Index of the step that begins at a time, which is made if there is none."""
        index = int(np.searchsorted(self.times_s, at_s, side="right")) - 1
        if self.times_s[index] < at_s:
            self.free = np.insert(self.free, index + 1, self.free[index])
            index += 1
            self.times_s = np.insert(self.times_s, index, at_s)
        return index


def backfill_reserving(
    instance: Instance,
    *,
    reservations: int | None = 1,
    place: str = "heavy-edge",
    begun: Begun | None = None,
    tick: Tick = no_tick,
) -> Schedule | None:
    """Backfilling with reservations, in the order of release; see the module. None when infeasible.

    Parameters
    ----------
    instance
        Servers and jobs.
    reservations
        How many of the first jobs that wait hold a reservation, >= 0; 1: EASY; None: all, conservative backfilling.
    place
        ``heavy-edge`` or ``compact``.
    begun
        Further jobs that have begun, for a decision in the middle of a queue: see ``dispatch``.
    tick
        Called for every job that starts or takes a reservation; it may raise to stop.

    Guarantee: none on the objective. With one reservation the head is never delayed by a job behind it, if jobs run no longer
    than predicted and pools share no servers.
    Cost: O(I (Q + R)) for Q jobs that wait, R that run, with one reservation; O(I Q (Q + R)) with all.

    Raises
    ------
    UsageError
        An unknown rule of placement, or a negative number of reservations.
    """
    if place not in PLACES:
        raise UsageError(where="place", found=repr(place), allowed=", ".join(PLACES))
    if reservations is not None and not reservations >= 0:
        raise UsageError(where="reservations", found=repr(reservations), allowed="an integer >= 0, or None")
    if infeasible(instance) is not None:
        return None
    require_placeable(instance)
    own, rule = instance.on_own_clock(), PLACES[place]
    lengths_s = [_planned_s(job, each) for job, each in zip(own.jobs, placed_s(own, rule, tick=tick), strict=True)]
    begun = with_own(own, None if begun is None else begun.since(min(job.release_s for job in instance.jobs)))
    most = len(own.jobs) if reservations is None else reservations
    # pools that share nothing have queues of their own
    ran: dict[int, JobRun] = {}
    for jobs, servers in own.parts:
        part = own if len(own.parts) == 1 else own.part(jobs, servers)
        here = begun and Begun(
            begun.at_s, {job.id: begun.starts[job.id] for job in part.jobs if job.id in begun.starts}
        )
        aside = Aside(part, Servers(part), (), rule)
        ran |= zip(jobs, _run(aside, np.array([lengths_s[job] for job in jobs]), most, here, tick), strict=True)
    return Schedule(on_clock_of(instance, own, schedule_of(own, [ran[job] for job in range(len(own.jobs))])))


def _run(aside: Aside, lengths_s: FloatArray, reservations: int, begun: Begun | None, tick: Tick) -> list[JobRun]:
    """Run the queue to its end; ``lengths_s``: predicted seconds of every job on the empty servers, shape (I,)."""
    jobs, servers = aside.instance.jobs, aside.servers
    running, ran = going_on(aside, begun) if begun is not None else ([], {})
    # predicted end, GPUs and index of every job that runs, in order of the ends
    expected = sorted((_expected_s(aside, job, ran[job]), jobs[job].gpus, job) for _, job, _ in running)
    expected_of = {each[2]: each for each in expected}
    since_s = -np.inf if begun is None else begun.at_s
    joins_s = [max(job.release_s, since_s) for job in jobs]
    arriving = sorted((j for j in range(len(jobs)) if j not in ran), key=lambda j: (joins_s[j], jobs[j].release_s, j))
    arriving.reverse()
    gpus = np.array([job.gpus for job in jobs])
    # jobs by their places in the queue: of a larger class first, then by release
    order = np.array(sorted(range(len(jobs)), key=lambda j: (-jobs[j].priority, jobs[j].release_s, j)))
    place_of = np.argsort(order)
    queue = np.empty(0, dtype=np.intp)  # places of the jobs that wait, ascending
    # how many more jobs of each group may run; the last entry is of jobs without a limit
    index_of = {group.id: index for index, group in enumerate(aside.instance.groups)}
    group_of = np.array([index_of.get(job.group or "", len(index_of)) for job in jobs])
    slots = np.array([*(group.limit for group in aside.instance.groups), len(jobs) + 1])
    for _, job, _ in running:
        slots[group_of[job]] -= 1

    while arriving or running:
        now_s = min(joins_s[arriving[-1]] if arriving else np.inf, running[0][0] if running else np.inf)
        while running and running[0][0] <= now_s:
            _, job, taken = heapq.heappop(running)
            servers.give(taken)
            slots[group_of[job]] += 1
            del expected[bisect_left(expected, expected_of.pop(job))]
        joined = []
        while arriving and joins_s[arriving[-1]] <= now_s:
            joined.append(place_of[arriving.pop()])
        queue = np.insert(queue, np.searchsorted(queue, sorted(joined)), sorted(joined))
        if not len(queue) or not servers.total:
            continue
        profile = _Profile(now_s, servers.total, expected)
        started, position, remaining = [], 0, reservations
        # in order: the next job that fits starts; those before it take the reservations that are left
        while position < len(queue) and servers.total:
            waiting = order[queue[position:]]
            allowed = np.flatnonzero(slots[group_of[waiting]] > 0)
            if not len(allowed):
                break
            open_jobs = waiting[allowed]
            fitting = profile.fitting(gpus[open_jobs], now_s + lengths_s[open_jobs])
            if remaining and not (len(fitting) and fitting[0] == 0):
                tick()
                job, remaining = int(open_jobs[0]), remaining - 1
                start_s = profile.earliest_s(int(gpus[job]), float(lengths_s[job]))
                profile.reserve(start_s, start_s + float(lengths_s[job]), int(gpus[job]))
                position += int(allowed[0]) + 1
                continue
            if not len(fitting):
                break
            tick()
            job, position = int(open_jobs[fitting[0]]), position + int(allowed[fitting[0]]) + 1
            if jobs[job].gpus > servers.free_of(jobs[job].pool):
                continue
            placed = aside.place(jobs[job].graph, servers.within(jobs[job].pool))
            iteration_s = servers.iteration_s(jobs[job].graph, placed)
            end_s = now_s + _planned_s(jobs[job], iteration_s)
            if len(profile.fitting(gpus[[job]], np.array([end_s]))):
                ran[job] = JobRun(now_s, jobs[job].iterations * iteration_s, servers.placement(placed))
                heapq.heappush(running, (now_s + ran[job].length_s, job, servers.take(placed)))
                slots[group_of[job]] -= 1
                expected_of[job] = end_s, jobs[job].gpus, job
                insort(expected, expected_of[job])
                profile.reserve(now_s, end_s, int(gpus[job]))
                started.append(position - 1)
        queue = np.delete(queue, started)
    return [ran[job] for job in range(len(jobs))]


def _expected_s(aside: Aside, job: int, run: JobRun) -> float:
    """When a job that runs ends by its prediction."""
    each = aside.instance.jobs[job]
    return run.start_s + _planned_s(each, run.length_s / each.iterations)


def _planned_s(job: Job, iteration_s: float) -> float:
    """Seconds that reservations count on: the user's time limit, else those predicted."""
    return job.predicted * iteration_s if job.limit_s is None else job.limit_s


easy = backfill_reserving
conservative = partial(backfill_reserving, reservations=None)
