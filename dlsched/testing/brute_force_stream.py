"""The optimum of a tiny stream with ticks by trying everything, in rational arithmetic; it knows the checker only."""

import math
from collections.abc import Iterator
from fractions import Fraction

from dlsched.elastic_stream import Instance, Stream
from dlsched.elastic_stream.checker import check, objective

LARGEST = 2_000_000
"""States of all jobs at a tick, beyond which ``brute_force_stream`` refuses."""

State = tuple[tuple[Fraction, int, bool], ...]
"""Of every job: epochs left, units held in the last slot, whether it has ever run."""


def brute_force_stream(instance: Instance) -> tuple[float, Stream] | None:
    """Return the least mean flow time with decisions at ticks, and a stream that attains it; None when infeasible.

    Rounding is left out as the checker says: an arrival a few units in the last place after a tick is at it, and work that
    exceeds its slots by 2**-40 of the job is done in them.

    At every tick it tries every allowed count of every present job, idling included, depth first; it turns back where
    the flow times so far, and each job's shortest time left, already add up to the best stream found, or where it has
    been before at no more cost. Cost: some 10 us for each division of the units in each state.

    Raises
    ------
    ValueError
        The instance has no ticks, or more than ``LARGEST`` states are met.
    """
    if instance.tick_s is None:
        raise ValueError("a stream without ticks has no slots to try")
    if any(job.work > 0 and not instance.counts(place) for place, job in enumerate(instance.jobs)):
        return None
    attempt = _Attempt(instance)
    attempt.go(attempt.first_slot, attempt.begin, Fraction(0), ())
    assert attempt.best_plan is not None
    stream = attempt.stream(attempt.best_plan)
    assert not check(instance, stream)
    value = objective(instance, stream)
    assert abs(value * len(instance.jobs) - float(attempt.best)) <= 1e-11 * value * len(instance.jobs)
    return value, stream


class _Attempt:
    """What is fixed, what has been met, and the best so far."""

    def __init__(self, instance: Instance) -> None:
        assert instance.tick_s is not None
        self.instance, self.tick = instance, Fraction(instance.tick_s)
        self.arrivals = [self._arrival(job.arrival_s) for job in instance.jobs]
        self.restarts = [Fraction(job.restart_s) for job in instance.jobs]
        self.times = [
            {count: job.speed.exact_epoch_time_s(count) for count in instance.counts(place)}
            for place, job in enumerate(instance.jobs)
        ]
        self.begin: State = tuple((Fraction(job.work), 0, False) for job in instance.jobs)
        self.fastest = [min(times.values(), default=Fraction(0)) for times in self.times]
        self.first_slot = int(min(self.arrivals) // self.tick)
        self.best = self._one_by_one()
        self.best_plan: tuple[tuple[int, ...], ...] | None = None
        self.met: dict[tuple[int, State], Fraction] = {}

    def _arrival(self, arrival_s: float) -> Fraction:
        """When a job arrives: at the last tick before where that is so but for rounding."""
        arrival = Fraction(arrival_s)
        tick = arrival // self.tick * self.tick
        return tick if arrival - tick <= 8 * arrival / 2**52 else arrival

    def _one_by_one(self) -> Fraction:
        """A little more than the flow times of jobs that run alone in order of the file: something to turn back at."""
        total, slot = self.tick, 0
        for arrival, (left, _, _), fastest in zip(self.arrivals, self.begin, self.fastest, strict=True):
            slot = max(slot, -(-arrival // self.tick))
            end = slot * self.tick + left * fastest
            total += end - arrival
            slot = -(-end // self.tick)
        return total

    def go(self, slot: int, state: State, cost: Fraction, plan: tuple[tuple[int, ...], ...]) -> None:
        """Try everything from a state at the start of a slot on; ``cost`` are the flow times of ended jobs."""
        now = slot * self.tick
        unfinished = [place for place, (left, _, _) in enumerate(state) if left > 0]
        if not unfinished:
            if cost < self.best:
                self.best, self.best_plan = cost, plan
            return
        least = cost + sum(
            max(now, self.arrivals[place]) + state[place][0] * self.fastest[place] - self.arrivals[place]
            for place in unfinished
        )
        if least >= self.best or self.met.get((slot, state), self.best) <= cost:
            return
        self.met[slot, state] = cost
        if len(self.met) > LARGEST:
            raise ValueError(f"more than {LARGEST} states: too many to try")
        present = [place for place in unfinished if self.arrivals[place] <= now]
        for division in self._divisions(present, self.instance.units):
            following, spent = list(state), Fraction(0)
            units = [0] * len(state)
            for place, count in zip(present, division, strict=True):
                units[place] = count
                following[place], end = self._run(place, state[place], count)
                spent += 0 if end is None else now + end - self.arrivals[place]
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
        self, place: int, job: tuple[Fraction, int, bool], count: int
    ) -> tuple[tuple[Fraction, int, bool], Fraction | None]:
        """Run a job for a slot; return its state after it, and when in the slot it ends."""
        left, held, started = job
        if not count:
            return (left, 0, started), None
        pause = self.restarts[place] if started and count != held else Fraction(0)
        needed = pause + left * self.times[place][count]
        whole = pause + self.begin[place][0] * self.times[place][count]
        if needed - whole / 2**40 <= self.tick:
            return (Fraction(0), 0, True), needed
        done = max(Fraction(0), self.tick - pause) / self.times[place][count]
        return (left - done, count, True), None

    def stream(self, plan: tuple[tuple[int, ...], ...]) -> Stream:
        """Write a plan as periods."""
        tick_s = float(self.tick)
        periods: dict[str, list[tuple[float, float, int]]] = {job.id: [] for job in self.instance.jobs}
        state = list(self.begin)
        for slot, division in enumerate(plan, self.first_slot):
            for place, count in enumerate(division):
                if not count:
                    state[place] = (state[place][0], 0, state[place][2])
                    continue
                held = periods[self.instance.jobs[place].id]
                start_s, goes_on = slot * tick_s, state[place][1] == count
                state[place], end = self._run(place, state[place], count)
                end_s = (slot + 1) * tick_s if end is None else self._after(start_s, end)
                if goes_on:
                    start_s = held.pop()[0]
                held.append((start_s, end_s, count))
        return Stream(periods)

    def _after(self, start_s: float, lasts: Fraction) -> float:
        """Least time of the clock that is so much later."""
        end_s = float(Fraction(start_s) + lasts)
        return end_s if Fraction(end_s) - Fraction(start_s) >= lasts else math.nextafter(end_s, math.inf)
