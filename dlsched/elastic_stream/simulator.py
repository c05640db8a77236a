"""Event simulation of a stream under a policy: the simulator owns the clock, pauses, early ends and ticks.

At an event (an arrival, an end, a tick, a time the policy asked for) the policy is asked once, after everything that
happens at that moment. Every answer is checked. With ``tick_s`` it is asked at every multiple of it at which a job is
present, and units of a job that ends in between are free at the next one. See ``clock`` for how time is counted.

What happens within a few units in the last place of the clock happens at the latest of these times: rounding makes no
job restart, and gives none anything for free.

Cost: O(log n) for each event and each change of units, n the jobs present, besides the policy's own. Memory: O(n), and
the order of arrivals, a list of all positions that grows shorter.
"""

import math
from collections.abc import Callable, Mapping
from heapq import heapify, heappop, heappush
from operator import index
from typing import Any

from dlsched.core.errors import PolicyError, UsageError
from dlsched.core.tolerance import ROUNDING
from dlsched.elastic_stream.checker import infeasible
from dlsched.elastic_stream.clock import HAIR, end_after, end_in_slots, slots_for
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream
from dlsched.elastic_stream.view import Policy, Run, View

Keep = Callable[[int, float, float, int], None]
"""Takes a period as it ends: position of the job, start and end in seconds, units."""

_ROUNDING = 1e-9  # of ``every_s``, by which the time may miss a multiple of it
_BETWEEN_STEPS = 256  # events
_FEW = 64  # entries of jobs that changed, which the heap of ends may hold besides as many as the others
_IDLE = 1e-6  # of a period: it ended in its pause if no more of it came after that
_BARREN = 10_000  # periods, and waits of all, without progress in a row, after which a policy is taken never to finish


def simulate(
    instance: Instance,
    policy: Policy,
    *,
    every_s: float | None = None,
    step: Callable[[str], None] | None = None,
    tick: Callable[[], None] | None = None,
) -> Stream:
    """Run a policy on a stream and return the periods of all jobs.

    Parameters
    ----------
    instance, policy
        The stream, and a fresh policy.
    every_s
        Ask the policy at multiples of so many seconds too; not with ``tick_s``, which asks at ticks alone.
    step
        Called now and then with how far the simulation has come; it may raise to stop it.
    tick
        Called before every decision, and by policies that take long; it may raise too.

    Raises
    ------
    PolicyError
        The policy returned what is no allowed count, exceeds the units, or lets jobs wait or restart for ever; says when
        and which.
    UsageError
        The instance is infeasible, or ``every_s`` is not a number > 0.
    KeyboardInterrupt
        With a message that says how far it came.
    """
    held: list[list[tuple[float, float, int]]] = [[] for _ in instance.jobs]

    def keep(job: int, start_s: float, end_s: float, units: int) -> None:
        held[job].append((start_s, end_s, units))

    run(instance, policy, keep, every_s=every_s, step=step, tick=tick)
    return Stream({job.id: periods for job, periods in zip(instance.jobs, held, strict=True)})


def run(
    instance: Instance,
    policy: Policy,
    keep: Keep,
    *,
    every_s: float | None = None,
    step: Callable[[str], None] | None = None,
    tick: Callable[[], None] | None = None,
) -> int:
    """Run a policy and hand every period to ``keep`` as it ends; return the number of arrivals and ends.

    For streams whose periods need not be kept: memory is linear in the jobs present, besides a list of the arrivals.
    Otherwise as ``simulate``.
    """
    reason = infeasible(instance)
    if reason is not None:
        raise UsageError(f"no stream: {reason}")
    if every_s is not None and not (0 < every_s < math.inf):
        raise UsageError(f"every_s: found {every_s}, allowed: a number > 0")
    last_s = max(job.arrival_s for job in instance.jobs)
    if every_s is not None and every_s < 1e-9 * last_s:
        raise UsageError(f"every_s: found {every_s}, allowed: at least 1e-9 of the last arrival, {last_s}")
    simulation = _Simulation(instance, policy, keep, every_s, tick or _nothing)
    try:
        simulation.play(step or _ignore)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted: {simulation.progress()}") from None
    return simulation.events


