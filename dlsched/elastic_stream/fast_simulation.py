"""The rule that gives units by weight x gain in speed per unit: a policy, and its fast simulation on changing weights.

The fast simulation has the rules of the real one; times may differ by rounding, and so may decisions at ties. For the kept
weights states at some arrivals are remembered. A try that changes weights of jobs that have not arrived in a state begins
from the last such state, and ends as soon as neither simulation has a job left.
"""

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from dlsched.algorithms.utility_tables import upper_hull
from dlsched.core.elementary import float_power
from dlsched.elastic_stream.instance import Instance, Job
from dlsched.elastic_stream.simulation.view import View

FRESH, STOPPED = -2, -1
"""States of a job without units: never ran, so its next start is free; or ran before. Other states: units held."""

_MOST_COUNTS = 32  # of a law
_REMEMBERED = 100_000  # steps of a job in a state, at most

Step = tuple[float, int, int]
"""Gain in speed per unit, units before, units after."""


class Speeds:
    """Jobs as the fast simulation sees them; time is in seconds after the first release, or with ticks in ticks.

    ``patience`` > 1: pauses for which a change of units should last; gains by other counts than the present one are reduced
    by 1 / patience.
    """

    def __init__(self, instance: Instance, patience: float = 20.0) -> None:
        self.instance, self.patience = instance, patience
        self.scale_s = scale_s = instance.tick_s or 1.0  # a unit of time
        jobs = range(len(instance.jobs))
        clock = [
            job.arrival_s if instance.tick_s is None else instance.first_slot(j) for j, job in enumerate(instance.jobs)
        ]
        zero = min(clock)
        self.release = [float(time) - zero for time in clock]  # when jobs can first hold units
        self.weight = [job.weight for job in instance.jobs]
        self.waits_s = sum(self.weight[j] * float(instance.wait_s(j)) for j in jobs)  # before releases
        self.pause = [job.restart_s / scale_s for job in instance.jobs]
        self.speed = [  # share of its work per unit of time, by useful count
            {count: scale_s / (job.work * time_s) for count, time_s in _times_s(job, instance.units).items()}
            if job.work
            else {}
            for job in instance.jobs
        ]
        self.order = sorted((j for j in jobs if self.speed[j]), key=self.release.__getitem__)  # jobs with work
        self._steps: dict[tuple[int, int], list[Step]] = {}

    def steps(self, job: int, state: int) -> list[Step]:
        """Steps along the upper hull of a job's gain by units in a state; gains per unit fall."""
        found = self._steps.get((job, state))
        if found is None:
            lasting = 1.0 if state == FRESH or not self.pause[job] else 1.0 - 1.0 / self.patience
            points = [(count, v if count == state else v * lasting) for count, v in self.speed[job].items()]
            corners = [(0, 0.0), *upper_hull(points)]
            found = [((v - u) / (b - a), a, b) for (a, u), (b, v) in pairwise(corners)]
            if len(self._steps) >= _REMEMBERED:
                self._steps.clear()
            self._steps[job, state] = found
        return found

    def offers(self, job: int, weight: float, state: int) -> list["Offer"]:
        """The steps of a job in a state as offers."""
        return offers_of(job, weight, self.steps(job, state))


def _times_s(job: Job, units: int) -> dict[int, float]:
    """Seconds per epoch on useful counts; if a law has many, on geometric steps and the fastest."""
    useful = job.useful_counts(units)
    if job.speed_law is None or len(useful) <= _MOST_COUNTS:
        return job.useful_times_s(units)
    steps = {round(float_power(len(useful), step / (_MOST_COUNTS - 1))) for step in range(_MOST_COUNTS)}
    return {count: job.speed.epoch_time_s(count) for count in sorted(steps)}


Offer = tuple[float, int, int, int]
"""A step of a present job: minus weight x gain per unit, the job, its units before, its units after."""


_FIRST, _LAST = (-math.inf,), (math.inf,)
"""Before and after all offers."""
_BLOCK = 128  # offers
_NEAR = 1e-9


def share(offers: Sequence[Offer], units: int, speed: Sequence[dict[int, float]]) -> dict[int, int]:
    """Units of the jobs that get any, from steps in ascending order; one that does not fit ends those of its job.

    Idle units then go, in the same order, to jobs that gain by any count that fits. ``speed``: of each job by count.

    >>> share([(-9.0, 0, 0, 2), (-5.0, 1, 0, 1), (-4.0, 0, 2, 8)], 6, [{2: 1.0, 3: 1.1, 8: 2.0}, {1: 1.0}])
    {0: 3, 1: 1}
    """
    units_of: dict[int, int] = {}
    get = units_of.get
    for _, job, before, after in offers:
        if after - before <= units and get(job, 0) == before:
            units_of[job] = after
            units -= after - before
            if not units:
                return units_of
    for _, job, before, _ in offers:
        if get(job, 0) == before:
            most = _largest(speed[job], before, units)
            if most > before:
                units_of[job] = most
                units -= most - before
                if not units:
                    break
    return units_of


