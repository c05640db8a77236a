"""elastic_stream for tests: streams with edge cases, and optima with ticks by brute force, in rational arithmetic.

All numbers drawn are whole or have few binary digits, so that ties are real and sums exact. Brute force knows the checker only.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from dlsched.elastic_stream import Instance, Stream
from dlsched.elastic_stream.checker import check, objective
from dlsched.elastic_stream.instance import RANGES
from dlsched.testing.cases import Case, Data, named, several, values

_THETA = RANGES["jobs[].speed_law.theta[]"]
_LAW = {name: RANGES[f"jobs[].speed_law.{name}"].ties[0] for name in ("samples", "model_bytes")}
_EARLY = {name: RANGES[f"jobs[].early_stop[].{name}"].ties[0] for name in ("fraction", "probability")}

LARGEST = 2_000_000
"""States of all jobs at a tick, beyond which ``brute_force_stream`` refuses."""

State = tuple[tuple[Fraction, int, bool], ...]
"""State of every job: epochs left, units held in the last slot, whether it has ever run."""


def brute_force_stream(instance: Instance) -> tuple[float, Stream] | None:
    """Return the least weighted mean of flow times with decisions at ticks, and a stream of it; None when infeasible.

    Ignores rounding as the checker does: an arrival within rounding of a tick is at the tick, and work that
    exceeds its slots by 2**-40 of the job is done in them.

    At every tick it tries every allowed count of every present job, idling included, depth first. It
    backtracks when the flow times so far plus each job's shortest time left reach the best stream found, or
    when it has met the state before at no more cost. Cost: some 10 us for each division of the units in each
    state. A ``ValueError`` says that there are no ticks, or more than ``LARGEST`` states.
    """
    if instance.tick_s is None:
        raise ValueError("a stream without ticks has no slots to try")
    if any(job.work > 0 and not instance.counts(index) for index, job in enumerate(instance.jobs)):
        return None
    attempt = _Attempt(instance)
    attempt.go(attempt.first_slot, attempt.begin, Fraction(0), ())
    assert attempt.best_plan is not None
    stream = attempt.stream(attempt.best_plan)
    assert not check(instance, stream)
    value = objective(instance, stream)
    assert abs(attempt.best / sum(attempt.weights) - Fraction(value)) <= attempt.rounding(stream, value)
    return value, stream


class _Attempt:
    """State of the brute force: fixed data, states met, and the best stream so far."""

    def __init__(self, instance: Instance) -> None:
        assert instance.tick_s is not None
        self.instance, self.tick = instance, Fraction(instance.tick_s)
        self.weights = [Fraction(job.weight) for job in instance.jobs]
        self.arrivals = [self._arrival(index) for index in range(len(instance.jobs))]
        self.restarts = [Fraction(job.restart_s) for job in instance.jobs]
        self.times = [
            {count: job.speed.exact_epoch_time_s(count) for count in instance.counts(index)}
            for index, job in enumerate(instance.jobs)
        ]
        self.begin: State = tuple((Fraction(job.work), 0, False) for job in instance.jobs)
        # Seconds an epoch on the best count bound what any plan can reach.
        self.fastest = [min(times.values(), default=Fraction(0)) for times in self.times]
        self.first_slot = int(min(self.arrivals) // self.tick)
        self.best = self._one_by_one()
        self.best_plan: tuple[tuple[int, ...], ...] | None = None
        self.met: dict[tuple[int, State], Fraction] = {}

    def _arrival(self, job: int) -> Fraction:
        """Return when a job arrives: at its first tick if only rounding makes it later, which the checker decides."""
        return min(Fraction(self.instance.jobs[job].arrival_s), self.instance.first_slot(job) * self.tick)

    def _one_by_one(self) -> Fraction:
        """Return a little more than the cost of running jobs alone in file order: a first bound for backtracking."""
        total, slot = self.tick, 0
        for weight, arrival, (remaining, _, _), fastest in zip(
            self.weights, self.arrivals, self.begin, self.fastest, strict=True
        ):
            slot = max(slot, -(-arrival // self.tick))
            end = slot * self.tick + remaining * fastest
            total += weight * (end - arrival)
            slot = -(-end // self.tick)
        return total

    def go(self, slot: int, state: State, cost: Fraction, plan: tuple[tuple[int, ...], ...]) -> None:
        """Try everything from a state at the start of a slot on; ``cost``: weighted flow times of ended jobs."""
        now = slot * self.tick
        unfinished = [index for index, (remaining, _, _) in enumerate(state) if remaining > 0]
        if not unfinished:
            if cost < self.best:
                self.best, self.best_plan = cost, plan
            return
        # What has ended, and everyone else at full speed from now on: no continuation costs less.
        least = cost + sum(
            self.weights[index]
            * (max(now, self.arrivals[index]) + state[index][0] * self.fastest[index] - self.arrivals[index])
            for index in unfinished
        )
        # Cut off what cannot beat the best plan, or was reached before at no higher cost.
        if least >= self.best or self.met.get((slot, state), self.best) <= cost:
            return
        self.met[slot, state] = cost
        if len(self.met) > LARGEST:
            raise ValueError(f"more than {LARGEST} states: too many to try")
        present = [index for index in unfinished if self.arrivals[index] <= now]
        for division in self._divisions(present, self.instance.units):
            following, spent = list(state), Fraction(0)
            units = [0] * len(state)
            for index, count in zip(present, division, strict=True):
                units[index] = count
                following[index], end = self._run(index, state[index], count)
                spent += 0 if end is None else self.weights[index] * (now + end - self.arrivals[index])
            self.go(slot + 1, tuple(following), cost + spent, (*plan, tuple(units)))

    def _divisions(self, present: list[int], units: int) -> Iterator[tuple[int, ...]]:
        if not present:
            yield ()
            return
        for count in (*reversed(self.times[present[0]]), 0):
            if count <= units:
                for rest in self._divisions(present[1:], units - count):
                    yield count, *rest

    def _run(
        self, index: int, job: tuple[Fraction, int, bool], count: int
    ) -> tuple[tuple[Fraction, int, bool], Fraction | None]:
        """Run a job for a slot; return its state after it, and when in the slot it ends."""
        remaining, held, started = job
        if not count:
            return (remaining, 0, started), None
        pause = self.restarts[index] if started and count != held else Fraction(0)
        needed = pause + remaining * self.times[index][count]
        whole = pause + self.begin[index][0] * self.times[index][count]
        if needed - whole / 2**40 <= self.tick:
            return (Fraction(0), 0, True), needed
        done = max(Fraction(0), self.tick - pause) / self.times[index][count]
        return (remaining - done, count, True), None

    def stream(self, plan: tuple[tuple[int, ...], ...]) -> Stream:
        """Write a plan as periods."""
        tick_s = float(self.tick)
        periods: dict[str, list[tuple[float, float, int]]] = {job.id: [] for job in self.instance.jobs}
        state = list(self.begin)
        for slot, division in enumerate(plan, self.first_slot):
            for index, count in enumerate(division):
                if not count:
                    state[index] = (state[index][0], 0, state[index][2])
                    continue
                held = periods[self.instance.jobs[index].id]
                start_s, goes_on = slot * tick_s, state[index][1] == count
                state[index], end = self._run(index, state[index], count)
                end_s = (slot + 1) * tick_s if end is None else self._after(start_s, end)
                if goes_on:
                    start_s = held.pop()[0]
                held.append((start_s, end_s, count))
        return Stream(periods)

    def rounding(self, stream: Stream, value: float) -> Fraction:
        """Return how much rounding may change the mean ``value`` of a stream: less than 2**4 roundings of 2**-53.

        5 of a speed law, 4 of the flow time made of it, 4 of the weighted mean. What periods before the last do is subtracted
        from the work: for each of them as many again, of the work on the slowest count.
        """
        sizes = Fraction(value) * sum(self.weights)
        for job, weight, times in zip(self.instance.jobs, self.weights, self.times, strict=True):
            earlier = max(0, len(stream.periods.get(job.id, ())) - 1)
            sizes += weight * earlier * Fraction(job.work) * max(times.values(), default=Fraction(0))
        return sizes / sum(self.weights) / 2**49

    def _after(self, start_s: float, lasts: Fraction) -> float:
        """Return the least float time that is at least ``lasts`` after the start."""
        end_s = float(Fraction(start_s) + lasts)
        return end_s if Fraction(end_s) - Fraction(start_s) >= lasts else math.nextafter(end_s, math.inf)


@st.composite
def elastic_stream_instances(
    draw: st.DrawFn,
    *,
    max_jobs: int = 3,
    max_units: int = 3,
    ticked: bool = True,
    feasible: bool | None = None,
    weighted: bool = False,
) -> Instance:
    """Streams of every awkward kind; with ticks small enough for brute force.

    Parameters
    ----------
    max_jobs, max_units
        Most jobs and units.
    ticked
        Whether decisions are made at ticks only; restarts are shorter then.
    feasible
        True: only such; None: mostly, else a job larger than the cluster.
    weighted
        Whether jobs have weights, many of them alike.
    """
    units = draw(st.integers(1, max_units))
    tick = float(draw(values(RANGES["tick_s"])))
    number = draw(st.integers(1, max_jobs))
    kind = _jobs(units, tick, ticked)
    jobs = several(draw, kind, number)
    # One instance in twelve has a job that needs more units than there are: it has no solution.
    if feasible is None and draw(st.integers(0, 11)) == 0:
        kept = {key: value for key, value in jobs[-1].items() if key not in ("speed_law", "max_gpus")}
        jobs[-1] = kept | {"epoch_time_s": {str(units + 1): 4.0}, "epochs": 1.0}
    if weighted:
        jobs = [job | {"weight": draw(values(RANGES["jobs[].weight"]))} for job in jobs]
    # At 0, at any second, or exactly at ticks, where ties are.
    arrivals = st.one_of(
        st.just(0.0), st.integers(0, int(4 * tick)).map(float), st.integers(0, 4).map(lambda n: n * tick)
    )
    return Instance(
        name="drawn",
        units=units,
        tick_s=tick if ticked else None,
        jobs=named([{"arrival_s": draw(arrivals)} | job for job in jobs]),
    )


@st.composite
def _jobs(draw: st.DrawFn, units: int, tick: float, ticked: bool) -> Data:
    job: Data = {"epochs": draw(values(RANGES["jobs[].epochs"]))}
    if draw(st.integers(0, 4)) == 0:
        # A fifth of the jobs has a law of speed, the others a table of a few counts.
        theta = [
            draw(st.sampled_from(_THETA.ties)),
            draw(st.sampled_from(_THETA.edges)),
            0.0,
            draw(st.sampled_from(_THETA.edges[1:])),
        ]
        job["speed_law"] = {"theta": theta, **_LAW}
        if draw(st.booleans()):
            job["max_gpus"] = draw(st.integers(1, units + 1))
    else:
        counts = sorted(draw(st.sets(st.integers(1, units), min_size=1, max_size=3)))
        if draw(st.integers(0, 4)) == 0:
            # A count beyond all units must never be chosen.
            counts.append(units + 1)
        job["epoch_time_s"] = {str(count): float(draw(values(RANGES["jobs[].epoch_time_s{}"]))) for count in counts}
    restarts = RANGES["jobs[].restart_s"]
    # With ticks a restart is shorter than one.
    longest = (tick - 1.0,) if ticked else restarts.edges
    job["restart_s"] = draw(st.sampled_from(restarts.ties + longest))
    if draw(st.integers(0, 3)) == 0:
        job["stops_at"] = draw(values(RANGES["jobs[].stops_at"]))
        job["early_stop"] = [_EARLY]
    return job


def _either(**options: Any) -> st.SearchStrategy[Instance]:
    """Streams with weights or without."""
    return st.booleans().flatmap(lambda weighted: elastic_stream_instances(weighted=weighted, **options))


CASE = Case(instances=_either, brute_force=brute_force_stream)
