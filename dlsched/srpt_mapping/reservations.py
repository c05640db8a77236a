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

Where placement is consolidated this is done server by server: a job fits if those GPUs of single servers that stay free hold it
on as few servers as it may use, and a reservation is of the servers on which the rule places the job then. Where jobs take
slices it is done by GPUs and slots (``slices.Trial``): a reservation is of those where the rules place the job then.

Predicted seconds of a job: the time limit of its user (``limit_s``) if there is one. Else, while it waits, n~_i times what the
rule of placement reaches on the empty servers; of one that could start, n~_i times what the rule reaches on the free GPUs, so
that no slow placement delays a reservation.

Jobs of a larger ``priority`` come first in the queue. Pools that share no servers have queues of their own; where they share
some, reservations count the GPUs of all of them. Jobs of a group at its limit take no reservation and keep nobody waiting.
"""

import heapq
import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from itertools import chain, groupby
from operator import itemgetter

import numpy as np

from dlsched.algorithms.waiting_jobs import WaitingJobs
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.core.garbage import uncollected
from dlsched.core.limits import Tick, no_tick
from dlsched.srpt_mapping.checker import infeasible
from dlsched.srpt_mapping.dispatching import Aside, Begun, JobRun, going_on, schedule_of, with_own
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.placing import PLACES, placed_s, require_placeable, taken_of
from dlsched.srpt_mapping.slices import SLICE_RULES, Room, Trial, Tried, servers_of
from dlsched.srpt_mapping.solution import Schedule, on_clock_of

_BLOCK = 500  # jobs that run, in a block of theirs


class _Profile:
    """GPUs that will be free: ``free[k]`` from ``times_s[k]`` to the next time, the last for ever; shape (K,).

    Before a second reservation the arrays are not made: without reservations what is free only grows, so until the first one
    starts what is free now is the least, and from then on what it leaves at its start.
    """

    def __init__(self, aside: Aside, gpus: IntArray, now_s: float, expected: "_Expected") -> None:
        self._aside, self._gpus, self._now_s, self._expected = aside, gpus, now_s, expected
        self._head: tuple[int, float, float] | None = None  # job, start and end of the first reservation
        self._head_s, self._beside = math.inf, 0  # its start, and GPUs free then, from when they are taken on beside it
        self._made = False
        self._least: IntArray | None = None  # of ``free``, from now on

    def _soonest(self) -> Iterator[tuple[float, int]]:
        """Yield times after now in ascending order, and the GPUs that jobs which run give back then."""
        # a job that should have ended by now may end at any moment, but holds its GPUs now
        soon_s = float(np.nextafter(self._now_s, np.inf))
        return ((max(end_s, soon_s), held) for end_s, held, _ in self._expected)

    def _make(self) -> None:
        """Make the arrays."""
        if not self._made:
            self._made, changes = True, list(self._soonest())
            self.times_s = np.array([self._now_s, *(end_s for end_s, _ in changes)])
            self.free = np.cumsum([self._aside.servers.total, *(held for _, held in changes)])
            if self._head is not None:
                self.reserve(*self._head)

    def holds(self, job: int, end_s: float) -> bool:
        """Whether a job's GPUs are free from now to its end."""
        return self.has(end_s, [(0, int(self._gpus[job]))])

    def free_now(self) -> tuple[int, int, float] | None:
        """GPUs that are free now and beside the first reservation, and when this starts; None: the arrays say more."""
        return None if self._made else (self._aside.servers.total, self._beside, self._head_s)

    def tried(self, job: int, end_s: float) -> Tried | None:
        """Where the rule places a job now; None: not enough is free."""
        del end_s
        each, servers = self._aside.instance.jobs[job], self._aside.servers
        if each.gpus > servers.free_of(each.pool):
            return None
        placed = self._aside.place(each.graph, servers.within(each.pool))
        return Tried(servers.iteration_s(each.graph, placed), servers.placement(placed), taken_of(placed))

    def earliest_s(self, job: int, length_s: float) -> float:
        """The first time from which a job's GPUs are free for so long."""
        if self._head is None and not self._made:
            free, first_s, gpus = self._aside.servers.total, math.inf, int(self._gpus[job])
            # all that is given back at that time counts
            for at_s, held in self._soonest():
                if at_s > first_s:
                    break
                free += held
                if free >= gpus:
                    first_s = at_s
            self._beside = free
            return first_s
        self._make()
        # a job starts now or after a step with too few GPUs, and ends by the next such step
        short = np.flatnonzero(self.free < self._gpus[job])
        starts, following = np.append(0, short + 1), np.append(short, len(self.free))
        starts, following = starts[starts < following], following[starts < following]
        until_s = np.append(self.times_s, np.inf)[following]
        return float(self.times_s[starts[np.argmax(self.times_s[starts] + length_s <= until_s)]])

    def has(self, end_s: float, room: Room) -> bool:
        """Whether what a job takes is free from now to its end."""
        units = sum(each for _, each in room)
        if end_s <= self._now_s:
            self._make()  # a job too short for the clock takes nothing
        if not self._made:
            total = self._aside.servers.total
            return units <= (min(total, self._beside) if end_s > self._head_s else total)
        if self._least is None:
            self._least = np.minimum.accumulate(self.free)
        last = int(np.searchsorted(self.times_s, end_s, side="left"))
        return bool(self._least[max(0, last - 1)] >= units)

    def reserve(self, job: int, start_s: float, end_s: float, room: Room | None = None) -> None:
        """Take what a job takes, or will where the rules place it, from one time to another, at which it is free."""
        if not self._made:
            if start_s > self._now_s:
                self._head, self._head_s = (job, start_s, end_s), start_s
                self._beside -= int(self._gpus[job])
            elif end_s > self._head_s:
                self._beside -= int(self._gpus[job])
            return
        first, last = self._step(start_s), self._step(end_s)
        self.free[first:last] -= self._gpus[job]
        self._least = None

    def _step(self, at_s: float) -> int:
        """Index of the step that begins at a time, which is made if there is none."""
        index = int(np.searchsorted(self.times_s, at_s, side="right")) - 1
        if self.times_s[index] < at_s:
            self.free = np.insert(self.free, index + 1, self.free[index])
            index += 1
            self.times_s = np.insert(self.times_s, index, at_s)
        return index