def _ignore(progress: str) -> None:
    del progress


def _nothing() -> None:
    pass


class _Simulation:
    """The state of one simulation."""

    def __init__(
        self, instance: Instance, policy: Policy, keep: Keep, every_s: float | None, tick: Callable[[], None]
    ) -> None:
        jobs = instance.jobs
        self.instance, self.policy, self.keep = instance, policy, keep
        self.tick_s, self.scale_s = instance.tick_s, instance.tick_s or 1.0
        self.every_s = every_s if instance.tick_s is None else None
        self.every_tick = instance.tick_s is not None and not getattr(policy, "timeless", False)
        self.present: dict[int, Run] = {}
        self.view = View(instance, self.present, policy.clairvoyant, tick)
        self.arrivals = sorted(range(len(jobs)), key=[job.arrival_s for job in jobs].__getitem__)[::-1]  # next one last
        self.ends: list[tuple[float, int, Run]] = []
        self.now: float = 0.0  # by the clock: seconds, or the number of a tick
        self.stamps = self.used = self.events = self.barren = self.stale = 0

    def progress(self) -> str:
        """How far it has come, in words."""
        done = len(self.instance.jobs) - len(self.arrivals) - len(self.present)
        days = self.view.passed_s / 86400
        return f"{days:,.3g} days simulated, {done:,} of {len(self.instance.jobs):,} jobs ended, {len(self.present):,} present"

    def play(self, step: Callable[[str], None]) -> None:
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
                if view.arrived:
                    view.arrived.clear()
                if view.ended:
                    view.ended.clear()

    def _due(self, place: int) -> float:
        """When a job is due, by the clock."""
        return self.instance.jobs[place].arrival_s if self.tick_s is None else self.instance.first_slot(place)

    def _next(self, now: float) -> float:
        """Time to go on at, given that of the next arrival or end; PolicyError when jobs wait for ever."""
        wake_s = self.view.wake_s if self.present else None
        starving = now == math.inf
        if wake_s is not None:
            now = min(now, wake_s if self.tick_s is None else self._tick_from(wake_s))
        if self.present and self.every_tick:
            now = min(now, self.now + 1)
        elif self.present and self.every_s is not None:
            now = min(now, (math.floor(self.now / self.every_s + _ROUNDING) + 1) * self.every_s)
        self.barren += starving
        if starving and (self.barren > _BARREN or now == math.inf):
            job = next(iter(self.present))
            raise PolicyError(
                f"{self._named()} at {self.view.now_s!r} s: found {len(self.present)} jobs that wait for ever, "
                f"{self.instance.jobs[job].id!r} first, allowed: an end for every job"
            )
        return now

    def _tick_from(self, time_s: float) -> int:
        """First tick after this one that is at or after a time."""
        number = round(time_s / self.scale_s)
        return max(int(self.now) + 1, number + (time_s > number * self.scale_s * (1 + ROUNDING)))

    def _end_jobs(self, latest: float) -> float:
        """Let every job end whose work is done by then; return when the last of them is done."""
        ends, scale_s = self.ends, self.scale_s
        end = -math.inf
        while ends and ends[0][0] <= latest:
            due, stamp, run = heappop(ends)
            if run.stamp != stamp:
                self.stale -= 1
                continue
            end = due
            if self.tick_s is None:
                self.keep(run.job, run.since, end, run.held)
            else:
                done_s = end_in_slots(int(run.since), int(due - run.since), run.needed_s, scale_s)
                self.keep(run.job, run.since * scale_s, done_s, run.held)
            self.used -= run.held
            self.events += 1
            self.barren = 0
            del self.present[run.job]
            self.view.ended.append(run.job)
        return end

    def _admit_jobs(self, latest: float) -> float:
        """Let every job arrive that is due, and return when the last of them is; one without work ends at once, unseen."""
        jobs, arrivals = self.instance.jobs, self.arrivals
        arrival = -math.inf
        while arrivals:
            place = arrivals[-1]
            due = self._due(place)
            if due > latest:
                break
            arrivals.pop()
            arrival = due
            job = jobs[place]
            work = job.stops_at * job.epochs
            self.events += 1
            if work == 0.0:
                self.events += 1
                continue
            table = job.epoch_time_s
            times = {} if table is None else dict(zip(table.counts, table.times_s))  # noqa: B905  equal by construction
            self.present[place] = Run(place, work, job.epochs - work, times, job.restart_s)
            self.view.arrived.append(place)
        return arrival

    def _apply(self, answer: Mapping[int, int], now: float) -> None:
        """Check an answer and give every job its units."""
        present, ends, scale_s, tick_s = self.present, self.ends, self.scale_s, self.tick_s
        for place, units in answer.items():
            run = present.get(place)
            if run is None:
                raise PolicyError(self._said(place, f"{units!r} units", "jobs that are present"))
            if type(units) is not int:
                units = self._whole(place, units)
            held = run.held
            if units == held:
                continue
            if units and units not in run.times:
                run.times[units] = self._time_s(place, units)
            self.used += units - held
            if held:
                self.stale += 1  # its entry in the heap
                elapsed_s = (now - run.since) * scale_s
                left = run.left_after(elapsed_s)
                self.barren = self.barren + 1 if elapsed_s - run.pause_s <= _IDLE * elapsed_s else 0
                run.left = left
                if elapsed_s > 0:
                    self.keep(place, run.since * scale_s, now * scale_s, held)
                    run.attained += held * elapsed_s
            run.held, run.since = units, now
            self.stamps = run.stamp = stamp = self.stamps + 1
            if units:
                run.time_s = time_s = run.times[units]
                run.pause_s = pause_s = run.restart_s if run.started else 0.0
                run.needed_s = needed_s = pause_s + run.left * time_s
                run.started = True
                if tick_s is None:
                    heappush(ends, (end_after(now, needed_s), stamp, run))
                else:
                    hair_s = HAIR * (pause_s + self.instance.jobs[place].work * time_s)
                    heappush(ends, (now + slots_for(needed_s, hair_s, tick_s), stamp, run))
        if self.stale > _FEW + len(ends) // 2:
            ends[:] = [entry for entry in ends if entry[2].stamp == entry[1]]
            heapify(ends)
            self.stale = 0
        if self.barren > _BARREN and any(
            run.held and (now - run.since) * scale_s * (1 - _IDLE) > run.pause_s for run in present.values()
        ):
            self.barren = 0  # another job comes on
        if self.barren > _BARREN:
            raise PolicyError(
                f"{self._named()} at {self.view.now_s!r} s: found {self.barren} periods in a row that ended in their pause, "
                f"allowed: periods in which jobs come on"
            )
        if self.used > self.instance.units:
            most = max(present.values(), key=lambda run: run.held)
            raise PolicyError(
                f"{self._named()} at {self.view.now_s!r} s: found {self.used} units in all, {most.held} of them for job "
                f"{self.instance.jobs[most.job].id!r}, allowed: {self.instance.units}"
            )

    def _time_s(self, place: int, units: int) -> float:
        """Seconds per epoch on a count that was not asked for before; PolicyError for one that is not allowed."""
        allowed = self.instance.counts(place)
        if units in allowed:
            return self.instance.jobs[place].speed.epoch_time_s(units)
        shown = ", ".join(map(str, [0, *allowed[:8]])) + (", ..." if len(allowed) > 8 else "")
        raise PolicyError(self._said(place, f"{units} units", shown))

    def _whole(self, place: int, units: Any) -> int:
        try:
            if not isinstance(units, bool):
                return index(units)
        except TypeError:
            pass
        raise PolicyError(self._said(place, f"{units!r} units", "an integer"))

    def _said(self, place: Any, found: str, allowed: str) -> str:
        known = isinstance(place, int) and 0 <= place < len(self.instance.jobs)
        name = repr(self.instance.jobs[place].id) if known else repr(place)
        return f"{self._named()} at {self.view.now_s!r} s, job {name}: found {found}, allowed: {allowed}"

    def _named(self) -> str:
        return f"policy {type(self.policy).__name__}"