def _largest(speeds: dict[int, float], count: int, units: int) -> int:
    """Largest useful count that is faster than the present one and takes at most ``units`` more."""
    most = count
    for more in speeds:  # ascending
        if more > count + units:
            break
        most = max(most, more)
    return most


def worth_it(pause: float, remaining: float, new: float, old: float, pausing: float) -> bool:
    """Whether more units end a job earlier, with a new pause instead of the rest ``pausing`` of the old one."""
    return pause + remaining / new < max(0.0, pausing) + remaining / old


def offers_of(job: int, weight: float, steps: Iterable[tuple[float, int, int]]) -> list[Offer]:
    """The steps of a job as offers."""
    return [(-weight * gain, job, before, after) for gain, before, after in steps]


def insert(offers: list[Offer], new: Iterable[Offer]) -> None:
    """Add to ascending offers."""
    for offer in new:
        insort(offers, offer)


def withdraw(offers: list[Offer], gone: Iterable[Offer]) -> None:
    """Remove from ascending offers."""
    for offer in gone:
        del offers[bisect_left(offers, offer)]


class _Offers:
    """Ascending offers in blocks, each with the units of its steps in all: a change costs O(sqrt n) for n offers."""

    def __init__(self) -> None:
        self._least: list[tuple[float, ...]] = [_FIRST]  # no entry of a block is less, none of those before as large
        self._blocks: list[list[Offer]] = [[]]
        self._units = [0]

    def insert(self, offer: Offer) -> None:
        """Add an offer."""
        index = bisect_right(self._least, offer) - 1
        block = self._blocks[index]
        insort(block, offer)
        self._units[index] += offer[3] - offer[2]
        if len(block) > 2 * _BLOCK:
            self._blocks[index : index + 1] = block[:_BLOCK], block[_BLOCK:]
            self._least.insert(index + 1, block[_BLOCK])
            first = sum(after - before for *_, before, after in block[:_BLOCK])
            self._units[index : index + 1] = first, self._units[index] - first

    def withdraw(self, offer: Offer) -> None:
        """Remove an offer."""
        index = bisect_right(self._least, offer) - 1
        block = self._blocks[index]
        del block[bisect_left(block, offer)]
        self._units[index] -= offer[3] - offer[2]
        if not block and index:
            del self._blocks[index], self._least[index], self._units[index]

    def edge(self, units: int) -> tuple[tuple[float, ...], int]:
        """The first offer that does not fit beside all before it, or ``_LAST``; and the units that these leave."""
        for index, taken in enumerate(self._units):
            if taken > units:
                for offer in self._blocks[index]:
                    if offer[3] - offer[2] > units:
                        return offer, units
                    units -= offer[3] - offer[2]
            units -= taken
        return _LAST, units

    def since(self, first: tuple[float, ...]) -> Iterator[Offer]:
        """The offers from one on."""
        index = bisect_right(self._least, first) - 1
        yield from self._blocks[index][bisect_left(self._blocks[index], first) :]
        for block in self._blocks[index + 1 :]:
            yield from block