class _ColumnProfile:
    """The same by column, of servers or GPUs and slots: what is free now, shape (C,), and what few columns change later.

    ``held``: by job that runs what it takes, as ``Trial`` counts that. ``changes``: in order of time, what is given first.
    """

    def __init__(
        self, trial: Trial, now_s: float, free: list[int], expected: "_Expected", held: Mapping[int, Room]
    ) -> None:
        self._trial, self._now_s, self._now, self._expected, self._held = trial, now_s, free.copy(), expected, held
        self._starts: list[float] = []  # of reservations
        self._least: dict[int, list[int]] = {}  # by how many of these have begun, what is free from now on
        self._known: dict[tuple[int, object], bool] = {}  # by the same and the kind of a job, whether that holds it

    @cached_property
    def changes(self) -> list[tuple[float, int, Room]]:
        """Times, 1 where columns are given or -1, and which; not known before a job has a reservation."""
        soon_s = float(np.nextafter(self._now_s, np.inf))
        return [(max(end_s, soon_s), 1, self._held[job]) for end_s, _, job in self._expected]

    def holds(self, job: int, end_s: float) -> bool:
        """As of ``_Profile``."""
        # without reservations nothing that is free now is taken later
        for begun in (0, bisect_left(self._starts, end_s)):
            key = begun, self._trial.kinds[job]
            if key not in self._known:
                self._known[key] = self._trial.holds(job, self._until(end_s) if begun else self._now)
            if not self._known[key]:
                return False
        return True

    def _until(self, end_s: float) -> list[int]:
        """What is free from now to a time."""
        begun = bisect_left(self._starts, end_s)
        if begun not in self._least:
            self._least[begun] = self.least(self._now_s, end_s) if begun else self._now
        return self._least[begun]

    def least(self, start_s: float, end_s: float) -> list[int]:
        """What is free from one time to another."""
        free, least = self._now.copy(), None
        for at_s, sign, room in self.changes:
            if least is None and at_s > start_s:
                least = free.copy()
            if least is not None and at_s >= end_s:
                break
            for column, units in room:
                free[column] += sign * units
                if least is not None and free[column] < least[column]:
                    least[column] = free[column]
        return free if least is None else least

    def tried(self, job: int, end_s: float) -> Tried | None:
        """As of ``_Profile``, on what is free to a time."""
        return self._trial.tried(job, self._until(end_s))

    def earliest_s(self, job: int, length_s: float) -> float:
        """As of ``_Profile``."""
        free, fits, least_units = self._now.copy(), True, self._trial.needs[job]
        # the state after all changes of a time; where it did not hold the job, a column has to grow enough
        for at_s, changes in groupby([(self._now_s, 1, []), *self.changes], itemgetter(0)):
            for _, sign, room in changes:
                for column, units in room:
                    free[column] += sign * units
                    fits = fits or free[column] >= least_units
            fits = fits and self._trial.holds(job, free)
            if fits and self._trial.holds(job, self.least(at_s, at_s + length_s)):
                return float(at_s)
        raise ValueError("the servers do not hold the job")

    def has(self, end_s: float, room: Room) -> bool:
        """As of ``_Profile``."""
        least = self._until(end_s)
        return all(least[column] >= units for column, units in room)

    def reserve(self, job: int, start_s: float, end_s: float, room: Room | None = None) -> None:
        """As of ``_Profile``."""
        if room is None:
            later = self._trial.tried(job, self.least(start_s, end_s))
            assert later is not None  # as ``earliest_s`` chose the time
            room = later.room
        if start_s > self._now_s:
            insort(self.changes, (start_s, -1, room), key=_in_order)
            insort(self._starts, start_s)
        else:
            for column, units in room:
                self._now[column] -= units
        if "changes" in self.__dict__:
            insort(self.changes, (end_s, 1, room), key=_in_order)
        self._least.clear()
        self._known.clear()


