"""Event simulation of a stream under a policy: the simulator owns the clock, pauses, early ends and ticks.

At an event (an arrival, an end, a tick, a time the policy asked for) the policy is asked once, after everything that happens at
that moment, and its answer is checked. With ``tick_s`` it is asked at every multiple of it at which a job is present, and
units of a job that ends in between are free at the next one. ``core.ticks`` counts time. What happens within a few units in
the last place of the clock happens at the latest of these times: rounding restarts no job and gives none free progress.

Cost: O(log n) for each event and each change of units, n the jobs present, besides the policy's own. Memory: O(n), and
the order of arrivals, a list of all positions that grows shorter.
"""

import math
from collections.abc import Callable, Mapping
from heapq import heapify, heappop, heappush
from operator import index

from dlsched.core.arguments import require_positive
from dlsched.core.arrays import FloatArray, IntArray
from dlsched.core.errors import PolicyError, UsageError
from dlsched.core.gap import ROUNDING
from dlsched.core.limits import Tick, no_tick
from dlsched.core.messages import shown
from dlsched.core.ticks import HAIR, end_after, end_in_slots, end_slot, first_tick
from dlsched.elastic_stream.checker import infeasible
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.simulation.present_jobs import BARREN, FEW, IDLE, PresentJob
from dlsched.elastic_stream.simulation.queue_stream import (
    Keep,
    KeepMany,
    QueueStream,
    Rule,
    how_far,
    restarts_for_ever,
    wrong,
)
from dlsched.elastic_stream.simulation.view import Policy, PolicyLike, View
from dlsched.elastic_stream.solution import Stream

Step = Callable[[str], None]
"""Function called now and then with the progress of the simulation."""

_ROUNDING = 1e-9  # share of ``every_s`` by which the time may miss a multiple of it
_BETWEEN_STEPS = 256  # events


def no_step(progress: str) -> None:
    """The ``step`` of callers without interest in progress."""


def simulate(
    instance: Instance, policy: PolicyLike, *, every_s: float | None = None, step: Step = no_step, tick: Tick = no_tick
) -> Stream:
    """Run a policy on a stream and return the periods of all jobs.

    Parameters
    ----------
    instance, policy
        The stream, and a fresh policy, or its class, which is called with nothing.
    every_s
        Ask the policy at multiples of this many seconds too; not with ``tick_s``, which asks at ticks alone.
    step, tick
        Called now and then with how far the simulation has come, and before every decision (``tick`` also by policies that
        take long, and in a loop every 256 events or 512 periods only); both may raise to stop it.

    Raises
    ------
    PolicyError
        The policy returned a count that is not allowed, exceeds the units, or lets jobs wait or restart for ever; says when
        and which.
    UsageError
        The instance is infeasible, or ``every_s`` is not a number > 0.
    KeyboardInterrupt
        With a message that says how far it came.
    """
    by_job: list[list[tuple[float, float, int]]] = [[] for _ in instance.jobs]

    def keep(job: int, start_s: float, end_s: float, units: int) -> None:
        by_job[job].append((start_s, end_s, units))

    run(instance, policy() if isinstance(policy, type) else policy, keep, every_s=every_s, step=step, tick=tick)
    return Stream({job.id: periods for job, periods in zip(instance.jobs, by_job, strict=True)})


def run(
    instance: Instance,
    policy: Policy,
    keep: Keep,
    *,
    keep_many: KeepMany | None = None,
    every_s: float | None = None,
    step: Step = no_step,
    tick: Tick = no_tick,
) -> int:
    """Run a policy and hand every period to ``keep`` as it ends; return the number of arrivals and ends.

    For streams whose periods need not be kept: memory is linear in the jobs present, besides a list of the arrivals, or with
    a queue's loop a few numbers for every job. A loop hands many periods at a time to ``keep_many``, if given, as arrays of
    jobs, starts, ends and units: much faster where there are hundreds of millions. Otherwise as ``simulate``.
    """

    def one_by_one(*block: IntArray | FloatArray) -> None:
        for period in zip(*(column.tolist() for column in block), strict=True):
            keep(*period)

    reason = infeasible(instance)
    if reason is not None:
        raise UsageError(f"no stream: {reason}")
    require_positive(every_s=every_s)
    last_s = max(job.arrival_s for job in instance.jobs)
    if every_s is not None and every_s < 1e-9 * last_s:
        raise UsageError(where="every_s", found=every_s, allowed=f"at least 1e-9 of the last arrival, {last_s}")
    rule = getattr(policy, "rule", None) if instance.tick_s is None and every_s is None else None
    simulation: QueueStream | _Simulation
    if isinstance(rule, Rule) and rule.serves(instance):
        simulation = QueueStream(instance, policy, rule, keep_many or one_by_one, tick)
    else:
        simulation = _Simulation(instance, policy, keep, every_s, tick)
    try:
        simulation.play(step)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted: {simulation.progress()}") from None
    return simulation.events


