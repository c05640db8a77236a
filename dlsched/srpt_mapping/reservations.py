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
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter

import numpy as np

from dlsched.core.arrays import BoolArray, FloatArray, IntArray
from dlsched.core.errors import UsageError
from dlsched.core.limits import Tick, no_tick
from dlsched.srpt_mapping.checker import infeasible
from dlsched.srpt_mapping.dispatching import Aside, Begun, JobRun, going_on, schedule_of, with_own
from dlsched.srpt_mapping.instance import Instance, Job
from dlsched.srpt_mapping.placing import PLACES, Placed, placed_s, require_placeable
from dlsched.srpt_mapping.slices import SLICE_RULES, Trial, Tried, servers_of
from dlsched.srpt_mapping.solution import Schedule, Share, on_clock_of


class _Needs:
    """What jobs need of columns in which GPUs are counted: of every server where placement is consolidated, else of all together.

    ``gpus``, ``most``: GPUs of every job, and columns on which it may have them, shape (I,). ``allowed``: 1 where, shape (I, C).
    """

    def __init__(self, aside: Aside) -> None:
        self._aside, self._servers, self.by_server = aside, aside.servers, aside.servers.consolidated
        jobs, most = aside.instance.jobs, aside.instance.most_servers
        self.gpus = np.array([job.gpus for job in jobs])
        masks = {job.pool: self._servers.allowed(job.pool) if self.by_server else [1] for job in jobs}
        self.allowed = np.array([masks[job.pool] for job in jobs])
        self.most = np.array([most(job.gpus, job.pool) if self.by_server else 1 for job in jobs])

    @property
    def free(self) -> IntArray:
        """Free GPUs, shape (C,)."""
        return np.array(self._servers.free if self.by_server else [self._servers.total])

    def met(self, free: IntArray, jobs: IntArray) -> BoolArray:
        """Whether free GPUs hold jobs on as many columns as they may use; shapes (Q, C) and (Q,)."""
        if not self.by_server:
            return np.asarray(free[:, 0] >= self.gpus[jobs])
        sums = np.cumsum(np.sort(free * self.allowed[jobs], axis=1)[:, ::-1], axis=1)
        return np.asarray(sums[np.arange(len(jobs)), self.most[jobs] - 1] >= self.gpus[jobs])

    def place(self, job: int, free: IntArray) -> Placed | None:
        """Where the rule places a job on free GPUs, shape (C,); None: these do not hold it."""
        each = self._aside.instance.jobs[job]
        if not self.by_server:
            fits = each.gpus <= self._servers.free_of(each.pool)
            return self._aside.place(each.graph, self._servers.within(each.pool)) if fits else None
        if not self.met(free[None], np.array([job]))[0]:
            return None
        return self._aside.place(each.graph, self._servers.with_free((free * self.allowed[job]).tolist()))

    def tried(self, job: int, free: IntArray) -> Tried | None:
        """The same with its seconds and shares, and what it takes as columns count it."""
        placed = self.place(job, free)
        if placed is None:
            return None
        iteration_s = self._servers.iteration_s(self._aside.instance.jobs[job].graph, placed)
        placement = self._servers.placement(placed)
        return Tried(iteration_s, placement, self.counted(job, placement))

    def counted(self, job: int, placement: Sequence[Share]) -> IntArray:
        """GPUs that the shares of a job take, as columns count them, shape (C,)."""
        if not self.by_server:
            return self.gpus[[job]]
        counts = np.zeros(len(self._servers.free), dtype=np.intp)
        for server, row in self._servers.placed(self._aside.instance.jobs[job].graph, placement):
            counts[server] += sum(row)
        return counts