class _Expected:
    """Predicted end, GPUs and index of every job that runs, in order; in blocks, so that few move where one comes or ends."""

    def __init__(self) -> None:
        # by block: none of its entries is less, none of those before as large
        self._least: list[tuple[float, ...]] = [(-math.inf,)]
        self._blocks: list[list[tuple[float, int, int]]] = [[]]

    def __iter__(self) -> Iterator[tuple[float, int, int]]:
        return chain.from_iterable(self._blocks)

    def add(self, entry: tuple[float, int, int]) -> None:
        """Add a job that starts."""
        index = bisect_right(self._least, entry) - 1
        block = self._blocks[index]
        insort(block, entry)
        if len(block) > 2 * _BLOCK:
            self._blocks[index : index + 1] = block[:_BLOCK], block[_BLOCK:]
            self._least.insert(index + 1, block[_BLOCK])

    def remove(self, entry: tuple[float, int, int]) -> None:
        """Remove a job that has ended."""
        index = bisect_right(self._least, entry) - 1
        block = self._blocks[index]
        del block[bisect_left(block, entry)]
        if not block and index:
            del self._blocks[index], self._least[index]


def _in_order(change: tuple[float, int, Room]) -> tuple[float, int]:
    """What is given at a time comes before what is taken then."""
    return change[0], -change[1]


@uncollected()
def backfill_reserving(
    instance: Instance,
    *,
    reservations: int | None = 1,
    place: str = "heavy-edge",
    slices: str = "best-fit",
    begun: Begun | None = None,
    tick: Tick = no_tick,
) -> Schedule | None:
    """Backfilling with reservations, in the order of release; see the module. None when infeasible.

    ``reservations``: how many of the first jobs that wait hold a reservation, >= 0; 1: EASY; None: all, conservative
    backfilling. ``place``: ``heavy-edge`` or ``compact``. ``slices``: the rule of ``slices.SLICE_RULES`` that places jobs on
    slices. ``begun``: further jobs that have begun, for a decision in the middle of a queue: see ``dispatch``. ``tick`` is called
    for every job that starts or takes a reservation; it may raise to stop.

    Guarantee: none on the objective. With one reservation the head is never delayed by a job behind it, if jobs run no longer
    than predicted and pools share no servers.
    Cost: O(I (Q + R)) for Q jobs that wait, R that run, with one reservation; O(I Q (Q + R)) with all.
    UsageError: an unknown rule of placement, or a negative number of reservations.
    """
    for where, name, allowed in (("place", place, PLACES), ("slices", slices, SLICE_RULES)):
        if name not in allowed:
            raise UsageError(where=where, found=repr(name), allowed=", ".join(allowed))
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
        aside = Aside(part, servers_of(part, slices), (), rule)
        trial = Trial(part, slices, rule) if part.sliced or part.consolidated else None
        ran |= zip(jobs, _run(aside, trial, np.array([lengths_s[job] for job in jobs]), most, here, tick), strict=True)
    return Schedule(on_clock_of(instance, own, schedule_of(own, [ran[job] for job in range(len(own.jobs))])))


