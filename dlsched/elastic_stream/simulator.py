"""Event simulation of a stream under a policy: the simulator owns the clock, pauses, early ends and ticks.

At an event (an arrival, an end, a tick, a time the policy asked for) the policy is asked once, after everything that
happens at that moment. Every answer is checked. With ``tick_s`` it is asked at every multiple of it at which a job is
present, and units of a job that ends in between are free at the next one.

Cost: O(log n) for each event and each change of units, n the jobs present, besides the policy's own. Memory: O(n), and
the order of arrivals, a list of all positions that grows shorter.
"""

import math
from collections.abc import Callable, Mapping
from heapq import heapify, heappop, heappush
from operator import index
from typing import Any

from dlsched.core.errors import PolicyError, UsageError
from dlsched.elastic_stream.checker import infeasible
from dlsched.elastic_stream.instance import Instance, rounding_s
from dlsched.elastic_stream.solution import Stream
from dlsched.elastic_stream.view import Policy, Run, View

Keep = Callable[[int, float, float, int], None]
"""Takes a period as it ends: position of the job, start and end in seconds, units."""

_ROUNDING = 1e-9  # of a tick, by which the time may miss it
_BETWEEN_STEPS = 256  # events
_FEW = 64  # entries of jobs that changed, which the heap of ends may hold besides as many as the others
_BARREN = 10_000  # periods, and waits of all, without progress in a row, after which a policy is taken never to finish