class _Profile:
    """GPUs that will be free: row k of ``free`` from ``times_s[k]`` to the next time, the last for ever; shapes (K, C), (K,)."""

    def __init__(self, needs: _Needs, now_s: float, free: IntArray, ends: Sequence[tuple[float, IntArray]]) -> None:
        # a job that should have ended by now may end at any moment, but holds its GPUs now
        soon_s = np.nextafter(now_s, np.inf)
        self.needs, self.times_s = needs, np.array([now_s, *(max(end_s, soon_s) for end_s, _ in ends)])
        self.free = np.cumsum([free, *(gpus for _, gpus in ends)], axis=0)

    def first(self, jobs: IntArray, ends_s: FloatArray) -> int | None:
        """Position of the first job whose GPUs are free from now to its end, or None; arrays of shape (Q,)."""
        candidates = np.flatnonzero(
            self.needs.met(np.broadcast_to(self.free[0], (len(jobs), self.free.shape[1])), jobs)
        )
        last = np.searchsorted(self.times_s, ends_s[candidates], side="left") - 1
        least = np.minimum.accumulate(self.free)
        return next(iter(candidates[self.needs.met(least[np.maximum(last, 0)], jobs[candidates])].tolist()), None)

    def least(self, start_s: float, end_s: float) -> IntArray:
        """GPUs that are free from one time to another, shape (C,)."""
        first = int(np.searchsorted(self.times_s, start_s, side="right")) - 1
        last = int(np.searchsorted(self.times_s, end_s, side="left"))
        return np.asarray(self.free[first : max(first + 1, last)].min(axis=0))

    def earliest_s(self, job: int, length_s: float) -> float:
        """The first time from which a job's GPUs are free for so long."""
        here = np.full(len(self.free), job)
        able = self.needs.met(self.free, here)
        if self.needs.by_server:
            # GPUs enough may be free all along, but on other servers now and then
            for at_s in self.times_s[able]:
                if self.needs.met(self.least(at_s, at_s + length_s)[None], here[:1])[0]:
                    return float(at_s)
        # a job starts now or after a step with too few GPUs, and ends by the next such step
        short = np.flatnonzero(~able)
        starts, following = np.append(0, short + 1), np.append(short, len(self.free))
        starts, following = starts[starts < following], following[starts < following]
        until_s = np.append(self.times_s, np.inf)[following]
        return float(self.times_s[starts[np.argmax(self.times_s[starts] + length_s <= until_s)]])

    def has(self, start_s: float, end_s: float, room: IntArray) -> bool:
        """Whether GPUs, by column, are free from one time to another."""
        return bool((self.least(start_s, end_s) >= room).all())

    def reserve(self, start_s: float, end_s: float, gpus: IntArray) -> None:
        """Take GPUs, by column, from one time to another, at which they are free."""
        first, last = self._step(start_s), self._step(end_s)
        self.free[first:last] -= gpus

    def _step(self, at_s: float) -> int:
        """Index of the step that begins at a time, which is made if there is none."""
        index = int(np.searchsorted(self.times_s, at_s, side="right")) - 1
        if self.times_s[index] < at_s:
            self.free = np.insert(self.free, index + 1, self.free[index], axis=0)
            index += 1
            self.times_s = np.insert(self.times_s, index, at_s)
        return index


class _SlicedProfile:
    """As ``_Profile``, of GPUs and slots: what is free now, and the columns that change at later times, what is given first.

    ``free``: units by column, shape (C,); ``expected``, ``held``: as in ``_run``.
    """

    def __init__(
        self,
        needs: Trial,
        now_s: float,
        free: IntArray,
        expected: Sequence[tuple[float, int, int]],
        held: Mapping[int, IntArray],
    ) -> None:
        self._needs, self._now_s, self._now = needs, now_s, free[: len(needs.units)].copy()
        self._expected, self._held = expected, held
        self._known: list[tuple[float, int, IntArray]] | None = None  # none yet, as no job has a reservation

    @property
    def _changes(self) -> list[tuple[float, int, IntArray]]:
        if self._known is None:
            soon_s = float(np.nextafter(self._now_s, np.inf))
            self._known = [(max(end_s, soon_s), 1, self._held[job]) for end_s, _, job in self._expected]
        return self._known

    def first(self, jobs: IntArray, ends_s: FloatArray) -> int | None:
        kinds: dict[tuple[object, ...], bool] = {}
        for position, (job, end_s) in enumerate(zip(jobs.tolist(), ends_s.tolist(), strict=True)):
            kind = self._needs.kinds[job]
            if kind not in kinds:
                kinds[kind] = self._needs.holds(job, self._now)
            if kinds[kind] and (self._known is None or self._needs.holds(job, self.least(self._now_s, end_s))):
                return position
        return None

    def least(self, start_s: float, end_s: float) -> IntArray:
        if self._known is None and start_s <= self._now_s:
            return self._now  # which nobody takes later
        free, least = self._now.copy(), None
        for at_s, sign, (columns, units) in self._changes:
            if least is None and at_s > start_s:
                least = free.copy()
            if least is not None and at_s >= end_s:
                break
            free[columns] += sign * units
            if least is not None and sign < 0:
                least[columns] = np.minimum(least[columns], free[columns])
        return free if least is None else least

    def earliest_s(self, job: int, length_s: float) -> float:
        free, fits, able = self._now.copy(), True, self._needs.needs[job]
        now = self._now_s, 1, np.zeros((2, 0), dtype=np.intp)
        # the state after all changes of a time; where it did not hold the job, a column has to grow enough
        for at_s, changes in groupby([now, *self._changes], itemgetter(0)):
            for _, sign, (columns, units) in changes:
                free[columns] += sign * units
                fits = fits or bool((free[columns] >= able).any())
            fits = fits and self._needs.holds(job, free)
            if fits and self._needs.holds(job, self.least(at_s, at_s + length_s)):
                return float(at_s)
        raise ValueError("the servers do not hold the job")

    def has(self, start_s: float, end_s: float, room: IntArray) -> bool:
        return bool((self.least(start_s, end_s)[room[0]] >= room[1]).all())

    def reserve(self, start_s: float, end_s: float, room: IntArray) -> None:
        if start_s > self._now_s:
            insort(self._changes, (start_s, -1, room), key=_in_order)
        else:
            self._now[room[0]] -= room[1]
        if self._known is not None:
            insort(self._known, (end_s, 1, room), key=_in_order)