def _run(
    aside: Aside, trial: Trial | None, lengths_s: FloatArray, reservations: int, begun: Begun | None, tick: Tick
) -> list[JobRun]:
    """Run the queue to its end; ``lengths_s``: predicted seconds of every job on the empty servers, shape (I,)."""
    jobs, servers, gpus = aside.instance.jobs, aside.servers, np.array([job.gpus for job in aside.instance.jobs])
    running, ran = going_on(aside, begun) if begun is not None else ([], {})
    expected, expected_of = _Expected(), {}
    for _, job, _ in running:
        expected_of[job] = _expected_s(aside, job, ran[job]), jobs[job].gpus, job
        expected.add(expected_of[job])
    held = {job: trial.counted(job, ran[job].placement) for _, job, _ in running} if trial else {}
    left = trial.units.copy() if trial else []  # what is free by column
    for column, units in (each for room in held.values() for each in room):
        left[column] -= units
    since_s = -np.inf if begun is None else begun.at_s
    joins_s = [max(job.release_s, since_s) for job in jobs]
    arriving = sorted((j for j in range(len(jobs)) if j not in ran), key=lambda j: (joins_s[j], jobs[j].release_s, j))
    arriving.reverse()
    # jobs by their places in the queue: of a larger class first, then by release
    order = sorted(range(len(jobs)), key=lambda j: (-jobs[j].priority, jobs[j].release_s, j))
    place_of = np.argsort(order).tolist()
    # how many more jobs of each group may run; the last entry is of jobs without a limit
    index_of = {group.id: index for index, group in enumerate(aside.instance.groups)}
    group_of = [index_of.get(job.group or "", len(index_of)) for job in jobs]
    slots = [*(group.limit for group in aside.instance.groups), len(jobs) + 1]
    planned_s = lengths_s[order].tolist()
    waiting = WaitingJobs([(jobs[j].gpus, group_of[j]) for j in order], planned_s, slots)
    for _, job, _ in running:
        slots[group_of[job]] -= 1

    while arriving or running:
        now_s = min(joins_s[arriving[-1]] if arriving else np.inf, running[0][0] if running else np.inf)
        while running and running[0][0] <= now_s:
            _, job, taken = heapq.heappop(running)
            servers.give(taken)
            if trial:
                for column, units in held.pop(job):
                    left[column] += units
            slots[group_of[job]] += 1
            expected.remove(expected_of.pop(job))
        while arriving and joins_s[arriving[-1]] <= now_s:
            waiting.add(place_of[arriving.pop()])
        if not waiting.classes:
            continue
        by_column = trial and _ColumnProfile(trial, now_s, left, expected, held)
        profile = by_column or _Profile(aside, gpus, now_s, expected)
        after, remaining = -1, reservations
        # in order: the next job that fits starts; those before it take the reservations that are left
        while servers.total or aside.instance.sliced:
            free = profile.free_now() if isinstance(profile, _Profile) and not remaining else None
            if remaining or free:
                place = waiting.first(after, now_s, free)
            else:
                rest = waiting.rest(after)
                place = next((each for each in rest if profile.holds(order[each], now_s + planned_s[each])), None)
            if place is None:
                break
            tick()
            job, after = order[place], place
            end_s = now_s + planned_s[place]
            if remaining and not profile.holds(job, end_s):
                remaining -= 1
                start_s = profile.earliest_s(job, planned_s[place])
                profile.reserve(job, start_s, start_s + planned_s[place])
                continue
            fit = profile.tried(job, end_s)
            if fit is None:
                continue
            end_s = now_s + _planned_s(jobs[job], fit.iteration_s)
            if profile.has(end_s, fit.room):
                waiting.remove(place)
                ran[job] = JobRun(now_s, jobs[job].iterations * fit.iteration_s, fit.placement)
                taken = servers.hold(jobs[job], fit.placement) if trial else servers.take_room(fit.room)
                heapq.heappush(running, (now_s + ran[job].length_s, job, taken))
                slots[group_of[job]] -= 1
                expected_of[job] = end_s, jobs[job].gpus, job
                expected.add(expected_of[job])
                if trial:
                    held[job] = fit.room
                    for column, units in fit.room:
                        left[column] -= units
                profile.reserve(job, now_s, end_s, fit.room)
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