class Weighed:
    """Gives units by weight x gain in speed per unit; a restart counts at its gain after the pause.

    Up to ``spare`` units may stay idle, so that few jobs are resized when others come or go.
    An event looks at jobs that come, change or go, and at the steps about the last one that gets units. Cost: O(sqrt n) for
    each of these, for n steps.
    """

    clairvoyant = True
    timeless = True

    def __init__(self, speeds: Speeds, weights: Sequence[float], spare: int = 0) -> None:
        self._speeds, self._weights, self._spare = speeds, weights, spare
        self._offers = _Offers()
        self._edge: tuple[float, ...] = _FIRST  # steps before it all get their units
        self._taken = 0  # their units
        self._beyond: dict[int, int] = {}  # units of the jobs that get some by a step beyond it
        self._states: dict[int, int] = {}
        self._steps: dict[int, list[Offer]] = {}
        self._again: list[int] = []  # jobs to look at again: they have changed, or a restart is all but worth it

    @property
    def price(self) -> float:
        """Gain per unit of the first step that gets no units, 0 if there is none."""
        return -self._edge[0] if math.isfinite(self._edge[0]) else 0.0

    def decide(self, view: View) -> dict[int, int]:
        """Divide the units anew; a running job gets more only if it ends earlier so."""
        for job in view.ended:
            self._withdraw(job)
        for job in view.arrived:
            self._offer(job, FRESH)
        jobs = dict.fromkeys([*view.arrived, *self._again, *self._beyond])
        jobs |= self._move_edge(view.units)
        self._again, answer = [], {}
        for job in jobs:
            if job not in self._states:
                continue
            units, before = self._share(job), self._states[job]
            if units == max(before, 0) or (units > before > 0 and not self._worth_it(view, job, before, units)):
                continue
            answer[job] = units
            self._withdraw(job)
            self._offer(job, units or STOPPED)
        self._again += answer
        return answer

    def _move_edge(self, units: int) -> dict[int, None]:
        """Share out the units as ``share`` does; return the jobs whose shares may be others than before."""
        before, some = self._edge, self._spare // 2  # of the spare units, when the edge moves
        idle = units - self._taken if self._spare else -1
        if not 0 <= idle <= self._spare:
            self._edge, idle = self._offers.edge(units - some)
            idle += some
            self._taken = units - idle
        units = idle if idle > self._spare else 0
        passed, first, last = dict[int, None](), min(before, self._edge), max(before, self._edge)
        if first < last:
            for offer in self._offers.since(first):
                if offer >= last:
                    break
                passed[offer[1]] = None
        self._beyond = {}
        whole = True  # first whole steps, then any counts that fit
        while units and self._edge != _LAST:
            for _, job, low, high in self._offers.since(self._edge):
                if whole and high - low > units:
                    continue
                most = high if whole else _largest(self._speeds.speed[job], low, units)
                if most > low and self._share(job) == low:
                    self._beyond[job] = most
                    units -= most - low
                    if not units:
                        break
            if not whole:
                break
            whole = False
        return passed | dict.fromkeys(self._beyond)

    def _share(self, job: int) -> int:
        """Units of a present job."""
        units = self._beyond.get(job)
        if units is None:
            steps = self._steps[job]
            place = bisect_left(steps, self._edge)
            units = steps[place - 1][3] if place else 0
        return units

    def _worth_it(self, view: View, job: int, before: int, units: int) -> bool:
        """Whether a job that holds units ends earlier with more; if not now, then never, but for rounding."""
        pause = view.restart_s(job)
        times_s = view.epoch_time_s(job, units), view.epoch_time_s(job, before)
        rates = 1 / times_s[0], 1 / times_s[1]
        remaining, pausing = view.true_left(job), view.pause_s(job, before)
        if not pause or worth_it(pause, remaining, *rates, pausing):
            return True
        if worth_it(pause * (1 - _NEAR), remaining * (1 - _NEAR), *rates, pausing):
            self._again.append(job)
        return False

    def _offer(self, job: int, state: int) -> None:
        self._states[job] = state
        self._steps[job] = self._speeds.offers(job, self._weights[job], state)
        for offer in self._steps[job]:
            self._offers.insert(offer)
            if offer < self._edge:
                self._taken += offer[3] - offer[2]

    def _withdraw(self, job: int) -> None:
        del self._states[job]
        for offer in self._steps.pop(job):
            self._offers.withdraw(offer)
            if offer < self._edge:
                self._taken -= offer[3] - offer[2]


_STATES = 64  # remembered at most, besides those without jobs
_EVERY = 4  # arrivals at least between two remembered states
_MOST = 5_000  # jobs up to which states are remembered
_ROUNDING = 1e-13
_LEAST = 2.0**-52

Run = tuple[int, float, float, float]
"""A job's units, the share of its work left when they changed, the time from which it progresses, and its speed."""


@dataclass(slots=True, eq=False)
class State:
    """State of the simulation just before an arrival."""

    arrived: int = 0
    total: float = 0.0
    remaining: dict[int, float] = field(default_factory=dict)
    """Share of the work left of each waiting job that has run before."""
    runs: dict[int, Run] = field(default_factory=dict)
    ends: dict[int, float] = field(default_factory=dict)
    offers: list[Offer] = field(default_factory=list)

    def copy(self) -> "State":
        """A copy that shares nothing with this state."""
        return State(
            self.arrived, self.total, self.remaining.copy(), self.runs.copy(), self.ends.copy(), self.offers.copy()
        )