def simulate(
    instance: Instance,
    policy: Policy,
    *,
    every_s: float | None = None,
    step: Callable[[str], None] | None = None,
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

    run(instance, policy, keep, every_s=every_s, step=step)
    return Stream({job.id: periods for job, periods in zip(instance.jobs, held, strict=True)})


def run(
    instance: Instance,
    policy: Policy,
    keep: Keep,
    *,
    every_s: float | None = None,
    step: Callable[[str], None] | None = None,
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
    simulation = _Simulation(instance, policy, keep, every_s)
    try:
        simulation.play(step or _ignore)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"interrupted: {simulation.progress()}") from None
    return simulation.events


def _ignore(progress: str) -> None:
    del progress


class _Simulation:
    """The state of one simulation."""

    def __init__(self, instance: Instance, policy: Policy, keep: Keep, every_s: float | None) -> None:
        jobs = instance.jobs
        self.instance, self.policy, self.keep = instance, policy, keep
        self.tick_s, self.every_s = instance.tick_s, every_s if instance.tick_s is None else instance.tick_s
        self.present: dict[int, Run] = {}
        self.view = View(instance, self.present, policy.clairvoyant)
        self.arrivals = sorted(range(len(jobs)), key=[job.arrival_s for job in jobs].__getitem__)[::-1]  # next one last
        self.ends: list[tuple[float, int, Run]] = []
        self.stamps = self.used = self.events = self.barren = self.stale = 0

    def progress(self) -> str:
        """How far it has come, in words."""
        done = len(self.instance.jobs) - len(self.arrivals) - len(self.present)
        days = self.view.now_s / 86400
        return f"{days:,.3g} days simulated, {done:,} of {len(self.instance.jobs):,} jobs ended, {len(self.present):,} present"

    def play(self, step: Callable[[str], None]) -> None:
        """Go from event to event until all jobs have ended."""
        view, present, arrivals, ends, decide = self.view, self.present, self.arrivals, self.ends, self.policy.decide
        jobs, clocked = self.instance.jobs, self.every_s is not None
        until_step = _BETWEEN_STEPS
        while arrivals or present:
            while ends and ends[0][2].stamp != ends[0][1]:
                heappop(ends)
                self.stale -= 1
            end_s = ends[0][0] if ends else math.inf
            arrival_s = jobs[arrivals[-1]].arrival_s if arrivals else math.inf
            now_s = end_s if end_s < arrival_s else arrival_s
            if clocked or view.wake_s is not None or now_s == math.inf:
                now_s = self._next_s(now_s)
            view.now_s = now_s
            latest_s = now_s + rounding_s(now_s)
            if end_s <= latest_s:
                self._end_jobs(latest_s)
            if arrival_s <= (now_s if self.tick_s is None else latest_s):
                self._admit_jobs(now_s if self.tick_s is None else latest_s)
            until_step -= 1
            if not until_step:
                until_step = _BETWEEN_STEPS
                step(self.progress())
            if present or view.ended:
                if view.wake_s is not None and view.wake_s <= now_s:
                    view.wake_s = None
                answer = decide(view)
                if answer:
                    self._apply(answer, now_s)
                if view.arrived:
                    view.arrived.clear()
                if view.ended:
                    view.ended.clear()

    def _next_s(self, now_s: float) -> float:
        """Time to go on at, given that of the next arrival or end; PolicyError when jobs wait for ever."""
        wake_s = self.view.wake_s
        starving = now_s == math.inf
        if wake_s is not None and self.present:
            now_s = min(now_s, wake_s)
        if starving:
            self.barren += 1
        if starving and (self.barren > _BARREN or (now_s == math.inf and self.every_s is None)):
            job = next(iter(self.present))
            raise PolicyError(
                f"{self._named()} at {self.view.now_s!r} s: found {len(self.present)} jobs that wait for ever, "
                f"{self.instance.jobs[job].id!r} first, allowed: an end for every job"
            )
        if self.every_s is None:
            return now_s
        following = self._tick_after(self.view.now_s) if self.present else math.inf
        return min(following, now_s if self.tick_s is None or now_s == math.inf else self._tick_from(now_s))

    def _tick_after(self, time_s: float) -> float:
        assert self.every_s is not None
        return (math.floor(time_s / self.every_s + _ROUNDING) + 1) * self.every_s

    def _tick_from(self, time_s: float) -> float:
        """First multiple of the tick at or after a time."""
        assert self.every_s is not None
        number = round(time_s / self.every_s)
        at_s = number * self.every_s
        return at_s if time_s <= at_s + rounding_s(at_s) else (number + 1) * self.every_s

    def _end_jobs(self, latest_s: float) -> None:
        """Let every job end whose work is done by then."""
        ends, now_s = self.ends, self.view.now_s
        while ends and ends[0][0] <= latest_s:
            end_s, stamp, run = heappop(ends)
            if run.stamp != stamp:
                self.stale -= 1
                continue
            if end_s > now_s:
                end_s = now_s
            if end_s <= run.since_s:
                end_s = math.nextafter(run.since_s, math.inf)
            self.keep(run.job, run.since_s, end_s, run.held)
            self.used -= run.held
            self.events += 1
            self.barren = 0
            del self.present[run.job]
            self.view.ended.append(run.job)

    def _admit_jobs(self, latest_s: float) -> None:
        """Let every job arrive that is due; one without work ends at once, unseen."""
        jobs, arrivals = self.instance.jobs, self.arrivals
        while arrivals and jobs[arrivals[-1]].arrival_s <= latest_s:
            place = arrivals.pop()
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

    def _apply(self, answer: Mapping[int, int], now_s: float) -> None:
        """Check an answer and give every job its units."""
        present, ends = self.present, self.ends
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
                left = run.left_at(now_s)
                self.barren = self.barren + 1 if left == run.left else 0
                run.left = left
                if now_s > run.since_s:
                    self.keep(place, run.since_s, now_s, held)
                    run.attained += held * (now_s - run.since_s)
            run.held, run.since_s = units, now_s
            self.stamps = run.stamp = stamp = self.stamps + 1
            if units:
                run.time_s = time_s = run.times[units]
                run.resumes_s = resumes_s = now_s + run.restart_s if run.started else now_s
                run.started = True
                heappush(ends, (resumes_s + run.left * time_s, stamp, run))
        if self.stale > _FEW + len(ends) // 2:
            ends[:] = [entry for entry in ends if entry[2].stamp == entry[1]]
            heapify(ends)
            self.stale = 0
        if self.barren > _BARREN and any(run.held and now_s > run.resumes_s for run in present.values()):
            self.barren = 0  # another job comes on
        if self.barren > _BARREN:
            raise PolicyError(
                f"{self._named()} at {now_s!r} s: found {self.barren} periods in a row that ended in their pause, "
                f"allowed: periods in which jobs come on"
            )
        if self.used > self.instance.units:
            most = max(present.values(), key=lambda run: run.held)
            raise PolicyError(
                f"{self._named()} at {now_s!r} s: found {self.used} units in all, {most.held} of them for job "
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