def _in_order(change: tuple[float, int, IntArray]) -> tuple[float, int]:
    """What is given at a time comes before what is taken then."""
    return change[0], -change[1]


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

    Parameters
    ----------
    instance
        Servers and jobs.
    reservations
        How many of the first jobs that wait hold a reservation, >= 0; 1: EASY; None: all, conservative backfilling.
    place
        ``heavy-edge`` or ``compact``.
    slices
        The rule of ``slices.SLICE_RULES`` that places jobs on slices.
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
        needs = Trial(part, slices, rule) if part.sliced else _Needs(aside)
        ran |= zip(jobs, _run(aside, needs, np.array([lengths_s[job] for job in jobs]), most, here, tick), strict=True)
    return Schedule(on_clock_of(instance, own, schedule_of(own, [ran[job] for job in range(len(own.jobs))])))


def _run(
    aside: Aside, needs: _Needs | Trial, lengths_s: FloatArray, reservations: int, begun: Begun | None, tick: Tick
) -> list[JobRun]:
    """Run the queue to its end; ``lengths_s``: predicted seconds of every job on the empty servers, shape (I,)."""
    jobs, servers, sliced = aside.instance.jobs, aside.servers, aside.instance.sliced
    running, ran = going_on(aside, begun) if begun is not None else ([], {})
    # predicted end, GPUs and index of every job that runs, in order of the ends
    expected = sorted((_expected_s(aside, job, ran[job]), jobs[job].gpus, job) for _, job, _ in running)
    expected_of = {each[2]: each for each in expected}
    held = {job: needs.counted(job, ran[job].placement) for _, job, _ in running}
    left = np.array(aside.instance.capacities)  # units, where jobs take slices
    for columns, units in held.values() if sliced else ():
        left[columns] -= units
    since_s = -np.inf if begun is None else begun.at_s
    joins_s = [max(job.release_s, since_s) for job in jobs]
    arriving = sorted((j for j in range(len(jobs)) if j not in ran), key=lambda j: (joins_s[j], jobs[j].release_s, j))
    arriving.reverse()
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
            if sliced:
                left[held[job][0]] += held[job][1]
            slots[group_of[job]] += 1
            del expected[bisect_left(expected, expected_of.pop(job))]
        joined = []
        while arriving and joins_s[arriving[-1]] <= now_s:
            joined.append(place_of[arriving.pop()])
        queue = np.insert(queue, np.searchsorted(queue, sorted(joined)), sorted(joined))
        if not len(queue) or not (sliced or servers.total):
            continue
        profile = (
            _SlicedProfile(needs, now_s, left, expected, held)
            if isinstance(needs, Trial)
            else _Profile(needs, now_s, needs.free, [(end_s, held[job]) for end_s, _, job in expected])
        )
        started, position, remaining = [], 0, reservations
        # in order: the next job that fits starts; those before it take the reservations that are left
        while position < len(queue) and (sliced or servers.total):
            waiting = order[queue[position:]]
            allowed = np.flatnonzero(slots[group_of[waiting]] > 0)
            if not len(allowed):
                break
            open_jobs = waiting[allowed]
            first = profile.first(open_jobs, now_s + lengths_s[open_jobs])
            if remaining and first != 0:
                tick()
                job, remaining = int(open_jobs[0]), remaining - 1
                start_s = profile.earliest_s(job, float(lengths_s[job]))
                end_s = start_s + float(lengths_s[job])
                later = needs.tried(job, profile.least(start_s, end_s)) if needs.by_server else None
                profile.reserve(start_s, end_s, later.room if later else needs.counted(job, ()))
                position += int(allowed[0]) + 1
                continue
            if first is None:
                break
            tick()
            job, position = int(open_jobs[first]), position + int(allowed[first]) + 1
            fit = needs.tried(job, profile.least(now_s, now_s + float(lengths_s[job])))
            if fit is None:
                continue
            end_s = now_s + _planned_s(jobs[job], fit.iteration_s)
            if profile.has(now_s, end_s, fit.room):
                ran[job] = JobRun(now_s, jobs[job].iterations * fit.iteration_s, fit.placement)
                heapq.heappush(running, (now_s + ran[job].length_s, job, servers.hold(jobs[job], fit.placement)))
                slots[group_of[job]] -= 1
                expected_of[job] = end_s, jobs[job].gpus, job
                insort(expected, expected_of[job])
                held[job] = fit.room
                if sliced:
                    left[fit.room[0]] -= fit.room[1]
                profile.reserve(now_s, end_s, fit.room)
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