class Course:
    """Simulation of weights: those kept, and the sum of flow times in seconds, weighted as in the instance, that they lead to."""

    def __init__(self, speeds: Speeds, weights: Sequence[float]) -> None:
        self.speeds, self.weights = speeds, list(weights)
        jobs = len(speeds.order)
        self._every = math.inf if jobs > _MOST else max(_EVERY, jobs // _STATES)
        self._rank = {job: rank for rank, job in enumerate(speeds.order)}
        self._states: list[State] = [State()]
        self._until, self._idle, self._kept_total = 0, dict[int, float](), 0.0
        total = self._play(self.weights, self._states[0])
        self._keep_states(total)
        self.total_s = self._seconds(total)

    def tried(self, changed: Mapping[int, float]) -> float:
        """Sum of weighted flow times in seconds when some jobs, all with work, have other weights."""
        self._weights = self.weights.copy()
        for job, weight in changed.items():
            self._weights[job] = weight
        ranks = [self._rank[job] for job in changed]
        self._until = max(ranks)
        start = bisect_right(self._states, min(ranks), key=lambda state: state.arrived) - 1
        self._total = self._play(self._weights, self._states[start])
        return self._seconds(self._total)

    def keep(self) -> None:
        """Keep the weights that were tried last."""
        self.weights = self._weights
        self._keep_states(self._total)
        self.total_s = self._seconds(self._total)

    def _seconds(self, total: float) -> float:
        return total * self.speeds.scale_s + self.speeds.waits_s

    def _keep_states(self, total: float) -> None:
        """Replace the states between the branching and the joining of the last try by those just seen."""
        seen = self._seen
        before = [state for state in self._states if state.arrived <= self._start]
        after = [state for state in self._states if state.arrived >= self._joined]
        if after:
            shift = total - self._kept_total
            for state in after:
                state.total += shift
        self._states = before + seen + after
        self._kept_total = total
        self._idle = {state.arrived: state.total for state in self._states if not state.offers}

    def _play(self, weights: Sequence[float], start: State) -> float:
        """Simulate from a state until all jobs have ended, or neither simulation has a job left; return the total."""
        speeds, order, release = self.speeds, self.speeds.order, self.speeds.release
        ticked, count, matters = speeds.instance.tick_s is not None, len(order), speeds.weight
        state = start.copy()
        ends, offers, arrived = state.ends, state.offers, state.arrived
        self._seen, self._start, self._joined = [], arrived, math.inf
        noted = arrived
        while arrived < count or ends:
            end = min(ends.values()) if ends else math.inf
            arrival = release[order[arrived]] if arrived < count else math.inf
            now = min(end, arrival)
            if ticked:
                now = float(math.ceil(now - _ROUNDING * now))
            latest = now + _ROUNDING * now
            if arrival <= latest and arrived > noted and (arrived - noted >= self._every or not offers):
                # Without jobs both simulations go on alike: the rest of the kept one's total counts.
                if not offers and arrived > self._until and arrived in self._idle:
                    self._joined = arrived
                    return state.total + self._kept_total - self._idle[arrived]
                state.arrived = noted = arrived
                self._seen.append(state.copy())
            if end <= latest:
                for job in [job for job, due in ends.items() if due <= latest]:
                    state.total += matters[job] * (ends.pop(job) - release[job])
                    withdraw(offers, speeds.offers(job, weights[job], state.runs.pop(job)[0]))
            while arrival <= latest:
                job = order[arrived]
                arrived += 1
                insert(offers, speeds.offers(job, weights[job], FRESH))
                arrival = release[order[arrived]] if arrived < count else math.inf
            self._decide(weights, state, now)
        return state.total

    def _decide(self, weights: Sequence[float], state: State, now: float) -> None:
        """Divide the units among the jobs: start, change and stop them accordingly."""
        speeds, runs, waiting, offers = self.speeds, state.runs, state.remaining, state.offers
        shares = share(offers, speeds.instance.units, speeds.speed)
        changes = []
        for job, (current, rest, since, speed) in runs.items():
            units = shares.pop(job, 0)
            if units != current:
                if now > since:
                    rest = max(rest - (now - since) * speed, rest * _LEAST)
                pause = speeds.pause[job]
                # More units pause the job: only if it ends earlier so.
                grows = units > current and pause
                if grows and not worth_it(pause, rest, speeds.speed[job][units], speed, since - now):
                    continue
                changes.append((job, current, units, rest, pause))
        for job, units in shares.items():
            rest = waiting.pop(job, 0.0)
            changes.append((job, STOPPED, units, rest, speeds.pause[job]) if rest else (job, FRESH, units, 1.0, 0.0))
        for job, before, units, rest, pause in changes:
            weight = weights[job]
            withdraw(offers, speeds.offers(job, weight, before))
            insert(offers, speeds.offers(job, weight, units or STOPPED))
            if units:
                speed = speeds.speed[job][units]
                runs[job] = units, rest, now + pause, speed
                state.ends[job] = now + pause + rest / speed
            else:
                waiting[job] = rest
                del runs[job], state.ends[job]