class _Simulation:
    """The state of one simulation."""

    def __init__(self, instance: Instance, policy: Policy, keep: Keep, every_s: float | None, tick: Tick) -> None:
        jobs = instance.jobs
        self.instance, self.policy, self.keep = instance, policy, keep
        self.tick_s, self.scale_s = instance.tick_s, instance.tick_s or 1.0
        self.every_s = every_s if instance.tick_s is None else None
        self.every_tick = instance.tick_s is not None and not getattr(policy, "timeless", False)
        self.present: dict[int, PresentJob] = {}
        self.view = View(instance, self.present, getattr(policy, "clairvoyant", False), tick)
        self.arrivals = sorted(range(len(jobs)), key=[job.arrival_s for job in jobs].__getitem__)[::-1]  # next one last
        self.ends: list[tuple[float, int, PresentJob]] = []
        self.now: float = 0.0  # by the clock: seconds, or the number of a tick
        self.stamps = self.used = self.events = self.barren = self.stale = 0

    def progress(self) -> str:
        """Describe the progress in words."""
        return how_far(self.instance, self.view.passed_s, len(self.arrivals), len(self.present))

    def play(self, step: Step) -> None:
        """Go from event to event until all jobs have ended."""
        view, present, arrivals, ends, decide = self.view, self.present, self.arrivals, self.ends, self.policy.decide
        asked, tick = self.every_tick or self.every_s is not None, view.tick
        until_step = _BETWEEN_STEPS
        while arrivals or present:
            while ends and ends[0][2].stamp != ends[0][1]:
                heappop(ends)
                self.stale -= 1
            end = ends[0][0] if ends else math.inf
            arrival = self._due(arrivals[-1]) if arrivals else math.inf
            now = end if end < arrival else arrival
            if asked or view.wake_s is not None or now == math.inf:
                now = self._next(now)
            latest = now + ROUNDING * now if self.tick_s is None else now
            if end <= latest:
                now = max(now, self._end_jobs(latest))
            if arrival <= latest:
                now = max(now, self._admit_jobs(latest))
            self.now = now
            view.set_clock(now)
            tick()
            until_step -= 1
            if not until_step:
                until_step = _BETWEEN_STEPS
                step(self.progress())
            if present or view.ended:
                if view.wake_s is not None and view.wake_s <= view.now_s:
                    view.wake_s = None
                answer = decide(view)
                if answer:
                    self._apply(answer, now)
                view.arrived.clear()
                view.ended.clear()

    def _due(self, job: int) -> float:
        """Time by the clock at which a job is due."""
        return self.instance.jobs[job].arrival_s if self.tick_s is None else self.instance.first_slot(job)

    def _next(self, now: float) -> float:
        """Time of the next event, at most that of the next arrival or end; PolicyError if jobs wait for ever."""
        wake_s = self.view.wake_s if self.present else None
        starving = now == math.inf
        if wake_s is not None:
            now = min(now, wake_s if self.tick_s is None else max(int(self.now) + 1, first_tick(wake_s, self.tick_s)))
        if self.present and self.every_tick:
            now = min(now, self.now + 1)
        elif self.present and self.every_s is not None:
            now = min(now, (math.floor(self.now / self.every_s + _ROUNDING) + 1) * self.every_s)
        self.barren += starving
        if starving and (self.barren > BARREN or now == math.inf):
            first = self.instance.jobs[next(iter(self.present))].id
            raise self._wrong(f"{len(self.present)} jobs that wait for ever, {first!r} first", "an end for every job")
        return now

    def _end_jobs(self, latest: float) -> float:
        """End every job whose work is done by ``latest``; return when the last of them is done."""
        ends, scale_s = self.ends, self.scale_s
        end = -math.inf
        while ends and ends[0][0] <= latest:
            due, stamp, run = heappop(ends)
            if run.stamp != stamp:
                self.stale -= 1
                continue
            end = end_s = due
            if self.tick_s is not None:
                end_s = end_in_slots(int(run.since), int(due - run.since), run.needed_s, scale_s)
            self.keep(run.job, run.since * scale_s, end_s, run.units)
            self.used -= run.units
            self.events += 1
            self.barren = 0
            del self.present[run.job]
            if self.view.cached is not None:
                self.view.cached.remove(run.job)
            self.view.ended.append(run.job)
        return end

    def _admit_jobs(self, latest: float) -> float:
        """Admit every job that is due; return when the last of them is due. One without work ends at once, unseen."""
        arrivals = self.arrivals
        arrival = -math.inf
        while arrivals and (due := self._due(arrivals[-1])) <= latest:
            number, arrival = arrivals.pop(), due
            job = self.instance.jobs[number]
            work = job.work
            self.events += 1 if work else 2
            if work:
                table = job.epoch_time_s
                times = {} if table is None else dict(zip(table.counts, table.times_s))  # noqa: B905  as many of both
                self.present[number] = run = PresentJob(number, work, job.epochs - work, times, job.restart_s)
                if self.view.cached is not None:
                    self.view.cached.add(run)
                self.view.arrived.append(number)
        return arrival

    def _apply(self, answer: Mapping[int, int], now: float) -> None:
        """Check an answer and give every job its units."""
        runs, ends, cached = self.present, self.ends, self.view.cached
        if not hasattr(answer, "items"):
            raise self._wrong(f"a {type(answer).__name__} from decide", "units by job, such as {job: 1}, or {}")
        for job, units in answer.items():
            run = runs.get(job)
            if run is None:
                if type(job) is int and 0 <= job < len(self.instance.jobs):
                    raise self._wrong(f"{units!r} units", "jobs that are present", job)
                raise self._wrong(f"the key {shown(job)}", "positions of jobs, as `for job in view` gives")
            if type(units) is not int:
                units = self._whole(job, units)
            if units == run.units:
                continue
            if units and units not in run.times:
                run.times[units] = self._time_s(job, units)
            self.used += units - run.units
            if run.units:
                self._stop(run, now)
            run.units, run.since = units, now
            self.stamps = run.stamp = self.stamps + 1
            if units:
                heappush(ends, (self._end(run, now), run.stamp, run))
            if cached is not None:
                cached.change(run)
        if self.stale > FEW + len(ends) // 2:
            ends[:] = [entry for entry in ends if entry[2].stamp == entry[1]]
            heapify(ends)
            self.stale = 0
        if self.barren > BARREN:
            running = (run for run in runs.values() if run.units)
            if not any((now - run.since) * self.scale_s * (1 - IDLE) > run.pause_s for run in running):
                raise restarts_for_ever(self.policy, self.view.now_s, self.barren)
            self.barren = 0  # another job makes progress
        if self.used > self.instance.units:
            most = max(runs.values(), key=lambda run: run.units)
            found = f"{self.used} units in all, {most.units} of them for job {self.instance.jobs[most.job].id!r}"
            raise self._wrong(found, str(self.instance.units))

    def _stop(self, run: PresentJob, now: float) -> None:
        """End the period of a job before its work is done."""
        self.stale += 1  # its entry in the heap
        elapsed_s = (now - run.since) * self.scale_s
        self.barren = self.barren + 1 if elapsed_s - run.pause_s <= IDLE * elapsed_s else 0
        run.stop(elapsed_s)
        if elapsed_s > 0:
            self.keep(run.job, run.since * self.scale_s, now * self.scale_s, run.units)

    def _end(self, run: PresentJob, now: float) -> float:
        """Time by the clock at which a period that begins now will end."""
        run.start()
        if self.tick_s is None:
            return end_after(now, run.needed_s)
        hair_s = HAIR * (run.pause_s + self.instance.jobs[run.job].work * run.time_s)
        return end_slot(now, run.needed_s, hair_s, self.tick_s)

    def _time_s(self, job: int, units: int) -> float:
        """Seconds per epoch on a count asked for the first time; PolicyError if the count is not allowed."""
        allowed = self.instance.counts(job)
        if units in allowed:
            return self.instance.jobs[job].speed.epoch_time_s(units)
        shown = ", ".join(map(str, [0, *allowed[:8]])) + (", ..." if len(allowed) > 8 else "")
        raise self._wrong(f"{units} units", shown, job)

    def _whole(self, job: int, units: object) -> int:
        try:
            if not isinstance(units, bool):
                return index(units)  # type: ignore[arg-type]
        except TypeError:
            pass
        raise self._wrong(f"{units!r} units", "an integer", job)

    def _wrong(self, found: str, allowed: str, *which: int) -> PolicyError:
        """The error for an answer: when, what was found and is allowed, and for which job if any."""
        names = [self.instance.jobs[job].id for job in which]
        return wrong(self.policy, self.view.now_s, found, allowed, *names)
