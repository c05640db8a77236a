"""A policy's run on exact numbers: what it sees, and what happens between its decisions.

The policy is the one that the simulator runs. It is asked at arrivals and ends, as there without ticks.
Seconds per epoch are whole numbers L / s(m), so that quotients of speeds are exact in floats too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import lcm
from typing import cast

from dlsched.core.budget import no_tick
from dlsched.elastic_stream.simulation.view import Policy
from dlsched.worst.competitive.numbers import Form, Near

Speeds = tuple[Fraction, ...]
Time = Form | Near


def common(speeds: Speeds) -> int:
    """Least common multiple L of the numerators of the speeds: an epoch is L units of work."""
    return lcm(*(speed.numerator for speed in speeds))


def epoch_times(speeds: Speeds) -> dict[int, Fraction]:
    """Seconds per epoch by count: L / s(m), whole numbers."""
    return {units: common(speeds) / speed for units, speed in enumerate(speeds, 1)}


@dataclass(slots=True)
class Present:
    """A job that has arrived and not ended: its times per epoch, arrival, epochs, epochs left, units and service."""

    times: Mapping[int, Fraction]
    arrival: Time
    epochs: Time
    left: Time
    attained: Time
    held: int = 0


class ExactView:
    """What a policy sees of a run on exact numbers; names and meanings as those of ``simulation.view.View``."""

    weighted, kept, wake_s, tick = False, None, None, staticmethod(no_tick)

    def __init__(self, units: int, zero: Time) -> None:
        self.units, self.now_s, self.passed_s = units, zero, zero
        self.present: dict[int, Present] = {}
        self.arrived: list[int] = []
        self.ended: list[int] = []

    def __iter__(self) -> Iterator[int]:
        return iter(self.present)

    def __len__(self) -> int:
        return len(self.present)

    def held(self, job: int) -> int:
        """Units that the job holds."""
        return self.present[job].held

    def left(self, job: int) -> Time:
        """Epochs that the job has left."""
        return self.present[job].left

    def allowed(self, job: int) -> Sequence[int]:
        """Counts that it may hold."""
        return range(1, self.units + 1)

    def useful(self, job: int) -> Sequence[int]:
        """Counts that may be of use to it."""
        return list(self.present[job].times)

    def fastest(self, job: int) -> int:
        """Smallest count at which it is fastest."""
        times = self.present[job].times
        return min(times, key=lambda units: (times[units], units))

    def arrival_s(self, job: int) -> Time:
        """When it arrived."""
        return self.present[job].arrival

    def epochs(self, job: int) -> Time:
        """Epochs of the whole job."""
        return self.present[job].epochs

    def weight(self, job: int) -> Fraction:
        """1: all jobs weigh the same."""
        return Fraction(1)

    def restart_s(self, job: int) -> Fraction:
        """0: changes cost nothing."""
        return Fraction(0)

    def pause_s(self, job: int, units: int) -> Fraction:
        """0: changes cost nothing."""
        return Fraction(0)

    def epoch_time_s(self, job: int, units: int) -> Fraction:
        """Seconds per epoch."""
        return self.present[job].times[units]

    def time_left_s(self, job: int, units: int) -> Time:
        """Seconds to its end on these units."""
        return self.left(job) * self.epoch_time_s(job, units)

    time_left_stopped_s = time_left_s

    def attained(self, job: int) -> Time:
        """Unit-seconds that it has held."""
        return self.present[job].attained


@dataclass(eq=False)
class Run:
    """The state of a run, after the policy's last decision.

    Parameters
    ----------
    policy
        A fresh policy.
    view
        What it sees.
    """

    policy: Policy
    view: ExactView
    flow: Time
    ends: dict[int, Time] = field(default_factory=dict)

    def admit(self, job: int, speeds: Speeds, work: Time) -> None:
        """Let a job arrive now."""
        zero = self.flow * 0
        times = epoch_times(speeds)
        self.view.present[job] = Present(times, self.view.now_s, work, work, zero)
        self.view.arrived.append(job)

    def end(self, job: int) -> None:
        """Let a job end now."""
        self.ends[job] = self.view.now_s
        self.flow = self.flow + self.view.now_s - self.view.present.pop(job).arrival
        self.view.ended.append(job)

    def decide(self) -> dict[int, int]:
        """Ask the policy; return the units of the jobs that hold some."""
        view = self.view
        for job, units in self.policy.decide(view).items():  # type: ignore[arg-type]
            view.present[job].held = int(units)
        view.arrived.clear()
        view.ended.clear()
        held = {job: each.held for job, each in view.present.items() if each.held}
        if sum(held.values()) > view.units:
            raise ValueError(f"{sum(held.values())} of {view.units} units are held")
        return held

    def wait(self, length: Time) -> None:
        """Let time pass."""
        self.view.now_s = self.view.passed_s = self.view.now_s + length
        for each in self.view.present.values():
            if each.held:
                each.left = each.left - length * (1 / each.times[each.held])
                each.attained = each.attained + length * each.held


def play(
    policy: Policy, tables: Sequence[Speeds], arrivals: Sequence[Near], works: Sequence[Near]
) -> tuple[Near, list[Near]]:
    """Run a policy on an instance; return its total flow time, and the ends.

    Parameters
    ----------
    policy
        A fresh policy.
    tables, arrivals, works
        Speeds, time of arrival and work of each job, in the order of the file.
    """
    zero = Near(0)
    units = len(tables[0])
    run = Run(policy, ExactView(units, zero), zero)
    coming = sorted(range(len(works)), key=lambda job: (arrivals[job], job))[::-1]
    while coming or run.view.present:
        held = {job: each for job, each in run.view.present.items() if each.held}
        moments = [run.view.now_s + each.left * each.times[each.held] for each in held.values()]
        now = min([*moments, *([arrivals[coming[-1]]] if coming else [])])
        run.wait(now - run.view.now_s)
        for job, each in held.items():
            if not each.left:
                run.end(job)
        while coming and arrivals[coming[-1]] <= now:
            job = coming.pop()
            run.admit(job, tables[job], works[job] * Fraction(1, common(tables[job])))
        run.decide()
    return cast("Near", run.flow), [cast("Near", run.ends[job]) for job in range(len(works))]
