"""A stream made of divisions of the units one after another; times are floats, kept as fractions.

Every period does exactly the work that is subtracted, and ends at the first time of the clock by which that is done.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from dlsched.core.gap import FEASIBLE
from dlsched.elastic_stream.instance import Instance
from dlsched.elastic_stream.solution import Stream

_DONE = FEASIBLE / 8  # part of a period by which work may be left at its end


class Walk:
    """The jobs with work, ``jobs`` by position, as they are served until ``now``; ``remaining`` is their work in epochs."""

    def __init__(self, instance: Instance, jobs: Sequence[int]) -> None:
        self.records = [instance.jobs[index] for index in jobs]
        self.remaining = [Fraction(job.work) for job in self.records]
        self.now = min(Fraction(job.arrival_s) for job in self.records)
        self._ends = [Fraction(0)] * len(jobs)
        self._periods: list[list[tuple[Fraction, Fraction, int]]] = [[] for _ in jobs]
        self._worked_from = [Fraction(0)] * len(jobs)  # end of the pause of the last period

    def needed(self, job: int, units: int) -> Fraction:
        """Seconds that a job takes on so many units from now on, with its pause."""
        time = Fraction(self.records[job].speed.epoch_time_s(units))
        return max(Fraction(0), self._begins(job, units) - self.now) + self.remaining[job] * time

    def _begins(self, job: int, units: int) -> Fraction:
        """When a job works that holds so many units from now on."""
        periods = self._periods[job]
        if periods and periods[-1][1:] == (self.now, units):
            return self._worked_from[job]
        return self.now + (Fraction(self.records[job].restart_s) if periods else 0)

    def serve(self, division: Sequence[int], lasts: Fraction) -> None:
        """Give every job its units for so many seconds, rounded up to a time of the clock, or until it is done."""
        start, until = self.now, _clock(self.now + lasts)
        if until == start:
            return
        for job, units in enumerate(division):
            if not units or not self.remaining[job]:
                continue
            needed, begins, periods = self.needed(job, units), self._begins(job, units), self._periods[job]
            end = min(until, _clock(start + needed))
            since = periods.pop()[0] if periods and periods[-1][1:] == (start, units) else start
            periods.append((since, end, units))
            self._worked_from[job] = begins
            left = needed - (end - start)
            if left <= Fraction(_DONE) * (end - since):
                self.remaining[job], self._ends[job] = Fraction(0), start + needed
            elif end > begins:
                self.remaining[job] = left / Fraction(self.records[job].speed.epoch_time_s(units))
        self.now = until

    def finished(self) -> tuple[Fraction, Stream]:
        """Weighted flow times in seconds, and the stream."""
        total = Fraction(0)
        for job, end in zip(self.records, self._ends, strict=True):
            total += Fraction(job.weight) * (end - Fraction(job.arrival_s))
        periods = {
            job.id: [(float(start), float(end), units) for start, end, units in periods]
            for job, periods in zip(self.records, self._periods, strict=True)
        }
        return total, Stream(periods)


def _clock(time: Fraction) -> Fraction:
    """The first float from a time on."""
    rounded = float(time)
    return Fraction(rounded if Fraction(rounded) >= time else math.nextafter(rounded, math.inf))
